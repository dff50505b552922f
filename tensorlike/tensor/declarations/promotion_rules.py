"""`Promotion`: the rules by which an operation brings its operands to one dtype, as its declaration names them."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum
from typing import Any

from . import runtime
from .runtime import promote_only

Rule = Callable[..., tuple[Any, ...]]

_DEFAULT_FLOAT = "Integers give the default floating-point dtype."
_REFUSED = "Raises NotImplementedError for"
_NOT_COMPLEX = f"{_REFUSED} complex elements."


class Promotion(Enum):
    """A rule that brings operands to their common dtype, and the dtypes for which NumPy's own rule is the same.

    A declaration names a member by its value: `@pointwise("exp", promotion="float")`. `rule(name, xp, operands)`
    returns the operands as the kernel takes them, or raises PyTorch's error. `fast_kinds` are the kinds of dtype
    (`numpy.dtype.kind`) for which a ufunc alone does the same, "" for all of them and None for none.
    `note` is what the docstrings of operations say of the rule.

    >>> Promotion.named("real").fast_kinds
    'biuf'
    """

    rule: Rule
    fast_kinds: str | None
    note: str

    def __new__(cls, value: str, rule: Rule, fast_kinds: str | None, note: str = "") -> Promotion:
        """Make a member whose value is the word that declarations use."""
        member = object.__new__(cls)
        member._value_ = value
        member.rule = rule
        member.fast_kinds = fast_kinds
        member.note = note
        return member

    @classmethod
    def named(cls, word: Promotion | str) -> Promotion:
        """Return the member of that value, or the member itself. Raises KeyError when there is none."""
        found: Promotion = word if isinstance(word, Promotion) else cls._value2member_map_[word]  # type: ignore[assignment]
        return found

    #: The common dtype.
    ARITHMETIC = "arithmetic", runtime.promote_arithmetic, ""
    #: The common dtype, and the default floating-point dtype for integers and booleans. A ufunc gives these another
    #: dtype, so that they are left to the rule; a kernel may not (`Declaration.fast_kinds`).
    FLOAT = "float", runtime.promote_float, "", _DEFAULT_FLOAT
    #: As FLOAT; complex numbers are refused.
    REAL_FLOAT = "real float", promote_only("f", "real", runtime.promote_float), "f", f"{_DEFAULT_FLOAT} {_NOT_COMPLEX}"
    #: The common dtype, which must not be boolean.
    NUMERIC = "numeric", runtime.promote_numeric, "iufc", f"{_REFUSED} booleans."
    #: The common dtype, which must not be complex.
    REAL = "real", runtime.promote_real, "biuf", _NOT_COMPLEX
    #: The common dtype, which must be neither boolean nor complex.
    REAL_NUMERIC = "real numeric", runtime.promote_real_numeric, "iuf", f"{_REFUSED} boolean and complex elements."
    #: The common dtype, which must be a real floating-point one.
    FLOATING = "floating", promote_only("f", "floating-point"), "f", f"{_REFUSED} other than floating-point elements."
    #: The common dtype, which must be a floating-point or complex one.
    INEXACT = "inexact", promote_only("fc", "floating-point and complex"), "fc", f"{_REFUSED} integers and booleans."
    #: The common dtype, which must be an integer one.
    INTEGERS = "integers", promote_only("iu", "integer"), "iu", f"{_REFUSED} other than integers."
    #: The common dtype, which must be an integer or the boolean one; `~` has words of its own.
    BITS = "bits", runtime.promote_bits, "biu", f"{_REFUSED} other than integers and booleans."
    #: As REAL, for a tensor and its bounds: the dtype must hold them.
    BOUNDS = "bounds", runtime.promote_bounds, "iuf", _NOT_COMPLEX
    #: As NUMERIC; an in-place form refuses complex numbers, whose magnitude is real.
    MAGNITUDE = "magnitude", runtime.promote_magnitude, "iuf"
    #: The operand as it is, which must not be boolean.
    NEGATION = "negation", runtime.promote_negation, ""
    #: As NUMERIC, for a base and its exponent: an integer has no negative power that is one.
    POWER = "power", runtime.promote_power, "iufc"
    #: The operands as they are: the kernel's options decide.
    QUOTIENT = "quotient", runtime.promote_nothing, ""
    #: The common dtype; PyTorch has its own words for booleans.
    SUBTRACTION = "subtraction", runtime.promote_subtraction, "iufc"
