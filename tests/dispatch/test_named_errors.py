"""Messages name the function that the user wrote: see Note [Whose name is in front]."""

from __future__ import annotations

import inspect
import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import tensorlike as tl
from tensorlike import nn
from tensorlike.dispatch.operation import Form
from tensorlike.dispatch.registry import REGISTRY

ROOT = Path(__file__).resolve().parents[2]

#: Every public function with a dimension; other operations are no functions that users write.
WITH_DIMENSION = [
    name
    for name, form in REGISTRY.items()
    if not name.startswith(("tensorlike._internal.", "tensorlike.ops."))
    and form.of_library
    and any(p.name in ("dim", "dim0") for p in form.parameters)
]


def python_of(function: Any) -> Callable[..., Any]:
    """Return the Python function behind one of the native core: what is called in pure mode."""
    found: Callable[..., Any] = getattr(function, "_tl_python", function)
    return found


def refusal(form: Form, function: Callable[..., Any]) -> IndexError | None:
    """Return the error about dimension 99, or None when the function refuses other things before."""
    x = tl.ones(2, 3)
    operands: tuple[tuple[Any, ...], ...]
    operands = (x,), ([x, x],), (x, x), (x, x, x), (x, tl.zeros(2, 3, dtype=tl.int64)), (x, 1)
    name = next(p.name for p in form.parameters if p.name in ("dim", "dim0"))
    for given in operands:
        try:
            if name in inspect.signature(form.function).bind_partial(*given).arguments:
                continue
            function(*given, **{name: 99})
        except IndexError as error:
            return error
        except (TypeError, ValueError, RuntimeError):  # Other operands may be the right ones.
            continue
    return None


REFUSING = [name for name in WITH_DIMENSION if refusal(REGISTRY[name], REGISTRY[name].function) is not None]


def test_most_functions_refuse_the_dimension() -> None:
    assert len(REFUSING) >= 180


@pytest.mark.parametrize("way", [lambda function: function, python_of], ids=["called", "python"])
@pytest.mark.parametrize("name", REFUSING)
def test_a_wrong_dimension_names_the_function(name: str, way: Callable[[Any], Callable[..., Any]]) -> None:
    form = REGISTRY[name]
    error = refusal(form, way(form.function))
    short = name.rpartition(".")[2]
    assert re.match(rf"{short}(\(\)|:) ?", str(error)), error
    assert str(error).count(f"{short}(): ") <= 1


F = tl.nn.functional
x, y, v, i = tl.ones(2, 3), tl.ones(4, 5), tl.ones(3), tl.arange(6).reshape(2, 3)

#: Code, and how its message begins.
MISTAKES = {
    "x.reshape(5)": "reshape(): shape '[5]' is invalid",
    "tl.reshape(x, (5,))": "reshape(): shape '[5]' is invalid",
    "x.view_as(y)": "view_as(): shape '[4, 5]' is invalid",
    "x.gather(0, i + 9)": "gather(): index 14 is out of bounds",
    "x.split([1, 5])": "split(): split_with_sizes expects",
    "tl.concat([x, y])": "concat(): cat(): Sizes of tensors must match",
    "tl.stack([x], 9)": "stack(): Dimension out of range",
    "x.clip()": "clip(): clamp: At least one",
    "x.item()": "item(): a Tensor with 6 elements",
    "x.backward()": "backward(): element 0 of tensors does not require grad",
    "tl.autograd.grad(x.sum(), x)": "grad(): element 0 of tensors does not require grad",
    "tl.zeros(2, device='a')": "zeros(): Expected one of cpu",
    "F.conv2d(tl.ones(1, 3, 8, 8), tl.ones(2, 5, 3, 3))": "conv2d(): Given groups=1",
    "nn.Conv2d(5, 2, 3)(tl.ones(1, 3, 8, 8))": "conv2d(): Given groups=1",
    "nn.Sequential(nn.Softmax(5))(x)": "softmax(): Dimension out of range",
    "F.mse_loss(x, x, reduction='a')": "mse_loss(): a is not a valid value",
    "F.pairwise_distance(x, y)": "pairwise_distance(): sub(): The size of tensor a",
    "tl.func.jvp(tl.sin, (x,), (y,))": "jvp(): Trying to set a forward gradient",
    "tl.vmap(lambda row: row.sum(5))(x)": "sum(): Dimension out of range",
    # What names itself, as it was.
    "x.sum('a')": "sum(): argument 'dim'",
    "tl.cat([x, y])": "cat(): Sizes of tensors must match",
    "x.masked_fill(v, 1.0)": "masked_fill only supports boolean masks",
    "tl.linalg.inv(x)": "linalg.inv: A must be batches of square matrices",
    "x.index_add(0, tl.tensor([0]), y)": "index_add_(): Number of indices",
    "x.gather(0)": "Tensor.gather() missing 1 required",
    # Operators have the names of their functions.
    "x @ y": "matmul(): mat1 and mat2 shapes",
    "x & x": 'bitwise_and(): "and" not implemented',
    "1.5 & i": '"bitwise_and" not implemented',
    "-(x > 0)": "Negation, the `-` operator",
    "x ** y": "__pow__(): The size of tensor a",
    # Without a name to say.
    "x[5]": "index 5 is out of bounds for dimension 0 with size 2",
    "bool(x)": "Boolean value of Tensor with more than one value",
}  # fmt: skip


@pytest.mark.parametrize("code", MISTAKES)
def test_messages_begin_with_the_name(code: str) -> None:
    for _ in range(2):  # A first call of a function takes another way.
        with pytest.raises((RuntimeError, TypeError, ValueError, IndexError)) as caught:
            eval(code)
        assert str(caught.value).startswith(MISTAKES[code])


@pytest.mark.parametrize("variable", ["TENSORLIKE_PURE=1", "TENSORLIKE_TRACEBACK=full"])
def test_messages_are_the_same_in_pure_python_and_with_full_tracebacks(variable: str) -> None:
    code = (
        "from tests.dispatch.test_named_errors import *\n"
        "for code in MISTAKES:\n"
        "    try: eval(code)\n"
        "    except Exception as error: print(str(error).startswith(MISTAKES[code]), code, error)\n"
        "for name in REFUSING:\n"
        "    print(name.rpartition('.')[2] in str(refusal(REGISTRY[name], REGISTRY[name].function)), name)\n"
    )
    key, _, value = variable.partition("=")
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT), key: value},
    )  # fmt: skip
    lines = [line for line in done.stdout.splitlines() if line.startswith(("True ", "False "))]
    assert len(lines) == len(MISTAKES) + len(REFUSING)
    assert [line for line in lines if not line.startswith("True ")] == []


def test_a_function_called_by_the_users_code_is_the_one_named() -> None:
    class Duck:
        @classmethod
        def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            return tl.ones(2).softmax(4)

    with pytest.raises(IndexError, match=r"^softmax\(\): Dimension"):
        tl.add(Duck(), 1)


def test_types_that_leave_the_call_to_the_library_have_its_name() -> None:
    class Sub(tl.Tensor):
        @classmethod
        def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            return super().__torch_function__(func, types, args, kwargs)

    class Plain(tl.Tensor):
        pass

    for kind in (Sub, Plain):
        with pytest.raises(IndexError, match=r"^sum\(\): Dimension"):
            tl.ones(2).as_subclass(kind).sum(3)


def test_errors_of_the_users_code_are_untouched() -> None:
    raised = RuntimeError("Dimension of mine"), KeyError("sum"), RuntimeError("two", 2), RuntimeError()

    class Duck:
        error: Exception

        @classmethod
        def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            raise cls.error

    for error in raised:
        Duck.error, args = error, error.args
        with pytest.raises(type(error)) as caught:
            tl.sum(Duck())
        assert caught.value is error
        assert error.args is args
        assert "_tl_named" not in vars(error)


def test_an_error_that_was_not_meant_is_untouched() -> None:
    class Size:
        def __index__(self) -> int:
            raise ZeroDivisionError("of mine")

    with pytest.raises(ZeroDivisionError) as caught:
        tl.zeros(Size())  # type: ignore[call-overload]
    assert caught.value.args == ("of mine",)


def test_the_note_of_an_error_page_stays() -> None:
    with pytest.raises(RuntimeError) as caught:
        tl.ones(6).reshape(4, 2)
    assert caught.value.__notes__ == ["(`tensorlike error reshape-size` explains this)"]


def test_assertions_begin_with_their_finding() -> None:
    with pytest.raises(AssertionError) as caught:
        tl.testing.assert_close(tl.ones(2), tl.zeros(2))
    assert str(caught.value).startswith("The tensors are not close")


def test_an_error_that_is_raised_again_is_named_once() -> None:
    with pytest.raises(RuntimeError) as caught:
        tl.ones(6).reshape(5)
    kept = caught.value

    class Raises(nn.Module):
        def forward(self, input: Any) -> Any:
            raise kept

    with pytest.raises(RuntimeError) as again:
        tl.vmap(Raises())(tl.ones(2))
    assert again.value is kept
    assert str(kept) == "reshape(): shape '[5]' is invalid for input of size 6"
