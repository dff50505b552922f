"""The text of `__module__` while installed: see Note [Names in texts]."""

from __future__ import annotations

import importlib
import importlib.machinery
import sys
from collections.abc import Sequence
from types import ModuleType
from typing import Any, Final

from tensorlike._above import explain_absent_names
from tensorlike._library_name import LIBRARY
from tensorlike._native import function_types
from tensorlike.tensor.declarations.inplace_functions import inplace_functions

#: Where PyTorch has what this library has elsewhere: PyTorch's modules, with the modules here, or names in them.
#: A star marks those that there are no modules for here.
_PLACES: Final = """
    torch: autograd.tensor_base tensor.creation.device_context tensor.declarations.threads tensor.device tensor.dtypes
        tensor.generator tensor.layouts tensor.size tensor.tensor
    torch.autograd: autograd.backward_and_grad
    torch.autograd.anomaly_mode*: autograd.anomaly
    torch.autograd.forward_ad: transforms.forward_mode
    torch.autograd.function: autograd.function_node
    torch.autograd.functional: transforms.autograd_functional
    torch.autograd.gradcheck: autograd.gradcheck.public
    torch.autograd.graph: autograd.multi_hooks autograd.mutation autograd.node autograd.saved
    torch.distributions.transforms: distributions.composed_transforms
    torch.func: transforms.differentiating transforms.mapping transforms.modules
    torch.library: library.infer_schema library.registration
    torch.nn.modules.activation: nn.modules.attention nn.modules.rectifier
    torch.nn.modules.channelshuffle*: nn.modules.rearranging:ChannelShuffle
    torch.nn.modules.conv: nn.modules.conv_transpose
    torch.nn.modules.fold*: nn.modules.rearranging:Fold nn.modules.rearranging:Unfold
    torch.nn.modules.linear_cross_entropy_options*: nn.modules.linear_cross_entropy:LinearCrossEntropyOptions
    torch.nn.modules.loss: nn.modules.linear_cross_entropy nn.modules.ranking_loss
    torch.nn.modules.pixelshuffle*: nn.modules.rearranging:PixelShuffle nn.modules.rearranging:PixelUnshuffle
    torch.nn.modules.pooling: nn.modules.special_pooling
    torch.nn.parameter: tensor.parameter
    torch.nn.utils.clip_grad*: nn.utils:clip_grad_norm_ nn.utils:clip_grad_value_
    torch.nn.utils.convert_parameters*: nn.utils:parameters_to_vector nn.utils:vector_to_parameters
    torch.overrides: dispatch.api dispatch.modes overrides.introspection
    torch.random: tensor.generator:fork_rng tensor.generator:get_rng_state tensor.generator:initial_seed
        tensor.generator:manual_seed tensor.generator:seed tensor.generator:set_rng_state
    torch.serialization: serialization.loading serialization.saving
    torch.signal.windows.windows*: signal.windows
    torch.storage: tensor.storage
    torch.utils.dlpack: tensor.creation.dlpack
    torch.utils.hooks: autograd.hooks
"""


def _homes() -> tuple[dict[str, str], dict[str, list[str]], set[str]]:
    """Return PyTorch's module of each place here, the reverse, and which of them are made."""
    homes: dict[str, str] = {}
    places: dict[str, list[str]] = {}
    made = set()
    home = ""
    for word in _PLACES.split():
        if word.endswith(":"):
            home = word.rstrip("*:")
            if word.endswith("*:"):
                made.add(home)
        else:
            homes[word] = home
            places.setdefault(home, []).append(word)
    return homes, places, made


_HOMES, _PLACES_OF, _MADE = _homes()
#: Parts of this library that have no counterpart in PyTorch; what they define keeps its name.
_INTERNAL: Final = frozenset(("as_torch", "audit", "dispatch", "operations", "tensor", "tests", "transforms"))
_renamed: list[tuple[Any, str]] = []
#: What is to be renamed when PyTorch's module, the key, is imported.
_waiting: dict[str, list[Any]] = {}


def home_of(module: str, name: str = "") -> str | None:
    """Return the name of PyTorch's module for what the module `tensorlike.x` defines; None where it has none."""
    first, _, rest = module.partition(".")
    if first != "tensorlike":
        return None
    found = _HOMES.get(f"{rest}:{name}") or _HOMES.get(rest)
    if found is None and rest.partition(".")[0] not in _INTERNAL:
        found = f"torch.{rest}" if rest else "torch"
    return found


def _adapt(module: ModuleType) -> None:
    """Have a module of this library name its content as PyTorch does, and say why what it lacks is absent.

    What `__module__` names must be in `sys.modules`, where `inspect` and `typing` look for it. So what another module
    of this library has for PyTorch's, which is not imported yet, waits for that.
    """
    home = home_of(module.__name__)
    if home is not None and "__getattr__" not in vars(module):
        explain_absent_names(module.__name__)
    if home == f"torch{module.__name__.removeprefix('tensorlike')}":
        sys.modules.setdefault(home, module)
        for value in _waiting.pop(home, ()):
            _rename(value, home)
    for name, value in list(vars(module).items()):
        if isinstance(value, (type, *function_types)):
            old = value.__module__
            new = home_of(old, name) if isinstance(old, str) else None
            if new is None:
                continue
            if home_module(new) if new in _MADE else new in sys.modules:
                _rename(value, new)
            else:
                _waiting.setdefault(new, []).append(value)


def _rename(value: Any, new: str) -> None:
    """Have what a module defines, and the methods of a class, say that they are from PyTorch's module."""
    members = vars(value).values() if type(value) is type else ()
    own = [member for member in members if isinstance(member, function_types)]
    for each in (value, *own):
        old = each.__module__
        if isinstance(old, str) and old.partition(".")[0] == "tensorlike":
            try:
                _set_module(each, new)
            except (AttributeError, TypeError):
                continue
            _renamed.append((each, old))


def _set_module(value: Any, name: str) -> None:
    """Set `__module__`. Python 3.13 then forgets the line of a class, which `inspect.getsource` asks for."""
    line = vars(value).get("__firstlineno__") if isinstance(value, type) else None
    value.__module__ = name
    if line is not None:
        value.__firstlineno__ = line


def adapt_all() -> None:
    """Adapt the modules that are imported."""
    # What every pickle may name.
    for name in ("_tensor", "_utils", "return_types", "storage"):
        importlib.import_module(f"tensorlike.{name}")
    for module in [module for name, module in sys.modules.items() if name.partition(".")[0] == "tensorlike"]:
        if module is not None:
            _adapt(module)
    for form in inplace_functions():  # They are in no module before they are asked for.
        _rename(form.function, "torch")


def restore_all() -> None:
    """Undo every renaming."""
    _waiting.clear()
    while _renamed:
        value, old = _renamed.pop()
        _set_module(value, old)


class _AdaptingLoader:
    """A loader that adapts a module once it is loaded."""

    def __init__(self, loader: Any) -> None:
        self._loader = loader

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType | None:
        """Return the module, or None for the usual one."""
        made: ModuleType | None = self._loader.create_module(spec)
        return made

    def exec_module(self, module: ModuleType) -> None:
        """Run the code of the module."""
        self._loader.exec_module(module)
        if LIBRARY.name != "tensorlike":
            _adapt(module)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._loader, name)


def adapting_spec(
    fullname: str, path: Sequence[str] | None, target: ModuleType | None
) -> importlib.machinery.ModuleSpec | None:
    """Return the spec of a module of this library, with a loader that adapts it."""
    spec = importlib.machinery.PathFinder.find_spec(fullname, path, target)
    if spec is not None and spec.loader is not None:
        spec.loader = _AdaptingLoader(spec.loader)  # type: ignore[assignment]
    return spec


def found_at_home(fullname: str, name: str) -> tuple[Any] | None:
    """Return, in a tuple, what PyTorch has in a module and this library in one of another name; None without it."""
    for place in _PLACES_OF.get(fullname, ()) if fullname != "torch" else ():
        module, _, only = place.partition(":")
        if not only or only == name:
            space = vars(importlib.import_module(f"tensorlike.{module}"))
            if name in space:
                return (space[name],)
    return None


def home_module(fullname: str) -> ModuleType | None:
    """Return a module for the name of one that PyTorch has and whose content is in modules of other names here."""
    if fullname in sys.modules or fullname not in _MADE:
        return sys.modules.get(fullname)
    made = ModuleType(fullname)
    first = importlib.import_module(f"tensorlike.{_PLACES_OF[fullname][0].partition(':')[0]}")
    vars(made)["__file__"] = first.__file__

    def __getattr__(name: str) -> Any:
        found = None if name[:2] == "__" else found_at_home(fullname, name)
        if found is None:
            raise AttributeError(f"module {fullname!r} has no attribute {name!r}", name=name, obj=made)
        return found[0]

    vars(made)["__getattr__"] = __getattr__
    return sys.modules.setdefault(fullname, made)
