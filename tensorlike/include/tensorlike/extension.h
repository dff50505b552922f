// <torch/extension.h>: everything, with pybind11.
#pragma once

#include "all.h"
#include "pybind.h"
