"""Serve this library under the name `torch`, to code that was written for PyTorch.

`install_as_torch()` here, `python -m tensorlike run SCRIPT` on a command line, and `pytest -p tensorlike.as_torch`,
whose plugin this package is: see docs/pytorch-code.md. Its modules are loaded when they are asked for.
PYTEST_DONT_REWRITE: it may be imported before pytest is.

# Note [One module, two names]
`import torch.nn` gives the module `tensorlike.nn` itself: the finder at the front of `sys.meta_path` answers with a
loader that returns the module of this library and leaves its `__name__` and `__spec__` as they are. `torch` alone is
a module of its own, since `torch.__version__`, `__name__` and `__spec__` differ. Its dictionary is a copy of this
library's, so that reading `torch.add` costs no more than reading `tensorlike.add`; what is set or deleted on one of
them is on the other.

# Note [Names in texts]
While installed, `__module__` of the classes and functions of this library says where PyTorch has them, so that
pickles, reprs and error messages name what PyTorch's do. It is set when this library is installed, and for modules that
are imported later as they are imported, and set back when it is uninstalled. Everything else that speaks of this
library by name takes the name from `tensorlike._library_name`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .installation import Installation

__all__ = ["install_as_torch", "uninstall_as_torch"]


def install_as_torch(missing: str = "raise", *, children: bool = True) -> Installation:
    """Make `import torch`, in all of this process, give this library; return what undoes it at the end of a `with`.

    - `missing`: what a public name of PyTorch that is absent here does. "raise", the default: AttributeError or
      ImportError, with the reason. "placeholder": an import of it, and a mention of it in source code, give a
      placeholder, which raises the reason when it is called or instantiated.
    - `children`: whether Python processes that this one starts have it installed, too.

    Installing again changes these options alone. Raises RuntimeError where PyTorch itself is imported already.

    Example:
        >>> with tl.install_as_torch():  # doctest: +SKIP
        ...     import torch
        ...     print(torch.ones(2).dtype, torch.nn is tl.nn)
        torch.float32 True

    Only in tensorlike.
    """
    from .installation import install  # noqa: PLC0415 - absent names load this package, too

    return install(missing, children)


def uninstall_as_torch() -> None:
    """Undo `install_as_torch`: `import torch` finds PyTorch again, or fails. Does nothing where it is not installed.

    Modules that imported `torch` meanwhile keep what they have.

    Only in tensorlike.
    """
    from .installation import uninstall  # noqa: PLC0415 - absent names load this package, too

    uninstall()


def pytest_addoption(parser: Any, pluginmanager: Any) -> None:
    """Install when pytest loads the plugin, before it imports anything else (pytest's hook)."""
    from .pytest_hooks import Hooks  # noqa: PLC0415 - absent names load this package, too

    Hooks.register(pluginmanager)
