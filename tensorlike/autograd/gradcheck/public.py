"""`gradcheck` and `gradgradcheck`: their arguments, and what is checked in which order."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from tensorlike.dispatch.tracebacks import short_tracebacks

from ..backward_and_grad import grad
from ..grad_mode import enable_grad
from .inputs import GradcheckError, Settings, as_tuple, requiring, tensors_in

if TYPE_CHECKING:
    from tensorlike.tensor import Tensor

__all__ = ["gradcheck", "gradgradcheck"]


@short_tracebacks
def gradcheck(
    func: Callable[..., Any],
    inputs: Tensor | Sequence[Any],
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False,
    check_batched_grad: bool = False,
    check_batched_forward_grad: bool = False,
    check_forward_ad: bool = False,
    check_backward_ad: bool = True,
    fast_mode: bool = False,
    masked: bool | None = None,
) -> bool:
    """Return whether the derivatives of `func` at `inputs` agree with finite differences.

    `inputs` is a tensor or a tuple; those that require grad are checked, and should be of double precision, real or
    complex. `eps` is the step, `atol` and `rtol` the tolerances.

    - `raise_exception`: raise GradcheckError where they differ, which shows both, where they part, and a guess why.
    - `nondet_tol`: how much two runs of backward may differ.
    - `check_undefined_grad`: gradients and tangents may be missing, and count as zero.
    - `check_grad_dtypes`: gradients have the dtype of what they are the gradient of.
    - `check_batched_grad`, `check_batched_forward_grad`: `vmap` over backward, and over forward mode, agrees.
    - `check_forward_ad`, `check_backward_ad`: which of the two modes is compared.
    - `fast_mode`: compare along random directions, at two calls an input, instead of every entry.
    - `masked`: says how sparse tensors are read; all tensors here are dense.

    Raises ValueError when no input requires grad, RuntimeError for an input whose entries share memory, AssertionError
    for arguments that exclude each other.

    >>> x = tl.tensor([1.0, 2.0], dtype=tl.float64, requires_grad=True)
    >>> tl.autograd.gradcheck(lambda x: x * x, x, check_forward_ad=True)
    True
    """
    if not check_forward_ad and not check_backward_ad:
        raise AssertionError("Expected at least one of check_forward_ad or check_backward_ad to be True")
    if check_batched_grad and not check_backward_ad:
        raise AssertionError("Setting check_batched_grad=True requires check_backward_ad to be True")
    if check_batched_forward_grad and not check_forward_ad:
        raise AssertionError("Setting check_batched_forward_grad=True requires check_forward_ad to be True")
    settings = Settings(
        eps, atol, rtol, nondet_tol, check_undefined_grad, check_grad_dtypes, check_batched_grad,
        check_batched_forward_grad, check_forward_ad, check_backward_ad, fast_mode,
    )  # fmt: skip
    return _answered(func, as_tuple(inputs), settings, raise_exception)


def _answered(func: Callable[..., Any], inputs: tuple[Any, ...], settings: Settings, raise_exception: bool) -> bool:
    from .checking import check  # noqa: PLC0415 - 8 ms of the import, for a function that tests call

    try:
        check(func, inputs, settings)
    except GradcheckError:
        if raise_exception:
            raise
        return False
    return True


@short_tracebacks
def gradgradcheck(
    func: Callable[..., Any],
    inputs: Tensor | Sequence[Any],
    grad_outputs: Tensor | Sequence[Tensor] | None = None,
    *,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    gen_non_contig_grad_outputs: bool = False,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False,
    check_batched_grad: bool = False,
    check_fwd_over_rev: bool = False,
    check_rev_over_rev: bool = True,
    fast_mode: bool = False,
    masked: bool = False,
) -> bool:
    """Return whether the derivatives of the gradients of `func` at `inputs` agree with finite differences.

    `grad_outputs` are the gradients that the first backward starts with; random ones unless given, which do not lie
    side by side in memory with `gen_non_contig_grad_outputs`. `check_rev_over_rev` differentiates the gradients by
    backward, `check_fwd_over_rev` by forward mode. The rest is as for `gradcheck`.

    Raises ValueError when no input or no output requires grad, AssertionError for arguments that exclude each other.

    >>> x = tl.tensor([1.0, 2.0], dtype=tl.float64, requires_grad=True)
    >>> tl.autograd.gradgradcheck(lambda x: x**3, x, check_fwd_over_rev=True)
    True
    """
    if not check_fwd_over_rev and not check_rev_over_rev:
        raise AssertionError("Expected at least one of check_fwd_over_rev or check_rev_over_rev to be True")
    if check_undefined_grad and not check_rev_over_rev:
        raise AssertionError("Setting check_undefined_grad=True requires check_rev_over_rev to be True")
    if check_batched_grad and not check_rev_over_rev:
        raise AssertionError("Setting check_batched_grad=True requires check_rev_over_rev to be True")
    arguments = as_tuple(inputs)
    moving = requiring(arguments)
    if not moving:
        raise ValueError(
            "gradgradcheck expects at least one input tensor to require gradient, but none of them have "
            "requires_grad=True."
        )
    with enable_grad():
        outputs = requiring(as_tuple(func(*arguments)))
    if not outputs:
        raise ValueError("gradgradcheck expects an output of the function to require grad, and none does")
    if grad_outputs is None:
        random = np.random.default_rng(0)
        starts = [_random_gradient(random, o, gen_non_contig_grad_outputs) for o in outputs]
    else:
        starts = list(as_tuple(grad_outputs))
    count = len(arguments)
    requires = [t.requires_grad for t in tensors_in(arguments)]

    def gradients(*values: Any) -> tuple[Any, ...]:
        args = values[:count]
        with enable_grad():
            wanted = [t for t, flag in zip(tensors_in(args), requires, strict=True) if flag]
            for tensor in wanted:
                # Inputs from forward mode have a tangent and no history.
                if not tensor.requires_grad:
                    tensor.requires_grad_()
            found = requiring(as_tuple(func(*args)))
            results = grad(found, wanted, values[count:], create_graph=True, allow_unused=True)
        return tuple(r for r in results if r is not None)

    note = (
        f"(In gradgradcheck an output is the gradient of one of the {len(moving)} inputs, and from number "
        f"{len(moving)} on the inputs are the gradients that backward starts with.) If the first derivative is right, "
        "backward itself must be made of differentiable operations."
    )
    settings = Settings(
        eps, atol, rtol, nondet_tol, check_undefined_grad, check_grad_dtypes, check_batched_grad,
        False, check_fwd_over_rev, check_rev_over_rev, fast_mode, note,
    )  # fmt: skip
    return _answered(gradients, (*arguments, *starts), settings, raise_exception)


def _random_gradient(random: np.random.Generator, output: Tensor, spread: bool) -> Any:
    shape = tuple(output._tl_data.shape)
    if spread and shape:
        shape = (*shape[:-1], 2 * shape[-1])
    values = random.uniform(-1, 1, shape)
    if output._tl_data.dtype.kind == "c":
        values = values + 1j * random.uniform(-1, 1, shape)
    found = output.detach().new_tensor(np.asarray(values, dtype=output._tl_data.dtype))
    if spread and shape:
        found = found[..., ::2]
    return found.requires_grad_()
