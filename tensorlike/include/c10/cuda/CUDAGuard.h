#pragma once
#include "../../tensorlike/cuda.h"
