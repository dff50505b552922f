"""Tensors that modules register on assignment: parameters and buffers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Self, SupportsIndex

from tensorlike._above import explain_absent_names
from tensorlike._library_name import LIBRARY
from tensorlike._originals import tl
from tensorlike.dispatch.protocol import is_tensor_like
from tensorlike.tensor import Tensor
from tensorlike.tensor.device import device as Device
from tensorlike.tensor.dtypes import dtype as Dtype
from tensorlike.tensor.parameter import Parameter, PlainResults, has_mark

explain_absent_names(__name__)

__all__ = [
    "Buffer",
    "Parameter",
    "UninitializedBuffer",
    "UninitializedParameter",
    "UninitializedTensorMixin",
    "is_lazy",
]


class _BufferMeta(type(Tensor)):  # type: ignore[misc]
    def __instancecheck__(cls, instance: object) -> bool:
        return is_tensor_like(instance) and has_mark(instance, "_is_buffer")


class Buffer(PlainResults, metaclass=_BufferMeta):
    """A tensor that becomes a buffer of the module it is assigned to.

    `data` is the tensor (an empty one when None); with `persistent=False` the buffer stays out of `state_dict`.
    The call returns a plain tensor that shares memory with `data`.

    >>> module = tl.nn.Module()
    >>> module.scale = tl.nn.Buffer(tl.ones(2))
    >>> module.state_dict()["scale"]
    tensor([1., 1.])
    """

    persistent: bool

    def __new__(cls, data: Tensor | None = None, *, persistent: bool = True) -> Self:
        if data is None:
            data = tl.empty(0)
        buffer: Any = data.detach().requires_grad_(data.requires_grad)
        buffer.persistent = persistent
        buffer._is_buffer = True
        return buffer  # type: ignore[no-any-return]


#: The functions that work without a shape: attributes, moving to a device or dtype, and copying empty tensors.
_ALLOWED = frozenset(
    ("__deepcopy__", "__hash__", "__reduce_ex__", "__repr__", "char", "copy_", "cpu", "cuda", "double", "float",
     "get_device", "half", "int", "is_complex", "is_floating_point", "long", "short", "size", "to")
)  # fmt: skip


class UninitializedTensorMixin:
    """A tensor whose shape is not known yet; `materialize(shape)` gives it one.

    Until then it can be moved between devices and dtypes; everything else raises ValueError, and its shape
    RuntimeError.
    """

    #: The class of the tensor after `materialize`.
    cls_to_become: ClassVar[type]

    def materialize(self, shape: Sequence[int], device: Device | str | None = None, dtype: Dtype | None = None) -> None:
        """Give the tensor this shape, with uninitialised elements; device and dtype stay unless given.

        >>> weight = tl.nn.UninitializedParameter()
        >>> weight.materialize((2, 3))
        >>> weight.shape == (2, 3), type(weight).__name__
        (True, 'Parameter')
        """
        this: Any = self
        this.data = tl.empty(
            shape,
            device=this.data.device if device is None else device,
            dtype=this.data.dtype if dtype is None else dtype,
        )
        self.__class__ = self.cls_to_become

    @property
    def shape(self) -> Any:
        """Raise RuntimeError: there is none yet."""
        raise RuntimeError(
            "Can't access the shape of an uninitialized parameter or buffer. This error usually happens in "
            "`load_state_dict` when trying to load an uninitialized parameter into an initialized one. Call `forward` "
            "to initialize the parameters before accessing their attributes."
        )

    def share_memory_(self) -> Any:
        """Raise RuntimeError: there is no memory yet."""
        raise RuntimeError(
            "Can't share memory on an uninitialized parameter or buffer. Call `forward` to initialize the parameters "
            "before calling `module.share_memory()`."
        )

    def __repr__(self, *, tensor_contents: str | None = None) -> str:
        return f"<{type(self).__name__}>"

    def __reduce_ex__(self, protocol: SupportsIndex) -> Any:
        # PyTorch's form: the device and the dtype are not kept.
        this: Any = self
        return type(self), (this.requires_grad,)

    @classmethod
    def __torch_function__(
        cls, func: Callable[..., Any], types: tuple[type, ...], args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:  # fmt: skip
        # The getters and setters of properties are method wrappers.
        if type(func).__name__ == "method-wrapper" or func.__name__ in _ALLOWED:
            return super().__torch_function__(func, types, args, kwargs)  # type: ignore[misc]
        name = f"{func.__module__}.{getattr(func, '__qualname__', func.__name__)}"
        raise ValueError(
            f"Attempted to use an uninitialized parameter in {name}(). This happens with lazy modules, or with "
            f"{LIBRARY}.nn.UninitializedParameter used directly. Call the lazy module with a batch first, which "
            "initializes its parameters."
        )


class UninitializedParameter(UninitializedTensorMixin, Parameter):
    """A parameter whose shape is not known yet, as those of lazy modules before their first call.

    >>> tl.nn.UninitializedParameter()
    <UninitializedParameter>
    """

    cls_to_become = Parameter

    def __new__(
        cls, requires_grad: bool = True, device: Device | str | None = None, dtype: Dtype | None = None
    ) -> Self:
        # Made plain first: the class itself must not be called.
        result: Any = Parameter(tl.empty(0, device=device, dtype=dtype), requires_grad=requires_grad)
        result.__class__ = cls
        return result  # type: ignore[no-any-return]


class UninitializedBuffer(UninitializedTensorMixin, PlainResults):
    """A buffer whose shape is not known yet, as those of lazy modules before their first call.

    >>> tl.nn.UninitializedBuffer()
    <UninitializedBuffer>
    """

    cls_to_become = Tensor

    persistent: bool

    def __new__(
        cls, requires_grad: bool = False, device: Device | str | None = None, dtype: Dtype | None = None,
        persistent: bool = True,
    ) -> Self:  # fmt: skip
        result: Any = tl.empty(0, device=device, dtype=dtype, requires_grad=requires_grad)
        result.persistent = persistent
        result._is_buffer = True
        result.__class__ = cls
        return result  # type: ignore[no-any-return]


def is_lazy(value: Any) -> bool:
    """Return whether `value` is a parameter or buffer whose shape is not known yet.

    Same as PyTorch's `torch.nn.parameter.is_lazy`.
    """
    return isinstance(value, UninitializedTensorMixin)
