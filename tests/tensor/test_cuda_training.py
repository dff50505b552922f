"""Gradients, modules, random numbers and types of others with CUDA tensors: see `test_cuda`."""

from __future__ import annotations

import io
import pickle

import numpy as np
import pytest

import tensorlike as tl
from tests.helpers.cuda import CUDA, TWO_DEVICES, same
from tests.helpers.ducks import ANSWER, Duck

RANDOM = {
    "rand": lambda **o: tl.rand(100, **o),
    "randn": lambda **o: tl.randn(10, 10, **o),
    "randint": lambda **o: tl.randint(3, 9, (100,), **o),
    "randperm": lambda **o: tl.randperm(100, **o),
    "normal": lambda **o: tl.normal(1.0, 2.0, (100,), **o),
}


class Cube(tl.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x**3

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return grad * 3 * x**2


@pytest.mark.parametrize("device", ["cuda:0", "cuda:1"])
class TestAutograd:
    @pytest.fixture(autouse=True)
    def there(self, gpu, device):
        if gpu.count < 2 and device == "cuda:1":
            pytest.skip("this machine has one GPU")

    def test_leaves(self, device):
        x = tl.tensor([1.0, 2.0], device=device, requires_grad=True)
        for expected in ([2.0, 4.0], [4.0, 8.0]):
            (x * x).sum().backward()
            same(x.grad, tl.tensor(expected), tl.device(device))
        x.grad = None
        (x * tl.ones(3, 2, device=device)).backward(tl.ones(3, 2, device=device))
        same(x.grad, tl.tensor([3.0, 3.0]), tl.device(device))
        x.grad.zero_()
        y = x * 2
        y.retain_grad()
        y.register_hook(lambda grad: grad * 10)
        (y.sum() + y.sum()).backward()
        same(x.grad, tl.tensor([40.0, 40.0]), tl.device(device))
        assert y.grad.device == tl.device(device)
        with pytest.raises(RuntimeError, match="leaf Variable that requires grad"):
            x += 1

    def test_higher_orders(self, device):
        x = tl.tensor([2.0, 3.0], device=device, requires_grad=True)
        (first,) = tl.autograd.grad((x**3).sum(), x, create_graph=True)
        (second,) = tl.autograd.grad(first.sum(), x, create_graph=True)
        same(first, tl.tensor([12.0, 27.0]), tl.device(device))
        same(second, tl.tensor([12.0, 18.0]), tl.device(device))
        second.sum().backward()
        same(x.grad, tl.tensor([6.0, 6.0]), tl.device(device))

    def test_custom_function(self, device):
        x = tl.tensor([2.0, -1.0], device=device, requires_grad=True)
        y = Cube.apply(x)
        same(y, tl.tensor([8.0, -1.0]), tl.device(device))
        y.sum().backward()
        same(x.grad, tl.tensor([12.0, 3.0]), tl.device(device))

    def test_missing_gradients_are_zeros_there(self, device):
        seen = []

        class Two(tl.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                return x * 1, x * 2

            @staticmethod
            def backward(ctx, one, two):
                seen.append(two)
                return one + two

        x = tl.ones(2, device=device, requires_grad=True)
        Two.apply(x)[0].sum().backward()
        same(seen[0], tl.zeros(2), tl.device(device))

    def test_in_place_through_views(self, device):
        def run(where):
            x = tl.arange(6.0, device=where).reshape(2, 3).requires_grad_()
            y = x * 2
            row, column = y[0], y[:, 1]
            row.mul_(3)
            column += row[:2]
            y[1, 2:] = x[0, :1]
            y.T[0].exp_()
            (y * y).sum().backward()
            return x.grad, row, column

        for there, here in zip(run(device), run("cpu")):
            same(there, here, tl.device(device))

    def test_modified_saved_tensors_are_noticed(self, device):
        x = tl.ones(2, device=device, requires_grad=True)
        y = x.exp()
        y.add_(1)
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            y.sum().backward()

    def test_gradcheck(self, device):
        x = tl.rand(2, 3, device=device, dtype=tl.float64, requires_grad=True)
        z = tl.rand(2, device=device, dtype=tl.complex128, requires_grad=True)
        assert tl.autograd.gradcheck(lambda x: (x.sin() * x).sum(1), (x,))
        assert tl.autograd.gradcheck(lambda z: z * z.conj(), (z,))
        assert tl.autograd.gradgradcheck(Cube.apply, (x,))

        class Wrong(Cube):
            @staticmethod
            def backward(ctx, grad):
                return grad * 2

        with pytest.raises(RuntimeError, match="Jacobian mismatch"):
            tl.autograd.gradcheck(Wrong.apply, (x,))


def trained(device, make_optimizer):
    """What four steps make of the same network, on any device."""
    tl.manual_seed(0)
    network = tl.nn.Sequential(
        tl.nn.Conv2d(1, 3, 3, bias=False), tl.nn.BatchNorm2d(3), tl.nn.ReLU(), tl.nn.MaxPool2d(2), tl.nn.Flatten(),
        tl.nn.Linear(12, 8), tl.nn.LayerNorm(8), tl.nn.GELU(), tl.nn.Linear(8, 4),
    )  # fmt: skip
    inputs, labels = tl.randn(5, 1, 6, 6), tl.tensor([0, 1, 2, 3, 0])
    network.to(device)
    inputs, labels = inputs.to(device), labels.to(device)
    optimizer = make_optimizer(network.parameters())
    for _ in range(4):
        optimizer.zero_grad()
        loss = tl.nn.functional.cross_entropy(network(inputs), labels)
        loss.backward()
        optimizer.step()
    return network, optimizer, loss


OPTIMIZERS = {
    "SGD": lambda p: tl.optim.SGD(p, lr=0.1, momentum=0.9, weight_decay=0.01),
    "Adam": lambda p: tl.optim.Adam(p, lr=0.01, amsgrad=True),
    "AdamW": lambda p: tl.optim.AdamW(p, lr=0.01),
}


class TestModules:
    @pytest.mark.parametrize("name", OPTIMIZERS)
    @pytest.mark.parametrize("device", ["cuda:0", "cuda:1"])
    def test_training(self, gpu, name, device):
        if gpu.count < 2 and device == "cuda:1":
            pytest.skip("this machine has one GPU")
        network, optimizer, loss = trained(device, OPTIMIZERS[name])
        expected, _, expected_loss = trained("cpu", OPTIMIZERS[name])
        same(loss, expected_loss, tl.device(device))
        state = network.state_dict()
        for key, value in expected.state_dict().items():
            assert state[key].device == tl.device(device)
            np.testing.assert_allclose(state[key].cpu().numpy(), value.numpy(), rtol=1e-3, atol=1e-4)
        for parameter in network.parameters():
            assert parameter.grad.device == tl.device(device)
        kept = optimizer.state_dict()["state"][0]
        assert kept
        assert {v.device for k, v in kept.items() if k != "step" and isinstance(v, tl.Tensor)} == {tl.device(device)}

    def test_states_between_devices(self, gpu):
        there, here = tl.nn.Linear(2, 3).to("cuda"), tl.nn.Linear(2, 3)
        here.load_state_dict(there.state_dict())
        assert here.weight.device == tl.device("cpu")
        assert here.weight.tolist() == there.weight.tolist()
        there.load_state_dict({k: v + 1 for k, v in here.state_dict().items()})
        same(there.bias.detach(), here.bias.detach() + 1)
        optimizer = tl.optim.Adam(there.parameters())
        there(tl.ones(1, 2, device="cuda")).sum().backward()
        optimizer.step()
        file = io.BytesIO()
        pickle.dump(optimizer.state_dict(), file)
        other = tl.optim.Adam(here.parameters())
        other.load_state_dict(pickle.loads(file.getvalue()))
        assert other.state[here.weight]["exp_avg"].device == tl.device("cpu")

    def test_methods(self, gpu):
        module = tl.nn.Linear(2, 2)
        weight = module.weight
        assert module.cuda() is module
        assert module.weight is weight
        assert weight.device == CUDA
        assert module.cpu().weight.device == tl.device("cpu")
        assert tl.nn.Linear(2, 2, device="cuda").weight.device == CUDA
        assert module.to(CUDA, tl.float64).weight.dtype == tl.float64
        assert tl.nn.Embedding(3, 2, device="cuda")(tl.tensor([0, 2], device="cuda")).device == CUDA
        assert tl.nn.Dropout(0.5)(tl.ones(10, device="cuda")).device == CUDA


class TestRandom:
    @pytest.mark.parametrize("name", RANDOM)
    @pytest.mark.parametrize("device", ["cuda:0", "cuda:1"])
    def test_draws(self, gpu, name, device):
        if gpu.count < 2 and device == "cuda:1":
            pytest.skip("this machine has one GPU")
        draw, where = RANDOM[name], tl.device(device)
        tl.manual_seed(3)
        first, second = draw(device=device), draw(device=device)
        tl.manual_seed(3)
        same(draw(device=device), first.cpu(), where)
        assert (first != second).any()
        own = [draw(device=device, generator=tl.Generator(device).manual_seed(5)) for _ in range(2)]
        same(own[0], own[1].cpu(), where)
        with pytest.raises(RuntimeError, match=f"Expected a '{device}' device type for generator but found 'cpu'"):
            draw(device=device, generator=tl.Generator())
        with pytest.raises(RuntimeError, match=f"Expected a 'cpu' device type for generator but found '{device}'"):
            draw(generator=tl.Generator(device))

    def test_distributions(self, gpu):
        x = tl.empty(4000, device="cuda")
        assert abs(x.normal_(2.0, 0.5).mean().item() - 2) < 0.05
        assert abs(x.uniform_(-1, 3).mean().item() - 1) < 0.1
        assert abs(x.bernoulli_(0.25).mean().item() - 0.25) < 0.05
        assert abs(x.exponential_(2.0).mean().item() - 0.5) < 0.05
        assert x.random_(0, 5).max().item() == 4
        chosen = tl.multinomial(tl.tensor([0.0, 1.0, 1.0], device="cuda"), 200, replacement=True)
        assert chosen.device == CUDA
        assert set(chosen.tolist()) == {1, 2}

    def test_generators(self, gpu):
        generator = tl.Generator(device="cuda").manual_seed(1)
        assert generator.device == CUDA
        state = generator.get_state()
        first = tl.rand(3, device="cuda", generator=generator)
        generator.set_state(state)
        same(tl.rand(3, device="cuda", generator=generator), first.cpu())
        copied = pickle.loads(pickle.dumps(generator))
        same(tl.rand(3, device="cuda", generator=copied), tl.rand(3, device="cuda", generator=generator).cpu())


def duck_first(duck, x):
    return tl.mul(duck, x)


class Marked(tl.Tensor):
    pass


class TestTypes:
    """Types of others, with CUDA tensors in them and beside them."""

    def test_subclasses(self, gpu):
        x = tl.tensor([1.0, 2.0], device="cuda").as_subclass(Marked)
        for result in (x + 1, x * x, tl.sin(x), x[0], x.sum(), tl.cat([x, x]), x.reshape(2, 1), 2 - x, x.cpu().cuda()):
            assert type(result) is Marked
            assert result.device == CUDA
        assert repr(x) == "Marked([1., 2.], device='cuda:0')"
        assert type(x.cpu()) is Marked
        assert type(pickle.loads(pickle.dumps(x))) is Marked
        leaf = tl.ones(2, device="cuda", requires_grad=True)
        (leaf.as_subclass(Marked) * 2).sum().backward()
        same(leaf.grad, tl.full((2,), 2.0))
        with pytest.raises(RuntimeError, match=TWO_DEVICES):
            x + tl.ones(2)

    def test_subclasses_elsewhere(self, gpu, second):
        x = tl.tensor([1.0, 2.0], device=second).as_subclass(Marked)
        for result in (x + 1, x * x, tl.sin(x), x[0], x.sum(), tl.cat([x, x]), tl.unique(x), tl.nonzero(x), x.nansum()):
            assert type(result) is Marked
            assert result.device == second

    def test_ducks(self, gpu):
        x = tl.ones(2, device="cuda")
        duck = Duck()
        for result in (tl.add(x, duck), tl.cat([x, duck]), x * duck, duck_first(duck, x), tl.where(x > 0, x, duck)):
            assert result is ANSWER

    def test_modes(self, gpu):
        seen = []

        class Log(tl.TorchFunctionMode):
            def __torch_function__(self, func, types, args=(), kwargs=None):
                seen.append(func.__name__)
                return func(*args, **(kwargs or {}))

        with Log():
            result = tl.ones(2, device="cuda") + tl.tensor(1.0)
        same(result, tl.tensor([2.0, 2.0]))
        assert seen == ["ones", "tensor", "add"]
