"""What a tensor is, and the operations on it. Import from here with `from tensorlike.tensor import ...`."""

from __future__ import annotations

from tensorlike.autograd import base as _base
from tensorlike.autograd import function as _function
from tensorlike.autograd import functions as _functions

from . import declare, history, runtime, views
from .tensor import Tensor

history.install(declare.tensor_method)
_function.register_memory_rules(views)
_functions.register_roots(history.root_edge, history.grad_of_root)
_base.register_arithmetic(runtime.add_arrays, runtime.copied, runtime.device_guard)

from . import attributes, creation, conversion, dlpack, ops, protocols, queries, random, strided_creation  # noqa: E402, I001
from . import absent_kinds  # noqa: E402, F401
from .parameter import Parameter  # noqa: E402

__all__ = [
    "Parameter",
    "Tensor",
    "attributes",
    "conversion",
    "creation",
    "dlpack",
    "ops",
    "protocols",
    "queries",
    "random",
    "strided_creation",
]
