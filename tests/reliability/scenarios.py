"""What is disturbed: ordinary programs, each of which switches something on and off, or holds a lock.

A scenario is a function that is handed the library (`tensorlike` or `torch`: the same text runs with both) and returns
the program to run, which gives the same result each time. Everything that is not to be disturbed, such as the making of
classes and modules, is done before the program is returned.
"""

from __future__ import annotations

import copy
import importlib
import io
import pickle
import warnings
from collections.abc import Callable
from typing import Any

__all__ = ["CALLED", "SCENARIOS", "SHARED", "Program", "logging_mode", "plain_duck", "recording_subclass"]

Program = Callable[[], Any]

#: The scenarios by name.
SCENARIOS: dict[str, Callable[[Any], Program]] = {}
#: What modes, hooks and types of the scenarios were called with: empty between calls when none is in force.
CALLED: list[str] = []
#: Objects that scenarios use and the probe looks at afterwards: the generators whose locks must be free.
SHARED: dict[str, Any] = {}


def scenario(function: Callable[[Any], Program]) -> Callable[[Any], Program]:
    SCENARIOS[function.__name__] = function
    return function


def part(tl: Any, name: str) -> Any:
    """Return a module of the library, imported if it was not yet."""
    return importlib.import_module(f"{tl.__name__}.{name}")


def logging_mode(tl: Any, name: str = "mode") -> Any:
    """Return a mode that notes in `CALLED` what it is asked."""

    class Logging(tl.overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            CALLED.append(name)
            return func(*args, **(kwargs or {}))

    return Logging()


def recording_subclass(tl: Any) -> Any:
    """Return a subclass of Tensor that notes in `CALLED` that it was asked and leaves the rest to the default."""

    class Recording(tl.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            CALLED.append("subclass")
            return super().__torch_function__(func, types, args, kwargs or {})

    return Recording


def plain_duck(tl: Any) -> Any:
    """Return a class that is no tensor and answers calls by what it holds."""

    class Duck:
        def __init__(self, value):
            self.value = value

        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            CALLED.append("duck")
            inner = [[b.value if isinstance(b, cls) else b for b in a] if isinstance(a, (list, tuple)) else
                     a.value if isinstance(a, cls) else a for a in args]  # fmt: skip
            return cls(func(*inner, **(kwargs or {})))

    return Duck


def perceptron(tl: Any) -> Any:
    """Return a small network with the same parameters each time."""
    network = tl.nn.Sequential(tl.nn.Linear(3, 4), tl.nn.Tanh(), tl.nn.Linear(4, 2))
    with tl.no_grad():
        for number, parameter in enumerate(network.parameters()):
            values = tl.arange(parameter.numel(), dtype=tl.float32).reshape(parameter.shape)
            parameter.copy_((values * 0.37 + number).sin())
    return network


def leaf(tl: Any) -> Any:
    return tl.tensor([0.5, 1.0, 2.0], requires_grad=True)


@scenario
def grad_modes(tl: Any) -> Program:
    @tl.no_grad()
    def off(x):
        return x * 2

    @tl.enable_grad()
    def on(x):
        return x * 2

    @tl.set_grad_enabled(False)
    def set_off(x):
        return x * 2

    @tl.no_grad()
    def generator(x):
        yield x * 2
        yield x * 3

    # The decorator of a call form switches at once: it is the program that wants it off only inside.
    tl.set_grad_enabled(True)

    def program() -> Any:
        x = leaf(tl)
        found = []
        with tl.no_grad():
            found.append((x * 2).requires_grad)
            with tl.enable_grad():
                found.append((x * 2).requires_grad)
                with tl.set_grad_enabled(False):
                    found.append((x * 2).requires_grad)
        with tl.no_grad():
            found.append(on(x).requires_grad)
        found += [off(x).requires_grad, set_off(x).requires_grad]
        found += [y.requires_grad for y in generator(x)]
        try:
            with tl.no_grad():
                raise ValueError("left by an error")
        except ValueError:
            found.append((x * 2).requires_grad)
        return found

    return program


@scenario
def inference_mode(tl: Any) -> Program:
    @tl.inference_mode()
    def inferring(x):
        return x * 2

    def program() -> Any:
        x = leaf(tl)
        found = []
        with tl.inference_mode():
            found.append((x * 2).is_inference())
            with tl.inference_mode(False):
                found.append((x * 2).is_inference())
            y = tl.ones(3)
            y.add_(1)
        found += [inferring(x).is_inference(), (x * 2).is_inference(), y.sum().item()]
        return found

    return program


@scenario
def function_mode(tl: Any) -> Program:
    mode = logging_mode(tl)

    def program() -> Any:
        del CALLED[:]
        with mode:
            x = tl.ones(3) + 1
            y = tl.nn.functional.softmax(x.reshape(1, 3), dim=1)
        result = [CALLED[:], y.tolist()]
        del CALLED[:]
        return result

    return program


@scenario
def nested_modes(tl: Any) -> Program:
    outer, inner = logging_mode(tl, "outer"), logging_mode(tl, "inner")
    kind = recording_subclass(tl)

    def program() -> Any:
        x = tl.ones(2).as_subclass(kind)
        del CALLED[:]
        with outer:
            with inner:
                tl.add(x, 1)
                with tl.no_grad():
                    tl.add(x, 1)
            tl.add(x, 1)
            try:
                with inner:
                    raise ValueError("left by an error")
            except ValueError:
                pass
        tl.add(x, 1)
        result = CALLED[:]
        del CALLED[:]
        return result

    return program


@scenario
def guards(tl: Any) -> Program:
    kind = recording_subclass(tl)
    mode = logging_mode(tl)

    def program() -> Any:
        x = tl.ones(2).as_subclass(kind)
        del CALLED[:]
        with tl._C.DisableTorchFunctionSubclass():
            first = type(tl.add(x, 1)).__name__
            with mode:
                tl.add(x, 1)
        with mode, tl._C.DisableTorchFunction():
            tl.add(x, 1)
        second = type(tl.add(x, 1)).__name__
        result = [first, second, CALLED[:]]
        del CALLED[:]
        return result

    return program


@scenario
def saved_tensors_hooks(tl: Any) -> Program:
    def pack(x):
        CALLED.append("pack")
        return x.detach().clone()

    def unpack(x):
        CALLED.append("unpack")
        return x

    def program() -> Any:
        x = leaf(tl)
        del CALLED[:]
        with tl.autograd.graph.saved_tensors_hooks(pack, unpack):
            y = (x.exp() * x).sum()
            with tl.no_grad():
                (x * x).sum()
        y.backward()
        packs = CALLED.count("pack")
        del CALLED[:]
        return [packs > 0, x.grad.tolist()]

    return program


@scenario
def save_on_cpu(tl: Any) -> Program:
    def program() -> Any:
        x = leaf(tl)
        with tl.autograd.graph.save_on_cpu():
            y = (x.exp() * x.sin()).sum()
        y.backward()
        return x.grad.tolist()

    return program


@scenario
def disable_saved_tensors_hooks(tl: Any) -> Program:
    def program() -> Any:
        x = leaf(tl)
        with tl.autograd.graph.disable_saved_tensors_hooks("switched off"):
            y = (x.exp() * x).sum()
            try:
                with tl.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t):
                    said = ""
            except RuntimeError as error:
                said = str(error)
        y.backward()
        return [said, x.grad.tolist()]

    return program


def _checkpointed(tl: Any, reentrant: bool) -> Program:
    checkpoint = part(tl, "utils.checkpoint").checkpoint
    network = perceptron(tl)
    x = tl.ones(2, 3, requires_grad=True)

    def program() -> Any:
        for p in network.parameters():
            p.grad = None
        checkpoint(network, x, use_reentrant=reentrant).sum().backward()
        x.grad = None
        return [p.grad.tolist() for p in network.parameters()]

    return program


@scenario
def checkpoint(tl: Any) -> Program:
    return _checkpointed(tl, False)


@scenario
def checkpoint_reentrant(tl: Any) -> Program:
    return _checkpointed(tl, True)


@scenario
def detect_anomaly(tl: Any) -> Program:
    warnings.simplefilter("ignore")

    def program() -> Any:
        x = leaf(tl)
        with tl.autograd.detect_anomaly():
            (x.exp() * x).sum().backward()
        with tl.autograd.set_detect_anomaly(True):
            try:
                ((x - 0.5).sqrt() * 0).sum().backward()
            except RuntimeError as error:
                said = "nan" in str(error)
        return [said, x.grad.tolist()]

    return program


@scenario
def forward_derivatives(tl: Any) -> Program:
    forward = part(tl, "autograd.forward_ad")

    def program() -> Any:
        with forward.dual_level():
            dual = forward.make_dual(tl.tensor([0.5, 1.0]), tl.ones(2))
            value, tangent = forward.unpack_dual(dual.exp() * dual)
        return [value.tolist(), tangent.tolist()]

    return program


@scenario
def jvp_and_vjp(tl: Any) -> Program:
    func = part(tl, "func")

    def program() -> Any:
        x = tl.tensor([0.5, 1.0])
        value, tangent = func.jvp(lambda t: t.exp() * t, (x,), (tl.ones(2),))
        again, back = func.vjp(lambda t: t.exp() * t, x)
        return [value.tolist(), tangent.tolist(), again.tolist(), back(tl.ones(2))[0].tolist()]

    return program


@scenario
def grad_and_vmap(tl: Any) -> Program:
    func = part(tl, "func")

    def program() -> Any:
        x = tl.tensor([[0.5, 1.0], [1.5, 2.0]])
        first = func.grad(lambda t: (t.exp() * t).sum())(x)
        second = func.vmap(func.grad(lambda t: (t * t).sum()))(x)
        third = func.vmap(lambda t: tl.cat([t, t.sin()]).sum())(x)
        return [first.tolist(), second.tolist(), third.tolist()]

    return program


@scenario
def jacobians(tl: Any) -> Program:
    func = part(tl, "func")

    def program() -> Any:
        x = tl.tensor([0.5])
        return [func.jacrev(lambda t: t.exp() * t)(x).tolist(), func.hessian(lambda t: (t * t * t).sum())(x).tolist()]

    return program


@scenario
def backward_with_hooks(tl: Any) -> Program:
    network = perceptron(tl)
    seen = []
    network[0].weight.register_hook(lambda g: seen.append("tensor"))
    network[0].bias.register_post_accumulate_grad_hook(lambda p: seen.append("accumulated"))
    network[1].register_full_backward_hook(lambda m, given, made: seen.append("module"))
    x = tl.ones(2, 3)

    def program() -> Any:
        del seen[:]
        for p in network.parameters():
            p.grad = None
        y = network(x)
        y.grad_fn.register_hook(lambda given, made: seen.append("node"))
        (y * y).mean().backward()
        return [sorted(seen), [p.grad.tolist() for p in network.parameters()]]

    return program


@scenario
def double_backward(tl: Any) -> Program:
    def program() -> Any:
        x = leaf(tl)
        (first,) = tl.autograd.grad((x.exp() * x).sum(), x, create_graph=True)
        (second,) = tl.autograd.grad(first.sum(), x)
        return [first.tolist(), second.tolist()]

    return program


@scenario
def backward_in_modes(tl: Any) -> Program:
    mode = logging_mode(tl)
    kind = recording_subclass(tl)

    def program() -> Any:
        x = leaf(tl)
        s = tl.ones(3).as_subclass(kind)
        with mode:
            y = (x.exp() * s).sum()
            y.backward()
        with tl.no_grad():
            (x.grad * s).sum()
        z = (x * s).sum()
        z.backward()
        del CALLED[:]
        return x.grad.tolist()

    return program


@scenario
def custom_function(tl: Any) -> Program:
    class Cube(tl.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x * x

        @staticmethod
        def backward(ctx, grad):
            (x,) = ctx.saved_tensors
            return grad * 3 * x * x

    def program() -> Any:
        x = leaf(tl)
        (Cube.apply(x) * 2).sum().backward()
        return x.grad.tolist()

    return program


@scenario
def training_steps(tl: Any) -> Program:
    x, target = tl.ones(4, 3), tl.zeros(4, 2)

    def program() -> Any:
        found = []
        for make in (lambda p: tl.optim.SGD(p, lr=0.1, momentum=0.9), lambda p: tl.optim.Adam(p, lr=0.01)):
            network = tl.nn.Linear(3, 2)
            with tl.no_grad():
                network.weight.fill_(0.5)
                network.bias.fill_(0.1)
            optimizer = make(list(network.parameters()))
            optimizer.zero_grad()
            tl.nn.functional.mse_loss(network(x), target).backward()
            optimizer.step()
            found.append(network.bias.tolist())
        return found

    return program


@scenario
def random_draws(tl: Any) -> Program:
    generator = SHARED[f"{tl.__name__} generator"] = tl.Generator()

    def program() -> Any:
        tl.manual_seed(3)
        generator.manual_seed(4)
        found = [tl.rand(3, generator=generator).sum().item(), tl.randn(3).sum().item()]
        found.append(tl.nn.functional.dropout(tl.ones(8), 0.5).sum().item())
        with tl.random.fork_rng():
            tl.manual_seed(5)
            found.append(tl.randint(0, 9, (4,)).tolist())
        found += [tl.randperm(4, generator=generator).tolist(), tl.bernoulli(tl.full((3,), 0.5)).tolist()]
        state = tl.get_rng_state()
        found.append(tl.empty(3).normal_(generator=generator).sum().item())
        tl.set_rng_state(state)
        return found

    return program


@scenario
def subclasses(tl: Any) -> Program:
    kind = recording_subclass(tl)

    class Deeper(kind):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            with tl._C.DisableTorchFunctionSubclass():
                result = func(*args, **(kwargs or {}))
            return result.as_subclass(cls) if isinstance(result, tl.Tensor) else result

    def program() -> Any:
        x, y = tl.ones(2, 2).as_subclass(kind), tl.ones(2, 2).as_subclass(Deeper)
        z = tl.matmul(x, y) + x.mean()
        found = [type(z).__name__, tl.cat([x, tl.ones(2, 2)]).sum().item(), x[0].tolist(), z.shape == (2, 2)]
        del CALLED[:]
        return found

    return program


@scenario
def ducks(tl: Any) -> Program:
    kind = plain_duck(tl)

    class Refusing:
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            return NotImplemented

    def program() -> Any:
        x = kind(tl.ones(2))
        found = [tl.add(x, 1).value.tolist(), tl.cat([x, tl.zeros(1)]).value.tolist()]
        try:
            tl.mul(tl.ones(2), Refusing())
        except TypeError:
            found.append("refused")
        found.append(tl.nn.functional.softmax(x, 0).value.tolist())
        del CALLED[:]
        return found

    return program


@scenario
def copies_and_pickles(tl: Any) -> Program:
    network = perceptron(tl)

    def program() -> Any:
        x = tl.arange(6.0).reshape(2, 3)
        first = copy.deepcopy(x.t())
        second = pickle.loads(pickle.dumps([x, x[0]]))
        third = copy.deepcopy(network)
        return [first.tolist(), second[1].tolist(), third(x).tolist()]

    return program


@scenario
def saving_and_loading(tl: Any) -> Program:
    network = perceptron(tl)

    def program() -> Any:
        stream = io.BytesIO()
        tl.save({"network": network.state_dict(), "x": tl.arange(3)}, stream)
        stream.seek(0)
        loaded = tl.load(stream)
        return [loaded["x"].tolist(), [v.tolist() for v in loaded["network"].values()]]

    return program


@scenario
def printing(tl: Any) -> Program:
    def program() -> Any:
        x = tl.tensor([[1.123456789, 2e-9], [3.0, float("nan")]])
        found = [repr(x), repr(tl.arange(2000)), str(x.requires_grad_())]
        # The options that are in force anyway: a half of them would be seen.
        tl.set_printoptions(precision=4, threshold=1000, edgeitems=3, linewidth=80)
        found.append(repr(x))
        tl.set_printoptions(profile="default")
        return found

    return program


@scenario
def large_work(tl: Any) -> Program:
    # As many elements as are cut over threads.
    x = tl.ones(1 << 19)
    tl.set_num_threads(2)

    def program() -> Any:
        return [(x + x)[-1].item(), (x * 3.0).sum().item()]

    return program
