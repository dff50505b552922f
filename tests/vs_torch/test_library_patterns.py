"""Types made the way that libraries on top of PyTorch make theirs, defined once and run with both libraries.

Each program defines a type with the library `L` and returns facts; both must give the same.
"""

from __future__ import annotations

import contextlib
import copy
import io
import operator
import pickle
import sys

import numpy
import pytest
import torch

import tensorlike as tl

LIBRARIES = {"torch": torch, "tensorlike": tl}


def shown(L, value):
    """A fact that both libraries can be compared by: of a tensor, its type, dtype, shape, elements and attributes."""
    if isinstance(value, L.Tensor):
        plain = L.Tensor.as_subclass(value.detach(), L.Tensor)
        return (
            type(value).__name__,
            str(value.dtype).rpartition(".")[2],
            tuple(value.shape),
            [round(v, 4) if isinstance(v, float) else v for v in plain.flatten().tolist()],
            value.requires_grad,
            {key: shown(L, held) for key, held in sorted(vars(value).items())},
        )
    if isinstance(value, (tuple, list)):
        return [type(value).__name__, *(shown(L, item) for item in value)]
    if isinstance(value, dict):
        return {key: shown(L, item) for key, item in value.items()}
    return value


@contextlib.contextmanager
def published(*classes):
    """Make the classes of a function picklable for the while of a test."""
    module = sys.modules[__name__]
    for cls in classes:
        cls.__module__, cls.__qualname__ = __name__, cls.__name__
        setattr(module, cls.__name__, cls)
    try:
        yield
    finally:
        for cls in classes:
            delattr(module, cls.__name__)


# Metadata in the instance's __dict__, copied whole from operand to result.


def carried_dict(L):
    class Carrying(L.Tensor):
        def __new__(cls, data, **attributes):
            made = L.as_tensor(data).as_subclass(cls)
            made.__dict__ = dict(attributes)
            return made

        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            result = super().__torch_function__(func, types, args, kwargs or {})
            first = next((a for a in flat(args) if isinstance(a, Carrying)), None)
            for item in result if isinstance(result, (tuple, list)) else (result,):
                if first is not None and isinstance(item, Carrying) and not vars(item):
                    item.__dict__ = first.__dict__.copy()
            return result

        def __reduce_ex__(self, protocol):
            return rebuilt, (type(self), L.Tensor.as_subclass(self, L.Tensor).tolist(), vars(self))

        def __deepcopy__(self, memo):
            return type(self)(L.Tensor.as_subclass(self, L.Tensor).clone(), **copy.deepcopy(vars(self), memo))

    class Other(Carrying):
        pass

    def flat(args):
        for a in args:
            yield from a if isinstance(a, (tuple, list)) else (a,)

    def rebuilt(cls, data, attributes):
        return cls(data, **attributes)

    def no_dict(x):
        x.__dict__.clear()
        x._data, x._counter, x._base_tensor, x._edge = {}, 5, "mine", None
        return x

    rebuilt.__module__, rebuilt.__qualname__ = __name__, "rebuilt"
    sys.modules[__name__].rebuilt = rebuilt
    x, y = Carrying([[1.0, 2.0], [3.0, 4.0]], size=(2, 2), _data="theirs"), L.ones(2, 2)
    with published(Carrying, Other):
        restored = pickle.loads(pickle.dumps(x))
    del sys.modules[__name__].rebuilt
    bare = L.ones(2).as_subclass(Carrying)
    bare.__dict__ = x.__dict__.copy()
    written = Carrying([1.0, 2.0], size=1)
    written += 1
    written[0] = 9
    leaf = Carrying([1.0, 2.0], size=1).requires_grad_()
    (leaf * 3).sum().backward()
    return {
        "itself": x, "operators": (x + y, y + x, 2 * x, x / 2, -x, x**2, x @ y, x == y),
        "indexing": (x[0], x[x > 2], x[..., None], x[:, 1]), "functions": (L.stack([x, x]), L.cat([x, y]), x.max(0)),
        "several": (*x.split(1), *x.unbind(0)), "conversions": (x.long(), x.to(L.float64), x.double().float()),
        "copies": (x.clone(), copy.copy(x).size, copy.deepcopy(bare)._data), "pickled": restored,
        "retyped": (x.as_subclass(Other), type(x.as_subclass(L.Tensor)).__name__, Other([1.0]) + x[0, 0]),
        "bare": bare, "data unharmed": (bare * 2, no_dict(Carrying([5.0, 6.0])) + 1), "written": written,
        "new": (type(x.new_tensor([1.0])).__name__, x.new_ones(2).tolist(), x.new([1, 2]).tolist()),
        "gradient": (leaf.grad, type(leaf.grad).__name__), "reduced": (float(x.sum()), x.mean().item(), len(x)),
        "vars of a tensor": (vars(y), vars(y + 1), vars(L.nn.Parameter(y))),
    }  # fmt: skip


# Metadata in a field of its own, with copies of it in `clone` and `deepcopy`, and batches that hold one for each item.


def described_images(L):
    tracking = [True]

    class Described(L.Tensor):
        def __new__(cls, data, *args, **kwargs):
            return L.as_tensor(data).as_subclass(cls)

        def __init__(self, data, affine=None, about=None):
            super().__init__()
            self._about = dict(about or {})
            self._batch = False
            if affine is not None:
                self._about["affine"] = affine

        @property
        def about(self):
            return self._about if hasattr(self, "_about") else {}

        @property
        def affine(self):
            return self.about.get("affine")

        @affine.setter
        def affine(self, value):
            self._about["affine"] = L.as_tensor(value, dtype=L.float64)

        def plain(self):
            return self.as_subclass(L.Tensor)

        def clone(self, **options):
            made = super().clone(**options)
            made._about = copy.deepcopy(self.about)
            return made

        def __deepcopy__(self, memo):
            if id(self) not in memo:
                made = type(self)(self.plain().clone(), about=copy.deepcopy(self.about, memo))
                memo[id(self)] = made
            return memo[id(self)]

        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            kwargs = kwargs or {}
            result = super().__torch_function__(func, types, args, kwargs)
            if not isinstance(result, (tuple, list, Described)):
                return result
            items = [result] if isinstance(result, Described) else list(result)
            found = [cls.completed(item, func, args, kwargs) for item in items]
            if isinstance(result, Described):
                return found[0]
            return type(result)(found)

        @classmethod
        def completed(cls, item, func, args, kwargs):
            if not isinstance(item, Described):
                return item
            if not tracking[0]:
                return item.plain()
            inputs = [a for a in leaves((args, kwargs)) if isinstance(a, Described)]
            if func in (L.stack, L.cat) and inputs:
                item._about, item._batch = collated([i.about for i in inputs]), True
            elif inputs and func is not L.Tensor.add_:
                item._about, item._batch = dict(inputs[0].about), inputs[0]._batch
            return item

    def leaves(value):
        if isinstance(value, (tuple, list)):
            for v in value:
                yield from leaves(v)
        elif isinstance(value, dict):
            for v in value.values():
                yield from leaves(v)
        else:
            yield value

    def collated(all_about):
        keys = sorted(set(all_about[0]).intersection(*all_about[1:]))
        values = {key: [about[key] for about in all_about] for key in keys}
        return {key: L.stack(v) if isinstance(v[0], L.Tensor) else v for key, v in values.items()}

    affine = L.diag(L.tensor([2.0, 3.0, 1.0], dtype=L.float64))
    x = Described(L.arange(4.0).reshape(1, 2, 2), affine=affine, about={"name": "a"})
    y = Described(L.ones(1, 2, 2), affine=affine * 2, about={"name": "b"})
    cloned, deep = x.clone(), copy.deepcopy(x)
    cloned.affine = L.eye(3) * 7
    file = io.BytesIO()
    with published(Described):
        L.save(x, file)
        file.seek(0)
        loaded = L.load(file, weights_only=False)
    module = L.nn.Module()
    module.register_buffer("image", x)
    tracking[0] = False
    untracked = x + 1
    tracking[0] = True
    out = Described(L.zeros(1, 2, 2))
    L.add(x, 1, out=out)
    return {
        "itself": x, "operators": (x + 1, 1 + x, x + y, L.ones(1) + x, x.relu(), x.mean()), "loaded": loaded,
        "clones": (cloned, deep, deep.affine is x.affine, x.affine, cloned.data_ptr() == x.data_ptr()),
        "batches": (L.stack([x, y]), L.cat([x, y])), "results": (x.max(1), x.sort(-1), x.split(1, 1)),
        "untracked": (untracked, type(untracked).__name__), "items": list(x[0]), "mask": x[x > 1],
        "module": (module.image, type(module.state_dict()["image"]).__name__, L.nn.functional.pad(x, (1, 0))),
        "parameter": (type(L.nn.Parameter(x)).__name__, isinstance(L.nn.Parameter(x), L.nn.Parameter)),
        "out": out, "plain": x.plain(), "detached": x.detach(), "numbers": (x.shape[1], x.ndim, float(x.sum())),
        "copied": copy.copy(x), "zeros": L.zeros_like(x), "where": L.where(x > 1, x, y), "numpy": x.numpy().tolist(),
    }  # fmt: skip


# Types that functions unwrap, but for a few that keep them, and a switch for the rest.


def unwrapping(L):
    keep = [False]

    class Wrapped(L.Tensor):
        @classmethod
        def _wrap(cls, tensor, **attributes):
            made = tensor.as_subclass(cls)
            for key, value in attributes.items():
                setattr(made, key, value)
            return made

        @classmethod
        def like(cls, original, tensor):
            return cls._wrap(tensor, **vars(original))

        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            if not all(issubclass(cls, t) for t in types):
                return NotImplemented
            with L._C.DisableTorchFunctionSubclass():
                result = func(*args, **(kwargs or {}))
            if func in KEPT and isinstance(args[0], cls):
                return result if result is args[0] else cls.like(args[0], result)
            if keep[0]:
                return rewrapped(cls, result, next(a for a in args if isinstance(a, cls)))
            if isinstance(result, cls):  # Written in place, it stays the same object.
                return result.as_subclass(L.Tensor)
            return result

        @property
        def shape(self):
            with L._C.DisableTorchFunctionSubclass():
                return super().shape

        def __deepcopy__(self, memo):
            copied = self.detach().clone().requires_grad_(self.requires_grad)
            return self.like(self, L.Tensor.as_subclass(copied, L.Tensor))

    KEPT = {L.Tensor.clone, L.Tensor.to, L.Tensor.detach, L.Tensor.requires_grad_}

    class Boxes(Wrapped):
        def __new__(cls, data, *, form, canvas):
            return cls._wrap(L.as_tensor(data), form=form, canvas=canvas)

        def __repr__(self, *, tensor_contents=None):
            return f"Boxes({self.as_subclass(L.Tensor).tolist()}, {self.form})"

    class Image(Wrapped):
        def __new__(cls, data):
            return cls._wrap(L.as_tensor(data))

    def rewrapped(cls, result, original):
        if isinstance(result, L.Tensor) and not isinstance(result, cls):
            return cls.like(original, result)
        if isinstance(result, (tuple, list)):
            return type(result)(rewrapped(cls, r, original) for r in result)
        return result

    @contextlib.contextmanager
    def return_type(wrapped):
        before = keep[0]
        keep[0] = wrapped
        try:
            yield
        finally:
            keep[0] = before

    boxes, image = Boxes([[0, 0, 2, 2], [1, 1, 3, 3]], form="corners", canvas=(4, 4)), Image([[1.0, 2.0]])
    facts = {
        "themselves": (boxes, image), "results": (boxes + 1, image * 2, 2 * image, boxes[0], L.cat([image, image])),
        "kept": (boxes.clone(), boxes.to(L.float64), boxes.detach(), image.clone().requires_grad_()),
        "text": (repr(boxes), tuple(boxes.shape)), "deep": copy.deepcopy(boxes), "like": Boxes.like(boxes, boxes * 2),
        "in place": (type(boxes.clone().add_(1)).__name__, image.clone().mul_(2).tolist()),
    }  # fmt: skip
    with return_type(True):
        facts["switched on"] = (boxes + 1, boxes.max(0), boxes.split(1), L.ones(1) * image, image.mean())
    facts["switched off"] = boxes + 1
    try:
        boxes + image
    except TypeError:
        facts["two types"] = "refused"
    leaf = Image([[1.0, 2.0]]).requires_grad_()
    (leaf**2).sum().backward()
    facts["gradient"] = leaf.grad
    return facts


# Parameters on a manifold, made with `_make_subclass`, and an optimizer that asks them where to go.


def manifold_parameters(L):
    class Sphere:
        def project(self, x):
            return x / x.norm(dim=-1, keepdim=True)

        def tangent(self, x, u):
            return u - (x * u).sum(-1, keepdim=True) * x

        def retract(self, x, u):
            return self.project(x + u)

    class OnManifold(L.Tensor):
        def __new__(cls, data, manifold, requires_grad=False):
            if isinstance(data, OnManifold):
                data = data.data
            made = L.Tensor._make_subclass(cls, data, requires_grad)
            made.manifold = manifold
            return made

        def retract(self, u):
            return self.manifold.retract(self, u)

        def project_(self):
            return self.copy_(self.manifold.project(self))

        def __reduce_ex__(self, protocol):
            plain = L.Tensor._make_subclass(L.Tensor, self.detach())
            return rebuilt, (type(self), plain, self.manifold, self.requires_grad)

        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            with L._C.DisableTorchFunctionSubclass():
                return func(*args, **(kwargs or {}))

    class ManifoldParameter(OnManifold, L.nn.Parameter):
        def __new__(cls, data=None, manifold=None, requires_grad=True):
            data = L.empty(0) if data is None else data
            return OnManifold.__new__(cls, data, manifold or Sphere(), requires_grad)

        def __repr__(self):
            return f"Parameter on {type(self.manifold).__name__} containing:\n" + L.Tensor.__repr__(self)

        def __deepcopy__(self, memo):
            made = type(self)(self.data.clone(), copy.deepcopy(self.manifold, memo), self.requires_grad)
            memo[id(self)] = made
            return made

    class RiemannianSGD(L.optim.Optimizer):
        def __init__(self, parameters, lr, momentum=0.0):
            super().__init__(parameters, {"lr": lr, "momentum": momentum})

        def step(self, closure=None):
            with L.no_grad():
                for group in self.param_groups:
                    for p in group["params"]:
                        if p.grad is None:
                            continue
                        manifold = getattr(p, "manifold", None)
                        grad = p.grad if manifold is None else manifold.tangent(p, p.grad)
                        state = self.state[p]
                        buffer = state.setdefault("momentum", L.zeros_like(grad))
                        buffer.mul_(group["momentum"]).add_(grad)
                        moved = p - group["lr"] * buffer if manifold is None else p.retract(-group["lr"] * buffer)
                        p.copy_(moved)

    class Model(L.nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = ManifoldParameter(Sphere().project(L.tensor([[1.0, 2.0, 2.0], [0.0, 3.0, 4.0]])))
            self.bias = L.nn.Parameter(L.zeros(2))

        def forward(self, x):
            return (self.weight * x).sum(-1) + self.bias

    def rebuilt(cls, data, manifold, requires_grad):
        return cls(data, manifold, requires_grad)

    rebuilt.__module__, rebuilt.__qualname__ = __name__, "rebuilt"
    sys.modules[__name__].rebuilt = rebuilt
    model, target = Model(), L.tensor([1.0, -1.0, 0.5])
    optimizer = RiemannianSGD(model.parameters(), lr=0.1, momentum=0.9)
    losses = []
    for _ in range(5):
        optimizer.zero_grad()
        loss = ((model(target) - 1) ** 2).sum()
        loss.backward()
        optimizer.step()
        losses.append(round(loss.item(), 4))
    weight = model.weight
    with published(Sphere, OnManifold, ManifoldParameter):
        pickled = pickle.loads(pickle.dumps(weight))
    del sys.modules[__name__].rebuilt
    fixed = ManifoldParameter(L.ones(1, 3), requires_grad=False)
    fixed.project_()
    other = Model()
    other.load_state_dict(model.state_dict())
    moments = [[round(v, 3) for v in state["momentum"].flatten().tolist()] for state in optimizer.state.values()]

    def value(p):
        elements = [[round(v, 4) for v in row] for row in p.tolist()]
        return type(p).__name__, elements, p.requires_grad, type(p.manifold).__name__

    return {
        "trained": (losses, value(weight), [round(v, 4) for v in model.bias.tolist()]),
        "norm": [round(v, 4) for v in weight.norm(dim=-1).tolist()],
        "names": (sorted(dict(model.named_parameters())), sorted(model.state_dict())),
        "copies": (value(copy.deepcopy(weight)), value(pickled), value(copy.deepcopy(model).weight)),
        "loaded": value(other.weight), "fixed": value(fixed), "empty": tuple(ManifoldParameter().shape),
        "kinds": (isinstance(weight, L.nn.Parameter), isinstance(weight, OnManifold), weight.is_leaf),
        "results": (type(weight + 1).__name__, type(weight.detach()).__name__, type(weight[0]).__name__),
        "text": repr(fixed).partition("\n")[0], "from another": value(ManifoldParameter(weight, requires_grad=False)),
        "moments": moments,
        "memory": ManifoldParameter(target).data_ptr() == target.data_ptr(),
    }  # fmt: skip


# Objects that are no tensors, evaluated when they must be, with a table of the functions that they answer.


def lazy_operators(L):
    answers = {}

    def implements(*functions):
        def declare(implementation):
            answers.update(dict.fromkeys(functions, implementation))
            return implementation

        return declare

    class Operator:
        def __init__(self, *parts):
            self.parts = parts

        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            found = answers.get(func)
            allowed = all(issubclass(t, (L.Tensor, Operator)) for t in types)
            if found is None or not allowed:
                return NotImplemented
            return found(*args, **(kwargs or {}))

        @property
        def shape(self):
            return self.dense().shape

        def __add__(self, other):
            return Sum(self, other if isinstance(other, Operator) else Dense(other))

        __radd__ = __add__

        def __mul__(self, other):
            return Scaled(self, other)

        __rmul__ = __mul__

        def __matmul__(self, other):
            return self.apply(other)

        def __rmatmul__(self, other):
            return self.transposed().apply(other.mT).mT

        def transposed(self):
            return Dense(self.dense().mT)

        def apply(self, vector):
            return self.dense() @ vector

    class Dense(Operator):
        def dense(self):
            return self.parts[0]

    class Diagonal(Operator):
        def dense(self):
            return L.diag(self.parts[0])

        def apply(self, vector):
            return self.parts[0][:, None] * vector

    class Sum(Operator):
        def dense(self):
            return self.parts[0].dense() + self.parts[1].dense()

        def apply(self, vector):
            return self.parts[0] @ vector + self.parts[1] @ vector

    class Scaled(Operator):
        def dense(self):
            return self.parts[0].dense() * self.parts[1]

    @implements(L.matmul, L.Tensor.matmul)
    def _matmul(left, right):
        return left @ right if isinstance(left, Operator) else right.__rmatmul__(left)

    @implements(L.add, L.Tensor.add)
    def _add(left, right):
        return left + right if isinstance(left, Operator) else right + left

    @implements(L.mul, L.Tensor.mul)
    def _mul(left, right):
        return left * right if isinstance(left, Operator) else right * left

    @implements(L.diagonal)
    def _diagonal(operator, offset=0, dim1=0, dim2=1):
        return L.diagonal(operator.dense(), offset, dim1, dim2)

    @implements(L.linalg.solve, L.linalg.cholesky)
    def _solve(operator, *right):
        if not right:
            return Dense(L.linalg.cholesky(operator.dense()))
        return L.linalg.solve(operator.dense(), *right)

    @implements(L.logdet)
    def _logdet(operator):
        return L.logdet(operator.dense())

    @implements(L.sum)
    def _sum(operator, dim=None):
        return operator.dense().sum() if dim is None else operator.dense().sum(dim)

    base = L.tensor([[4.0, 1.0], [1.0, 3.0]])
    vector, weights = L.tensor([[1.0], [2.0]]), L.tensor([1.0, 2.0])
    dense, diagonal = Dense(base), Diagonal(weights)
    facts = {
        "products": (dense @ vector, vector.mT @ dense, L.matmul(diagonal, vector), base @ diagonal),
        "sums": [type(o).__name__ for o in (dense + diagonal, base + diagonal, L.add(base, dense), diagonal + base)],
        "scaled": [o.dense() for o in (2 * dense, dense * 2, L.mul(dense, L.tensor(2.0)), L.tensor(2.0) * dense)],
        "values": [(base + diagonal).dense(), ((dense + diagonal) @ vector), L.sum(dense + diagonal, 0)],
        "solved": (L.linalg.solve(dense, vector), L.logdet(diagonal), L.linalg.cholesky(dense).dense()),
        "diagonal": L.diagonal(dense, dim1=-2, dim2=-1), "like a tensor": L.overrides.is_tensor_like(dense),
    }  # fmt: skip
    refused = []
    for call in (
        lambda: L.sin(dense), lambda: L.ones(2).sub(dense), lambda: L.ones(2) - dense, lambda: L.ones(2) < dense,
        lambda: L.stack([dense, dense]), lambda: L.ones(2) ** dense,
    ):  # fmt: skip
        try:
            call()
        except TypeError:
            refused.append("TypeError")
    facts["refused"] = refused
    facts["equal"] = (L.ones(2) == dense, dense != L.ones(2), dense == dense)
    leaf = base.clone().requires_grad_()
    ((Dense(leaf) + diagonal) @ vector).sum().backward()
    facts["gradient"] = leaf.grad
    leaf = weights.clone().requires_grad_()
    L.logdet(Dense(base) + Diagonal(leaf)).backward()
    facts["gradient of a sum"] = leaf.grad
    return facts


# A group's elements with the kind of group as an attribute, which results of shape-changing functions keep.


def group_elements(L):
    _pytree = __import__(f"{L.__name__}.utils._pytree", fromlist=["tree_map_only"])

    class Kind:
        def __init__(self, name, size):
            self.name, self.size = name, size

        def __deepcopy__(self, memo):
            return self

        def __eq__(self, other):
            return isinstance(other, Kind) and self.name == other.name

        def __hash__(self):
            return hash(self.name)

        def __repr__(self):
            return self.name

    ROTATION, ANGLE = Kind("rotation", 2), Kind("angle", 1)
    HANDLED = {"__getitem__", "clone", "detach", "stack", "cat", "unsqueeze", "view", "reshape", "to", "split"}

    class Exponential(L.autograd.Function):
        @staticmethod
        def forward(ctx, angle):
            ctx.save_for_backward(angle)
            return L.cat([L.cos(angle), L.sin(angle)], -1)

        @staticmethod
        def backward(ctx, grad):
            (angle,) = ctx.saved_tensors
            return -grad[..., :1] * L.sin(angle) + grad[..., 1:] * L.cos(angle)

    class Element(L.Tensor):
        def __new__(cls, data, *, kind=None):
            data = L.as_tensor(data)
            assert data.shape[-1] == (kind or data.kind).size
            return L.Tensor.as_subclass(data, Element)

        def __init__(self, data, *, kind=None):
            self.kind = kind or data.kind

        def __repr__(self, *, tensor_contents=None):
            return f"{self.kind} {type(self).__name__}" + (f": {self.tensor().tolist()}" if self.kind else "")

        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            plain_types = tuple(L.Tensor if t in (Element, Parameter) else t for t in types)
            result = L.Tensor.__torch_function__(func, plain_types, args, kwargs or {})
            if result is None or func.__name__ not in HANDLED:
                return result
            kind = next(a.kind for a in _pytree.tree_flatten(args)[0] if isinstance(a, Element))

            def wrap(tensor):
                if isinstance(tensor, cls) or tensor.shape[-1:] != (kind.size,):
                    return tensor
                made = L.Tensor.as_subclass(tensor, Element)
                made.kind = kind
                return made

            return _pytree.tree_map_only(L.Tensor, wrap, result)

        def tensor(self):
            return L.Tensor.as_subclass(self, L.Tensor)

        def exp(self):
            return Element(Exponential.apply(self.tensor()), kind=ROTATION)

        def __matmul__(self, other):
            (a, b), (c, d) = self.tensor().unbind(-1), L.Tensor.as_subclass(other, L.Tensor).unbind(-1)
            result = L.stack([a * c - b * d, a * d + b * c], -1)
            return Element(result, kind=self.kind) if isinstance(other, Element) else result

        def add_(self, other, alpha=1):
            with L.no_grad():
                step = L.Tensor.as_subclass(other, L.Tensor)[..., :1] * alpha
                moved = Element(step, kind=ANGLE).exp() @ self
                return self.copy_(moved)

        def __deepcopy__(self, memo):
            return Element(self.tensor().detach().clone(), kind=self.kind)

    class Parameter(Element, L.nn.Parameter):
        def __new__(cls, data, kind=None, requires_grad=True):
            return L.Tensor._make_subclass(cls, L.Tensor.as_subclass(data, L.Tensor), requires_grad)

        def __init__(self, data, kind=None, requires_grad=True):
            self.kind = kind or data.kind

        def __deepcopy__(self, memo):
            return Parameter(self.detach().clone(), self.kind, self.requires_grad)

    angle = Element([[0.1], [0.2], [0.3]], kind=ANGLE)
    rotation = angle.exp()
    module = L.nn.Module()
    module.pose = Parameter(rotation[:2])
    optimizer = L.optim.SGD(module.parameters(), lr=0.1)
    for _ in range(3):
        optimizer.zero_grad()
        (module.pose @ L.tensor([1.0, 0.5])).pow(2).sum().backward()
        gradient = module.pose.grad
        optimizer.step()
    leaf = Element([[0.1], [0.4]], kind=ANGLE).requires_grad_()
    (leaf.exp() @ L.tensor([1.0, 1.0])).sum().backward()
    copied = copy.deepcopy(module)

    def kinds(value):
        return shown(L, value), [str(getattr(v, "kind", None)) for v in _pytree.tree_leaves(value)]

    def element(value):
        elements = [round(v, 4) for v in value.tensor().detach().flatten().tolist()]
        return type(value).__name__, str(value.kind), tuple(value.shape), elements, value.requires_grad

    return {
        "elements": (element(angle), element(rotation), repr(rotation[:0])),
        "handled": [element(r) for r in (rotation[0], rotation[1:], rotation.clone(), L.stack([rotation, rotation]),
                    L.cat([rotation, rotation]), rotation.unsqueeze(0), rotation.detach(), rotation.to(L.float64),
                    *rotation.split(1))],
        "not handled": [type(r).__name__ for r in (rotation * 2, rotation.sum(), L.sin(rotation), rotation > 0)],
        "no kind": [hasattr(r, "kind") for r in (rotation * 2, rotation.sum())],
        "product": element(rotation @ rotation), "acted": kinds(rotation @ L.tensor([1.0, 0.0])),
        "in place": element(rotation.clone().add_(L.full((3, 2), 0.5))),
        "parameter": (element(module.pose), type(gradient).__name__, isinstance(module.pose, L.nn.Parameter),
                      sorted(module.state_dict()), module.pose.is_leaf),
        "copies": (element(copied.pose), element(copy.deepcopy(rotation)), copied.pose is module.pose),
        "gradient": [round(v, 4) for v in leaf.grad.flatten().tolist()],
        "text of a parameter": repr(module.pose)[:25],
    }  # fmt: skip


PROGRAMS = {
    f.__name__: f
    for f in (carried_dict, described_images, unwrapping, manifold_parameters, lazy_operators, group_elements)
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_both_libraries_say_the_same(name):
    theirs, ours = ({k: shown(L, v) for k, v in PROGRAMS[name](L).items()} for L in LIBRARIES.values())
    assert theirs.keys() == ours.keys()
    assert len(theirs) > 6
    for fact, expected in theirs.items():
        assert ours[fact] == expected, fact


def test_parameters_of_a_subclass():
    """What a subclass of Parameter computes is plain, and it says that it is a parameter when it is printed."""
    facts = []
    for L in LIBRARIES.values():

        class Weight(L.nn.Parameter):
            pass

        class Named(L.Tensor):
            def __repr__(self, *, tensor_contents=None):
                return "named: " + super().__repr__()

        class Both(Named, L.nn.Parameter):
            pass

        w = Weight(L.ones(2))
        asked = L._C._disabled_torch_function_impl(L.Tensor.mul, (Weight,), (w, 2), {})
        facts.append([type(t).__name__ for t in (w * 2, w.detach(), asked)])
        facts[-1] += [repr(w), repr(w * 2), repr(Both(L.ones(2))), L.Tensor.__repr__(L.nn.Parameter(L.ones(1)))]
        facts[-1].append(repr(L.nn.Parameter(L.ones(2).as_subclass(Named))))
    assert facts[0] == facts[1]
    assert facts[0][0] == "Tensor"


def outcomes(programs):
    """What each program of `L` gives with both libraries: facts, or the type and the given part of an error."""
    for name, program in programs.items():
        facts = []
        for L in LIBRARIES.values():
            try:
                facts.append(shown(L, program(L)))
            except Exception as error:
                facts.append(type(error).__name__)
        yield name, *facts


def test_a_tensor_of_a_tensor_is_an_alias_of_any_dtype():
    def alias_of(L, source, kind):
        made = kind(source)
        return made, made.data_ptr() == source.data_ptr(), type(made.grad_fn).__name__, made.is_leaf

    def subclass(L):
        return type("Marked", (L.Tensor,), {})

    def trained(L):
        leaf = L.ones(2, requires_grad=True)
        (subclass(L)(leaf) * 3).sum().backward()
        return leaf.grad

    programs = {
        "bytes": lambda L: alias_of(L, L.arange(3, dtype=L.uint8), L.Tensor),
        "of a subclass": lambda L: alias_of(L, L.arange(3).as_subclass(subclass(L)), L.Tensor),
        "to a subclass": lambda L: alias_of(L, L.ones(2, dtype=L.float64), subclass(L)),
        "with a history": lambda L: alias_of(L, L.ones(2, requires_grad=True) * 2, L.Tensor),
        "of a leaf": lambda L: alias_of(L, L.ones(2, requires_grad=True), subclass(L)),
        "gradient": trained,
        "with a device": lambda L: L.Tensor(L.ones(2), device="cpu"),
        "with a dtype": lambda L: L.Tensor([1, 2], dtype=L.uint8),
    }
    found = {name: (theirs, ours) for name, theirs, ours in outcomes(programs)}
    for name, (theirs, ours) in found.items():
        assert ours == theirs, name
    assert found["with a device"][0] == "RuntimeError"
    assert found["gradient"][0] != "TypeError"


@pytest.mark.parametrize("name", ["uniform_", "normal_", "exponential_", "log_normal_", "cauchy_"])
def test_the_numbers_of_a_distribution_may_be_tensors(name):
    numbers = (2.0,) if name == "exponential_" else (0.0, 1.0)

    def drawn(L, **options):
        return getattr(L.ones(3), name)(*(L.tensor(n, **options) for n in numbers)).shape

    programs = {
        "floats": drawn,
        "integers": lambda L: drawn(L, dtype=L.int64),
        "one that needs a gradient": lambda L: drawn(L, requires_grad=True),
        "one dimension": lambda L: getattr(L.ones(3), name)(*(L.tensor([n]) for n in numbers)).shape,
    }
    for what, theirs, ours in outcomes(programs):
        assert ours == theirs, what
        assert (theirs == "TypeError") == what.startswith("one")


def test_an_operator_that_both_types_refuse_is_named_as_python_names_it():
    for name in ("add", "sub", "mul", "matmul", "truediv", "mod", "pow", "lshift", "xor", "lt", "le", "gt", "ge"):
        said = []
        for L in LIBRARIES.values():

            def refuse(cls, func, types, args=(), kwargs=None):
                return NotImplemented

            image, mask = (
                L.ones(2, 2).as_subclass(type(kind, (L.Tensor,), {"__torch_function__": classmethod(refuse)}))
                for kind in ("Image", "Mask")
            )
            with pytest.raises(TypeError) as caught:
                getattr(operator, name)(image, mask)
            said.append(str(caught.value))
        assert said[1].startswith(said[0]), name


def test_what_messages_call_a_type():
    for values in ([1], (2.0,), "text", None):
        for function in ("stack", "cat", "block_diag", "meshgrid"):
            said = []
            for L in LIBRARIES.values():
                for value in (values, numpy.ones(2)):
                    listed = [L.ones(2), value]
                    with pytest.raises(TypeError) as caught:
                        getattr(L, function)(*([listed] if function in ("stack", "cat") else listed))
                    said.append(str(caught.value).rpartition("got ")[2])
            assert said[:2] == said[2:], function


def test_modes_that_interpolate_has_not():
    for mode, shape in (("box", (1, 3, 4, 4)), ("lanczos", (1, 3, 4)), ("bicubic", (1, 3, 4)), ("area", (2, 2))):
        for L in LIBRARIES.values():
            with pytest.raises(NotImplementedError, match=rf"Input Error: Only 3D.*\(got {mode}\)"):
                L.nn.functional.interpolate(L.ones(shape), size=2, mode=mode)


@pytest.mark.parametrize("count", [2, 3])
def test_adaptive_pooling_to_one_element_is_the_mean(count):
    for L in LIBRARIES.values():

        class Watched(L.Tensor):
            seen: list[str] = []

            @classmethod
            def __torch_function__(cls, func, types, args=(), kwargs=None):
                cls.seen.append(func.__name__)
                return super().__torch_function__(func, types, args, kwargs or {})

        L.manual_seed(0)
        x = L.randn(4, 3, *(5, 7, 6)[:count])
        function = getattr(L.nn.functional, f"adaptive_avg_pool{count}d")
        assert (function(x, 1) == x.mean(tuple(range(-count, 0)), keepdim=True)).all()
        assert isinstance(function(x.as_subclass(Watched), 1), Watched)
        assert Watched.seen == [function.__name__]
