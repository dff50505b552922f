"""Building blocks of neural networks: modules, their parameters, initialisation and functions."""

import importlib as _importlib
import typing as _typing

from tensorlike._above import absent as _absent

from . import functional, init, modules, utils
from .modules import *  # noqa: F403
from .modules import __all__ as _modules
from .parameter import Buffer, Parameter, UninitializedBuffer, UninitializedParameter

if _typing.TYPE_CHECKING:
    from . import _reduction as _reduction
    from . import common_types as common_types
    from . import grad as grad
    from . import parallel as parallel
    from ._factory import factory_kwargs as factory_kwargs
    from .parallel import DataParallel as DataParallel

#: Submodules and classes that are loaded when they are asked for.
_LAZY = {
    "DataParallel": "parallel", "_reduction": "", "common_types": "", "factory_kwargs": "_factory", "grad": "",
    "parallel": "",
}  # fmt: skip

__all__ = [
    "Buffer",
    "Parameter",
    "UninitializedBuffer",
    "UninitializedParameter",
    "functional",
    "init",
    "modules",
    "utils",
]
__all__ += _modules


def __getattr__(name: str) -> object:
    where = _LAZY.get(name)
    if where is None:
        return _absent(__name__, name)
    module = _importlib.import_module(f"{__name__}.{where or name}")
    return getattr(module, name) if where else module


def __dir__() -> list[str]:
    return sorted({*globals(), *_LAZY})
