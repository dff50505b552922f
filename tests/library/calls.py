"""Uses of `torch.library`, as calls whose outcomes are compared between the libraries."""

import warnings
from collections.abc import Callable, Sequence
from typing import Any


def calls(lib: Any, namespace: str) -> dict[str, Callable[[], Any]]:
    """Return the calls by name; operators are defined in `namespace`."""
    library = lib.library.Library(namespace, "DEF")
    library.define("mul(Tensor a, Tensor b, *, float c=2.0) -> Tensor")
    library.define("two.x(Tensor a) -> Tensor")
    library.define("two.y(Tensor a, int n) -> Tensor")
    library.define("bare(Tensor x) -> Tensor")
    library.define("write(Tensor(a!) x, float by) -> ()")
    library.define("halves(Tensor x) -> (Tensor, Tensor)")
    library.define("composite(Tensor x, int[2] n=1, *, str mode='add') -> Tensor")
    library.impl("mul", lambda a, b, c=2.0: a * b * c, "CPU")
    library.impl("two.x", lambda a: a + 1, "CPU")
    library.impl("two.y", lambda a, n: a + n, "CPU")
    library.impl("write", lambda x, by: (x.mul_(by), None)[1], "CPU")
    library.impl("halves", lambda x: (x[:1].clone(), x[1:].clone()), "CPU")
    library.impl(
        "composite",
        lambda x, n=(1, 1), mode="add": x + n[0] * n[1] if mode == "add" else x * n[0],
        "CompositeImplicitAutograd",
    )
    ops = getattr(lib.ops, namespace)
    ones, two = lib.ones(2), lib.tensor([1.0, -3.0])

    def plain(x: lib.Tensor, n: int = 2) -> lib.Tensor:
        return x.clone() * n

    def adds_one(x: lib.Tensor) -> None:
        x.add_(1)

    def same(x: lib.Tensor) -> lib.Tensor:
        return x

    custom = lib.library.custom_op(f"{namespace}::plain", plain, mutates_args=())
    writes = lib.library.custom_op(f"{namespace}::adds_one", adds_one, mutates_args={"x"})
    aliasing = lib.library.custom_op(f"{namespace}::same", same, mutates_args=())
    mapped = lib.library.custom_op(f"{namespace}::mapped", plain, mutates_args=())
    graded = lib.library.custom_op(f"{namespace}::graded", plain, mutates_args=())

    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.n = inputs[1] if len(inputs) > 1 else 2

    graded.register_autograd(lambda ctx, grad: (grad * ctx.n * 10, None), setup_context=setup_context)
    mapped.register_vmap(lambda info, in_dims, x, n=2: (x * n + info.batch_size, in_dims[0]))

    def leaf() -> Any:
        return two.clone().requires_grad_(True)

    def backward_of(function: Callable[..., Any]) -> Any:
        x = leaf()
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            function(x).sum().backward()
        return [x.grad, [str(w.message).partition(": ")[2][:40] for w in told]]

    def written() -> Any:
        x = ones.clone()
        return [ops.write(x, 3.0), x]

    def versions() -> Any:
        x = ones.clone()
        before = x._version
        writes(x)
        return [x, x._version > before]

    class Duck:
        @classmethod
        def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            return [str(func), type(func).__name__, len(args), sorted(kwargs or {})]

    class Sub(lib.Tensor):
        pass

    def schema_of(function: Callable[..., Any], mutates: Any = ()) -> Any:
        return lib.library.infer_schema(function, mutates_args=mutates)

    def typed(
        x: lib.Tensor, y: lib.Tensor | None, a: Sequence[int], b: list[lib.Tensor], c: int | float | bool,
        d: lib.dtype, e: lib.device, f: float = 1.5, h: int | None = None, i: str = "a",
    ) -> tuple[lib.Tensor, int]: ...  # fmt: skip

    def unannotated(x) -> lib.Tensor: ...

    def no_return(x: lib.Tensor): ...

    def of_dict(x: dict) -> lib.Tensor: ...

    def variadic(x: lib.Tensor, *rest: int) -> lib.Tensor: ...

    return {
        "default overload": lambda: ops.mul(ones, two),
        "keyword": lambda: ops.mul(ones, two, c=3),
        "overload by name": lambda: ops.mul.default(ones, b=two),
        "overloads": lambda: [ops.two(ones), ops.two(ones, 3), ops.two.y(ones, 4), ops.two.overloads()],
        "names": lambda: [str(ops.mul), str(ops.mul.default), ops.mul.default.name(), str(ops.mul.default._schema),
                          ops.two.y.name(), str(ops.two.y._schema), ops.mul._qualified_op_name],
        "missing": lambda: ops.mul(ones),
        "too many": lambda: ops.mul(ones, two, 3.0),
        "unknown": lambda: ops.mul(ones, two, d=3.0),
        "wrong type": lambda: ops.mul(ones, 1),
        "no kernel": lambda: ops.bare(ones),
        "no operator": lambda: ops.nope,
        "no overload": lambda: ops.mul.nope,
        "write": written,
        "two results": lambda: ops.halves(two),
        "composite": lambda: [ops.composite(two), ops.composite(two, 3), ops.composite(two, [2, 3], mode="mul")],
        "composite backward": lambda: backward_of(lambda x: ops.composite(x, 3, mode="mul")),
        "kernel without a gradient": lambda: backward_of(lambda x: ops.mul(x, ones)),
        "duck": lambda: [ops.mul(Duck(), 1), ops.mul.default(ones, Duck(), c=2.0), custom(Duck())],
        "subclass": lambda: type(ops.mul(ones.as_subclass(Sub), two)).__name__,
        "define again": lambda: str_of_error(lambda: library.define("mul(Tensor a) -> Tensor")).partition(" (")[0],
        "implement the unknown": lambda: library.impl("nope_at_all", lambda a: a, "FancyKey"),
        "implement no function": lambda: library.impl("mul", 3, "CPU"),
        "kind": lambda: lib.library.Library(namespace, "FOO"),
        "second DEF": lambda: str_of_error(lambda: lib.library.Library(namespace, "DEF"))[:60],
        "custom": lambda: [custom(two), custom(two, 3), repr(custom)],
        "custom schema": lambda: str(custom._opoverload._schema).replace("SymInt", "int"),
        "custom backward": lambda: backward_of(custom),
        "custom with a gradient": lambda: backward_of(lambda x: graded(x, 3)),
        "custom that writes": versions,
        "custom that aliases": lambda: str_of_error(lambda: aliasing(two)).partition(")")[2][:60],
        "custom mapped": lambda: lib.vmap(mapped)(lib.ones(3, 2)),
        "custom mapped by example": lambda: lib.vmap(custom)(lib.ones(3, 2)),
        "schema": lambda: schema_of(typed, ("x",)).replace("SymInt", "int"),
        "schema of unknown": lambda: schema_of(typed, "unknown").replace("SymInt", "int"),
        "schema unannotated": lambda: str_of_error(lambda: schema_of(unannotated))[:70],
        "schema no return": lambda: str_of_error(lambda: schema_of(no_return))[:70],
        "schema dict": lambda: str_of_error(lambda: schema_of(of_dict))[:70],
        "schema variadic": lambda: str_of_error(lambda: schema_of(variadic))[:70],
        "schema not found": lambda: type(error_of(lambda: schema_of(plain, ("zz",)))).__name__,
        "opcheck": lambda: lib.library.opcheck(ops.mul.default, (leaf(), ones), test_utils="test_schema"),
        "opcheck without fake": lambda: type(error_of(lambda: lib.library.opcheck(custom, (ones,)))).__name__,
        "fake kept apart": lambda: lib.library.register_fake(f"{namespace}::bare")(lambda x: x.clone()) and None,
        "parse": lambda: str_of_error(lambda: library.define("broken(Tensor x")).split("\n")[0],
        "parse type": lambda: "unknown type" in str_of_error(lambda: library.define("broken(Tensr x) -> Tensor")),
    }  # fmt: skip


def error_of(call: Callable[[], Any]) -> Exception | None:
    """Return what a call raises."""
    try:
        call()
    except Exception as error:
        return error
    return None


def str_of_error(call: Callable[[], Any]) -> str:
    """Return the text of what a call raises."""
    return str(error_of(call))
