#pragma once
#include "../../../tensorlike/vec.h"
