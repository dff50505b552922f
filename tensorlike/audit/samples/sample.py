"""Sample inputs of operations, used by the tests, the audit and the conformance suite.

    @samples("tensorlike.mul", dtypes=ALL, reference=np.multiply)
    def _(make):
        yield SampleInput(make(2, 3), make(2, 3))
        yield SampleInput(make(2, 3), 2.5)

The samples of a function serve its method, its aliases, its in-place form and its operators as well; only methods
without a function (`tensorlike.Tensor.view`) have samples of their own. The same generator runs for every dtype asked
for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from tensorlike.autograd.tensor_base import wrap

FLOATING = ("float32", "float64")
COMPLEX = ("complex64", "complex128")
INTEGERS = ("int32", "int64", "uint8")
BITS = (*INTEGERS, "bool")
REAL = (*FLOATING, *INTEGERS)
NUMERIC = (*REAL, *COMPLEX)
ALL = (*NUMERIC, "bool")


class SampleInput:
    """The arguments of one call, the first operand first."""

    __slots__ = ("args", "broadcasts", "kwargs", "name")

    def __init__(self, *args: Any, name: str = "", broadcasts: bool = False, **kwargs: Any) -> None:
        self.args = args
        self.kwargs = kwargs
        self.name = name
        #: The result is larger than the first operand: the in-place form refuses these arguments.
        self.broadcasts = broadcasts

    def __repr__(self) -> str:
        shown = [_shown(a) for a in self.args] + [f"{k}={_shown(v)}" for k, v in self.kwargs.items()]
        return f"({', '.join(shown)})"


def _shown(value: object) -> str:
    if hasattr(value, "_tl_data"):
        return f"<{value._tl_data.dtype} {list(value._tl_data.shape)}>"
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(_shown, value))}]"
    return repr(value)


class Make:
    """Makes the tensors of samples: of one dtype, reproducible, requiring grad if asked for."""

    def __init__(self, dtype: str = "float64", *, requires_grad: bool = False, seed: int = 0) -> None:
        self.dtype = np.dtype(dtype)
        self.requires_grad = requires_grad
        self.random = np.random.default_rng(seed)

    def __call__(
        self,
        *shape: int,
        low: float | None = None,
        high: float | None = None,
        dtype: str | None = None,
        requires_grad: bool | None = None,
        contiguous: bool = True,
    ) -> Any:
        """Return a tensor of numbers from `low` to `high` (by default -3 to 3; 0 to 9 for unsigned integers)."""
        kind = np.dtype(dtype) if dtype is not None else self.dtype
        array = self.array(*shape, low=low, high=high, dtype=kind)
        if not contiguous and array.ndim and array.size:
            wide = np.repeat(array, 2, axis=-1)
            wide[..., ::2] = array
            array = wide[..., ::2]
        tensor = wrap(array)
        wanted = self.requires_grad if requires_grad is None else requires_grad
        if wanted and kind.kind in "fc":
            tensor.requires_grad_()
        return tensor

    def array(
        self, *shape: int, low: float | None = None, high: float | None = None,
        dtype: np.dtype[Any] | type | None = None,
    ) -> Any:  # fmt: skip
        """Return a NumPy array of numbers from `low` to `high`."""
        kind = np.dtype(dtype) if dtype is not None else self.dtype
        if kind.kind == "b":
            return self.random.integers(0, 2, shape).astype(bool)
        if kind.kind in "iu":
            least = 0 if kind.kind == "u" else -5
            first = least if low is None else max(least, int(np.ceil(low)))
            last = 9 if high is None else int(np.floor(high))
            return self.random.integers(first, max(last, first) + 1, shape).astype(kind)
        first_f = -3.0 if low is None else low
        last_f = 3.0 if high is None else high
        values = self.random.uniform(first_f, last_f, shape)
        if kind.kind == "c":
            values = values + 1j * self.random.uniform(first_f, last_f, shape)
        return np.asarray(values).astype(kind)

    def integers(self, *shape: int, low: int = 0, high: int = 3, dtype: str = "int64") -> Any:
        """Return a tensor of integers from `low` up to, and without, `high`: indices, mostly."""
        return wrap(np.asarray(self.random.integers(low, high, shape)).astype(dtype))

    def bools(self, *shape: int) -> Any:
        """Return a tensor of booleans."""
        return wrap(np.asarray(self.random.integers(0, 2, shape)).astype(bool))

    def distinct(self, *shape: int, dtype: str | None = None) -> Any:
        """Return a tensor of numbers so far apart that small changes keep their order."""
        kind = np.dtype(dtype) if dtype is not None else self.dtype
        count = int(np.prod(shape))
        values = self.random.permutation(count).reshape(shape)
        tensor = wrap(np.asarray(values if kind.kind in "iu" else values * 0.5 - count / 4).astype(kind))
        if self.requires_grad and kind.kind in "fc":
            tensor.requires_grad_()
        return tensor


class Samples:
    """The samples of one operation, and the expectations of the tests."""

    def __init__(
        self,
        generate: Callable[[Make], Iterator[SampleInput]],
        *,
        dtypes: Sequence[str],
        reference: Callable[..., Any] | None,
        gradcheck: bool,
        gradgradcheck: bool,
        deterministic: bool,
        torch_name: str | None,
        tolerance: float | None,
        reason: str,
    ) -> None:
        self._generate = generate
        self.dtypes = tuple(dtypes)
        self.reference = reference
        self.gradcheck = gradcheck
        self.gradgradcheck = gradgradcheck
        self.deterministic = deterministic
        self.torch_name = torch_name
        self.tolerance = tolerance
        self.reason = reason

    def generate(self, dtype: str = "float64", *, requires_grad: bool = False, seed: int = 0) -> list[SampleInput]:
        """Return the samples for one dtype."""
        return list(self._generate(Make(dtype, requires_grad=requires_grad, seed=seed)))


SAMPLES: dict[str, Samples] = {}


def samples(
    *names: str,
    dtypes: Sequence[str] = FLOATING,
    reference: Callable[..., Any] | None = None,
    gradcheck: bool = True,
    gradgradcheck: bool | None = None,
    deterministic: bool = True,
    torch_name: str | None = None,
    tolerance: float | None = None,
    reason: str = "",
) -> Callable[[Callable[[Make], Iterator[SampleInput]]], Callable[[Make], Iterator[SampleInput]]]:
    """Register a generator of samples for the functions `names`.

    `dtypes` are those the operation takes for its first operand. `reference` is a function on NumPy arrays with the
    same arguments. `gradcheck=False` and `deterministic=False` need a `reason`.
    """
    if (not gradcheck or not deterministic) and not reason:
        raise ValueError(f"samples of {names}: say why, in `reason`")

    def register(generate: Callable[[Make], Iterator[SampleInput]]) -> Callable[[Make], Iterator[SampleInput]]:
        for name in names:
            if name in SAMPLES:
                raise ValueError(f"samples of {name} are given twice")
            SAMPLES[name] = Samples(
                generate,
                dtypes=dtypes,
                reference=reference,
                gradcheck=gradcheck,
                gradgradcheck=gradcheck if gradgradcheck is None else gradgradcheck,
                deterministic=deterministic,
                torch_name=torch_name,
                tolerance=tolerance,
                reason=reason,
            )
        return generate

    return register
