"""The library's names as it defines them, for its own modules: see Note [Names that users replace].

# Note [Names that users replace]
Users set attributes of modules: a package for PyTorch sets `torch.select` to a function of its own, which calls the
former one. The library must not find that when it calls a function, nor when it registers something for it in a module
that is loaded later: `@implements(tl.select)` would be for a function that it does not know. So the library's modules
write `from tensorlike._originals import tl` in place of `import tensorlike as tl`, which type checkers take for the
same. Functions come from the registry; types, dtypes and the like are what they were when the package was loaded.
`functional` is `nn.functional` in the same sense. The layers of `nn` alone call what they find there, since programs
replace `torch.nn.functional.linear` in order to see or change the calls of layers: docs/decisions/0031.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from functools import cache
from types import ModuleType
from typing import TYPE_CHECKING, Any

from tensorlike.dispatch.registry import IGNORED, REGISTRY

__all__ = ["functional", "keep", "tl"]


@cache
def _namespace(name: str) -> ModuleType:
    """Return a module that answers for the module `name` of this library."""
    made = ModuleType(name)

    def __getattr__(attribute: str) -> Any:
        module = importlib.import_module(name)  # Its functions are registered then.
        found = _function(f"{name}.{attribute}")
        if found is None:
            found = _attribute(module, attribute)
            if not isinstance(found, ModuleType) or found.__name__ != f"{name}.{attribute}":
                return found  # It may change, as settings do.
            found = _namespace(found.__name__)
        return vars(made).setdefault(attribute, found)

    vars(made)["__getattr__"] = __getattr__
    return made


def _function(full: str) -> Any:
    """Return the public function of a dotted name, None where there is none."""
    row = REGISTRY.get(full)
    if row is not None and row.kind in ("function", "alias"):
        return row.function
    return IGNORED[full][0] if full in IGNORED else None


def _attribute(module: ModuleType, name: str) -> Any:
    home = vars(module).get("_LAZY_FUNCTIONS", {}).get(name)
    if home is not None:  # The package may have another one by now.
        module = importlib.import_module(f"{module.__name__}.{home}")
    return getattr(module, name)


if TYPE_CHECKING:
    import tensorlike as tl
    import tensorlike.nn.functional as functional
else:
    tl = _namespace("tensorlike")
    functional = _namespace("tensorlike.nn.functional")


def keep(names: Mapping[str, Any]) -> None:
    """Keep what the package has when it is loaded. Modules are answered for by namespaces of their own."""
    vars(tl).update(
        {name: value for name, value in names.items() if name[:1] != "_" and not isinstance(value, ModuleType)}
    )
