"""A CUDA kernel inside a custom autograd function, without a compiler: CuPy compiles the text when it is first called.

The function is x * sigmoid(x), one kernel for the values and one for the gradient. Kernels read and write the memory of
the tensors and run on CuPy's current stream, as all of tensorlike's do. Needs: a GPU, pip install "tensorlike[cuda13]"
"""

from __future__ import annotations

import sys
from typing import Any

import tensorlike as tl
from tensorlike.autograd import Function
from tensorlike.autograd.function import once_differentiable

try:
    import cupy
except ImportError as error:
    sys.exit(f'cuda_raw_kernel.py: {error}. It needs a GPU and CuPy: pip install "tensorlike[cuda13]"')

SOURCE = r"""
extern "C" __global__ void forward(const float* x, float* y, long long count) {
  const long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
  if (i < count) y[i] = x[i] / (1.0f + expf(-x[i]));
}
extern "C" __global__ void backward(const float* x, const float* gradient, float* out, long long count) {
  const long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
  if (i >= count) return;
  const float sigmoid = 1.0f / (1.0f + expf(-x[i]));
  out[i] = gradient[i] * sigmoid * (1.0f + x[i] * (1.0f - sigmoid));
}
"""
THREADS = 256

forward_kernel = cupy.RawKernel(SOURCE, "forward")
backward_kernel = cupy.RawKernel(SOURCE, "backward")


def launch(kernel: Any, *inputs: tl.Tensor) -> tl.Tensor:
    """Run a kernel with one thread for each element; the last of its tensors is new, and returned."""
    # A kernel reads memory in order: the elements of a transposed tensor are not.
    tensors = [x.detach().contiguous() for x in inputs]
    out = tl.empty_like(tensors[0])
    count = out.numel()
    if count > 0:
        # The views share the tensors' memory. CuPy launches on its current device, which need not be theirs.
        with tl.cuda.device(out.device):
            arrays = [cupy.asarray(x) for x in (*tensors, out)]
            kernel(((count + THREADS - 1) // THREADS,), (THREADS,), (*arrays, cupy.int64(count)))
    return out


class Swish(Function):
    @staticmethod
    def forward(ctx: Any, x: tl.Tensor) -> tl.Tensor:
        if x.device.type != "cuda" or x.dtype != tl.float32:
            raise TypeError(f"Swish takes float32 tensors on a GPU, not {x.dtype} on {x.device}")
        ctx.save_for_backward(x)
        return launch(forward_kernel, x)

    @staticmethod
    @once_differentiable  # nothing records what a kernel computes
    def backward(ctx: Any, grad_output: tl.Tensor) -> tl.Tensor:
        (x,) = ctx.saved_tensors
        return launch(backward_kernel, x, grad_output)


swish = Swish.apply


def main() -> None:
    if not tl.cuda.is_available():
        sys.exit("cuda_raw_kernel.py: CuPy finds no GPU")
    x = tl.linspace(-4, 4, 1000, device="cuda").requires_grad_()
    (gradient,) = tl.autograd.grad(swish(x).sum(), x)
    (built_in,) = tl.autograd.grad(tl.nn.functional.silu(x).sum(), x)
    print("the same values as nn.functional.silu:", tl.allclose(swish(x), tl.nn.functional.silu(x)))
    print("the same gradients:", tl.allclose(gradient, built_in))


if __name__ == "__main__":
    main()
