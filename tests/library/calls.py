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
    library.define("types(Tensor x, int[] n, str s, bool b, float f, Tensor? o, Tensor[] t, ScalarType d) -> str")
    library.impl(
        "types", lambda *values: repr([v if isinstance(v, (list, str, bool, float)) else 0 for v in values[1:6]]), "CPU"
    )
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

    def defined_later() -> Any:
        library.impl("later", lambda a: a + 1, "CPU")
        library.define("later(Tensor a) -> Tensor")
        return ops.later(ones)

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

    def keywords(x: lib.Tensor, y: lib.Tensor | None = None, *, n: int = 2) -> lib.Tensor:
        return x * n if y is None else x * n + y

    def listed(xs: list[lib.Tensor], by: float) -> tuple[lib.Tensor, list[lib.Tensor]]:
        return sum(xs) * by, [x * by for x in xs]

    def keyword_tensor(x: lib.Tensor, *, y: lib.Tensor) -> lib.Tensor:
        return x * y

    def rows(x: lib.Tensor) -> lib.Tensor:
        return x[x > 0].clone()

    keyed = lib.library.custom_op(f"{namespace}::keyed", keywords, mutates_args=())
    nested = lib.library.custom_op(f"{namespace}::nested", listed, mutates_args=())
    switched = lib.library.custom_op(f"{namespace}::switched", plain, mutates_args=())
    dynamic = lib.library.custom_op(f"{namespace}::dynamic", rows, mutates_args=())
    keyword_mapped = lib.library.custom_op(f"{namespace}::keyword_mapped", keywords, mutates_args=())
    switched.register_kernel("cpu")(lambda x, n=2: x * n + 100)

    def keep_keywords(ctx: Any, inputs: Any, keyword_only_inputs: Any, output: Any) -> None:
        ctx.n, ctx.inputs = keyword_only_inputs["n"], inputs

    def keyed_backward(ctx: Any, grad: Any) -> Any:
        return grad * ctx.n, None if ctx.inputs[1] is None else grad * 10

    keyed.register_autograd(keyed_backward, setup_context=keep_keywords)
    nested.register_autograd(lambda ctx, grad, grads: ([grad * 100 + g for g in grads], None))
    dynamic.register_fake(lambda x: x.new_empty([lib.library.get_ctx().new_dynamic_size()]))
    keyword_mapped.register_vmap(lambda info, in_dims, x, y=None, *, n: (x * n, in_dims[0]))

    def gradients(function: Callable[..., Any], *inputs: Any) -> Any:
        return lib.autograd.grad(sum(r.sum() for r in function(*inputs)), [t for t in inputs if t is not None])

    def with_switched_kernel() -> Any:
        with switched.set_kernel_enabled("cpu", enabled=False):
            off = switched(two)
        return [switched(two), off]

    def in_a_scope() -> Any:
        with lib.library._scoped_library(namespace, "FRAGMENT") as scope:
            scope.define("scoped(Tensor x) -> Tensor")
            scope.impl("scoped", lambda x: x + 1, "CPU")
            found = ops.scoped(ones)
        return [found, hasattr(ops, "scoped")]

    def kernel_before_definition() -> Any:
        with lib.library._scoped_library(namespace, "FRAGMENT") as scope:
            scope.impl("later", lambda x: x + 5, "CPU")
            return [scope.define("later(Tensor x) -> Tensor"), ops.later(ones)]

    def tagged() -> Any:
        with lib.library._scoped_library(namespace, "FRAGMENT") as scope:
            scope.define("tagged(Tensor x) -> Tensor", tags=(lib.Tag.pointwise, lib.Tag.core))
            return [str(tag) for tag in (*ops.tagged.default.tags, *ops.plain.default.tags)]

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
        "keyword-only": lambda: [
            keyed(two), keyed(two, two, n=3), *gradients(lambda x, y: [keyed(x, y, n=3)], leaf(), leaf()),
        ],
        "keyword-only without the option": lambda: gradients(lambda x: [keyed(x, n=3)], leaf()),
        "keyword-only tensor": lambda: lib.library.custom_op(
            f"{namespace}::keyword_tensor", keyword_tensor, mutates_args=()
        ),
        "lists of tensors": lambda: [nested([two, ones], 3.0), str(nested._opoverload._schema)],
        "gradients of lists": lambda: gradients(
            lambda a, b: (lambda r: [r[0], r[1][0], r[1][1] * 2])(nested([a, b], 3.0)), leaf(), leaf()
        ),
        "list without a gradient": lambda: lib.autograd.grad(nested([(x := leaf()), ones], 3.0)[0].sum(), x),
        "switched": with_switched_kernel,
        "scope": in_a_scope,
        "kernel before definition": kernel_before_definition,
        "tags": tagged,
        "names of tags": lambda: sorted(lib.Tag.__members__),
        "size that values decide": lambda: lib.library.opcheck(dynamic, (two,), test_utils="test_faketensor"),
        "no context": lambda: lib.library.get_ctx(),
        "keywords mapped": lambda: lib.vmap(lambda x: keyword_mapped(x, n=5))(lib.ones(3, 2)),
        "gradient of one that writes": lambda: str_of_error(lambda: writes.register_autograd(lambda ctx: None)),
        "class not there": lambda: getattr(lib.classes, namespace).Nope,
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
        "defined later": defined_later,
        "overload defined later": lambda: library.impl("mul.later", lambda a: a, "CPU"),
        "never defined": lambda: [library.impl("never", lambda a: a, "CPU"), hasattr(ops, "never")],
        "kernel for the undefined": lambda: lib.library.register_kernel(f"{namespace}::never2", "cpu", lambda a: a),
        "fake for the undefined": lambda: lib.library.register_fake(f"{namespace}::never3", lambda a: a),
        "gradient for the undefined": lambda: lib.library.register_autograd(f"{namespace}::never3", lambda ctx, g: g),
        "define in an IMPL": lambda: without_places(
            lambda: lib.library.Library(namespace, "IMPL").define("q(Tensor x) -> Tensor")
        ),
        "define elsewhere": lambda: without_places(lambda: library.define("elsewhere::q(Tensor x) -> Tensor")),
        "implement elsewhere": lambda: without_places(lambda: library.impl("aten::add", lambda a: a, "CPU")),
        "two, none": lambda: first_lines(lambda: ops.two()),
        "two, three": lambda: first_lines(lambda: ops.two(ones, 1, 2)),
        "two, unknown": lambda: first_lines(lambda: ops.two(ones, m=3)),
        "two.x, many": lambda: ops.two.x(ones, 1),
        "two.y, missing": lambda: ops.two.y(ones),
        "many": lambda: ops.mul(ones, two, 1.0, 2.0),
        "twice": lambda: ops.mul(ones, a=two),
        "twice and missing": lambda: ops.mul(ones, two, a=two),
        "no tensors": lambda: str_of_error(lambda: ops.two.x(None))[:150],
        "some tensors": lambda: ops.two.y(ones, None),
        **{f"types, {index}": lambda a=args: ops.types(ones, *a) for index, args in enumerate(values_of_types(lib))},
        **{f"schema {text!r}": lambda t=text: first_line(lambda: library.define(t)) for text in WRONG_SCHEMAS},
        "parse": lambda: str_of_error(lambda: library.define("broken(Tensor x")).split("\n")[0],
        "parse type": lambda: "unknown type" in str_of_error(lambda: library.define("broken(Tensr x) -> Tensor")),
    }  # fmt: skip


#: Texts that are no schemas.
WRONG_SCHEMAS = [
    "", "f", "f(", "f(Tensor x", "f(Tensor) -> Tensor", "f(Tensor x) -> ", "f(Tensor x) - Tensor", "f(int x=y) -> ()",
    "f(Tensor x) -> Tensor; g", "f(Tensor x,) -> Tensor", "f(int[] x=[1,) -> ()", "f(str x='a) -> ()",
    "1f(Tensor x) -> Tensor", "f(Tensor(a x) -> Tensor", "f(Tensor x) -> (Tensor", "f(Tensor x=3) -> ()",
    "f(Tensor x) -> Tensor, Tensor", "f(Tensor x) Tensor", "f Tensor x", "f(Tensor x -> y",
]  # fmt: skip


def values_of_types(lib: Any) -> list[list[Any]]:
    """Return arguments of the operator `types`, right ones and wrong ones."""
    right = [[1], "a", True, 1.0, None, [lib.ones(1)], lib.float32]
    changed = {0: [[1, "a"], 1, [1.5], (2,), [lib.tensor(3)], None], 1: [3, None], 2: [1, "a", lib.tensor(True), None],
               3: ["a", 1j, 2, lib.tensor(2.5), None], 4: [3, lib.ones(1)],
               5: [[lib.ones(1), None], lib.ones(1), [], None],
               6: ["float32", None]}  # fmt: skip
    return [[*right[:i], value, *right[i + 1 :]] for i, values in changed.items() for value in values]


def first_line(call: Callable[[], Any]) -> str:
    """Return the first line of what a call raises, or what it returns."""
    return str_of_error(call).strip().partition("\n")[0]


def first_lines(call: Callable[[], Any]) -> list[str]:
    """Return the lines of an error that say what is wrong with each overload."""
    return [line for line in str_of_error(call).split("\n") if "()" in line or "keyword" in line]


def without_places(call: Callable[[], Any]) -> str:
    """Return the text of what a call raises, without the place in the source."""
    return str_of_error(call).partition(" block at ")[0]


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
