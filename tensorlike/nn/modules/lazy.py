"""Lazy modules, which infer the shapes of their parameters from their first input."""

from __future__ import annotations

import itertools
from typing import Any, ClassVar

from tensorlike.autograd.grad_mode import recording_block
from tensorlike.nn.parameter import is_lazy

__all__ = ["LazyModuleMixin"]


class LazyModuleMixin:
    """Base class of lazy modules: the first call, or loading a state, gives the parameters their shapes.

    A lazy module registers `nn.UninitializedParameter`s (and buffers) in its `__init__` and materializes them in
    `initialize_parameters`, which is called with the arguments of `forward`. After the first call its class becomes
    `cls_to_become`.

    >>> class Scale(tl.nn.modules.lazy.LazyModuleMixin, tl.nn.Module):
    ...     def __init__(self):
    ...         super().__init__()
    ...         self.weight = tl.nn.UninitializedParameter()
    ...     def initialize_parameters(self, input):
    ...         self.weight.materialize(input.shape[-1:])
    ...         tl.nn.init.ones_(self.weight)
    ...     def forward(self, input):
    ...         return input * self.weight
    >>> Scale()(tl.ones(2, 3)).shape == (2, 3)
    True
    """

    #: The class of the module after its parameters are initialized; None keeps it.
    cls_to_become: ClassVar[type | None] = None

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._make_lazy()

    def _make_lazy(self) -> None:
        this: Any = self
        self._initialize_hook = this.register_forward_pre_hook(_infer, with_kwargs=True)

    def initialize_parameters(self, *args: Any, **kwargs: Any) -> None:
        """Materialize the parameters and buffers for this input; every lazy module defines it."""
        raise NotImplementedError(f"initialize_parameters is not implemented for {type(self).__name__}")

    def has_uninitialized_params(self) -> bool:
        """Return whether a parameter or buffer of this module itself has no shape yet."""
        this: Any = self
        return any(map(is_lazy, itertools.chain(this._parameters.values(), this._buffers.values())))

    def _infer_parameters(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Initialize the parameters for this input, and stop being lazy."""
        self.initialize_parameters(*args, **kwargs)
        if self.has_uninitialized_params():
            raise RuntimeError(
                f"module {type(self).__name__} has not been fully initialized: initialize_parameters() has to "
                "materialize every uninitialized parameter and buffer"
            )
        self._initialize_hook.remove()
        del self._initialize_hook
        if self.cls_to_become is not None:
            self.__class__ = self.cls_to_become


    def _load_from_state_dict(self, state_dict: dict[str, Any], prefix: str, *rest: Any) -> None:
        """Materialize parameters without a shape for the loaded tensors, and load these."""
        this: Any = self
        for name, value in itertools.chain(this._parameters.items(), this._buffers.items()):
            loaded = state_dict.get(prefix + name)
            if loaded is not None and is_lazy(value) and not is_lazy(loaded):
                with recording_block(False):
                    value.materialize(loaded.shape)
        super()._load_from_state_dict(state_dict, prefix, *rest)  # type: ignore[misc]


# A function, not a method: a hook with a reference to its module would be a cycle.
def _infer(module: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    module._infer_parameters(args, kwargs)
