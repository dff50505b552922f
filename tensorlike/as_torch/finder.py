"""Finds `torch`, `functorch` and their submodules in this library: see Note [One module, two names]."""

from __future__ import annotations

import importlib
import importlib.machinery
import importlib.util
import sys
from collections.abc import Callable, Iterator, Sequence
from types import FrameType, ModuleType
from typing import Any, Final

from tensorlike import torch_version

from . import naming
from .absent import has_placeholder, module_not_found, note_gap
from .placeholders import placeholder_module

#: The packages that are served, and what they are here.
SERVED: Final = {"torch": "tensorlike", "functorch": "tensorlike.as_torch.functorch"}

#: What `torch` has of its own; everything else is this library's.
_OWN: Final = frozenset(("__name__", "__spec__", "__loader__", "__package__", "__version__", "__class__", "torch"))
#: The methods of loaders that take the name of a module.
_ASKED_BY_NAME: Final = ("get_code", "get_filename", "get_resource_reader", "get_source", "is_package")


class _ByName(ModuleType):
    """A module that pickles, copies and `cloudpickle` take by its name.

    `cloudpickle` does that for modules whose class is ModuleType itself.
    """

    def __reduce__(self) -> tuple[Callable[[str], ModuleType], tuple[str]]:
        return importlib.import_module, (self.__name__,)


class TorchModule(_ByName):
    """The module `torch`: what is set on it or deleted is set on this library, too."""

    def __setattr__(self, name: str, value: object) -> None:
        super().__setattr__(name, value)
        if _is_shared(name):
            vars(_library())[name] = value

    def __delattr__(self, name: str) -> None:
        super().__delattr__(name)
        if _is_shared(name):
            vars(_library()).pop(name, None)


class _Mirrored(_ByName):
    """The class of the module `tensorlike` meanwhile: what is set on it or deleted is on `torch` as well."""

    def __setattr__(self, name: str, value: object) -> None:
        super().__setattr__(name, value)
        if name not in _OWN:
            vars(FINDER.module)[name] = value

    def __delattr__(self, name: str) -> None:
        super().__delattr__(name)
        if name not in _OWN:
            vars(FINDER.module).pop(name, None)


def _is_shared(name: str) -> bool:
    """Return whether what is set on `torch` is set on this library: not once it is uninstalled."""
    return name not in _OWN and isinstance(_library(), _Mirrored)


def _library() -> ModuleType:
    return sys.modules["tensorlike"]


def attach(module: TorchModule) -> None:
    """Have `torch` have what this library has, now and after every change."""
    library = _library()
    own = {name: value for name, value in vars(module).items() if name in _OWN}
    vars(module).clear()
    vars(module).update(vars(library) | own)
    library.__class__ = _Mirrored


def detach() -> None:
    """Have changes of one of the two leave the other alone."""
    _library().__class__ = ModuleType


_made: TorchModule | None = None


def torch_module() -> TorchModule:
    """Return the module `torch`: one for all installations, so that what was imported stays the module there is."""
    global _made
    if _made is None:
        _made = TorchModule("torch")
        vars(_made)["__version__"] = torch_version.__version__
        vars(_made)["torch"] = _made  # PyTorch's module imports itself, and code that says torch.torch runs.
    return _made


def _ours(fullname: str) -> str:
    first, dot, rest = fullname.partition(".")
    return SERVED[first] + dot + rest


class _Loader:
    """Gives `torch.x` the module `tensorlike.x`."""

    def __init__(self, ours: str) -> None:
        self._ours = ours
        self._spec: Any = None

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType:
        """Return the module of this library."""
        module = importlib.import_module(self._ours)
        self._spec = module.__spec__
        return module

    def exec_module(self, module: ModuleType) -> None:
        """Leave the module the spec by which it was found first, which the import system has replaced."""
        if self._spec is not None:
            module.__spec__ = self._spec

    def __getattr__(self, name: str) -> Any:
        # `pkgutil`, `inspect` and `importlib.resources` ask a loader for sources and data; some by the module's name.
        found = getattr(importlib.import_module(self._ours).__loader__, name)
        return (lambda fullname=None: found(self._ours)) if name in _ASKED_BY_NAME else found


class _TorchLoader(_Loader):
    """Gives `torch` itself."""

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType:
        """Return the module `torch`."""
        module = FINDER.module
        attach(module)
        return module

    def exec_module(self, module: ModuleType) -> None:
        """Do nothing: it has what this library has."""


class _MadeLoader:
    """Makes a module that has no counterpart here."""

    def __init__(self, made: ModuleType) -> None:
        self._made = made

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType:
        """Return the module."""
        return self._made

    def exec_module(self, module: ModuleType) -> None:
        """Do nothing: it is complete."""


class _PlaceholderLoader(_MadeLoader):
    """Makes the placeholder of a module that is absent."""


class _Finder:
    """Finds modules of `torch`, modules of this library while installed, and the distribution `torch`."""

    module: TorchModule

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """Return the spec of a module; None where it is not for this finder."""
        first = fullname.partition(".")[0]
        if first == "tensorlike":
            return naming.adapting_spec(fullname, path, target)
        if first not in SERVED:
            return None
        # What called importlib's _find_spec: an import, or `importlib.util.find_spec`, which only wants to know.
        asking = sys._getframe(2)
        is_import = asking.f_code.co_name == "_find_and_load_unlocked"
        is_module = is_import and not _is_name_of_import(asking)
        spec = self._spec(fullname, is_module)
        loader: Any = None if spec is None else spec.loader
        if isinstance(loader, _PlaceholderLoader):
            note_gap(fullname, asking)
        if spec is None and is_import:
            # Other finders would find files of this library and load them again, under another name.
            raise module_not_found(fullname, asking if is_module else None)
        return spec

    def _spec(self, fullname: str, is_module: bool) -> importlib.machinery.ModuleSpec | None:
        ours = _ours(fullname)
        loader: Any
        if fullname == "torch":
            loader = _TorchLoader(ours)
        elif _is_served(fullname, ours):
            loader = _Loader(ours)
        elif (made := naming.home_module(fullname)) is not None:
            loader = _MadeLoader(made)
        elif is_module and (made := _placeholder(fullname)) is not None:
            loader = _PlaceholderLoader(made)
        else:
            return None
        if isinstance(loader, _MadeLoader):
            return importlib.machinery.ModuleSpec(fullname, loader, is_package=True)  # type: ignore[arg-type]
        found = _library().__spec__ if fullname == "torch" else importlib.util.find_spec(ours)
        assert found is not None
        spec = importlib.machinery.ModuleSpec(fullname, loader, origin=found.origin)
        spec.submodule_search_locations = found.submodule_search_locations
        spec.has_location = found.has_location
        return spec

    def find_distributions(self, context: Any) -> Iterator[Any]:
        """Yield the distribution `torch` (a hook of `importlib.metadata`)."""
        if context.name is None or context.name.lower().replace("-", "_") == "torch":
            from .distribution import TorchDistribution  # noqa: PLC0415 - importlib.metadata

            yield TorchDistribution()

    def invalidate_caches(self) -> None:
        """Do nothing: nothing is cached (a hook of `importlib`)."""


def _is_name_of_import(frame: FrameType | None) -> bool:
    """Return whether `frame` serves `from torch import name`, which tries a module where there is no attribute."""
    for _ in range(3):
        frame = frame.f_back if frame is not None else None
    return frame is not None and frame.f_code.co_name == "_handle_fromlist"


def _placeholder(fullname: str) -> ModuleType | None:
    if not has_placeholder(fullname):
        return None
    return placeholder_module(fullname)


def _is_served(fullname: str, ours: str) -> bool:
    """Return whether this library has a module of that name."""
    parent, _, name = ours.rpartition(".")
    owner = sys.modules.get(parent)
    if owner is not None and not isinstance(vars(owner).get(name), ModuleType | None):
        # Such as `torch.tensor`: see Note [A package that is a function].
        return False
    if ours in sys.modules:
        return True
    try:
        return importlib.util.find_spec(ours) is not None
    except ModuleNotFoundError:
        return False


FINDER: Final = _Finder()


def come_first() -> None:
    """While installed, ask this finder before those that came later, which load our modules without adapting them."""
    if FINDER in sys.meta_path:
        sys.meta_path.remove(FINDER)
        sys.meta_path.insert(0, FINDER)
