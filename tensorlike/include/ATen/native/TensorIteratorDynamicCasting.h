#pragma once
#include "../../tensorlike/loops.h"
