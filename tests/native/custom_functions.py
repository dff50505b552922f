"""Custom Functions in many situations, and what can be seen of each; tests compare what both ways show."""

from collections import namedtuple

import tensorlike as tl
from tests.native.graphs import Sub, described

Pair = namedtuple("Pair", "first second")
once_differentiable = tl.autograd.function.once_differentiable


def made(forward, backward=None, **others):
    """Return a Function of these methods, and of `setup_context` and others."""
    methods = {"forward": forward, **({} if backward is None else {"backward": backward}), **others}
    return type("Made", (tl.autograd.Function,), {name: staticmethod(method) for name, method in methods.items()})


def _save(ctx, inputs, output):
    ctx.save_for_backward(*(i for i in inputs if isinstance(i, tl.Tensor)))
    ctx.needed = ctx.needs_input_grad


def _square(ctx, x):
    ctx.save_for_backward(x)
    return x * x


def _square_back(ctx, grad):
    (x,) = ctx.saved_tensors
    return grad * 2 * x


def _mul(ctx, x, y, number=2):
    ctx.save_for_backward(x, None, y)
    ctx.number = number
    return x * y * number


def _mul_back(ctx, grad):
    x, nothing, y = ctx.saved_tensors
    assert nothing is None
    return grad * y * ctx.number, grad * x * ctx.number, None


def _both(ctx, x, y):
    ctx.save_for_backward(x, y)
    return x * y, x + y


def _both_back(ctx, first, second):
    x, y = ctx.saved_tensors
    zero = tl.zeros(3)
    first, second = zero if first is None else first, zero if second is None else second
    return first * y + second, first * x + second


def _saves_output(ctx, x):
    y = x.exp()
    ctx.save_for_backward(y, x * 2)
    return y


def _raises(*args):
    raise ValueError("of the user")


def _interrupted(*args):
    raise KeyboardInterrupt


def _marked_dirty(ctx, x):
    ctx.mark_dirty(x)
    return x.mul_(2)


def _fixed(ctx, x):
    order = x.argsort()
    copy = x * 1
    ctx.mark_non_differentiable(copy)
    ctx.save_for_backward(order)
    return x[order], order, copy


def _fixed_back(ctx, grad, *others):
    (order,) = ctx.saved_tensors
    back = tl.zeros(3)
    back[order] = grad
    return back


def _sparing(ctx, x, y):
    ctx.set_materialize_grads(False)
    return _both(ctx, x, y)


def _shadowing(ctx, x):
    ctx.name, ctx._checked, ctx._fitting, ctx.checked = "mine", 1, 2, 3
    return _square(ctx, x)


def _reassigned(ctx, x):
    ctx.needs_input_grad = (False,)
    return _square(ctx, x)


def _switches_mode(ctx, x):
    tl.set_grad_enabled(True)
    return _square(ctx, x.detach())


def _reads_early(ctx, x):
    ctx.early = (ctx.saved_tensors, ctx.needs_input_grad, tl.is_grad_enabled())
    return _square(ctx, x)


def _saves_wrongly(ctx, x):
    ctx.save_for_backward(x, 3)


def _gives(value):
    return lambda ctx, *grads: value


def _of_setup(forward, setup, backward):
    return made(forward, backward, setup_context=setup)


x3 = (1.0, 2.0, 3.0)

#: name -> (the Function, the text of its arguments)
CASES = {
    "plain": (made(_square, _square_back), "x"),
    "of a result": (made(_square, _square_back), "x * 2"),
    "of a view": (made(_square, _square_back), "(x * 2)[:]"),
    "of a leaf without grad": (made(_square, _square_back), "c"),
    "two": (made(_mul, _mul_back), "x, y, 3"),
    "two of which one": (made(_mul, _mul_back), "x, c, 3.5"),
    "the other": (made(_mul, _mul_back), "c, x, True"),
    "the same twice": (made(_mul, _mul_back), "x, x, 3"),
    "default left out": (made(_mul, _mul_back), "x, y"),
    "too many": (made(_mul, _mul_back), "x, y, 3, 4"),
    "too few": (made(_mul, _mul_back), "x"),
    "keyword": (made(_mul, _mul_back), "x, y, number=4"),
    "several": (made(_both, _both_back), "x, y"),
    "several of results": (made(_both, _both_back), "x * 1, y * 1"),
    "sparing": (made(_sparing, _both_back), "x, y"),
    "nineteen arguments": (
        made(lambda ctx, *a: a[0] * a[18], lambda ctx, g: (g,) * 19), f"x, {'1, ' * 17} y"
    ),
    "eighteen tensors": (made(lambda ctx, *a: sum(a), lambda ctx, g: (g,) * 18), "x, y, " * 9),
    "setup": (_of_setup(lambda x: x * x, _save, _square_back), "x"),
    "setup two": (_of_setup(lambda x, y: x * y, _save, lambda c, g: (g * c.saved_tensors[1], None)), "x, y"),
    "setup default": (_of_setup(lambda x, n=2: x * n, _save, lambda c, g: (g * 2, None)), "x"),
    "setup keyword": (_of_setup(lambda x, n=2: x * n, _save, lambda c, g: (g * 2, None)), "x, n=5"),
    "setup variadic": (_of_setup(lambda *x: x[0] * 2, _save, lambda c, g: g * 2), "x"),
    "setup raises": (_of_setup(lambda x: x * x, _raises, _square_back), "x"),
    "setup too many": (_of_setup(lambda x: x * x, _save, _square_back), "x, y"),
    "saved output": (made(_saves_output, lambda c, g: g * c.saved_tensors[0]), "x"),
    "saved once more": (
        made(lambda c, x: (c.save_for_backward(x * 2), c.save_for_backward(x), x * x)[2], _square_back), "x"
    ),
    "saved nothing": (made(lambda c, x: (c.save_for_backward(), x * x)[1], lambda c, g: g * len(c.saved_tensors)), "x"),
    "saved a number": (made(_saves_wrongly), "x"),
    "saved a subclass": (
        made(lambda c, x: (c.save_for_backward(x.as_subclass(Sub)), x * x)[1], lambda c, g: g * c.saved_tensors[0]), "x"
    ),
    "as it is": (made(lambda c, x: x, lambda c, g: g), "x"),
    "as it is, without grad": (made(lambda c, x: x, lambda c, g: g), "c"),
    "a view": (made(lambda c, x: x[:], lambda c, g: g), "x"),
    "detached": (made(lambda c, x: x.detach(), lambda c, g: g), "x"),
    "another's": (made(lambda c, x: OTHER[0], lambda c, g: g), "x"),
    "the same output twice": (made(lambda c, x: (x * 2,) * 2, lambda c, g, h: g + h), "x"),
    "output and input": (made(lambda c, x, y: (x * y, y), lambda c, g, h: (g, h)), "x, y"),
    "dirty": (made(_marked_dirty, lambda c, g: g * 2), "x * 1"),
    "dirty leaf": (made(_marked_dirty, lambda c, g: g * 2), "x"),
    "fixed": (made(_fixed, _fixed_back), "x"),
    "integers": (made(lambda c, x: x.argsort(), lambda c, g: g), "x"),
    "integers among": (made(lambda c, x: (x.argsort(), x * 2), lambda c, g, h: h * 2), "x"),
    "values among": (made(lambda c, x: (3, x * 2, "text", None), lambda c, *g: g[1] * 2), "x"),
    "no output": (made(lambda c, x: None, lambda c, g: g), "x"),
    "empty": (made(lambda c, x: (), lambda c: tl.ones(3)), "x"),
    "one in a tuple": (made(lambda c, x: (x * 2,), lambda c, g: g * 2), "x"),
    "named": (made(lambda c, x: Pair(x * 2, x * 3), lambda c, g, h: g * 2 + h * 3), "x"),
    "a list": (made(lambda c, x: [x * 2], lambda c, g: g * 2), "x"),
    "subclass": (made(_square, _square_back), "s"),
    "subclass comes out": (made(lambda c, x: (x * x).as_subclass(Sub), lambda c, g: g), "x"),
    "parameter": (made(_square, _square_back), "p"),
    "tensors in a list": (made(lambda c, x, more: x * more[0], lambda c, g: (g, None)), "x, [y]"),
    "shadowing": (made(_shadowing, _square_back), "x"),
    "reassigned": (made(_reassigned, _square_back), "x"),
    "switches the mode": (made(_switches_mode, lambda c, g: g), "x"),
    "reads early": (made(_reads_early, lambda c, g: g if c.early == ((), (True,), False) else None), "x"),
    "broadcast": (made(lambda c, x: x.reshape(3, 1) * tl.ones(3), lambda c, g: g), "x"),
    "float64": (made(_square, _square_back), "d"),
    "complex": (made(_square, lambda c, g: g * 2 * c.saved_tensors[0].conj()), "z"),
    "complex of real": (made(lambda c, x: x * 1j, lambda c, g: g), "x"),
    "no dimensions": (made(_square, _square_back), "x.sum()"),
    "none": (made(_square, _gives(None)), "x"),
    "none of two": (made(_mul, lambda c, g: (g, None, None)), "x, y, 3"),
    "for a number": (made(_mul, lambda c, g: (g, g, g)), "x, y, 3"),
    "one too few": (made(_mul, lambda c, g: (g, g)), "x, y, 3"),
    "one too many": (made(_square, lambda c, g: (g, g)), "x"),
    "nothings too many": (made(_square, lambda c, g: (g, None, None)), "x"),
    "list of gradients": (made(_square, lambda c, g: [g]), "x"),
    "named gradients": (made(_both, lambda c, g, h: Pair(g, h)), "x, y"),
    "gradient a number": (made(_square, _gives(3.0)), "x"),
    "gradient of a shape": (made(_square, lambda c, g: tl.ones(2)), "x"),
    "gradient broader": (made(_square, lambda c, g: tl.ones(4, 3)), "x"),
    "gradient of a dtype": (made(_square, lambda c, g: g.double()), "x"),
    "gradient complex": (made(_square, lambda c, g: g * 1j), "x"),
    "gradient of a subclass": (made(_square, lambda c, g: g.as_subclass(Sub)), "x"),
    "gradient where none is needed": (made(_mul, lambda c, g: (g, "text", None)), "x, c, 3"),
    "gradient kept": (made(_square, lambda c, g: (KEPT.append(g), g)[1]), "x"),
    "once": (made(_square, once_differentiable(_square_back)), "x"),
    "vjp": (made(_square, vjp=_square_back), "x"),
    "vjp and backward": (made(_square, _square_back, vjp=_square_back), "x"),
    "neither": (made(_square), "x"),
    "no forward": (type("Bare", (tl.autograd.Function,), {}), "x"),
    "forward raises": (made(_raises), "x"),
    "backward raises": (made(_square, _raises), "x"),
    "forward interrupted": (made(_interrupted), "x"),
    "backward interrupted": (made(_square, _interrupted), "x"),
    "for forward": (made(lambda c, x: (c.save_for_forward(x), x * 2)[1], lambda c, g: g * len(c.saved_tensors)), "x"),
}  # fmt: skip

#: A tensor with a history of its own, and the gradients that a backward keeps; new for each run.
OTHER, KEPT = [], []


def _graph(node, show, depth=0):
    """Show a node: its class and what it leads to, and the fields that both ways set."""
    if node is None:
        show("  " * depth + "none")
        return
    shown = ()
    if isinstance(node, tl.autograd.function.FunctionCtx):
        names = ("needs_input_grad", "_tl_positions", "_tl_arguments", "_tl_devices", "_tl_outputs", "_tl_special",
                 "_tl_recorded", "_tl_to_save", "_tl_make_zeros")  # fmt: skip
        saved = node._tl_saved if isinstance(node._tl_saved, tuple) else ()
        shown = (
            [getattr(node, name) for name in names],
            sorted(name for name in vars(node) if not name.startswith("_tl_") and name != "needs_input_grad"),
            [(type(s).__name__, getattr(s, "version", None), getattr(s, "number", None)) for s in saved],
            [described(t) for t in saved and node.saved_tensors],
        )
    show("  " * depth + f"{type(node).__name__} {node._tl_shape} {node._tl_dtype} {shown}")
    for following, number in node.next_functions:
        show("  " * depth + f"number {number}")
        _graph(following, show, depth + 1)


def _tried(call, show):
    try:
        return call()
    except (Exception, KeyboardInterrupt) as error:
        show(f"{type(error).__name__}: {error}")
        return None
    finally:
        show(f"grad mode {tl.is_grad_enabled()}")


def _operands():
    return {
        "x": tl.tensor(x3, requires_grad=True),
        "y": tl.tensor((4.0, 5.0, 6.0), requires_grad=True),
        "c": tl.tensor((7.0, 8.0, 9.0)),
        "d": tl.tensor(x3, dtype=tl.float64, requires_grad=True),
        "z": tl.tensor((1j, 2j, 3.0), requires_grad=True),
        "s": tl.tensor(x3).as_subclass(Sub).requires_grad_(),
        "p": tl.nn.Parameter(tl.tensor(x3)),
    }


def _observed(situation, made, show):
    """Add hooks to what `apply` returned, or change what it was given."""
    if situation == "hooks":
        made.retain_grad()
        made.register_hook(lambda grad: grad * 2)
        made.grad_fn.register_prehook(lambda grads: show(f"before {described(grads)}"))
        made.grad_fn.register_hook(lambda inputs, outputs: show(f"after {described(inputs)}"))


SITUATIONS = ("plainly", "without grad", "twice", "for two", "create", "hooks", "of inputs", "modified", "unused",
              "packed", "watched", "noted", "graph", "under a mode")  # fmt: skip


class Mode(tl.overrides.TorchFunctionMode):
    """A mode that shows the calls it sees."""

    def __init__(self, show):
        super().__init__()
        self.show = show

    def __torch_function__(self, func, types, args=(), kwargs=None):
        self.show(f"mode {func.__name__}")
        return func(*args, **(kwargs or {}))


def show_case(name, situation, show):
    """Run one case in one situation, and show what it did."""
    _tried(lambda: _run_case(name, situation, show), show)


def _run_case(name, situation, show):
    KEPT.clear()
    OTHER[:] = [tl.tensor([5.0, 6.0, 7.0], requires_grad=True) * 2]
    function, text = CASES[name]
    operands = _operands()
    leaves = [t for t in operands.values() if t.requires_grad]
    apply = eval(f"lambda function, x, y, c, d, z, s, p: function.apply({text})")

    def call():
        return apply(function, **operands)

    contexts = {
        "without grad": tl.no_grad(),
        "packed": tl.autograd.graph.saved_tensors_hooks(lambda t: t * 2, lambda t: t / 2),
        "watched": tl.autograd.detect_anomaly(),
        "under a mode": Mode(show),
    }
    if situation in contexts:
        with contexts[situation]:
            found = _tried(call, show)
    else:
        found = _tried(call, show)
    show(described(found))
    results = found if isinstance(found, (tuple, list)) else [found]
    outputs = [t for t in results if isinstance(t, tl.Tensor) and t.requires_grad]
    show(f"the same {[[i for i, r in enumerate(results) if r is o] for o in results]}")
    for output in outputs:
        _graph(output.grad_fn, show)
    if not outputs:
        return
    _observed(situation, outputs[0], show)
    if situation == "modified":
        with tl.no_grad():
            for leaf in leaves:
                leaf.add_(1)
    if situation == "unused":
        outputs = outputs[-1:]
    total = sum((o * o).sum().abs() for o in outputs)
    if situation == "for two":
        total = total + sum((o * 3).sum().abs() for o in outputs)
    if situation in ("create", "of inputs"):
        create = situation == "create"
        first = _tried(lambda: tl.autograd.grad(total, leaves, create_graph=create, allow_unused=True), show)
        show(described(first))
        linked = [g for g in first or () if g is not None and g.requires_grad]
        if linked:
            _tried(lambda: sum((g * g).sum().abs() for g in linked).backward(), show)
    elif situation == "under a mode":
        with Mode(show):
            _tried(total.backward, show)
    elif situation == "noted":
        with tl.autograd.set_detect_anomaly(False), tl.inference_mode(False):
            _tried(lambda: total.backward(inputs=leaves[:2]), show)
    else:
        _tried(lambda: total.backward(retain_graph=situation == "twice"), show)
    if situation == "twice":
        _tried(total.backward, show)
    _tried(lambda: described(outputs[0].grad_fn.saved_tensors), show)
    if situation == "graph":
        _tried(total.backward, show)
    for leaf in leaves:
        show(described(leaf.grad))
    show(described(outputs[0].grad if outputs[0].retains_grad else None))
