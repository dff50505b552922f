"""One declaration per operation: everything else about it derives from here.

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
  `results` or the name of one of several outputs, and `<operand>_shape` where the shape is enough. Undoing
  broadcasting is the engine's work, never a formula's.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar, overload

import numpy as np

from tensorlike.autograd.base import TensorBase, wrap
from tensorlike.autograd.grad_mode import grad_enabled
from tensorlike.autograd.node import (
    RELEASED,
    Node,
    edge_of,
    leaf_edge,
    next_sequence_number,
    unpack,
    unpack_many,
    unpack_raw,
)
from tensorlike.dispatch.core import MISSING, Entry
from tensorlike.dispatch.deferred import build, deferred
from tensorlike.dispatch.registry import Row, ignore, register
from tensorlike.dispatch.signature import (
    KEYWORD,
    MANY,
    NESTED,
    POSITIONAL,
    VARIADIC,
    Parameter,
    parameters_of,
    signature_of,
)
from tensorlike.dispatch.wrap import public_function

from . import runtime
from .generate import (
    Recorded,
    allows_number,
    hot_source,
    implementation_source,
    inherited_source,
    inplace_source,
    node_source,
    record_source,
)
from .promotion import can_cast
from .return_types import return_type
from .tensor import Tensor, retyped
from .views import OF_MANY, bump, check_inplace, rebase, refuse, view_of

__all__ = ["Declaration", "composite", "derivatives", "factory", "pointwise", "primitive", "raw_derivatives", "tensor_method", "tensor_property"]

F = TypeVar("F", bound=Callable[..., Any])

_new = object.__new__
_DIFFERENTIABLE = frozenset("fc")
_FLOATS = frozenset((builtins.int, builtins.float))
_BOOL = np.dtype(bool)
_OUT = Parameter("out", KEYWORD, None, "one", "Tensor | None")
_OUTS = Parameter("out", KEYWORD, None, "many", "tuple[Tensor, ...] | None")

#: Every declaration by its full name.
DECLARATIONS: dict[str, Declaration] = {}


class Declaration:
    """What one operation is: its kernel, signature, forms, promotion, derivative and samples."""

    def __init__(
        self,
        kernel: Callable[..., Any],
        *,
        name: str,
        namespace: str,
        ufunc: str | None,
        elementwise: bool,
        promotion: str | None,
        promoted: Sequence[str] | None,
        view: bool | str,
        several: Sequence[str] | bool,
        plain_result: bool,
        spread: str | None,
        weak_numbers: bool,
        out: bool,
        differentiable: bool,
        samples: Any,
        write: Callable[..., None] | None = None,
        hot: str | Callable[..., Any] | None = None,
    ) -> None:
        self.kernel = kernel
        self.write = write
        self.name = name
        self.namespace = namespace
        self.ufunc = ufunc
        self.elementwise = elementwise
        self.promotion = promotion
        self.promoted = None if promoted is None else frozenset(promoted)
        self.view = view
        self.several = several
        self.plain_result = plain_result
        self.spread = spread
        self.weak_numbers = weak_numbers
        self.out = out
        self.differentiable = differentiable
        self.samples = samples
        #: What the fast path runs: with every option at its default, the same as the kernel.
        self.hot = ufunc or hot
        self.parameters = parameters_of(kernel, skip=0 if ufunc else 1)
        #: Whether the function takes a number as its first operand. It becomes a tensor first, so that only such a call
        #: pays for it.
        self.number_first = bool(self.parameters) and "Tensor | Number" in self.parameters[0].annotation
        if self.number_first:
            self.parameters = (self.parameters[0]._replace(annotation="Tensor"), *self.parameters[1:])
        self.doc = kernel.__doc__
        self.annotations = {k: v for k, v in kernel.__annotations__.items() if k != "xp"}
        self.formulas: Mapping[str, Callable[..., Any]] | None = None
        #: Formulas on raw arrays, for a backward that is not itself recorded.
        self.raw_formulas: Mapping[str, Callable[..., Any]] = {}
        self.function: Callable[..., Any] | None = None
        self.node: type[Node] | None = None
        self._built: tuple[Callable[..., Any], Callable[..., Any]] | None = None
        self._recorders: list[dict[str, Any]] = []
        self._recorded: Recorded | None = None
        self.rows: list[Row] = []

    @property
    def full_name(self) -> str:
        """The dotted name of the declaration."""
        return f"{self.namespace}.{self.name}"

    # The node's class and the recording functions are made when something is first recorded: an import that never
    # trains need not pay for them.

    def recording(self) -> tuple[Callable[..., Any], Callable[..., Any]]:
        """Return `record` and `make`, built on first use."""
        if self._built is None:
            self._build_recording()
        return self._built  # type: ignore[return-value]

    def recorded(self) -> Recorded:
        """Return what the formulas ask for."""
        if self._recorded is None:
            self._recorded = Recorded(self)
        return self._recorded

    def late(self, function: Any) -> None:
        """Have `function` call the compiled `record` itself as soon as there is one, without this object between.

        Its globals are told then: the detour through `Declaration.record` costs 250 ns a recorded call.
        """
        if not self.several and self.differentiable:
            self._recorders.append(function.__globals__)

    def record_now(self) -> Callable[..., Any]:
        """Return the compiled `record` if there is one already, and what makes it otherwise."""
        return self._built[0] if self._built is not None and not self.several else self.record

    def _build_recording(self) -> None:
        recorded = self.recorded()
        values: dict[str, Any] = {f"formula_{n}": f for n, f in recorded.formulas.items()}
        values |= {f"raw_{n}": f for n, f in self.raw_formulas.items()}
        values |= {"unpack": unpack, "unpack_many": unpack_many, "RELEASED": RELEASED, "check": _check_freed}
        values |= {"unpack_raw": unpack_raw, "grad_enabled": grad_enabled, "wrap_raw": _wrap_raw}
        apply, release = build(node_source(self, recorded), f"{self.name} node", values, "apply", "release")
        title = "".join(part.capitalize() for part in self.name.split("_"))
        body = {
            "__slots__": recorded.slots(),
            "__module__": "tensorlike.autograd",
            "__doc__": f"The node of {self.full_name}.",
            "apply": apply,
            "release": release,
        }
        if self.several:
            body |= {"outputs": None, "special": True}
        self.node = type(f"{title}Backward0", (Node,), body)
        values = {
            "Tensor": Tensor,
            "TensorBase": TensorBase,
            "Node": self.node,
            "new": _new,
            "grad_enabled": grad_enabled,
            "edge_of": edge_of,
            "leaf_edge": leaf_edge,
            "next_sequence_number": next_sequence_number,
            "save": _save,
            "DIFFERENTIABLE": _DIFFERENTIABLE,
        }
        record, make = build(record_source(self, recorded), f"{self.name} recording", values, "record", "make")
        self._built = (record, make)
        for space in self._recorders:
            space["record"] = self._built[0]

    def record(self, result: Any, *operands: Any) -> Any:
        """Wrap a result that may need a history."""
        if self.several:
            return self._record_several(result, operands)
        return self.recording()[0](result, *operands)

    def _pack(self, tensors: list[Any]) -> Any:
        if self.several is True:
            return tuple(tensors)
        # Those of `linalg` have the names of older functions with other fields: `svd`, for one.
        name = f"linalg_{self.name}" if self.namespace == "tensorlike.linalg" else self.name
        return return_type(name, tuple(self.several))(tensors)  # type: ignore[arg-type]

    def _record_several(self, results: list[Any], operands: tuple[Any, ...]) -> Any:
        tensors = [wrap(r) for r in results]
        node = self.recording()[1](*operands) if grad_enabled() else None
        if node is not None:
            node.shape = tuple(r.shape for r in results)
            node.dtype = tuple(r.dtype for r in results)
            for index, tensor in enumerate(tensors):
                if tensor._data.dtype.kind in _DIFFERENTIABLE:
                    tensor._edge = (node, index)
                    tensor._tracked = True
            if "results" in self.recorded().names:
                node._saved_results = [_save(t) for t in tensors]
            for name, index in self.recorded().outputs.items():
                if name in self.recorded().names:
                    setattr(node, f"_saved_{name}", _save(tensors[index]))
        return self._pack(tensors)

    def record_view(self, result: Any, source: Any, *rest: Any) -> Any:
        """Wrap a result that shares memory with `source`, or each of several."""
        if self.several:
            tensors = [view_of(source, r, OF_MANY) for r in result]
        elif self.view == "maybe" and not np.may_share_memory(result, source._data):
            return self.record(result, source, *rest) if self.differentiable else wrap(result)
        else:
            tensors = [view_of(source, result)]
        if self.differentiable and source._tracked and grad_enabled():
            node = self.recording()[1](source, *rest)
            if node is not None:
                if self.several:
                    node.shape = tuple(r.shape for r in result)
                    node.dtype = tuple(r.dtype for r in result)
                else:
                    node.shape, node.dtype = result.shape, result.dtype
                for index, tensor in enumerate(tensors):
                    if tensor._data.dtype.kind in _DIFFERENTIABLE:
                        tensor._edge = (node, index)
        return tuple(tensors) if self.several else tensors[0]

    def make_inplace(self, tensor: Any, *rest: Any) -> Any:
        """Return the node of an in-place operation about to overwrite `tensor`, None where there is no gradient."""
        if tensor._data.dtype.kind not in _DIFFERENTIABLE:
            return None
        recorded = self.recorded()
        name = self.parameters[0].name
        # A formula that names the overwritten input needs it as it was.
        original = wrap(runtime.copied(tensor._data) if name in recorded.names else tensor._data)
        original._edge = edge_of(tensor)
        node = self.recording()[1](original, *rest)
        if node is not None:
            if tensor._view_refuses is not None and tensor._view_base is not None:
                refuse(tensor, "is being modified inplace")
            node.shape = tensor._data.shape
            node.dtype = tensor._data.dtype
        return node

    def write_in_place(self, name: str, tensor: Any, *rest: Any) -> Any:
        """Run `write` on `tensor` as the in-place method `name` does, and return the tensor.

        For methods whose signature is not the declaration's own.
        """
        check_inplace(tensor, name)
        node = None
        if grad_enabled() and (tensor._tracked or any(map(_is_tracked, rest))):
            node = self.make_inplace(tensor, *rest)
        arrays = [_raw(value) for value in rest]
        space = runtime.space(name, tensor._data, *(a for a, v in zip(arrays, rest, strict=True) if a is not v))
        assert self.write is not None
        if space is np:
            runtime.run_quietly(self.write, space, tensor._data, *arrays)
        else:
            with runtime.device_guard(tensor._data):
                runtime.run_quietly(self.write, space, tensor._data, *arrays)
        counter = bump(tensor)
        if node is not None:
            self.keep_result(node, tensor._data, counter)
            rebase(tensor, node)
        return tensor

    def keep_result(self, node: Any, array: Any, counter: list[int]) -> None:
        """Save what an in-place operation wrote, where a formula names it."""
        if "result" in self.recorded().names:
            node._saved_result = (array, counter, counter[0])


def _is_tracked(value: Any) -> bool:
    if isinstance(value, (list, tuple)):
        return any(map(_is_tracked, value))
    return isinstance(value, TensorBase) and value._tracked


def _raw(value: Any) -> Any:
    if isinstance(value, TensorBase):
        return value._data
    if isinstance(value, (list, tuple)) and any(isinstance(v, TensorBase) for v in value):
        return [_raw(v) for v in value]
    return value


def _wrap_raw(formula: Callable[..., Any], *values: Any) -> Any:
    if type(values[0]) is not np.ndarray:
        guard = runtime.elsewhere(*values)
        if guard is not None:
            with guard:
                return _wrap_raw(formula, *values)
    try:
        result = runtime.quiet(formula, *values)
    except RuntimeError as error:
        result = runtime.again(error, formula, *values)
    return wrap(result if type(result) is np.ndarray else runtime.as_array(result))


def _save(tensor: Any) -> Any:
    counter = tensor._counter
    if counter is None:
        counter = tensor._counter = [0]
    return (tensor._data, counter, counter[0])


def _check_freed(saved: Any) -> Any:
    if saved is RELEASED:
        return (RELEASED,)
    return saved


def _check_result(name: str, former: Any, result: Any) -> None:
    if result.shape != former.shape:
        raise RuntimeError(
            f"{name}(): output with shape {list(former.shape)} doesn't match the broadcast shape {list(result.shape)}"
        )
    if result.dtype is not former.dtype and not can_cast(result.dtype, former.dtype):
        raise RuntimeError(
            f"{name}(): result type {runtime.dtype_name(result.dtype)} can't be cast to the desired output type "
            f"{runtime.dtype_name(former.dtype)}"
        )


def _write_outs(name: str, pack: Callable[..., Any], out: Any, results: list[Any], *operands: Any) -> Any:
    if not isinstance(out, (tuple, list)) or len(out) != len(results):
        runtime.wrong_type(name, "out", None, out, f"tuple of {len(results)} Tensors")
    for target, result in zip(out, results, strict=True):
        runtime.write_out(name, target, result, *operands)
    return pack(list(out))


def _implementation(
    d: Declaration, parameters: Sequence[Parameter], qualname: str, label: str, *, inplace: bool = False
) -> Callable[..., Any]:
    function: Callable[..., Any] = deferred(label, "implementation", lambda: _written(d, parameters, qualname, inplace))
    d.late(function)
    _dress(function, parameters, qualname, d)
    return function


def _written(
    d: Declaration, parameters: Sequence[Parameter], qualname: str, inplace: bool
) -> tuple[str, dict[str, Any]]:
    name = qualname.rpartition(".")[2]
    values: dict[str, Any] = {
        "NAME": name,
        "Tensor": Tensor,
        "TensorBase": TensorBase,
        "new": _new,
        "ndarray": np.ndarray,
        "numpy": np,
        "kernel": getattr(np, d.ufunc) if d.ufunc else d.kernel,
        "write": d.write,
        "spelled": runtime.spelled,
        "promote": runtime.PROMOTIONS.get(d.promotion or ""),
        "quiet": runtime.quiet,
        "again": runtime.again,
        "run_elementwise": runtime.run_elementwise,
        "space": runtime.space,
        "elsewhere": runtime.elsewhere,
        "scalars_moved": runtime.scalars_moved,
        "as_array": runtime.as_array,
        "as_arrays": runtime.as_arrays,
        "many": runtime.many,
        "wrong_type": runtime.wrong_type,
        "is_number": runtime.is_number,
        "number_tensor": runtime.number_tensor,
        "write_out": runtime.write_out,
        "write_outs": lambda *a: _write_outs(name, d._pack, *a),
        "wrap": wrap,
        "pack": d._pack,
        "record": d.record_now(),
        "record_view": d.record_view,
        "check_inplace": check_inplace,
        "check_result": _check_result,
        "make_inplace": d.make_inplace,
        "keep_result": d.keep_result,
        "grad_enabled": grad_enabled,
        "bump": bump,
        "rebase": rebase,
    }
    return (inplace_source if inplace else implementation_source)(d, parameters), values


def _dress(function: Any, parameters: Sequence[Parameter], qualname: str, d: Declaration) -> None:
    function.__name__ = qualname.rpartition(".")[2]
    function.__qualname__ = qualname
    function.__module__ = _namespace(d, qualname)
    function.__doc__ = d.doc
    function.__defaults__ = tuple(
        p.default for p in parameters if p.kind == POSITIONAL and p.default is not MISSING
    ) or None
    function.__kwdefaults__ = {p.name: p.default for p in parameters if p.kind == KEYWORD and p.default is not MISSING}
    renamed = d.parameters[0].name if d.parameters else ""
    annotations = {p.name: d.annotations[p.name] for p in parameters if p.name in d.annotations}
    if parameters and parameters[0].name == "self" and renamed in d.annotations:
        annotations = {"self": "Tensor", **annotations}
    if any(p.name == "out" for p in parameters):
        annotations["out"] = _OUTS.annotation if d.several else _OUT.annotation
    if "return" in d.annotations:
        annotations["return"] = d.annotations["return"]
    function.__annotations__ = annotations
    # Its code is written on the first call, and its signature may be asked for before.
    function.__signature__ = signature_of(parameters, annotations)


def _namespace(d: Declaration, qualname: str) -> str:
    """Return where a form of `d` is found: methods are `tensorlike.Tensor`'s wherever the function lives."""
    return "tensorlike" if qualname.startswith("Tensor.") else d.namespace


def _hot_values(d: Declaration, parameters: Sequence[Parameter]) -> dict[str, Any]:
    return {
        "Tensor": Tensor,
        "new": _new,
        "ndarray": np.ndarray,
        "numpy": np,
        "BOOL": _BOOL,
        "FLOATS": _FLOATS,
        "kernel": getattr(np, d.hot) if isinstance(d.hot, str) else d.hot or d.kernel,
        "quiet": runtime.quiet,
        "hot_array": runtime.hot_array,
        "record": d.record_now(),
        **{f"default_{p.name}": p.default for p in parameters if not p.operand},
    }


def _publish(
    d: Declaration,
    parameters: tuple[Parameter, ...],
    implementation: Callable[..., Any],
    qualname: str,
    form: str,
    *,
    hot: bool = True,
    entry: Entry | None = None,
    foreign: str = "",
    foreign_values: Mapping[str, Any] | None = None,
    key: Any = None,
    namespace: str | None = None,
) -> Callable[..., Any]:
    namespace = namespace or _namespace(d, qualname)
    new_entry = entry is None
    if entry is None:
        entry = Entry(implementation)
        if hot and d.elementwise and d.hot:
            entry.inherited = deferred(f"{d.name} inherited", "inherited", lambda: _inherited(d, parameters))
            d.late(entry.inherited)

    def source() -> str:
        text = hot_source(d, parameters) if hot else ""
        return text + _plain_but_foreign(parameters, qualname) if foreign else text

    function = public_function(
        entry,
        parameters,
        name=qualname.rpartition(".")[2],
        qualname=qualname,
        module=namespace,
        doc=d.doc,
        hot=source,
        hot_values=lambda: {**_hot_values(d, parameters), **(foreign_values or {})},
        foreign=foreign,
    )
    if new_entry:
        entry.function = function
    d.late(function)
    row = Row(
        function,
        namespace=namespace,
        name=qualname,
        parameters=parameters,
        entry=entry,
        form=form,
        declaration=d,
        key=key,
    )
    d.rows.append(register(row))
    return function


def _inherited(d: Declaration, parameters: tuple[Parameter, ...]) -> tuple[str, dict[str, Any]]:
    source = inherited_source(d, parameters) or "def inherited(cls, args):\n    return NotImplemented"
    return source, {**_hot_values(d, parameters), "retyped": retyped}


def _acceptable(value: Any) -> bool:
    """Return whether an operator may take `value`: a tensor, a number, or a type with the protocol."""
    return isinstance(value, (TensorBase, int, float, complex, np.generic)) or hasattr(
        type(value), "__torch_function__"
    )


def _of_numpy(array: Any) -> Any:
    from .creation import from_numpy

    return from_numpy(array)


_FOREIGN_VALUES = {"acceptable": _acceptable, "numpy_array": np.ndarray, "of_numpy": _of_numpy}
_TAKING_ARRAYS = frozenset(("Tensor.__eq__", "Tensor.__ne__", "Tensor.__rtruediv__"))


def _foreign(parameters: Sequence[Parameter]) -> str:
    return f"not acceptable({parameters[1].name})" if len(parameters) > 1 else ""


def _plain_but_foreign(parameters: Sequence[Parameter], qualname: str = "") -> str:
    # None and text count as plain everywhere else. No operator takes them: `x == None` is False, as with any object.
    name = parameters[1].name
    source = f"\nif {name} is None or type({name}) is str:\n    return NotImplemented"
    if qualname in _TAKING_ARRAYS:
        # NumPy leaves these to the tensor, which would have to leave them to NumPy; PyTorch takes the array.
        source += f"\nif type({name}) is numpy_array:\n    {name} = of_numpy({name})"
    return source


def primitive(
    *,
    name: str | None = None,
    namespace: str = "tensorlike",
    ufunc: str | None = None,
    function: bool = True,
    method: bool | str = True,
    inplace: bool = False,
    out: bool = False,
    operators: Sequence[str] = (),
    inplace_operators: Sequence[str] = (),
    own_operators: Sequence[str] = (),
    own_inplace_operators: Sequence[str] = (),
    aliases: Sequence[str] = (),
    hot: str | Callable[..., Any] | None = None,
    elementwise: bool = False,
    promotion: str | None = None,
    promoted: Sequence[str] | None = None,
    view: bool | str = False,
    several: Sequence[str] | bool = False,
    plain_result: bool = False,
    spread: str | None = None,
    weak_numbers: bool = True,
    differentiable: bool = True,
    samples: Any = None,
    write: Callable[..., None] | None = None,
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Declare an operation with a kernel on raw arrays; see the module's docstring.

    `operators` report the method to implementations, and `own_operators` themselves, as PyTorch has it. An alias with a
    dot is a function in another namespace. `hot` is what the fast path may run in place of an elementwise kernel whose
    options are at their defaults: a ufunc by name, or a function of the raw operands.

    `view` is True when the result shares memory with the first operand, "maybe" when it may; `several` names the
    fields of a named tuple, or is True for a tuple of any length; `plain_result` leaves the kernel's result unwrapped;
    `spread` names the parameter that the method takes as `*arguments`; `weak_numbers` says that NumPy and PyTorch agree
    on what a Python number does; `differentiable=False` is for results that have no gradient. `write` is a second
    kernel with the same arguments, which writes into the first one: an in-place form that touches a few elements of a
    large tensor must not compute them all.
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
            differentiable=differentiable and not plain_result,
            samples=samples,
            write=write,
            hot=hot,
        )
        d._forms = (  # type: ignore[attr-defined]
            function,
            method,
            inplace,
            tuple(operators),
            tuple(inplace_operators),
            tuple(own_operators),
            tuple(own_inplace_operators),
            tuple(aliases),
        )
        DECLARATIONS[d.full_name] = d
        return _expand(d)  # type: ignore[no-any-return]

    return declare


def _expand(d: Declaration) -> Any:
    function, method, inplace, operators, inplace_operators, own, own_inplace, aliases = d._forms  # type: ignore[attr-defined]
    base = d.parameters
    result: Any = None
    if function:
        parameters = (*base, _OUTS if d.several else _OUT) if d.out else base
        implementation = _implementation(d, parameters, d.name, d.name)
        result = _publish(d, parameters, implementation, d.name, "function")
        d.function = result
        for alias in aliases:
            outer, _, short = alias.rpartition(".")
            namespace = f"{d.namespace}.{outer}" if outer else None
            _publish(d, parameters, _implementation(d, parameters, short, short), short, "alias", namespace=namespace)
    aliases = tuple(a for a in aliases if "." not in a)
    of_method = (base[0]._replace(name="self"), *base[1:])
    if d.spread is not None:
        of_method = tuple(
            p._replace(kind=VARIADIC, default=MISSING) if p.name == d.spread else p
            for p in of_method
            if p.kind == KEYWORD or p.name in ("self", d.spread)
        )
    if method:
        names = [method if isinstance(method, str) else d.name, *aliases]
        for index, method_name in enumerate(names):
            qualname = f"Tensor.{method_name}"
            implementation = _implementation(d, of_method, qualname, qualname)
            public = _publish(
                d,
                of_method,
                implementation,
                qualname,
                "method" if not index else "alias",
                foreign=_foreign(of_method) if method_name.startswith("__") else "",
                foreign_values=_FOREIGN_VALUES,
            )
            setattr(Tensor, method_name, public)
            if index == 0:
                entry = d.rows[-1].entry
                if result is None:
                    result = d.function = public
                for operator in operators:
                    attach_operator(d, of_method, implementation, operator, entry, public)
        for operator in own:
            qualname = f"Tensor.{operator}"
            attach_operator(d, of_method, _implementation(d, of_method, qualname, qualname), operator)
    if inplace:
        names = [d.name, *aliases]
        for index, inplace_name in enumerate(names):
            qualname = f"Tensor.{inplace_name}_"
            implementation = _implementation(d, of_method, qualname, qualname, inplace=True)
            public = _publish(d, of_method, implementation, qualname, "inplace" if not index else "alias", hot=False)
            setattr(Tensor, inplace_name + "_", public)
            if index == 0:
                entry = d.rows[-1].entry
                if result is None:
                    result = d.function = public
                for operator in inplace_operators:
                    attach_operator(d, of_method, implementation, operator, entry, public, hot=False)
        for operator in own_inplace:
            qualname = f"Tensor.{operator}"
            attach_operator(d, of_method, _implementation(d, of_method, qualname, qualname, inplace=True), operator,
                            hot=False)  # fmt: skip
    result.declaration = d
    return result


def attach_operator(
    d: Declaration,
    parameters: tuple[Parameter, ...],
    implementation: Callable[..., Any],
    operator: str,
    entry: Entry | None = None,
    reported: Callable[..., Any] | None = None,
    *,
    hot: bool = True,
) -> None:
    """Give Tensor an operator that leaves foreign operands to their type and reports `reported`, or itself."""
    public = _publish(
        d,
        parameters,
        implementation,
        f"Tensor.{operator}",
        "operator",
        hot=hot,
        entry=entry,
        foreign=_foreign(parameters),
        foreign_values=_FOREIGN_VALUES,
        key=reported,
    )
    setattr(Tensor, operator, public)


def pointwise(
    ufunc: str | None = None,
    *,
    promotion: str | None = "arithmetic",
    inplace: bool = True,
    out: bool = True,
    **options: Any,
) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Declare an elementwise operation: by the name of a ufunc, or by a kernel when `ufunc` is None."""
    return primitive(ufunc=ufunc, elementwise=True, promotion=promotion, inplace=inplace, out=out, **options)


def derivatives(function: Any, **formulas: Callable[..., Any]) -> None:
    """Give an operation its derivative: one formula for each input that has one."""
    d: Declaration = function.declaration
    if not d.differentiable:
        raise TypeError(f"{d.full_name} is declared with differentiable=False and cannot have derivatives")
    d.formulas = formulas


def raw_derivatives(function: Any, **formulas: Callable[..., Any]) -> None:
    """Give an operation formulas on raw arrays, used when nobody will differentiate the gradient.

    They name what the differentiable formulas name, no more, and a test holds the two equal. Worth it where profiles
    show it: a public operation costs 500 ns more than its kernel, per formula and node.
    """
    d: Declaration = function.declaration
    for name, formula in formulas.items():
        given = (d.formulas or {}).get(name)
        asked = formula.__code__.co_varnames[: formula.__code__.co_argcount]
        if given is None or not set(asked) <= set(given.__code__.co_varnames[: given.__code__.co_argcount]):
            raise TypeError(f"raw_derivatives of {d.name}: the formula for {name!r} must name what its derivative names")
    d.raw_formulas = formulas


def operand_check(name: str, parameters: Sequence[Parameter]) -> Callable[[tuple[Any, ...], dict[str, Any]], None]:
    """Return what complains of operands of a wrong type, for a Python function that works on what it is given.

    It runs only for calls with an operand that is no plain tensor, so that it costs the others nothing.
    """
    positional = [p for p in parameters if p.kind == POSITIONAL]

    def check(args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        for index, p in enumerate(positional):
            if p.operand is None or p.operand == NESTED:
                continue
            value = args[index] if index < len(args) else kwargs.get(p.name, p.default)
            if value is MISSING or isinstance(value, TensorBase):
                continue
            where = index if parameters[0].name == "self" else index + 1
            if p.operand == MANY:
                if isinstance(value, (list, tuple)):
                    runtime.many(name, p.name, where, value)
                continue
            words = p.annotation
            if not words or "Any" in words or (value is None and "None" in words):
                continue
            if "Sequence[int]" in words and isinstance(value, (list, tuple)):
                continue
            numbers = allows_number(p)
            if not (numbers and runtime.is_number(value)):
                runtime.wrong_type(name, p.name, where, value, "Tensor or Number" if numbers else "Tensor")

    return check


def tensor_property(
    *, setter: Callable[..., None] | None = None, nowrap: bool = False, setter_nowrap: bool = False
) -> Callable[[Callable[[Any], Any]], property]:
    """Make a getter (and setter) on a tensor an overridable property: `Tensor.shape.__get__` is what types are asked."""

    def declare(getter: Callable[[Any], Any]) -> property:
        name = getter.__name__
        qualname = f"Tensor.{name}"
        parameters = (Parameter("self", POSITIONAL, MISSING, "one", "Tensor"),)
        entry = Entry(getter, nowrap=nowrap)
        public = public_function(
            entry, parameters, name=name, qualname=qualname, module="tensorlike", doc=getter.__doc__
        )
        public_setter = None
        if setter is not None:
            value = Parameter("value", POSITIONAL, MISSING, None, "Any")
            setter_parameters = (*parameters, value)
            setter_entry = Entry(setter, nowrap=setter_nowrap)
            public_setter = public_function(
                setter_entry, setter_parameters, name=name, qualname=qualname, module="tensorlike", doc=setter.__doc__
            )
        found = property(public, public_setter, doc=getter.__doc__)
        entry.function = found.__get__
        register(
            Row(
                public,
                namespace="tensorlike",
                name=f"{qualname}.__get__",
                parameters=parameters,
                entry=entry,
                form="property",
                key=found.__get__,
            )
        )
        if public_setter is not None:
            setter_entry.function = found.__set__
            register(
                Row(
                    public_setter,
                    namespace="tensorlike",
                    name=f"{qualname}.__set__",
                    parameters=setter_parameters,
                    entry=setter_entry,
                    form="setter",
                    key=found.__set__,
                )
            )
        setattr(Tensor, name, found)
        return found

    return declare


@overload
def tensor_method(function: F, **options: Any) -> F: ...
@overload
def tensor_method(function: None = None, **options: Any) -> Callable[[F], F]: ...
def tensor_method(function: Callable[..., Any] | None = None, **options: Any) -> Any:
    """Make a Python function an overridable method of Tensor.

    `composite` says that it is written with other public operations; `composite=False` that it works on raw arrays and
    needs no guard. With `operator_of` the method is an operator that leaves foreign operands to their type. `hot` is
    source that runs before anything else and may return.
    """
    return (lambda f: _tensor_method(f, **options)) if function is None else _tensor_method(function, **options)


def _tensor_method(
    function: Callable[..., Any],
    *,
    name: str | None = None,
    composite: bool = True,
    operator_of: str | None = None,
    aliases: Sequence[str] = (),
    hot: str = "",
    hot_values: Mapping[str, Any] | None = None,
) -> Any:
    parameters = parameters_of(function)
    if not parameters[0].operand:
        parameters = (parameters[0]._replace(operand="one"), *parameters[1:])
    public: Any = None
    for index, method_name in enumerate((name or function.__name__, *aliases)):
        qualname = f"Tensor.{method_name}"
        implementation: Any = function if index == 0 else _copy_function(function)
        implementation.__qualname__ = qualname
        implementation.__name__ = method_name
        entry = Entry(implementation, composite=composite)
        entry.check = operand_check(method_name, parameters)
        made = public_function(
            entry,
            parameters,
            name=method_name,
            qualname=qualname,
            module="tensorlike",
            doc=function.__doc__,
            foreign=_foreign(parameters) if operator_of else "",
            hot=hot + _plain_but_foreign(parameters) if operator_of and len(parameters) > 1 else hot,
            hot_values={**(_FOREIGN_VALUES if operator_of else {}), **(hot_values or {})},
        )
        entry.function = made
        register(
            Row(
                made,
                namespace="tensorlike",
                name=qualname,
                parameters=parameters,
                entry=entry,
                form="alias" if index else "operator" if operator_of else "method",
            )
        )
        setattr(Tensor, method_name, made)
        public = public or made
    return public


def _copy_function(function: Any) -> Any:
    from types import FunctionType

    copy = FunctionType(
        function.__code__, function.__globals__, function.__name__, function.__defaults__, function.__closure__
    )
    copy.__kwdefaults__ = function.__kwdefaults__
    copy.__annotations__ = function.__annotations__
    copy.__doc__ = function.__doc__
    return copy


@overload
def composite(function: F, **options: Any) -> F: ...
@overload
def composite(function: None = None, **options: Any) -> Callable[[F], F]: ...
def composite(function: Callable[..., Any] | None = None, **options: Any) -> Any:
    """Make a function written with other public operations an overridable public function, and a method if asked.

    `guard=False` is for one that works on raw arrays itself and calls nothing that dispatches.
    """
    return (lambda f: _composite(f, **options)) if function is None else _composite(function, **options)


def _composite(
    function: Callable[..., Any],
    *,
    name: str | None = None,
    namespace: str = "tensorlike",
    method: bool | str = False,
    aliases: Sequence[str] = (),
    samples: Any = None,
    operands: Sequence[str] | None = None,
    guard: bool = True,
) -> Any:
    parameters = parameters_of(function, operands=operands)
    first: Any = None
    for index, public_name in enumerate((name or function.__name__, *aliases)):
        outer, _, public_name = public_name.rpartition(".")
        where = f"{namespace}.{outer}" if outer else namespace
        implementation: Any = function if index == 0 else _copy_function(function)
        implementation.__name__ = public_name
        implementation.__qualname__ = public_name
        entry = Entry(implementation, composite=guard)
        entry.check = operand_check(public_name, parameters)
        public = public_function(
            entry, parameters, name=public_name, qualname=public_name, module=where, doc=function.__doc__
        )
        entry.function = public
        register(
            Row(
                public,
                namespace=where,
                name=public_name,
                parameters=parameters,
                entry=entry,
                form="alias" if index else "function",
                declaration=samples,
            )
        )
        first = first or public
    if method:
        of_method = _copy_function(function)
        own = method if isinstance(method, str) else name or function.__name__
        names = (own, *(a for a in aliases if "." not in a))
        _method_of(of_method, parameters, names, guard)
    return first


def _method_of(function: Any, parameters: tuple[Parameter, ...], names: Sequence[str], guard: bool) -> None:
    code = function.__code__
    varnames = ("self", *code.co_varnames[1:])
    if code.co_varnames[0] in code.co_cellvars:
        raise TypeError(f"{function.__qualname__}: the first parameter of a method form must not be used in a closure")
    renamed = function.__code__.replace(co_varnames=varnames)
    function.__code__ = renamed
    first = parameters[0].name
    function.__annotations__ = {("self" if k == first else k): v for k, v in function.__annotations__.items()}
    function.__qualname__ = f"Tensor.{names[0]}"
    tensor_method(function, name=names[0], aliases=names[1:], composite=guard)


@overload
def factory(function: F, **options: Any) -> F: ...
@overload
def factory(function: None = None, **options: Any) -> Callable[[F], F]: ...
def factory(function: Callable[..., Any] | None = None, **options: Any) -> Any:
    """Make a function that takes no tensors public: modes see its calls, types have nothing to say about them."""
    return (lambda f: _factory(f, **options)) if function is None else _factory(function, **options)


def _factory(
    function: Callable[..., Any], *, namespace: str = "tensorlike", reason: str | None = None
) -> Any:
    parameters = parameters_of(function, operands=())
    name = function.__name__
    function.__qualname__ = name
    entry = Entry(function)
    public = public_function(entry, parameters, name=name, qualname=name, module=namespace, doc=function.__doc__)
    entry.function = public
    ignore(public, f"{namespace}.{name}", reason or "makes a tensor from plain values; only a mode can intercept it")
    return public
