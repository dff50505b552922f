"""`torch.library`: operators defined in Python, and their kernels, gradients and rules for batches."""

from __future__ import annotations

import contextlib
import functools
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextvars import ContextVar
from typing import Any, Literal

from tensorlike.tensor import Tensor
from tensorlike.tensor.backends import data_pointer
from tensorlike.transforms.custom_functions import by_rule
from tensorlike.utils._pytree import tree_leaves

from .blocks import Block
from .formulas import formula_of
from .infer_schema import infer_schema
from .operators import (
    KEYS,
    Kernel,
    OpOverload,
    OpOverloadPacket,
    find,
    forget,
    implement,
    keyword_only_tensors,
    lookup,
    ops,
    tensors_in,
)
from .schema import split_name
from .tags import Tag


def _caller() -> str:
    """Return the place outside of this package that called."""
    frame: Any = sys._getframe(1)
    while frame is not None and frame.f_globals.get("__name__", "").startswith("tensorlike."):
        frame = frame.f_back
    return "unknown" if frame is None else f"{frame.f_code.co_filename}:{frame.f_lineno}"


def fallthrough_kernel(*args: Any, **kwargs: Any) -> Any:
    """A sentinel for `Library.impl`: calls fall through to the next dispatch key."""
    raise NotImplementedError("fallthrough_kernel() should never be called.")


class Library:
    """The operators that one piece of code defines or gives kernels to; they end with it.

    `kind` is "DEF" for the one library that defines a namespace, "FRAGMENT" for more definitions, "IMPL" for kernels
    alone. `dispatch_key` is the key of kernels that name none.

    >>> library = tl.library.Library("doc_library", "DEF")
    >>> library.define("scale(Tensor x, float by) -> Tensor")
    'scale'
    >>> library.impl("scale", lambda x, by: x * by, "CompositeImplicitAutograd")
    >>> tl.ops.doc_library.scale(tl.ones(2), 3.0)
    tensor([3., 3.])
    """

    def __init__(self, ns: str, kind: str, dispatch_key: str = "") -> None:
        if kind not in ("IMPL", "DEF", "FRAGMENT"):
            raise ValueError(f"Unsupported kind: {kind}")
        if ns == "prim" or (kind == "DEF" and ns == "aten"):
            raise ValueError(f"{ns} is a reserved namespace. Please try creating a library with another name.")
        self._block = Block(kind, ns, _caller())
        self.ns = ns
        self.kind = kind
        self.dispatch_key = dispatch_key

    def __repr__(self) -> str:
        return f"Library(kind={self.kind}, ns={self.ns}, dispatch_key={self.dispatch_key})>"

    def define(self, schema: str, alias_analysis: str = "", *, tags: object = ()) -> str:
        """Define an operator by its schema, and return its name. Raises RuntimeError for one that is defined."""
        overload = self._block.define(schema)
        overload.tags = list(tags) if isinstance(tags, (list, tuple)) else [tags]
        return overload._opname

    def impl(
        self,
        op_name: str | OpOverload,
        fn: Callable[..., Any],
        dispatch_key: str = "",
        *,
        with_keyset: bool = False,
        allow_override: bool = False,
    ) -> None:
        """Give an operator a kernel for a key: "CPU", "CUDA", "Autograd", "CompositeImplicitAutograd", ...

        An operator that is not defined yet receives it when it is.

        Raises TypeError for a kernel that cannot be called, RuntimeError for an unknown key, NotImplementedError for
        `with_keyset`.
        """
        if with_keyset:
            raise NotImplementedError(
                "Library.impl(..., with_keyset=True): kernels here receive no keyset; leave it out, and call "
                "`op.redispatch(*args)`, which runs the operator below autograd"
            )
        if not callable(fn):
            raise TypeError(f"Input function is required to be a callable but found type {type(fn)}")
        key = dispatch_key or self.dispatch_key or "CompositeImplicitAutograd"
        if key not in KEYS:
            raise RuntimeError(f"could not parse dispatch key: {key}")
        name = op_name.name() if isinstance(op_name, OpOverload) else op_name
        if fn is fallthrough_kernel:
            return
        kernel = Kernel(fn, _caller(), by_position=False)
        before = lookup(*split_name(name if "::" in name else f"{self.ns}::{name}"))
        if allow_override and before is not None:
            before.kernels.pop(key, None)
        self._block.implement(name, key, kernel)

    def _destroy(self) -> None:
        """Take back the definitions and the kernels of this library."""
        self._block.end()

    def _register_fake(self, op_name: str, fn: Callable[..., Any], _stacklevel: int = 1) -> None:
        self.impl(op_name, fn, "Meta", allow_override=True)


@contextlib.contextmanager
def _scoped_library(*args: Any, **kwargs: Any) -> Iterator[Library]:
    """Make a library whose operators end with the block."""
    library = Library(*args, **kwargs)
    try:
        yield library
    finally:
        library._destroy()


def _overload(op: str | OpOverload | OpOverloadPacket | CustomOpDef) -> OpOverload:
    """Return the overload that a name, a packet or an operator of `custom_op` stands for."""
    if isinstance(op, OpOverload):
        return op
    if isinstance(op, CustomOpDef):
        return op._opoverload
    if isinstance(op, OpOverloadPacket):
        return find(op._qualified_op_name)
    if not isinstance(op, str) or "::" not in op:
        raise ValueError(
            f"expected the name of an operator with its namespace, such as 'ns::name', or the operator, not {op!r}"
        )
    name, overload = split_name(op)
    namespace, _, name = name.partition("::")
    return getattr(getattr(getattr(ops, namespace), name), overload or "default")  # type: ignore[no-any-return]


#: The libraries of functions that were given none: they live as long as the process.
_OWN: dict[str, Library] = {}


def _own(namespace: str) -> Library:
    if namespace not in _OWN:
        _OWN[namespace] = Library(namespace, "FRAGMENT")
    return _OWN[namespace]


def define(qualname: str, schema: str, *, lib: Library | None = None, tags: object = ()) -> None:
    """Define an operator by its name with the namespace, `ns::name`, and the rest of its schema.

    >>> tl.library.define("doc_define::twice", "(Tensor x) -> Tensor")
    >>> @tl.library.impl("doc_define::twice", "CPU")
    ... def twice(x):
    ...     return x * 2
    >>> tl.ops.doc_define.twice(tl.ones(2))
    tensor([2., 2.])
    """
    if not isinstance(qualname, str):
        raise ValueError(f"define(qualname, schema): expected qualname to be instance of str, got {type(qualname)}")
    namespace, _, name = qualname.partition("::")
    if not name:
        raise ValueError(f"define(): the name of an operator has a namespace, as in ns::name, not {qualname!r}")
    if not schema.lstrip().startswith("("):
        raise ValueError(
            f'define(qualname, schema, ...): expected schema to look like e.g. "(Tensor x) -> Tensor" but got '
            f'"{schema}"'
        )
    (lib or _own(namespace)).define(name + schema, tags=tags)


_KEYS_OF_TYPES = {"cpu": "CPU", "cuda": "CUDA", "meta": "Meta", "default": "CompositeExplicitAutograd"}


def impl(
    qualname: Any,
    types: str | Sequence[str] | None,
    func: Callable[..., Any] | None = None,
    *,
    lib: Library | None = None,
) -> Any:
    """Give an operator a kernel for device types ("cpu", "cuda", "default") or dispatch keys; also a decorator.
    """
    if isinstance(qualname, Library):
        # The older form: impl(library, name, key).
        library, name, key = qualname, types, func if isinstance(func, str) else ""

        def register_old(function: Callable[..., Any]) -> Callable[..., Any]:
            library.impl(str(name), function, key)
            return function

        return register_old
    name = qualname if isinstance(qualname, str) and "::" in qualname else _overload(qualname).name()
    wanted = ("default",) if types is None else (types,) if isinstance(types, str) else tuple(types)

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        for one in wanted:
            (lib or _own(name.partition("::")[0])).impl(name, function, _KEYS_OF_TYPES.get(one, one))
        return function

    if func is None:
        return register
    register(func)
    return None


def register_kernel(
    op: str | OpOverload | CustomOpDef, device_types: str | Sequence[str] | None,
    func: Callable[..., Any] | None = None, /, *, lib: Library | None = None,
) -> Any:  # fmt: skip
    """Give an operator a kernel for device types; None stands for all. Also a decorator."""
    if isinstance(op, CustomOpDef):
        return op.register_kernel(device_types, func)
    return impl(op, device_types, func, lib=lib)


def register_fake(
    op: str | OpOverload | CustomOpDef, func: Callable[..., Any] | None = None, /, *, lib: Library | None = None,
    _stacklevel: int = 1, allow_override: bool = False,
) -> Any:  # fmt: skip
    """Say which shapes and dtypes an operator returns, by a function that computes no values. Also a decorator.

    `opcheck` compares it with what the kernels return.
    """
    if isinstance(op, str) and "::" in op and lookup(*split_name(op)) is None:
        raise RuntimeError(f"operator {op} does not exist")
    overload = _overload(op)

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        if "Meta" in overload.kernels and not allow_override:
            raise RuntimeError(
                f"register_fake(...): the operator {overload.name()} already has an fake impl registered"
            )
        overload.kernels["Meta"] = Kernel(function, _caller(), by_position=False)
        return function

    return register if func is None else register(func)


def register_autograd(
    op: str | OpOverload | CustomOpDef, backward: Callable[..., Any], /, *,
    setup_context: Callable[..., Any] | None = None, lib: Library | None = None,
) -> None:  # fmt: skip
    """Give an operator a gradient.

    `backward(ctx, *grads)` returns a gradient for each positional argument, None for those that have none, and a list
    for a list of tensors; `setup_context(ctx, inputs, output)` saves what it needs. Where the operator has keyword-only
    arguments, that is `setup_context(ctx, inputs, keyword_only_inputs, output)`. The kernels then run below autograd.

    >>> tl.library.define("doc_autograd::square", "(Tensor x) -> Tensor")
    >>> tl.library.impl("doc_autograd::square", "CPU", lambda x: tl.tensor(x.detach().numpy() ** 2))
    >>> def setup_context(ctx, inputs, output):
    ...     ctx.save_for_backward(*inputs)
    >>> def backward(ctx, grad):
    ...     (x,) = ctx.saved_tensors
    ...     return 2 * x * grad
    >>> tl.library.register_autograd("doc_autograd::square", backward, setup_context=setup_context)
    >>> x = tl.tensor([3.0], requires_grad=True)
    >>> tl.ops.doc_autograd.square(x).sum().backward()
    >>> x.grad
    tensor([6.])
    """
    overload = _overload(op)
    if overload._schema.is_mutable or overload._schema.may_alias:
        raise RuntimeError(
            f"Cannot register autograd formula for non-functional operator {op} with schema {overload._schema}. "
            "Please create a functional operator and register an autograd formula for that."
        )
    keyword_only_tensors(overload._schema, "register_autograd")
    overload.formula = formula_of(overload, backward, setup_context)


def register_vmap(
    op: str | OpOverload | CustomOpDef, func: Callable[..., Any] | None = None, /, *, lib: Library | None = None
) -> Any:
    """Give an operator a rule for `vmap`: `func(info, in_dims, *args, **kwargs)` returns the result and its batch
    dimensions.

    `info` has `batch_size` and `randomness`. Without a rule, `vmap` calls the operator once per example. Also a
    decorator.
    """
    overload = _overload(op)
    keyword_only_tensors(overload._schema, "register_vmap")

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        def rule(level: Any, form: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
            values = overload.bound(args, kwargs)
            names = [a.name for a in overload._schema.arguments if a.keyword_only]
            given = values[: len(values) - len(names)]
            keywords = dict(zip(names, values[len(given) :], strict=True))
            return by_rule(overload.name(), functools.partial(function, **keywords), tuple(given), level)

        overload.operation.batching = overload.packet.operation.batching = rule
        return function

    return register if func is None else register(func)


def get_ctx() -> Any:
    """Return the context of a function given to `register_fake`, None outside of one.

    Its `new_dynamic_size(min=0, max=None)` stands for a size that the values decide: `opcheck`, which calls the fake,
    takes that of the result.
    """
    return FakeContext.current.get()


class FakeContext:
    """The questions that a fake may ask: sizes that the values decide. `found` holds those that are known already."""

    current: ContextVar[FakeContext | None] = ContextVar("fake_context", default=None)

    def __init__(self, found: Mapping[int, int] | None = None) -> None:
        self._found = found or {}
        #: The bounds of each size, by the number that stands for it: one that no shape has by chance.
        self.bounds: dict[int, tuple[int, int | None]] = {}

    def new_dynamic_size(self, *, min: int = 0, max: int | None = None) -> int:
        """Return a size that the values decide."""
        number = 1009 + 2 * len(self.bounds)
        self.bounds[number] = min, max
        return self._found.get(number, number)

    def run(self, function: Callable[[], Any]) -> Any:
        """Call a fake in this context."""
        token = self.current.set(self)
        try:
            return function()
        finally:
            self.current.reset(token)


def custom_op(
    name: str,
    fn: Callable[..., Any] | None = None,
    /,
    *,
    mutates_args: Literal["unknown"] | Iterable[str],
    device_types: str | Sequence[str] | None = None,
    schema: str | None = None,
    tags: Sequence[Any] | None = None,
) -> Any:
    """Make an operator of a function: types can override it, and it can have a gradient and a rule for `vmap`.

    `mutates_args` names the parameters that it writes. The schema comes from the annotations unless it is given. The
    function runs without recording: without `register_autograd`, going back through it raises. Results must not share
    memory with arguments.

    >>> @tl.library.custom_op("doc_custom::sine", mutates_args=())
    ... def sine(x: tl.Tensor) -> tl.Tensor:
    ...     return tl.from_numpy(x.detach().numpy().copy()).sin()
    >>> sine(tl.zeros(2))
    tensor([0., 0.])
    """

    def make(function: Callable[..., Any]) -> CustomOpDef:
        namespace, separator, opname = name.partition("::")
        if not separator or not opname:
            raise ValueError(f"custom_op(): the name of an operator has a namespace, as in ns::name, not {name!r}")
        text = infer_schema(function, mutates_args=mutates_args) if schema is None else schema
        made = CustomOpDef(namespace, opname, text, function, tags or ())
        made.register_kernel(device_types)(function)
        return made

    return make if fn is None else make(fn)


class CustomOpDef:
    """An operator made by `custom_op`."""

    def __init__(
        self, namespace: str, name: str, schema: str, fn: Callable[..., Any], tags: Sequence[Tag] = ()
    ) -> None:
        library = Library(namespace, "FRAGMENT")
        if _exists(f"{namespace}::{name}"):
            # Run again, as in a notebook: the new definition replaces the former one.
            forget(find(f"{namespace}::{name}"))
        library.define(name + schema, tags=(Tag.pt2_compliant_tag, *tags))
        keyword_only_tensors(find(f"{namespace}::{name}")._schema, "custom_op")
        self._namespace, self._name, self._schema, self._lib, self._init_fn = namespace, name, schema, library, fn
        self.__name__, self.__doc__, self.__wrapped__ = name, fn.__doc__, fn
        #: The device types whose kernel is switched off: the one for all devices answers for them.
        self._disabled: set[str] = set()

    @property
    def _qualname(self) -> str:
        return f"{self._namespace}::{self._name}"

    @property
    def _opoverload(self) -> OpOverload:
        return find(self._qualname)

    def __repr__(self) -> str:
        return f"<CustomOpDef({self._qualname})>"

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        """Call the operator."""
        return self._opoverload(*args, **kwargs)

    def register_kernel(self, device_types: str | Sequence[str] | None, fn: Callable[..., Any] | None = None, /) -> Any:
        """Give the operator a kernel for device types; None stands for all. Also a decorator."""

        def register(function: Callable[..., Any]) -> Callable[..., Any]:
            wanted = ("default",) if device_types is None else (
                (device_types,) if isinstance(device_types, str) else tuple(device_types)
            )  # fmt: skip
            overload = self._opoverload
            for one in wanted:
                key = _KEYS_OF_TYPES.get(one, one)
                overload.kernels.pop(key, None)
                chosen = function if one == "default" else self._switched(one, function)
                kernel = Kernel(_without_aliases(overload, chosen), _caller(), by_position=False, below=True)
                implement(overload, key, kernel)
            return function

        return register if fn is None else register(fn)

    def _switched(self, device_type: str, function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def kernel(*args: Any, **kwargs: Any) -> Any:
            return (self._init_fn if device_type in self._disabled else function)(*args, **kwargs)

        return kernel

    @contextlib.contextmanager
    def set_kernel_enabled(self, device_type: str, enabled: bool = True) -> Iterator[None]:
        """Switch the kernel of a device type off, or on again, inside `with`; the operator's function replaces it."""
        before = set(self._disabled)
        (self._disabled.discard if enabled else self._disabled.add)(device_type)
        try:
            yield
        finally:
            self._disabled = before

    def register_fake(self, fn: Callable[..., Any], /) -> Callable[..., Any]:
        """Say which shapes and dtypes the operator returns, by a function that computes no values."""
        register_fake(self, fn, allow_override=True)
        return fn

    def register_autograd(
        self, backward: Callable[..., Any], /, *, setup_context: Callable[..., Any] | None = None
    ) -> None:
        """Give the operator a gradient: see `tensorlike.library.register_autograd`."""
        register_autograd(self, backward, setup_context=setup_context)

    def register_vmap(self, func: Callable[..., Any] | None = None) -> Any:
        """Give the operator a rule for `vmap`: see `tensorlike.library.register_vmap`."""
        return register_vmap(self, func)


def _exists(name: str) -> bool:
    return lookup(*split_name(name)) is not None


def _without_aliases(overload: OpOverload, function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a kernel that raises where a result shares memory with an argument or another result."""

    @functools.wraps(function)
    def kernel(*args: Any, **kwargs: Any) -> Any:
        result = function(*args, **kwargs)
        seen = {_memory(t) for t in tensors_in([*args, *kwargs.values()])}
        for tensor in tensors_in(tree_leaves(result)):
            if _memory(tensor) in seen:
                raise RuntimeError(
                    f"{overload._opname} (with implementation in {function.__module__}): The output of this custom "
                    "operator (1) must not also be an input to this custom operator and (2) may not alias any inputs "
                    "to this custom operator or other returns. The most common way to trigger this error is if we have "
                    "y = custom_op(x) and y and x are the same Tensor. Please instead return a clone of the offending "
                    "output tensor(s) (e.g. return x.clone()) or refactor the custom operator to not return y."
                )
            seen.add(_memory(tensor))
        return result

    return kernel


def _memory(tensor: Tensor) -> Any:
    return data_pointer(tensor.untyped_storage()._owner) if tensor.numel() else id(tensor)
