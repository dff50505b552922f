"""`nn.utils` and the hooks of all modules beside PyTorch's: the same steps in both libraries."""

from __future__ import annotations

import copy
import importlib
import pickle
import warnings
from collections.abc import Callable
from typing import Any

import pytest

import tensorlike as tl

from .test_nn_parity import assert_close, linear, numbers

torch = pytest.importorskip("torch", reason="PyTorch is what nn.utils is compared with")


def outcome(scenario: Callable[[Any], Any], library: Any) -> tuple[str, Any, list[tuple[str, str]]]:
    """Return what a scenario gives, or raises, in `library`, and its warnings."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            result: Any = numbers(scenario(library))
            kind = "value"
        except Exception as error:
            kind, result = type(error).__name__, str(error).replace("torch", "tensorlike")
    return kind, result, [(w.category.__name__, str(w.message).replace("torch", "tensorlike")) for w in caught]


def same(scenario: Callable[[Any], Any]) -> None:
    ours, theirs = outcome(scenario, tl), outcome(scenario, torch)
    assert ours[0] == theirs[0], (ours, theirs)
    assert ours[2] == theirs[2]
    assert_close(ours[1], theirs[1])


def filled(t: Any, *shape: int) -> Any:
    """Return numbers without a pattern, the same in both libraries."""
    count = 1
    for size in shape:
        count *= size
    return t.sin(t.arange(count, dtype=t.float64) * 1.7 + 0.3).reshape(shape)


def layer(t: Any, rows: int, columns: int) -> Any:
    module = t.nn.Linear(columns, rows, dtype=t.float64)
    with t.no_grad():
        module.weight.copy_(filled(t, rows, columns))
        module.bias.copy_(filled(t, rows))
    return module


def gradients(module: Any, x: Any) -> Any:
    module(x).square().sum().backward()
    return [(name, p.grad) for name, p in module.named_parameters()]


def state(module: Any) -> Any:
    return list(module.state_dict().items()), type(module).__name__, repr(module)


SHAPES = [(3, 3), (4, 2), (2, 4)]


class TestParametrizations:
    @pytest.mark.parametrize("shape", SHAPES, ids=str)
    @pytest.mark.parametrize("orthogonal_map", ["matrix_exp", "cayley", "householder"])
    @pytest.mark.parametrize("use_trivialization", [True, False])
    def test_orthogonal(self, shape, orthogonal_map, use_trivialization):
        def scenario(t: Any) -> Any:
            module = layer(t, *shape)
            # Columns that complete a basis are drawn; the maps of square matrices are compared whole.
            t.nn.utils.parametrizations.orthogonal(
                module, orthogonal_map=orthogonal_map, use_trivialization=use_trivialization
            )
            weight = module.weight.detach()
            product = weight.mT @ weight if shape[0] >= shape[1] else weight @ weight.mT
            if shape[0] != shape[1] and use_trivialization:
                return product, sorted(module.state_dict())
            return product, weight, gradients(module, filled(t, 5, shape[1])), state(module)

        same(scenario)

    def test_an_orthogonal_matrix_is_assigned(self):
        def scenario(t: Any) -> Any:
            module = t.nn.utils.parametrizations.orthogonal(layer(t, 3, 3))
            wanted, _ = t.linalg.qr(filled(t, 3, 3) + t.eye(3, dtype=t.float64))
            module.weight = wanted
            return (module.weight - wanted).abs().max() < 1e-12

        same(scenario)

    @pytest.mark.parametrize("dim", [0, 1, -1, None])
    def test_weight_norm(self, dim):
        def scenario(t: Any) -> Any:
            module = t.nn.utils.parametrizations.weight_norm(layer(t, 4, 3), dim=dim)
            return state(module), module.weight, gradients(module, filled(t, 2, 3))

        same(scenario)

    @pytest.mark.parametrize("dim", [0, 1, None])
    def test_the_old_weight_norm(self, dim):
        def scenario(t: Any) -> Any:
            module = t.nn.utils.weight_norm(layer(t, 4, 3), dim=dim)
            found = list(module.state_dict().items()), gradients(module, filled(t, 2, 3))
            return found, list(t.nn.utils.remove_weight_norm(module).state_dict().items())

        same(scenario)

    def test_a_state_of_the_old_weight_norm_is_read(self):
        def scenario(t: Any) -> Any:
            old = t.nn.utils.weight_norm(layer(t, 4, 3))
            new = t.nn.utils.parametrizations.weight_norm(t.nn.Linear(3, 4, dtype=t.float64))
            return str(new.load_state_dict(old.state_dict())), new.weight

        same(scenario)

    def test_spectral_norm(self):
        def converged(t: Any, module: Any) -> Any:
            for _ in range(50):
                module(filled(t, 2, 3))
            found = gradients(module, filled(t, 2, 3))
            return t.linalg.matrix_norm(module.weight, 2), found, sorted(module.state_dict())

        same(lambda t: converged(t, t.nn.utils.parametrizations.spectral_norm(layer(t, 4, 3), n_power_iterations=3)))
        same(lambda t: converged(t, t.nn.utils.spectral_norm(layer(t, 4, 3), n_power_iterations=3)))
        same(lambda t: t.nn.utils.parametrizations.spectral_norm(layer(t, 4, 3), "bias").bias)

    def test_the_old_spectral_norm_is_removed_and_saves_its_version(self):
        def scenario(t: Any) -> Any:
            module = t.nn.utils.spectral_norm(layer(t, 4, 3))
            metadata = module.state_dict()._metadata[""]
            module(filled(t, 2, 3))
            t.nn.utils.remove_spectral_norm(module)
            return metadata, sorted(module.state_dict()), len(module._forward_pre_hooks), len(module._state_dict_hooks)

        same(scenario)

    @pytest.mark.parametrize(
        "refused",
        [
            lambda t, u: u.weight_norm(u.weight_norm(layer(t, 2, 2))),
            lambda t, u: u.remove_weight_norm(layer(t, 2, 2)),
            lambda t, u: u.remove_spectral_norm(layer(t, 2, 2)),
            lambda t, u: u.spectral_norm(u.spectral_norm(layer(t, 2, 2))),
            lambda t, u: u.spectral_norm(layer(t, 2, 2), n_power_iterations=0),
            lambda t, u: u.parametrizations.orthogonal(layer(t, 2, 2), "bias"),
            lambda t, u: u.parametrizations.orthogonal(layer(t, 2, 2), "none"),
            lambda t, u: u.parametrizations.orthogonal(layer(t, 2, 2), orthogonal_map="none"),
            lambda t, u: u.parametrizations.orthogonal(
                t.nn.Linear(2, 2, dtype=t.complex64), orthogonal_map="householder"
            ),
            lambda t, u: setattr(
                u.parametrizations.orthogonal(layer(t, 2, 2), use_trivialization=False), "weight", t.eye(2)
            ),
            lambda t, u: setattr(u.parametrizations.orthogonal(layer(t, 2, 2)), "weight", filled(t, 3, 2)),
            lambda t, u: u.parametrizations.spectral_norm(layer(t, 2, 2), n_power_iterations=0),
            lambda t, u: u.parametrizations.spectral_norm(layer(t, 2, 2), dim=2),
            lambda t, u: u.parametrize.remove_parametrizations(layer(t, 2, 2), "weight"),
            lambda t, u: u.skip_init(t.nn.ReLU),
            lambda t, u: u.skip_init(int),
            lambda t, u: u.skip_init(5),
        ],
    )
    def test_refused(self, refused):
        same(lambda t: refused(t, t.nn.utils))


def parts(t: Any) -> dict[str, Any]:
    """Return modules to parametrize with."""

    def module(name: str, forward: Any, right_inverse: Any = None) -> Any:
        members = {"forward": lambda self, *x: forward(*x)}
        if right_inverse is not None:
            members["right_inverse"] = lambda self, x: right_inverse(x)
        return type(name, (t.nn.Module,), members)()

    return {
        "symmetric": module("Symmetric", lambda x: x.triu() + x.triu(1).mT, lambda x: x.triu()),
        "exp": module("Exp", lambda x: x.exp(), lambda x: x.log()),
        "double": module("Double", lambda x: 2 * x),
        "rank1": module("RankOne", lambda a, b: a @ b, lambda x: (x[:, :1].clone(), x[:1].clone())),
        "first row": module("FirstRow", lambda x: x[:1]),
        "float": module("Float", lambda x: x.float()),
        "tuple": module("InTuple", lambda x: (x,)),
        "wrong inverse": module("WrongInverse", lambda x: x, lambda x: x[:1]),
        "no inverse tensor": module("NoTensor", lambda x: x, lambda x: 3),
        "no tensors": module("NoTensors", lambda x, y: x, lambda x: (x, 3)),
        "too many": module("TooMany", lambda x: x, lambda x: (x, x)),
    }


class TestParametrize:
    # But for "too many": the text has the qualified name of a lambda.
    @pytest.mark.parametrize("name", sorted(parts(tl).keys() - {"too many"}))
    @pytest.mark.parametrize("unsafe", [False, True])
    @pytest.mark.parametrize("before", [None, "exp"])
    def test_registration(self, name, unsafe, before):
        def scenario(t: Any) -> Any:
            module = layer(t, 3, 3)
            with t.no_grad():
                module.weight.abs_()
            register = t.nn.utils.parametrize.register_parametrization
            found = parts(t)
            if before is not None:
                register(module, "weight", found[before])
            register(module, "weight", found[name], unsafe=unsafe)
            weight = module.weight
            return state(module), weight if isinstance(weight, t.Tensor) else type(weight).__name__

        same(scenario)

    @pytest.mark.parametrize("leave_parametrized", [True, False])
    @pytest.mark.parametrize("name", ["exp", "rank1", "symmetric"])
    def test_removal(self, name, leave_parametrized):
        def scenario(t: Any) -> Any:
            module = layer(t, 3, 3)
            parameter = module.weight
            parametrize = t.nn.utils.parametrize
            parametrize.register_parametrization(module, "weight", parts(t)[name], unsafe=True)
            parametrize.register_parametrization(module, "bias", parts(t)["double"])
            parametrize.remove_parametrizations(module, "weight", leave_parametrized=leave_parametrized)
            half = state(module), parametrize.is_parametrized(module), parametrize.is_parametrized(module, "weight")
            parametrize.remove_parametrizations(module, "bias")
            return half, state(module), module.weight is parameter, type(module) is t.nn.Linear

        same(scenario)

    @pytest.mark.parametrize("value", [(3, 3), (2, 2), "float32"])
    @pytest.mark.parametrize("name", ["exp", "double", "rank1"])
    def test_assignment(self, name, value):
        def scenario(t: Any) -> Any:
            module = layer(t, 3, 3)
            t.nn.utils.parametrize.register_parametrization(module, "weight", parts(t)[name], unsafe=True)
            if value == "float32":
                module.weight = t.ones(3, 3)
            else:
                module.weight = filled(t, *value).abs()
            return module.weight, state(module)

        same(scenario)

    def test_copies_caches_and_pickles(self):
        def scenario(t: Any) -> Any:
            parametrize = t.nn.utils.parametrize
            module = parametrize.register_parametrization(layer(t, 3, 3), "weight", parts(t)["double"])
            other = copy.deepcopy(module)
            found = [type(module).__name__, type(other).__name__, other.weight, module.weight]
            with parametrize.cached():
                found += [other.weight is other.weight, module.weight is module.weight]
                with parametrize.cached():
                    found.append(other.weight is other.weight)
                inner = other.weight
            found += [other.weight is inner, other.weight is other.weight]
            target = parametrize.transfer_parametrizations_and_params(other, layer(t, 3, 3))
            found += [state(target), parametrize.type_before_parametrizations(target) is t.nn.Linear]
            try:
                pickle.dumps(other)
            except RuntimeError as error:
                found.append(str(error)[:75])
            return found

        same(scenario)

    def test_a_parametrized_module_learns(self):
        def scenario(t: Any) -> Any:
            model = t.nn.Sequential(layer(t, 3, 3), t.nn.Tanh(), layer(t, 2, 3))
            t.nn.utils.parametrizations.orthogonal(model[0])
            t.nn.utils.parametrizations.weight_norm(model[2])
            optimizer = t.optim.SGD(model.parameters(), lr=0.1)
            losses = []
            for _ in range(5):
                optimizer.zero_grad()
                loss = model(filled(t, 6, 3)).square().mean()
                loss.backward()
                optimizer.step()
                losses.append(loss.item())
            product = model[0].weight.mT @ model[0].weight
            return losses, product, [value for _, value in model.named_parameters()]

        same(scenario)


def prune_of(t: Any) -> Any:
    return importlib.import_module(f"{t.__name__}.nn.utils.prune")


PRUNINGS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "l1": lambda t, p, m: p.l1_unstructured(m, "weight", amount=3),
    "l1 fraction": lambda t, p, m: p.l1_unstructured(m, "weight", amount=0.4),
    "l1 scores": lambda t, p, m: p.l1_unstructured(m, "weight", 3, importance_scores=filled(t, 4, 3).abs().flip(0)),
    "nothing": lambda t, p, m: p.l1_unstructured(m, "weight", amount=0),
    "all": lambda t, p, m: p.l1_unstructured(m, "weight", amount=1.0),
    "ln": lambda t, p, m: p.ln_structured(m, "weight", amount=2, n=2, dim=0),
    "ln columns": lambda t, p, m: p.ln_structured(m, "weight", amount=0.3, n=1, dim=-1),
    "ln inf": lambda t, p, m: p.ln_structured(m, "weight", amount=1, n=float("inf"), dim=1),
    "mask": lambda t, p, m: p.custom_from_mask(m, "weight", (filled(t, 4, 3) > 0)),
    "identity": lambda t, p, m: p.identity(m, "weight"),
    "l1 then ln": lambda t, p, m: p.ln_structured(p.l1_unstructured(m, "weight", 3), "weight", 1, 2, dim=0),
    "ln then l1": lambda t, p, m: p.l1_unstructured(p.ln_structured(m, "weight", 1, 2, dim=0), "weight", 0.5),
    "ln then ln": lambda t, p, m: p.ln_structured(p.ln_structured(m, "weight", 1, 2, dim=0), "weight", 2, 1, dim=0),
    "three": lambda t, p, m: p.custom_from_mask(
        p.l1_unstructured(p.ln_structured(m, "weight", 1, 2, dim=1), "weight", 2), "weight", t.ones(4, 3).triu()
    ),
    "bias": lambda t, p, m: p.l1_unstructured(m, "bias", 1),
    "amount text": lambda t, p, m: p.l1_unstructured(m, "weight", "1"),
    "amount negative": lambda t, p, m: p.l1_unstructured(m, "weight", -1),
    "amount fraction": lambda t, p, m: p.l1_unstructured(m, "weight", 1.5),
    "amount too many": lambda t, p, m: p.l1_unstructured(m, "weight", 13),
    "structured bias": lambda t, p, m: p.random_structured(m, "bias", 1, 0),
    "structured dim": lambda t, p, m: p.random_structured(m, "weight", 1, 2),
    "structured many": lambda t, p, m: p.random_structured(m, "weight", 5, 0),
    "no parameter": lambda t, p, m: p.l1_unstructured(m, "none", 1),
    "scores": lambda t, p, m: p.L1Unstructured.apply(m, "weight", 1, importance_scores=t.ones(3)),
    "remove": lambda t, p, m: p.remove(m, "weight"),
    "container": lambda t, p, m: p.PruningContainer().add_pruning_method(3),
}


class TestPrune:
    @pytest.mark.parametrize("name", list(PRUNINGS))
    def test_methods(self, name):
        def scenario(t: Any) -> Any:
            prune, module = prune_of(t), layer(t, 4, 3)
            answered = PRUNINGS[name](t, prune, module) is module
            found = [answered, module.state_dict(), dict(module.named_buffers()), prune.is_pruned(module)]
            found += [module.weight, gradients(module, filled(t, 2, 3))]
            if hasattr(module, "weight_orig"):
                with t.no_grad():
                    module.weight_orig.add_(1)
                module(filled(t, 2, 3))
                found.append(module.weight)
                found += [state(prune.remove(module, "weight")), isinstance(module.weight, t.nn.Parameter)]
                found.append(len(module._forward_pre_hooks))
            return found

        same(scenario)

    def test_parameters_of_several_modules(self):
        def scenario(t: Any) -> Any:
            prune, model = prune_of(t), t.nn.Sequential(layer(t, 4, 3), layer(t, 2, 4))
            with t.no_grad():
                for number, parameter in enumerate(model.parameters()):
                    # No two elements are equal, between which the order would decide.
                    parameter.mul_(1 + number / 100)
            pairs = [(part, name) for part in model for name in ("weight", "bias")]
            prune.global_unstructured(pairs, prune.L1Unstructured, amount=9)
            first = model.state_dict()
            prune.global_unstructured(pairs, prune.L1Unstructured, {pairs[0]: -filled(t, 4, 3)}, amount=0.3)
            return first, model.state_dict(), model(filled(t, 2, 3))

        same(scenario)
        same(lambda t: prune_of(t).global_unstructured(3, prune_of(t).L1Unstructured, amount=1))
        same(lambda t: prune_of(t).global_unstructured([(layer(t, 2, 2), "weight")], prune_of(t).L1Unstructured, {3}))

    def test_a_method_that_raises_leaves_the_module(self):
        def scenario(t: Any) -> Any:
            prune, module = prune_of(t), layer(t, 4, 3)
            with pytest.raises(ValueError, match="smaller than"):
                prune.l1_unstructured(module, "weight", 99)
            return state(module)

        assert_close(numbers(scenario(tl)), numbers(state(layer(torch, 4, 3))))


class TestFusion:
    @pytest.mark.parametrize("transpose", [False, True])
    @pytest.mark.parametrize("bias", [True, False])
    @pytest.mark.parametrize("affine", [True, False])
    def test_convolutions(self, transpose, bias, affine):
        def scenario(t: Any) -> Any:
            kind = t.nn.ConvTranspose1d if transpose else t.nn.Conv1d
            conv = kind(2, 3, 2, bias=bias).double().eval()
            bn = t.nn.BatchNorm1d(3, affine=affine).double().eval()
            with t.no_grad():
                for tensor in (*conv.parameters(), *bn.parameters(), bn.running_mean, bn.running_var):
                    tensor.copy_(filled(t, *tensor.shape).abs() + 0.1)
            fused = t.nn.utils.fuse_conv_bn_eval(conv, bn, transpose)
            x = filled(t, 2, 2, 5)
            return fused(x), (fused(x) - bn(conv(x))).abs().max() < 1e-12, list(fused.state_dict().items())

        same(scenario)

    def test_linear(self):
        def scenario(t: Any) -> Any:
            bn = t.nn.BatchNorm1d(3).double().eval()
            with t.no_grad():
                for tensor in (*bn.parameters(), bn.running_mean, bn.running_var):
                    tensor.copy_(filled(t, *tensor.shape).abs() + 0.1)
            return list(t.nn.utils.fuse_linear_bn_eval(layer(t, 3, 2).eval(), bn).state_dict().items())

        same(scenario)
        same(lambda t: t.nn.utils.fuse_linear_bn_eval(layer(t, 3, 2), t.nn.BatchNorm1d(3)))


class TestGradients:
    def test_norms_and_clipping(self):
        def scenario(t: Any) -> Any:
            module = linear(t)
            module(t.ones(4, 2)).square().sum().backward()
            u, found = t.nn.utils, []
            found.append(u.get_total_norm([p.grad for p in module.parameters()], 3))
            found.append(u.get_total_norm([]))
            u.clip_grads_with_norm_(module.parameters(), 10.0, t.tensor(100.0))
            found.append([p.grad for p in module.parameters()])
            found.append(u.clip_grad_norm_((p for p in module.parameters()), 0.5))
            found.append([p.grad for p in module.parameters()])
            found.append(u.clip_grad_norm(module.parameters(), 0.1, float("inf")))
            return found

        same(scenario)

    def test_the_old_functional_call(self):
        def scenario(t: Any) -> Any:
            stateless = importlib.import_module(f"{t.__name__}.nn.utils.stateless")
            return stateless.functional_call(linear(t), {"weight": t.ones(3, 2)}, t.ones(1, 2))

        same(scenario)


class TestHooksOfAllModules:
    def test_every_kind(self):
        def scenario(t: Any) -> Any:
            module = importlib.import_module(f"{t.__name__}.nn.modules.module")
            log: list[Any] = []

            def noted(kind: str, answer: Any = None) -> Any:
                def hook(*args: Any) -> Any:
                    log.append((kind, [type(a).__name__ if not isinstance(a, dict) else a for a in args]))
                    return answer

                return hook

            handles = [
                module.register_module_forward_pre_hook(noted("pre")),
                module.register_module_forward_hook(noted("forward")),
                module.register_module_forward_hook(noted("keywords"), with_kwargs=True),
                module.register_module_forward_hook(noted("always"), always_call=True),
                module.register_module_full_backward_pre_hook(noted("backward pre")),
                module.register_module_full_backward_hook(noted("backward")),
                module.register_module_parameter_registration_hook(noted("parameter")),
                module.register_module_buffer_registration_hook(noted("buffer")),
                module.register_module_module_registration_hook(noted("module")),
            ]
            try:
                model = t.nn.Sequential(t.nn.Linear(2, 2), t.nn.BatchNorm1d(2))
                model[0].register_forward_hook(noted("own"))
                model[0].register_full_backward_hook(noted("own backward"))
                model(t.ones(3, 2, requires_grad=True)).sum().backward()

                class Raises(t.nn.Module):  # type: ignore[name-defined,misc]
                    def forward(self, x: Any) -> Any:
                        raise ValueError("no")

                with pytest.raises(ValueError, match="no"):
                    Raises()(1)
            finally:
                for handle in handles:
                    handle.remove()
            count = len(log)
            model(t.ones(3, 2))
            return log, len(log) - count

        same(scenario)

    def test_results_replace(self):
        def scenario(t: Any) -> Any:
            module = importlib.import_module(f"{t.__name__}.nn.modules.module")
            handles = [
                module.register_module_forward_pre_hook(lambda m, args: args[0] * 2),
                module.register_module_forward_hook(lambda m, args, output: output + 1),
                module.register_module_full_backward_hook(lambda m, grad_in, grad_out: (grad_in[0] * 10,)),
            ]
            try:
                x = t.ones(2, requires_grad=True)
                found = t.nn.Identity()(x)
                found.sum().backward()
            finally:
                for handle in handles:
                    handle.remove()
            return found, x.grad

        same(scenario)

    @pytest.mark.parametrize("inputs", ["leaf", "computed", "list"])
    @pytest.mark.parametrize("kind", ["one", "two", "tuple", "dict"])
    def test_backward_hooks_of_the_old_form(self, kind, inputs):
        def scenario(t: Any) -> Any:
            def forward(self: Any, x: Any) -> Any:
                x = x[0] if isinstance(x, list) else x
                return {"one": x * 2, "two": (x * 2).exp(), "tuple": (x * 2, x * 3), "dict": {"a": x * 2}}[kind]

            module, log = type("M", (t.nn.Module,), {"forward": forward})(), []
            module.register_backward_hook(lambda m, grad_in, grad_out: log.append((list(grad_in), list(grad_out))))
            x = t.ones(2, requires_grad=True)
            given = {"leaf": x, "computed": x.exp(), "list": [x]}[inputs]
            found = module(given)
            found = found["a"] if isinstance(found, dict) else found
            (found[0] if isinstance(found, tuple) else found).sum().backward()
            return [[[g for g in part if g is not None] for part in entry] for entry in log]

        same(scenario)

    def test_kinds_of_backward_hooks_are_not_mixed(self):
        def scenario(t: Any) -> Any:
            module = t.nn.ReLU()
            module.register_backward_hook(lambda *args: None)
            module.register_full_backward_hook(lambda *args: None)

        same(scenario)


class TestModule:
    def test_arguments_of_init(self):
        def scenario(t: Any) -> Any:
            seen = []

            class Base:
                def __init__(self, *args: Any, **kwargs: Any) -> None:
                    seen.append((args, kwargs))

            class Both(t.nn.Module, Base):  # type: ignore[name-defined,misc]
                call_super_init = True

            Both(1, a=2)
            return seen

        same(scenario)
        same(lambda t: t.nn.Module(1))
        same(lambda t: t.nn.Module(a=1))

    def test_load_hooks_make_no_cycle(self):
        def scenario(t: Any) -> Any:
            module, seen = linear(t), []
            module.register_load_state_dict_pre_hook(lambda m, state, *rest: seen.append(m))
            other = copy.deepcopy(module)
            other.load_state_dict(module.state_dict())
            return seen[0] is other, len(seen)

        same(scenario)
        same(lambda t: linear(t).to(t.float64, copy=True))

    def test_weights_of_recurrent_layers_are_set_as_a_list(self):
        def scenario(t: Any) -> Any:
            module, found = t.nn.LSTM(2, 3).double(), []
            with t.no_grad():
                for number, parameter in enumerate(module.parameters()):
                    parameter.copy_(filled(t, *parameter.shape) + number / 10)
            x = filled(t, 4, 1, 2)
            module._flat_weights = [weight * 0.5 for weight in module._flat_weights]
            found.append(module(x)[0])
            module.weight_hh_l0 = t.nn.Parameter(t.zeros(12, 3, dtype=t.float64))
            found += [module(x)[0], module._flat_weights[1] is module.weight_hh_l0]
            weight = module.weight_ih_l0
            del module.weight_ih_l0
            module.register_parameter("weight_ih_l0_raw", weight)
            module.weight_ih_l0 = weight * 2
            found += [module(x)[0], sorted(name for name, _ in module.named_parameters())]
            return [*found, module.float()(x.float())[0]]

        same(scenario)
