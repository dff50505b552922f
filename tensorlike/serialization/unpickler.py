"""Interpret pickles of untrusted files.

A pickle is a program for a stack machine. This one has the operations that Python's picklers write for plain data, and
leaves to a `Rules` object the globals, calls, states and references of a file. Everything that it makes by itself is
None, a bool, an int, a float, a str, bytes, a bytearray, or a list, tuple, dict, set or frozenset of such.

# Note [What a pickle may cost]
An operation takes time and memory in proportion to the bytes of the pickle that it consumes:

- A length is compared with the remaining bytes before anything is allocated.
- The memo is a dict, so a large index takes no more room than a small one.
- A call copies its arguments, and the memo can pass the same object again and again. A pickler writes the arguments
  of a call right before it, so the total size of these copies is not much larger than the pickle: `charge` counts it.
- Hashing a tuple walks it, once for every path that leads to an item, in C without a limit of its own. Keys are
  therefore trees of at most `MAX_KEY` items.
- No object is made whose destruction recurses without a limit, such as a slice of a slice of a slice: slices are of
  integers and None. The nesting of lists thus needs no bound.
"""

from __future__ import annotations

import pickle
import struct
from collections import Counter, OrderedDict
from collections.abc import Callable, Sequence
from typing import Any, Final, NoReturn, Protocol

#: The greatest number of items of a key of a dict or set, nested ones included; 4096 bytes or bits count as one.
MAX_KEY: Final = 1000

_HIGHEST_PROTOCOL: Final = 5

_unpack_float = struct.Struct(">d").unpack


def described(value: object) -> str:
    """Return the type of a value from a file, for messages: its representation can be of any length."""
    return type(value).__name__


def users_code(work: Callable[[], Any]) -> Any:
    """Call a class or function that the user allowed, and return its result.

    Raises UnpicklingError for any error of it: its arguments come from a file.
    """
    try:
        return work()
    except (pickle.UnpicklingError, MemoryError):
        raise
    except Exception as error:
        raise pickle.UnpicklingError(f"{type(error).__name__}: {error}") from error


class Rules(Protocol):
    """The permissions of a file beyond making plain data. Each method raises UnpicklingError if not allowed."""

    def find(self, name: str) -> Any:
        """Return the object of a dotted name."""

    def persistent(self, pid: object) -> Any:
        """Return the object of a persistent reference."""

    def call(self, function: object, args: object, machine: Unpickler) -> Any:
        """Return the result of REDUCE for a function and its arguments."""

    def new(self, kind: object, args: object, kwargs: object) -> Any:
        """Return the result of NEWOBJ for a class and the arguments of its `__new__`."""

    def build(self, owner: object, state: object, machine: Unpickler) -> None:
        """Restore the state of an object."""

    def may_hold(self, owner: object) -> bool:
        """Return whether items may be put in an object that is no list, dict or set."""

    def is_key(self, value: object) -> bool:
        """Return whether a value may be a key, which is no number, text or tuple."""


class Unpickler:
    """Reads one pickle after the other from `data`, from the position `at` on.

    `load` returns the object of the next one and moves `at` behind it.

    Raises UnpicklingError for a pickle that is broken, or that the rules do not allow.
    """

    def __init__(self, data: bytes, rules: Rules, at: int = 0, encoding: str = "utf-8") -> None:
        self.data = data
        self.rules = rules
        #: Of the texts of Python 2; "bytes" to leave them bytes.
        self.encoding = encoding
        self.at = at
        self.end = len(data)

    def load(self) -> Any:
        self.stack: list[Any] = []
        self.below: list[list[Any]] = []
        self.memo: dict[int, Any] = {}
        self.copied = 0
        data, end, handlers = self.data, self.end, _HANDLERS
        opcode = at = -1
        try:
            while True:
                at = self.at
                if at >= end:
                    self.wrong("it ends before its last operation")
                opcode = data[at]
                self.at = at + 1
                if opcode == _STOP:
                    break
                handler = handlers[opcode]
                if handler is None:
                    self.wrong(f"operation {bytes([opcode])!r} is not allowed in a file of tensors")
                handler(self)
            return self.stack.pop()
        except IndexError:
            # The stack was too short: code run by the rules raises only UnpicklingError.
            raise pickle.UnpicklingError(
                f"byte {at} of the pickle: operation {bytes([opcode])!r} takes more from the stack than there is"
            ) from None

    def wrong(self, what: str) -> NoReturn:
        """Raise UnpicklingError."""
        raise pickle.UnpicklingError(f"byte {self.at} of the pickle: {what}")

    def charge(self, count: int) -> None:
        """Count `count` items that a call copies: see Note [What a pickle may cost]."""
        self.copied += count
        # A bytearray is a text, of which bytes are made first; other things are copied once.
        if self.copied > 4 * self.end:
            self.wrong("its calls copy more than the pickle holds")

    # Reading the arguments of opcodes.

    def take(self, size: int) -> bytes:
        at = self.at
        if size > self.end - at:
            self.wrong(f"{size} bytes are to come, but {self.end - at} are left")
        self.at = at + size
        return self.data[at : at + size]

    def number(self, width: int) -> int:
        return int.from_bytes(self.take(width), "little")

    def line(self) -> bytes:
        at = self.at
        stop = self.data.find(b"\n", at)
        if stop < 0:
            self.wrong("a line does not end")
        self.at = stop + 1
        return self.data[at:stop]

    def text(self, raw: bytes, encoding: str = "utf-8", errors: str = "surrogatepass") -> str:
        try:
            return str(raw, encoding, errors)
        except UnicodeDecodeError as error:
            self.wrong(f"a text is not in {encoding}: {error.reason}")

    # The stack.

    def marked(self) -> list[Any]:
        items = self.stack
        if not self.below:
            self.wrong("a mark is missing")
        self.stack = self.below.pop()
        return items

    def remember(self, index: int) -> None:
        self.memo[index] = self.stack[-1]

    def recall(self, index: int) -> None:
        if index not in self.memo:
            self.wrong(f"nothing was stored under the index {index}")
        self.stack.append(self.memo[index])

    def extend(self, owner: Any, items: list[Any]) -> None:
        if type(owner) is list:
            owner.extend(items)
        elif self.rules.may_hold(owner):
            users_code(lambda: [owner.append(item) for item in items])
        else:
            self.wrong(f"items can be put in lists, not in {described(owner)}")

    def set_items(self, owner: Any, items: list[Any]) -> None:
        if len(items) % 2:
            self.wrong("a key has no value")
        kind = type(owner)
        if kind is dict or kind is OrderedDict or kind is Counter:
            # Keys may be of the user's classes, which hash and compare themselves.
            users_code(lambda: self._set_each(owner, items))
        elif self.rules.may_hold(owner):
            users_code(lambda: [owner.__setitem__(items[at], items[at + 1]) for at in range(0, len(items), 2)])
        else:
            self.wrong(f"keys can be set in dicts, not in {described(owner)}")

    def _set_each(self, owner: Any, items: list[Any]) -> None:
        for at in range(0, len(items), 2):
            key = items[at]
            if type(key) is not str or len(key) > 4096:
                self.check_key(key)
            owner[key] = items[at + 1]

    def hashed(self, kind: Callable[[Any], Any], items: Sequence[Any]) -> Any:
        """Make or fill a set from items by `kind`; errors of hashing become UnpicklingError."""
        for item in items:
            self.check_key(item)
        return users_code(lambda: kind(items))

    def check_key(self, key: Any) -> None:
        """Raise UnpicklingError for a value that cannot be a key, or is too large: see Note [What a pickle may cost].
        """
        left = MAX_KEY
        todo = [key]
        while todo:
            value = todo.pop()
            kind = type(value)
            left -= 1
            if kind is tuple or kind is frozenset:
                if len(value) > left:
                    left = -1
                else:
                    todo.extend(value)
            elif kind is str or kind is bytes:
                left -= len(value) >> 12
            elif kind is int:
                left -= value.bit_length() >> 12
            elif not (value is None or kind is bool or kind is float or kind is complex or self.rules.is_key(value)):
                self.wrong(f"a {described(value)} cannot be a key, or an item of a set")
            if left < 0:
                self.wrong(f"a key has more than {MAX_KEY} items")

    # The operations.

    def _proto(self) -> None:
        protocol = self.number(1)
        if protocol > _HIGHEST_PROTOCOL:
            self.wrong(f"unsupported pickle protocol: {protocol}")

    def _frame(self) -> None:
        # The size of a frame, a hint for buffering: all bytes are in memory already.
        size = self.number(8)
        if size > self.end - self.at:
            self.wrong(f"a frame of {size} bytes is to come, but {self.end - self.at} are left")

    def _mark(self) -> None:
        self.below.append(self.stack)
        self.stack = []

    def _pop(self) -> None:
        if self.stack:
            self.stack.pop()
        else:
            self.marked()

    def _pop_mark(self) -> None:
        self.marked()

    def _int(self) -> None:
        line = self.line()
        self.stack.append(line == b"01" if line in (b"00", b"01") else self.decimal(line))

    def _long(self) -> None:
        self.stack.append(self.decimal(self.line().removesuffix(b"L")))

    def decimal(self, digits: bytes) -> int:
        try:
            return int(digits)
        except ValueError:
            self.wrong("a number is malformed")

    def _float(self) -> None:
        try:
            self.stack.append(float(self.line()))
        except ValueError:
            self.wrong("a number is malformed")

    def _bin_float(self) -> None:
        self.stack.append(_unpack_float(self.take(8))[0])

    def _bin_int(self) -> None:
        self.stack.append(int.from_bytes(self.take(4), "little", signed=True))

    def _bin_int_1(self) -> None:
        at = self.at
        if at >= self.end:
            self.wrong("it ends within a number")
        self.at = at + 1
        self.stack.append(self.data[at])

    def _bin_int_2(self) -> None:
        self.stack.append(self.number(2))

    def _long_1(self) -> None:
        self.stack.append(int.from_bytes(self.take(self.number(1)), "little", signed=True))

    def _long_4(self) -> None:
        self.stack.append(int.from_bytes(self.take(self.number(4)), "little", signed=True))

    def _unicode(self) -> None:
        self.stack.append(self.text(self.line(), "raw-unicode-escape", "strict"))

    def _string(self, width: int) -> None:
        # Texts of Python 2.
        raw = self.take(self.number(width))
        self.stack.append(raw if self.encoding == "bytes" else self.text(raw, self.encoding, "strict"))

    def _bin_unicode(self, width: int) -> None:
        self.stack.append(self.text(self.take(self.number(width))))

    def _bin_bytes(self, width: int) -> None:
        self.stack.append(self.take(self.number(width)))

    def _bytearray(self) -> None:
        self.stack.append(bytearray(self.take(self.number(8))))

    def _tuple(self) -> None:
        items = self.marked()
        self.stack.append(tuple(items))

    def _tuple_of(self, count: int) -> None:
        stack = self.stack
        if len(stack) < count:
            raise IndexError
        stack[-count:] = [tuple(stack[-count:])]

    def _list(self) -> None:
        items = self.marked()
        self.stack.append(items)

    def _dict(self) -> None:
        items = self.marked()
        made: dict[Any, Any] = {}
        self.set_items(made, items)
        self.stack.append(made)

    def _frozenset(self) -> None:
        items = self.marked()
        self.stack.append(self.hashed(frozenset, items))

    def _append(self) -> None:
        item = self.stack.pop()
        self.extend(self.stack[-1], [item])

    def _appends(self) -> None:
        items = self.marked()
        self.extend(self.stack[-1], items)

    def _set_item(self) -> None:
        value = self.stack.pop()
        key = self.stack.pop()
        self.set_items(self.stack[-1], [key, value])

    def _set_items(self) -> None:
        items = self.marked()
        self.set_items(self.stack[-1], items)

    def _add_items(self) -> None:
        items = self.marked()
        owner = self.stack[-1]
        if type(owner) is set:
            self.hashed(owner.update, items)
        elif self.rules.may_hold(owner):
            users_code(lambda: [owner.add(item) for item in items])
        else:
            self.wrong(f"items can be added to sets, not to {described(owner)}")

    def _get(self) -> None:
        self.recall(self.decimal(self.line()))

    def _put(self) -> None:
        self.remember(self.decimal(self.line()))

    def _bin_get(self) -> None:
        self.recall(self.number(1))

    def _bin_put(self) -> None:
        self.remember(self.number(1))

    def _long_bin_get(self) -> None:
        self.recall(self.number(4))

    def _long_bin_put(self) -> None:
        self.remember(self.number(4))

    def _memoize(self) -> None:
        self.remember(len(self.memo))

    def _global(self) -> None:
        module, name = self.text(self.line(), errors="strict"), self.text(self.line(), errors="strict")
        self.stack.append(self.rules.find(f"{module}.{name}"))

    def _stack_global(self) -> None:
        name = self.stack.pop()
        module = self.stack.pop()
        if type(name) is not str or type(module) is not str:
            self.wrong("the name of a global is no text")
        self.stack.append(self.rules.find(f"{module}.{name}"))

    def _reduce(self) -> None:
        args = self.stack.pop()
        function = self.stack.pop()
        self.stack.append(self.rules.call(function, args, self))

    def _new(self) -> None:
        args = self.stack.pop()
        kind = self.stack.pop()
        self.stack.append(self.rules.new(kind, args, {}))

    def _new_with_names(self) -> None:
        kwargs = self.stack.pop()
        args = self.stack.pop()
        kind = self.stack.pop()
        self.stack.append(self.rules.new(kind, args, kwargs))

    def _build(self) -> None:
        state = self.stack.pop()
        self.rules.build(self.stack[-1], state, self)

    def _persistent(self) -> None:
        self.stack.append(self.rules.persistent(self.stack.pop()))


def _table() -> list[Callable[[Unpickler], None] | None]:
    machine = Unpickler
    handlers: dict[bytes, Callable[[Unpickler], None]] = {
        pickle.PROTO: machine._proto,
        pickle.FRAME: machine._frame,
        pickle.MARK: machine._mark,
        pickle.POP: machine._pop,
        pickle.POP_MARK: machine._pop_mark,
        pickle.NONE: lambda self: self.stack.append(None),
        pickle.NEWTRUE: lambda self: self.stack.append(True),
        pickle.NEWFALSE: lambda self: self.stack.append(False),
        pickle.INT: machine._int,
        pickle.LONG: machine._long,
        pickle.FLOAT: machine._float,
        pickle.BINFLOAT: machine._bin_float,
        pickle.BININT: machine._bin_int,
        pickle.BININT1: machine._bin_int_1,
        pickle.BININT2: machine._bin_int_2,
        pickle.LONG1: machine._long_1,
        pickle.LONG4: machine._long_4,
        pickle.UNICODE: machine._unicode,
        pickle.SHORT_BINSTRING: lambda self: self._string(1),
        pickle.BINSTRING: lambda self: self._string(4),
        pickle.SHORT_BINUNICODE: lambda self: self._bin_unicode(1),
        pickle.BINUNICODE: lambda self: self._bin_unicode(4),
        pickle.BINUNICODE8: lambda self: self._bin_unicode(8),
        pickle.SHORT_BINBYTES: lambda self: self._bin_bytes(1),
        pickle.BINBYTES: lambda self: self._bin_bytes(4),
        pickle.BINBYTES8: lambda self: self._bin_bytes(8),
        pickle.BYTEARRAY8: machine._bytearray,
        pickle.EMPTY_TUPLE: lambda self: self.stack.append(()),
        pickle.TUPLE: machine._tuple,
        pickle.TUPLE1: lambda self: self._tuple_of(1),
        pickle.TUPLE2: lambda self: self._tuple_of(2),
        pickle.TUPLE3: lambda self: self._tuple_of(3),
        pickle.EMPTY_LIST: lambda self: self.stack.append([]),
        pickle.LIST: machine._list,
        pickle.APPEND: machine._append,
        pickle.APPENDS: machine._appends,
        pickle.EMPTY_DICT: lambda self: self.stack.append({}),
        pickle.DICT: machine._dict,
        pickle.SETITEM: machine._set_item,
        pickle.SETITEMS: machine._set_items,
        pickle.EMPTY_SET: lambda self: self.stack.append(set()),
        pickle.ADDITEMS: machine._add_items,
        pickle.FROZENSET: machine._frozenset,
        pickle.GET: machine._get,
        pickle.BINGET: machine._bin_get,
        pickle.LONG_BINGET: machine._long_bin_get,
        pickle.PUT: machine._put,
        pickle.BINPUT: machine._bin_put,
        pickle.LONG_BINPUT: machine._long_bin_put,
        pickle.MEMOIZE: machine._memoize,
        pickle.GLOBAL: machine._global,
        pickle.STACK_GLOBAL: machine._stack_global,
        pickle.REDUCE: machine._reduce,
        pickle.NEWOBJ: machine._new,
        pickle.NEWOBJ_EX: machine._new_with_names,
        pickle.BUILD: machine._build,
        pickle.BINPERSID: machine._persistent,
    }
    # Left out: opcodes that no pickler of Python 3 writes for data (INST, OBJ, DUP, STRING), references by text
    # (PERSID), codes of copyreg's registry (EXT), and out-of-band buffers.
    return [handlers.get(bytes([code])) for code in range(256)]


_STOP: Final = pickle.STOP[0]

#: The operation of each opcode; None for those that are not allowed.
_HANDLERS: Final = _table()
