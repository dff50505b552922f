"""The differences between array libraries.

A kernel gets an array namespace `xp` that is spelled as NumPy. For NumPy arrays that is the `numpy` module itself; for
CuPy arrays it is `cupy_namespace.CupyNamespace`, which implements the deviations. Functions without a place in a
namespace (moving arrays between devices, views from a geometry, SciPy's functions) are below, which find the backend by
the type of an array or by a device.

CuPy is imported when the first CUDA device is asked for, or was already imported when the first CuPy array comes in; so
is JAX. Other array libraries are added by `register_backend`.

Arrays that cannot be written, JAX's among them, are never seen by kernels: a tensor holds an `OpaqueArray` in their
place, which has NumPy's interface (Note [Memory that is replaced] in `opaque_array`). `adopted` makes one.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tensorlike.dispatch.tracebacks import explained

from ..device import add_type, cpu, device
from ..types import Namespace, Tensor
from .backend import Array, Backend
from .numpy_backend import NumpyBackend

if TYPE_CHECKING:
    from .cupy_backend import CupyBackend
    from .jax_backend import JaxBackend
    from .opaque_backend import OpaqueBackend

__all__ = [
    "Array",
    "Backend",
    "CupyBackend",
    "JaxBackend",
    "NumpyBackend",
    "OpaqueBackend",
    "address_of",
    "adopted",
    "backend_for",
    "backend_of",
    "check_same_device",
    "cuda_device_count",
    "cuda_is_available",
    "data_pointer",
    "device_of",
    "holding",
    "library_array",
    "namespace_of",
    "promote_host_scalars",
    "register_backend",
    "scatter_add",
    "scipy_linalg",
    "scipy_sparse",
    "special",
    "strided_view",
    "transfer",
    "unregister_backend",
]

numpy_backend = NumpyBackend()

# By the name of the library's top-level module, in the order of registration: of two for one type of device, the
# later serves it.
_registered: dict[str, Backend] = {"numpy": numpy_backend}
# By the exact type of an array; filled when a type is first met.
_by_type: dict[type, Backend] = {np.ndarray: numpy_backend}
_cupy: list[CupyBackend] = []
_jax: list[JaxBackend] = []

# Modules that only programs with such arrays need: 2 ms of the import for CuPy's.
_LATER = {"CupyBackend": "cupy_backend", "JaxBackend": "jax_backend", "OpaqueBackend": "opaque_backend"}
#: The backends that come with this package, by the module their arrays' types are defined in.
_OWN = ("numpy", "cupy", "jax", "jaxlib")


def __getattr__(name: str) -> object:
    if name in _LATER:
        return getattr(importlib.import_module(f"{__name__}.{_LATER[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


def register_backend(backend: Backend, root_module_name: str) -> None:
    """Register `backend` for the arrays whose type is defined in `root_module_name`, and for its type of device.

    ValueError if a backend is registered under that name already.
    """
    if root_module_name in _registered or root_module_name in _OWN:
        raise ValueError(
            f"register_backend(): there is a backend for {root_module_name!r} already; call "
            f"unregister_backend({root_module_name!r}) first"
            if root_module_name not in _OWN
            else f"register_backend(): the backend for {root_module_name!r} cannot be replaced"
        )
    add_type(backend.device_type)
    _registered[root_module_name] = backend
    _by_type_reset()


def unregister_backend(root_module_name: str) -> None:
    """Remove the backend registered under that name; KeyError if there is none."""
    if root_module_name not in _registered or root_module_name == "numpy":
        raise KeyError(f"unregister_backend(): no backend was registered for {root_module_name!r}")
    del _registered[root_module_name]
    _by_type_reset()


def _by_type_reset() -> None:
    # In place, since readers hold the table; NumPy's entry stays through it.
    for array_type in list(_by_type):
        if array_type is not np.ndarray:
            _by_type.pop(array_type, None)


def _import_cupy() -> CupyBackend:
    if not _cupy:
        try:
            cupy = importlib.import_module("cupy")
        except ImportError as error:
            missing = isinstance(error, ModuleNotFoundError) and error.name == "cupy"
            problem = "CuPy is not installed" if missing else f"CuPy cannot be imported ({error})"
            raise RuntimeError(
                f"CUDA tensors need CuPy, and {problem}. Install it for the CUDA version of your driver: "
                'pip install "tensorlike[cuda13]", or pip install "tensorlike[cuda12]"'
            ) from (None if missing else error)
        from .cupy_backend import CupyBackend  # noqa: PLC0415 - optional

        _cupy.append(CupyBackend(cupy))
    return _cupy[0]


def _import_jax() -> JaxBackend:
    if not _jax:
        try:
            jax = importlib.import_module("jax")
            importlib.import_module("jax.numpy")
        except ImportError as error:
            missing = isinstance(error, ModuleNotFoundError) and error.name == "jax"
            problem = "JAX is not installed" if missing else f"JAX cannot be imported ({error})"
            raise RuntimeError(
                f"tensors on device 'jax' need JAX, and {problem}. Install it: pip install \"tensorlike[jax]\""
            ) from (None if missing else error)
        from .jax_backend import JaxBackend  # noqa: PLC0415 - optional

        _jax.append(JaxBackend(jax))
    return _jax[0]


def _backend_of_type(array_type: type) -> Backend:
    own: Backend | None = getattr(array_type, "tensorlike_backend", None)
    if own is not None:
        # The substitute for an array where there is none: see transforms/description.py.
        _by_type[array_type] = own
        return own
    for base in array_type.__mro__:
        root = base.__module__.partition(".")[0]
        backend = _registered.get(root)
        if backend is None and root == "cupy":
            backend = _import_cupy()
        if backend is None and root in ("jax", "jaxlib"):
            backend = _import_jax()
        if backend is not None and backend.owns(array_type):
            _by_type[array_type] = backend
            return backend
    raise TypeError(
        f"no backend for arrays of type {array_type.__module__}.{array_type.__qualname__}; known are the arrays of "
        f"{', '.join([*_registered, 'cupy', 'jax'])}. Convert the array to one of these, or call register_backend()"
    )


def backend_of(array: Array) -> Backend:
    """The backend of a raw array. TypeError for an object of no known array library.

    >>> import numpy as np
    >>> backend_of(np.ones(3)).name
    'numpy'
    """
    return _by_type.get(type(array)) or _backend_of_type(type(array))


def adopted(array: Array) -> Array:
    """The array that a tensor holds for one of a library: itself, or one around it where it cannot be written."""
    return array if type(array) is np.ndarray else backend_of(array).adopted(array)


def library_array(tensor: Tensor) -> Array:
    """The library's own array with the elements that a tensor, or a raw array, has now: JAX's for one on `jax`.

    Its history is left behind. Where memory cannot be written, the array stays as it is when the tensor is written.

    >>> library_array(tl.ones(2))
    array([1., 1.], dtype=float32)
    """
    array = getattr(tensor, "_tl_data", tensor)
    return array if type(array) is np.ndarray else backend_of(array).library_array(array)


def holding(value: Any) -> Backend | None:
    """The backend of opaque memory to whose library `value` belongs, None for anything else."""
    try:
        found = backend_of(value)
    except TypeError:
        return None
    return found if found.memory == "opaque" else None


def namespace_of(array: Array) -> Any:
    """The namespace `xp` for kernels over `array`; for a NumPy array the `numpy` module."""
    array_type = type(array)
    if array_type is np.ndarray:
        return np
    return (_by_type.get(array_type) or _backend_of_type(array_type)).namespace


def device_of(array: Array) -> device:
    """The device a raw array is stored on."""
    if type(array) is np.ndarray:
        return cpu
    return backend_of(array).device_of(array)


def _registered_for(device_type: str) -> Backend | None:
    for backend in reversed(_registered.values()):
        if backend.device_type == device_type:
            return backend
    return None


def backend_for(device: device) -> Backend:
    """The backend that makes arrays on `device`.

    RuntimeError where there is none: for `cuda`, when CuPy is not installed, no GPU is available or the index is too
    large; for another type, when no backend is registered.
    """
    if device.type == "cpu":
        return numpy_backend
    backend = _registered_for(device.type)
    if backend is None:
        if device.type not in ("cuda", "jax"):
            raise RuntimeError(
                f"no backend makes arrays on device type {device.type!r}; use one of 'cpu', 'cuda' and 'jax', or call "
                "register_backend()"
            )
        backend = _import_cupy() if device.type == "cuda" else _import_jax()
    backend.check_device(device)
    return backend


def cuda_device_count() -> int:
    """The number of CUDA devices that can be used: 0 without CuPy or without a driver. Never raises."""
    backend = _registered_for("cuda")
    if backend is None:
        try:
            backend = _import_cupy()
        except RuntimeError:
            return 0
    return backend.device_count()


def cuda_is_available() -> bool:
    """Whether there is a CUDA device, and CuPy to use it. Never raises."""
    return cuda_device_count() > 0


def transfer(array: Array, device: device) -> Array:
    """`array` on `device`: itself when it is there already, a copy otherwise."""
    source = backend_of(array)
    if device.type == source.device_type:
        target_device = source.current_device() if device.index is None else device
        if source.device_type == "cpu" or source.device_of(array) == target_device:
            return array
        source.check_device(device)
        return source.copy_to(array, target_device)
    return backend_for(device).from_host(source.to_host(array), device)


def check_same_device(arrays: Iterable[Array | None], function_name: str, *, host_scalars: bool = False) -> device:
    """The one device of `arrays`, operands of `function_name`; None is ignored.

    With `host_scalars`, as in pointwise functions, zero-dimensional arrays of the CPU may go with arrays of another
    device. RuntimeError, in PyTorch's words, if two devices are left.

    >>> import numpy as np
    >>> check_same_device([np.ones(3), None, np.zeros(())], "where")
    device(type='cpu')
    """
    found: device | None = None
    for array in arrays:
        # NumPy's arrays first: in most programs there are no others.
        if array is None or (type(array) is np.ndarray and found is cpu):
            continue
        here = device_of(array)
        if here is found or (host_scalars and here is cpu and array.ndim == 0):
            continue
        if found is not None:
            raise explained(
                RuntimeError, "device-mismatch",
                f"Expected all tensors to be on the same device, but found at least two devices, {found} and {here}! "
                f"(when checking the arguments of {function_name}()) Move them to one device with tensor.to(device)",
            )  # fmt: skip
        found = here
    return cpu if found is None else found


def promote_host_scalars(arrays: Sequence[Any]) -> list[Any]:
    """`arrays`, where zero-dimensional arrays of the CPU are moved to the device of the first that is elsewhere."""
    target: device | None = None
    for array in arrays:
        if array is not None and type(array) is not np.ndarray and not isinstance(array, np.generic):
            target = device_of(array)
            break
    if target is None or target is cpu:
        return list(arrays)
    backend = backend_for(target)
    return [
        backend.from_host(array, target) if type(array) is np.ndarray and array.ndim == 0 else array for array in arrays
    ]


def strided_view(
    xp: Namespace, owner: Array, shape: Sequence[int], dtype: Any, byte_offset: int, byte_strides: Sequence[int]
) -> Array:
    """A view of the memory of `owner`, a contiguous array, by its geometry in bytes.

    ValueError if `owner` is not contiguous or the geometry leaves its memory. Writing to the result writes to `owner`;
    where the strides let elements overlap, as those of an expanded view do, the result of writing there is undefined.

    >>> import numpy as np
    >>> strided_view(np, np.arange(6.0), (2, 3), np.float64, 0, (8, 16))
    array([[0., 2., 4.],
           [1., 3., 5.]])
    """
    backend = numpy_backend if xp is np else backend_of(owner)
    return backend.strided_view(owner, tuple(shape), dtype, byte_offset, tuple(byte_strides))


def data_pointer(array: Array) -> int:
    """The address of the first element of `array`."""
    return backend_of(array).data_pointer(array)


def address_of(array: Array) -> int:
    """The address of the first element of `array`, for those who read memory; RuntimeError where it has none.

    `data_pointer` is for comparing places in one memory.
    """
    backend = backend_of(array)
    if backend.memory == "opaque":
        raise RuntimeError(
            f"data_ptr(): the memory of tensors on device {str(backend.device_of(array))!r} has no address: copy the "
            "tensor to the CPU by cpu(), or compare untyped_storage() of two tensors to tell whether they share memory"
        )
    return backend.data_pointer(array)


def scatter_add(array: Array, indices: Array | tuple[Array | slice, ...], values: Array | float) -> None:
    """`array[indices] += values` in place, where an index that comes twice adds twice.

    >>> import numpy as np
    >>> counts = np.zeros(3)
    >>> scatter_add(counts, np.array([0, 2, 2]), 1.0)
    >>> counts
    array([1., 0., 2.])
    """
    backend_of(array).scatter_add(array, indices, values)


def special(array: Array) -> Any:
    """SciPy's special functions for arrays like `array`: `scipy.special`, or `cupyx.scipy.special` completed by it."""
    return backend_of(array).special


def scipy_linalg(array: Array) -> Any:
    """SciPy's linear algebra for arrays like `array`: `scipy.linalg`, or `cupyx.scipy.linalg` completed by it."""
    return backend_of(array).scipy_linalg


def scipy_sparse(array: Array) -> Any:
    """SciPy's sparse matrices for arrays like `array`: `scipy.sparse`, or `cupyx.scipy.sparse`."""
    return backend_of(array).scipy_sparse
