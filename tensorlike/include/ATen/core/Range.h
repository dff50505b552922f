#pragma once
#include "../../tensorlike/tensor_iterator.h"
