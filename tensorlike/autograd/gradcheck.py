"""Gradients compared with finite differences: `gradcheck` for the first derivative, `gradgradcheck` for the second.

A real input is moved by `eps` in both directions, entry by entry; a complex one along the real and the imaginary axis.
The Jacobians are compared as PyTorch defines them (the conjugate Wirtinger derivative for complex values).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from .base import TensorBase, array_guard
from .functions import grad
from .grad_mode import enable_grad, no_grad

__all__ = ["GradcheckError", "gradcheck", "gradgradcheck"]


class GradcheckError(RuntimeError):
    """Raised by `gradcheck` and `gradgradcheck` when a gradient is wrong; the text says where."""


def _tensors_in(values: Any) -> Iterator[Any]:
    for value in values:
        if isinstance(value, TensorBase):
            yield value
        elif isinstance(value, (list, tuple)):
            yield from _tensors_in(value)


def _as_tuple(value: Any) -> tuple[Any, ...]:
    return tuple(value) if isinstance(value, (list, tuple)) else (value,)


def _differentiable(tensors: Any) -> list[Any]:
    return [t for t in tensors if isinstance(t, TensorBase) and t.requires_grad]  # type: ignore[attr-defined]


def _host(tensor: Any) -> np.ndarray[Any, Any]:
    found: np.ndarray[Any, Any] = tensor.detach().cpu()._data
    return found


def _numbers(tensor: Any) -> int:
    return int(tensor._data.size)


def _numerical(
    function: Callable[[], list[np.ndarray[Any, Any]]], tensor: Any, eps: float
) -> list[np.ndarray[Any, Any]]:
    """Return d(output)/d(entry of tensor) for each output as a matrix: entries of the tensor by entries of the output.

    For a complex tensor: the derivatives along the real and the imaginary axis, as a pair of rows for each entry.
    """
    array = tensor._data
    complex_input = array.dtype.kind == "c"
    steps = (eps, 1j * eps) if complex_input else (eps,)
    rows: list[list[np.ndarray[Any, Any]]] = []
    # The entries as numbers: on a GPU, what an index gives is a view of the array that is written to.
    originals = _host(tensor).copy()
    for index in np.ndindex(array.shape):
        original = originals[index]
        for step in steps:
            _write(array, index, original + step)
            plus = function()
            _write(array, index, original - step)
            minus = function()
            _write(array, index, original)
            rows.append([(p - m).reshape(-1) / (2 * eps) for p, m in zip(plus, minus, strict=True)])
    count = len(function()) if not rows else len(rows[0])
    if not rows:
        return [np.zeros((0, o.size)) for o in function()]
    return [np.stack([row[k] for row in rows]) for k in range(count)]


def _write(array: Any, index: tuple[int, ...], value: Any) -> None:
    with array_guard[0](array):
        array[index] = value


def _writeable(array: Any) -> bool:
    # Arrays on a GPU are, and do not say so.
    return bool(getattr(array.flags, "writeable", True))


def _analytical(output: Any, inputs: Sequence[Any], seed: complex) -> list[np.ndarray[Any, Any]]:
    """Return, for each input, the gradients of each entry of `output` times `seed`: a row for each of those entries."""
    size = _numbers(output)
    rows: list[list[np.ndarray[Any, Any]]] = [[] for _ in inputs]
    for k in range(size):
        start = np.zeros(size, dtype=output._data.dtype)
        start[k] = seed
        gradient = output.new_tensor(start.reshape(output._data.shape))
        found = grad(output, inputs, gradient, retain_graph=True, allow_unused=True)
        for row, tensor, g in zip(rows, inputs, found, strict=True):
            row.append(
                np.zeros(_numbers(tensor), dtype=tensor._data.dtype) if g is None else _host(g).reshape(-1).copy()
            )
    return [
        np.stack(row) if row else np.zeros((0, _numbers(t)), dtype=t._data.dtype)
        for row, t in zip(rows, inputs, strict=True)
    ]


def _close(a: np.ndarray[Any, Any], b: np.ndarray[Any, Any], rtol: float, atol: float) -> np.ndarray[Any, Any]:
    with np.errstate(all="ignore"):
        return np.asarray(np.isclose(a, b, rtol=rtol, atol=atol, equal_nan=False))


def _guess(numerical: np.ndarray[Any, Any], analytical: np.ndarray[Any, Any], rtol: float, atol: float) -> str:
    """Return a guess at what is wrong, or nothing."""
    if analytical.size == 0:
        return ""
    if not np.any(analytical) and np.any(numerical):
        return "The analytical gradient is zero everywhere: does backward return None, or detach what it saved?"
    if np.all(_close(numerical, -analytical, rtol, atol)):
        return "It differs by its sign only."
    if np.all(_close(numerical, np.conj(analytical), rtol, atol)):
        return "It is the complex conjugate of what it should be."
    significant = np.abs(analytical) > atol
    if significant.any():
        ratios = numerical[significant] / analytical[significant]
        factor = ratios.flat[0]
        if np.allclose(ratios, factor, rtol=1e-3) and np.all(_close(numerical, factor * analytical, rtol, atol)):
            shown = f"{factor.real:.6g}" if abs(complex(factor).imag) < 1e-9 else f"{factor:.6g}"
            return f"It is wrong by the constant factor {shown}."
    return ""


def _message(
    what: str,
    output_index: int,
    input_index: int,
    numerical: np.ndarray[Any, Any],
    analytical: np.ndarray[Any, Any],
    rtol: float,
    atol: float,
    input_shape: tuple[int, ...],
    output_shape: tuple[int, ...],
) -> str:
    wrong = np.argwhere(~_close(numerical, analytical, rtol, atol))
    lines = [
        f"{what} mismatch for output {output_index} with respect to input {input_index}, "
        f"in {len(wrong)} of {numerical.size} entries "
        f"(rows: entries of the input, of shape {list(input_shape)}; columns: of the output, of shape "
        f"{list(output_shape)})",
    ]
    guess = _guess(numerical, analytical, rtol, atol)
    if guess:
        lines.append(guess)
    for i, j in wrong[:5]:
        at_input = tuple(int(n) for n in np.unravel_index(i, input_shape)) if input_shape else ()
        at_output = tuple(int(n) for n in np.unravel_index(j, output_shape)) if output_shape else ()
        lines.append(
            f"  d output{list(at_output)} / d input{list(at_input)}: numerical {numerical[i, j]:.8g}, "
            f"analytical {analytical[i, j]:.8g}"
        )
    if len(wrong) > 5:
        lines.append(f"  and {len(wrong) - 5} more")
    lines += [f"numerical:\n{numerical}", f"analytical:\n{analytical}"]
    return "\n".join(lines)


def gradcheck(
    func: Callable[..., Any],
    inputs: Any,
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
    """Return whether the gradients of `func` at `inputs` agree with finite differences.

    `inputs` is a tensor or a tuple; those that require grad are checked, and should be of double precision. Raises
    GradcheckError, naming output, input and entries, unless `raise_exception=False`; ValueError when no input
    requires grad. `eps` is the step, `atol` and `rtol` the tolerances, `nondet_tol` how much two runs of backward may
    differ.

    >>> import tensorlike as tl
    >>> x = tl.tensor([1.0, 2.0], dtype=tl.float64, requires_grad=True)
    >>> tl.autograd.gradcheck(lambda x: x * x, x)
    True

    Source: PyTorch's `torch.autograd.gradcheck`.
    """
    try:
        return _gradcheck(func, _as_tuple(inputs), eps, atol, rtol, nondet_tol, check_undefined_grad, check_grad_dtypes)
    except GradcheckError:
        if raise_exception:
            raise
        return False


def _gradcheck(
    func: Callable[..., Any],
    inputs: tuple[Any, ...],
    eps: float,
    atol: float,
    rtol: float,
    nondet_tol: float,
    check_undefined_grad: bool,
    check_grad_dtypes: bool,
    what: str = "Jacobian",
) -> bool:
    checked = _differentiable(_tensors_in(inputs))
    if not checked:
        raise ValueError(
            "gradcheck expects at least one input tensor to require gradient, but none of the them have "
            "requires_grad=True."
        )
    for index, tensor in enumerate(checked):
        if tensor._data.dtype.kind == "f" and tensor._data.dtype.itemsize < 8 and eps < 1e-4:
            import warnings

            warnings.warn(
                f"Input #{index} requires gradient and is not a double precision floating point or complex. This check "
                "will likely fail if all the inputs are not of double precision floating point or complex.",
                UserWarning,
                stacklevel=4,
            )
        if 0 in tensor._data.strides and tensor._data.size > 1 and not _writeable(tensor._data):
            raise RuntimeError(
                f"input {index} of gradcheck has entries that share memory (as after expand()), which cannot be moved "
                "one by one: clone() it first"
            )
    with enable_grad():
        outputs = _as_tuple(func(*inputs))
    positions = [k for k, o in enumerate(outputs) if isinstance(o, TensorBase) and o._data.dtype.kind in "fc"]
    live = [k for k in positions if outputs[k].requires_grad]
    if not live:
        for tensor in checked:
            changed = _numerical(lambda: _forward(func, inputs, positions), tensor, eps)
            if any(np.any(np.abs(c) > atol) for c in changed):
                raise GradcheckError(
                    "Numerical gradient for function expected to be zero, because no output requires grad; the "
                    "function's result depends on its input, but the graph between them is cut"
                )
        return True
    for tensor in checked:
        _own_memory(tensor)
    for index, tensor in enumerate(checked):
        numerical = _numerical(lambda: _forward(func, inputs, live), tensor, eps)
        for slot, output_index in enumerate(live):
            _compare(
                outputs[output_index], output_index, tensor, index, numerical[slot], rtol, atol, nondet_tol,
                check_grad_dtypes, what,
            )  # fmt: skip
    if check_undefined_grad:
        _check_undefined(func, inputs, outputs, live, checked)
    return True


def _own_memory(tensor: Any) -> None:
    if not _writeable(tensor._data):
        tensor._data = tensor._data.copy()


def _forward(func: Callable[..., Any], inputs: tuple[Any, ...], positions: list[int]) -> list[np.ndarray[Any, Any]]:
    with no_grad():
        outputs = _as_tuple(func(*inputs))
    return [_host(outputs[k]).copy() for k in positions]


def _compare(
    output: Any,
    output_index: int,
    tensor: Any,
    index: int,
    numerical: np.ndarray[Any, Any],
    rtol: float,
    atol: float,
    nondet_tol: float,
    check_grad_dtypes: bool,
    what: str,
) -> None:
    complex_output = output._data.dtype.kind == "c"
    complex_input = tensor._data.dtype.kind == "c"
    parts: list[tuple[str, complex]] = [("", 1.0)]
    if complex_output:
        parts = [("the real part of ", 1.0), ("the imaginary part of ", 1j)]
    for words, seed in parts:
        (analytical,) = _analytical(output, [tensor], seed)
        (again,) = _analytical(output, [tensor], seed)
        with np.errstate(all="ignore"):
            if again.size and not np.all(np.abs(analytical - again) <= nondet_tol) and not np.isnan(analytical).any():
                raise GradcheckError(
                    f"Backward is not reentrant, i.e., running backward with same input and grad_output multiple times "
                    f"gives different values, although analytical gradient matches numerical gradient. output "
                    f"{output_index}, input {index}, largest difference {np.max(np.abs(analytical - again)):.3g}; the "
                    f"tolerance for nondeterminism was {nondet_tol}."
                )
        if check_grad_dtypes:
            (found,) = grad(output, [tensor], output.new_ones(output._data.shape), retain_graph=True, allow_unused=True)
            if found is not None and found._data.dtype != tensor._data.dtype:
                raise GradcheckError(
                    f"Input {index} has dtype {tensor._data.dtype}, but its gradient has dtype {found._data.dtype}"
                )
        gradient = analytical.T
        # The gradient of a real function L of z = x + iy is dL/dx + i dL/dy; of the real part of w * conj(seed) here.
        part = numerical.real if seed == 1.0 else numerical.imag
        expected = part[0::2] + 1j * part[1::2] if complex_input else part
        if not complex_input:
            gradient = gradient.real
        if not np.all(_close(expected, gradient, rtol, atol)):
            raise GradcheckError(
                _message(
                    f"{what}: {words}the gradient," if words else what,
                    output_index,
                    index,
                    expected,
                    gradient,
                    rtol,
                    atol,
                    tensor._data.shape,
                    output._data.shape,
                )
            )


def _check_undefined(
    func: Callable[..., Any], inputs: tuple[Any, ...], outputs: tuple[Any, ...], live: list[int], checked: list[Any]
) -> None:
    """Check that the backward copes with outputs that no gradient arrives for."""
    if len(live) < 2:
        return
    for k in live:
        with enable_grad():
            fresh = _as_tuple(func(*inputs))
        try:
            grad(fresh[k], checked, fresh[k].new_ones(fresh[k]._data.shape), allow_unused=True)
        except Exception as error:
            raise GradcheckError(
                f"Expected backward function to handle undefined output grads (here all but the one of output {k}); it "
                f"raised {type(error).__name__}: {error}. Please look at set_materialize_grads."
            ) from error


def gradgradcheck(
    func: Callable[..., Any],
    inputs: Any,
    grad_outputs: Any = None,
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
    """Return whether the gradients of the gradients of `func` at `inputs` agree with finite differences.

    `grad_outputs` are the gradients that the first backward starts with; random ones unless given. The rest is as for
    `gradcheck`.

    >>> import tensorlike as tl
    >>> x = tl.tensor([1.0, 2.0], dtype=tl.float64, requires_grad=True)
    >>> tl.autograd.gradgradcheck(lambda x: x**3, x)
    True

    Source: PyTorch's `torch.autograd.gradgradcheck`.
    """
    arguments = _as_tuple(inputs)
    with enable_grad():
        outputs = [o for o in _as_tuple(func(*arguments)) if isinstance(o, TensorBase)]
    outputs_live = [o for o in outputs if o.requires_grad]  # type: ignore[attr-defined]
    if not outputs_live:
        raise ValueError("gradgradcheck expects an output of the function to require grad, and none does")
    if grad_outputs is None:
        random = np.random.default_rng(0)
        starts = []
        for output in outputs_live:
            values = random.uniform(-1, 1, output._data.shape)
            if output._data.dtype.kind == "c":
                values = values + 1j * random.uniform(-1, 1, output._data.shape)
            starts.append(output.new_tensor(np.asarray(values)).requires_grad_())  # type: ignore[attr-defined]
    else:
        starts = list(_as_tuple(grad_outputs))
    count = len(starts)
    tensors = _differentiable(_tensors_in(arguments))

    def gradients(*values: Any) -> tuple[Any, ...]:
        args, seeds = values[:-count], values[-count:]
        with enable_grad():
            found = [o for o in _as_tuple(func(*args)) if isinstance(o, TensorBase) and o.requires_grad]  # type: ignore[attr-defined]
            results = grad(found, _differentiable(_tensors_in(args)), seeds, create_graph=True, allow_unused=True)
        return tuple(r for r in results if r is not None)

    del tensors
    try:
        return _gradcheck(
            gradients, (*arguments, *starts), eps, atol, rtol, nondet_tol, check_undefined_grad, check_grad_dtypes,
            what="Jacobian of the gradient",
        )  # fmt: skip
    except GradcheckError:
        if raise_exception:
            raise
        return False
