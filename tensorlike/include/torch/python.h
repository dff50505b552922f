#pragma once
#include "../tensorlike/extension.h"
