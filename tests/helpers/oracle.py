"""The same call in PyTorch: arguments there, results back, and how two answers are compared."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

import tensorlike as tl

from .values import array, assert_arrays

_UNSIGNED = {"uint16", "uint32", "uint64"}


def to_torch(value: Any, requires_grad: bool | None = None) -> Any:
    """Return `value` as PyTorch has it, tensors copied."""
    if isinstance(value, tl.Tensor):
        values = np.array(array(value), copy=True, order="C")
        if values.dtype.name == "bfloat16":
            # PyTorch does not know the type that ml_dtypes gives NumPy; the bits are the same.
            return torch.from_numpy(values.view(np.uint16)).view(torch.bfloat16)
        found = torch.from_numpy(values)
        wanted = value.requires_grad if requires_grad is None else requires_grad
        return found.requires_grad_() if wanted and array(value).dtype.kind in "fc" else found
    if isinstance(value, tl.dtype):
        return getattr(torch, repr(value).rpartition(".")[2])
    if isinstance(value, tl.device):
        return torch.device(str(value))
    if isinstance(value, tl.Size):
        return torch.Size(value)
    if isinstance(value, (list, tuple)):
        return type(value)(to_torch(item, requires_grad) for item in value)
    if isinstance(value, dict):
        return {key: to_torch(item, requires_grad) for key, item in value.items()}
    if isinstance(value, slice):
        return slice(*(to_torch(part, requires_grad) for part in (value.start, value.stop, value.step)))
    twin = getattr(value, "__name__", None)
    if callable(value) and (getattr(value, "__module__", None) or "").startswith("tensorlike") and twin:
        # A function of the samples' own works on tensors of either kind.
        return torch_function(f"{value.__module__}.{value.__qualname__}") or value
    return value


def strided_torch(value: Any) -> Any:
    """Return `value` with the tensors in it replaced by leaves whose elements lie apart, as `values.strided` does."""
    if isinstance(value, torch.Tensor):
        if not value.ndim or not value.numel():
            return value
        wide = value.detach().repeat_interleave(2, -1)
        wide[..., 1::2] = 1
        return wide[..., ::2].requires_grad_(value.requires_grad)
    if isinstance(value, (list, tuple)) and leaves(value):
        items = [strided_torch(item) for item in value]
        return type(value)(items)
    if isinstance(value, dict):
        return {key: strided_torch(item) for key, item in value.items()}
    return value


def torch_function(name: str) -> Any:
    """Return PyTorch's function of the dotted name `name` of ours, or None."""
    found: Any = torch
    for part in name.split(".")[1:]:
        found = getattr(found, part, None)
    return found


def leaves(value: Any) -> list[Any]:
    """Return the tensors of PyTorch in `value`, in the order of `values.tensors_in`."""
    if isinstance(value, torch.Tensor):
        return [value]
    if isinstance(value, dict):
        return leaves(list(value.values()))
    if isinstance(value, (list, tuple)):
        return [leaf for item in value for leaf in leaves(item)]
    return []


def to_numpy(tensor: Any) -> Any:
    if tensor.is_sparse:
        tensor = tensor.to_dense()
    return tensor.detach().resolve_conj().resolve_neg().numpy(force=True)


def assert_like_torch(ours: Any, theirs: Any, what: str, tolerance: float | None = None, values: bool = True) -> None:
    """Fail unless two results agree: kinds, shapes, dtypes, values, flags."""
    if isinstance(theirs, torch.Tensor):
        assert isinstance(ours, tl.Tensor), f"{what}: {type(ours).__name__}, PyTorch gives a tensor"
        names = repr(ours.dtype), repr(theirs.dtype)
        assert names[0].replace("tensorlike", "torch") == names[1], f"{what}: dtype {names[0]}, PyTorch has {names[1]}"
        if theirs.dtype == torch.bfloat16:
            ours, theirs = ours.float(), theirs.float()
        expected = to_numpy(theirs)
        assert tuple(array(ours).shape) == expected.shape, f"{what}: shape {array(ours).shape}, not {expected.shape}"
        assert ours.requires_grad == theirs.requires_grad, f"{what}: requires_grad {ours.requires_grad}"
        if values:
            assert_arrays(array(ours), expected, what, tolerance)
    elif isinstance(theirs, torch.Size):
        assert type(ours) is tl.Size, f"{what}: {type(ours).__name__}, PyTorch gives a Size"
        assert tuple(ours) == tuple(theirs), what
    elif isinstance(theirs, (list, tuple)):
        fields = [f for f in dir(type(theirs)) if not f.startswith(("_", "n_")) and f not in ("count", "index")]
        kind = tuple if isinstance(theirs, tuple) else list
        assert isinstance(ours, kind), f"{what}: {type(ours).__name__}, PyTorch gives a {kind.__name__}"
        assert len(ours) == len(theirs), f"{what}: {len(ours)} results, PyTorch gives {len(theirs)}"
        if type(theirs) is not kind:
            assert set(fields) == set(getattr(ours, "__match_args__", ())), f"{what}: fields, PyTorch has {fields}"
        for index, (one, other) in enumerate(zip(ours, theirs)):
            assert_like_torch(one, other, f"{what}[{index}]", tolerance, values)
    elif isinstance(theirs, np.ndarray):
        assert_arrays(ours, theirs, what, tolerance)
    elif isinstance(theirs, (torch.dtype, torch.device, torch.layout)):
        assert repr(ours).replace("tensorlike", "torch") == repr(theirs), f"{what}: {ours!r}, PyTorch gives {theirs!r}"
    elif isinstance(theirs, str):
        assert ours.replace("tensorlike", "torch") == theirs, f"{what}: {ours!r}, PyTorch gives {theirs!r}"
    elif isinstance(theirs, (float, complex)) and not isinstance(theirs, bool):
        assert type(ours) is type(theirs), f"{what}: {type(ours).__name__}, PyTorch gives {type(theirs).__name__}"
        assert np.allclose(ours, theirs, rtol=1e-5, equal_nan=True), f"{what}: {ours}, PyTorch gives {theirs}"
    else:
        assert type(ours) is type(theirs), f"{what}: {type(ours).__name__}, PyTorch gives {type(theirs).__name__}"
        if isinstance(theirs, (bool, int, type(None))) and values:
            assert ours == theirs, f"{what}: {ours!r}, PyTorch gives {theirs!r}"


def outcome(function: Any, *args: Any, **kwargs: Any) -> tuple[Any, Exception | None]:
    """Return (result, None) or (None, the exception)."""
    try:
        return function(*args, **kwargs), None
    except Exception as error:
        return None, error
