"""The allow-list of `load`: the globals that a file may name, and the arguments that each may be called with.

Arguments are checked by their exact types: a file can make only plain data, so no other types are needed.
"""

from __future__ import annotations

import pickle
import sys
from collections import Counter, OrderedDict
from collections.abc import Callable, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, Final, NoReturn, final

from tensorlike._above import above
from tensorlike._library_name import LIBRARY
from tensorlike.autograd.tensor_base import TensorBase
from tensorlike.tensor import Parameter, Tensor, dtypes, layouts
from tensorlike.tensor.device import device as Device
from tensorlike.tensor.serialization import OWN_STATE, attributes_of, leaf_of_type, rebuild_tensor
from tensorlike.tensor.size import Size
from tensorlike.tensor.storage import MAX_DIMS, TypedStorage, UntypedStorage

from .unpickler import Unpickler, described, users_code

if TYPE_CHECKING:
    from tensorlike.tensor.dtypes import dtype as Dtype
    from tensorlike.tensor.layouts import layout


def _refused(what: str) -> NoReturn:
    raise pickle.UnpicklingError(what)


@final
class StorageType:
    """A type of PyTorch's storages: the dtype of the elements, None for bytes."""

    __slots__ = ("dtype_name", "name")

    def __init__(self, name: str, dtype_name: str | None) -> None:
        self.name, self.dtype_name = name, dtype_name

    @property
    def dtype(self) -> Any:
        """The dtype of the elements."""
        return getattr(dtypes, self.dtype_name or "uint8")

    def __repr__(self) -> str:
        return f"torch.{self.name}"


@final
class _Kind:
    """A kind of argument: its name for messages, and the check of a value."""

    __slots__ = ("accepts", "name")

    def __init__(self, name: str, accepts: Callable[[Any, Allowed], bool]) -> None:
        self.name, self.accepts = name, accepts


def _exactly(kind: type) -> _Kind:
    return _Kind(kind.__name__, lambda value, allowed: type(value) is kind)


def _is_sizes(value: Any, allowed: Allowed) -> bool:
    kind = type(value)
    return (kind is tuple or kind is Size) and len(value) <= MAX_DIMS and all(type(item) is int for item in value)


def _is_state(value: object, allowed: Allowed) -> bool:
    if type(value) is tuple:
        return len(value) == 2 and all(item is None or type(item) is dict for item in value)
    return value is None or type(value) is dict


def _is_tensor_type(value: object, allowed: Allowed) -> bool:
    if value is Tensor or value is Parameter:
        return True
    return isinstance(value, type) and issubclass(value, TensorBase) and (allowed.trusting or allowed.is_users(value))


def _is_tensor(value: object, allowed: Allowed) -> bool:
    return isinstance(value, TensorBase) and _is_tensor_type(type(value), allowed)


def _is_pairs(value: object, allowed: Allowed) -> bool:
    return type(value) is list and all(type(item) in (list, tuple) and len(item) == 2 for item in value)


_INT, _FLOAT, _BOOL, _STR, _BYTES, _DICT, _LIST, _TUPLE = map(
    _exactly, (int, float, bool, str, bytes, dict, list, tuple)
)
_DTYPE, _STORAGE, _TYPED = map(_exactly, (dtypes.dtype, UntypedStorage, TypedStorage))
_LAYOUT = _exactly(layouts.layout)
_COALESCED = _Kind("bool | None", lambda value, allowed: value is None or type(value) is bool)
_LATIN_1 = _Kind("'latin1'", lambda value, allowed: type(value) is str and value in ("latin1", "latin-1"))
_INDEX = _Kind("int | None", lambda value, allowed: value is None or type(value) is int)
_SIZES = _Kind(f"tuple of at most {MAX_DIMS} int", _is_sizes)
_INTS = _Kind("tuple of int", lambda value, allowed: type(value) is tuple and all(type(n) is int for n in value))
_PAIRS = _Kind("list of pairs", _is_pairs)
# PyTorch writes no hooks either: this is where they were in its first files.
_HOOKS = _Kind("None | empty OrderedDict", lambda value, allowed: value is None or (
    type(value) is OrderedDict and not value
))  # fmt: skip
_STATE = _Kind("None | dict | pair of these", _is_state)
_TENSOR_TYPE = _Kind("type of tensor that is allowed", _is_tensor_type)
_TENSOR = _Kind("Tensor", _is_tensor)
_REBUILD = _Kind("function that makes a tensor", lambda value, allowed: _is_rebuild(value))


@final
class _Function:
    """A global that a file may call: the kinds of its arguments, and the function that computes its result.

    `run` is called with the rules, the interpreter and the arguments.
    """

    __slots__ = ("name", "run", "takes")

    def __init__(self, name: str, takes: Sequence[tuple[_Kind, ...]], run: Callable[..., Any]) -> None:
        self.name, self.takes, self.run = name, takes, run

    def check(self, args: Any, allowed: Allowed) -> None:
        """Raise UnpicklingError for arguments of other kinds."""
        if type(args) is not tuple:
            _refused(f"the file calls {self.name} with a {described(args)} instead of a tuple of arguments")
        for kinds in self.takes:
            if len(args) == len(kinds) and all(kind.accepts(arg, allowed) for kind, arg in zip(kinds, args)):
                return
        forms = " or ".join(f"({', '.join(kind.name for kind in kinds)})" for kinds in self.takes)
        found = ", ".join(described(arg) for arg in args[:12])
        _refused(f"the file calls {self.name} with ({found}{', ...' if len(args) > 12 else ''}), but it takes {forms}")

    def __repr__(self) -> str:
        return f"<{self.name} of a file>"


@final
class Bound:
    """A function of the table for Python's own unpickler, which calls it."""

    __slots__ = ("allowed", "function")

    def __init__(self, function: _Function, allowed: Allowed) -> None:
        self.function, self.allowed = function, allowed

    def __call__(self, *args: Any) -> Any:
        return self.allowed.call(self.function, args, _UNLIMITED)


def _function_of(value: object) -> Any:
    return value.function if type(value) is Bound else value


class _Unlimited:
    """Replaces our interpreter where Python's own unpickler reads a trusted file."""

    def charge(self, count: int) -> None:
        pass

    def hashed(self, kind: Callable[[Any], Any], items: Sequence[Any]) -> Any:
        return kind(items)

    def set_items(self, owner: Any, items: list[Any]) -> None:
        for at in range(0, len(items), 2):
            owner[items[at]] = items[at + 1]


_UNLIMITED: Final[Any] = _Unlimited()

# The functions of the table. `allowed` are the rules, `machine` is the interpreter.


def _set(allowed: Allowed, machine: Unpickler, items: list[Any]) -> Any:
    machine.charge(len(items))
    return machine.hashed(set, items)


def _frozenset(allowed: Allowed, machine: Unpickler, items: list[Any]) -> Any:
    machine.charge(len(items))
    return machine.hashed(frozenset, items)


def _ordered(allowed: Allowed, machine: Unpickler, pairs: Sequence[Any] = ()) -> OrderedDict[Any, Any]:
    # With pairs in files that Python 2 wrote.
    machine.charge(2 * len(pairs))
    made: OrderedDict[Any, Any] = OrderedDict()
    machine.set_items(made, [item for pair in pairs for item in pair])
    return made


def _counter(allowed: Allowed, machine: Unpickler, counts: dict[Any, Any]) -> Counter[Any]:
    machine.charge(len(counts))
    return Counter(counts)


def _encode(allowed: Allowed, machine: Unpickler, text: str, encoding: str) -> bytes:
    machine.charge(len(text))
    try:
        return text.encode("latin1")
    except UnicodeEncodeError:
        _refused("the file has bytes that are no bytes")


def _bytearray(allowed: Allowed, machine: Unpickler, data: Any = b"", encoding: str = "") -> bytearray:
    data = _encode(allowed, machine, data, encoding) if encoding else data
    machine.charge(len(data))
    return bytearray(data)


def _range(allowed: Allowed, machine: Unpickler, start: int, stop: int, step: int) -> range:
    if not step:
        _refused("the file has a range whose step is zero")
    return range(start, stop, step)


def _size(allowed: Allowed, machine: Unpickler, sizes: tuple[int, ...]) -> Size:
    machine.charge(len(sizes))
    if not all(-(2**63) <= item < 2**63 for item in sizes):
        _refused("the file has a size of more than 64 bits")
    return Size(sizes)


def _device(allowed: Allowed, machine: Unpickler, kind: str, index: int | None = None) -> Any:
    return Device(kind[:100]) if index is None else Device(kind[:100], index)


def _layout(allowed: Allowed, machine: Unpickler, name: str) -> Any:
    if name not in ("torch.strided", "torch.sparse_coo"):
        _refused(
            f"the file holds a tensor of the layout {name[:100]!r}, which is not here: convert it with to_dense() "
            "before saving it"
        )
    return layouts.strided if name == "torch.strided" else layouts.sparse_coo


def _sparse(allowed: Allowed, machine: Unpickler, layout: layout, parts: tuple[Any, ...]) -> Any:
    """Make a sparse tensor of indices, values and a size, which are checked."""
    kinds = (_TENSOR, _TENSOR, _SIZES, _COALESCED)[: len(parts)]
    if layout is not layouts.sparse_coo or len(parts) < 3 or len(parts) > 4:
        _refused(f"the file has a sparse tensor of the layout {layout!r} with {len(parts)} parts")
    for kind, part in zip(kinds, parts):
        if not kind.accepts(part, allowed):
            _refused(f"the file has a sparse tensor with a {described(part)} in place of {kind.name}")
    try:
        return above("sparse.attributes").rebuild_sparse_tensor(layout, parts)
    except RuntimeError as error:
        _refused(f"the file has a sparse tensor that cannot be made: {error}")


def _tensor(
    allowed: Allowed, machine: Unpickler, kind: type, storage: UntypedStorage, dtype: Dtype, offset: int,
    shape: tuple[int, ...], strides: tuple[int, ...], device: str, requires_grad: bool, attributes: dict[Any, Any],
) -> Any:  # fmt: skip
    """Make a tensor of our own files, on the device chosen by `map_location`."""
    machine.charge(len(shape) + len(strides) + len(attributes))
    if any(n > 1 and s % dtype.itemsize for n, s in zip(shape, strides)):
        _refused(f"the file has a tensor of {dtype!r} with byte strides {list(strides)}")
    if requires_grad and not (dtype.is_floating_point or dtype.is_complex):
        _refused(f"the file has a tensor of {dtype!r} that requires grad; only floating point and complex ones can")
    allowed.check_attributes(kind, attributes)
    where = allowed.place(storage, device)

    def make() -> Any:
        return rebuild_tensor(kind, storage, dtype, offset, shape, strides, where, requires_grad, attributes)

    return users_code(make) if attributes and allowed.is_users(kind) else make()


def _torch_tensor(
    allowed: Allowed, machine: Unpickler, storage: TypedStorage, offset: int, size: tuple[int, ...],
    stride: tuple[int, ...], requires_grad: bool = False, hooks: object = None, dtype: Dtype | None = None,
    metadata: object = None,
) -> Any:  # fmt: skip
    """Make a tensor of PyTorch's files, whose offset and strides count elements."""
    if metadata:
        _refused("the file has a conjugated or negated view: call resolve_conj() or resolve_neg() before saving it")
    untyped = storage.untyped() if type(storage) is TypedStorage else storage
    dtype = storage.dtype if dtype is None else dtype
    width = dtype.itemsize
    return _tensor(
        allowed, machine, Tensor, untyped, dtype, offset * width, size, tuple(s * width for s in stride),
        allowed.location(untyped), requires_grad, {},
    )  # fmt: skip


def _torch_tensor_2(
    allowed: Allowed, machine: Unpickler, storage: TypedStorage, offset: int, size: tuple[int, ...],
    stride: tuple[int, ...], requires_grad: bool, hooks: object, metadata: object = None,
) -> Any:  # fmt: skip
    return _torch_tensor(allowed, machine, storage, offset, size, stride, requires_grad, hooks, None, metadata)


def _parameter(
    allowed: Allowed, machine: Unpickler, data: Tensor, requires_grad: bool, hooks: object,
    state: dict[str, Any] | None = None,
) -> Any:  # fmt: skip
    machine.charge(len(attributes_of(data)))
    result = users_code(lambda: Parameter(data, requires_grad))
    allowed.restore(result, state, machine)
    return result


def _retyped(allowed: Allowed, machine: Unpickler, function: Any, kind: type, args: tuple[Any, ...], state: Any) -> Any:
    result = allowed.call(_function_of(function), args, machine)
    result = users_code(lambda: leaf_of_type(result, kind))
    allowed.restore(result, state, machine)
    return result


def _unknown(what: str, remedy: str) -> Callable[..., Any]:
    def run(allowed: Allowed, machine: Unpickler, *args: Any) -> NoReturn:
        _refused(f"the file holds {what}, which do not exist here: {remedy} before saving it")

    return run


_PLACE = (_INT, _SIZES, _SIZES)
_FUNCTIONS: Final = {
    found.name: found
    for found in (
        _Function("builtins.set", [(_LIST,)], _set),
        _Function("builtins.frozenset", [(_LIST,)], _frozenset),
        _Function("builtins.complex", [(_FLOAT, _FLOAT)], lambda allowed, machine, real, imag: complex(real, imag)),
        # Of the empty bytes, in protocols 0 to 2. All others are texts that are encoded.
        _Function("builtins.bytes", [()], lambda allowed, machine: b""),
        _Function("builtins.bytearray", [(), (_BYTES,), (_STR, _LATIN_1)], _bytearray),
        # Not of anything: see Note [What a pickle may cost].
        _Function("builtins.slice", [(_INDEX, _INDEX, _INDEX)], lambda allowed, machine, *bounds: slice(*bounds)),
        _Function("builtins.range", [(_INT, _INT, _INT)], _range),
        _Function("collections.OrderedDict", [(), (_PAIRS,)], _ordered),
        _Function("collections.Counter", [(_DICT,)], _counter),
        _Function("_codecs.encode", [(_STR, _LATIN_1)], _encode),
        _Function("tensorlike.tensor.size.Size", [(_INTS,)], _size),
        _Function("tensorlike.tensor.device.device", [(_STR,), (_STR, _INT)], _device),
        _Function(
            "tensorlike.tensor.serialization.rebuild_tensor",
            [(_TENSOR_TYPE, _STORAGE, _DTYPE, *_PLACE, _STR, _BOOL, _DICT)],
            _tensor,
        ),
        _Function("torch._utils._rebuild_tensor", [(_TYPED, *_PLACE)], _torch_tensor),
        _Function(
            "torch._utils._rebuild_tensor_v2",
            [(_TYPED, *_PLACE, _BOOL, _HOOKS), (_TYPED, *_PLACE, _BOOL, _HOOKS, _DICT)],
            _torch_tensor_2,
        ),
        _Function(
            "torch._utils._rebuild_tensor_v3",
            [
                (storage, *_PLACE, _BOOL, _HOOKS, _DTYPE, *metadata)
                for storage in (_STORAGE, _TYPED)
                for metadata in ((), (_DICT,))
            ],
            _torch_tensor,
        ),
        _Function("torch._utils._rebuild_parameter", [(_TENSOR, _BOOL, _HOOKS)], _parameter),
        _Function("torch._utils._rebuild_parameter_with_state", [(_TENSOR, _BOOL, _HOOKS, _STATE)], _parameter),
        _Function("torch._tensor._rebuild_from_type_v2", [(_REBUILD, _TENSOR_TYPE, _TUPLE, _STATE)], _retyped),
        _Function("torch.serialization._get_layout", [(_STR,)], _layout),
        _Function("torch._utils._rebuild_sparse_tensor", [(_LAYOUT, _TUPLE)], _sparse),
        _Function("tensorlike._utils._rebuild_sparse_tensor", [(_LAYOUT, _TUPLE)], _sparse),
    )
}

#: The functions that `_rebuild_from_type_v2` may call: not itself, so that calls are not nested.
_REBUILDS: Final = tuple(
    _FUNCTIONS[f"torch._utils.{name}"]
    for name in ("_rebuild_tensor", "_rebuild_tensor_v2", "_rebuild_tensor_v3", "_rebuild_parameter")
)


def _is_rebuild(value: object) -> bool:
    return type(_function_of(value)) is _Function and _function_of(value) in _REBUILDS


#: Tensors of PyTorch without a counterpart here, by the function that makes them: a description, and the remedy.
_MISSING: Final = {
    "torch._utils._rebuild_qtensor": ("quantized tensors", "convert them with dequantize()"),
    "torch._utils._rebuild_nested_tensor": ("nested tensors", "convert them with to_padded_tensor()"),
    "torch._utils._rebuild_meta_tensor_no_storage": ("tensors on the meta device", "make tensors with memory of them"),
    "torch._utils._rebuild_wrapper_subclass": ("wrapper subclasses", "make plain tensors of them"),
    "torch._utils._rebuild_device_tensor_from_numpy": ("tensors of a foreign device", "move them with cpu()"),
    "torch._utils._rebuild_device_tensor_from_cpu_tensor": ("tensors of a foreign device", "move them with cpu()"),
}

#: Types by their names in files, whose calls are declared above, if allowed at all.
_TYPES: Final[dict[str, Any]] = {
    "builtins.set": set, "builtins.frozenset": frozenset, "builtins.complex": complex, "builtins.bytes": bytes,
    "builtins.bytearray": bytearray, "builtins.slice": slice, "builtins.range": range,
    "collections.OrderedDict": OrderedDict, "collections.Counter": Counter,
    "tensorlike.tensor.tensor.Tensor": Tensor, "tensorlike.tensor.parameter.Parameter": Parameter,
    "tensorlike.tensor.size.Size": Size, "tensorlike.tensor.device.device": Device,
    "torch.Size": Size, "torch.device": Device, "torch.Tensor": Tensor, "torch._tensor.Tensor": Tensor,
    "torch.nn.parameter.Parameter": Parameter,
}  # fmt: skip

_STORAGE_DTYPES: Final = {
    "FloatStorage": "float32", "DoubleStorage": "float64", "HalfStorage": "float16", "BFloat16Storage": "bfloat16",
    "LongStorage": "int64", "IntStorage": "int32", "ShortStorage": "int16", "CharStorage": "int8",
    "ByteStorage": "uint8", "BoolStorage": "bool", "ComplexFloatStorage": "complex64",
    "ComplexDoubleStorage": "complex128",
}  # fmt: skip

#: The names of dtypes, in files of both libraries.
_DTYPES: Final = (*_STORAGE_DTYPES.values(), "uint16", "uint32", "uint64")

_DTYPE_NAMES: Final = {f"{space}.{name}": name for space in ("tensorlike.tensor.dtypes", "torch") for name in _DTYPES}

_GLOBALS: Final[dict[str, Any]] = {
    **_FUNCTIONS,
    **{name: _Function(name, [], _unknown(*words)) for name, words in _MISSING.items()},
    **_TYPES,
    **{f"torch.{name}": StorageType(name, dtype) for name, dtype in _STORAGE_DTYPES.items()},
    "torch.storage.UntypedStorage": StorageType("UntypedStorage", None),
    **{
        f"tensorlike.tensor.layouts.{name}": getattr(layouts, name)
        for name in (
            "contiguous_format", "preserve_format", "channels_last", "channels_last_3d", "sparse_coo", "strided",
        )
    },
}  # fmt: skip

#: The declarations of the types that may be called, by identity: a file may call an unhashable object.
_CALLS: Final = {id(kind): _FUNCTIONS[name] for name, kind in _TYPES.items() if name in _FUNCTIONS}

_DECLARED: Final = frozenset(map(id, _TYPES.values()))

#: Python 2's names, which protocols 0 to 2 write.
_RENAMED: Final = {"__builtin__.xrange": "builtins.range"}

#: Modules whose globals PyTorch never allows, even if the user adds them.
_BLOCKED: Final = frozenset(("sys", "os", "posix", "nt"))

_KEYS: Final = frozenset((Size, dtypes.dtype, Device, layouts.memory_format, layouts.layout, range))


class Allowed:
    """The rules of `load`: the globals of the table, and those that the user added.

    `place` returns the device for a storage, `persistent` the storage of a reference, and `location` the device of a
    storage in the file. With `trusting`, types of tensors need not be allowed.
    """

    def __init__(
        self,
        users: Sequence[Any],
        place: Callable[[Any, str], str],
        persistent: Callable[[Any], Any],
        location: Callable[[UntypedStorage], str],
        trusting: bool = False,
    ) -> None:
        self.place, self.persistent, self.location, self.trusting = place, persistent, location, trusting
        self.named: dict[str, Any] = {}
        for item in users:
            value, name = item if isinstance(item, tuple) else (item, f"{item.__module__}.{item.__qualname__}")
            self.named[name] = value
        # Globals declared in the table keep their declaration, with all checks.
        self.users = {id(value) for value in self.named.values()} - _DECLARED

    def is_users(self, value: object) -> bool:
        """Return whether the user allowed this class or function."""
        return id(value) in self.users

    def known(self, name: str) -> Any:
        """Return the entry of the table for a dotted name, or None."""
        found = _GLOBALS.get(name)
        if found is None and name in _DTYPE_NAMES:
            found = getattr(dtypes, _DTYPE_NAMES[name])
        return found

    def allows(self, name: str) -> bool:
        """Return whether a file may name this global."""
        try:
            self.find(name)
        except pickle.UnpicklingError:
            return False
        return True

    def find(self, name: str) -> Any:
        """Return the object of a dotted name; raise UnpicklingError if it is not allowed."""
        if name.startswith("__builtin__."):
            name = _RENAMED.get(name) or name.replace("__builtin__.", "builtins.", 1)
        if name.partition(".")[0] in _BLOCKED:
            _refused(f"the file names {name[:200]}, whose module is blocked")
        found = self.named.get(name)
        if found is None:
            found = self.known(name)
        if found is None:
            # A line to paste: not for a name that would run code there, or allow files to run it.
            first, *others = name.split(".")
            is_class = all(map(str.isidentifier, (first, *others))) and (
                first == "__main__" or first not in sys.stdlib_module_names
            )
            line = name.removeprefix("__main__.") if is_class else "..."
            _refused(
                f"the file names {name[:200]}, which is not an allowed global by default. If you trust the file, load "
                "it with weights_only=False, which can run any code that it holds; or allow this one with "
                f"{LIBRARY}.serialization.add_safe_globals([{line[:200]}])"
            )
        return found

    def call(self, function: Any, args: Any, machine: Unpickler) -> Any:
        """Call a function of the table, or one that the user allowed."""
        declared = function if type(function) is _Function else _CALLS.get(id(function))
        if declared is not None:
            if declared.takes:
                declared.check(args, self)
            return declared.run(self, machine, *args) if declared.takes else declared.run(self, machine)
        if self.is_users(function):
            if type(args) is not tuple:
                _refused(f"the file calls a function with a {described(args)} instead of a tuple of arguments")
            return users_code(lambda: function(*args))
        _refused(f"the file calls {self.called(function)}, which is not allowed")

    def new(self, kind: Any, args: Any, kwargs: Any) -> Any:
        """Return a new instance of a class that the user allowed."""
        if not isinstance(kind, type) or not self.is_users(kind):
            _refused(f"the file makes an instance of {self.called(kind)}, which is not allowed")
        if type(args) is not tuple or type(kwargs) is not dict or not all(type(name) is str for name in kwargs):
            _refused(f"the file makes an instance of {kind.__qualname__} with arguments that are no tuple or dict")
        return users_code(lambda: kind.__new__(kind, *args, **kwargs))

    def called(self, value: object) -> str:
        """Return the name of a class or function, or a description of a value."""
        return value.__qualname__ if isinstance(value, type) else f"a {described(value)}"

    def build(self, owner: Any, state: Any, machine: Unpickler) -> None:
        """Set the attributes of an OrderedDict, as that of a state_dict has, or restore an instance of a user's class.

        None of the attributes has a meaning for Python or NumPy, which look for `__array_interface__` and others, and
        none hides a method.
        """
        kind = type(owner)
        if kind is OrderedDict:
            if type(state) is not dict:
                _refused(f"the file sets attributes of an OrderedDict by a {described(state)}")
            machine.charge(len(state))
            for name, value in state.items():
                if not _is_plain(name) or name in _names_of(OrderedDict):
                    _refused(f"the file sets the attribute {_shown(name)} of an OrderedDict")
                owner.__dict__[name] = value
        elif self.is_users(kind):
            self.restore(owner, state, machine)
        else:
            _refused(f"the file sets attributes of a {kind.__qualname__}, which is not allowed")

    def restore(self, owner: Any, state: Any, machine: Unpickler) -> None:
        """Set the attributes of a tensor, or of an instance of a user's class, which may have a `__setstate__`."""
        kind = type(owner)
        is_tensor = issubclass(kind, TensorBase)
        setstate = getattr(kind, "__setstate__", None)
        if setstate is not None and setstate is not Tensor.__setstate__:
            users_code(lambda: setstate(owner, state))
            return
        if not _is_state(state, self):
            _refused(f"the file has the state of a {kind.__qualname__} as a {described(state)}")
        parts = [part for part in (state if type(state) is tuple else (state,)) if part]
        for part in parts:
            machine.charge(len(part))
            if is_tensor:
                self.check_attributes(kind, part)
            elif not all(type(name) is str for name in part):
                _refused(f"the file sets attributes of a {kind.__qualname__} whose names are no texts")
        for part in parts:
            for name, value in part.items():
                users_code(lambda name=name, value=value: setattr(owner, name, value))  # type: ignore[misc]

    def check_attributes(self, kind: type, attributes: dict[Any, Any]) -> None:
        """Raise UnpicklingError for attributes that a tensor from a file must not have.

        These are names with a meaning for Python or NumPy, a tensor's own state, and names that tensors have already,
        unless a subclass of the user has them too.
        """
        if not attributes or self.trusting:
            return
        owners = [base for base in kind.__mro__ if base is not Parameter and self.is_users(base)]
        for name in attributes:
            taken = name in _names_of(Tensor) and not any(name in base.__dict__ for base in owners)
            if not _is_plain(name) or name in OWN_STATE or taken:
                _refused(f"the file sets the attribute {_shown(name)} of a tensor")

    def may_hold(self, owner: object) -> bool:
        """Return whether items may be put in an object that is no list, dict or set."""
        return self.is_users(type(owner))

    def is_key(self, value: object) -> bool:
        """Return whether a value may be a key, which is no number, text or tuple."""
        kind = type(value)
        return kind in _KEYS or isinstance(value, type) or _is_tensor(value, self) or self.is_users(kind)


@cache
def _names_of(kind: type) -> frozenset[str]:
    return frozenset(dir(kind))


def _shown(name: object) -> str:
    return repr(name[:100]) if type(name) is str else f"whose name is a {described(name)}"


def _is_plain(name: object) -> bool:
    return type(name) is str and not (name.startswith("__") and name.endswith("__"))
