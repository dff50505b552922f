"""Formulas as programs: the ufuncs that a derivative calls, recorded once, for the native core to run.

A formula is called with symbols in place of arrays or tensors. Each ufunc, operator or elementwise operation that it
applies to them becomes one step. A formula that asks a symbol for anything else, its values or its shape, has no
program, and runs in Python; but one that asks how many dimensions there are is called again with symbols of matrices,
of which it may return a product. See Note [Formula programs] in tensorlike/_native/program.c.
"""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from tensorlike.autograd.tensor_base import TensorBase
from tensorlike.dispatch.missing import MISSING
from tensorlike.dispatch.signature import ONE
from tensorlike.operations.linalg.matrix_kernels import WITH_DOT
from tensorlike.tensor.declarations.operands import allows_none, allows_number, operands_of

if TYPE_CHECKING:
    from tensorlike.tensor.declarations.declaration import Declaration
    from tensorlike.tensor.declarations.recording import Recorded

#: The most steps and other parts of a program that the native core takes.
_MOST_STEPS, _MOST_FORMULAS, _MOST_CONDITIONS = 12, 4, 6

#: Operators whose method of an array is the call of one ufunc: not `**`, which takes shortcuts.
_OPERATORS = ("add", "radd", "sub", "rsub", "mul", "rmul", "truediv", "rtruediv", "neg")


class _NotAProgram(Exception):
    """Raised for what a symbol cannot answer."""


def _refuse(*args: Any, **kwargs: Any) -> NoReturn:
    raise _NotAProgram


class _FloatingDtype:
    """The dtype of a symbol: one of this kind that BLAS knows, and otherwise unknown."""

    kind = char = "f"

    __getattr__ = _refuse


class _Formula:
    """The steps of one formula, and what it has assumed."""

    def __init__(self, of_matrices: bool) -> None:
        self.steps: list[tuple[Any, ...]] = []
        #: The saved values of which it knows that they are arrays.
        self.arrays: set[str] = set()
        #: Whether symbols say that they are matrices, and formulas may be products. What has been told so is below.
        self.of_matrices = of_matrices
        self.matrices: set[tuple[Any, ...]] = set()
        self.shapes: set[str] = set()

    def is_array(self, argument: tuple[Any, ...]) -> bool:
        """Return whether an argument of a step is certainly an array."""
        if argument[0] == "saved":
            return bool(argument[2]) or argument[1] in self.arrays
        return str(argument[0]) != "number"


class Symbol(NDArrayOperatorsMixin):
    """Stands for an array in a formula on raw arrays."""

    def __init__(self, formula: _Formula, argument: tuple[Any, ...]) -> None:
        self._formula = formula
        self._argument = argument

    @property
    def dtype(self) -> Any:
        """The dtype: a real floating-point one, the same for all symbols."""
        if self._argument[0] == "saved":
            self._formula.arrays.add(self._argument[1])
        return _FloatingDtype()

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Symbol:
        if (
            self._formula.of_matrices
            or method != "__call__"
            or options
            or not all(type(i) in (Symbol, int, float) for i in inputs)
        ):
            raise _NotAProgram
        arguments = [i._argument if type(i) is Symbol else ("number", float(i)) for i in inputs]
        formula = self._formula
        if not any(formula.is_array(argument) for argument in arguments):
            # Python computes numbers among themselves in double precision.
            formula.arrays.update(argument[1] for argument in arguments if argument[0] == "saved")
        formula.steps.append((ufunc, *arguments))
        return Symbol(formula, ("step", len(formula.steps) - 1))

    @property
    def ndim(self) -> int:
        """The number of dimensions, in a formula of matrices."""
        if not self._formula.of_matrices:
            raise _NotAProgram
        self._formula.matrices.add(self._argument[1] if self._argument[0] == "transposed" else self._argument)
        return 2

    @property
    def T(self) -> Symbol:
        """The transposed matrix."""
        if self.ndim != 2 or self._argument[0] == "transposed":
            raise _NotAProgram
        return Symbol(self._formula, ("transposed", self._argument))

    def swapaxes(self, first: int, second: int) -> Symbol:
        """Return the transposed matrix."""
        if {first, second} != {-1, -2}:
            raise _NotAProgram
        return self.T

    def dot(self, other: Any) -> Symbol:
        """Return the product of two matrices, which is the last that a formula computes."""
        if type(other) is not Symbol or self.ndim != other.ndim:
            raise _NotAProgram
        return Symbol(self._formula, ("product", self._argument, other._argument))

    def filled(self, shape: Any) -> _Filled:
        """Return the gradient, repeated in new memory of the shape of an operand."""
        if type(shape) is not _Shape or self._argument != ("gradient",):
            raise _NotAProgram
        return _Filled(shape.slot)

    __array_function__ = __array__ = __getattr__ = _refuse
    __bool__ = __len__ = __iter__ = __getitem__ = __float__ = __int__ = __index__ = _refuse
    __pow__ = __rpow__ = __matmul__ = __rmatmul__ = __floordiv__ = __rfloordiv__ = __mod__ = __rmod__ = _refuse


WITH_DOT.add(Symbol)


class _Shape:
    """Stands for the shape of an operand."""

    def __init__(self, formula: _Formula, slot: str) -> None:
        self._formula = formula
        self.slot = slot

    def __len__(self) -> int:
        if not self._formula.of_matrices:
            raise _NotAProgram
        self._formula.shapes.add(self.slot)
        return 2

    __getattr__ = __bool__ = __iter__ = __getitem__ = _refuse


class _Filled:
    """The result of `Symbol.filled`."""

    def __init__(self, slot: str) -> None:
        self.slot = slot


class _TensorSymbol:
    """Stands for a tensor in a formula on tensors: its methods are those of elementwise operations."""

    def __init__(self, symbol: Symbol) -> None:
        self._symbol = symbol

    def __getattr__(self, name: str) -> Callable[..., Any]:
        operation = getattr(getattr(TensorBase._tl_plain, name, None), "operation", None)
        return lambda *args: self._applied(operation, *args)

    def _applied(self, operation: Any, *args: Any) -> _TensorSymbol:
        kinds, fast = getattr(operation, "fast_kinds", None), getattr(operation, "fast_kernel", None)
        if kinds is None or (kinds and "f" not in kinds) or not operation.elementwise or operation.outputs:
            raise _NotAProgram
        operands = operands_of(operation.parameters)
        if len(operands) != 1 + len(args) or any(p.operand != ONE for p in operands):
            raise _NotAProgram
        for operand, value in zip(operands[1:], args, strict=True):
            number = type(value) in (int, float) and allows_number(operand)
            if not number and type(value) is not _TensorSymbol:
                raise _NotAProgram
        kernel = getattr(np, fast) if isinstance(fast, str) else fast
        is_known = isinstance(fast, str) or operation.ufunc or type(fast) is FunctionType
        if not callable(kernel) or not is_known:
            raise _NotAProgram
        result = kernel(self._symbol, *[a._symbol if type(a) is _TensorSymbol else a for a in args])
        if type(result) is not Symbol:
            raise _NotAProgram
        return _TensorSymbol(result)

    __bool__ = __len__ = __iter__ = __getitem__ = __float__ = __int__ = __index__ = _refuse


def _operator(name: str) -> Callable[..., Any]:
    def apply(self: _TensorSymbol, *args: Any) -> Any:
        return self.__getattr__(name)(*args)

    return apply


for _name in _OPERATORS:
    setattr(_TensorSymbol, f"__{_name}__", _operator(f"__{_name}__"))


def _arguments(
    d: Declaration, recorded: Recorded, formula: _Formula, names: tuple[str, ...], conditions: dict[str, Any], raw: bool
) -> list[Any]:
    """Return what a formula is called with: symbols, and options at their defaults."""
    found: list[Any] = []
    for name in names:
        slot = f"_saved_{name}"
        p = recorded.by_name.get(name)
        if name == "grad":
            symbol = Symbol(formula, ("gradient",))
        elif name == "result" or (p is not None and p.operand == ONE):
            only_tensor = p is None or not allows_number(p)
            symbol = Symbol(formula, ("saved", slot, only_tensor))
        elif p is not None and not p.operand:
            if p.default is MISSING or type(p.default) not in (type(None), bool, int, float):
                raise _NotAProgram
            conditions[slot] = p.default
            found.append(p.default)
            continue
        elif name.endswith("_shape") and raw and not _may_be_number(recorded, name):
            found.append(_Shape(formula, slot))
            continue
        else:
            raise _NotAProgram
        found.append(symbol if raw else _TensorSymbol(symbol))
    return found


def _may_be_number(recorded: Recorded, name: str) -> bool:
    source = recorded.by_name[name.removesuffix("_shape")]
    return allows_number(source) or allows_none(source)


def _checked_steps(formula: _Formula) -> tuple[tuple[Any, ...], ...]:
    """Return the steps, in which a saved value is an array where the formula has relied on it."""
    return tuple(
        (
            ufunc,
            *[("saved", a[1], formula.is_array(a)) if a[0] == "saved" else a for a in arguments],
        )
        for ufunc, *arguments in formula.steps
    )


def _formula_program(d: Declaration, recorded: Recorded, operand: str, conditions: dict[str, Any]) -> tuple[Any, ...]:
    """Return the program of the formula of one operand: of any shapes, else of matrices."""
    given = dict(conditions)
    try:
        return _recorded_program(d, recorded, operand, conditions, False)
    except _NotAProgram:
        conditions.clear()
        conditions.update(given)
        return _recorded_program(d, recorded, operand, conditions, True)


def _recorded_program(
    d: Declaration, recorded: Recorded, operand: str, conditions: dict[str, Any], of_matrices: bool
) -> tuple[Any, ...]:
    raw = d.raw_vjp.get(operand)
    call = recorded.formulas[operand] if raw is None else raw
    names = call.__code__.co_varnames[: call.__code__.co_argcount]
    formula = _Formula(of_matrices)
    result = call(*_arguments(d, recorded, formula, names, conditions, raw is not None))
    if of_matrices:
        return _product_program(formula, result)
    if type(result) is _Filled:
        return ("fill", (), result.slot)
    symbol = result._symbol if type(result) is _TensorSymbol else result
    if type(symbol) is not Symbol:
        raise _NotAProgram
    if symbol._argument == ("gradient",) and not formula.steps:
        # A formula on raw arrays gives a new tensor around the same array.
        return ("pass" if raw is None else "wrap", (), None)
    if symbol._argument != ("step", len(formula.steps) - 1) or not d.elementwise:
        raise _NotAProgram
    return ("steps", _checked_steps(formula), None)


def _product_program(formula: _Formula, result: Any) -> tuple[Any, ...]:
    """Return the program of a formula that is the product of two matrices, each of which may be transposed."""
    if type(result) is not Symbol or result._argument[0] != "product":
        raise _NotAProgram
    turned = [argument[0] == "transposed" for argument in result._argument[1:]]
    matrices = [a[1] if is_turned else a for a, is_turned in zip(result._argument[1:], turned, strict=True)]
    if not formula.matrices <= set(matrices) or not all(map(formula.is_array, matrices)):
        raise _NotAProgram
    return ("product", tuple(zip(matrices, turned, strict=True)), tuple(sorted(formula.shapes)))


def program_of(d: Declaration, recorded: Recorded) -> tuple[tuple[Any, ...], tuple[Any, ...]] | None:
    """Return the programs of the operands of `d`, and the options' values that they are for, None when it has none.

    The raw formulas are used only if there is one for every formula, as the node itself does.
    """
    if d.outputs or d.view or recorded.many is not None or len(recorded.operands) > _MOST_FORMULAS:
        return None
    if d.raw_vjp and set(d.raw_vjp) != set(recorded.formulas):
        return None
    conditions: dict[str, Any] = {}
    programs: list[tuple[Any, ...]] = []
    try:
        for p in recorded.operands:
            if p.name in recorded.formulas:
                programs.append(_formula_program(d, recorded, p.name, conditions))
            else:
                programs.append(("nothing", (), None))
    except Exception:  # A formula may do anything with an object that is no tensor.
        return None
    if sum(len(p[1]) for p in programs if p[0] == "steps") > _MOST_STEPS or len(conditions) > _MOST_CONDITIONS:
        return None
    return tuple(programs), tuple(conditions.items())
