"""Pruning: setting a part of a parameter to zero, by a mask that stays with the module.

A pruned parameter `name` becomes the parameter `name_orig` and the buffer `name_mask`; a hook before each forward makes
the attribute `name` their product.
"""

from __future__ import annotations

import numbers
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator
from typing import Any

from tensorlike._originals import tl
from tensorlike.nn.modules.module import Module
from tensorlike.tensor import Tensor

__all__ = [
    "BasePruningMethod", "CustomFromMask", "Identity", "L1Unstructured", "LnStructured", "PruningContainer",
    "RandomStructured", "RandomUnstructured", "custom_from_mask", "global_unstructured", "identity", "is_pruned",
    "l1_unstructured", "ln_structured", "random_structured", "random_unstructured", "remove",
]  # fmt: skip


class BasePruningMethod(ABC):
    """The base class of pruning methods: a subclass defines `compute_mask` and `PRUNING_TYPE`.

    `PRUNING_TYPE` says what a method that is applied after others sees of the tensor: "unstructured" the elements that
    are left, "structured" the slices along its `dim` that are left, "global" all of it.

    >>> class Halves(tl.nn.utils.prune.BasePruningMethod):
    ...     PRUNING_TYPE = "unstructured"
    ...     def compute_mask(self, t, default_mask):
    ...         mask = default_mask.clone()
    ...         mask.view(-1)[::2] = 0
    ...         return mask
    >>> Halves().prune(tl.ones(4))
    tensor([0., 1., 0., 1.])
    """

    PRUNING_TYPE: str
    _tensor_name: str

    def __call__(self, module: Module, inputs: object) -> None:
        setattr(module, self._tensor_name, self.apply_mask(module))

    @abstractmethod
    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """Return the mask of ones and zeros for `t`, which keeps the zeros of `default_mask`."""

    def apply_mask(self, module: Module) -> Tensor:
        """Return the module's original parameter times its mask."""
        mask = getattr(module, self._tensor_name + "_mask")
        original = getattr(module, self._tensor_name + "_orig")
        return mask.to(dtype=original.dtype) * original  # type: ignore[no-any-return]

    @classmethod
    def apply(
        cls, module: Module, name: str, *args: Any, importance_scores: Tensor | None = None, **kwargs: Any
    ) -> BasePruningMethod:
        """Prune the parameter `name` of `module` by `cls(*args, **kwargs)`, after what pruned it already.

        `importance_scores` are used in place of the parameter's values to compute the mask.
        """
        before = [
            (identifier, hook)
            for identifier, hook in module._forward_pre_hooks.items()
            if isinstance(hook, BasePruningMethod) and hook._tensor_name == name
        ]
        method: BasePruningMethod = cls(*args, **kwargs)
        method._tensor_name = name
        tensor = getattr(module, name)
        _check_scores(importance_scores, tensor, f"parameter {name} of {module}")
        original: Any = getattr(module, name + "_orig") if before else module._parameters[name]
        if before:
            ((identifier, old),) = before
            container = old if isinstance(old, PruningContainer) else PruningContainer(old)
            container.add_pruning_method(method)
            default = getattr(module, name + "_mask")
        else:
            container = None
            default = tl.ones_like(original)
        # Computed before anything changes: a method that raises leaves the module as it was.
        chosen = method if container is None else container
        scores = tensor if importance_scores is None else importance_scores
        mask = chosen.compute_mask(scores, default_mask=default.detach().clone())
        if before:
            del module._forward_pre_hooks[identifier]
        else:
            del module._parameters[name]
            module.register_parameter(name + "_orig", original)
        module.register_buffer(name + "_mask", mask)
        setattr(module, name, chosen.apply_mask(module))
        module.register_forward_pre_hook(chosen)
        return chosen

    def prune(self, t: Tensor, default_mask: Tensor | None = None, importance_scores: Tensor | None = None) -> Tensor:
        """Return `t` pruned; elements that `default_mask` has zeros for are pruned too.

        >>> smallest = tl.nn.utils.prune.L1Unstructured(amount=1)
        >>> smallest.prune(tl.tensor([3.0, -1.0, 2.0]))
        tensor([3., -0., 2.])
        """
        _check_scores(importance_scores, t, "tensor t")
        scores = t if importance_scores is None else importance_scores
        default = tl.ones_like(t) if default_mask is None else default_mask
        return t * self.compute_mask(scores, default_mask=default)

    def remove(self, module: Module) -> None:
        """Make the pruned values the parameter's own, without mask and original; what was pruned stays zero."""
        name = self._tensor_name
        weight = self.apply_mask(module)
        if hasattr(module, name):
            delattr(module, name)
        original: Any = module._parameters.pop(name + "_orig")
        original.data = weight.data
        del module._buffers[name + "_mask"]
        setattr(module, name, original)


def _check_scores(scores: Tensor | None, tensor: Tensor, what: str) -> None:
    if scores is not None and scores.shape != tensor.shape:
        raise AssertionError(
            f"importance_scores should have the same shape as {what}, got {scores.shape} vs {tensor.shape}"
        )


class PruningContainer(BasePruningMethod):
    """Several pruning methods of one parameter, in the order in which they were applied."""

    PRUNING_TYPE = "container"

    def __init__(self, *args: Any) -> None:
        self._pruning_methods: tuple[BasePruningMethod, ...] = ()
        if not args or not isinstance(args[0], Iterable):
            methods: Any = args
        else:
            methods = args[0]
        for method in methods:
            if not hasattr(self, "_tensor_name"):
                self._tensor_name = method._tensor_name
            self.add_pruning_method(method)

    def add_pruning_method(self, method: BasePruningMethod) -> None:
        """Add a method for the same parameter; TypeError for other objects, ValueError for another parameter's."""
        if not isinstance(method, BasePruningMethod):
            raise TypeError(f"{type(method)} is not a BasePruningMethod subclass")
        if self._tensor_name != method._tensor_name:
            raise ValueError(
                f"Can only add pruning methods acting on the parameter named '{self._tensor_name}' to "
                f"PruningContainer {self}. Found '{method._tensor_name}'"
            )
        self._pruning_methods += (method,)

    def __len__(self) -> int:
        return len(self._pruning_methods)

    def __iter__(self) -> Iterator[BasePruningMethod]:
        return iter(self._pruning_methods)

    def __getitem__(self, idx: int) -> Any:
        return self._pruning_methods[idx]

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """Return `default_mask` with the zeros of the method added last, which sees what is left of `t`."""
        method: Any = self._pruning_methods[-1]
        mask = default_mask.to(dtype=t.dtype)
        left: Any
        if method.PRUNING_TYPE == "unstructured":
            left = mask == 1
        elif method.PRUNING_TYPE == "structured":
            dim = method.dim % t.dim()
            others = tuple(d for d in range(t.dim()) if d != dim)
            left = (slice(None),) * dim + (mask.sum(dim=others) != 0,)
        elif method.PRUNING_TYPE == "global":
            left = (slice(None),) * t.dim()
        else:
            raise ValueError(f"Unrecognized PRUNING_TYPE {method.PRUNING_TYPE}")
        mask[left] = method.compute_mask(t[left], default_mask=mask[left])
        return mask


class Identity(BasePruningMethod):
    """Prunes nothing: the mask is all ones.

    >>> layer = tl.nn.Linear(4, 1)
    >>> _ = tl.nn.utils.prune.Identity.apply(layer, "weight")
    >>> layer.weight_mask
    tensor([[1., 1., 1., 1.]])
    """

    PRUNING_TYPE = "unstructured"

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """Return `default_mask`."""
        return default_mask


def _validate_pruning_amount_init(amount: Any) -> None:
    if not isinstance(amount, numbers.Real):
        raise TypeError(f"Invalid type for amount: {amount}. Must be int or float.")
    value: Any = amount
    if value < 0 or (not isinstance(value, numbers.Integral) and value > 1.0):
        raise ValueError(
            f"amount={amount} should either be a float in the range [0, 1] or a non-negative integer"
        )


def _validate_pruning_amount(amount: Any, tensor_size: int) -> None:
    value: Any = amount
    if isinstance(value, numbers.Integral) and int(value) > tensor_size:
        raise ValueError(f"amount={amount} should be smaller than the number of parameters to prune={tensor_size}")


def _compute_nparams_toprune(amount: Any, tensor_size: int) -> int:
    """Return how many of `tensor_size` units a number or fraction of them is."""
    return int(amount) if isinstance(amount, numbers.Integral) else round(amount * tensor_size)


class _Unstructured(BasePruningMethod):
    """Prunes a number, or fraction, of the elements."""

    PRUNING_TYPE = "unstructured"

    def __init__(self, amount: int | float) -> None:
        _validate_pruning_amount_init(amount)
        self.amount = amount

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """Return `default_mask` with zeros for the elements of lowest importance."""
        mask = default_mask.clone(memory_format=tl.contiguous_format)
        _validate_pruning_amount(self.amount, t.nelement())
        count = _compute_nparams_toprune(self.amount, t.nelement())
        if count:
            mask.view(-1)[tl.topk(self._importance(t).view(-1), k=count, largest=False).indices] = 0
        return mask

    @abstractmethod
    def _importance(self, t: Tensor) -> Tensor: ...


class RandomUnstructured(_Unstructured):
    """Prunes elements at random: `amount` is their number, or a fraction of all between 0 and 1.

    >>> layer = tl.nn.Linear(4, 1)
    >>> _ = tl.nn.utils.prune.RandomUnstructured.apply(layer, "weight", amount=0.5)
    >>> layer.weight_mask.sum()
    tensor(2.)
    """

    def _importance(self, t: Tensor) -> Tensor:
        return tl.rand(t.shape, device=t.device)


class L1Unstructured(_Unstructured):
    """Prunes the elements of the smallest absolute values: `amount` is their number, or a fraction of all.

    >>> layer = tl.nn.Linear(4, 1)
    >>> with tl.no_grad():
    ...     _ = layer.weight.copy_(tl.tensor([[1.0, -4.0, 3.0, 2.0]]))
    >>> _ = tl.nn.utils.prune.L1Unstructured.apply(layer, "weight", amount=2)
    >>> layer.weight_mask
    tensor([[0., 1., 1., 0.]])
    """

    def _importance(self, t: Tensor) -> Tensor:
        return tl.abs(t).contiguous()


class _Structured(BasePruningMethod):
    """Prunes a number, or fraction, of the slices along a dimension."""

    PRUNING_TYPE = "structured"

    def __init__(self, amount: int | float, dim: int = -1) -> None:
        _validate_pruning_amount_init(amount)
        self.amount = amount
        self.dim = dim

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """Return `default_mask` with zeros for the slices of lowest importance."""
        if t.dim() <= 1:
            raise ValueError(
                "Structured pruning can only be applied to multidimensional tensors. Found tensor of shape "
                f"{t.shape} with {t.dim()} dims"
            )
        if self.dim >= t.dim() or self.dim < -t.dim():
            raise IndexError(f"Invalid index {self.dim} for tensor of size {t.shape}")
        size = t.shape[self.dim]
        _validate_pruning_amount(self.amount, size)
        count = _compute_nparams_toprune(self.amount, size)
        if not count:
            return default_mask
        keep = tl.ones(size, dtype=default_mask.dtype, device=t.device)
        keep[tl.topk(self._importance(t), k=count, largest=False).indices] = 0
        shape = [1] * t.dim()
        shape[self.dim] = -1
        return default_mask * keep.view(shape)

    @abstractmethod
    def _importance(self, t: Tensor) -> Tensor:
        """Return a number for each slice."""


class RandomStructured(_Structured):
    """Prunes slices along `dim` at random: `amount` is their number, or a fraction of all between 0 and 1.

    >>> layer = tl.nn.Linear(3, 4)
    >>> _ = tl.nn.utils.prune.RandomStructured.apply(layer, "weight", amount=1, dim=0)
    >>> layer.weight_mask.sum()
    tensor(9.)
    """

    def _importance(self, t: Tensor) -> Tensor:
        return tl.rand(t.shape[self.dim], device=t.device)


class LnStructured(_Structured):
    """Prunes the slices along `dim` of the smallest norm of order `n`: `amount` is their number, or a fraction.

    >>> layer = tl.nn.Linear(3, 4)
    >>> _ = tl.nn.utils.prune.LnStructured.apply(layer, "weight", amount=1, n=2, dim=0)
    >>> layer.weight_mask.sum()
    tensor(9.)
    """

    def __init__(self, amount: int | float, n: int | float | str, dim: int = -1) -> None:
        super().__init__(amount, dim)
        self.n = n

    def _importance(self, t: Tensor) -> Tensor:
        others = tuple(d for d in range(t.dim()) if d != self.dim % t.dim())
        found: Tensor = tl.norm(t, p=self.n, dim=others)
        return found


class CustomFromMask(BasePruningMethod):
    """Prunes what a given mask has zeros for.

    >>> layer = tl.nn.Linear(4, 1)
    >>> _ = tl.nn.utils.prune.CustomFromMask.apply(layer, "bias", mask=tl.zeros(1))
    >>> bool(layer.bias == 0)
    True
    """

    PRUNING_TYPE = "global"

    def __init__(self, mask: Tensor) -> None:
        self.mask = mask

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """Return the product of both masks."""
        if default_mask.shape != self.mask.shape:
            raise AssertionError(f"mask shape {self.mask.shape} does not match default_mask shape "
                                 f"{default_mask.shape}")  # fmt: skip
        return default_mask * self.mask.to(dtype=default_mask.dtype)


def identity(module: Module, name: str) -> Module:
    """Give the parameter `name` the mask and original of a pruned one without pruning it, and return the module.

    >>> layer = tl.nn.utils.prune.identity(tl.nn.Linear(2, 3), "bias")
    >>> layer.bias_mask
    tensor([1., 1., 1.])
    """
    Identity.apply(module, name)
    return module


def random_unstructured(module: Module, name: str, amount: int | float) -> Module:
    """Prune elements of the parameter `name` at random, and return the module.

    `amount` is their number or, as a float between 0 and 1, a fraction of all.

    >>> layer = tl.nn.utils.prune.random_unstructured(tl.nn.Linear(2, 3), "weight", amount=1)
    >>> tl.sum(layer.weight_mask == 0)
    tensor(1)
    """
    RandomUnstructured.apply(module, name, amount)
    return module


def l1_unstructured(module: Module, name: str, amount: int | float, importance_scores: Tensor | None = None) -> Module:
    """Prune the elements of the parameter `name` with the smallest absolute values, and return the module.

    `amount` is their number or, as a float between 0 and 1, a fraction of all. `importance_scores` are compared in
    place of the parameter's values.

    >>> layer = tl.nn.utils.prune.l1_unstructured(tl.nn.Linear(2, 3), "weight", amount=0.5)
    >>> tl.sum(layer.weight_mask == 0)
    tensor(3)
    """
    L1Unstructured.apply(module, name, amount=amount, importance_scores=importance_scores)
    return module


def random_structured(module: Module, name: str, amount: int | float, dim: int) -> Module:
    """Prune slices of the parameter `name` along `dim` at random, and return the module.

    `amount` is their number or, as a float between 0 and 1, a fraction of all.

    >>> layer = tl.nn.utils.prune.random_structured(tl.nn.Linear(5, 3), "weight", amount=3, dim=1)
    >>> tl.sum(tl.sum(layer.weight_mask, dim=0) == 0)
    tensor(3)
    """
    RandomStructured.apply(module, name, amount, dim)
    return module


def ln_structured(
    module: Module, name: str, amount: int | float, n: int | float | str, dim: int,
    importance_scores: Tensor | None = None,
) -> Module:  # fmt: skip
    """Prune the slices of the parameter `name` along `dim` with the smallest norms of order `n`; return the module.

    Args:
        module: the module that has the parameter.
        name: the parameter's name.
        amount: how many slices, or, as a float between 0 and 1, which fraction of all.
        n: the order of the norm, as `tl.norm` takes it.
        dim: the dimension along which the slices lie.
        importance_scores: what is compared in place of the parameter's values.

    >>> layer = tl.nn.utils.prune.ln_structured(tl.nn.Conv2d(5, 3, 2), "weight", amount=0.3, n=2, dim=1)
    >>> (layer.weight_mask.sum(dim=(0, 2, 3)) == 0).sum()
    tensor(2)
    """
    LnStructured.apply(module, name, amount, n, dim, importance_scores=importance_scores)
    return module


def custom_from_mask(module: Module, name: str, mask: Tensor) -> Module:
    """Prune what `mask` has zeros for in the parameter `name`, and return the module.

    >>> layer = tl.nn.utils.prune.custom_from_mask(tl.nn.Linear(5, 3), "bias", tl.tensor([0, 1, 0]))
    >>> layer.bias_mask
    tensor([0., 1., 0.])
    """
    CustomFromMask.apply(module, name, mask)
    return module


def global_unstructured(
    parameters: Iterable[tuple[Module, str]],
    pruning_method: type[BasePruningMethod],
    importance_scores: dict[tuple[Module, str], Tensor] | None = None,
    **kwargs: Any,
) -> None:
    """Prune elements of several parameters as if they were one.

    Args:
        parameters: pairs of a module and a parameter's name.
        pruning_method: a class whose `PRUNING_TYPE` is "unstructured".
        importance_scores: for such pairs, what is compared in place of the parameter's values.
        kwargs: the arguments of the class, as `amount=0.2`.

    Raises TypeError for another method or argument.

    >>> first, second = tl.nn.Linear(10, 4), tl.nn.Linear(4, 1)
    >>> prune = tl.nn.utils.prune
    >>> prune.global_unstructured([(first, "weight"), (second, "weight")], prune.L1Unstructured, amount=10)
    >>> sum(int((layer.weight == 0).sum()) for layer in (first, second))
    10
    """
    if not isinstance(parameters, Iterable):
        raise TypeError("global_unstructured(): parameters is not an Iterable")
    scores = {} if importance_scores is None else importance_scores
    if not isinstance(scores, dict):
        raise TypeError("global_unstructured(): importance_scores must be of type dict")
    pairs = list(parameters)
    tensors = [getattr(module, name) for module, name in pairs]
    values = tl.cat([scores.get(pair, tensor).flatten() for pair, tensor in zip(pairs, tensors)])
    masks = [
        getattr(module, name + "_mask", tl.ones_like(tensor)) for (module, name), tensor in zip(pairs, tensors)
    ]
    container = PruningContainer()
    container._tensor_name = "temp"
    method = pruning_method(**kwargs)
    method._tensor_name = "temp"
    container.add_pruning_method(method)
    if method.PRUNING_TYPE != "unstructured":
        raise TypeError(
            f'Only "unstructured" PRUNING_TYPE supported for the `pruning_method`. Found method {pruning_method} of '
            f"type {method.PRUNING_TYPE}"
        )
    joined = container.compute_mask(values, tl.cat([mask.flatten() for mask in masks]))
    parts = joined.split([tensor.numel() for tensor in tensors])
    for (module, name), tensor, part in zip(pairs, tensors, parts):
        custom_from_mask(module, name, mask=part.view_as(tensor))


def _method_of(module: Module, name: str | None = None) -> tuple[int, BasePruningMethod] | None:
    for identifier, hook in module._forward_pre_hooks.items():
        if isinstance(hook, BasePruningMethod) and (name is None or hook._tensor_name == name):
            return identifier, hook
    return None


def remove(module: Module, name: str) -> Module:
    """Make the pruned values of the parameter `name` its own, without mask and original; return the module.

    What was pruned stays zero. Raises ValueError for a parameter that is not pruned.

    >>> layer = tl.nn.utils.prune.random_unstructured(tl.nn.Linear(5, 7), "weight", amount=0.2)
    >>> list(tl.nn.utils.prune.remove(layer, "weight").state_dict())
    ['bias', 'weight']
    """
    found = _method_of(module, name)
    if found is None:
        raise ValueError(
            f"Parameter '{name}' of module {module} has to be pruned before pruning can be removed"
        )
    identifier, method = found
    method.remove(module)
    del module._forward_pre_hooks[identifier]
    return module


def is_pruned(module: Module) -> bool:
    """Return whether `module`, or one inside of it, has a pruned parameter.

    >>> tl.nn.utils.prune.is_pruned(tl.nn.Linear(5, 7))
    False
    """
    return any(_method_of(part) is not None for part in module.modules())
