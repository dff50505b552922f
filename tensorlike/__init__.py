"""tensorlike: the `__torch_function__` protocol as an independent library.

A tensor library in Python with PyTorch's names and semantics, on NumPy and CuPy, whose public functions can all be
overridden by the types of their arguments.

A function, method or class does what PyTorch's of that name does, unless its documentation says otherwise. The examples
start from `import tensorlike as tl`.
"""

from __future__ import annotations

import importlib as _importlib
from math import e, inf, nan, pi

__version__ = "0.1.0"

from ._collector import uncollected as _uncollected

with _uncollected():
    from . import autograd, dispatch
    from . import tensor as _tensor  # the package; below, the name is the function
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
from .tensor.device import device
from .tensor.device_context import get_default_device, set_default_device
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
    strided,
)
from .tensor.namespaces import fill as _fill
from .tensor.size import Size
from .tensor.storage import TypedStorage, UntypedStorage
from .tensor.threads import get_num_threads, set_num_threads

#: Submodules imported on first use, which keeps the import of the package fast.
LAZY = (
    "_C", "_overrides", "cuda", "fft", "func", "functional", "library", "linalg", "masked", "nn", "optim", "overrides",
    "random", "return_types", "serialization", "signal", "special", "testing", "utils",
)  # fmt: skip
#: Functions of such parts, and of modules that are not public.
_LAZY_FUNCTIONS = {
    "classes": "library.classes", "load": "serialization", "ops": "library.operators", "save": "serialization",
    "set_printoptions": "tensor.printing", "vmap": "func",
    **dict.fromkeys(
        ("_assert", "_check", "_check_index", "_check_is_size", "_check_not_implemented", "_check_tensor_all",
         "_check_type", "_check_value", "_check_with"),
        "library.conditions",
    ),
}  # fmt: skip

# The functions come from the registry. `tensorlike.tensor` is the function from here on, as in PyTorch: see Note
# [A package that is a function].
_fill(__name__)
__all__ = [name for name in globals() if name[0] != "_" and name != "annotations"]
__all__ += [name for name in LAZY if name[0] != "_"] + ["set_printoptions"]


def __getattr__(name: str) -> object:
    if name in LAZY:
        return _importlib.import_module(f"{__name__}.{name}")
    if name in _LAZY_FUNCTIONS:
        return getattr(_importlib.import_module(f"{__name__}.{_LAZY_FUNCTIONS[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *LAZY, *_LAZY_FUNCTIONS})


