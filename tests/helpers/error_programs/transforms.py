"""Programs that raise in transforms and gradcheck."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .backward import function_of, looks, tripled
from .common import PROGRAMS, Program, UserError, Watch, fail, leaf, program, used

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
    return T.autograd.gradcheck(function_of(T, backward=tripled).apply, (leaf(T, watch),))


@program
def fast_gradcheck_finds_a_wrong_gradient(T: Any, watch: Watch) -> Any:
    return T.autograd.gradcheck(function_of(T, backward=tripled).apply, (leaf(T, watch),), fast_mode=True)


@program
def gradcheck_backward_raises(T: Any, watch: Watch) -> Any:
    return T.autograd.gradcheck(function_of(T, backward=fail).apply, (leaf(T, watch),))


@program
def gradcheck_of_batches_fails(T: Any, watch: Watch) -> Any:
    return T.autograd.gradcheck(function_of(T, backward=looks).apply, (leaf(T, watch),), check_batched_grad=True)


@program
def dual_outside_of_a_level(T: Any, watch: Watch) -> Any:
    return T.autograd.forward_ad.make_dual(used(T, watch), used(T, watch))


@program
def dual_of_the_wrong_shape(T: Any, watch: Watch) -> Any:
    with T.autograd.forward_ad.dual_level():
        return T.autograd.forward_ad.make_dual(used(T, watch), used(T, watch, 2, 2))
