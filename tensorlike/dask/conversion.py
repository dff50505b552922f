"""Dtypes and copies in chunks, the parts of complex numbers, and leaving the history."""

from __future__ import annotations

from typing import Any

from tensorlike.dispatch.operation import Form, operation_of
from tensorlike.operations.elementwise import complexes
from tensorlike.operations.memory import placement
from tensorlike.operations.shape import reshaping
from tensorlike.tensor import Tensor

from .chunked import Method, called, chunked, is_chunked, name_of, refused, rule
from .inplace import share
from .mapping import mapped, on_chunks
from .recording import record, step
from .shaping import like
from .tasks import ChunkCall, Place


@rule(
    Method.to, Method.float, Method.double, Method.half, Method.bfloat16, Method.int, Method.long, Method.short,
    Method.char, Method.byte, Method.bool, Method.cfloat, Method.cdouble, Method.type, Method.type_as, Method.cpu,
    Method.cuda,
)  # fmt: skip
def _converted(form: Form, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    tensor = args[0]
    others = [v for v in (*args[1:], *kwargs.values()) if is_chunked(v)]
    if not is_chunked(tensor):
        # The other tensor says the dtype and the device.
        sample = called(form.function, args, kwargs)
        return tensor.to(dtype=sample.dtype, device=sample.device)
    if others:
        args = (args[0], *[v._tl_data.sample if is_chunked(v) else v for v in args[1:]])
        kwargs = {k: v._tl_data.sample if is_chunked(v) else v for k, v in kwargs.items()}
    sample = called(form.function, args, kwargs)
    if not hasattr(sample, "_tl_data"):
        return sample  # The name of the type.
    before, there = tensor.dtype, tensor.device
    if sample.dtype == before and sample.device == there and not kwargs.get("copy"):
        return tensor
    result = mapped(name_of(form), Method.to, (tensor.detach(),), {"dtype": sample.dtype, "device": sample.device})

    def backward(grad: Tensor) -> Any:
        return (
            grad.to(dtype=before, device=there) if not grad.is_complex() or before.is_complex else grad.real.to(before)
        )

    return step("ToCopyBackward0", result, (tensor,), backward)


@rule(reshaping.clone)
def _clone(form: Form, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    tensor = args[0] if args else kwargs["input"]
    return step("CloneBackward0", like(tensor, tensor._tl_data.array), (tensor,), lambda grad: grad)


@rule(Method.detach, placement.detach, Method.data)
def _detached(form: Form, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    tensor = args[0] if args else kwargs["input"]
    if form.kind == "setter":
        if not is_chunked(tensor) or not is_chunked(args[1]):
            raise refused(form, "its data can only be that of another tensor in chunks")
        return form.implementation(*args)
    return share(like(tensor, tensor._tl_data.array), tensor)


@rule(Method.detach_)
def _detach_(form: Form, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    return form.implementation(*args)


@rule(complexes.conj, complexes.conj_physical, Method.conj_physical)
def _conjugate(form: Form, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    tensor = args[0] if args else next(iter(kwargs.values()))
    if not tensor.is_complex():
        return tensor
    result = mapped("conj", complexes.conj_physical, (tensor.detach(),), {})
    return record(operation_of(complexes._conjugate), {"input": tensor}, result)


@rule(complexes.real, complexes.imag, Method.real, Method.imag)
def _half(form: Form, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    tensor = args[0] if args else next(iter(kwargs.values()))
    if form.kind == "setter":
        raise refused(form, "one part of complex numbers cannot be written to: make new ones with tl.complex()")
    called(form.key, (tensor,), {})
    real = "real" in form.name
    if not tensor.is_complex():
        return tensor
    result = mapped(name_of(form), complexes.real if real else complexes.imag, (tensor.detach(),), {})
    wide = tensor.dtype
    name = "RealBackward0" if real else "ImagBackward0"
    return share(step(name, result, (tensor,), lambda grad: (grad if real else grad * 1j).to(wide)), tensor)


@rule(complexes.view_as_real, complexes.view_as_complex)
def _as_pairs(form: Form, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    tensor = args[0] if args else kwargs["input"]
    array = tensor._tl_data.array
    numbers = tuple(range(array.ndim))
    if form.operation is operation_of(complexes.view_as_real):
        sample = called(form.function, (tensor,), {})
        found = on_chunks(
            ChunkCall(form.function, ((Place(0),), {}), "view_as_real"), [array], sample._tl_data.dtype,
            indices=[numbers], result=(*numbers, array.ndim), new={array.ndim: 2},
        )  # fmt: skip
    else:
        if not array.ndim or array.shape[-1] != 2:
            raise RuntimeError("view_as_complex(): Tensor must have a last dimension of size 2")
        if array.numblocks[-1] != 1:
            raise refused(form, f"it needs the last dimension in one chunk: rechunk({{{array.ndim - 1}: -1}}) first")
        sample = form.function(tensor._tl_data.sample.expand(*(1,) * (array.ndim - 1), 2).clone())
        found = on_chunks(
            ChunkCall(form.function, ((Place(0),), {}), "view_as_complex"), [array], sample._tl_data.dtype,
            indices=[numbers], result=numbers[:-1],
        )  # fmt: skip
    return share(record(form.operation, {"input": tensor}, chunked(found, sample)), tensor)
