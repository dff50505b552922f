"""`Declaration`: a declared operation, and the recording of its results."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from typing import Any

import numpy as np

from tensorlike.autograd.grad_mode import grad_enabled
from tensorlike.autograd.node import (
    Node,
    edge_of,
    next_sequence_number,
)
from tensorlike.autograd.tensor_base import TensorBase, wrap
from tensorlike.dispatch.operation import Operation
from tensorlike.dispatch.signature import (
    MANY,
    parameters_of,
)

from ..memory.views import OF_MANY, bump, check_inplace, check_shared, rebase, refuse, view_of
from ..types import Array, Namespace, Tensor
from . import runtime
from .declaration_errors import declaration_error, unknown_word
from .named_results import return_type
from .promotion_rules import Promotion
from .recording import DIFFERENTIABLE, Recorded, make_of, node_methods, record_of, recorder, register_node, save

_new = object.__new__

#: Every declaration by its full name.
DECLARATIONS: dict[str, Declaration] = {}


def documented(doc: str | None, note: str) -> str | None:
    """Return the docstring of an operation with a note before its examples."""
    if not doc or not note:
        return doc
    # Python 3.13 takes the indentation away when it compiles a docstring.
    indent = "    " if "\n\n    >>> " in doc or ("\n\n>>> " not in doc and "\n    " in doc) else ""
    text, mark, examples = doc.partition(f"\n\n{indent}>>> ")
    paragraph = ("\n" if "\n\n" in text else "\n\n") + indent
    lines = note.replace("\n    ", "\n" + indent)
    return f"{text}{paragraph}{lines}{mark}{examples}"


def _on_copy(write: Callable[..., Any], whole: bool) -> Callable[..., Any]:
    """Return the kernel that runs `write` on a copy of its first operand, or on new memory if it writes the whole."""

    @wraps(write)
    def kernel(xp: Namespace, input: Any, *operands: Any, **options: Any) -> Any:
        result = xp.empty(input.shape, input.dtype) if whole else input.copy()
        write(xp, result, *operands, **options)
        return result

    return kernel


class ConstantNode(Node):
    """The node of an in-place comparison: its operands get gradients of zero."""

    __slots__ = ("inputs",)

    inputs: tuple[tuple[tuple[int, ...], Any] | None, ...]

    def _tl_apply(self, grad: Any) -> tuple[Any, ...]:
        return tuple(None if i is None else grad._tl_zeros(*i) for i in self.inputs)


class Declaration(Operation):
    """An operation that is a kernel on raw arrays: its promotion, its result, and how it is recorded."""

    # 1.2 KB less for each than with a dict, of 390.
    __slots__ = (
        "_make",
        "_record",
        "_recorded",
        "annotations",
        "constant",
        "disjoint",
        "doc",
        "fast_kernel",
        "fast_kinds",
        "kernel",
        "node",
        "number_first",
        "numbers_alone",
        "out",
        "outputs",
        "overlapping",
        "own_layout",
        "plain_result",
        "promotion",
        "ufunc",
        "variadic",
        "write",
    )

    primitive = True

    def __init__(
        self, kernel: Callable[..., Any], *, name: str, namespace: str, ufunc: str | None, elementwise: bool,
        promotion: Promotion | str | None, view: bool | str, outputs: Sequence[str] | bool, variadic: str | None,
        out: bool | str, write: Callable[..., None] | bool | str | None,
        fast_kernel: str | tuple[str, str] | Callable[..., Any] | None, own_layout: bool,
        disjoint: Sequence[str] | None,
    ) -> None:  # fmt: skip
        # An array to the kernel is a tensor to the caller.
        published = {k: v.replace("Array", "Tensor") for k, v in kernel.__annotations__.items() if isinstance(v, str)}
        kernel.__annotations__ = {**kernel.__annotations__, **published}
        parameters = parameters_of(kernel, skip=0 if ufunc else 1)
        number_first = bool(parameters) and "Tensor | Number" in parameters[0].annotation
        if number_first:
            parameters = (parameters[0]._replace(annotation="Tensor"), *parameters[1:])
        super().__init__(name, namespace, parameters)
        in_place = write is True or write == "all"
        self.kernel = _on_copy(kernel, write == "all") if in_place else kernel
        self.write: Callable[..., None] | None = kernel if in_place else write if callable(write) else None
        self.ufunc = ufunc
        self.elementwise = elementwise
        self.promotion = None if promotion is None else self._promotion(promotion)
        for parameter in (*(disjoint or ()), *((variadic,) if variadic is not None else ())):
            if all(p.name != parameter for p in parameters):
                raise self.error(kernel, unknown_word("parameter", parameter, (p.name for p in parameters)))
        self.view = view
        self.outputs = outputs
        #: Whether the kernel's result is no tensor, and returned as it is.
        self.plain_result = kernel.__annotations__.get("return") == "bool"
        self.variadic = variadic
        self.out = out
        #: Whether the in-place form of an operation without a derivative has a gradient, which is zero.
        self.constant = False
        self.own_layout = own_layout or elementwise
        self.disjoint = None if disjoint is None else tuple(disjoint)
        #: See `declare.takes_overlapping`.
        self.overlapping: bool | str = False
        #: Whether it computes numbers without a tensor among them.
        self.numbers_alone = False
        #: The kinds of dtype for which the fast kernel is the same, "" for all of them and None for none.
        self.fast_kinds: str | None = None
        if isinstance(fast_kernel, tuple):
            fast_kernel, self.fast_kinds = fast_kernel
        #: The ufunc or function that is the same as the kernel with every option at its default, where there is one.
        self.fast_kernel = ufunc or fast_kernel
        if self.promotion is not None and self.fast_kinds is None:
            # A ufunc gives integers another dtype; a kernel need not.
            by_rule = self.promotion is not Promotion.FLOAT or self.fast_kernel
            self.fast_kinds = self.promotion.fast_kinds if by_rule else "fc"
        #: Whether the function takes a number as its first operand. The number is converted to a tensor first, at a
        #: cost for such calls alone.
        self.number_first = number_first
        self.doc = kernel.__doc__ if self.promotion is None else documented(kernel.__doc__, self.promotion.note)
        self.annotations = {k: v for k, v in kernel.__annotations__.items() if k != "xp"}
        self.node: type[Node] | None = None
        self._record: Callable[..., Any] | None = None
        self._make: Callable[..., Any] | None = None
        self._recorded: Recorded | None = None

    def error(self, function: Callable[..., Any], message: str) -> TypeError:
        """Return the error of what is declared in `function`: a kernel or a formula."""
        return declaration_error(function, self.full_name, message)

    @property
    def boolean(self) -> bool:
        """Whether the fast kernel is a ufunc whose results are booleans, whatever the dtype of the operands."""
        types = getattr(np, self.fast_kernel).types if isinstance(self.fast_kernel, str) else ("->",)
        return all(loop[-1] == "?" or "O" in loop for loop in types)

    def _promotion(self, promotion: Promotion | str) -> Promotion:
        try:
            return Promotion.named(promotion)
        except KeyError:
            raise self.error(self.kernel, unknown_word("promotion", promotion, (p.value for p in Promotion))) from None

    def fields(self) -> Sequence[str]:
        """Return the names by which formulas ask for single results: `result0`, `result1`, ... in a plain tuple."""
        if isinstance(self.outputs, bool):
            return [f"result{number}" for number in range(9)] if self.outputs else ()
        return self.outputs

    def check_formulas(self, formulas: Mapping[str, Callable[..., Any]]) -> None:
        """Raise TypeError for formulas of parameters that are no operands, or with names that a node does not have."""
        names = {p.name for p in self.parameters}
        operands = {p.name for p in self.parameters if p.operand}
        known = {"grad", "grads", "result", "results", *names, *self.fields(), *(f"{name}_shape" for name in names)}
        known |= {"others"} if any(p.operand == MANY for p in self.parameters) else set()
        for name, formula in formulas.items():
            if name not in operands:
                raise self.error(formula, f"derivatives(): {unknown_word('operand', name, operands)}")
            code = formula.__code__
            asked = code.co_varnames[: code.co_argcount]
            if not known.issuperset(asked):
                wrong = next(word for word in asked if word not in known)
                what = f"the formula for {name!r} asks for what no node saves: "
                raise self.error(formula, f"derivatives(): {what}{unknown_word('name', wrong, known)}")

    def out_rules(self) -> dict[str, Any]:
        """Return the rule for writing `out=`: see `write_out`.

        Elementwise functions cast their result unless declared with `out="exact"`, others if declared `out="cast"`, or
        "joined", which raises TypeError where they cannot. With "dtype" they compute in the dtype of `out`.
        """
        rule = self.out if isinstance(self.out, str) else "cast" if self.elementwise else "exact"
        return {
            "rule": "exact" if rule == "dtype" else rule,
            "recorded": self.differentiable,
            "pointwise": self.elementwise,
        }

    # The node's class and the recording functions are made when something is first recorded: an import that never
    # trains need not pay for them.

    def recording(self) -> Callable[..., Any]:
        """Return `record`, which makes the tensor of a result, with its node; built on first use."""
        if self._record is None:
            self._record = recorder(self, record_of(self))
        return self._record

    def making(self) -> Callable[..., Any]:
        """Return `make`, which makes the node of a call, or None; built on first use."""
        if self._make is None:
            self._make = make_of(self)
        return self._make

    def recorded(self) -> Recorded:
        """Return the names that the formulas use."""
        if self._recorded is None:
            self._recorded = Recorded(self)
        return self._recorded

    def node_class(self) -> type[Node]:
        """Return the class of the operation's nodes, built on first use."""
        if self.node is not None:
            return self.node
        full = f"linalg_{self.name}" if self.namespace == "tensorlike.linalg" else self.name
        title = "".join(part.capitalize() for part in full.split("_"))
        apply, release = node_methods(self)
        body = {
            "__slots__": self.recorded().slots(),
            "__module__": "tensorlike.autograd",
            "__doc__": f"The node of {self.full_name}.",
            "_tl_apply": apply,
            "_tl_release": release,
        }
        if self.outputs:
            body |= {"_tl_outputs": None, "_tl_special": True}
        node: type[Node] = type(f"{title}Backward0", (Node,), body)
        register_node(self, node)
        self.node = node
        return node

    def record(self, result: Any, *operands: Any) -> Any:
        """Wrap a result that may need a history."""
        if self.outputs:
            return self._record_several(result, operands)
        return self.recording()(result, *operands)

    @property
    def result_name(self) -> str:
        """The name of the type of `return_types` that several results come in."""
        # Functions of `linalg` such as `svd` share names with older functions that have other fields.
        return f"linalg_{self.name}" if self.namespace == "tensorlike.linalg" else self.name

    def packed_type(self) -> Any:
        """Return the type of the tuple that several results come in."""
        return tuple if self.outputs is True else return_type(self.result_name, tuple(self.outputs))  # type: ignore[arg-type]

    def _pack(self, tensors: list[Any]) -> Any:
        return self.packed_type()(tensors)

    def _record_several(self, results: list[Any], operands: tuple[Any, ...]) -> Any:
        tensors = [wrap(r) for r in results]
        node = self.making()(*operands) if grad_enabled() else None
        if node is not None:
            node._tl_shape = tuple(r.shape for r in results)
            node._tl_dtype = tuple(r.dtype for r in results)
            for index, tensor in enumerate(tensors):
                if tensor._tl_data.dtype.kind in DIFFERENTIABLE:
                    tensor._tl_edge = (node, index)
                    tensor._tl_tracked = True
            if "results" in self.recorded().names:
                node._saved_results = [save(t) for t in tensors]
            for name, index in self.recorded().outputs.items():
                if name in self.recorded().names:
                    setattr(node, f"_saved_{name}", save(tensors[index]))
        return self._pack(tensors)

    def record_view(self, result: Any, source: Tensor, *rest: Any) -> Tensor | tuple[Tensor, ...]:
        """Wrap a result that shares memory with `source`, or each of several."""
        if self.outputs:
            tensors = [view_of(source, r, OF_MANY) for r in result]
        elif self.view == "maybe" and not _is_view(result, source._tl_data):
            return self.record(result, source, *rest) if self.differentiable else wrap(result)
        else:
            tensors = [view_of(source, result)]
        if self.differentiable and source._tl_tracked and grad_enabled():
            node = self.making()(source, *rest)
            if node is not None:
                if self.outputs:
                    node._tl_shape = tuple(r.shape for r in result)
                    node._tl_dtype = tuple(r.dtype for r in result)
                else:
                    node._tl_shape, node._tl_dtype = result.shape, result.dtype
                for index, tensor in enumerate(tensors):
                    if tensor._tl_data.dtype.kind in DIFFERENTIABLE:
                        tensor._tl_edge = (node, index)
        return tuple(tensors) if self.outputs else tensors[0]

    def make_inplace(self, tensor: Any, *rest: Any) -> Any:
        """Return the node of an in-place operation that is about to overwrite `tensor`; None without a gradient."""
        if tensor._tl_data.dtype.kind not in DIFFERENTIABLE:
            return None
        recorded = self.recorded()
        name = self.parameters[0].name
        # A formula that names the overwritten input needs its former value.
        original = wrap(runtime.copied(tensor._tl_data) if name in recorded.names else tensor._tl_data)
        original._tl_edge = edge_of(tensor)
        original._tl_tracked = tensor._tl_tracked
        if self.view or self.outputs:
            node = self.making()(original, *rest)
        else:
            edge = self.recording()(tensor._tl_data, original, *rest)._tl_edge
            node = None if edge is None else edge[0]
        if node is not None:
            if tensor._tl_view_refuses is not None and tensor._tl_view_base is not None:
                refuse(tensor, "is being modified inplace")
            node._tl_shape = tensor._tl_data.shape
            node._tl_dtype = tensor._tl_data.dtype
        return node

    def make_constant(self, tensor: Tensor, *rest: Tensor) -> Any:
        """Return the node of an in-place operation whose result is constant; None without a gradient."""
        if tensor._tl_data.dtype.kind not in DIFFERENTIABLE:
            return None
        operands = (tensor, *rest)
        edges = tuple(edge_of(o) if isinstance(o, TensorBase) else None for o in operands)
        if not any(edges):
            return None
        if self.node is None:
            self.node = type(f"{self.name.capitalize()}Backward0", (ConstantNode,), {"__slots__": ()})
        node: Any = self.node()
        node._tl_edges = edges
        node._tl_sequence_number = next_sequence_number()
        node._tl_shape, node._tl_dtype = tensor._tl_data.shape, tensor._tl_data.dtype
        node.inputs = tuple(
            None if e is None else (o._tl_data.shape, o._tl_data.dtype) for o, e in zip(operands, edges, strict=True)
        )
        return node

    def write_in_place(self, name: str, tensor: Any, *rest: Any, overlapping: bool | str | None = None) -> Any:
        """Run `write` on `tensor` as the in-place method `name` does, and return the tensor.

        For methods whose signature is not the declaration's own, nor what they say of `overlapping` elements.
        """
        check_inplace(tensor, name, overlapping=self.overlapping if overlapping is None else overlapping)
        if self.disjoint:
            disjoint = [value for p, value in zip(self.parameters[1:], rest) if p.name in self.disjoint]
            check_shared(tensor, disjoint, name, True)
        elif self.disjoint is not None:
            check_shared(tensor, rest, name)
        node = None
        if grad_enabled() and (tensor._tl_tracked or any(map(_is_tracked, rest))):
            node = self.make_inplace(tensor, *rest)
        arrays = [_raw(value) for value in rest]
        space = runtime.space(name, tensor._tl_data, *(a for a, v in zip(arrays, rest, strict=True) if a is not v))
        assert self.write is not None
        if space is np:
            runtime.run_quietly(self.write, space, tensor._tl_data, *arrays)
        else:
            with runtime.device_guard(tensor._tl_data):
                runtime.run_quietly(self.write, space, tensor._tl_data, *arrays)
        return self.written(tensor, node)

    def written(self, tensor: Any, node: Any) -> Any:
        """Return `tensor`, in which an in-place operation wrote its result, with the new version and the history."""
        counter = bump(tensor)
        if node is not None:
            if self.differentiable and "result" in self.recorded().names:
                node._saved_result = (tensor._tl_data, counter, counter[0])
            rebase(tensor, node)
        return tensor


def _is_view(result: Any, array: Array) -> bool:
    """Return whether a kernel's result is a view of its input; of an empty one, its `base` decides."""
    base = result.base
    if base is not None and (base is array or base is array.base):
        return True  # A test for NumPy's own views: a third of the time of `may_share_memory`, 200 ns less.
    return bool(np.may_share_memory(result, array)) if result.size else result is array


def _is_tracked(value: Tensor | float | list[Tensor | int]) -> bool:
    if isinstance(value, (list, tuple)):
        return any(map(_is_tracked, value))
    return isinstance(value, TensorBase) and value._tl_tracked


def _raw(value: Any) -> Any:
    if isinstance(value, TensorBase):
        return value._tl_data
    if isinstance(value, (list, tuple)) and any(isinstance(v, TensorBase) for v in value):
        return [_raw(v) for v in value]
    return value
