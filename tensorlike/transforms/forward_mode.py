"""Forward-mode derivatives by dual tensors, as PyTorch's `torch.autograd.forward_ad` spells them."""

from __future__ import annotations

from typing import Any, NamedTuple

from tensorlike.dispatch.state import STATE, State, Switch
from tensorlike.dispatch.tracebacks import named_errors
from tensorlike.tensor.tensor import Tensor

from .dual import DualTensor, dual, is_dual, primal_of, tangent_of
from .levels import Level, without_level
from .tangents import apart, batches_of, fits, lies_in, own_tangent, settle

__all__ = ["UnpackedDualTensor", "dual_level", "enter_dual_level", "exit_dual_level", "make_dual", "unpack_dual"]


class UnpackedDualTensor(NamedTuple):
    """The value of a dual tensor and its tangent, None where it has none."""

    primal: Any
    tangent: Any


_NOT_THE_LAST = "Trying to exit a forward AD level that was not the last one that was created. This is not supported."


def _within_level(state: State) -> State:
    level = Level(DualTensor, state.levels[-1].depth + 1 if state.levels else 1)
    inner = state.but(levels=(*state.levels, level), dual_levels=(*state.dual_levels, level))
    return DualTensor.entering(inner, level)


def enter_dual_level() -> int:
    """Enter a level of forward-mode differentiation and return its number; prefer `dual_level`."""
    inner = _within_level(STATE.get())
    number = len(inner.dual_levels) - 1
    STATE.set(inner)
    return number


def exit_dual_level(*, level: int | None = None) -> None:
    """Leave the innermost level and drop its tangents.

    Raises RuntimeError when `level` is not the innermost one, or none was entered.
    """
    state = STATE.get()
    entered = state.dual_levels
    if level is None:
        level = len(entered) - 1
    if not entered or level != len(entered) - 1:
        raise RuntimeError(_NOT_THE_LAST)
    left = entered[-1]
    STATE.set(
        state.but(
            levels=tuple(v for v in state.levels if v is not left), dual_levels=entered[:-1],
            modes=left.modes_left(state),
        )
    )  # fmt: skip
    left.over()


class dual_level(Switch):
    """Run a block in a level of forward-mode differentiation.

    >>> from tensorlike.autograd import forward_ad
    >>> with forward_ad.dual_level():
    ...     x = forward_ad.make_dual(tl.tensor([1.0, 2.0]), tl.tensor([1.0, 0.0]))
    ...     forward_ad.unpack_dual(x * x).tangent
    tensor([2., 0.])
    """

    _fields = ("levels", "dual_levels", "modes")

    def _switched(self, state: State) -> State:
        return _within_level(state)

    def _given(self, inner: State) -> int:
        return len(inner.dual_levels) - 1

    def _after(self, inner: State, found: State) -> None:
        inner.dual_levels[-1].over()
        if len(found.dual_levels) > len(inner.dual_levels):
            raise RuntimeError(_NOT_THE_LAST)


@named_errors
def make_dual(tensor: Tensor, tangent: Tensor, *, level: int | None = None) -> Any:
    """Return `tensor` with a tangent, which functions propagate until the level is left.

    Raises RuntimeError outside of a level, ValueError unless both are floating-point or complex, and RuntimeError when
    their shapes differ. A tangent of another dtype or layout than the tensor's is copied.

    >>> from tensorlike.autograd import forward_ad
    >>> with forward_ad.dual_level():
    ...     y = forward_ad.make_dual(tl.tensor(3.0), tl.tensor(1.0)) ** 2
    ...     print(forward_ad.unpack_dual(y).tangent)
    tensor(6.)
    """
    for name, value in (("tensor", tensor), ("tangent", tangent)):
        if not isinstance(value, Tensor):
            raise TypeError(f"make_dual(): argument '{name}' must be Tensor, not {type(value).__name__}")
    found = _level(level, "make_dual")
    if not (tensor.is_floating_point() or tensor.is_complex()):
        raise ValueError(f"Expected primal to be floating point or complex, but got: {tensor.dtype}")
    if not (tangent.is_floating_point() or tangent.is_complex()):
        raise ValueError(f"Expected tangent to be floating point or complex, but got: {tangent.dtype}")
    if tuple(tensor.shape) != tuple(tangent.shape):
        raise RuntimeError(
            "Trying to set a forward gradient that has a different size than that of the original Tensor, this is not "
            f"supported. Tensor is of size {list(tensor.shape)} while the given forward gradient is of size "
            f"{list(tangent.shape)}."
        )
    settle(tensor)
    if is_dual(tensor, found):
        raise RuntimeError("make_dual(): the tensor has a tangent at this level already")
    found.batches |= batches_of([tensor, tangent])
    with without_level(found):
        if not fits(tensor, tangent) or lies_in(tangent, [tensor]):
            tangent = own_tangent(tensor, tangent, found)
        return dual(tensor.view_as(tensor), tangent, found)


@named_errors
def unpack_dual(tensor: Tensor, *, level: int | None = None) -> UnpackedDualTensor:
    """Return the value and the tangent of a tensor; the tangent is None for one that has none.

    >>> from tensorlike.autograd import forward_ad
    >>> with forward_ad.dual_level():
    ...     y = forward_ad.make_dual(tl.tensor(3.0), tl.tensor(1.0)) ** 2
    ...     print(forward_ad.unpack_dual(y).primal)
    tensor(9.)
    """
    if not isinstance(tensor, Tensor):
        raise TypeError(f"unpack_dual(): argument 'tensor' must be Tensor, not {type(tensor).__name__}")
    if not STATE.get().dual_levels:
        return UnpackedDualTensor(tensor._primal if type(tensor) is DualTensor else tensor, None)
    found = _level(level, "unpack_dual")
    settle(tensor)
    return UnpackedDualTensor(apart(primal_of(tensor, found), found), tangent_of(tensor, found))


def _level(number: int | None, name: str) -> Level:
    entered: tuple[Level, ...] = STATE.get().dual_levels
    if not entered:
        raise RuntimeError(
            f"Trying to {name.replace('_', ' ')} tensors for forward AD outside of a level: wrap the code in `with "
            "forward_ad.dual_level():`"
        )
    if number is None:
        return entered[-1]
    if not 0 <= number < len(entered):
        raise RuntimeError(f"{name}(): there is no level {number}; {len(entered)} are entered")
    return entered[number]
