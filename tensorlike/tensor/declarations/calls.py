"""The calls of primitives, interpreted: from the arguments of one form of a declaration to its result.

One implementation for all declarations. What a declaration says is read once, at the first call of a form; what is left
then is a function that binds the arguments, reads the operands, brings them to one dtype, runs the kernel, and wraps
or writes its result. It is complete: it needs no fast path beside it, and computes each value in one way.

# Note [Python binds the arguments]
A form is a function of `*args` and `**keywords`, whose signature is that of the declaration. Its arguments are bound by
a lambda with that signature, `lambda self, other, *, alpha=1: (self, other, alpha)`, so that Python itself raises the
errors of missing and unknown arguments, in the words of its version, and at the speed of a call (70 ns).
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from types import CodeType, FunctionType, NoneType
from typing import Any

import numpy as np

from tensorlike.autograd.grad_mode import get_state
from tensorlike.autograd.tensor_base import TensorBase, wrap
from tensorlike.dispatch.missing import MISSING
from tensorlike.dispatch.signature import KEYWORD, MANY, ONE, POSITIONAL, VARIADIC, Parameter
from tensorlike.dispatch.tracebacks import explained

from ..dtypes import default_float, dtype_of
from ..memory.views import check_inplace, check_shared
from ..promotion import can_cast
from ..tensor import Tensor
from ..types import Array, Namespace
from . import runtime
from .declaration import Declaration
from .operands import allows_none, allows_number, expected, operands_of
from .promotion_rules import Promotion
from .threads import LARGE, spread

Values = tuple[Any, ...]

_new = object.__new__
_ndarray = np.ndarray
_FLOATS = frozenset((int, float))
_HOST = frozenset((np.ndarray,))
_quiet: Callable[..., Array | None] = runtime.quiet
#: Rules that leave numbers to the kernel.
NUMBERS_STAY = frozenset((Promotion.BOUNDS, Promotion.QUOTIENT))


# ---------------------------------------------------------------------------------------------------------- arguments


@functools.cache
def _binding(signature: str, values: str) -> CodeType:
    code: CodeType = eval(f"lambda {signature}: ({values})").__code__
    return code


def binder(
    parameters: Sequence[Parameter], qualname: str, spelled: Callable[[Values, dict[str, Any]], Values] | None = None
) -> Callable[..., Values]:
    """Return the function from arguments to the values of all parameters: see Note [Python binds the arguments].

    `spelled` finds the values of a variadic parameter that may be passed by its name too.
    """
    parts, values = [], []
    keyword_only = False
    for p in parameters:
        value = p.name
        if p.kind == VARIADIC:
            parts.append("*" + p.name)
            keyword_only = True
            if spelled is not None:
                value = f"spelled({p.name}, keywords)"
        else:
            if p.kind == KEYWORD and not keyword_only:
                parts.append("*")
                keyword_only = True
            parts.append(p.name if p.default is MISSING else f"{p.name}=None")
        values.append(value + ",")
    if spelled is not None:
        parts.append("**keywords")
    code = _binding(", ".join(parts), " ".join(values))
    defaults = tuple(p.default for p in parameters if p.kind == POSITIONAL and p.default is not MISSING)
    bind = FunctionType(code, {"spelled": spelled}, qualname.rpartition(".")[2], defaults)
    bind.__qualname__ = qualname
    bind.__kwdefaults__ = {p.name: p.default for p in parameters if p.kind == KEYWORD and p.default is not MISSING}
    return bind


def _spelled(d: Declaration, name: str) -> Callable[[Values, dict[str, Any]], Values]:
    """Return what finds the values of the parameter that methods of `d` take as `*arguments`."""
    spread_name = d.variadic or ""

    def spelled(values: Values, keywords: dict[str, Any]) -> Values:
        # `x.permute(dims=(1, 0))` is the same call; Python has no parameter that is both variadic and a keyword.
        if keywords or not values:
            values = runtime.spelled(name, spread_name, values, keywords)
        if len(values) == 1 and not isinstance(values[0], int):
            return values[0]  # type: ignore[no-any-return]
        return values

    return spelled


def _free_types(p: Parameter) -> frozenset[type]:
    """Return the types of values that stand for an operand as they are and have no say in where it is computed."""
    if p.operand != ONE:
        return frozenset()
    return frozenset(((int, float) if allows_number(p) else ()) + ((NoneType,) if allows_none(p) else ()))


def _option_check(name: str, parameters: Sequence[Parameter]) -> Callable[[Values], None] | None:
    """Return the check of options whose wrong types would not fail by themselves: see Note [Types of options] in
    `dispatch.options`.
    """
    tests = []
    for place, p in enumerate(parameters):
        kind = p.annotation.removesuffix(" | None")
        if p.operand or p.kind == VARIADIC or kind not in ("bool", "int") or p.name.startswith("dim"):
            continue  # Dimensions are checked where they are counted.
        tests.append((place, kind == "bool", p.name, p.annotation))

    def check(values: Values) -> None:
        for place, is_bool, option, annotation in tests:
            value = values[place]
            if (value is not True and value is not False) if is_bool else type(value) is not int:
                runtime.options(name, (option, annotation, value))

    return check if tests else None


def _first_number(d: Declaration, name: str, parameters: Sequence[Parameter]) -> Callable[[Values], Values]:
    """Return what makes a tensor of a number that is the first operand."""
    others = [(place, p.name) for place, p in enumerate(parameters) if p in operands_of(parameters)][1:]
    floating = d.promotion in (Promotion.FLOAT, Promotion.REAL_FLOAT)

    def converted(values: Values) -> Values:
        place, other = others[0]
        if not d.numbers_alone and runtime.is_number(values[place]):
            runtime.wrong_type(name, other, 2, values[place])
        wide = default_float() if floating else None
        return (runtime.number_tensor(values[0], *[values[i] for i, _ in others], floating=wide), *values[1:])

    return converted


# ------------------------------------------------------------------------------------------------------------- kernels


def elementwise_operands(d: Declaration, parameters: Sequence[Parameter]) -> list[Parameter] | None:
    """Return the operands of a form that is the ufunc `d.fast_kernel` while all its options are at their defaults.

    None for another form.

    The native core answers such calls, and large ones are cut over threads.
    """
    operands = operands_of(parameters)
    if not d.elementwise or d.outputs or d.fast_kinds is None:
        return None
    if not 1 <= len(operands) <= 2 or any(p.operand != ONE for p in operands):
        return None
    return operands if [p for p in parameters if p.default is MISSING] == operands else None


def writes_directly(d: Declaration) -> bool:
    """Return whether in-place forms of `d` may write as they compute: not if NumPy could refuse halfway."""
    return isinstance(d.fast_kernel, str) and not d.boolean and d.promotion not in (Promotion.BOUNDS, Promotion.POWER)


def keeps_floats(d: Declaration) -> bool:
    """Return whether operands of one real floating-point dtype need no promotion, as for most but those that refuse
    them.
    """
    kinds = None if d.promotion is None else d.promotion.fast_kinds
    return kinds is not None and (not kinds or "f" in kinds)


def promoting(d: Declaration, name: str, parameters: Sequence[Parameter]) -> Callable[[Any, list[Any]], None]:
    """Return what brings the operands among the values of a call to the dtype of the declaration's promotion."""
    promotion = d.promotion
    assert promotion is not None
    rule = promotion.rule
    chosen = operands_of(parameters)
    many = [parameters.index(p) for p in chosen if p.operand == MANY]
    if many:
        (place,) = many[:1]

        def promote_many(xp: Namespace, arrays: list[Any]) -> None:
            arrays[place] = rule(name, xp, arrays[place])

        return promote_many
    places = [parameters.index(p) for p in chosen]
    keeps = keeps_floats(d)
    weak = _FLOATS if promotion not in NUMBERS_STAY else frozenset()

    def promote(xp: Namespace, arrays: list[Any]) -> None:
        dtype = None
        numbers = False
        for place in places:
            array = arrays[place]
            if type(array) is _ndarray:
                if dtype is None:
                    dtype = array.dtype
                elif array.dtype is not dtype:
                    break
            elif type(array) in weak:
                numbers = True
            else:
                break
        else:
            if keeps and dtype is not None and dtype.kind == "f":
                if numbers:
                    for place in places:
                        if type(arrays[place]) is not _ndarray:
                            arrays[place] = runtime.number_array(xp, arrays[place], dtype)
                return
        given = [place for place in places if arrays[place] is not None]
        for place, array in zip(given, rule(name, xp, [arrays[place] for place in given]), strict=True):
            arrays[place] = array

    return promote


def kernel_arguments(
    d: Declaration, parameters: Sequence[Parameter]
) -> tuple[list[int], list[tuple[str, int, Any]]]:
    """Return the places, among the parameters of a form, of what the kernel takes by position; and its options, each
    with its name, its place and its default.
    """
    places = {p.name: place for place, p in enumerate(parameters)}
    if d.parameters:
        places.setdefault(d.parameters[0].name, 0)  # A method's first parameter is `self`.
    positional = [places[p.name] for p in d.parameters if p.kind != KEYWORD and p.name in places]
    options = [p for p in d.parameters if p.kind == KEYWORD and p.name in places]
    return positional, [(p.name, places[p.name], p.default) for p in options]


def _computing(
    d: Declaration, name: str, parameters: Sequence[Parameter], write: Callable[..., None] | None = None
) -> Callable[[Any, list[Any]], Any]:
    """Return what runs the kernel on the values of a call, operands as arrays; `write` is run in place of it."""
    positional, options = kernel_arguments(d, parameters)
    arrays_at = [place for place, p in enumerate(parameters) if p.operand == ONE and p.name != "out"]
    count = len(positional)
    in_order = positional == list(range(count))
    ufunc = None if write is not None else d.ufunc
    kernel = write or (getattr(np, ufunc) if ufunc else d.kernel)
    elementwise = d.elementwise and write is None

    def compute(xp: Namespace, arrays: list[Any]) -> Any:
        given = arrays[:count] if in_order else [arrays[place] for place in positional]
        run: Any = kernel
        if ufunc is None:
            given = [xp, *given]
        elif xp is not np:
            run = getattr(xp, ufunc)
        more = {}
        for option, place, default in options:
            if arrays[place] is not default:  # The kernel has the same defaults.
                more[option] = arrays[place]
        try:
            return _quiet(run, *given, **more) if more else _quiet(run, *given)
        except (RuntimeError, ValueError):
            # Another thread is in the quiet context, shapes do not broadcast, or the kernel raises: tell these apart.
            if elementwise:
                return runtime.run_elementwise(name, run, [arrays[place] for place in arrays_at], *given, **more)
            return runtime.again(run, *given, **more)

    return compute


class _Large:
    """A ufunc on large arrays, cut over threads: see Note [Threads] in `threads`."""

    def __init__(self, d: Declaration, parameters: Sequence[Parameter]) -> None:
        operands = elementwise_operands(d, parameters)
        self.applies = operands is not None and isinstance(d.fast_kernel, str)
        self.ufunc: Any = getattr(np, d.fast_kernel) if isinstance(d.fast_kernel, str) else None
        self.kinds = d.fast_kinds
        self.boolean = self.applies and d.boolean
        self.places = [parameters.index(p) for p in operands or ()]
        self.options = [(i, p.default) for i, p in enumerate(parameters) if p.default is not MISSING]

    def fits(self, arrays: list[Any]) -> bool:
        """Return whether the ufunc alone is what the kernel computes, of arrays that have been promoted."""
        first = arrays[self.places[0]]
        weak = _FLOATS if first.dtype.kind == "f" else ()
        operands = [arrays[place] for place in self.places]
        return (
            all((type(a) is _ndarray and a.dtype is first.dtype) or type(a) in weak for a in operands)
            and type(first) is _ndarray
            and (not self.kinds or first.dtype.kind in self.kinds)
            and all(arrays[place] is default for place, default in self.options)
        )

    def result(self, arrays: list[Any]) -> Any:
        """Return the result, or None where NumPy's is of another dtype, or the operation raises."""
        found = self._run(arrays, None)
        if found is None or found.dtype is (np.dtype(bool) if self.boolean else arrays[self.places[0]].dtype):
            return found
        return None

    def written(self, arrays: list[Any]) -> bool:
        """Write the result into the first operand; return whether that was possible."""
        return self._run(arrays, arrays[self.places[0]]) is not None

    def _run(self, arrays: list[Any], out: Array | None) -> Any:
        given = [arrays[place] for place in self.places]
        try:
            if given[0].size >= LARGE:
                return spread(self.ufunc, given[0], given[1] if len(given) > 1 else None, out)
            return _quiet(self.ufunc, *given, *(() if out is None else (out,)))
        except Exception:
            return None  # The kernel raises the error, or another thread is in the quiet context.


# ----------------------------------------------------------------------------------------------------- calls of a form


def calling(
    d: Declaration, parameters: Sequence[Parameter], qualname: str, *, inplace: bool = False
) -> tuple[Callable[..., Values], Callable[[Values], Any]]:
    """Return a form of `d` with these parameters, as two functions: one binds the arguments, the other runs the call.
    """
    name = qualname.rpartition(".")[2]
    variadic = d.variadic is not None and any(p.kind == VARIADIC for p in parameters)
    bind = binder(parameters, qualname, _spelled(d, name) if variadic else None)
    run = writing(d, tuple(parameters), name)[0] if inplace else _returning(d, tuple(parameters), name)
    return bind, _taking_numbers(run, name, parameters)


def _taking_numbers(
    run: Callable[[Values], Any], name: str, parameters: Sequence[Parameter]
) -> Callable[[Values], Any]:
    """Return `run` for values among which a tensor of no dimensions may stand for a number.

    As in PyTorch, it is read then, unless it requires grad; for an int its dtype must be integral. What is no number
    raises TypeError.
    """
    places = [
        (place, p)
        for place, p in enumerate(parameters)
        if not p.operand and p.kind != VARIADIC and p.annotation.removesuffix(" | None") in ("float", "int", "Number")
    ]
    if not places:
        return run

    def run_with_numbers(values: Values) -> Any:
        for place, p in places:
            value = values[place]
            if type(value) in (float, int) or value is p.default:
                continue
            if isinstance(value, TensorBase):
                if stands_for_number(value, p.annotation.startswith("int")):
                    values = (*values[:place], value._tl_data.item(), *values[place + 1 :])
            elif p.annotation[:3] != "int":  # NumPy would make NaN of None, and compute with a list.
                runtime.options(name, (p.name, p.annotation, value))
        return run(values)

    return run_with_numbers


def stands_for_number(tensor: Any, integral: bool) -> bool:
    """Return whether a tensor is read as a number: of no dimensions, without grad, integral where an int is meant."""
    if tensor._tl_transformed or tensor.requires_grad or tensor._tl_data.shape != ():
        return False
    return not integral or tensor._tl_data.dtype.kind in "iu"


def _reading(parameters: Sequence[Parameter], name: str) -> Callable[[Values], tuple[Any, bool, bool, Any]]:
    """Return the function that reads the operands of a call.

    It returns the values with arrays for tensors, whether NumPy computes with them, whether one is tracked, and the
    dtype of all of them, None where they are not all arrays of one dtype.
    """
    of_method = bool(parameters) and parameters[0].name == "self"
    singles, several = [], []
    for place, p in enumerate(parameters):
        position = place + 1 - of_method if p.kind == POSITIONAL else None
        if p.operand == MANY and p.name != "out":
            several.append((place, p.name, position))
        elif p.operand == ONE and p.name != "out":
            singles.append((place, _free_types(p), allows_number(p), allows_none(p), p, position))
    check = _option_check(name, parameters)
    has_operands = bool(singles or several)
    first: Any = MISSING  # The dtype before the first operand.

    def read(values: Values) -> tuple[Any, bool, bool, Any]:
        arrays = [*values]
        on_host = has_operands
        tracked = False
        dtype = first
        for place, free, number, none, p, position in singles:
            value = values[place]
            kind = type(value)
            if kind in free:
                dtype = None
                continue
            if kind is Tensor or isinstance(value, TensorBase):
                arrays[place] = array = value._tl_data
                if value._tl_tracked:
                    tracked = True
                if type(array) is not _ndarray:
                    on_host = False
                if array.dtype is not dtype:
                    dtype = array.dtype if dtype is first else None
            elif (number and runtime.is_number(value)) or (none and value is None):
                on_host, dtype = False, None
            else:
                runtime.wrong_type(name, p.name, position, value, expected(p))
        for place, parameter, position in several:
            dtype = None
            arrays[place] = found = runtime.many(name, parameter, position, values[place])
            if not _HOST.issuperset(map(type, found)):
                on_host = False
            if True in [value._tl_tracked for value in values[place]]:
                tracked = True
        if check is not None:
            check(values)
        return arrays, on_host, tracked, dtype

    return read


def finishing(d: Declaration, parameters: tuple[Parameter, ...], name: str) -> Callable[[Values, Any, bool], Any]:
    """Return what makes the result of a call of what its kernel returned, from the values of the parameters and whether
    one of them is tracked.
    """
    operands = [place for place, p in enumerate(parameters) if p.operand in (ONE, MANY) and p.name != "out"]
    has_out = bool(parameters) and parameters[-1].name == "out"
    disjoint = [place for place, p in enumerate(parameters) if p.name in (d.disjoint or ())]
    out_rules = d.out_rules()
    several, view, plain_result = bool(d.outputs), d.view, d.plain_result
    contiguous = not (d.view or d.own_layout)
    differentiable = d.differentiable

    def finish(values: Values, result: Any, tracked: bool) -> Any:
        if plain_result:
            return result
        if several:
            result = runtime.contiguous_arrays(result) if contiguous else runtime.as_arrays(result)
        else:
            if type(result) is not _ndarray:
                result = runtime.as_array(result)
            if contiguous and result.ndim > 1 and not result.flags.c_contiguous:
                result = result.copy()
        if has_out:
            out = values[-1]
            if out is not None:
                given = [values[place] for place in operands]
                separate = tuple(values[place] for place in disjoint)
                if several:
                    return _write_outs(name, d, out, result, given, separate)
                return runtime.write_out(name, out, result, *given, disjoint=separate, **out_rules)
            values = values[:-1]
        if view:
            return d.record_view(result, *values)
        if tracked and differentiable:
            return d.record(result, *values)
        if several:
            return d._pack([wrap(a) for a in result])
        tensor = _new(Tensor)
        tensor._tl_data = result
        tensor._tl_tracked = False
        tensor._tl_edge = tensor._tl_counter = tensor._tl_meta = None
        return tensor

    return finish


def _returning(d: Declaration, parameters: tuple[Parameter, ...], name: str) -> Callable[[Values], Any]:
    """Return what runs a call that returns a new result."""
    read = _reading(parameters, name)
    operands = [place for place, p in enumerate(parameters) if p.operand in (ONE, MANY) and p.name != "out"]
    promote = None if d.promotion is None else promoting(d, name, parameters)
    keeps = keeps_floats(d)
    compute = _computing(d, name, parameters)
    finish = finishing(d, parameters, name)
    large = _Large(d, parameters)
    measured = large.places[0] if large.applies else -1
    to_tensor = (
        _first_number(d, name, parameters) if d.number_first and parameters[0].name != "self" else None
    )
    has_out = bool(parameters) and parameters[-1].name == "out"
    dtype_place = next((i for i, p in enumerate(parameters) if p.name == "dtype"), -1) if has_out else -1
    dtype_place = dtype_place if d.out == "dtype" else -1

    def run(values: Values) -> Any:
        if to_tensor is not None and type(values[0]) is not Tensor and runtime.is_number(values[0]):
            values = to_tensor(values)
        arrays, on_host, tracked, dtype = read(values)
        if dtype_place >= 0 and arrays[dtype_place] is None and isinstance(out := values[-1], TensorBase):
            arrays[dtype_place] = dtype_of(out._tl_data.dtype)
            values = (*values[:dtype_place], arrays[dtype_place], *values[dtype_place + 1 :])
        xp: Any = np
        if not on_host:
            xp, again = _elsewhere(d, name, run, parameters, values, arrays, operands, False)
            if again is not None:
                return again()
        if promote is not None and (dtype is None or not keeps or dtype.kind != "f"):
            promote(xp, arrays)
        result: Any = None
        if measured >= 0 and arrays[measured].size >= LARGE and large.fits(arrays):
            result = large.result(arrays)
        if result is None:
            result = compute(xp, arrays)
        return finish(values, result, tracked)

    return run


def writing(
    d: Declaration, parameters: tuple[Parameter, ...], name: str
) -> tuple[Callable[[Values], Any], Callable[..., Any]]:
    """Return what runs a call that writes its result into the first operand: from the values of its parameters, and
    from these with what `_reading` finds in them.
    """
    read = _reading(parameters, name)
    operands = [place for place, p in enumerate(parameters) if p.operand in (ONE, MANY) and p.name != "out"]
    others = [place for place in operands[1:] if parameters[place].operand == ONE]
    disjoint = [place for place, p in enumerate(parameters) if p.name in (d.disjoint or ())]
    promote = None if d.promotion is None else promoting(d, name, parameters)
    keeps = keeps_floats(d)
    compute = _computing(d, name, parameters, d.write)
    direct = _Large(d, parameters)
    is_direct = direct.applies and writes_directly(d) and d.disjoint is not None
    # A leaf that requires grad may be written by operations without a part in its history.
    in_history = d.differentiable or d.constant
    dtype_place = next((i for i, p in enumerate(parameters) if p.name == "dtype"), -1) if d.out == "dtype" else -1

    def run(values: Values) -> Any:
        arrays, on_host, tracked, dtype = read(values)
        return write(values, arrays, tracked, dtype, on_host)

    def write(values: Values, arrays: list[Any], tracked: bool, dtype: Any, on_host: bool = True) -> Any:
        tensor = values[0]
        check_inplace(tensor, name, in_history, overlapping=d.overlapping)
        if others and d.disjoint:
            check_shared(tensor, [values[place] for place in disjoint], name, True)
        elif others and d.disjoint is not None and tensor._tl_counter is not None:
            check_shared(tensor, [values[place] for place in others], name)
        if dtype_place >= 0 and arrays[dtype_place] is None:
            arrays[dtype_place] = dtype_of(tensor._tl_data.dtype)
            values = (*values[:dtype_place], arrays[dtype_place], *values[dtype_place + 1 :])
        xp: Any = np
        if not on_host:
            xp, again = _elsewhere(d, name, run, parameters, values, arrays, operands, True)
            if again is not None:
                return again()
        former = arrays[0]
        if promote is not None and (dtype is None or not keeps or dtype.kind != "f"):
            promote(xp, arrays)
        recorded = in_history and tracked and get_state().recording
        if d.write is not None:
            # What formulas need of the overwritten values is saved first.
            node = d.make_inplace(*values) if recorded and d.differentiable else None
            compute(xp, arrays)
            return d.written(tensor, node)
        if not recorded and is_direct and _is_written_directly(direct, former, arrays):
            return d.written(tensor, None)
        result = compute(xp, arrays)
        if type(result) is not _ndarray:
            result = runtime.as_array(result)
        _check_result(name, former, result)
        node = None
        if recorded:
            node = (d.make_inplace if d.differentiable else d.make_constant)(*values)
        former[...] = result
        # Writes of other operations without a derivative do not change the history.
        return d.written(tensor, node)

    return run, write


def _is_written_directly(direct: _Large, former: Array, arrays: list[Any]) -> bool:
    """Return whether a ufunc has written its result into the first operand: no temporary array, half of the time."""
    if arrays[0] is not former or not former.flags.c_contiguous or not direct.fits(arrays):
        return False
    return direct.written(arrays)


def _elsewhere(
    d: Declaration,
    name: str,
    run: Callable[[Values], Any],
    parameters: tuple[Parameter, ...],
    values: Values,
    arrays: list[Any],
    operands: list[int],
    inplace: bool,
) -> tuple[Any, Callable[[], Any] | None]:
    """Return the namespace of the operands, and what runs the call again where it has to be on another device.

    See Note [The current device] in `runtime`.
    """
    raws = [arrays[place] for place in operands]
    mixed = d.elementwise and len(raws) > 1 and all(parameters[place].operand == ONE for place in operands)
    xp = (runtime.shared_space if mixed else runtime.space)(name, *raws)
    if xp is None:
        # The operands are on two devices; `out` and other keywords stay where they are.
        count = sum(p.kind != KEYWORD for p in parameters)
        rest = values[count:]
        return xp, lambda: runtime.run_moved(inplace, name, lambda *moved: run((*moved, *rest)), *values[:count])
    if xp is not np and (guard := runtime.elsewhere(*raws)) is not None:
        return xp, lambda: runtime.run_guarded(guard, run, values)
    return xp, None


# ------------------------------------------------------------------------------------------------------------- results


def _check_result(name: str, former: Array, result: Array) -> None:
    if result.shape != former.shape:
        raise RuntimeError(
            f"{name}(): output with shape {list(former.shape)} doesn't match the broadcast shape {list(result.shape)}"
        )
    if result.dtype is not former.dtype and not can_cast(result.dtype, former.dtype):
        raise explained(
            RuntimeError, "inplace-dtype",
            f"{name}(): result type {runtime.dtype_name(result.dtype)} can't be cast to the desired output type "
            f"{runtime.dtype_name(former.dtype)}",
        )  # fmt: skip


def _write_outs(
    name: str, d: Declaration, out: tuple[Tensor, ...], results: list[Any], operands: Sequence[Any],
    disjoint: Sequence[Any],
) -> Any:  # fmt: skip
    if not isinstance(out, (tuple, list)) or len(out) != len(results):
        runtime.wrong_type(name, "out", None, out, f"tuple of {len(results)} Tensors")
    for target, result in zip(out, results, strict=True):
        runtime.write_out(name, target, result, *operands, disjoint=disjoint, **d.out_rules())
        disjoint = ()  # Indices, which come behind the values, may be those of an operand.
    return d._pack(list(out))
