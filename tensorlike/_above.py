"""The modules that packages below use of packages above, each with its reason: the one table of imports that point up.

# Note [Imports that point up]
Packages import from those below them: `[tool.importlinter]` in pyproject.toml names every one, and CI checks it. Where
a public name of a lower package is computed above (`Tensor.to_sparse` with the sparse tensors), the lower one asks for
the module here, when it is called. Nothing else imports a module of this library by a string across packages;
tests/package/test_imports.py looks for that, and that each line of the table is used.
"""

from __future__ import annotations

import importlib
import sys
from typing import Any, Final

#: What stands above, with who asks for it.
ABOVE: Final = {
    "_build": "cuda.OutOfMemoryError is a name of the main namespace",
    "amp.state": "utils.checkpoint computes again with autocast as it was",
    "array_api": "Tensor.__array_namespace__ returns the namespace",
    "as_torch.placeholders": "modules explain the names of PyTorch's that they lack",
    "audit": "overrides.audit is the function that runs one",
    "cuda": "utils.benchmark waits for the device, utils.checkpoint keeps its random numbers",
    "hub": "utils.model_zoo is PyTorch's earlier name of it",
    "library.operators": "utils.cpp_extension loads libraries of operators",
    "overrides": "_overrides is its older name",
    "serialization.torch_pickles": "tensors and storages are pickled in PyTorch's form while served as torch",
    "serialization": "storages inside PyTorch's pickles are files of save",
    "sparse.attributes": "files with sparse tensors are read",
    "sparse.creation": "Tensor.to_sparse",
    "sparse.embedding": "embedding(sparse=True) has a sparse gradient",
    "transforms.autograd_functional": "autograd.functional has its names",
    "transforms.forward_mode": "autograd.forward_ad has its names",
    "transforms.gradients": "grad(is_grads_batched=True) maps over a batch",
    "transforms.levels": "_is_all_true looks at the values inside vmap",
    "transforms.mapping": "gradcheck(check_batched_grad=True) maps over a batch",
}


def above(module: str) -> Any:
    """Import a module of the table, by its name within the package, and return it."""
    if module not in ABOVE:
        raise KeyError(f"{module!r} is not in the table of imports that point up: add it with its reason, or import it")
    return importlib.import_module(f"tensorlike.{module}")


def absent(module: str, name: str) -> Any:
    """Answer an attribute that a module lacks: an error with the reason, or one of `as_torch.placeholders`."""
    return above("as_torch.placeholders").absent(module, name)


def explain_absent_names(module: str) -> None:
    """Have attributes that a module lacks answered by `tensorlike.as_torch.placeholders`."""

    def __getattr__(name: str) -> Any:
        if name[:2] == "__":  # Such as `__path__`, which every import asks for.
            raise AttributeError(f"module {module!r} has no attribute {name!r}", name=name)
        return absent(module, name)

    # Not by a definition in the module, from which type checkers would conclude that it has every name.
    vars(sys.modules[module])["__getattr__"] = __getattr__
