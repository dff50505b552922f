"""Attributes of a chunked tensor that need no computing, and the refusal of those that do."""

from __future__ import annotations

from typing import Any

from tensorlike._originals import tl
from tensorlike.dispatch.operation import Form
from tensorlike.operations.memory import placement
from tensorlike.operations.shape import resizing
from tensorlike.tensor import queries
from tensorlike.tensor.dtypes import dtype_of
from tensorlike.tensor.tensor import Tensor
from tensorlike.transforms.description import NoArray

from .chunked import Method, called, number_needed, refused, rule
from .gradients import no_formula
from .mapping import rebuilt


@rule(
    Method.shape, Method.device, Method.ndim, Method.itemsize, Method.nbytes, Method.requires_grad, Method.grad,
    Method._grad, Method.grad_dtype, Method.grad_fn, Method._grad_fn, Method._backward_hooks,
    Method._post_accumulate_grad_hooks, Method.is_leaf, Method.output_nr, Method.retains_grad, Method._base,
    Method._version, Method.name, Method.size, Method.dim, Method.element_size, Method.requires_grad_,
    Method.retain_grad, Method.register_hook, Method.register_post_accumulate_grad_hook, Method.__len__, resizing.numel,
    Method.nelement, tl.is_inference,
)  # fmt: skip
def _described(form: Form, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Answer from the description of the elements and the place in the graph, as for any tensor."""
    return form.implementation(*args, **kwargs)


# The most common question: every formula reads it.
@rule(Method.dtype)
def _dtype(form: Form, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    return dtype_of(args[0]._tl_data.dtype)


@rule(
    placement.is_floating_point, placement.is_complex, placement.is_signed, placement.is_conj, placement.is_neg,
    placement.get_device, Method.get_device, Method.layout, Method.is_cuda, Method.is_cpu, Method.is_meta,
    Method.is_ipu, Method.is_maia, Method.is_mkldnn, Method.is_mps, Method.is_mtia, Method.is_nested,
    Method.is_quantized, Method.is_sparse, Method.is_sparse_csr, Method.is_vulkan, Method.is_xla, Method.is_xpu,
    Method.volatile, Method.is_pinned, tl.is_distributed, queries.result_type,
)  # fmt: skip
def _of_sample(form: Form, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Answer with what a chunk says."""
    return called(form.key, args, kwargs)


@rule(resizing.is_same_size)
def _same_size(form: Form, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    one, other = (*args, *kwargs.values())[:2]
    return tuple(one.shape) == tuple(other.shape)


@rule(
    Method.item, Method.tolist, Method.numpy, Method.__array__, Method.__bool__, Method.__float__, Method.__int__,
    Method.__complex__, Method.__index__, Method.__contains__, placement.is_nonzero,
)  # fmt: skip
def _number(form: Form, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    number_needed(form)


@rule(
    Method.data_ptr, Method.storage_offset, Method.untyped_storage, Method.storage, Method.__dlpack__, Method.stride,
    Method.set_, Method.share_memory_, Method.is_shared, Method.is_set_to,
)  # fmt: skip
def _memory(form: Form, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    raise refused(form, "it has no memory of its own before it is computed")


@rule(Method.is_contiguous)
def _contiguous(form: Form, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    return True  # Where the elements will lie makes no difference to results.


@rule(Method._is_view)
def _view(form: Form, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    return False


@rule(Method.__repr__)
def _shown(form: Form, args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
    tensor = args[0]
    data = tensor._tl_data
    shape = ", ".join("?" if n != n else str(n) for n in data.array.shape)
    chunks = ", ".join(_sizes(c) for c in data.array.chunks)
    parts = [f"shape=({shape}{',' if data.ndim == 1 else ''})", f"chunks=({chunks}{',' if data.ndim == 1 else ''})"]
    parts.append(f"dtype={dtype_of(data.dtype)}")
    kind = type(data.sample)
    if kind is not Tensor:
        parts.append(f"chunk_type={kind.__name__}")
    if tensor._tl_edge is not None:
        parts.append(f"grad_fn=<{tensor._tl_edge[0].name()}>")
    elif tensor._tl_requires_grad:
        parts.append("requires_grad=True")
    return f"ChunkedTensor({', '.join(parts)})"


def _sizes(chunks: tuple[Any, ...]) -> str:
    """Return the sizes of the chunks along one dimension: equal ones are counted."""
    shown = ["?" if n != n else str(n) for n in chunks]
    if len(shown) > 3 and len(set(shown[:-1])) == 1:
        last = "" if shown[-1] == shown[0] else f"+{shown[-1]}"
        return f"{len(shown) - bool(last)}*{shown[0]}{last}"
    return shown[0] if len(shown) == 1 else f"({', '.join(shown)})"


@rule(Method.__format__)
def _formatted(form: Form, args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
    if args[1]:
        number_needed(form)
    return repr(args[0])


@rule(Method.__deepcopy__)
def _copied(form: Form, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    tensor, memo = args
    if tensor._tl_edge is not None:
        raise RuntimeError(
            "Only Tensors created explicitly by the user (graph leaves) support the deepcopy protocol at the moment: "
            "detach() the tensor first"
        )
    found = memo.get(id(tensor))
    if found is None:
        found = memo[id(tensor)] = rebuilt(tensor._tl_data.array, tensor._tl_data.sample, tensor._tl_requires_grad)
    return found


@rule(Method.backward)
def _backward(form: Form, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Record the tasks of the gradients; nothing is computed."""
    try:
        return form.implementation(*args, **kwargs)
    except NoArray:
        raise no_formula() from None
