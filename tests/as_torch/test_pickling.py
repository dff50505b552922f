"""Pickles made while installed: of functions that name torch, and of subclasses."""

from __future__ import annotations

import pytest

from tests.as_torch.processes import code, python


def test_the_module_is_pickled_and_copied_by_its_name():
    code("""
        import copy, pickle
        import tensorlike as tl
        tl.install_as_torch()
        import torch
        for module in (torch, tl):
            for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
                assert pickle.loads(pickle.dumps(module, protocol)) is module
            assert copy.copy(module) is module and copy.deepcopy({"m": module})["m"] is module
    """)


def test_functions_and_classes_that_name_torch_are_pickled_by_value(tmp_path):
    pytest.importorskip("cloudpickle")
    (tmp_path / "send.py").write_text("""
import sys
import cloudpickle, tensorlike
import torch
from torch import nn

def double(x):
    return torch.mul(x, 2) + nn.functional.relu(x)

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(2, 1)
    def forward(self, x):
        return torch.tanh(self.layer(x))

torch.manual_seed(0)
net = Net()
with open(sys.argv[1], "wb") as file:
    cloudpickle.dump((double, Net, net, net(torch.ones(1, 2)), lambda: (torch, tensorlike)), file)
""")
    (tmp_path / "receive.py").write_text("""
import pickle, sys
with open(sys.argv[1], "rb") as file:
    double, Net, net, expected, modules = pickle.load(file)
import torch
assert double(torch.ones(2)).tolist() == [3, 3]
assert torch.equal(net(torch.ones(1, 2)), expected) and type(net) is Net
assert Net()(torch.ones(1, 2)).shape == (1, 1)
assert modules()[0] is torch and modules()[1].__name__ == "tensorlike"
print("received")
""")
    python("-m", "tensorlike", "run", tmp_path / "send.py", tmp_path / "p")
    printed = python("-m", "tensorlike", "run", tmp_path / "receive.py", tmp_path / "p")
    assert printed == "received\n"


def test_workers_of_joblib_run_functions_that_name_torch(tmp_path):
    pytest.importorskip("joblib")
    (tmp_path / "work.py").write_text("""
import joblib, torch

def square(x):
    return torch.square(x) + torch.ones(2)

if __name__ == "__main__":
    found = joblib.Parallel(n_jobs=2)(joblib.delayed(square)(torch.full((2,), float(i))) for i in range(3))
    assert [x.tolist() for x in found] == [[1, 1], [2, 2], [5, 5]]
    print("done")
""")
    assert python("-m", "tensorlike", "run", tmp_path / "work.py", PYTHONWARNINGS="default") == "done\n"


LEAVES = """
import io, pickle, torch

class Sub(torch.Tensor):
    pass

class Tagged(torch.Tensor):
    calls = []
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        cls.calls.append(func.__name__)
        return super().__torch_function__(func, types, args, kwargs or {})

class Restored(torch.Tensor):
    def __setstate__(self, state):
        self.restored = state

class Weight(torch.nn.Parameter):
    pass

def saved(x, **options):
    file = io.BytesIO()
    torch.save(x, file)
    file.seek(0)
    return torch.load(file, **options)

def check(x, y):
    assert type(y) is type(x), (type(x), type(y))
    assert y.is_leaf and y.requires_grad is x.requires_grad and y.grad_fn is None
    assert y.dtype is x.dtype and y.stride() == x.stride() and y.tolist() == x.tolist()
    if y.requires_grad:
        (y * y).sum().backward()
        assert y.grad.tolist() == [[2 * v for v in row] for row in y.tolist()]

values = torch.tensor([[1.0, 2.0], [3.0, 4.0]]).t()
torch.serialization.add_safe_globals([Sub, Tagged, Restored, Weight])
"""


def test_a_leaf_of_a_subclass_that_requires_grad_stays_a_leaf(tmp_path):
    (tmp_path / "script.py").write_text(
        LEAVES
        + """
for requires_grad in (True, False):
    made = [values.clone().as_subclass(kind).requires_grad_(requires_grad) for kind in (Sub, Tagged, Restored)]
    made += [Weight(values.clone(), requires_grad=requires_grad)]
    made += [torch.nn.Parameter(values.clone().as_subclass(Sub), requires_grad=requires_grad)]
    for x in made:
        x.tag = "kept"
        for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
            y = pickle.loads(pickle.dumps(x, protocol))
            assert y.restored["tag"] == "kept" if type(x) is Restored else y.tag == "kept"
            check(x, y)
        for options in ({}, {"weights_only": True}, {"weights_only": False}):
            check(x, saved(x, **options))

# A pickle of a result is a leaf; no type is asked, of pickling and of being rebuilt.
y = pickle.loads(pickle.dumps(values.as_subclass(Sub).requires_grad_() * 2))
assert type(y) is Sub and y.is_leaf and y.requires_grad
x = values.clone().as_subclass(Tagged).requires_grad_()
Tagged.calls.clear()
text = pickle.dumps(x)
assert Tagged.calls == ["__reduce_ex__"], Tagged.calls
pickle.loads(text)
assert Tagged.calls == ["__reduce_ex__"], Tagged.calls

class Net(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = Weight(values.clone())
        self.sub = torch.nn.Parameter(values.clone().as_subclass(Sub))

net = saved(Net(), weights_only=False)
assert [type(p) for p in net.parameters()] == [Weight, Sub] and all(p.is_leaf for p in net.parameters())
optimizer = torch.optim.SGD(net.parameters(), lr=0.5)
sum(p.sum() for p in net.parameters()).backward()
optimizer.step()
assert net.weight.tolist() == [[0.5, 2.5], [1.5, 3.5]]
print("done")
"""
    )
    assert python("-m", "tensorlike", "run", tmp_path / "script.py") == "done\n"

