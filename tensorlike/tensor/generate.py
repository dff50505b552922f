"""Source templates of the functions generated from a declaration.

One template each for: the implementation behind a public function (exact signature, checks, promotion, kernel, result),
its in-place form, the recording of a node, and the node's class. `dispatch.deferred` compiles each distinct source
once, when it is first needed.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tensorlike.autograd.tensor_base import new_tensor_source
from tensorlike.dispatch.core import MISSING
from tensorlike.dispatch.signature import KEYWORD, MANY, ONE, POSITIONAL, VARIADIC, Parameter

from .promotion_rules import Promotion

if TYPE_CHECKING:
    from .declare import Declaration

__all__ = [
    "allows_none",
    "allows_number",
    "implementation_source",
    "inplace_source",
    "operands_of",
]


#: What the operations of a promotion compute integers in.
_COMPUTED_IN: dict[Promotion | None, str] = {
    Promotion.FLOAT: "default_float()", Promotion.REAL_FLOAT: "default_float()",
}  # fmt: skip
_AS_ARRAY = "result = result if type(result) is ndarray else as_array(result)"


def signature_text(parameters: Sequence[Parameter]) -> str:
    """Return the parameter list; defaults are set on the function afterwards, `None` stands for each."""
    parts: list[str] = []
    keyword_only = False
    for p in parameters:
        if p.kind == VARIADIC:
            parts.append("*" + p.name)
            keyword_only = True
            continue
        if p.kind == KEYWORD and not keyword_only:
            parts.append("*")
            keyword_only = True
        parts.append(p.name if p.default is MISSING else f"{p.name}=None")
    return ", ".join(parts)


def allows_number(p: Parameter) -> bool:
    """Return whether a plain number may stand for the operand."""
    return "Number" in p.annotation or "float" in p.annotation or "int" in p.annotation


def allows_none(p: Parameter) -> bool:
    """Return whether None may stand for the operand."""
    return "None" in p.annotation


def expected(p: Parameter) -> str:
    """Return what an operand must be, in the words of an error."""
    return "Tensor or Number" if allows_number(p) else "Tensor"


def _unwrap_lines(d: Declaration, parameters: Sequence[Parameter]) -> list[str]:
    lines = []
    for position, p in enumerate(parameters, 1):
        if p.name == "out" or not p.operand:
            continue
        where = position - (parameters[0].name == "self") if p.kind == POSITIONAL else None
        name = p.name
        if p.operand == MANY:
            lines.append(f"_{name} = many(NAME, {name!r}, {where}, {name})")
        elif p.operand == ONE:
            number = f" else {name} if is_number({name})" if allows_number(p) else ""
            none = f" else None if {name} is None" if allows_none(p) else ""
            wrong = f"wrong_type(NAME, {name!r}, {where}, {name}{f', {expected(p)!r}' if number else ''})"
            found = f"{name}._tl_data if isinstance({name}, TensorBase)"
            line = f"_{name} = {found}{number}{none} else {wrong}"
            if len(line) > 110:
                lines += [f"_{name} = (", f"    {found}{number}{none}", f"    else {wrong}", ")"]
            else:
                lines.append(line)
    return lines


def _option_lines(parameters: Sequence[Parameter]) -> list[str]:
    """Return the checks of options whose wrong types would not fail by themselves: see Note [Types of options] in
    `dispatch.options`.
    """
    tests, values = [], []
    for p in parameters:
        kind = p.annotation.removesuffix(" | None")
        if p.operand or p.kind == VARIADIC or kind not in ("bool", "int") or p.name.startswith("dim"):
            continue  # Dimensions are checked where they are counted.
        wrong = f"{p.name} is not True and {p.name} is not False" if kind == "bool" else f"type({p.name}) is not int"
        tests.append(wrong if kind == p.annotation else f"{p.name} is not None and {wrong}")
        values.append(f"({p.name!r}, {p.annotation!r}, {p.name})")
    if not tests:
        return []
    test = tests[0] if len(tests) == 1 else " or ".join(f"({one})" if " and " in one else one for one in tests)
    return [f"if {test}:", f"    options(NAME, {', '.join(values)})"]


def operands_of(parameters: Sequence[Parameter]) -> list[Parameter]:
    """Return the parameters that are tensors or sequences of them, `out` left out."""
    return [p for p in parameters if p.operand in (ONE, MANY) and p.name != "out"]


def are_single(parameters: Sequence[Parameter]) -> bool:
    """Return whether every operand is one tensor."""
    return all(p.operand == ONE for p in operands_of(parameters))


def _space_lines(d: Declaration, parameters: Sequence[Parameter], inplace: bool = False) -> list[str]:
    operands = operands_of(parameters)
    raws = ["_" + p.name for p in operands]
    if not raws:
        return ["xp = space(NAME)"]
    first = operands[0]
    if len(raws) == 1 and first.operand == ONE and not allows_none(first) and not allows_number(first):
        on_host = [f"type({raws[0]}) is ndarray"]
    elif len(raws) == 2 and are_single(parameters):
        on_host = [f"type({raw}) is ndarray" for raw in raws]
    else:
        on_host = []
    # See Note [The current device] in `runtime`.
    once_more = f"__function__, {_same_call(parameters)}"
    mixed = d.elementwise and len(raws) > 1 and are_single(parameters)
    find = f"{'shared_space' if mixed else 'space'}(NAME, {', '.join(raws)})"
    lines = [f"xp = numpy if {' and '.join(on_host)} else {find}" if on_host else f"xp = {find}"]
    if mixed:
        # The operands are on two devices.
        lines += ["if xp is None:", f"    return run_moved({inplace}, NAME, {once_more})"]
    return [
        *lines,
        f"if xp is not numpy and (guard := elsewhere({', '.join(raws)})) is not None:",
        f"    return run_guarded(guard, {once_more})",
    ]


def _same_call(parameters: Sequence[Parameter]) -> str:
    # A variadic argument is one sequence by now.
    return ", ".join(f"{p.name}={p.name}" if p.kind == KEYWORD else p.name for p in parameters)


def _promote_lines(d: Declaration, parameters: Sequence[Parameter]) -> list[str]:
    if d.promotion is None:
        return []
    lines = []
    chosen = [p for p in operands_of(parameters) if d.promoted is None or p.name in d.promoted]
    singles = [p for p in chosen if p.operand == ONE]
    sure = [p for p in singles if not allows_none(p)]
    unsure = [p for p in singles if allows_none(p)]
    many = [p for p in chosen if p.operand == MANY]
    if many:
        name = "_" + many[0].name
        lines.append(f"{name} = promote(NAME, xp, {name})")
    elif not unsure:
        names = ", ".join("_" + p.name for p in sure)
        promote = f"{names}, = promote(NAME, xp, ({names},))"
        # Operands of one dtype need no promotion: 300 ns less for a subclass, which takes this path.
        if len(sure) == 2 and d.promotion is Promotion.ARITHMETIC:
            a, b = ("_" + p.name for p in sure)
            lines.append(f"if not (type({a}) is ndarray and type({b}) is ndarray and {a}.dtype is {b}.dtype):")
            lines.append(f"    {promote}")
        elif len(sure) == 1 and d.promotion is Promotion.ARITHMETIC:
            pass
        else:
            lines.append(promote)
    else:
        lines.append(f"given = [o for o in ({', '.join('_' + p.name for p in singles)},) if o is not None]")
        lines.append("given = iter(promote(NAME, xp, given))")
        for p in singles:
            raw = "_" + p.name
            lines.append(f"{raw} = next(given)" if p in sure else f"{raw} = None if {raw} is None else next(given)")
    return lines


def _kernel_arguments(d: Declaration, parameters: Sequence[Parameter]) -> str:
    """Return the arguments that the kernel is called with, operands as raw arrays."""
    parts = [] if d.ufunc else ["xp"]
    names = {p.name: p for p in parameters}
    renamed = parameters[0].name if parameters else None
    for index, p in enumerate(d.parameters):
        local = names.get(p.name)
        if local is None and index == 0 and renamed is not None:
            local = parameters[0]
        if local is None or p.name == "out":
            continue
        value = "_" + local.name if local.operand in (ONE, MANY) else local.name
        parts.append(f"{p.name}={value}" if p.kind == KEYWORD else value)
    return ", ".join(parts)


def _call_lines(d: Declaration, parameters: Sequence[Parameter]) -> list[str]:
    arguments = _kernel_arguments(d, parameters)
    kernel = f"getattr(xp, {d.ufunc!r})" if d.ufunc else "kernel"
    if d.elementwise:
        arrays = ", ".join("_" + p.name for p in operands_of(parameters) if p.operand == ONE)
        return [
            "try:",
            f"    result = quiet({kernel}, {arguments})",
            "except (RuntimeError, ValueError):",
            # Another thread is in the quiet context, the shapes do not broadcast, or the kernel raises: tell these
            # apart.
            f"    result = run_elementwise(NAME, {kernel}, ({arrays},), {arguments})",
        ]
    return [
        "try:",
        f"    result = quiet({kernel}, {arguments})",
        "except RuntimeError:",
        f"    result = again({kernel}, {arguments})",
    ]


def _tracked(parameters: Sequence[Parameter]) -> str:
    tests = []
    for p in operands_of(parameters):
        if p.operand == MANY:
            tests.append(f"any([t._tl_tracked for t in {p.name}])")
        elif allows_number(p) or allows_none(p):
            tests.append(f"(isinstance({p.name}, TensorBase) and {p.name}._tl_tracked)")
        else:
            tests.append(f"{p.name}._tl_tracked")
    return " or ".join(tests) or "False"


def _forward(parameters: Sequence[Parameter]) -> str:
    return ", ".join(p.name for p in parameters if p.name != "out")


def _function(parameters: Sequence[Parameter], lines: Sequence[str], more: str = "") -> str:
    body = "\n".join("    " + line for line in lines)
    return f"def implementation({signature_text(parameters)}{more}):\n{body}\n"


def implementation_source(d: Declaration, parameters: Sequence[Parameter]) -> str:
    """Return the source of the implementation with the exact signature `parameters`."""
    lines: list[str] = []
    more = ""
    if d.number_first and parameters[0].name != "self":
        first, *others = (p.name for p in operands_of(parameters))
        lines.append(f"if is_number({first}):")
        wide = _COMPUTED_IN.get(d.promotion)
        if not d.numbers_alone:
            lines += [f"    if is_number({others[0]}):", f"        wrong_type(NAME, {others[0]!r}, 2, {others[0]})"]
        lines.append(f"    {first} = number_tensor({first}, {', '.join(others)}, floating={wide})")
    if d.spread is not None and any(p.kind == VARIADIC for p in parameters):
        spread = d.spread
        # `x.permute(dims=(1, 0))` is the same call; Python has no parameter that is both variadic and a keyword.
        more = ", **keywords"
        lines += [f"if keywords or not {spread}:", f"    {spread} = spelled(NAME, {spread!r}, {spread}, keywords)"]
        lines.append(f"if len({spread}) == 1 and not isinstance({spread}[0], int):")
        lines.append(f"    {spread} = {spread}[0]")
    lines += _unwrap_lines(d, parameters)
    lines += _option_lines(parameters)
    if d.out == "dtype" and any(p.name == "out" for p in parameters):
        lines += ["if dtype is None and isinstance(out, TensorBase):", "    dtype = dtype_of(out._tl_data.dtype)"]
    lines += _space_lines(d, parameters)
    lines += _promote_lines(d, parameters)
    lines += _call_lines(d, parameters)
    operands = _forward(parameters)
    if d.plain_result:
        lines.append("return result")
        return _function(parameters, lines, more)
    if d.several:
        lines.append(f"result = {'as_arrays' if d.view or d.own_layout else 'contiguous_arrays'}(result)")
    else:
        lines.append(_AS_ARRAY)
        if not (d.view or d.own_layout):
            # 50 ns, which matrix products save with `own_layout`: NumPy's are contiguous where PyTorch's are.
            lines += ["if result.ndim > 1 and not result.flags.c_contiguous:", "    result = result.copy()"]
    if any(p.name == "out" for p in parameters):
        tensors = ", ".join(p.name for p in operands_of(parameters))
        if d.apart:
            tensors += f", apart=({', '.join(d.apart)},)"
        if d.several:
            lines += ["if out is not None:", f"    return write_outs(out, result, {tensors})"]
        else:
            lines += ["if out is not None:", f"    return write_out(NAME, out, result, {tensors})"]
    if d.view:
        lines.append(f"return record_view(result, {operands})")
        return _function(parameters, lines, more)
    if d.differentiable:
        lines += [f"if {_tracked(parameters)}:", f"    return record(result, {operands})"]
    if d.several:
        lines.append("return pack([wrap(a) for a in result])")
    else:
        lines += [*new_tensor_source("tensor", "result"), "return tensor"]
    return _function(parameters, lines, more)


def inplace_source(d: Declaration, parameters: Sequence[Parameter]) -> str:
    """Return the source of the in-place form: the same computation, written into the first operand."""
    me = parameters[0].name
    lines: list[str] = [*_unwrap_lines(d, parameters), *_option_lines(parameters)]
    # A leaf that requires grad may be written by operations without a part in its history.
    lines.append(f"check_inplace({me}, NAME{'' if d.differentiable or d.constant else ', False'})")
    others = [p.name for p in operands_of(parameters)[1:] if p.operand == ONE]
    if others and d.apart:
        lines.append(f"check_shared({me}, ({', '.join(d.apart)},), NAME, True)")
    elif others and d.apart is not None:
        # 30 ns where the tensor has no view.
        lines.append(f"if {me}._tl_counter is not None:")
        lines.append(f"    check_shared({me}, ({', '.join(others)},), NAME)")
    if d.out == "dtype":
        lines += ["if dtype is None:", f"    dtype = dtype_of({me}._tl_data.dtype)"]
    lines += _space_lines(d, parameters, inplace=True)
    if d.write is None:
        lines.append(f"former = _{me}")
    lines += _promote_lines(d, parameters)
    if d.write is not None:
        return _function(parameters, [*lines, *_write_lines(d, parameters)])
    lines += _call_lines(d, parameters)
    lines.append(_AS_ARRAY)
    lines.append("check_result(NAME, former, result)")
    if d.differentiable or d.constant:
        lines.append("node = None")
        rest = ", ".join(p.name for p in parameters[1:])
        lines.append(f"if ({_tracked(parameters)}) and get_state().recording:")
        lines.append(f"    node = {'make_inplace' if d.differentiable else 'make_constant'}({me}, {rest})")
        lines += ["former[...] = result", f"return written({me}, node)"]
    else:
        # Writes of other operations without a derivative do not change the history.
        lines += ["former[...] = result", f"return written({me}, None)"]
    return _function(parameters, lines)


def _node_line(parameters: Sequence[Parameter]) -> str:
    made = f"make_inplace({', '.join(p.name for p in parameters)})"
    return f"node = {made} if ({_tracked(parameters)}) and get_state().recording else None"


def _write_lines(d: Declaration, parameters: Sequence[Parameter]) -> list[str]:
    me = parameters[0].name
    arguments = _kernel_arguments(d, parameters)
    # Save the values of the overwritten tensor that formulas need first.
    lines = [_node_line(parameters) if d.differentiable else "node = None"]
    lines += [
        "try:",
        f"    quiet(write, {arguments})",
        "except RuntimeError:",
        f"    again(write, {arguments})",
        f"return written({me}, node)",
    ]
    return lines
