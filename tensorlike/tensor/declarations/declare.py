"""One declaration per operation: everything else about it is derived from that.

    @pointwise("multiply", operators=("__mul__", "__rmul__"), aliases=("multiply",))
    def mul(input: Tensor, other: Tensor | Number) -> Tensor:
        '''Product of `input` and `other`, element by element, with broadcasting. ...'''

    derivatives(
        mul,
        input=lambda grad, other: grad * conj(other),
        other=lambda grad, input: grad * conj(input),
    )

From the declaration derive the public function with its exact signature, the method, the operators, the in-place form,
`out=`, the aliases, the rows of the registry, the node's class and what it saves, the stub and the tests.

- Operands are the parameters annotated with `Tensor`: alone, optional, with `Number`, or in a sequence.
- A kernel `def f(xp, ...)` sees raw arrays of one backend and that backend's namespace, already promoted. An operation
  that is one ufunc names it instead, and its body is the docstring alone.
- A formula's parameter names say what the node saves: `grad` (or `grads`), the operation's own parameters, `result`,
  `results` or the name of one of several outputs, and `<operand>_shape` where the shape is enough. The engine undoes
  broadcasting (unbroadcast); a formula never does.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeVar, overload

from tensorlike.dispatch.core import undispatched
from tensorlike.dispatch.operation import Operation

from .declaration import DECLARATIONS, Declaration
from .declaration_errors import check_options
from .forms import attach_own_operator, expand, implementation_of
from .promotion_rules import Promotion
from .python_forms import composite, factory, incomparable, tensor_method, tensor_property

if TYPE_CHECKING:
    from ..types import Tensor

    R = TypeVar("R")
    #: What declares the operation of a kernel: its public function returns R.
    Declare = Callable[[Callable[..., Any]], Callable[..., R]]

__all__ = [
    "DECLARATIONS",
    "Declaration",
    "Promotion",
    "composite",
    "deprecated_orders",
    "derivatives",
    "factory",
    "incomparable",
    "inplace_form",
    "internal",
    "internal_pointwise",
    "number_order",
    "numbers_alone",
    "own_operators",
    "pointwise",
    "primitive",
    "raw_derivatives",
    "takes_overlapping",
    "tensor_method",
    "tensor_property",
    "undispatched",
    "zero_derivatives",
]

#: The namespace of internal operations: recorded and differentiated, not overridable.
INTERNAL = "tensorlike._internal"


@overload
def primitive(*, outputs: Sequence[str] | Literal[True], **options: Any) -> Declare[Any]: ...
@overload
def primitive(**options: Any) -> Declare[Tensor]: ...
def primitive(**options: Any) -> Declare[Any]:
    """Declare an operation with a kernel on raw arrays; see the module's docstring.

    A kernel whose annotation says that it returns a bool has no derivative.

    Args:
        name: The public name, that of the kernel unless given.
        namespace: Where the function is public, such as "tensorlike.linalg".
        function: Whether there is a function of that name.
        method: Whether there is a method; a string is the method's name.
        inplace: Whether there is an in-place method, whose name ends in an underscore.
        out: Whether the function takes `out=`; "cast", "exact", "joined" and "dtype" say how: see
            `Declaration.out_rules`.
        operators: Operators of Tensor that types are asked about as the method or, if Python's name says that they
            work in place, as the in-place method: `x * y` is `Tensor.mul` to them.
        aliases: Other names of function and methods; one with a dot is a function in another namespace.
        fast_kernel: What an elementwise kernel is while its options are at their defaults: a ufunc by name, which the
            native core runs, a pair of its name and the kinds of dtype for which it is, in place of the promotion's,
            or a function of the raw operands, which the core runs within formulas.
        promotion: The rule that brings operands to one dtype: a `Promotion` or its value, None where there is none.
        view: True when the result shares memory with the first operand, "maybe" when it may.
        outputs: The fields of a named tuple of results; True for a tuple of any length.
        variadic: The parameter that the method takes as `*arguments`.
        differentiable: Whether the result can have a gradient.
        write: True when the kernel writes into its first operand and returns nothing: it is given a copy, but in the
            in-place form, which must not copy a large tensor to touch a few elements. "all" when it writes every
            element, so that new memory serves for the copy. A second kernel that does so, where the first is another.
        own_layout: Whether results lie as the kernel leaves them, as those of elementwise operations do; they are
            contiguous otherwise, as PyTorch's.
        disjoint: The operands that must not share memory with the tensor that is written, the first operand or `out`;
            the others may be that tensor, but not overlap it. None when the in-place method allows that too.
        facts: Those of `Operation.declare`.

    Raises TypeError, which names the operation and the line, for an option that does not exist, an unknown promotion
    and for a name in `disjoint` and `variadic` that is no parameter.
    """
    return _declaring(None, False, options)


def _declaring(ufunc: str | None, elementwise: bool, options: dict[str, Any]) -> Declare[Any]:
    def declare(kernel: Callable[..., Any]) -> Callable[..., Any]:
        check_options(kernel, "primitive", options, _primitive, Operation.declare)
        return _primitive(kernel, ufunc, elementwise, **options)

    return declare


def _primitive(
    kernel: Callable[..., Any], ufunc: str | None, elementwise: bool, *, name: str | None = None,
    namespace: str = "tensorlike", function: bool = True, method: bool | str = True, inplace: bool = False,
    out: bool | str = False, operators: Sequence[str] = (), aliases: Sequence[str] = (),
    fast_kernel: str | tuple[str, str] | Callable[..., Any] | None = None, promotion: Promotion | str | None = None,
    view: bool | str = False, outputs: Sequence[str] | bool = False, variadic: str | None = None,
    differentiable: bool = True, write: Callable[..., None] | bool | str | None = None, own_layout: bool = False,
    disjoint: Sequence[str] | None = (), **facts: Any,
) -> Callable[..., Any]:  # fmt: skip
    d = Declaration(
        kernel, name=name or kernel.__name__, namespace=namespace, ufunc=ufunc, elementwise=elementwise,
        promotion=promotion, view=view, outputs=outputs, variadic=variadic, out=out, write=write,
        fast_kernel=fast_kernel, own_layout=own_layout, disjoint=disjoint,
    )  # fmt: skip
    d.declare(differentiable=differentiable and not d.plain_result, **facts)
    DECLARATIONS[d.full_name] = d
    return expand(  # type: ignore[no-any-return]
        d, function=function, method=method, inplace=inplace, operators=operators, aliases=aliases
    )


def pointwise(ufunc: str | None = None, **options: Any) -> Declare[Tensor]:
    """Declare an elementwise operation: by the name in NumPy of the ufunc that is the whole kernel, or by a kernel.

    Each element of the result is computed from the elements of the operands at its place. It has an in-place method,
    `out=` and the promotion "arithmetic" unless told otherwise; the options are those of `primitive`.
    """
    return _declaring(ufunc, True, {"promotion": "arithmetic", "inplace": True, "out": True, **options})


@overload
def internal(*, outputs: Sequence[str] | Literal[True], **options: Any) -> Declare[Any]: ...
@overload
def internal(**options: Any) -> Declare[Tensor]: ...
def internal(**options: Any) -> Declare[Any]:
    """Declare an internal operation, a part of a public function or a derivative, with the options of `primitive`."""
    return primitive(namespace=INTERNAL, **{"method": False, **options})


def internal_pointwise(**options: Any) -> Declare[Tensor]:
    """Declare an internal elementwise operation, a part of a public function or a derivative, by its kernel."""
    return pointwise(None, namespace=INTERNAL, **{"method": False, "inplace": False, "out": False, **options})


def own_operators(function: Any, *operators: str, beside_plain: bool = True) -> None:
    """Give Tensor operators of an operation that types are asked about as themselves, as PyTorch has some.

    If not `beside_plain`, they are asked about the method where the left operand does not override: PyTorch has one so.
    """
    for operator in operators:
        attach_own_operator(function.operation, operator, beside_plain)


def numbers_alone(*functions: Any) -> None:
    """Let operations compute two numbers without a tensor."""
    for function in functions:
        function.operation.numbers_alone = True


def takes_overlapping(function: Any, like: str = "") -> None:
    """Let the in-place form of an operation write a tensor whose elements overlap, as after `expand`.

    With a warning if `like` says what else PyTorch warns of so: "tensor[mask] = scalar".
    """
    function.operation.overlapping = like or True


def inplace_form(function: Any) -> Any:
    """Return the in-place form of an operation, which is not published."""
    d = function.operation
    return implementation_of(d, d.parameters, d.name + "_", inplace=True)


def derivatives(function: Any, **formulas: Callable[..., Any]) -> None:
    """Give an operation its derivative: one formula for each input that has one.

    A formula of a list of operands may ask for `others` in their place: the gradient of each needs the others alone,
    and one that no gradient needs is None there.

    Raises TypeError, which names the formula's line, for parameters that are no operands, and for a formula that uses
    other names than gradients, parameters, results and shapes.
    """
    d: Declaration = function.operation
    if not d.differentiable:
        raise TypeError(f"{d.full_name} is declared with differentiable=False and cannot have derivatives")
    d.check_formulas(formulas)
    d.vjp = formulas


def zero_derivatives(function: Any) -> None:
    """Give the in-place form of an operation without a derivative a gradient of zero, as PyTorch's comparisons have."""
    d: Declaration = function.operation
    if d.differentiable:
        raise TypeError(f"{d.full_name} is declared with differentiable=True: give it derivatives")
    d.constant = True


def deprecated_orders(function: Any, *orders: str) -> None:
    """Say in which orders an operation takes all its parameters by position, with PyTorch's warning.

    An order is the names of the parameters, between spaces: "input alpha other".
    """
    function.operation.deprecated_orders = tuple(tuple(order.split()) for order in orders)


def number_order(function: Any, order: str) -> None:
    """Say in which order an operation takes all its parameters by position if all but the first are numbers."""
    function.operation.number_order = tuple(order.split())


def raw_derivatives(function: Any, **formulas: Callable[..., Any]) -> None:
    """Give an operation formulas on raw arrays, used when the gradient is not differentiated again (without
    `create_graph`).

    They name no other values than the differentiable formulas, and a test compares the two. For operations where
    profiles show it: a public operation costs 500 ns more than its kernel, per formula and node.
    """
    d: Declaration = function.operation
    for name, formula in formulas.items():
        given = (d.vjp or {}).get(name)
        asked = formula.__code__.co_varnames[: formula.__code__.co_argcount]
        if given is None or not set(asked) <= set(given.__code__.co_varnames[: given.__code__.co_argcount]):
            raise d.error(formula, f"raw_derivatives(): the formula for {name!r} must name what its derivative names")
    d.raw_vjp = formulas
