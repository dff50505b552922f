"""Update rules as lists of ufunc calls, which the native core runs over all parameters of a group.

# Note [Rules as steps]
A rule that updates every element by itself is a list of calls of ufuncs on blocks of memory. `Steps.update` makes them
for one parameter. With the native core the same list is run in C, for all parameters of a group in one call and in
pieces that stay in the first cache (`_native/updates.c`): the inner loops of the same ufuncs in the same order, so that
the results are the same, bit by bit, where each of them is rounded correctly. Parameters that are not plain tensors
without gaps, or have no state yet, are left to `Optimizer._update`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, TypeAlias

import numpy as np

from tensorlike._native import core
from tensorlike.tensor import Tensor

from .blocks import in_blocks

__all__ = ["Plan", "Steps"]

#: The call of a ufunc: the function, and the names of its operands and of its result.
Call: TypeAlias = "tuple[np.ufunc, *tuple[str, ...]]"
#: Steps, and the function that gives their numbers for a count of steps, which is 0 where none are counted.
Plan: TypeAlias = "tuple[Steps, Callable[[float], tuple[float, ...]]]"


def _maximum(first: Any, second: Any, result: Any) -> None:
    np.maximum(first, second, out=result)


#: Ufuncs to which NumPy wants the result to be passed by keyword.
_BY_KEYWORD: Final[dict[Any, Any]] = {np.maximum: _maximum}


class Steps:
    """A rule: calls of ufuncs whose operands are "weight", "gradient", states and numbers by name.

    Results are the weight, the states, and two blocks to compute in, "work" and "spare". `states` are the names of
    entries of the optimizer's state, `count` that of the number of steps among them, if there is one.
    """

    def __init__(
        self, states: Sequence[str], numbers: Sequence[str], calls: Sequence[Call], count: str | None = None
    ) -> None:
        places = {name: i for i, name in enumerate(("weight", "gradient", "work", "spare", *states, *numbers))}
        placed: list[tuple[Any, ...]] = [(ufunc, *[places[name] for name in names]) for ufunc, *names in calls]
        self.states, self.count = tuple(states), count
        #: The calls with two operands, the second of which is None where there is one.
        self._calls: list[tuple[Any, ...]] = [
            (_BY_KEYWORD.get(ufunc, ufunc), first, second[0] if second else None, result)
            for ufunc, first, *second, result in placed
        ]
        self._has_spare = any("spare" in names for _, *names in calls)
        self._native: Any = None if core is None else core.Update(self.states, count, len(numbers), tuple(placed))

    def update(self, weight: Tensor, gradient: Tensor, states: Sequence[Tensor], numbers: tuple[float, ...]) -> bool:
        """Update plain tensors in place and return True; return False for any others, and do nothing."""
        return in_blocks(self._run, (weight, *states), (gradient,), numbers)

    def _run(self, arrays: Any, work: Any, numbers: tuple[float, ...]) -> None:
        weight, *states, gradient = arrays
        values = (weight, gradient, work, np.empty_like(work) if self._has_spare else None, *states, *numbers)
        for ufunc, first, second, result in self._calls:
            if second is None:
                ufunc(values[first], values[result])
            else:
                ufunc(values[first], values[second], values[result])

    def left_to_python(
        self, parameters: list[Tensor], states: Mapping[Tensor, Any], numbers: Callable[..., Any]
    ) -> Iterator[Tensor]:
        """Update parameters in the native core; yield each that it leaves to Python before it goes on."""
        position = 0
        while (position := self._native.apply(parameters, position, states, numbers)) < len(parameters):
            yield parameters[position]
            position += 1
