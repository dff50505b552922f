#pragma once
#error "tensorlike has no torch::nn in C++: write modules in Python, and call operators; torch/nn/functional.h has padding and convolutions"
