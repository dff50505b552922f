"""Run random programs and print everything about their graphs; tests compare what both modes print.

    python graphs.py SEED COUNT
"""

import random
import sys
import warnings

import numpy as np

import tensorlike as tl

UNARY = ("exp", "sin", "tanh", "neg", "sigmoid", "abs", "square", "sum", "mean", "clone", "relu", "cos", "t_sum",
         "square_of_user")  # fmt: skip
BINARY = ("add", "sub", "mul", "div", "maximum", "pow_2", "cat", "where", "matmul", "lerp", "both_of_user")
INPLACE = ("add_", "mul_", "exp_", "zero_", "view_add_")
SHAPES = ((), (3,), (2, 3), (1, 3), (2, 1), (0, 3))


class Sub(tl.Tensor):
    """A subclass that inherits everything."""


class Square(tl.autograd.Function):
    """A custom Function of one tensor."""

    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x * x

    @staticmethod
    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        return grad * 2 * x


class Both(tl.autograd.Function):
    """A custom Function of two tensors and a number, with two results."""

    @staticmethod
    def forward(x, y, number):
        return x * y, x + number

    @staticmethod
    def setup_context(ctx, inputs, output):
        x, y, ctx.number = inputs
        ctx.save_for_backward(x, None, y if ctx.number > 2 else output[0])

    @staticmethod
    def backward(ctx, first, second):
        x, _, other = ctx.saved_tensors
        return first * other + second * ctx.number, (first * x if ctx.needs_input_grad[1] else None), None


def _numbers(random_state, shape, dtype):
    return (np.random.RandomState(random_state).uniform(0.5, 1.5, shape)).astype(dtype)


def described(value):
    """Return a value as text: all of its bytes, layout and class."""
    if isinstance(value, tl.Tensor):
        array = value.detach().numpy()
        flags = (array.flags.c_contiguous, array.flags.f_contiguous, array.flags.writeable)
        return (
            f"{type(value).__name__} {value.dtype} {tuple(value.shape)} {value.stride()} {flags} "
            f"{value.requires_grad} {value.is_leaf} {value._version} {array.tobytes().hex()}"
        )
    if isinstance(value, np.ndarray):
        return f"array {value.dtype} {value.shape} {value.strides} {value.tobytes().hex()}"
    if isinstance(value, (tuple, list)):
        return f"{type(value).__name__}({', '.join(described(v) for v in value)})"
    return f"{type(value).__name__} {value!r}"


def _saved_by_user(node):
    try:
        return described(node.saved_tensors)
    except RuntimeError as error:
        return f"{type(error).__name__}: {error}"


def graph_of(tensor):
    """Return the lines that describe the graph of a tensor: classes, edges, saved values and order of nodes."""
    root = tensor.grad_fn
    if root is None:
        return ["no graph"]
    seen, stack, lines = {id(root): 0}, [root], []
    found = []
    while stack:
        node = stack.pop(0)
        found.append(node)
        edges = []
        for following, number in node.next_functions:
            if following is None:
                edges.append("none")
                continue
            if id(following) not in seen:
                seen[id(following)] = len(seen)
                stack.append(following)
            edges.append(f"{seen[id(following)]}.{number}")
        saved = []
        for kind in type(node).__mro__:
            names = [name for name in sorted(getattr(kind, "__slots__", ())) if name.startswith("_saved_")]
            saved += [f"{name}={described(getattr(node, name, 'unset'))}" for name in names]
        if isinstance(node, tl.autograd.function.FunctionCtx) and isinstance(node._tl_saved, tuple):
            saved += [_saved_by_user(node), described(node.needs_input_grad)]
        shape, dtype = node._tl_shape, node._tl_dtype
        lines.append(f"{node.name()} {edges} {saved} {shape} {dtype}")
    order = sorted(range(len(found)), key=lambda i: found[i]._tl_sequence_number)
    return [*lines, f"order {order}"]


def _step(random_state, values):
    kind = random_state.random()
    x = random_state.choice(values)
    if kind < 0.35:
        name = random_state.choice(UNARY)
        if name == "t_sum":
            return x.sum(0) if x.ndim else x.sum()
        if name == "square_of_user":
            return Square.apply(x)
        return getattr(x, name)()
    if kind < 0.85:
        name = random_state.choice(BINARY)
        y = random_state.choice([*values, 2, 0.5, 3.0])
        if name == "pow_2":
            return x**2
        if name == "cat":
            return tl.cat([x.reshape(-1), x.reshape(-1) if isinstance(y, (int, float)) else y.reshape(-1)])
        if name == "where":
            return tl.where(x > 1, x, y)
        if name == "matmul":
            return x.reshape(-1) @ x.reshape(-1)
        if name == "both_of_user":
            y = x if isinstance(y, (int, float)) else y
            return Both.apply(x, y, random_state.choice([2, 3]))[random_state.randrange(2)]
        if name == "lerp":
            return tl.lerp(x, x * 2, 0.25)
        if name == "maximum" and isinstance(y, (int, float)):
            return tl.maximum(x, tl.full_like(x, y))
        if name == "sub" and random_state.random() < 0.3:
            return 2 - x
        if name == "div" and random_state.random() < 0.3:
            return 2 / x
        if name == "add" and random_state.random() < 0.2:
            return tl.add(x, y, alpha=2)
        return getattr(tl, name)(x, y)
    name = random_state.choice(INPLACE)
    if name == "view_add_":
        x.reshape(-1)[:1].add_(1)
        return x
    return getattr(x, name)(1.5) if name in ("add_", "mul_") else getattr(x, name)()


def program(seed, show):
    """Run one random program, and show what it did."""
    r = random.Random(seed)
    leaves = []
    for index in range(r.randint(1, 4)):
        dtype = r.choice(["float32", "float32", "float64", "complex64", "int64"])
        array = _numbers(seed + index, r.choice(SHAPES), dtype)
        if r.random() < 0.2:
            array = np.asfortranarray(array)
        leaf = tl.from_numpy(array)
        if r.random() < 0.2:
            leaf = leaf.as_subclass(Sub)
        if dtype != "int64" and r.random() < 0.8:
            leaf.requires_grad_()
        leaves.append(leaf)
    values = list(leaves)
    for _ in range(r.randint(1, 9)):
        try:
            made = _step(r, values)
        except Exception as error:
            show(f"{type(error).__name__}: {error}")
            continue
        values.append(made)
        if made.requires_grad and r.random() < 0.15:
            made.retain_grad()
        if made.requires_grad and r.random() < 0.1:
            made.register_hook(lambda grad: grad * 2)
    for leaf in leaves:
        if leaf.requires_grad and r.random() < 0.15:
            leaf.register_hook(lambda grad: show(f"hook {described(grad)}"))
        if leaf.requires_grad and r.random() < 0.15:
            leaf.register_post_accumulate_grad_hook(lambda tensor: show(f"accumulated {described(tensor.grad)}"))
    last = values[-1]
    show(described(last))
    for line in graph_of(last):
        show(line)
    create = r.random() < 0.15
    keep = r.choice([None, True, False])
    for _ in range(2):
        try:
            gradient = tl.ones_like(last) if last.ndim else None
            if r.random() < 0.3:
                wanted = [leaf for leaf in leaves if leaf.requires_grad]
                found = tl.autograd.grad(
                    last, wanted, gradient, retain_graph=keep, create_graph=create, allow_unused=r.random() < 0.7
                )
                show(described(found))
            else:
                last.backward(gradient, retain_graph=keep, create_graph=create)
        except Exception as error:
            show(f"{type(error).__name__}: {error}")
        for value in values:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                show(described(value.grad))
    for line in graph_of(last):
        show(line)


def main(seed, count):
    """Print what `count` programs do."""
    for number in range(seed, seed + count):
        program(number, lambda line, number=number: print(number, line))


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    main(int(sys.argv[1]), int(sys.argv[2]))
