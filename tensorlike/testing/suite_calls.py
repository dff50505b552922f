"""The sample calls of the conformance suite: with an instance of the tested type as one operand, or as all."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

from tensorlike.audit.api import Call, TensorlikeApi, _adapted
from tensorlike.audit.arguments import Place, at, copied, fitted, places, replaced
from tensorlike.audit.samples import serving
from tensorlike.autograd.tensor_base import wrap
from tensorlike.tensor.tensor import Tensor


class SuiteApi(TensorlikeApi):
    """The functions that the suite tests, with sample calls in any dtype."""

    def __init__(self) -> None:
        super().__init__()
        self.table = {
            function.name: function
            for function in self.functions()
            if function.comparable and function.key is not Tensor.__deepcopy__
        }

    @functools.cache  # noqa: B019 - there is one instance, `suite_api()`, for good
    def samples_of(self, name: str, dtype: str) -> tuple[Call, ...]:
        """Return the sample calls of a function in one dtype; they must be copied before they are made."""
        function = self.table[name]
        row = self._rows[name]
        source = serving(row)
        if source is None:
            return tuple(self.calls(function)) if dtype == "float32" else ()
        samples = source.samples
        if dtype not in samples.dtypes:
            return ()
        found = (
            _adapted(sample, source.parameters, row.parameters, samples.deterministic)
            for sample in samples.generate(dtype)
            if not (row.inplace and sample.broadcasts)
        )
        return tuple(call for call in found if call is not None)

    def operands(self, name: str, dtype: str) -> list[str]:
        """Return the operands, except `out`, for which a sample call passes a tensor."""
        function = self.table[name]
        calls = self.samples_of(name, dtype)
        return [
            p.name
            for p in function.parameters
            if p.operand and p.name != "out" and any(True for c in calls for _ in places(c, function, p.name, Tensor))
        ]

    @functools.cache  # noqa: B019 - as above
    def is_differentiable(self, name: str, operand: str, dtype: str) -> bool:
        """Return whether a sample call on plain tensors has a gradient with respect to an operand."""
        function = self.table[name]
        for call in self.samples_of(name, dtype):
            place = next(places(call, function, operand, Tensor), None)
            if place is None or not call.deterministic:
                continue
            args, kwargs = copied(list(call.args), self), copied(call.kwargs, self)
            leaf = at(args, kwargs, place).detach()
            if not leaf.dtype.is_floating_point:
                continue
            args, kwargs = replaced(args, kwargs, place, leaf.requires_grad_())
            try:
                result = function.key(*args, **kwargs)
            except Exception:  # A sample of another form of the function: try the next one.
                continue
            results = result if isinstance(result, (list, tuple)) else (result,)
            if any(isinstance(r, Tensor) and r.requires_grad for r in results):
                return True
        return False


@functools.cache
def suite_api() -> SuiteApi:
    """Return the one table of functions."""
    return SuiteApi()


class Case(NamedTuple):
    """One call with instances of the tested type, and the same with dense tensors."""

    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    dense_args: tuple[Any, ...]
    dense_kwargs: dict[str, Any]
    place: Place
    deterministic: bool


def cases(
    name: str,
    operand: str | None,
    dtype: str,
    make_operand: Callable[[Any], Any],
    to_dense: Callable[[Any], Any],
    *,
    requires_grad: bool = False,
) -> Iterator[tuple[Case, list[Any]]]:
    """Yield calls in which `operand`, or every operand where that is None, is an instance.

    With each comes the list of the plain tensors that the instances were made of: first those of the case's instances,
    then those that its dense arguments were computed from. A sample is left out if `make_operand` returns
    NotImplemented for one of its tensors, which the type cannot hold.
    """
    api = suite_api()
    function = api.table[name]
    names = [p.name for p in function.parameters if p.operand and p.name != "out"] if operand is None else [operand]
    for call in api.samples_of(name, dtype):
        found = [place for n in names for place in places(call, function, n, Tensor)]
        if not found or (operand is None and len(found) < 2):
            continue
        chosen = found if operand is None else found[:1]
        args: Any = copied(list(call.args), api)
        kwargs: Any = copied(call.kwargs, api)
        dense_args, dense_kwargs = tuple(args), dict(kwargs)
        leaves: list[Any] = []
        dense_leaves: list[Any] = []
        for place in chosen:
            made = []
            for kept in (leaves, dense_leaves):
                source = wrap(api.array(at(dense_args, dense_kwargs, place)).copy())
                if requires_grad and source.dtype.is_floating_point:
                    source.requires_grad_()
                kept.append(source)
                made.append(make_operand(source))
            if any(m is NotImplemented for m in made):
                break
            former = tuple(at(dense_args, dense_kwargs, place).shape)
            dense = to_dense(made[1])
            if former != tuple(dense.shape):
                if operand is None:  # The type changes sizes: it is not known how all operands would have to match.
                    break
                args, kwargs = fitted(args, kwargs, former, tuple(dense.shape), api)
                dense_args, dense_kwargs = tuple(args), dict(kwargs)
            args, kwargs = replaced(args, kwargs, place, made[0])
            dense_args, dense_kwargs = replaced(dense_args, dense_kwargs, place, dense)
        else:
            # Functions that write must not write to a tensor passed to both calls.
            others_args, others_kwargs = _apart(dense_args, chosen), _apart(dense_kwargs, chosen)
            case = Case(tuple(args), kwargs, others_args, others_kwargs, chosen[0], call.deterministic)
            yield case, [*leaves, *dense_leaves]


def _apart(values: Any, chosen: list[Place]) -> Any:
    """Copy the plain tensors among the arguments, except at the chosen positions."""
    api = suite_api()
    items = values.items() if isinstance(values, dict) else enumerate(values)
    heads = {place[0] for place in chosen}
    made = {key: value if key in heads else copied(value, api) for key, value in items}
    return made if isinstance(values, dict) else tuple(made.values())


def output_cases(
    name: str, dtype: str, make_operand: Callable[[Any], Any], to_dense: Callable[[Any], Any]
) -> Iterator[tuple[Case, Any, Any]]:
    """Yield (call with out=, the out= that was passed, what it must hold afterwards)."""
    api = suite_api()
    first = next(iter(api.operands(name, dtype)), None)
    if first is None:
        return
    for case, _ in cases(name, first, dtype, make_operand, to_dense):
        if "out" in case.kwargs:
            continue
        try:
            expected = api.table[name].key(*case.dense_args, **case.dense_kwargs)
        except Exception:  # The shapes of the type's values do not match: try another sample.
            continue
        several = isinstance(expected, tuple)
        wanted = expected if several else (expected,)
        if not all(type(w) is Tensor for w in wanted):
            continue
        outputs = [make_operand(wrap(np.zeros_like(api.array(w)))) for w in wanted]
        if any(o is NotImplemented or to_dense(o).shape != w.shape for o, w in zip(outputs, wanted)):
            continue
        out = tuple(outputs) if several else outputs[0]
        yield case._replace(kwargs={**case.kwargs, "out": out}), out, expected
