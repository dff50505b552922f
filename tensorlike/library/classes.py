"""Classes of C++: `tensorlike.classes.<namespace>.<name>`, registered by `torch::class_`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from types import ModuleType
from typing import TYPE_CHECKING, Any

from .arguments import bound
from .operators import ops, raise_kept_error
from .schema import parse_schema

if TYPE_CHECKING:
    import os


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
        raise RuntimeError(
            f"Tried to instantiate class '{namespace}.{name}', but it does not exist! Ensure that it is registered via "
            "torch::class_"
        )


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

    def load_library(self, path: str | os.PathLike[str]) -> None:
        """Load a library of C++ that registers classes."""
        ops.load_library(path)


classes = Classes("tensorlike.classes")


#: The classes by the names that extensions know them by: several may use what one has registered.
_by_cpp_name: dict[str, type] = {}


def find_class(cpp_name: str) -> type | None:
    """Return the class that an extension has registered for a class of C++."""
    return _by_cpp_name.get(cpp_name)


def make_class(namespace: str, name: str, doc: str, cpp_name: str) -> None:
    """Make a class for `torch::class_`, and list it. Raises RuntimeError for a name that is taken."""
    space = getattr(classes, namespace)
    if name in space.__dict__:
        raise RuntimeError(f"Class {namespace}.{name} is registered already")
    members = {
        "__slots__": (),
        "__doc__": doc or f"The class {name} of C++.",
        "__module__": space.__name__,
        "_schema_name": f"__torch__.torch.classes.{namespace}.{name}",
    }
    _by_cpp_name[cpp_name] = made = type(name, (CppObject,), members)
    setattr(space, name, made)


def wrap_object(kind: Any, capsule: object) -> Any:
    """Return the object of Python for one of C++."""
    made = kind.__new__(kind)
    made._object = capsule
    return made


def add_member(
    kind: Any, name: str, role: str, function: Callable[..., Any], signature: str, names: Sequence[str],
    defaults: Sequence[Any],
) -> None:  # fmt: skip
    """Add a member to a class: a constructor ("init"), a "method", a "static" one, a "getter" or a "setter"."""
    schema = parse_schema(name + signature)
    arguments = list(schema.arguments)
    # Names are given for all arguments but the object itself, defaults for the last of them.
    skipped = len(arguments) - len(names)
    for index, text in enumerate(names, skipped):
        arguments[index] = replace(arguments[index], name=text)
    for index, value in enumerate(defaults, len(arguments) - len(defaults)):
        arguments[index] = replace(arguments[index], default=value)
    schema = replace(schema, arguments=tuple(arguments))

    def called(*args: Any, **kwargs: Any) -> Any:
        return function(*bound(schema, args, kwargs))

    if role == "init" and name == "__init__":

        def __init__(self: Any, *args: Any, **kwargs: Any) -> None:
            self._object = called(*args, **kwargs)._object

        kind.__init__ = __init__
    elif role == "init":
        kind._restore = staticmethod(function)
    elif role == "method":

        def method(self: Any, *args: Any, **kwargs: Any) -> Any:
            return called(self, *args, **kwargs)

        method.__name__, method.__qualname__ = name, f"{kind.__name__}.{name}"
        setattr(kind, name, method)
    elif role == "static":
        setattr(kind, name, staticmethod(called))
    elif role == "getter":
        setattr(kind, name, property(lambda self: called(self)))
    else:
        getter = kind.__dict__[name].fget
        setattr(kind, name, property(getter, lambda self, value: called(self, value)))
