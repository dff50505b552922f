"""Programs that end with an error: raised in code of the user, or by what is built on tensors.

Each takes the library, tensorlike or PyTorch, and `watch`, which it gives the objects that must be gone when the error
has been caught and dropped. Each raises.
"""

from __future__ import annotations

import copy
import functools
import io
import pickle
import threading
from collections.abc import Callable
from typing import Any

Watch = Callable[[Any], Any]
Program = Callable[[Any, Watch], Any]

PROGRAMS: dict[str, Program] = {}


class UserError(Exception):
    """What the user's code raises."""


def program(function: Program) -> Program:
    PROGRAMS[function.__name__] = function
    return function


def leaf(T: Any, watch: Watch, *shape: int) -> Any:
    return watch(T.ones(*(shape or (3,)), dtype=T.float64, requires_grad=True))


def used(T: Any, watch: Watch, *shape: int) -> Any:
    """A tensor with a graph behind it."""
    found = watch(leaf(T, watch, *shape) * 2)
    watch(found.grad_fn)
    return found


def fail(*args: Any, **kwargs: Any) -> Any:
    raise UserError("no")


# ----------------------------------------------------------------------------------------------------------- overrides


class Raises:
    def __init__(self, tensor: Any) -> None:
        self.tensor = tensor

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        raise UserError("no")


class RaisesFrom(Raises):
    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        try:
            raise UserError("first")
        except UserError as error:
            raise RuntimeError("second") from error


class Refuses(Raises):
    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return NotImplemented


class Recurses(Raises):
    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return func(*args, **(kwargs or {}))


class Quarrels(Raises):
    """Calls the function with what it holds, which does not fit."""

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return func(*(a.tensor if isinstance(a, Raises) else a for a in args), **(kwargs or {}))


def _duck(kind: Any) -> Program:
    def run(T: Any, watch: Watch) -> Any:
        return T.matmul(watch(kind(used(T, watch))), used(T, watch, 2, 2))

    return run


for _kind in (Raises, RaisesFrom, Refuses, Recurses, Quarrels):
    PROGRAMS[f"duck_{_kind.__name__.lower()}"] = _duck(_kind)


@program
def subclass_raises(T: Any, watch: Watch) -> Any:
    return T.add(used(T, watch).as_subclass(_subclass(T, True)), used(T, watch))


# Every class is part of a cycle, so they are made once.


@functools.cache
def _subclass(T: Any, raises: bool) -> Any:
    return type("Sub", (T.Tensor,), {"__torch_function__": Raises.__dict__["__torch_function__"]} if raises else {})


@functools.cache
def _mode(T: Any, handler: Any) -> Any:
    return type("Mode", (T.overrides.TorchFunctionMode,), {"__torch_function__": handler})


def _through(self: Any, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
    return func(*args, **(kwargs or {}))


@program
def subclass_misused(T: Any, watch: Watch) -> Any:
    return T.matmul(used(T, watch).as_subclass(_subclass(T, False)), used(T, watch, 2, 2))


@program
def mode_raises(T: Any, watch: Watch) -> Any:
    x, y = used(T, watch), used(T, watch)
    with _mode(T, fail)():
        return T.add(x, y)


@program
def error_through_modes(T: Any, watch: Watch) -> Any:
    with _mode(T, _through)(), _mode(T, _through)():
        return T.matmul(used(T, watch), used(T, watch, 2, 2))


@program
def mode_body_raises(T: Any, watch: Watch) -> Any:
    with _mode(T, _through)():
        x = used(T, watch)
        raise UserError(x.shape)


# ------------------------------------------------------------------------------------------------------------ contexts


def _in_context(enter: Callable[[Any], Any]) -> Program:
    def run(T: Any, watch: Watch) -> Any:
        with enter(T):
            return T.matmul(used_or_leaf(T, watch), T.ones(2, 2, dtype=T.float64))

    return run


def used_or_leaf(T: Any, watch: Watch) -> Any:
    return watch(leaf(T, watch) * 2)


CONTEXTS: dict[str, Callable[[Any], Any]] = {
    "no_grad": lambda T: T.no_grad(),
    "enable_grad": lambda T: T.enable_grad(),
    "set_grad_enabled": lambda T: T.set_grad_enabled(False),
    "inference_mode": lambda T: T.inference_mode(),
    "saved_tensors_hooks": lambda T: T.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t),
    "save_on_cpu": lambda T: T.autograd.graph.save_on_cpu(),
    "allow_mutation": lambda T: T.autograd.graph.allow_mutation_on_saved_tensors(),
    "fork_rng": lambda T: T.random.fork_rng(),
    "dual_level": lambda T: T.autograd.forward_ad.dual_level(),
    "set_multithreading_enabled": lambda T: T.autograd.set_multithreading_enabled(False),
}
for _name, _enter in CONTEXTS.items():
    PROGRAMS[f"error_in_{_name}"] = _in_context(_enter)


@program
def decorated_raises(T: Any, watch: Watch) -> Any:
    @T.no_grad()
    def run(x: Any) -> Any:
        raise UserError(x.shape)

    return run(used(T, watch))


@program
def decorated_generator_raises(T: Any, watch: Watch) -> Any:
    @T.no_grad()
    def run(x: Any) -> Any:
        yield x
        raise UserError("no")

    return list(run(used(T, watch)))


@program
def decorated_generator_is_thrown_at(T: Any, watch: Watch) -> Any:
    @T.no_grad()
    def run(x: Any) -> Any:
        try:
            yield x
        except UserError as error:
            raise RuntimeError("again") from error

    generator = run(used(T, watch))
    next(generator)
    return generator.throw(UserError("no"))


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
def _function(T: Any, **methods: Any) -> Any:
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


def _tripled(ctx: Any, grad: Any) -> Any:
    return grad * 3


def _looks(ctx: Any, grad: Any) -> Any:
    return grad * (2 if grad.sum().item() > 0 else 3)


@functools.cache
def _once(T: Any) -> Any:
    return T.autograd.function.once_differentiable(lambda ctx, grad: grad * 2)


def setup(ctx: Any, inputs: Any, output: Any) -> None:
    ctx.save_for_backward(*inputs)
    ctx.save_for_forward(*inputs)


@program
def function_forward_raises(T: Any, watch: Watch) -> Any:
    return _function(T, forward=fail).apply(used(T, watch))


@program
def function_setup_context_raises(T: Any, watch: Watch) -> Any:
    return _function(T, forward=_doubled_alone, setup_context=fail).apply(used(T, watch))


@program
def function_backward_raises(T: Any, watch: Watch) -> Any:
    return _function(T, backward=fail).apply(used(T, watch)).sum().backward()


@program
def function_backward_raises_with_what_was_saved(T: Any, watch: Watch) -> Any:
    return _function(T, backward=_reads_what_was_saved_and_fails).apply(used(T, watch)).sum().backward()


@program
def function_backward_gives_too_many(T: Any, watch: Watch) -> Any:
    return _function(T, backward=_twice).apply(used(T, watch)).sum().backward()


@program
def function_backward_gives_the_wrong_shape(T: Any, watch: Watch) -> Any:
    return _function(T, backward=_misshapen).apply(used(T, watch)).sum().backward()


@program
def function_backward_is_missing(T: Any, watch: Watch) -> Any:
    return _function(T, backward=None).apply(used(T, watch)).sum().backward()


@program
def function_once_differentiable_twice(T: Any, watch: Watch) -> Any:
    x = used(T, watch)
    y = _function(T, backward=_once(T)).apply(x)
    (grad,) = T.autograd.grad((y * y).sum(), x, create_graph=True)
    return grad.sum().backward()


@program
def function_jvp_raises(T: Any, watch: Watch) -> Any:
    made = _function(T, forward=_doubled_alone, setup_context=setup, jvp=fail)
    forward_ad = T.autograd.forward_ad
    with forward_ad.dual_level():
        x = watch(T.ones(3, dtype=T.float64))
        return made.apply(forward_ad.make_dual(x, watch(T.ones(3, dtype=T.float64))))


@program
def function_vmap_raises(T: Any, watch: Watch) -> Any:
    made = _function(T, forward=_doubled_alone, setup_context=setup, vmap=fail)
    return T.vmap(made.apply)(used(T, watch))


@program
def function_vmap_is_missing(T: Any, watch: Watch) -> Any:
    return T.vmap(_function(T, forward=_doubled_alone, setup_context=setup).apply)(used(T, watch))


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


# ---------------------------------------------------------------------------------------------------------- transforms

TRANSFORMS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "vmap": lambda T, f, x: T.vmap(f)(x),
    "nested_vmap": lambda T, f, x: T.vmap(T.vmap(f))(T.stack([x, x])),
    "vmap_in_chunks": lambda T, f, x: T.vmap(f, chunk_size=2)(x),
    "grad": lambda T, f, x: T.func.grad(f)(x),
    "grad_of_grad": lambda T, f, x: T.func.grad(lambda y: T.func.grad(f)(y).sum())(x),
    "grad_and_value": lambda T, f, x: T.func.grad_and_value(f)(x),
    "vjp": lambda T, f, x: T.func.vjp(f, x),
    "jvp": lambda T, f, x: T.func.jvp(f, (x,), (T.ones_like(x),)),
    "jacrev": lambda T, f, x: T.func.jacrev(f)(x),
    "jacfwd": lambda T, f, x: T.func.jacfwd(f)(x),
    "hessian": lambda T, f, x: T.func.hessian(f)(x),
    "linearize": lambda T, f, x: T.func.linearize(f, x),
    "vmap_of_grad": lambda T, f, x: T.vmap(T.func.grad(f))(T.stack([x, x])),
    "functional_jacobian": lambda T, f, x: T.autograd.functional.jacobian(f, x),
    "functional_hvp": lambda T, f, x: T.autograd.functional.hvp(f, x, T.ones_like(x)),
    "gradcheck": lambda T, f, x: T.autograd.gradcheck(f, (x,)),
    "gradgradcheck": lambda T, f, x: T.autograd.gradgradcheck(f, (x,)),
}


def _transformed(name: str, kind: str) -> Program:
    def run(T: Any, watch: Watch) -> Any:
        def function(y: Any) -> Any:
            z = watch(y.exp())
            if kind == "raises":
                raise UserError("no")
            if kind == "misuses":
                return T.matmul(z, T.ones(7, 7, dtype=T.float64)).sum()
            return "no tensor"

        x = leaf(T, watch) if "gradcheck" in name else used(T, watch)
        return TRANSFORMS[name](T, function, x)

    return run


for _name in TRANSFORMS:
    for _case in ("raises", "misuses", *(["answers"] if _name != "gradcheck" else [])):
        PROGRAMS[f"{_name}_{_case}"] = _transformed(_name, _case)


@program
def vmap_in_dims(T: Any, watch: Watch) -> Any:
    return T.vmap(lambda x: x, in_dims=5)(used(T, watch))


@program
def vmap_item(T: Any, watch: Watch) -> Any:
    return T.vmap(lambda x: watch(x * 2).item())(used(T, watch))


@program
def vmap_condition(T: Any, watch: Watch) -> Any:
    return T.vmap(lambda x: x if (x * 2).sum() > 1 else -x)(used(T, watch))


@program
def vmap_random(T: Any, watch: Watch) -> Any:
    return T.vmap(lambda x: watch(x + T.rand(1)))(used(T, watch))


@program
def functional_call_misused(T: Any, watch: Watch) -> Any:
    module = T.nn.Linear(3, 2, dtype=T.float64)
    return T.func.functional_call(module, {"weight": watch(used(T, watch, 2, 7))}, used(T, watch))


@program
def gradcheck_finds_a_wrong_gradient(T: Any, watch: Watch) -> Any:
    return T.autograd.gradcheck(_function(T, backward=_tripled).apply, (leaf(T, watch),))


@program
def fast_gradcheck_finds_a_wrong_gradient(T: Any, watch: Watch) -> Any:
    return T.autograd.gradcheck(_function(T, backward=_tripled).apply, (leaf(T, watch),), fast_mode=True)


@program
def gradcheck_backward_raises(T: Any, watch: Watch) -> Any:
    return T.autograd.gradcheck(_function(T, backward=fail).apply, (leaf(T, watch),))


@program
def gradcheck_of_batches_fails(T: Any, watch: Watch) -> Any:
    return T.autograd.gradcheck(_function(T, backward=_looks).apply, (leaf(T, watch),), check_batched_grad=True)


@program
def dual_outside_of_a_level(T: Any, watch: Watch) -> Any:
    return T.autograd.forward_ad.make_dual(used(T, watch), used(T, watch))


@program
def dual_of_the_wrong_shape(T: Any, watch: Watch) -> Any:
    with T.autograd.forward_ad.dual_level():
        return T.autograd.forward_ad.make_dual(used(T, watch), used(T, watch, 2, 2))


# ----------------------------------------------------------------------------------------- modules, files, iteration


@program
def module_misused(T: Any, watch: Watch) -> Any:
    module = watch(T.nn.Sequential(T.nn.Linear(3, 2, dtype=T.float64), T.nn.Linear(7, 2, dtype=T.float64)))
    return module(used(T, watch))


@program
def module_forward_hook_raises(T: Any, watch: Watch) -> Any:
    module = T.nn.Linear(3, 2, dtype=T.float64)
    module.register_forward_hook(fail)
    return module(used(T, watch))


@program
def module_always_called_hook(T: Any, watch: Watch) -> Any:
    import warnings

    module = T.nn.Linear(3, 2, dtype=T.float64)
    module.register_forward_hook(fail, always_call=True)
    module.register_forward_pre_hook(fail)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return module(used(T, watch))


@program
def module_backward_hook_raises(T: Any, watch: Watch) -> Any:
    module = T.nn.Linear(3, 2, dtype=T.float64)
    module.register_full_backward_hook(fail)
    return module(used(T, watch)).sum().backward()


@program
def module_backward_pre_hook_raises(T: Any, watch: Watch) -> Any:
    module = T.nn.Linear(3, 2, dtype=T.float64)
    module.register_full_backward_pre_hook(fail)
    return module(used(T, watch)).sum().backward()


@program
def load_state_dict_misused(T: Any, watch: Watch) -> Any:
    state = {"weight": watch(T.ones(7, 7)), "other": watch(T.ones(2))}
    return watch(T.nn.Linear(3, 2)).load_state_dict(state)


@program
def optimizer_closure_raises(T: Any, watch: Watch) -> Any:
    x = leaf(T, watch)
    return T.optim.SGD([x], lr=0.1).step(fail)


@program
def optimizer_of_no_leaf(T: Any, watch: Watch) -> Any:
    return T.optim.SGD([used(T, watch)], lr=0.1)


@program
def clipping_finds_nan(T: Any, watch: Watch) -> Any:
    x = leaf(T, watch)
    x.grad = watch(T.full((3,), float("nan"), dtype=T.float64))
    return T.nn.utils.clip_grad_norm_([x], 1.0, error_if_nonfinite=True)


class Unpicklable:
    def __reduce__(self) -> Any:
        raise UserError("no")


@program
def save_of_what_cannot_be_pickled(T: Any, watch: Watch) -> Any:
    return T.save([leaf(T, watch), Unpicklable()], io.BytesIO())


@program
def save_of_a_function(T: Any, watch: Watch) -> Any:
    x = leaf(T, watch)
    return T.save({"x": x, "f": lambda: x}, io.BytesIO())


class Full(io.BytesIO):
    def write(self, *args: Any) -> Any:
        raise OSError("no space left")


@program
def save_to_a_file_that_raises(T: Any, watch: Watch) -> Any:
    return T.save([leaf(T, watch)], Full())


@program
def save_to_no_folder(T: Any, watch: Watch) -> Any:
    return T.save([leaf(T, watch)], "/no/such/folder/file.pt")


@program
def pickle_of_what_cannot_be_pickled(T: Any, watch: Watch) -> Any:
    return pickle.dumps([leaf(T, watch), Unpicklable()])


@program
def deepcopy_of_no_leaf(T: Any, watch: Watch) -> Any:
    return copy.deepcopy(used(T, watch))


@program
def deepcopy_of_what_cannot_be_copied(T: Any, watch: Watch) -> Any:
    module = watch(T.nn.Linear(3, 2))
    module.other = Unpicklable()
    return copy.deepcopy(module)


@program
def load_of_no_file(T: Any, watch: Watch) -> Any:
    return T.load(watch(io.BytesIO(b"nothing")))


@program
def load_of_half_a_file(T: Any, watch: Watch) -> Any:
    whole = io.BytesIO()
    T.save([T.ones(100)], whole)
    return T.load(watch(io.BytesIO(whole.getvalue()[:300])))


@program
def load_of_what_is_not_allowed(T: Any, watch: Watch) -> Any:
    whole = io.BytesIO()
    T.save([T.ones(100), UserError], whole)
    whole.seek(0)
    return T.load(watch(whole), weights_only=True)


@program
def load_whose_placing_raises(T: Any, watch: Watch) -> Any:
    whole = io.BytesIO()
    T.save([T.ones(100)], whole)
    whole.seek(0)
    return T.load(watch(whole), map_location=fail)


@program
def load_of_an_object_that_raises(T: Any, watch: Watch) -> Any:
    whole = io.BytesIO()
    T.save([T.ones(100), LoadRaises()], whole)
    whole.seek(0)
    return T.load(watch(whole), weights_only=False)


class LoadRaises:
    def __setstate__(self, state: Any) -> None:
        raise UserError("no")

    def __getstate__(self) -> Any:
        return {"something": 1}


@program
def iterating_over_a_scalar(T: Any, watch: Watch) -> Any:
    return list(used(T, watch).sum())


@program
def wrong_index(T: Any, watch: Watch) -> Any:
    return used(T, watch)[7]


@program
def wrong_index_written_to(T: Any, watch: Watch) -> Any:
    used(T, watch)[7] = used(T, watch)


@program
def truth_of_many(T: Any, watch: Watch) -> Any:
    return bool(used(T, watch))


@program
def numpy_of_what_requires_grad(T: Any, watch: Watch) -> Any:
    return used(T, watch).numpy()


@program
def tensor_of_what_is_ragged(T: Any, watch: Watch) -> Any:
    return T.tensor([[used(T, watch), used(T, watch)], [leaf(T, watch)]])


@program
def attribute_that_is_missing(T: Any, watch: Watch) -> Any:
    return used(T, watch).nothing_of_that_name


@program
def grad_of_the_wrong_shape(T: Any, watch: Watch) -> Any:
    leaf(T, watch).grad = used(T, watch, 2, 2)


@program
def requires_grad_of_integers(T: Any, watch: Watch) -> Any:
    return watch(T.ones(3, dtype=T.int64)).requires_grad_()


@program
def leaf_written_to(T: Any, watch: Watch) -> Any:
    return leaf(T, watch).add_(used(T, watch))


@program
def view_written_to_in_place(T: Any, watch: Watch) -> Any:
    x = used(T, watch, 4, 3)
    first, *_ = x.unbind(0)
    return watch(first).add_(1)


@program
def from_dlpack_of_nothing(T: Any, watch: Watch) -> Any:
    return T.from_dlpack(watch(Raises(used(T, watch))))


@program
def apply_raises(T: Any, watch: Watch) -> Any:
    return watch(T.ones(3)).apply_(fail)


# ------------------------------------------------------------------------------------------- threads and large arrays


@program
def large_operands_misused(T: Any, watch: Watch) -> Any:
    return watch(T.ones(1 << 20, dtype=T.float32)) + watch(T.ones(7))


@program
def error_kept_by_another_thread(T: Any, watch: Watch) -> Any:
    """A thread raises; the error is handed over as a result would be, and raised here."""
    kept: list[BaseException] = []

    def work() -> None:
        try:
            T.matmul(used(T, watch), used(T, watch, 2, 2))
        except RuntimeError as error:
            kept.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    raise kept.pop()


@program
def error_in_a_pool(T: Any, watch: Watch) -> Any:
    from concurrent.futures import ThreadPoolExecutor

    with ThreadPoolExecutor(2) as pool:
        return pool.submit(lambda: used(T, watch).backward()).result()


# ------------------------------------------------------------------------------------------------- tensorlike's alone

#: What PyTorch has nothing like.
OWN: dict[str, Program] = {}


def own(function: Program) -> Program:
    OWN[function.__name__] = function
    return function


@own
def raised_under_a_trace(T: Any, watch: Watch) -> Any:
    with T.overrides.trace():
        return T.matmul(watch(Raises(used(T, watch))), used(T, watch, 2, 2))


@own
def misused_under_a_trace(T: Any, watch: Watch) -> Any:
    with T.overrides.trace(plain=True):
        return T.matmul(used(T, watch), used(T, watch, 2, 2))


@own
def runaway_under_a_trace(T: Any, watch: Watch) -> Any:
    with T.overrides.trace():
        return T.matmul(watch(Recurses(used(T, watch))), used(T, watch, 2, 2))


class One(Refuses):
    pass


class Other(Refuses):
    pass


class Third(Refuses):
    pass


@functools.cache
def _rules(T: Any) -> None:
    T.overrides.register(T.add, (One, Other))(fail)
    T.overrides.register(T.add, (One, Third))(T.add)


@own
def rule_raises(T: Any, watch: Watch) -> Any:
    _rules(T)
    return T.add(watch(One(used(T, watch))), watch(Other(used(T, watch))))


@own
def runaway_rule(T: Any, watch: Watch) -> Any:
    _rules(T)
    return T.add(watch(One(used(T, watch))), watch(Third(used(T, watch))))


@own
def drawing_of_no_graph(T: Any, watch: Watch) -> Any:
    return T.autograd.graph.draw([watch(T.ones(3))])


@own
def default_refuses(T: Any, watch: Watch) -> Any:
    return T.add(used(T, watch), watch(Refuses(used(T, watch))))
