#pragma once
#include "../../../tensorlike/cuda_device.cuh"
