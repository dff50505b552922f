"""Steps of optimizers in C give what they give in Python, bit by bit, and leave to Python what they do not know."""

import itertools

import numpy as np
import pytest

import tensorlike as tl
from tensorlike._native import core
from tensorlike.optim.optimizer import Optimizer
from tensorlike.tensor.declarations.threads import LARGE

pytestmark = pytest.mark.skipif(core is None, reason="needs the native core")

#: Around the ends of pieces: 1,024 elements of float32.
SHAPES = [(), (0,), (3,), (7, 5), (1023,), (1025,), (3, 700), (8200,)]
ADAM = [
    {"weight_decay": decay, "amsgrad": amsgrad, "maximize": maximize, "decoupled_weight_decay": decoupled}
    for decay, amsgrad, maximize, decoupled in itertools.product((0, 0.1), (False, True), (False, True), (False, True))
]
SGD = [
    {"momentum": momentum, "dampening": dampening, "weight_decay": decay, "nesterov": nesterov, "maximize": maximize}
    for momentum, dampening, decay, nesterov, maximize in itertools.product(
        (0, 0.9), (0, 0.25), (0, 0.1), (False, True), (False, True)
    )
    if not nesterov or (momentum and not dampening)
]
OPTIONS = [(tl.optim.Adam, options) for options in ADAM] + [(tl.optim.SGD, options) for options in SGD]
#: Numbers in other forms.
OPTIONS += [
    (tl.optim.SGD, {"lr": tl.tensor(0.3)}),
    (tl.optim.SGD, {"lr": 1, "momentum": 1}),
    (tl.optim.SGD, {"lr": np.float64(0.3), "weight_decay": tl.tensor(0.1)}),
    (tl.optim.SGD, {"lr": np.array(0.3)}),
    (tl.optim.SGD, {"lr": float("inf")}),
    (tl.optim.Adam, {"lr": tl.tensor(0.3), "betas": (tl.tensor(0.5), tl.tensor(0.75))}),
    (tl.optim.Adam, {"betas": (0, 0.0), "eps": 0}),
    (tl.optim.AdamW, {"lr": 0.1, "amsgrad": True}),
]  # fmt: skip


def arrays(dtype, seed, shapes=SHAPES):
    random = np.random.default_rng(seed)
    return [random.standard_normal(shape).astype(dtype) for shape in shapes]


def parameters(dtype, shapes=SHAPES):
    return [tl.nn.Parameter(tl.from_numpy(np.array(a))) for a in arrays(dtype, 0, shapes)]


def trained(make, given, steps=4, dtype=None, before=lambda number, given: None):
    """Return what an optimizer leaves behind: values, states and versions."""
    optimizer = make(given)
    for number in range(steps):
        for parameter, gradient in zip(given, arrays(np.float32, 1 + number, [tuple(p.shape) for p in given])):
            parameter.grad = tl.from_numpy(gradient).to(parameter.dtype)
        before(number, given)
        optimizer.step()
    found = []
    for parameter in given:
        state = optimizer.state.get(parameter, {})
        tensors = [parameter, *[state[name] for name in sorted(state)]]
        found += [(t.detach().numpy().tobytes(), t.dtype, tuple(t.shape), t._version) for t in tensors]
        found.append(sorted(state))
    return found


@pytest.fixture
def in_python(monkeypatch):
    """Return a function that calls another one while nothing is updated in C."""

    def call(function, *args, **kwargs):
        with monkeypatch.context() as patch:
            patch.setattr(Optimizer, "_left_to_python", lambda self, group: group["params"])
            return function(*args, **kwargs)

    return call


@pytest.fixture
def left(monkeypatch):
    """Return the list of the parameters for which Python's rule ran."""
    found = []
    for kind in (tl.optim.SGD, tl.optim.Adam):

        def watched(self, parameter, *args, update=kind._update):
            found.append(parameter)
            update(self, parameter, *args)

        monkeypatch.setattr(kind, "_update", watched)
    return found


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("kind", "options"), OPTIONS, ids=lambda value: getattr(value, "__name__", None))
def test_same_bits(kind, options, dtype, in_python, left):
    def run():
        return trained(lambda given: kind(given, **{"lr": 0.1, **options}), parameters(dtype))

    expected = in_python(run)
    assert len(left) == 4 * len(SHAPES)
    left.clear()
    assert run() == expected
    # A state is made by Python.
    assert len(left) == (0 if kind is tl.optim.SGD and not options.get("momentum") else len(SHAPES))


def test_the_rate_may_change(in_python, left):
    def run():
        optimizers = []

        def make(given):
            optimizers.append(tl.optim.Adam(given, lr=0.1))
            return optimizers[0]

        def before(number, given):
            optimizers[0].param_groups[0]["lr"] /= 2
            optimizers[0].param_groups[0]["amsgrad"] = False

        return trained(make, parameters(np.float32), before=before)

    expected = in_python(run)
    left.clear()
    assert run() == expected
    assert len(left) == len(SHAPES)


def test_counts_may_differ(in_python, left):
    """A parameter without a gradient takes no step; the others do."""

    def run():
        def before(number, given):
            given[number].grad = None

        return trained(lambda given: tl.optim.Adam(given, lr=0.1), parameters(np.float32), before=before)

    expected = in_python(run)
    left.clear()
    assert run() == expected
    assert len(left) == len(SHAPES)


class Sub(tl.nn.Parameter):
    pass


def _subclass(given):
    given[1] = Sub(given[1].detach())


def _transposed(given):
    given[1] = tl.nn.Parameter(tl.from_numpy(np.arange(12.0, dtype=np.float32).reshape(3, 4).T))


def _half(given):
    given[1] = tl.nn.Parameter(given[1].detach().half())


def _complex(given):
    given[1] = tl.nn.Parameter(given[1].detach().to(tl.complex64))


def _large(given):
    given[1] = tl.nn.Parameter(tl.zeros(LARGE))


def _shifted(given):
    memory = np.arange(9, dtype=np.float32)
    given[1] = tl.nn.Parameter(tl.from_numpy(memory[:8]))
    given[1].fixed = tl.from_numpy(memory[1:])


def _inference(given):
    with tl.inference_mode():
        given[1].fixed = tl.ones(4)


@pytest.mark.parametrize(
    "change", [_subclass, _transposed, _half, _complex, _large, _shifted, _inference], ids=lambda f: f.__name__[1:]
)
@pytest.mark.parametrize("kind", [tl.optim.SGD, tl.optim.Adam])
def test_left_to_python(kind, change, in_python, left):
    def run():
        given = parameters(np.float32, [(3,), (4,), (5,)])
        change(given)

        def before(number, given):
            given[1].grad = getattr(given[1], "fixed", given[1].grad)

        return trained(lambda given: kind(given, lr=0.1), given, before=before), given[1]

    expected = in_python(run)[0]
    left.clear()
    found, odd = run()
    assert found == expected
    assert sum(p is odd for p in left) == 4
    assert len(left) == (4 if kind is tl.optim.SGD else 6)


def test_memory_of_its_own(in_python, left):
    """A gradient on the memory of its parameter changes with it, the same in both."""

    def run():
        def before(number, given):
            for parameter in given:
                parameter.grad = parameter.detach()

        options = {"lr": 0.1, "momentum": 0.9, "weight_decay": 0.1, "nesterov": True}
        return trained(lambda given: tl.optim.SGD(given, **options), parameters(np.float32), before=before)

    expected = in_python(run)
    left.clear()
    assert run() == expected
    assert len(left) == len(SHAPES)


def test_modes_see_the_operations():
    class Names(tl.overrides.TorchFunctionMode):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            seen.append(func)
            return func(*args, **(kwargs or {}))

    seen = []
    given = parameters(np.float32, [(3,)])
    given[0].grad = tl.ones(3)
    optimizer = tl.optim.SGD(given, lr=0.1)
    with Names():
        optimizer.step()
    assert tl.Tensor.add_ in seen


def test_a_rule_of_ones_own_is_followed():
    class Halves(tl.optim.SGD):
        def _update(self, parameter, gradient, state, group):
            parameter.mul_(0.5)

    given = [tl.nn.Parameter(tl.ones(3))]
    given[0].grad = tl.ones(3)
    Halves(given, lr=0.1).step()
    assert given[0].tolist() == [0.5] * 3
    optimizer = tl.optim.SGD(given, lr=0.1)
    optimizer._update = lambda parameter, gradient, state, group: parameter.zero_()
    optimizer.step()
    assert given[0].tolist() == [0.0] * 3


def test_interrupted_numbers_change_nothing():
    given = parameters(np.float32, [(3,), (3,)])
    optimizer = tl.optim.Adam(given, lr=0.1)
    for parameter in given:
        parameter.grad = tl.ones(3)
    optimizer.step()
    before = [(p.tolist(), p._version, optimizer.state[p]["step"].item()) for p in given]

    def numbers(count):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        optimizer._plan(optimizer.param_groups[0])[0]._native.apply(given, 0, optimizer.state, numbers)
    assert [(p.tolist(), p._version, optimizer.state[p]["step"].item()) for p in given] == before


@pytest.mark.parametrize(
    ("states", "numbers", "calls"),
    [
        ((), 0, ((np.add,),)),
        ((), 0, ((np.add, 0, 1, 1),)),
        ((), 0, ((np.add, 0, 4, 0),)),
        ((), 1, ((np.add, 0, 1, 4),)),
        ((), 0, ((np.add, 0, -1, 0),)),
        ((), 0, ((np.bitwise_and, 0, 1, 0),)),
        ((), 0, ((np.matmul, 0, 1, 0),)),
        (("a",) * 5, 0, ()),
        ((), 17, ()),
        ((), 0, ((np.negative, 0, 0),) * 33),
        ((), 0, (3,)),
    ],
)  # fmt: skip
def test_rules_are_checked(states, numbers, calls):
    with pytest.raises(ValueError, match=r"Update\(\)"):
        core.Update(states, None, numbers, calls)


def test_calls_are_checked():
    rule = core.Update((), None, 1, ((np.multiply, 0, 4, 0),))
    parameter = tl.nn.Parameter(tl.ones(3))
    parameter.grad = tl.ones(3)
    for numbers in (lambda count: (1.0, 2.0), lambda count: ("x",), lambda count: [1.0]):
        with pytest.raises(TypeError):
            rule.apply([parameter], 0, {}, numbers)
    with pytest.raises(ValueError, match="position"):
        rule.apply([parameter], -1, {}, lambda count: (1.0,))
    assert rule.apply([parameter, 3], 0, {}, lambda count: (4.0,)) == 1
    assert parameter.tolist() == [4.0] * 3
    assert rule.apply([parameter], 1, {}, None) == 1
