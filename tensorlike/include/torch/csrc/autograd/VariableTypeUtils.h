#pragma once
#include "../../../tensorlike/all.h"
