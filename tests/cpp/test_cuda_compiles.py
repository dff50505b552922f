"""CUDA sources go through nvcc and are loaded.

Without a GPU their kernels do not run: what is checked then is that they compile, in both standards, and that their
host code works and fails as it should. With a GPU and CuPy, the kernels are compared with tensorlike's own functions.
"""

import itertools

import pytest

import tensorlike as tl
from tests.cpp.building import build_folder, extension, require_cuda_compiler

pytestmark = pytest.mark.slow
F = tl.nn.functional


@pytest.fixture(scope="module")
def linear():
    require_cuda_compiler()
    return extension("cuda_linear", ".cu", extra_cuda_cflags=["-std=c++17"]).linear


@pytest.fixture(scope="module")
def features():
    require_cuda_compiler()
    return extension("cuda_features", ".cu", extra_cuda_cflags=["-std=c++20"])


needs_gpu = pytest.mark.skipif(not tl.cuda.is_available(), reason="compiled, not run: there is no GPU with CuPy")


def test_the_linear_layer_refuses_tensors_of_the_cpu(linear):
    x = tl.ones(2, 3)
    with pytest.raises(RuntimeError, match="^input must be a CUDA tensor$"):
        linear(x, x, None)


@needs_gpu
@pytest.mark.parametrize("dtype", [tl.float32, tl.float64, tl.float16])
@pytest.mark.parametrize("rows, columns, outputs", [(2, 3, 4), (1, 1, 1), (40, 70, 33), (0, 3, 2)])
@pytest.mark.parametrize("with_bias", [True, False])
def test_the_linear_layer_has_the_values_and_gradients_of_ours(linear, dtype, rows, columns, outputs, with_bias):
    def made(*shape):
        return tl.randn(*shape, device="cuda", dtype=dtype).requires_grad_()

    inputs = [made(rows, columns), made(outputs, columns)] + ([made(outputs)] if with_bias else [])
    found, expected = linear(*inputs, *([] if with_bias else [None])), F.linear(*inputs)
    tolerance = {"rtol": 1e-2, "atol": 1e-2} if dtype is tl.float16 else {"rtol": 1e-4, "atol": 1e-5}
    tl.testing.assert_close(found, expected, **tolerance)
    weight = tl.randn_like(expected)
    for ours, theirs in zip(
        tl.autograd.grad(found, inputs, weight), tl.autograd.grad(expected, inputs, weight), strict=True
    ):
        tl.testing.assert_close(ours, theirs, **tolerance)


def test_devices_are_counted_without_an_error(features):
    assert features.device_count() >= 0


@pytest.mark.parametrize("call", [lambda m: m.set_device(10_000), lambda m: m.row_sums(tl.ones(2, 2))])
def test_errors_of_cuda_arrive_as_runtime_errors(features, call):
    with pytest.raises(RuntimeError, match=r"^(CUDA error: |row_sums needs a CUDA tensor)"):
        call(features)


@pytest.mark.skipif(tl.cuda.is_available(), reason="there is a GPU")
def test_the_current_device_needs_a_gpu(features):
    with pytest.raises(RuntimeError, match=r"^CUDA error: .*\nCUDA kernel errors might be asynchronously reported"):
        features.multiprocessors()


def places(x):
    """Where each element lies in memory, in the order of the dimensions."""
    return [
        sum(i * stride for i, stride in zip(index, x.stride(), strict=True))
        for index in itertools.product(*map(range, x.shape))
    ]


BASE = tl.zeros(4, 3, 5, 2)


@pytest.mark.parametrize(
    "x, kept, sizes, moved",
    [
        (BASE, -1, [120], -1),
        (BASE, 1, [4, 3, 10], 1),
        (BASE, 0, [4, 30], 0),
        (BASE, 3, [60, 2], 1),
        (BASE.transpose(0, 1), -1, [3, 4, 10], -1),
        (BASE[:, :, ::2], -1, [12, 3, 2], -1),
        (BASE[:, :1], -1, [4, 10], -1),
        (BASE[:, :1], 1, [4, 1, 10], 1),
        (BASE[:1, :1, :1, :1], -1, [1], -1),
        (tl.zeros(3).expand(4, 3), -1, [4, 3], -1),
        (tl.zeros(1).expand(4, 3, 1), -1, [12], -1),
    ],
)
def test_dimensions_are_joined_where_memory_allows(features, x, kept, sizes, moved):
    found_sizes, strides, found_moved, found_places = features.collapse(x, kept)
    assert (found_sizes, found_moved) == (sizes, moved)
    assert len(strides) == len(sizes)
    assert found_places == places(x)


@needs_gpu
@pytest.mark.parametrize("dtype", [tl.float32, tl.float64, tl.float16])
def test_kernels_with_atomic_additions(features, dtype):
    x = tl.randint(-4, 5, (7, 33), device="cuda").to(dtype)
    assert tl.equal(features.row_sums(x), x.sum(1))
    assert tl.equal(features.row_sums(x.t()), x.sum(0))


@needs_gpu
@pytest.mark.parametrize("dtype", [tl.uint8, tl.int8, tl.int16, tl.int32, tl.int64, tl.bool])
def test_atomic_additions_of_integers(features, dtype):
    x = tl.tensor([0, 1, 1, 0, 1], device="cuda").to(dtype)
    assert features.number_of_ones(x).item() == (True if dtype is tl.bool else 3)


@needs_gpu
def test_kernels_on_strided_memory_and_other_streams(features):
    x = tl.randn(5, 6, 7, device="cuda").transpose(0, 2)
    assert tl.equal(features.contiguous_copy(x), x.contiguous())
    assert features.many_numbers(x.contiguous()).shape == x.shape
    assert features.time_on_pool_stream(x[0].contiguous()) >= 0
    assert features.multiprocessors() > 0


CUDA_SOURCE = """
#include <ATen/cuda/CUDAContext.h>
__global__ void twice(const float* x, float* out, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) out[i] = 2 * x[i];
}
torch::Tensor doubled(torch::Tensor x) {
  TORCH_CHECK(x.is_cuda(), "doubled() takes a CUDA tensor");
  auto out = torch::empty_like(x);
  const int count = x.numel();
  twice<<<(count + 255) / 256, 256, 0, at::cuda::getCurrentCUDAStream()>>>(
      x.data_ptr<float>(), out.data_ptr<float>(), count);
  return out;
}
"""


def test_load_inline_with_a_cuda_source():
    require_cuda_compiler()
    from tensorlike.utils.cpp_extension import load_inline

    module = load_inline(
        "cuda_inline", "torch::Tensor doubled(torch::Tensor x);", CUDA_SOURCE, functions="doubled",
        extra_cflags=["-O0"], build_directory=build_folder("cuda_inline"),
    )  # fmt: skip
    with pytest.raises(RuntimeError, match=r"^doubled\(\) takes a CUDA tensor$"):
        module.doubled(tl.ones(2))
    if tl.cuda.is_available():
        x = tl.randn(1000, device="cuda")
        assert tl.equal(module.doubled(x), 2 * x)


def test_an_error_of_nvcc_is_shown():
    require_cuda_compiler()
    from tensorlike.utils.cpp_extension import load_inline

    with pytest.raises(RuntimeError, match=r'(?s)Error building extension .cuda_wrong.*"missing" is undefined'):
        load_inline(
            "cuda_wrong", "", "__global__ void k() { missing(); }", no_implicit_headers=True,
            build_directory=build_folder("cuda_wrong"),
        )  # fmt: skip


@pytest.mark.parametrize(
    "listed, flags",
    [
        ("8.0", ["-gencode=arch=compute_80,code=sm_80"]),
        (
            "7.5;9.0a+PTX",
            [
                "-gencode=arch=compute_75,code=sm_75",
                "-gencode=arch=compute_90a,code=sm_90a",
                "-gencode=arch=compute_90a,code=compute_90a",
            ],
        ),
        ("10.0 12.0", ["-gencode=arch=compute_100,code=sm_100", "-gencode=arch=compute_120,code=sm_120"]),
    ],
)
def test_the_environment_names_the_gpus_to_compile_for(monkeypatch, listed, flags):
    from tensorlike.utils import cpp_extension

    monkeypatch.setenv("TORCH_CUDA_ARCH_LIST", listed)
    assert cpp_extension._cuda_architectures([]) == flags
    assert cpp_extension._cuda_architectures(["-arch=sm_90"]) == []
    monkeypatch.setenv("TORCH_CUDA_ARCH_LIST", "sm_80")
    with pytest.raises(ValueError, match="'sm_80' is no compute capability such as 8.0"):
        cpp_extension._cuda_architectures([])
