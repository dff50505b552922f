"""Tensors: what they hold, how they are made, shown and converted, and how an operation is declared and called.

# Note [A package that is a function]
The attribute `tensor` of `tensorlike` is the function `tl.tensor(data)`, as in PyTorch, and hides this package as an
attribute, though the import system finds it. Attributes are looked up on the function: in `import
tensorlike.tensor.size as s`, which reads one name after the other, and in `tl.tensor.size`. So the function gets the
public names, the modules and the packages of this package as attributes, also those imported later. It stays a plain
function otherwise.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

from tensorlike.autograd.tensor_base import PROVIDED as _PROVIDED

from . import history
from .declarations import declare, runtime
from .memory import views
from .tensor import Tensor

history.install(declare.tensor_method)
_PROVIDED.add_arrays, _PROVIDED.copy_array = runtime.add_arrays, runtime.copied
_PROVIDED.array_guard, _PROVIDED.views = runtime.device_guard, views
_PROVIDED.root_edge, _PROVIDED.grad_of_root = history.root_edge, history.grad_of_root

from . import absent_kinds, attributes, queries, sparse_methods  # noqa: E402, F401
from .conversion import casting, protocols  # noqa: E402, F401
from .creation import dlpack, filled, inclusive_range, sampling, strided  # noqa: E402, F401
from .creation.from_data import tensor as _tensor  # noqa: E402
from .parameter import Parameter  # noqa: E402

__all__ = ["Parameter", "Tensor"]


class _Package(ModuleType):
    """The class of this module, which sets its attributes on the function too: see Note [A package that is a function].
    """

    def __setattr__(self, name: str, value: Any) -> None:
        super().__setattr__(name, value)
        if isinstance(value, ModuleType):
            vars(_tensor).setdefault(name, value)


for _name, _value in tuple(globals().items()):
    if _name in __all__ or (isinstance(_value, ModuleType) and _value.__name__ == f"{__name__}.{_name}"):
        vars(_tensor).setdefault(_name, _value)
del _name, _value
sys.modules[__name__].__class__ = _Package
