"""Blocks of registrations, `TORCH_LIBRARY` of C++ and `Library` of Python: what they define, and kernels that wait."""

from __future__ import annotations

from dataclasses import replace

from .operators import NAMESPACES, Kernel, OpOverload, define, forget, implement, lookup
from .schema import parse_schema, split_name

_MACROS = {"DEF": "TORCH_LIBRARY", "FRAGMENT": "TORCH_LIBRARY_FRAGMENT", "IMPL": "TORCH_LIBRARY_IMPL"}

#: Kernels of operators that no block has defined yet, by the operators' names: blocks register in any order.
_waiting: dict[str, list[tuple[str, Kernel]]] = {}


class Block:
    """The registrations of one block for a namespace: "DEF" for the one that defines it, "FRAGMENT", or "IMPL"."""

    def __init__(self, kind: str, namespace: str, where: str) -> None:
        if kind == "DEF":
            _claim(namespace, where)
        self.kind = kind
        self.namespace = namespace
        self.where = where
        self._claims = kind == "DEF"
        self._defined: list[OpOverload] = []
        self._implemented: list[tuple[str, str, Kernel]] = []

    def _processing(self) -> str:
        return f"  (Error occurred while processing {_MACROS[self.kind]} block at {self.where})"

    def _qualified(self, name: str, called: str, written: str) -> str:
        """Return a name with the namespace of the block. Raises RuntimeError for a name of another namespace."""
        namespace, separator, rest = name.rpartition("::")
        if separator and namespace != self.namespace:
            unique = "(unique) TORCH_LIBRARY" if written == "schema string" else _MACROS[self.kind]
            raise RuntimeError(
                f"{called}Explicitly provided namespace ({namespace}) in {written} does not match namespace of "
                f"enclosing {_MACROS[self.kind]} block ({self.namespace}).  Move this definition to the {unique} block "
                "corresponding to this namespace (and consider deleting the namespace from your schema string.)"
                + self._processing()
            )
        return f"{self.namespace}::{rest}"

    def define(self, text: str) -> OpOverload:
        """Define an operator by its schema, and give it the kernels that wait for it."""
        if self.kind == "IMPL":
            raise RuntimeError(
                f'def("{text.partition("(")[0]}"): Cannot define an operator inside of a TORCH_LIBRARY_IMPL block.  '
                "All def()s should be placed in the (unique) TORCH_LIBRARY block for their namespace."
                + self._processing()
            )
        schema = parse_schema(text)
        overload = define(replace(schema, name=self._qualified(schema.name, "", "schema string")), self.where)
        self._defined.append(overload)
        for key, kernel in _waiting.pop(overload.name(), ()):
            implement(overload, key, kernel)
        return overload

    def implement(self, name: str, key: str, kernel: Kernel) -> str:
        """Give an operator a kernel, now or when it is defined; return its name with the namespace."""
        qualified = self._qualified(name, f'impl("{name}", ...): ', "operator name")
        overload = lookup(*split_name(qualified))
        if overload is None:
            _waiting.setdefault(qualified.removesuffix(".default"), []).append((key, kernel))
        else:
            implement(overload, key, kernel)
        self._implemented.append((qualified, key, kernel))
        return qualified

    def end(self) -> None:
        """Take back the kernels, the operators and the claim on the namespace."""
        for name, key, kernel in self._implemented:
            _withdraw(name, key, kernel)
        for overload in self._defined:
            forget(overload)
        if self._claims:
            NAMESPACES.pop(self.namespace, None)
        self._implemented.clear()
        self._defined.clear()
        self._claims = False


def _withdraw(qualified: str, key: str, kernel: Kernel) -> None:
    """Unregister a kernel, pending or active."""
    name = qualified.removesuffix(".default")
    waiting = _waiting.get(name, [])
    if (key, kernel) in waiting:
        waiting.remove((key, kernel))
        if not waiting:
            del _waiting[name]
    overload = lookup(*split_name(qualified))
    if overload is not None and overload.kernels.get(key) is kernel:
        del overload.kernels[key]


def _claim(namespace: str, where: str) -> None:
    """Note the block that defines a namespace. Raises RuntimeError where another one does."""
    before = NAMESPACES.get(namespace)
    if before is not None:
        raise RuntimeError(
            f"Only a single TORCH_LIBRARY can be used to register the namespace {namespace}; please put all of your "
            "definitions in a single TORCH_LIBRARY block.  If you were trying to specify implementations, consider "
            "using TORCH_LIBRARY_IMPL (which can be duplicated).  If you really intended to define operators for a "
            "single namespace in a distributed way, you can use TORCH_LIBRARY_FRAGMENT to explicitly indicate this.  "
            f"Previous registration of TORCH_LIBRARY was registered at {before}; latest registration was registered at "
            f"{where}"
        )
    NAMESPACES[namespace] = where
