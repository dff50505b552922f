"""Results that are overwritten before backward: what autograd saved of a function is what PyTorch saves of it.

Every function with samples is called, one of its results is multiplied by 1 in place, as ReLU(inplace=True) would write
into it, and its gradient is taken. Either both libraries say that a saved value was overwritten, or neither does.
"""

from __future__ import annotations

from typing import Any

import pytest
import torch

import tensorlike as tl
from tensorlike.audit.samples import SAMPLES
from tensorlike.dispatch.pytree import map_instances
from tests.helpers.oracle import leaves, outcome
from tests.helpers.parity import Call, quietly, samples_of
from tests.helpers.rows import families, is_differentiable, mutates
from tests.helpers.values import tensors_in
from tests.parity.known import OURS_ALONE

FUNCTIONS = [
    name
    for name in families()
    if name not in OURS_ALONE
    and "float64" in SAMPLES[name].dtypes
    and is_differentiable(families()[name][0])
    and not mutates(families()[name][0])
]

OPERANDS = "PyTorch saves this result, ours computes the gradient from the operands: the result may be overwritten here"
REFUSED = "in PyTorch the function has no derivative, or one that fails for these operands"
VIEWS = "PyTorch writes it as a custom Function that returns views, which must not be modified in place"

#: The functions that differ, with the reason.
DIFFERENT = {
    **dict.fromkeys(
        (
            "ldexp", "pow", "cholesky_solve", "svd", "linalg.svdvals", "linalg.eigvalsh", "linalg.eigvals", "linalg.lu",
            "linalg.lu_solve", "linalg.householder_product", "orgqr", "ormqr", "linalg.tensorsolve", "vander",
            "linalg.lstsq", "linalg.cond", "nn.functional.scaled_dot_product_attention", "native_group_norm",
            "segment_reduce", "special.log_ndtr",
        ),
        OPERANDS,
    ),
    **dict.fromkeys(
        (
            "narrow_copy", "lu_unpack", "nn.functional.native_channel_shuffle", "native_channel_shuffle",
            "binary_cross_entropy_with_logits", "binomial", "bernoulli",
        ),
        REFUSED,
    ),
    **dict.fromkeys(("Tensor.resize", "Tensor.resize_as"), VIEWS),
}  # fmt: skip


def copies(value: Any, kind: type) -> Any:
    """Return `value` with the tensors that require grad copied, so that functions may write to them."""
    return map_instances(lambda t: t.clone() if t.requires_grad else t, value, kind)


def overwritten(results: list[Any], number: int) -> None:
    result = results[number]
    result.mul_(1)
    (result.abs() if result.is_complex() else result).sum().backward()


def outcomes(name: str) -> list[tuple[str, Exception | None, Exception | None]]:
    """Return for each sample and result what was raised in both libraries."""
    found = []
    for sample in samples_of(name, "float64", requires_grad=True):
        number, count = 0, 1
        while number < count:
            call = Call(name, "float64", sample)
            call.args, call.kwargs = copies([call.args, call.kwargs], tl.Tensor)
            call.their_args, call.their_kwargs = copies([call.their_args, call.their_kwargs], torch.Tensor)
            assert call.theirs_first()[1] is None
            assert call.ours()[1] is None
            ours = [t for t in tensors_in(call.result) if t.requires_grad]
            theirs = [t for t in leaves(call.expected) if t.requires_grad]
            count = min(len(ours), len(theirs))
            if count:
                errors = (outcome(quietly, overwritten, results, number)[1] for results in (ours, theirs))
                found.append((f"{call.what}, result {number}", *errors))
            number += 1
    return found


@pytest.mark.parametrize("name", FUNCTIONS)
def test_results_may_be_overwritten_where_they_may_be_in_pytorch(name: str) -> None:
    different = [
        f"{what}: {ours!r}, in PyTorch {theirs!r}"
        for what, ours, theirs in outcomes(name)
        if (ours is None) != (theirs is None) or (ours is not None and not isinstance(ours, RuntimeError))
    ]
    reason = DIFFERENT.get(name.removeprefix("tensorlike."))
    if reason is None:
        assert not different, "\n".join(different)
    else:
        assert different, f"no longer different: {reason}"
        assert all(": None, in PyTorch" in text for text in different), "\n".join(different)
