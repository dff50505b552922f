"""The names of PyTorch that code in use asks for: legacy types, in-place functions, TorchScript, switches."""
# ruff: noqa: UP006, UP007, UP035, UP045

import copy
import importlib
import inspect
import pickle
import warnings
from typing import Any, Dict, List, Optional, Tuple, Union

import numpy as np
import pytest
import torch

import tensorlike as tl
from tensorlike.tensor.declarations.inplace_functions import inplace_functions

LEGACY = ("Double", "Float", "Half", "BFloat16", "Byte", "Char", "Short", "Int", "Long", "Bool")


def text(value: Any) -> str:
    return str(value).replace("tensorlike.", "torch.")


def outcome(call: Any, library: Any) -> Any:
    """Return what a call gives, by its text, or the type of its error."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return text(call(library))
        except Exception as error:
            return type(error).__name__


class TestInPlaceFunctions:
    def names(self):
        found = {n for n in dir(torch) if n.endswith("_") and not n.startswith("_") and callable(getattr(torch, n))}
        return found - {"resize_as_sparse_"}

    def test_all_of_pytorch(self):
        assert {n for n in dir(tl) if n.endswith("_") and not n.startswith("_")} == self.names()
        with pytest.raises(AttributeError, match="has no attribute 'absolute_'"):
            _ = tl.absolute_

    @pytest.mark.parametrize("form", inplace_functions(), ids=lambda form: form.name)
    def test_same_as_the_method(self, form):
        function, method = form.function, getattr(tl.Tensor, form.name)
        assert getattr(tl, form.name) is function
        assert function.operation is method.operation
        assert tl.overrides.resolve_name(function) == f"tensorlike.{form.name}"
        assert pickle.loads(pickle.dumps(function)) is function
        of_function, of_method = (list(inspect.signature(f).parameters) for f in (function, method))
        assert of_function[1:] == of_method[1:]
        assert of_method[0] == "self"
        assert form.mutates == {of_function[0]: None}

    @pytest.mark.parametrize(
        "name, args",
        [("exp_", ()), ("clamp_", (0.2, 0.5)), ("clip_", (0.2,)), ("arccos_", ()), ("round_", ()), ("xlogy_", (2.0,)),
         ("detach_", ()), ("nan_to_num_", ()), ("clamp_min_", (0.5,)), ("as_strided_", ((2,), (1,)))],
    )  # fmt: skip
    def test_values_and_overrides(self, name, args):
        results = []
        for library in (torch, tl):
            x = library.tensor([0.1, 0.4, 0.9], dtype=library.float64)
            assert getattr(library, name)(x, *args) is x
            seen = []

            class Duck:
                @classmethod
                def __torch_function__(cls, func, types, args=(), kwargs=None):
                    seen.append((func.__name__, args[1:], kwargs or {}))  # noqa: B023
                    return func

            assert getattr(library, name)(Duck(), *args) is getattr(library, name)
            results.append((x.numpy(), [s[0] for s in seen]))
        np.testing.assert_allclose(results[0][0], results[1][0])
        assert results[0][1] == results[1][1] == [name]

    def test_gradients_subclasses_and_transforms(self):
        class Sub(tl.Tensor):
            pass

        x = tl.ones(3, requires_grad=True)
        tl.exp_(x * 2).sum().backward()
        assert tl.allclose(x.grad, 2 * tl.exp(tl.tensor(2.0)))
        assert type(tl.exp_(Sub([1.0]))) is Sub
        assert tl.equal(tl.vmap(lambda a: tl.sqrt_(a.clone()))(tl.ones(2, 2)), tl.ones(2, 2))
        with pytest.raises(RuntimeError, match="leaf Variable that requires grad"):
            tl.exp_(x)
        with pytest.raises(TypeError, match=r"exp_\(\): argument 'input'"):
            tl.exp_(1)

    def test_implementations_cover_them(self):
        class Own(tl.overrides.TensorLike):
            written = None

            @tl.overrides.implements(tl.exp, variants=True)
            def _(input, *, out=None):
                return "exponential"

            @tl.overrides.implements(tl.Tensor.copy_)
            def _(self, src, non_blocking=False):
                self.written = src
                return self

        x = Own()
        assert tl.exp(x) == "exponential"
        assert tl.exp_(x) is x
        assert x.written == "exponential"


FORMS = [
    lambda L, t: t(), lambda L, t: t([1, 2]), lambda L, t: t((1, 0)), lambda L, t: t(2, 3).shape,
    lambda L, t: t(L.Size([2, 1])).shape, lambda L, t: t(np.ones(2)), lambda L, t: t(range(3)), lambda L, t: t(2.5),
    lambda L, t: t("a"), lambda L, t: t(None), lambda L, t: t(True), lambda L, t: t({}), lambda L, t: t(3, dtype=1),
    lambda L, t: t([1], device="cpu"), lambda L, t: t([1], device="cuda"), lambda L, t: t(data=[1]),
    lambda L, t: t(size=(2,)).shape, lambda L, t: t(size=2), lambda L, t: t(storage=3), lambda L, t: t([[1], [2, 3]]),
    lambda L, t: t([1], [2]), lambda L, t: t(2, [3]), lambda L, t: t(-1), lambda L, t: t(0).shape,
    lambda L, t: t(L.ones(2).untyped_storage()).shape, lambda L, t: t(L.ones(2).storage()),
    lambda L, t: t(L.ones(2)), lambda L, t: t(other=L.ones(2)), lambda L, t: t(L.ones(2), 1), lambda L, t: t(a=1),
]  # fmt: skip


class TestLegacyTypes:
    @pytest.mark.parametrize("name", LEGACY)
    @pytest.mark.parametrize("call", FORMS, ids=range(len(FORMS)))
    def test_constructors(self, name, call):
        results = [outcome(lambda L: call(L, getattr(L, f"{name}Tensor")), library) for library in (torch, tl)]
        if name == "BFloat16" and results[1] == "ModuleNotFoundError":
            pytest.skip("without ml_dtypes there is no bfloat16")
        assert results[0] == results[1]

    @pytest.mark.parametrize("call", FORMS, ids=range(len(FORMS)))
    def test_new_and_tensor(self, call):
        for make in (lambda L: L.Tensor, lambda L: L.ones(1).new, lambda L: L.ones(1, dtype=L.int16).new):
            results = [outcome(lambda L: call(L, make(L)), library) for library in (torch, tl)]  # noqa: B023
            assert results[0] == results[1]

    @pytest.mark.parametrize("name", LEGACY)
    def test_facts(self, name):
        facts = []
        for library in (torch, tl):
            kind = getattr(library, f"{name}Tensor")
            cuda = getattr(library.cuda, f"{name}Tensor")
            facts.append((
                text(kind), text(cuda), text(kind.dtype), text(kind.layout), kind.is_cuda, cuda.is_cuda,
                kind.is_sparse, isinstance(kind, type), copy.deepcopy(kind) is kind,
                pickle.loads(pickle.dumps(kind)) is kind, issubclass(kind, library.Tensor), text(kind | None),
            ))  # fmt: skip
            with pytest.raises(TypeError, match=r"is not an acceptable base type"):
                type("Derived", (kind,), {})
            with pytest.raises(TypeError, match="not available"):
                cuda(2)
        assert facts[0] == facts[1]

    @pytest.mark.parametrize("name", LEGACY)
    def test_instances(self, name):
        for dtype in ("float64", "float32", "float16", "uint8", "int8", "int16", "int32", "int64", "bool", "complex64"):
            found = []
            for library in (torch, tl):
                x = library.ones(2, dtype=getattr(library, dtype))
                kind = getattr(library, f"{name}Tensor")
                found.append((
                    isinstance(x, kind), isinstance(library.nn.Parameter(x, False), kind), text(x.type()),
                    isinstance(x, getattr(library.cuda, f"{name}Tensor")), isinstance(2, kind),
                ))  # fmt: skip
            assert found[0] == found[1]

    @pytest.mark.parametrize(
        "kind",
        [*(f"torch.{n}Tensor" for n in LEGACY if n != "BFloat16"), "torch.ComplexFloatTensor", "torch.UInt16Tensor",
         "torch.Tensor", "torch.float16", "DoubleTensor", "torch.Foo", int, float, 3, str, None],
    )  # fmt: skip
    def test_conversions(self, kind):
        results = []
        for library in (torch, tl):
            for of_names in (True, False):
                given = kind
                if isinstance(kind, str) and not of_names:
                    given = getattr(library, kind.removeprefix("torch."), kind)
                elif isinstance(kind, str) and kind in ("torch.Tensor", "torch.float16"):
                    continue
                results.append([
                    outcome(lambda L: L.tensor([1.5, 0]).type(given), library),  # noqa: B023
                    outcome(lambda L: L.tensor([1, 0]).type(dtype=given), library),  # noqa: B023
                ])  # fmt: skip
        assert results[: len(results) // 2] == results[len(results) // 2 :]

    @pytest.mark.filterwarnings("ignore:torch.set_default_tensor_type")
    def test_default(self):
        for library in (torch, tl):
            try:
                library.set_default_tensor_type("torch.DoubleTensor")
                assert library.Tensor([1]).dtype is library.float64
                library.set_default_tensor_type(library.HalfTensor)
                assert library.get_default_dtype() is library.float16
                for wrong in (library.IntTensor, library.float32, 3, "torch.cuda.FloatTensor"):
                    with pytest.raises(TypeError):
                        library.set_default_tensor_type(wrong)
            finally:
                library.set_default_tensor_type(library.FloatTensor)
            assert library.get_default_dtype() is library.float32

    def test_memory_is_shared(self):
        for library in (torch, tl):
            x = library.ones(3)
            for alias in (library.FloatTensor(x), x.new(x), library.FloatTensor(x.untyped_storage()), x.new(x[1:])):
                assert alias is not x
                alias.zero_()
            assert x.tolist() == [0, 0, 0]

    def test_storages(self):
        for library in (torch, tl):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                assert library.FloatStorage(2).tolist() is not None
                assert library.IntStorage([1, 2]).tolist() == [1, 2]
                assert library.FloatStorage().size() == 0
                storage = library.ones(2).storage()
                assert isinstance(storage, library.FloatStorage)
                assert not isinstance(storage, library.DoubleStorage)
                assert not isinstance(library.ones(2).untyped_storage(), library.FloatStorage)
                wrapped = library.FloatStorage(wrap_storage=library.ones(2).untyped_storage())
                assert wrapped.tolist() == [1, 1]
                assert library.is_storage(wrapped)
                assert library.Storage is library.FloatStorage
                with pytest.raises(RuntimeError):
                    library.FloatStorage(2, 3)
                with pytest.raises(RuntimeError, match="Expected a Storage of type Float"):
                    library.FloatTensor(library.IntStorage([1]))


class TestScript:
    """What PyTorch does with PYTORCH_JIT=0."""

    def test_code_is_itself(self):
        def double(x, n: int = 2):
            """Double."""
            return n * x

        jit = tl.jit
        module = tl.nn.Linear(2, 2)
        decorators = (
            jit.script, jit.export, jit.unused, jit.ignore, jit.ignore(drop=True), jit.script_method,
            jit.script_if_tracing, jit._overload, jit._overload_method, lambda f: jit.trace(f, (tl.ones(1),)),
            tl.compile, tl.compile(fullgraph=True), tl.compiler.disable, tl.compiler.disable(recursive=False),
            tl.compiler.allow_in_graph, tl.compiler.assume_constant_result,
        )  # fmt: skip
        for decorator in decorators:
            assert decorator(double) is double
            assert decorator(module) is module
        assert jit.trace_module(module, {"forward": tl.ones(1, 2)}) is module
        assert jit.freeze(module.eval()) is module
        assert jit.optimize_for_inference(module.train()) is module
        assert not module.training
        with pytest.raises(RuntimeError, match="training mode"):
            jit.freeze(module.train())
        assert jit.is_scripting() is jit.is_tracing() is tl.compiler.is_compiling() is False
        assert tl._C._get_tracing_state() is torch._C._get_tracing_state() is None

    def test_modules(self):
        class Scaled(tl.jit.ScriptModule):
            __constants__ = ("factor",)

            def __init__(self):
                super().__init__()
                self.factor = 3
                self.weight = tl.nn.Parameter(tl.ones(2))

            @tl.jit.script_method
            def forward(self, x):
                return self.factor * self.weight * x

        module = Scaled()
        assert module(tl.ones(2)).tolist() == [3, 3]
        assert list(module.state_dict()) == ["weight"]
        assert isinstance(module, tl.nn.Module)
        assert not isinstance(tl.nn.Linear(1, 1), tl.jit.ScriptModule)

    @pytest.mark.parametrize(
        "value, kind",
        [
            ([1], List[int]), ([1, "a"], List[int]), ({"a": 1}, Dict[str, int]), (3, int), ((1, "a"), Tuple[int, str]),
            ((1,), Tuple[int, str]), (None, Optional[int]), (3, Optional[int]), ("a", Optional[int]), ([1], List),
            ([1], list), ({1: 2}, Dict), ((1,), tuple), (3, Union[int, str]), ([[1]], List[List[int]]),
            ([["a"]], List[List[int]]), (3, (int, str)), ([1], list[int]), (3, int | str), (2.0, int | str),
            ({1: "a"}, dict[int, int]), ([None], List[Optional[int]]), ([1], (str, List[int])), (3, [int]),
        ],
    )  # fmt: skip
    def test_isinstance(self, value, kind):
        assert outcome(lambda L: L.jit.isinstance(value, kind), tl) == outcome(
            lambda L: L.jit.isinstance(value, kind), torch
        )

    def test_an_empty_list_is_of_any_type(self):
        for library in (torch, tl):
            with pytest.warns(UserWarning, match="empty|container"):
                assert library.jit.isinstance([], List[int])

    @pytest.mark.filterwarnings("ignore:`torch.jit:DeprecationWarning")
    def test_futures(self):
        for library in (torch, tl):
            jit = library.jit
            assert jit.wait(jit.fork(library.add, library.ones(2), 1)).tolist() == [2, 2]
            future = library.futures.Future()
            following = future.then(lambda done: done.value() + 1)
            failing = future.then(lambda done: 1 / 0)
            assert not future.done()
            seen: list[int] = []
            future.add_done_callback(lambda done, seen=seen: seen.append(done.value()))
            future.set_result(3)
            assert following.wait() == 4
            assert seen == [3]
            with pytest.raises((ZeroDivisionError, RuntimeError)):
                failing.wait()
            with pytest.raises(RuntimeError):
                future.set_result(4)
            assert library.futures.wait_all([following, future]) == [4, 3]
            with pytest.raises(TypeError):
                jit.wait(3)

    def test_small_names(self):
        for library in (torch, tl):
            jit = library.jit
            assert jit.annotate(List[int], [1]) == [1]
            assert jit.Final[int] is not None
            assert jit._unwrap_optional(3) == 3
            with pytest.raises(AssertionError, match="Unwrapping null optional"):
                jit._unwrap_optional(None)
            with pytest.raises(RuntimeError, match="must be a bool or a function but got x"):
                jit.ignore(drop="x")
            assert jit.annotations.BroadcastingList2[int] is None
            internal = importlib.import_module(f"{library.__name__}._jit_internal")
            chosen = internal.boolean_dispatch("b", 1, False, lambda *a, **k: 1, lambda *a, **k: 0, "", "f")
            assert [chosen(0), chosen(0, True), chosen(0, b=True), chosen(0, False)] == [0, 1, 1, 0]


CONSTANTS = [
    "newaxis", "has_lapack", "has_spectral", "version.debug", "version.hip", "backends.cudnn.version()",
    "backends.cudnn.is_available()", "backends.cudnn.enabled", "backends.cudnn.benchmark",
    "backends.cudnn.deterministic", "backends.cudnn.allow_tf32", "backends.mps.is_available()",
    "backends.mps.is_built()", "backends.cuda.is_built()", "backends.mkldnn.enabled", "backends.opt_einsum.enabled",
    "backends.opt_einsum.strategy", "backends.mha.get_fastpath_enabled()", "backends.cuda.math_sdp_enabled()",
    "backends.cuda.flash_sdp_enabled()", "backends.cuda.is_flash_attention_available()", "is_vulkan_available()",
    "get_deterministic_debug_mode()", "is_warn_always_enabled()", "get_float32_matmul_precision()",
    "accelerator.is_available()", "accelerator.device_count()", "accelerator.current_accelerator()",
    "cpu.is_available()", "cpu.device_count()", "cpu.current_device()", "mps.is_available()", "xpu.is_available()",
    "xpu.device_count()", "mtia.is_available()", "cuda.is_initialized()", "serialization.DEFAULT_PROTOCOL",
    "compiler.is_compiling()", "compiler.is_exporting()", "distributed.is_initialized()", "compiled_with_cxx11_abi()",
    "sym_int(-3.7)", "sym_float(3)", "sym_not(True)", "sym_max(3, 2.5)", "sym_min(1, 2.5)", "sym_sqrt(4)",
    "sym_ite(True, 1, 2)", "sym_sum([1, 2, 3])", "sym_max('a', 1)", "sym_ite(1, 2, 3)", "sym_float('a')",
    "sym_constrain_range(3, min=4)", "sym_fresh_size(3)", "isinstance(3, (int, L.SymInt))", "isinstance(3, L.SymInt)",
    "range(1, 3)", "range(0, 1, 0.25)", "range(3, 1, -1)", "range(3, 1)", "range(1, 2, 0)", "range(5)",
    "range(1, 3, dtype=L.int32)", "func.vmap(lambda x: L._is_all_true(x > 0))(L.tensor([0, 1]))",
    "_is_all_true(L.tensor([True]))", "_is_any_true(L.tensor([True, False]))",
    "_is_all_true(L.ones(2))", "types.Number", "types._int", "types._size", "types._bool",
]  # fmt: skip


@pytest.mark.parametrize("expression", CONSTANTS)
def test_constants(expression):
    def value(library):
        source = expression if expression.startswith("isinstance") else f"L.{expression}"
        return eval(source, {"L": library})

    assert outcome(value, tl).replace("tensor.size.", "") == outcome(value, torch)


class TestSwitches:
    def test_deterministic(self):
        for library in (torch, tl):
            try:
                library.use_deterministic_algorithms(True, warn_only=True)
                assert library.are_deterministic_algorithms_enabled()
                assert library.is_deterministic_algorithms_warn_only_enabled()
                assert library.get_deterministic_debug_mode() == 1
                library.set_deterministic_debug_mode("error")
                assert library.get_deterministic_debug_mode() == 2
                for wrong, error in (("x", RuntimeError), (5, RuntimeError), (1.5, TypeError)):
                    with pytest.raises(error, match="debug_mode"):
                        library.set_deterministic_debug_mode(wrong)
                with pytest.raises(TypeError, match="'mode'.*must be bool, not int"):
                    library.use_deterministic_algorithms(3)
            finally:
                library.use_deterministic_algorithms(False)
            assert library.get_deterministic_debug_mode() == 0

    def test_precision(self):
        for library in (torch, tl):
            try:
                library.set_float32_matmul_precision("high")
                assert library.backends.cuda.matmul.allow_tf32
                with pytest.warns(UserWarning, match="is not one of 'highest', 'high', or 'medium'"):
                    library.set_float32_matmul_precision("x")
                assert library.get_float32_matmul_precision() == "high"
                with pytest.raises(AttributeError, match="Unknown attribute foo"):
                    library.backends.cuda.matmul.foo = 1
            finally:
                library.set_float32_matmul_precision("highest")
            assert not library.backends.cuda.matmul.allow_tf32

    def test_flags(self):
        for library in (torch, tl):
            cudnn = library.backends.cudnn
            with cudnn.flags(enabled=False, benchmark=True):
                assert (cudnn.enabled, cudnn.benchmark) == (False, True)
            assert (cudnn.enabled, cudnn.benchmark) == (True, False)
            with pytest.raises(RuntimeError, match="expects a bool, but got int"):
                cudnn.benchmark = 1
            with pytest.raises(RuntimeError, match="not a valid value for quantized engine"):
                library.backends.quantized.engine = "x"

    def test_the_order_of_contractions(self):
        for library in (torch, tl):
            switches = library.backends.opt_einsum
            assert switches.is_available() is (importlib.util.find_spec("opt_einsum") is not None)
            former = (switches.is_available(), "auto" if switches.is_available() else None)
            assert switches.set_flags() == former
            with switches.flags(enabled=False):
                assert not switches.enabled
            with pytest.raises(ValueError, match="opt_einsum is not (available|enabled), so setting"):
                switches.set_flags(False, "greedy")
            switches.set_flags(*former)
            assert (switches.enabled, switches.strategy) == former

    def test_attention_kernels(self):
        for library in (torch, tl):
            with pytest.warns(FutureWarning), library.backends.cuda.sdp_kernel(enable_flash=False):
                assert not library.backends.cuda.flash_sdp_enabled()
            assert library.backends.cuda.flash_sdp_enabled()

    def test_an_error_leaves_no_switch_set(self):
        with pytest.raises(KeyboardInterrupt), tl.backends.cudnn.flags(enabled=False):
            raise KeyboardInterrupt
        assert tl.backends.cudnn.enabled


def test_distributed_is_not_there():
    distributed = tl.distributed
    assert not any(getattr(distributed, n)() for n in dir(distributed) if n.startswith("is_"))
    for library in (torch, tl):
        for function in (library.distributed.get_rank, library.distributed.get_world_size):
            with pytest.raises(ValueError, match="efault process group has not been initialized"):
                function()
    with pytest.raises(RuntimeError, match="no processes compute together"):
        distributed.init_process_group("gloo")


@pytest.mark.filterwarnings("ignore:`torch.jit:DeprecationWarning")
def test_compile_refuses():
    for library in (torch, tl):
        with pytest.raises(RuntimeError, match="mode"):
            library.compile(abs, mode="default", options={})
        with pytest.raises(RuntimeError, match="Unrecognized mode=x"):
            library.compile(abs, mode="x")
        with pytest.raises(AssertionError):
            library.compile(3)


def test_symbols_ask_types():
    for library in (torch, tl):

        class Symbol:
            @classmethod
            def __torch_function__(cls, func, types, args=(), kwargs=None):
                return func.__name__

        names = ("sym_float", "sym_int", "sym_not")
        assert [getattr(library, n)(Symbol()) for n in names] == list(names)
        assert library.sym_max(1, Symbol()) == "sym_max"
        assert library.sym_ite(Symbol(), 1, 2) == "sym_ite"
        assert library.sym_sum([1, Symbol()]) == "sym_sum"


def test_blocks_of_a_profile():
    for module in ("autograd.profiler", "profiler"):
        for library in (torch, tl):
            record_function = importlib.import_module(f"{library.__name__}.{module}").record_function

            @record_function("adding")
            def add(x):
                return x + 1

            assert add.__name__ == "add"
            with record_function("block"):
                assert add(1) == 2


def test_nothing_is_loaded_before_it_is_asked_for():
    import subprocess
    import sys

    names = (
        "jit", "backends", "compiler", "futures", "tensor.creation.legacy_types", "nn.parallel", "symbolic", "_settings"
    )  # fmt: skip
    program = (
        f"import sys, tensorlike, tensorlike.nn\nassert not {{'tensorlike.' + n for n in {names}}} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
