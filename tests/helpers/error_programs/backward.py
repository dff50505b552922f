"""Programs that raise in backward, hooks, custom Functions and checkpoints."""

from __future__ import annotations

import functools
from typing import Any

from .common import PROGRAMS, Program, UserError, Watch, fail, leaf, program, used

# ------------------------------------------------------------------------------------------------------------ backward


@program
def tensor_hook_raises(T: Any, watch: Watch) -> Any:
    x = used(T, watch)
    x.register_hook(fail)
    return (x * x).sum().backward()


@program
def leaf_hook_raises(T: Any, watch: Watch) -> Any:
    x = leaf(T, watch)
    x.register_hook(fail)
    return (x * x).sum().backward()


@program
def accumulation_hook_raises(T: Any, watch: Watch) -> Any:
    x = leaf(T, watch)
    x.register_post_accumulate_grad_hook(fail)
    return (x * x).sum().backward()


@program
def node_hook_raises(T: Any, watch: Watch) -> Any:
    y = watch(used(T, watch).exp())
    y.grad_fn.register_hook(fail)
    return y.sum().backward()


@program
def node_prehook_raises(T: Any, watch: Watch) -> Any:
    y = watch(used(T, watch).exp())
    y.grad_fn.register_prehook(fail)
    return y.sum().backward()


@program
def multi_grad_hook_raises(T: Any, watch: Watch) -> Any:
    x, y = used(T, watch), used(T, watch)
    T.autograd.graph.register_multi_grad_hook((x, y), fail)
    return (x * y).sum().backward()


@program
def hook_returns_the_wrong_shape(T: Any, watch: Watch) -> Any:
    x = used(T, watch)
    x.register_hook(lambda grad: T.ones(7, 7))
    return (x * x).sum().backward()


@program
def backward_of_many_elements(T: Any, watch: Watch) -> Any:
    return used(T, watch).backward()


@program
def backward_twice(T: Any, watch: Watch) -> Any:
    y = watch(used(T, watch).exp().sum())
    y.backward()
    return y.backward()


@program
def backward_of_what_was_written_to(T: Any, watch: Watch) -> Any:
    x = used(T, watch)
    y = x * x
    x.add_(1)
    return y.sum().backward()


@program
def backward_with_the_wrong_gradient(T: Any, watch: Watch) -> Any:
    return used(T, watch).backward(watch(T.ones(7)))


@program
def grad_of_what_is_unused(T: Any, watch: Watch) -> Any:
    return T.autograd.grad(used(T, watch).sum(), leaf(T, watch))


@program
def anomaly_finds_nan(T: Any, watch: Watch) -> Any:
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with T.autograd.detect_anomaly():
            x = watch(T.zeros(3, dtype=T.float64, requires_grad=True))
            return (x * 2).sqrt().mul(0).sum().backward()


@program
def hook_raises_under_anomaly(T: Any, watch: Watch) -> Any:
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with T.autograd.detect_anomaly():
            x = used(T, watch)
            x.register_hook(fail)
            return (x * x).sum().backward()


@program
def backward_inside_of_backward_raises(T: Any, watch: Watch) -> Any:
    x, inner = used(T, watch), used(T, watch)
    inner.register_hook(fail)
    total = (inner * inner).sum()
    x.register_hook(lambda grad: total.backward())
    return (x * x).sum().backward()


# ------------------------------------------------------------------------------------------------- functions and hooks


@functools.cache
def function_of(T: Any, **methods: Any) -> Any:
    plain = {"forward": _doubled, "backward": lambda ctx, grad: grad * 2}
    made = {name: staticmethod(method) for name, method in (plain | methods).items() if method is not None}
    return type("Doubled", (T.autograd.Function,), made)


def _doubled(ctx: Any, x: Any) -> Any:
    ctx.save_for_backward(x)
    return x * 2


def _doubled_alone(x: Any) -> Any:
    return x * 2


def _reads_what_was_saved_and_fails(ctx: Any, grad: Any) -> Any:
    (x,) = ctx.saved_tensors
    raise UserError(x.shape)


def _twice(ctx: Any, grad: Any) -> Any:
    return grad, grad


def _misshapen(ctx: Any, grad: Any) -> Any:
    return grad.new_ones(5, 5)


def tripled(ctx: Any, grad: Any) -> Any:
    return grad * 3


def looks(ctx: Any, grad: Any) -> Any:
    return grad * (2 if grad.sum().item() > 0 else 3)


@functools.cache
def _once(T: Any) -> Any:
    return T.autograd.function.once_differentiable(lambda ctx, grad: grad * 2)


def setup(ctx: Any, inputs: Any, output: Any) -> None:
    ctx.save_for_backward(*inputs)
    ctx.save_for_forward(*inputs)


@program
def function_forward_raises(T: Any, watch: Watch) -> Any:
    return function_of(T, forward=fail).apply(used(T, watch))


@program
def function_setup_context_raises(T: Any, watch: Watch) -> Any:
    return function_of(T, forward=_doubled_alone, setup_context=fail).apply(used(T, watch))


@program
def function_backward_raises(T: Any, watch: Watch) -> Any:
    return function_of(T, backward=fail).apply(used(T, watch)).sum().backward()


@program
def function_backward_raises_with_what_was_saved(T: Any, watch: Watch) -> Any:
    return function_of(T, backward=_reads_what_was_saved_and_fails).apply(used(T, watch)).sum().backward()


@program
def function_backward_gives_too_many(T: Any, watch: Watch) -> Any:
    return function_of(T, backward=_twice).apply(used(T, watch)).sum().backward()


@program
def function_backward_gives_the_wrong_shape(T: Any, watch: Watch) -> Any:
    return function_of(T, backward=_misshapen).apply(used(T, watch)).sum().backward()


@program
def function_backward_is_missing(T: Any, watch: Watch) -> Any:
    return function_of(T, backward=None).apply(used(T, watch)).sum().backward()


@program
def function_once_differentiable_twice(T: Any, watch: Watch) -> Any:
    x = used(T, watch)
    y = function_of(T, backward=_once(T)).apply(x)
    (grad,) = T.autograd.grad((y * y).sum(), x, create_graph=True)
    return grad.sum().backward()


@program
def function_jvp_raises(T: Any, watch: Watch) -> Any:
    made = function_of(T, forward=_doubled_alone, setup_context=setup, jvp=fail)
    forward_ad = T.autograd.forward_ad
    with forward_ad.dual_level():
        x = watch(T.ones(3, dtype=T.float64))
        return made.apply(forward_ad.make_dual(x, watch(T.ones(3, dtype=T.float64))))


@program
def function_vmap_raises(T: Any, watch: Watch) -> Any:
    made = function_of(T, forward=_doubled_alone, setup_context=setup, vmap=fail)
    return T.vmap(made.apply)(used(T, watch))


@program
def function_vmap_is_missing(T: Any, watch: Watch) -> Any:
    return T.vmap(function_of(T, forward=_doubled_alone, setup_context=setup).apply)(used(T, watch))


@program
def pack_hook_raises(T: Any, watch: Watch) -> Any:
    x = used(T, watch)
    with T.autograd.graph.saved_tensors_hooks(fail, lambda t: t):
        return x * x


@program
def unpack_hook_raises(T: Any, watch: Watch) -> Any:
    x = used(T, watch)
    with T.autograd.graph.saved_tensors_hooks(lambda t: t, fail):
        y = x * x
    return y.sum().backward()


@program
def unpack_hook_gives_the_wrong_shape(T: Any, watch: Watch) -> Any:
    x = used(T, watch, 3, 4)
    with T.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: T.ones(5, 7, dtype=T.float64)):
        y = x @ used(T, watch, 4, 2)
    return y.sum().backward()


@program
def unpack_hook_gives_no_tensor(T: Any, watch: Watch) -> Any:
    x = used(T, watch)
    with T.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: "no"):
        y = x * x
    return y.sum().backward()


# ---------------------------------------------------------------------------------------------------------- checkpoint


def _checkpoint(reentrant: bool, when: str) -> Program:
    def run(T: Any, watch: Watch) -> Any:
        from importlib import import_module

        checkpoint = import_module(f"{T.__name__}.utils.checkpoint").checkpoint
        calls = []

        def body(x: Any) -> Any:
            calls.append(1)
            y = watch(x.exp())
            if (when == "forward") or (when == "again" and len(calls) == 2):
                raise UserError(y.shape)
            return (y.double() * y)[: 1 if when == "other" and len(calls) == 2 else 2].exp()

        y = checkpoint(body, used(T, watch), use_reentrant=reentrant)
        return y.sum().backward()

    return run


for _when in ("forward", "again"):
    PROGRAMS[f"checkpoint_{_when}"] = _checkpoint(False, _when)
    PROGRAMS[f"reentrant_checkpoint_{_when}"] = _checkpoint(True, _when)
PROGRAMS["checkpoint_other"] = _checkpoint(False, "other")


@program
def checkpoint_saves_fewer(T: Any, watch: Watch) -> Any:
    from importlib import import_module

    checkpoint = import_module(f"{T.__name__}.utils.checkpoint").checkpoint
    calls = []

    def body(x: Any) -> Any:
        calls.append(1)
        return watch(x.exp()) * x if len(calls) == 1 else x * 1

    return checkpoint(body, used(T, watch), use_reentrant=False).sum().backward()


@program
def checkpoint_sequential_raises(T: Any, watch: Watch) -> Any:
    from importlib import import_module

    sequential = import_module(f"{T.__name__}.utils.checkpoint").checkpoint_sequential
    layers = [T.nn.Linear(3, 3, dtype=T.float64), T.nn.Linear(5, 3, dtype=T.float64), T.nn.Linear(3, 3)]
    return sequential(layers, 2, watch(used(T, watch, 2, 3)), use_reentrant=False)


@program
def nested_checkpoint_raises(T: Any, watch: Watch) -> Any:
    from importlib import import_module

    checkpoint = import_module(f"{T.__name__}.utils.checkpoint").checkpoint
    calls = []

    def inner(x: Any) -> Any:
        calls.append(1)
        if len(calls) == 2:
            raise UserError("no")
        return watch(x.sin().exp())

    def outer(x: Any) -> Any:
        return checkpoint(inner, x.exp(), use_reentrant=False).cos()

    return checkpoint(outer, used(T, watch), use_reentrant=False).sum().backward()
