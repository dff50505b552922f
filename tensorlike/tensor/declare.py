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
from typing import Any

from tensorlike.dispatch.core import undispatched

from .declaration import DECLARATIONS, Declaration
from .fast_paths import FastPath
from .forms import expand
from .python_forms import composite, factory, tensor_method, tensor_property

__all__ = [
    "DECLARATIONS",
    "Declaration",
    "composite",
    "derivatives",
    "factory",
    "internal",
    "internal_pointwise",
    "pointwise",
    "primitive",
    "raw_derivatives",
    "tensor_method",
    "tensor_property",
    "undispatched",
    "zero_derivatives",
]

#: The namespace of internal operations: recorded and differentiated, not overridable.
INTERNAL = "tensorlike._internal"


def primitive(
    *,
    name: str | None = None,
    namespace: str = "tensorlike",
    ufunc: str | None = None,
    function: bool = True,
    method: bool | str = True,
    inplace: bool = False,
    out: bool | str = False,
    operators: Sequence[str] = (),
    inplace_operators: Sequence[str] = (),
    own_operators: Sequence[str] = (),
    own_inplace_operators: Sequence[str] = (),
    aliases: Sequence[str] = (),
    hot: str | Callable[..., Any] | FastPath | None = None,
    elementwise: bool = False,
    promotion: str | None = None,
    promoted: Sequence[str] | None = None,
    view: bool | str = False,
    several: Sequence[str] | bool = False,
    plain_result: bool = False,
    spread: str | None = None,
    weak_numbers: bool = True,
    differentiable: bool = True,
    write: Callable[..., None] | None = None,
    own_layout: bool = False,
    **facts: Any,
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Declare an operation with a kernel on raw arrays; see the module's docstring.

    Implementations receive the method for `operators`, and the operator itself for `own_operators`, as in PyTorch. An
    alias with a dot is a function in another namespace. `hot` is what the fast path may run in place of an elementwise
    kernel whose options are at their defaults: a ufunc by name, or a function of the raw operands; or a whole
    `FastPath`.

    `view` is True when the result shares memory with the first operand, "maybe" when it may; `several` names the
    fields of a named tuple, or is True for a tuple of any length; `plain_result` leaves the kernel's result unwrapped;
    `spread` names the parameter that the method takes as `*arguments`; `weak_numbers` says that NumPy and PyTorch agree
    on what a Python number does; `differentiable=False` is for results that have no gradient. `write` is a second
    kernel with the same arguments, which writes into the first one: an in-place form that touches a few elements of a
    large tensor must not compute them all. Results are contiguous in memory, as PyTorch's are, unless the operation is
    elementwise or has `own_layout`: then they lie as the kernel leaves them. `facts` are those of `Operation.declare`.
    """

    def declare(kernel: Callable[..., Any]) -> Callable[..., Any]:
        d = Declaration(
            kernel,
            name=name or kernel.__name__,
            namespace=namespace,
            ufunc=ufunc,
            elementwise=elementwise,
            promotion=promotion,
            promoted=promoted,
            view=view,
            several=several,
            plain_result=plain_result,
            spread=spread,
            weak_numbers=weak_numbers,
            out=out,
            write=write,
            hot=hot,
            own_layout=own_layout,
        )
        d.declare(differentiable=differentiable and not plain_result, **facts)
        DECLARATIONS[d.full_name] = d
        return expand(  # type: ignore[no-any-return]
            d,
            function=function,
            method=method,
            inplace=inplace,
            operators=operators,
            inplace_operators=inplace_operators,
            own=own_operators,
            own_inplace=own_inplace_operators,
            aliases=aliases,
        )

    return declare


def pointwise(
    ufunc: str | None = None,
    *,
    promotion: str | None = "arithmetic",
    inplace: bool = True,
    out: bool | str = True,
    **options: Any,
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Declare an elementwise operation: by the name of a ufunc, or by a kernel when `ufunc` is None."""
    return primitive(ufunc=ufunc, elementwise=True, promotion=promotion, inplace=inplace, out=out, **options)


def internal(**options: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Declare an internal operation, a part of a public function or a derivative, with the options of `primitive`."""
    return primitive(namespace=INTERNAL, **{"method": False, **options})


def internal_pointwise(**options: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Declare an internal elementwise operation, a part of a public function or a derivative, by its kernel."""
    return pointwise(None, namespace=INTERNAL, **{"method": False, "inplace": False, "out": False, **options})


def derivatives(function: Any, **formulas: Callable[..., Any]) -> None:
    """Give an operation its derivative: one formula for each input that has one."""
    d: Declaration = function.operation
    if not d.differentiable:
        raise TypeError(f"{d.full_name} is declared with differentiable=False and cannot have derivatives")
    d.vjp = formulas


def zero_derivatives(function: Any) -> None:
    """Give the in-place form of an operation without a derivative a gradient of zero, as PyTorch's comparisons have."""
    d: Declaration = function.operation
    if d.differentiable:
        raise TypeError(f"{d.full_name} is declared with differentiable=True: give it derivatives")
    d.constant = True


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
            raise TypeError(
                f"raw_derivatives of {d.name}: the formula for {name!r} must name what its derivative names"
            )
    d.raw_vjp = formulas
