"""Public functions: the questions that a call passes through before its implementation runs.

# Note [As the caller passed them]
Implementations get `args` and `kwargs` as the caller wrote them, so every public function takes `*args` and
`**keywords`. What the caller sees (`inspect.signature`, errors about missing and unknown arguments) comes from the
implementation behind it, `__wrapped__`, which has the exact signature.

# Note [The life of a public function]
A call goes through these questions, in this order; `answering` has all but the first:

- All arguments are plain and passed by position: the implementation runs. It is the first test, for most calls pass it.
- There are more arguments than parameters: `positional.excess` knows orders that PyTorch takes too.
- The operand of an operator is no operand: NotImplemented, so that Python asks the other one.
- No argument overrides (Note [What overrides] in `collect`), and no mode is active: the implementation runs,
  with the checks that it does not make itself.
- Otherwise the operands are collected, and the call is passed to modes and types: `core.dispatch`.

What is known of the form is read at the first call: an import does not pay for the functions that it never uses.
"""

from __future__ import annotations

from collections.abc import Callable
from types import CodeType, FrameType
from typing import Any, NamedTuple

from tensorlike._native import core

from .collect import collecting, keywords_test, plain_test, renaming, watched_options
from .core import PLAIN, STATE, TENSORS, ask_types, dispatch, known_plan
from .operation import Form
from .options import check_options, is_checked
from .positional import excess
from .signature import KEYWORD, VARIADIC
from .state import TENSOR_TYPES
from .tracebacks import shorten

_state = STATE.get
_MANY = 1 << 30

Arguments = tuple[Any, ...]
Keywords = dict[str, Any]


class Operator(NamedTuple):
    """How an operator treats its second operand, and what Python asks when it returns NotImplemented."""

    #: Returns the operand, or one made of it; NotImplemented for what no operator takes, such as None.
    operand: Callable[[Any], Any]
    #: Whether the operand may be one at all.
    acceptable: Callable[[Any], bool]
    #: Returns what the left operand is asked with in place of one that is not acceptable, or NotImplemented.
    replaced: Callable[[Any, Any], Any]
    #: That of `core.dispatch`.
    reflected: str


def public_function(
    form: Form,
    *,
    name: str,
    qualname: str,
    module: str,
    doc: str | Callable[[], str] | None,
    operator: Operator | None = None,
    short_circuit: Callable[[Arguments], Any] | None = None,
    strict: bool = False,
) -> Callable[..., Any]:
    """Make the public function of `form` and store it there: see Note [The life of a public function].

    `short_circuit` is called before anything else about calls with an operand that is not plain, and returns
    NotImplemented where it has no answer. With `strict` the types of options that are a `bool` or an `int` are tested,
    for an implementation that does not: see Note [Types of options].
    """
    implementation = form.implementation
    # An operator does not take all that is plain, and a Python function does not test its operands.
    all_plain = (PLAIN if operator is None and form.check is None else TENSORS).issuperset

    most = 0
    answer: Callable[[Arguments, Keywords], Any]

    def first(args: Arguments, keywords: Keywords) -> Any:
        nonlocal answer, most
        # Profilers and full tracebacks name a function by its code, and the interpreter keeps there what it learns.
        made.__code__ = made.__code__.replace(co_name=name, co_qualname=qualname)
        answer = answering(form, name, operator, short_circuit)
        most = _most_plain(form)  # The last step, since another thread may call meanwhile.
        return answer(args, keywords)

    answer = first

    def function(*args: Any, **keywords: Any) -> Any:
        try:
            if 0 < len(args) <= most and all_plain(map(type, args)) and not keywords:
                try:
                    return implementation(*args)
                except Exception:
                    check_options(name, form.parameters, args, keywords)
                    raise
            return answer(args, keywords)
        except Exception as error:
            shorten(error, made)
            raise

    made: Any = function
    del made.__annotations__  # Those of the public function are its implementation's.
    made.__name__ = name
    made.__qualname__ = qualname
    made.__module__ = module
    # The core calls it when the docstring is asked for.
    made.__doc__ = doc() if core is None and callable(doc) else doc
    made.__wrapped__ = implementation
    made._form = form
    made.operation = form.operation
    form.short_circuit = short_circuit is not None
    form.is_operator, form.reflected = operator is not None, "" if operator is None else operator.reflected
    form.strict = strict
    public: Any = made if core is None else core.Function(made)
    form.function = public
    form.key = public if form.reports is None else form.reports.key
    return public  # type: ignore[no-any-return]


_CODE = next(c for c in public_function.__code__.co_consts if type(c) is CodeType and c.co_name == "function")


def form_called_in(frame: FrameType) -> Form | None:
    """Return the form whose public function a frame runs; its locals have `args` and `keywords`."""
    code = frame.f_code
    if code.co_firstlineno != _CODE.co_firstlineno or code.co_filename != _CODE.co_filename:
        return None
    form: Form = frame.f_locals["form"]
    return form


def _most_plain(form: Form) -> int:
    """Return how many plain arguments by position need no further test."""
    parameters = [p for p in form.parameters if p.kind != KEYWORD]
    if form.check is None and not form.strict:
        return _MANY if any(p.kind == VARIADIC for p in parameters) else len(parameters)
    # Options of a Python function are tested.
    return next((place for place, p in enumerate(parameters) if not p.operand), len(parameters))


def running(form: Form) -> Callable[..., Any]:
    """Return the function that runs the implementation of `form` without dispatch, and its missing checks.

    It takes the arguments and the keywords, and whether all operands are known to be plain.
    """
    implementation, parameters, check = form.implementation, form.parameters, form.check
    name = form.name.rpartition(".")[2]
    watched = watched_options(parameters) if form.strict else {}
    order = [p.name for p in parameters if p.kind != KEYWORD]
    places = [(order.index(option), kind) for option, kind in watched.items() if option in order]
    has_options = any(map(is_checked, parameters))

    def run(args: Arguments, keywords: Keywords, plain: bool = False) -> Any:
        if check is not None and not plain:
            check(args, keywords)
        if watched:
            count = len(args)
            for place, kind in places:
                if place < count and type(args[place]) is not kind:
                    check_options(name, parameters, args, keywords)
            for option in keywords:
                if option in watched and type(keywords[option]) is not watched[option]:
                    check_options(name, parameters, args, keywords)
        try:
            return implementation(*args, **keywords)
        except Exception:
            if has_options:
                check_options(name, parameters, args, keywords)
            raise

    return run


Form.running = running


def answering(
    form: Form, name: str, operator: Operator | None, short_circuit: Callable[[Arguments], Any] | None
) -> Callable[[Arguments, Keywords], Any]:
    """Return the function that answers calls of `form`: see Note [The life of a public function]."""
    parameters = form.parameters
    #: The form that types receive.
    reported = form.reports or form
    by_position = [p for p in parameters if p.kind != KEYWORD]
    most = _MANY if any(p.kind == VARIADIC for p in by_position) else len(by_position)
    none_renamed, rename = renaming(parameters)
    # A function of the user's names its operands itself.
    operands_alone = not form.of_library
    are_plain = keywords_test(parameters, operands_alone)
    is_plain = plain_test(parameters, operands_alone)
    collect = collecting(parameters, operands_alone)
    run = running(form)
    plain_form, reflected = form.plain_form, None if operator is None else operator.reflected

    def answer(args: Arguments, keywords: Keywords) -> Any:
        if len(args) > most:
            return excess(form, args, keywords)
        if short_circuit is not None and (result := short_circuit(args)) is not NotImplemented:
            return result
        plain_keywords = not keywords or are_plain(keywords)
        if not plain_keywords and not none_renamed(keywords):
            rename(keywords)
            plain_keywords = are_plain(keywords)
        if operator is not None and len(args) > 1:
            other = operator.operand(args[1])
            if other is NotImplemented:
                return NotImplemented
            if other is not args[1]:
                args = (args[0], other, *args[2:])
        if PLAIN and plain_keywords and is_plain(args):
            return run(args, keywords, True)
        if operator is not None and len(args) > 1 and not operator.acceptable(args[1]):
            other = operator.replaced(*args[:2])
            if other is NotImplemented:
                return NotImplemented
            args = (args[0], other, *args[2:])
        asked = reported
        if plain_form is not None and args and type(args[0]) in TENSOR_TYPES and not _state().modes:
            asked = plain_form
        operands = collect(args, keywords)
        types = tuple(map(type, operands))
        plan = known_plan(types)
        if plan is not None and _state().clear:
            if plan.asked:
                # The same as in `dispatch`, a frame earlier.
                return ask_types(asked.key, plan, operands, args, keywords, None, reflected)
            if not plan.types:
                return form.run_undispatched(args, keywords)
        return dispatch(asked, types, operands, args, keywords, plan, reflected)

    return answer
