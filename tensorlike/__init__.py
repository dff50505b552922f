"""tensorlike: the `__torch_function__` protocol as an independent library.

A tensor library in Python with PyTorch's names and semantics, on NumPy and CuPy, whose public functions can all be
overridden by the types of their arguments.

A function, method or class does what PyTorch's of that name does, unless its documentation says otherwise. The examples
start from `import tensorlike as tl`.
PYTEST_DONT_REWRITE: it may be imported before pytest is.
"""

from __future__ import annotations

import gc as _gc
import importlib as _importlib
from math import e, inf, nan, pi

__version__ = "0.2.0"
from ._above import absent as _absent

# Where cuda, amp and other modules are that PyTorch has: Note [Namespaces that PyTorch has].
__path__.append(f"{__path__[0]}/as_torch/namespaces")

# Without the cyclic collector: an import makes a hundred thousand objects, nearly all of which stay; looking through
# them for garbage again and again takes 9 of 146 ms.
_collecting = _gc.isenabled()
_gc.disable()
try:
    from . import autograd, dispatch
    from . import operations as _operations
    from . import tensor as _tensor_package  # below, the name is the function
finally:
    if _collecting:
        if _gc.get_freeze_count() == 0:
            # Everything moves to the oldest generation without a traversal; the first full collection finds it there.
            _gc.freeze()
            _gc.unfreeze()
        _gc.enable()
from ._originals import keep as _keep
from .autograd import (
    enable_grad,
    inference_mode,
    is_anomaly_check_nan_enabled,
    is_anomaly_enabled,
    is_grad_enabled,
    is_inference_mode_enabled,
    no_grad,
    set_grad_enabled,
)
from .dispatch import TorchFunctionMode, overridable
from .tensor import Parameter, Tensor
from .tensor.creation.device_context import get_default_device, set_default_device
from .tensor.declarations.namespaces import fill as _fill
from .tensor.declarations.threads import get_num_threads, set_num_threads
from .tensor.device import device
from .tensor.dtypes import (
    bfloat16,
    bool,
    cdouble,
    cfloat,
    complex64,
    complex128,
    double,
    dtype,
    finfo,
    float,
    float16,
    float32,
    float64,
    get_default_dtype,
    half,
    iinfo,
    int,
    int8,
    int16,
    int32,
    int64,
    long,
    set_default_dtype,
    short,
    uint8,
    uint16,
    uint32,
    uint64,
)
from .tensor.generator import Generator, default_generator
from .tensor.layouts import (
    channels_last,
    channels_last_3d,
    contiguous_format,
    layout,
    memory_format,
    preserve_format,
    sparse_bsc,
    sparse_bsr,
    sparse_coo,
    sparse_csc,
    sparse_csr,
    strided,
)
from .tensor.memory.results import empty_cache, memory_stats, set_memory_cache_limit
from .tensor.size import Size
from .tensor.storage import TypedStorage, UntypedStorage

#: Submodules imported on first use, which keeps the import of the package fast.
LAZY = (
    "_C",
    "__config__",
    "__future__",
    "_dynamo",
    "_jit_internal",
    "_overrides",
    "_subclasses",
    "_utils",
    "accelerator",
    "amp",
    "array_api",
    "backends",
    "compiler",
    "cpu",
    "cuda",
    "dask",
    "distributed",
    "distributions",
    "fft",
    "func",
    "functional",
    "futures",
    "fx",
    "hub",
    "jit",
    "library",
    "linalg",
    "masked",
    "mps",
    "mtia",
    "multiprocessing",
    "nn",
    "onnx",
    "optim",
    "overrides",
    "profiler",
    "quasirandom",
    "random",
    "return_types",
    "serialization",
    "signal",
    "sparse",
    "special",
    "testing",
    "torch_version",
    "types",
    "utils",
    "version",
    "xpu",
)  # fmt: skip
#: Functions of such parts, and of modules that are not public.
_LAZY_FUNCTIONS = {
    "DisableTorchFunction": "_C",
    "DisableTorchFunctionSubclass": "_C",
    "GradScaler": "amp",
    "Tag": "library.tags",
    "bilinear": "nn.functional",
    "classes": "library.classes",
    "compile": "compiler",
    "fork": "futures",
    "from_file": "tensor.creation.mapped_files",
    "init_num_threads": "_settings",
    "dsmm": "sparse.products",
    "install_as_torch": "as_torch",
    "load": "serialization",
    "ops": "library.operators",
    "save": "serialization",
    "_sparse_coo_tensor_unsafe": "sparse",
    "set_anomaly_enabled": "autograd.anomaly",
    "set_printoptions": "tensor.conversion.printing",
    "show_config": "__config__",
    "sparse_coo_tensor": "sparse",
    "thread_safe_generator": "random",
    "uninstall_as_torch": "as_torch",
    "vmap": "func",
    "wait": "futures",
    **dict.fromkeys(
        ("autocast", "autocast_decrement_nesting", "autocast_increment_nesting", "clear_autocast_cache",
         "get_autocast_cpu_dtype", "get_autocast_dtype", "get_autocast_gpu_dtype", "is_autocast_cache_enabled",
         "is_autocast_cpu_enabled", "is_autocast_enabled", "set_autocast_cache_enabled", "set_autocast_cpu_dtype",
         "set_autocast_cpu_enabled", "set_autocast_dtype", "set_autocast_enabled", "set_autocast_gpu_dtype"),
        "amp.autocast_mode",
    ),
    **dict.fromkeys(
        ("BFloat16Storage", "BFloat16Tensor", "BoolStorage", "BoolTensor", "ByteStorage", "ByteTensor", "CharStorage",
         "CharTensor", "ComplexDoubleStorage", "ComplexFloatStorage", "DoubleStorage", "DoubleTensor", "FloatStorage",
         "FloatTensor", "HalfStorage", "HalfTensor", "IntStorage", "IntTensor", "LongStorage", "LongTensor",
         "ShortStorage", "ShortTensor", "Storage", "set_default_tensor_type"),
        "tensor.creation.legacy_types",
    ),
    **dict.fromkeys(
        ("are_deterministic_algorithms_enabled", "get_deterministic_debug_mode", "get_float32_matmul_precision",
         "get_num_interop_threads", "is_deterministic_algorithms_warn_only_enabled", "is_warn_always_enabled",
         "set_deterministic_debug_mode", "set_float32_matmul_precision", "set_num_interop_threads", "set_warn_always",
         "use_deterministic_algorithms"),
        "_settings",
    ),
    **dict.fromkeys(
        ("AcceleratorError", "OutOfMemoryError", "_is_all_true", "_is_any_true", "compiled_with_cxx11_abi",
         "get_device_module", "has_lapack", "has_mkl", "has_openmp", "has_spectral", "is_vulkan_available", "newaxis",
         "set_flush_denormal"),
        "_build",
    ),
    **dict.fromkeys(
        ("SymBool", "SymFloat", "SymInt", "sym_constrain_range", "sym_float", "sym_fresh_size", "sym_int", "sym_ite",
         "sym_max", "sym_min", "sym_not", "sym_sqrt", "sym_sum"),
        "symbolic",
    ),
    **dict.fromkeys(
        ("_assert", "_check", "_check_index", "_check_is_size", "_check_not_implemented", "_check_tensor_all",
         "_check_type", "_check_value", "_check_with"),
        "library.conditions",
    ),
}  # fmt: skip

# The functions come from the registry. `tensorlike.tensor` is the function from here on, as in PyTorch: see Note
# [A package that is a function].
_fill(__name__)
_keep(globals())
__all__ = [name for name in globals() if name[0] != "_" and name != "annotations"]
__all__ += [name for name in LAZY if name[0] != "_" and name != "dask"]  # `import *` needs no extra.
__all__ += ["install_as_torch", "set_printoptions", "show_config", "sparse_coo_tensor", "uninstall_as_torch"]


def __getattr__(name: str) -> object:
    if name in LAZY:
        try:
            return _importlib.import_module(f"{__name__}.{name}")
        except ImportError as error:
            if name != "dask":
                raise
            # So that hasattr() is False.
            raise AttributeError(str(error)) from error
    if name in _LAZY_FUNCTIONS:
        return getattr(_importlib.import_module(f"{__name__}.{_LAZY_FUNCTIONS[name]}"), name)
    if name[-1] == "_" and not name.startswith("_"):
        from .tensor.declarations.inplace_functions import inplace_function  # noqa: PLC0415 - 0.5 ms of the import

        found = inplace_function(name)
        if found is not None:
            globals()[name] = found
            return found
    return _absent(__name__, name)


def __dir__() -> list[str]:
    from .tensor.declarations.inplace_functions import inplace_functions  # noqa: PLC0415 - 0.5 ms of the import

    return sorted({*globals(), *LAZY, *_LAZY_FUNCTIONS, *(form.name for form in inplace_functions())})
