"""Functions that modules call and that are imported after them: given to these modules here, when all are loaded.

# Note [Calls import nothing]
A call imports nothing that is loaded with the package anyway. While the interpreter ends, import statements fail, also
those of modules that are loaded, and objects may still compute in `__del__`. So a module imports what is imported after
it for type checkers alone, under `TYPE_CHECKING`, and gets it here. tests/reliability/test_calls_at_the_end.py
calls functions for the first time then, and looks for import statements inside of functions.
"""

from __future__ import annotations

from typing import Any

from tensorlike.autograd import engine, grad_mode, inference, node
from tensorlike.operations.indexing import gather, getitem, written_values
from tensorlike.operations.memory import inplace
from tensorlike.operations.shape import expanding, joining
from tensorlike.tensor import backends, device, parameter, tensor
from tensorlike.tensor.conversion import protocols
from tensorlike.tensor.creation import device_context, filled, legacy
from tensorlike.tensor.declarations import forms, recording
from tensorlike.tensor.memory import views

from . import formula_programs


def _give(module: Any, **functions: Any) -> None:
    vars(module).update(functions)


_give(node, gradients_of=engine.gradients_of)
_give(grad_mode, InferenceMarker=inference.InferenceMarker)
_give(
    device, DeviceContext=device_context.DeviceContext, innermost_context=device_context.innermost_context,
    cuda_is_available=backends.cuda_is_available,
)  # fmt: skip
_give(
    filled, converted_number=written_values.converted_number, stack=joining.stack,
    new_tensor_like=legacy.new_tensor_like,
)  # fmt: skip
_give(tensor, legacy_tensor=legacy.legacy_tensor)
_give(forms, from_numpy=filled.from_numpy)
_give(parameter, retyped_leaf=protocols.retyped_leaf)
_give(recording, program_of=formula_programs.program_of)
_give(
    views, read_strided=inplace.read_strided, scatter_strided=inplace.scatter_strided,
    write_strided=inplace.write_strided,
)  # fmt: skip
_give(expanding, index_select=gather.index_select, stack=joining.stack, elements=getitem.elements)
