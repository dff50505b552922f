"""Data for the native core: the calls that it may answer, of each public function.

The core knows no operation. At the first call of a public function it asks `prepare`, which reads the function's form
and declaration and hands over what they say. Without the core nothing here is used.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

import numpy as np

from tensorlike._native import core
from tensorlike.dispatch import core as dispatching
from tensorlike.dispatch import state, tracebacks
from tensorlike.dispatch.collect import numpy_names
from tensorlike.dispatch.missing import MISSING
from tensorlike.dispatch.operation import Form, Operation
from tensorlike.dispatch.signature import KEYWORD, MANY, ONE, POSITIONAL, VARIADIC, Parameter
from tensorlike.tensor.declarations.calls import elementwise_operands, writes_directly
from tensorlike.tensor.declarations.declaration import Declaration
from tensorlike.tensor.declarations.operands import allows_number
from tensorlike.tensor.declarations.threads import LARGE
from tensorlike.tensor.parameter import Parameter as ParameterType
from tensorlike.tensor.tensor import Tensor

from . import native_families, native_general


def prepare(function: Any) -> None:
    """Give a function its handlers in the core; called once, at its first call."""
    called = getattr(function, "_called", None)
    if called is not None:
        d, parameters, inplace = called
        if describe(function, parameters, d):
            native_general.attach_kernel(function, d, parameters, function.__name__, inplace=inplace)
        return
    form: Form = function._form
    d = form.operation
    _prepare_dispatch(function, form)
    if form.short_circuit:
        return
    described = describe(function, form.parameters, d)
    if isinstance(d, Declaration) and isinstance(d.fast_kernel, str):
        if described:
            _prepare_elementwise(function, form, d)
    elif described and (family := native_families.family_of(form)) is not None:
        family.attach(function, form)
    if not isinstance(d, Declaration):
        native_general.attach_python(function, form)
    elif described:
        # That of an operator has the name of the method whose implementation it is.
        name = form.implementation.__name__
        native_general.attach_kernel(function, d, form.parameters, name, inplace=form.inplace, form=form)


def describe(function: Any, parameters: Sequence[Parameter], operation: Operation) -> bool:
    """Tell the core the names, places and defaults by which Python binds the arguments of a form of `operation`.

    Before it gets a handler, which expects every argument at its place: Note [Keywords become places] in function.c.
    Returns False for more parameters than the core binds.
    """
    if len(parameters) > native_general.MOST_PARAMETERS:
        return False
    spread = next((place for place, p in enumerate(parameters) if p.kind == VARIADIC), -1)
    # `x.permute(dims=(1, 0))`: see `_spelled` in tensor/declarations/calls.py.
    spelled = getattr(operation, "variadic", None)
    places = {p.name: place for place, p in enumerate(parameters) if place != spread or p.name == spelled}
    places |= {alias: places[name] for alias, name in numpy_names(parameters).items() if name in places}
    core.binds(
        function, tuple(map(sys.intern, places)), tuple(places.values()), tuple(p.default for p in parameters),
        sum(p.kind != KEYWORD for p in parameters), spread,
    )  # fmt: skip
    return True


def _prepare_dispatch(function: Any, form: Form) -> None:
    positional = [p for p in form.parameters if p.kind != KEYWORD]
    places = tuple(i for i, p in enumerate(positional) if p.operand)
    operands = [positional[i] for i in places]
    if form.short_circuit or not operands or len(operands) > 8:
        return
    if any(p.operand not in (ONE, MANY) or p.kind != POSITIONAL for p in operands):
        return
    required = max(1, sum(p.kind == POSITIONAL and p.default is MISSING for p in positional))
    most = -1 if any(p.kind == VARIADIC for p in positional) else len(positional)
    python_keywords = frozenset(numpy_names(form.parameters)).union(p.name for p in form.parameters if p.operand)
    core.dispatched(
        function, (form.reports or form).key, places, tuple(p.operand == MANY for p in operands), python_keywords,
        required, most, form.reflected or None, form.is_operator, form.plain_form is not None,
    )  # fmt: skip


def _prepare_elementwise(function: Any, form: Form, d: Declaration) -> None:
    operands = elementwise_operands(d, form.parameters)
    if operands is None or (form.inplace and not writes_directly(d)):
        return
    numbers = len(operands) == 2 and allows_number(operands[1])
    ufunc = getattr(np, d.fast_kernel)  # type: ignore[arg-type]
    # PyTorch's name, wherever a sum or a difference has one, for the factor of the second operand.
    scales = len(form.parameters) > 2 and form.parameters[2].name == "alpha"
    product = np.multiply if scales else None
    core.elementwise(function, ufunc, d.fast_kinds, d.boolean, numbers, form.inplace, not form.inplace, product)
    if d.differentiable and not form.inplace:
        core.records(function, d.recording)


if core is not None:
    core.provide(
        tensor=Tensor,
        parameter=ParameterType,
        tensors=state.TENSORS,
        plain=state.PLAIN,
        state=state.STATE,
        clear=state.CLEAR,
        missing=MISSING,
        ordinary=state.ORDINARY,
        plans=dispatching._PLANS,
        prepare=prepare,
        unanswered=dispatching.unanswered,
        went_in_circles=dispatching.went_in_circles,
        shorten=tracebacks.shorten,
        files=tracebacks.FILES,
        activation=state.Activation,
        large=LARGE,
    )
