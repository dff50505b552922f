"""Installing this library as `torch`, and undoing it."""

from __future__ import annotations

import importlib
import sys
import threading
from types import TracebackType
from typing import Any, Final

from tensorlike._library_name import LIBRARY

from . import children, naming
from .absent import MODES, STATE
from .finder import FINDER, SERVED, TorchModule, detach, torch_module
from .placeholders import remove_modules

_LOCK: Final = threading.RLock()
#: Entries of `sys.modules` that were there before: None, with which a test keeps a module from being imported.
_before: dict[str, None] = {}


class Installation:
    """The result of `install_as_torch`: as a context manager it puts back, at the end, what there was before.

    That is nothing where this call installed, and the options of before where it was installed already.
    """

    def __init__(self, installed: bool, missing: str, handed_on: bool) -> None:
        self._installed = installed
        self._missing = missing
        self._handed_on = handed_on

    def __enter__(self) -> Installation:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if self._installed:
            _set_options(self._missing, self._handed_on)
        else:
            uninstall()


def is_installed() -> bool:
    """Return whether `import torch` gives this library."""
    return FINDER in sys.meta_path


def _set_options(missing: str, handed_on: bool) -> None:
    with _LOCK:
        if is_installed():
            STATE.missing = missing
            (children.hand_on if handed_on else children.keep)(missing)


def install(missing: str = "raise", hand_on: bool = True) -> Installation:
    """Install: see `install_as_torch`."""
    if missing not in MODES:
        raise ValueError(f"install_as_torch(): missing must be 'raise' or 'placeholder', not {missing!r}")
    with _LOCK:
        before = Installation(is_installed(), STATE.missing, children.is_handed_on())
        if not is_installed():
            _install()
        _set_options(missing, hand_on)
    return before


def _install() -> None:
    _refuse_pytorch()
    # None stands where an import is to fail; the type of sys.modules does not say so.
    modules: dict[str, Any] = dict(sys.modules)
    blocked = [name for name, module in modules.items() if module is None and name.partition(".")[0] in SERVED]
    for name in blocked:
        del sys.modules[name]
    FINDER.module = torch_module()
    sys.meta_path.insert(0, FINDER)
    try:
        # Another thread may be importing PyTorch: this waits for it, since an import of a name locks that name.
        importlib.import_module("torch")
        _refuse_pytorch()
        LIBRARY.name = "torch"
        naming.adapt_all()
    except BaseException:
        sys.meta_path.remove(FINDER)
        detach()
        LIBRARY.name = "tensorlike"
        naming.restore_all()
        _forget_modules()
        sys.modules.update(dict.fromkeys(blocked))  # type: ignore[arg-type]
        raise
    _before.update(dict.fromkeys(blocked))


def _refuse_pytorch() -> None:
    found = sys.modules.get("torch")
    if found is not None and not isinstance(found, TorchModule):
        where = f" ({found.__file__})" if getattr(found, "__file__", None) else ""
        raise RuntimeError(
            f"install_as_torch(): PyTorch{where} is imported already, and a process has one torch: call it before "
            "anything imports torch, or in another process, as `python -m tensorlike run SCRIPT` does"
        )


def _forget_modules() -> None:
    if isinstance(sys.modules.get("torch"), TorchModule):
        for name in [name for name in sys.modules if name.partition(".")[0] in SERVED]:
            del sys.modules[name]


def uninstall() -> None:
    """Uninstall: see `uninstall_as_torch`."""
    with _LOCK:
        if not is_installed():
            return
        children.keep()
        sys.meta_path.remove(FINDER)
        detach()
        if "tensorlike.as_torch.placeholders" in sys.modules:
            remove_modules()
        LIBRARY.name = "tensorlike"
        naming.restore_all()
        _forget_modules()
        sys.modules.update(_before)  # type: ignore[arg-type]
        _before.clear()
        STATE.missing = "raise"
