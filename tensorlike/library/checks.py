"""`opcheck`: whether an operator keeps what its schema, its fake and its gradient promise."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from tensorlike.tensor.backends import data_pointer
from tensorlike.utils._pytree import tree_leaves, tree_map

from .operators import OpOverload, OpOverloadPacket, tensors_in
from .registration import FakeContext, _overload


class OpCheckError(Exception):
    """Raised by `opcheck` for an operator that breaks a promise."""


def _copied(value: Any) -> Any:
    return tree_map(lambda v: v.detach().clone().requires_grad_(v.requires_grad) if _is_tensor(v) else v, value)


def _is_tensor(value: object) -> bool:
    return any(True for _ in tensors_in([value]))


def _same_memory(a: Any, b: Any) -> bool:
    if a is b or not a.numel():
        return a is b
    return data_pointer(a.untyped_storage()._owner) == data_pointer(b.untyped_storage()._owner)


def _test_schema(op: OpOverload, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    values = op.bound(args, kwargs)
    before = _copied(values)
    result = op(*args, **kwargs)
    for argument, value, old in zip(op._schema.arguments, values, before, strict=True):
        for now, then in zip(tensors_in([value]), tensors_in([old]), strict=True):
            same = np.array_equal(now.detach().numpy(), then.detach().numpy(), equal_nan=True)
            if not same and not argument.type.is_write:
                raise OpCheckError(f"Argument {argument.name} is not defined as mutable but was mutated")
        for output in tensors_in(tree_leaves(result)):
            for tensor in tensors_in([value]):
                if _same_memory(output, tensor) and not argument.type.aliases:
                    raise OpCheckError(f"Argument {argument.name} is not defined to alias output but was aliasing")


def _test_autograd_registration(op: OpOverload, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    if not any(t.requires_grad for t in tensors_in(tree_leaves((args, kwargs)))):
        return
    keys = ("Autograd", "AutogradCPU", "AutogradCUDA", "CompositeImplicitAutograd")
    kernels_below = any(k.below for k in op.kernels.values())
    if op.formula is None and not kernels_below and not any(k in op.kernels for k in keys):
        result = op(*args, **kwargs)
        if any(t.requires_grad for t in tensors_in(tree_leaves(result))):
            raise OpCheckError(
                f"{op}: an input requires grad and so does the result, but the operator has neither a formula "
                "(register_autograd) nor a kernel for Autograd"
            )


def _test_faketensor(op: OpOverload, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    fake = op.kernels.get("Meta")
    if fake is None:
        # An operator that only writes its arguments has nothing to show.
        if "CompositeImplicitAutograd" in op.kernels or (op._schema.is_mutable and not op._schema.returns):
            return
        raise OpCheckError(
            f"There was no fake impl registered for {op}. Please use register_fake to say which shapes and dtypes it "
            "returns."
        )
    values = op.bound(args, kwargs)
    expected = op.run(_copied(values))
    real = list(tensors_in(tree_leaves(expected)))

    def shown(context: FakeContext) -> list[Any]:
        made = context.run(lambda: fake(op._schema.arguments, _copied(values)))
        found = list(tensors_in(tree_leaves(made)))
        if len(real) != len(found):
            raise OpCheckError(f"{op}: the fake returns {len(found)} tensors, the operator {len(real)}")
        return found

    context = FakeContext()
    faked = shown(context)
    if context.bounds:
        # The sizes that the values decide are those of the result: with them the fake is asked again.
        pairs = ((m, n) for t, o in zip(faked, real, strict=True) for m, n in zip(t.shape, o.shape, strict=False))
        sizes = {m: n for m, n in pairs if m in context.bounds}
        for number, size in sizes.items():
            least, most = context.bounds[number]
            if size < least or (most is not None and size > most):
                raise OpCheckError(f"{op}: the fake's new_dynamic_size(min={least}, max={most}) is {size} here")
        faked = shown(FakeContext(sizes))
    for one, other in zip(real, faked, strict=True):
        facts = [(tuple(t.shape), t.dtype, t.stride(), t.device) for t in (one, other)]
        if facts[0] != facts[1]:
            raise OpCheckError(
                f"{op}: the fake returns shape, dtype, strides and device {facts[1]}, the operator {facts[0]}"
            )


def _test_gradient(op: OpOverload, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    values = op.bound(args, kwargs)
    copies = _copied(values)
    wanted = [t for t in tensors_in(copies) if t.requires_grad]
    result = [t for t in tensors_in(tree_leaves(op.run(copies))) if t.requires_grad]
    if not wanted or not result:
        return
    total: Any = sum(t.sum() for t in result)
    total.backward()
    for tensor in wanted:
        if tensor.grad is not None and tensor.grad.shape != tensor.shape:
            raise OpCheckError(
                f"{op}: a gradient has the shape {tuple(tensor.grad.shape)}, its argument {tuple(tensor.shape)}"
            )


_TESTS: dict[str, Callable[[OpOverload, tuple[Any, ...], dict[str, Any]], None]] = {
    "test_schema": _test_schema,
    "test_autograd_registration": _test_autograd_registration,
    "test_faketensor": _test_faketensor,
    "test_aot_dispatch_dynamic": _test_gradient,
}
_DEFAULT = tuple(_TESTS)


def opcheck(
    op: OpOverload | OpOverloadPacket | str,
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any] | None = None,
    *,
    test_utils: str | Sequence[str] = _DEFAULT,
    raise_exception: bool = True,
    **tolerances: Any,
) -> dict[str, Any]:
    """Check an operator on one call, and return the outcome of each test by its name: "SUCCESS" or the error.

    - `test_schema`: it writes and aliases only what its schema says;
    - `test_autograd_registration`: its gradient is registered where its result requires grad;
    - `test_faketensor`: what `register_fake` returns has the shape, dtype and strides of the result;
    - `test_aot_dispatch_dynamic`: there is no compiler here; its backward runs, with gradients of the right shapes.

    Raises OpCheckError for the first test that fails, unless `raise_exception` is false.

    >>> tl.library.define("doc_check::twice", "(Tensor x) -> Tensor")
    >>> tl.library.impl("doc_check::twice", "CompositeImplicitAutograd", lambda x: x * 2)
    >>> tl.library.opcheck(tl.ops.doc_check.twice, (tl.ones(2),), test_utils="test_schema")
    {'test_schema': 'SUCCESS'}
    """
    overload = _overload(op)
    names = (test_utils,) if isinstance(test_utils, str) else tuple(test_utils)
    unknown = [n for n in names if n not in _TESTS]
    if unknown:
        raise ValueError(f"opcheck(): unknown test {unknown[0]!r}; there are {', '.join(_TESTS)}")
    found: dict[str, Any] = {}
    for name in names:
        given, keywords = _copied(tuple(args)), _copied(dict(kwargs or {}))
        try:
            _TESTS[name](overload, given, keywords)
            found[name] = "SUCCESS"
        except Exception as error:
            if raise_exception:
                raise OpCheckError(f"opcheck(op, ...): {name} failed with {error}") from error
            found[name] = error
    return found
