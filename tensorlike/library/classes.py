"""Classes of C++: `tensorlike.classes.<namespace>.<name>`, registered by `torch::class_`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any

from .operators import ops, raise_kept_error

__all__ = ["CppObject", "add_member", "classes", "make_class", "wrap_object"]


class CppObject:
    """The base class of objects of C++: a capsule holds each."""

    __slots__ = ("__weakref__", "_object")
    _object: Any
    _schema_name = ""

    def __reduce__(self) -> tuple[Any, ...]:
        state = getattr(self, "__getstate__", None)
        if "__getstate__" not in type(self).__dict__ or state is None:
            raise RuntimeError(
                f"Tried to serialize object {self._schema_name} which does not have a __getstate__ method defined!"
            )
        return _restored, (self._schema_name, state())


def _restored(schema_name: str, state: Any) -> Any:
    namespace, _, name = schema_name.removeprefix("__torch__.torch.classes.").rpartition(".")
    kind = getattr(getattr(classes, namespace), name)
    made = kind.__new__(kind)
    made._object = kind._restore(state)._object
    return made


class ClassNamespace(ModuleType):
    """The classes of one namespace."""

    def __getattr__(self, name: str) -> Any:
        raise_kept_error()
        namespace = self.__name__.rpartition(".")[2]
        raise RuntimeError(f"Class {namespace}.{name} not registered!")


class Classes(ModuleType):
    """The classes of all namespaces: `torch.classes`."""

    def __getattr__(self, name: str) -> ClassNamespace:
        if name.startswith("__"):
            raise AttributeError(name)
        namespace = ClassNamespace(f"{self.__name__}.{name}")
        setattr(self, name, namespace)
        return namespace

    @property
    def loaded_libraries(self) -> set[str]:
        """The paths of the libraries that were loaded."""
        return ops.loaded_libraries

    def load_library(self, path: Any) -> None:
        """Load a library of C++ that registers classes."""
        ops.load_library(path)


classes = Classes("tensorlike.classes")


def make_class(namespace: str, name: str, doc: str) -> type:
    """Return a new class for `torch::class_`, and list it. Raises RuntimeError for a name that is taken."""
    space = getattr(classes, namespace)
    if name in space.__dict__:
        raise RuntimeError(f"Class {namespace}.{name} is registered already")
    members = {
        "__slots__": (),
        "__doc__": doc or f"The class {name} of C++.",
        "__module__": space.__name__,
        "_schema_name": f"__torch__.torch.classes.{namespace}.{name}",
    }
    made = type(name, (CppObject,), members)
    setattr(space, name, made)
    return made


def wrap_object(kind: Any, capsule: Any) -> Any:
    """Return the object of Python for one of C++."""
    made = kind.__new__(kind)
    made._object = capsule
    return made


def add_member(
    kind: Any, name: str, role: str, function: Callable[..., Any], names: Sequence[str], defaults: Sequence[Any]
) -> None:
    """Add a member to a class: a constructor ("init"), a "method", a "static" one, a "getter" or a "setter"."""

    def filled(args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...]:
        if not names:
            return args
        by_name = dict(zip(names[len(names) - len(defaults) :], defaults, strict=True))
        missing = [n for n in names[len(args) :] if n not in kwargs and n not in by_name]
        if missing:
            raise TypeError(f"{kind.__name__}.{name}() is missing the argument {missing[0]!r}")
        return args + tuple(kwargs[n] if n in kwargs else by_name[n] for n in names[len(args) :])

    if role == "init" and name == "__init__":

        def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
            self._object = function(*filled(args, kwargs))._object

        kind.__init__ = __init__
    elif role == "init":
        kind._restore = staticmethod(function)
    elif role == "method":

        def method(self: Any, *args: Any, **kwargs: Any) -> Any:
            return function(self, *filled(args, kwargs))

        method.__name__, method.__qualname__ = name, f"{kind.__name__}.{name}"
        setattr(kind, name, method)
    elif role == "static":
        setattr(kind, name, staticmethod(function))
    elif role == "getter":
        setattr(kind, name, property(lambda self: function(self)))
    else:
        getter = kind.__dict__[name].fget
        setattr(kind, name, property(getter, lambda self, value: function(self, value)))
