"""Explaining a wrong derivative: the differences from the numerical one, and a guess at the cause."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator

import numpy as np

from .inputs import Array, Checked, Settings, host
from .numerical_derivatives import one_sided

__all__ = ["Mismatch", "close"]

#: The number of entries listed one by one.
NAMED = 5


def close(a: Array, b: Array, settings: Settings, entries: float = 1.0) -> Array:
    """Return where `b`, a sum over so many entries, is `a` within the tolerances; NaN is close to nothing."""
    with np.errstate(all="ignore"):
        return np.asarray(np.isclose(b, a, rtol=settings.rtol, atol=settings.atol * entries))


class Mismatch:
    """Two Jacobians of one output and one input that differ: entries of the input by entries of the output."""

    def __init__(
        self,
        checked: Checked,
        settings: Settings,
        number: int,
        index: int,
        numerical: Array,
        analytical: Array,
        *,
        words: str,
        arrived: bool,
        others: dict[int, Array],
        turn: complex,
        forward: bool,
    ) -> None:
        self.checked, self.settings = checked, settings
        self.number, self.index = number, index
        self.numerical, self.analytical = numerical, analytical
        self.words, self.arrived, self.forward = words, arrived, forward
        self.others = {k: o for k, o in others.items() if k != index and o.shape == numerical.shape}
        self.turn = turn
        self.input = checked.inputs[index]
        self.rows = tuple(self.input._tl_data.shape)
        self.columns = tuple(checked.outputs[number]._tl_data.shape)

    def text(self) -> str:
        """Return the whole message."""
        wrong = np.argwhere(~close(self.numerical, self.analytical, self.settings))
        with np.errstate(all="ignore"):
            apart = np.abs(self.numerical - self.analytical)
        apart = np.where(np.isnan(apart), np.inf, apart)
        at = np.unravel_index(int(np.argmax(apart)), apart.shape)
        worst = (int(at[0]), int(at[1]))
        how = "Jacobian computed with forward mode" if self.forward else "Jacobian"
        lines = [
            f"{self.words}{how} mismatch for output {self.number} with respect to input {self.index}, "
            f"in {len(wrong)} of {self.numerical.size} entries "
            f"(rows: entries of the input, of shape {list(self.rows)}; columns: of the output, of shape "
            f"{list(self.columns)})",
        ]
        if self.settings.note:
            lines.append(self.settings.note)
        guess = self.guess(worst)
        if guess:
            lines.append(guess)
        lines.append(f"Largest difference {apart[worst]:.3g}, at {self._entry(*worst)}")
        named = [(int(i), int(j)) for i, j in wrong[:NAMED]]
        if named != [worst]:
            lines += [f"  {self._entry(i, j)}" for i, j in named]
        if len(wrong) > NAMED:
            lines.append(f"  and {len(wrong) - NAMED} more")
        lines += [f"numerical:\n{self.numerical}", f"analytical:\n{self.analytical}"]
        return "\n".join(lines)

    def _entry(self, row: int, column: int) -> str:
        at_input = [int(n) for n in np.unravel_index(row, self.rows)] if self.rows else []
        at_output = [int(n) for n in np.unravel_index(column, self.columns)] if self.columns else []
        return (
            f"d output{at_output} / d input{at_input}: numerical {self.numerical[row, column]:.8g}, "
            f"analytical {self.analytical[row, column]:.8g}"
        )

    def guess(self, worst: tuple[int, int]) -> str:
        """Return a guess at the cause as text, or ""."""
        if self.analytical.size == 0:
            return ""
        guesses: tuple[Callable[[], str], ...] = (
            self._not_finite,
            lambda: self._kink(worst),
            self._missing,
            self._sign,
            self._conjugate,
            self._ignores_grad,
            self._constant_factor,
            self._other_input,
            self._reordered,
            self._left_out,
            self._missing_factor,
            self._offset,
            self._precision,
        )
        return next((text for text in (g() for g in guesses) if text), "")

    def _fits(self, candidate: Array) -> bool:
        return bool(np.all(close(self.numerical, candidate, self.settings)))

    @property
    def _rule(self) -> str:
        return "forward derivative" if self.forward else "backward"

    def _not_finite(self) -> str:
        if not np.isfinite(self.numerical).all():
            return "The function is not finite near its input: is it at the edge of where it is defined?"
        if not np.isfinite(self.analytical).all():
            count = int(np.sum(~np.isfinite(self.analytical)))
            return f"The analytical derivative has {count} entries that are not finite: does it divide 0 by 0?"
        return ""

    def _missing(self) -> str:
        if np.any(self.analytical) or not np.any(self.numerical):
            return ""
        if self.arrived:
            return f"The analytical derivative is zero everywhere: does the {self._rule} detach what it computes with?"
        if self.forward:
            return "No tangent arrives at the output: does the function leave its operations, or jvp return None?"
        return (
            "No gradient arrives at the input, so it is zero everywhere: does backward return None for it, or the "
            "forward detach it?"
        )

    def _sign(self) -> str:
        return "It differs by its sign only: wrong sign." if self._fits(-self.analytical) else ""

    def _conjugate(self) -> str:
        # The imaginary part of an output has a gradient that is i times the one of the real part.
        turned = np.conj(self.analytical / self.turn) * self.turn
        if self._fits(turned):
            return "It is the complex conjugate of what it should be: a conj() is missing, or one too many."
        if self._fits(-turned):
            return "It is minus the complex conjugate of what it should be."
        return ""

    def _ignores_grad(self) -> str:
        a = self.analytical
        if self.forward or a.shape[1] < 2 or not np.any(a) or not np.allclose(a, a[:, :1]):
            return ""
        return "It is the same for every grad_output: backward does not multiply by it."

    def _constant_factor(self) -> str:
        factor = self._ratio(self.analytical)
        if factor is None:
            return ""
        text = f"It is wrong by the constant factor {_shown(factor)} (numerical / analytical)."
        expanded = self._expanded()
        copies = int(np.prod([self.columns[d] for d in expanded])) if expanded else 0
        size, results = int(np.prod(self.rows)), int(np.prod(self.columns))
        if copies > 1 and np.isclose(factor, copies, rtol=1e-3):
            return (
                f"{text} That is how often the input is repeated along {_dimensions(expanded)} of the output: a mean "
                "where the sum over a broadcast dimension is needed?"
            )
        for count, name in ((size, "the input"), (results, "the output")):
            if count > 1 and np.isclose(factor, count, rtol=1e-3):
                return f"{text} That is the number of entries of {name}: a division too many?"
            if count > 1 and np.isclose(factor, 1 / count, rtol=1e-3):
                return f"{text} That is one over the number of entries of {name}: is the division of a mean missing?"
        return text

    def _ratio(self, candidate: Array) -> complex | None:
        """Return the constant that `candidate` has to be multiplied with, if there is one."""
        weight = np.vdot(candidate, candidate)
        if not np.isfinite(weight) or abs(weight) == 0:
            return None
        factor = complex(np.vdot(candidate, self.numerical) / weight)
        if abs(factor) < 1e-6 or not self._fits(factor * candidate):
            return None
        # As exact as finite differences are.
        rounded = complex(round(factor.real, 4), round(factor.imag, 4))
        return rounded if np.isclose(factor, rounded, rtol=1e-5) else factor

    def _other_input(self) -> str:
        if self.forward:
            return ""
        for other, jacobian in self.others.items():
            if np.any(jacobian) and not self._fits(jacobian) and self._equal(self.analytical, jacobian):
                return f"It is the gradient of input {other}: are gradients returned in the wrong order?"
        return ""

    def _equal(self, a: Array, b: Array) -> bool:
        return bool(np.all(close(b, a, self.settings)))

    def _reordered(self) -> str:
        count = len(self.rows)
        size = self.analytical.shape[1]
        if 1 < count <= 4:
            for order in itertools.permutations(range(count)):
                if order == tuple(range(count)):
                    continue
                shape = [self.rows[d] for d in order]
                back = np.argsort(order)
                turned = self.analytical.reshape(*shape, size).transpose(*back, count)
                if self._fits(turned.reshape(self.analytical.shape)):
                    if count == 2:
                        return "It is transposed."
                    return f"It is transposed: its dimensions are in the order {order} of the input's."
        if len(self.columns) == 2:
            turned = self.analytical.reshape(-1, *self.columns[::-1]).swapaxes(-1, -2)
            if self._fits(turned.reshape(self.analytical.shape)):
                return "It is transposed along the output: grad_output is used as its transpose."
        for dimension in range(count):
            turned = np.flip(self.analytical.reshape(*self.rows, size), dimension)
            if self._fits(turned.reshape(self.analytical.shape)):
                return f"It is reversed along dimension {dimension}."
        return ""

    def _expanded(self) -> list[int]:
        """Return the dimensions of the output along which the input may have been broadcast."""
        extra = len(self.columns) - len(self.rows)
        if extra < 0:
            return []
        padded = (1,) * extra + self.rows
        if any(a not in (1, b) for a, b in zip(padded, self.columns, strict=True)):
            return []
        return [
            d for d, (a, b) in enumerate(zip(padded, self.columns, strict=True)) if b > 1 and (d < extra or a != b)
        ]

    def _left_out(self) -> str:
        none = np.zeros_like(self.numerical)
        wrong = ~close(self.numerical, self.analytical, self.settings)
        if np.all(close(none, self.analytical, self.settings)[wrong]):
            absent = int(np.sum(np.any(wrong, axis=0)))
            text = (
                f"It is right where it is not zero, and zero in {int(wrong.sum())} entries where it should not be: "
                f"what {absent} entries of the output contribute is left out."
            )
            expanded = self._expanded()
            if expanded:
                return f"{text} The sum over the broadcast {_dimensions(expanded)} of the output is missing."
            return text
        if np.all(close(none, self.numerical, self.settings)[wrong]):
            return (
                f"It is right but for {int(wrong.sum())} entries that should be zero: it adds up contributions of "
                "entries that do not depend on each other."
            )
        return ""

    def _missing_factor(self) -> str:
        with np.errstate(all="ignore"):
            for name, factor in self._factors():
                for words, values in ((name, factor), (f"one over {name}", 1 / factor)):
                    if not np.isfinite(values).all() or np.allclose(values, values.flat[0]):
                        continue
                    constant = self._ratio(self.analytical * values)
                    if constant is None:
                        continue
                    times = "" if constant == 1 else f" times {_shown(constant)}"
                    return f"The ratio numerical / analytical is {words}{times}: that factor is missing."
        return ""

    def _factors(self) -> Iterator[tuple[str, Array]]:
        """Yield what a derivative is likely to be multiplied by, as something that broadcasts to the Jacobian."""
        if not self.forward or self.input._tl_data.dtype.kind != "c":
            yield "the input", host(self.input).reshape(-1, 1)
        yield "the output", host(self.checked.outputs[self.number]).reshape(1, -1)
        for k, tensor in enumerate(self.checked.inputs):
            if k == self.index:
                continue
            values = host(tensor)
            for shape, place in ((self.rows, (-1, 1)), (self.columns, (1, -1))):
                try:
                    spread = np.broadcast_to(values, shape)
                except ValueError:
                    continue
                yield f"input {k}", spread.reshape(place)

    def _offset(self) -> str:
        apart = self.numerical - self.analytical
        if apart.size < 2 or not np.allclose(apart, apart.flat[0], rtol=1e-3, atol=self.settings.atol):
            return ""
        return f"It is off by {_shown(complex(apart.flat[0]))} in every entry: something is added, not multiplied."

    def _kink(self, worst: tuple[int, int]) -> str:
        if self._precision():  # Rounding alone looks like a kink.
            return ""
        axes = 2 if self.input._tl_data.dtype.kind == "c" else 1
        left, right = one_sided(
            self.checked, self.input, worst[0] * axes, worst[1], self.checked.positions[self.number], self.settings.eps
        )
        with np.errstate(all="ignore"):
            if not abs(left - right) > 1e-2 * max(abs(left), abs(right)) + 10 * self.settings.atol:
                return ""
        return (
            f"At the entry named next the slope is {_shown(left)} on the left and {_shown(right)} on the right: the "
            "function has a kink or a jump there, and no derivative. Check it at other inputs."
        )

    def _precision(self) -> str:
        dtype = self.input._tl_data.dtype
        if dtype.itemsize >= (16 if dtype.kind == "c" else 8):
            return ""
        return f"Finite differences of {dtype} are mostly rounding error: use inputs of double precision."


def _shown(value: complex) -> str:
    value = complex(value) + 0  # No minus before a zero.
    return f"{value.real:.6g}" if abs(value.imag) <= 1e-6 * abs(value) else f"{value:.6g}"


def _dimensions(which: list[int]) -> str:
    return f"dimension {which[0]}" if len(which) == 1 else f"dimensions {', '.join(map(str, which))}"
