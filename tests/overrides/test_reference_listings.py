"""The listings on `torch` itself of PyTorch's note on extending it, of version 1.7: types that override functions.

Each runs as it was printed, with `import tensorlike as torch`, and gives the values printed there. The listings on
`torch.autograd` and `torch.nn` are in test_reference_listings_autograd.py.
"""

import functools
import inspect
import logging
import re
from typing import Any

import pytest

import tensorlike as torch

# ---------------------------------------------------------------------------------------------------------------------
# ScalarTensor, in all its stages
# ---------------------------------------------------------------------------------------------------------------------

PLAIN_METHOD = pytest.mark.filterwarnings("ignore:ScalarTensor defines __torch_function__:DeprecationWarning")


class BareScalarTensor(object):  # noqa: UP004 -- as printed
    def __init__(self, N, value):
        self._N = N
        self._value = value

    def __repr__(self):
        return "DiagonalTensor(N={}, value={})".format(self._N, self._value)  # noqa: UP032 -- as printed

    def tensor(self):
        return self._value * torch.eye(self._N)


def make_scalar_tensor(*, fallback: bool) -> Any:
    """The second stage or, with the fallback to a tensor, the third: the class, its table and what is in it."""
    HANDLED_FUNCTIONS: dict[Any, Any] = {}

    class ScalarTensor(BareScalarTensor):
        def __torch_function__(self, func, types, args=(), kwargs=None):
            if kwargs is None:
                kwargs = {}
            if func not in HANDLED_FUNCTIONS or not all(issubclass(t, (torch.Tensor, ScalarTensor)) for t in types):
                if not fallback:
                    return NotImplemented
                args = [a.tensor() if hasattr(a, "tensor") else a for a in args]
                return func(*args, **kwargs)
            return HANDLED_FUNCTIONS[func](*args, **kwargs)

    def implements(torch_function):
        @functools.wraps(torch_function)
        def decorator(func):
            HANDLED_FUNCTIONS[torch_function] = func
            return func

        return decorator

    def ensure_tensor(data):
        if isinstance(data, ScalarTensor):
            return data.tensor()
        return torch.as_tensor(data)

    @implements(torch.mean)
    def mean(input):
        return float(input._value) / input._N

    @implements(torch.add)
    def add(input, other):
        try:
            if input._N == other._N:
                return ScalarTensor(input._N, input._value + other._value)
            else:
                raise ValueError("Shape mismatch!")
        except AttributeError:
            return torch.add(ensure_tensor(input), ensure_tensor(other))

    return ScalarTensor


@pytest.fixture
def ScalarTensor() -> Any:
    return make_scalar_tensor(fallback=False)


def test_scalar_tensor_without_the_protocol() -> None:
    class ScalarTensor(BareScalarTensor):
        pass

    d = ScalarTensor(5, 2)
    # The note prints "ScalarTensor(N=5, value=2)" here, which is not what its __repr__ says.
    assert repr(d) == "DiagonalTensor(N=5, value=2)"
    assert repr(d.tensor()) == (
        "tensor([[2., 0., 0., 0., 0.],\n"
        "        [0., 2., 0., 0., 0.],\n"
        "        [0., 0., 2., 0., 0.],\n"
        "        [0., 0., 0., 2., 0.],\n"
        "        [0., 0., 0., 0., 2.]])"
    )
    with pytest.raises(TypeError) as raised:
        torch.mean(d)
    assert str(raised.value).startswith("mean(): argument 'input' (position 1) must be Tensor, not ScalarTensor")


def test_a_plain_method_warns_once_a_type(ScalarTensor: Any) -> None:
    with pytest.warns(DeprecationWarning, match=r"ScalarTensor.*plain method.*classmethod") as caught:
        torch.mean(ScalarTensor(5, 2))
    assert len(caught) == 1
    assert caught[0].filename == __file__
    # Warnings are errors here, so a second one would be seen.
    torch.mean(ScalarTensor(5, 2))
    torch.add(ScalarTensor(5, 2), torch.eye(5))


@PLAIN_METHOD
def test_scalar_tensor_handles_what_is_in_its_table(ScalarTensor: Any) -> None:
    d = ScalarTensor(5, 2)
    assert torch.mean(d) == 0.4

    s = ScalarTensor(2, 2)
    assert repr(torch.add(s, s)) == "DiagonalTensor(N=2, value=4)"
    t = torch.tensor([[1, 1], [1, 1]])
    dense = "tensor([[3., 1.],\n        [1., 3.]])"
    assert repr(torch.add(s, t)) == dense
    assert repr(torch.add(t, s)) == dense


@PLAIN_METHOD
def test_scalar_tensor_errors(ScalarTensor: Any) -> None:
    s = ScalarTensor(2, 2)
    with pytest.raises(ValueError, match=r"^Shape mismatch!$"):
        torch.add(s, ScalarTensor(5, 2))
    with pytest.raises(TypeError, match=r"\badd\(\) got an unexpected keyword argument 'alpha'$"):
        torch.add(s, s, alpha=2)
    with pytest.raises(TypeError) as raised:
        torch.mul(s, 3)
    assert str(raised.value).startswith(
        "no implementation found for 'tensorlike.mul' on types that implement __torch_function__: [ScalarTensor]"
    )


@PLAIN_METHOD
def test_scalar_tensor_with_a_fallback() -> None:
    ScalarTensor = make_scalar_tensor(fallback=True)
    s = ScalarTensor(2, 2)
    product = torch.mul(s, s)
    assert type(product) is torch.Tensor
    assert repr(product) == "tensor([[4., 0.],\n        [0., 4.]])"
    assert repr(torch.add(s, s)) == "DiagonalTensor(N=2, value=4)"
    # A tensor must have no attribute `tensor`: the listing would take it for a ScalarTensor.
    assert torch.mul(torch.ones(2, 2), s).tolist() == [[2.0, 0.0], [0.0, 2.0]]


# ---------------------------------------------------------------------------------------------------------------------
# Subclasses of Tensor
# ---------------------------------------------------------------------------------------------------------------------


class SubTensor(torch.Tensor):
    pass


class SubTensor2(SubTensor):
    pass


class OtherSubTensor(torch.Tensor):
    pass


def test_results_have_the_type_of_the_subclass() -> None:
    assert type(torch.add(SubTensor([0]), SubTensor([1]))).__name__ == "SubTensor"
    assert type(torch.add(SubTensor([0]), torch.Tensor([1]))).__name__ == "SubTensor"
    result = torch.add(SubTensor([0]), SubTensor([1]))
    assert (result.dtype, result.tolist()) == (torch.float32, [1.0])


def test_the_lowest_subclass_is_chosen() -> None:
    assert type(torch.add(SubTensor2([0]), SubTensor([1]))).__name__ == "SubTensor2"
    assert type(torch.add(SubTensor([0]), SubTensor2([1]))).__name__ == "SubTensor2"
    assert type(torch.add(SubTensor2([0]), torch.Tensor([1]))).__name__ == "SubTensor2"


def test_unrelated_subclasses_are_refused() -> None:
    with pytest.raises(TypeError) as raised:
        torch.add(SubTensor([0]), OtherSubTensor([1]))
    assert str(raised.value).startswith(
        "no implementation found for 'tensorlike.add' on types that implement __torch_function__: "
        "[SubTensor, OtherSubTensor]"
    )


def test_logging_tensor(caplog: pytest.LogCaptureFixture) -> None:
    class LoggingTensor(torch.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            logging.info(f"func: {func.__name__}, args: {args!r}, kwargs: {kwargs!r}")
            if kwargs is None:
                kwargs = {}
            return super().__torch_function__(func, types, args, kwargs)

    first, second = LoggingTensor([1, 2]), LoggingTensor([3, 4])
    with caplog.at_level(logging.INFO):
        results = [torch.add(first, second), first * 2, second.sum(dim=0)]
    # What is logged without keyword arguments, None or {}, the note leaves open.
    messages = [re.sub(r"kwargs: (None|\{\})$", "kwargs: none", message) for message in caplog.messages]
    assert messages == [
        "func: add, args: (LoggingTensor([1., 2.]), LoggingTensor([3., 4.])), kwargs: none",
        "func: mul, args: (LoggingTensor([1., 2.]), 2), kwargs: none",
        "func: sum, args: (LoggingTensor([3., 4.]),), kwargs: {'dim': 0}",
    ]
    assert [type(result) for result in results] == [LoggingTensor] * 3
    assert [result.tolist() for result in results] == [[4.0, 6.0], [2.0, 4.0], 7.0]


def test_calling_the_function_itself_is_a_runaway_with_a_cure() -> None:
    class Careless(torch.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            return func(*args, **(kwargs or {}))

    with pytest.raises(RecursionError, match=r"super\(\)\.__torch_function__"):
        torch.add(Careless([1]), 1)


# ---------------------------------------------------------------------------------------------------------------------
# MetadataTensor
# ---------------------------------------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore:MetadataTensor defines __torch_function__:DeprecationWarning")
def test_metadata_tensor() -> None:
    class MetadataTensor(object):  # noqa: UP004 -- as printed
        def __init__(self, data, metadata=None, **kwargs):
            self._t = torch.as_tensor(data, **kwargs)
            self._metadata = metadata

        def __repr__(self):
            return "Metadata:\n{}\n\ndata:\n{}".format(self._metadata, self._t)  # noqa: UP032 -- as printed

        def __torch_function__(self, func, types, args=(), kwargs=None):
            if kwargs is None:
                kwargs = {}
            args = [a._t if hasattr(a, "_t") else a for a in args]
            ret = func(*args, **kwargs)
            return MetadataTensor(ret, metadata=self._metadata)

    metadata = {"owner": "Ministry of Silly Walks"}
    m = MetadataTensor([[1, 2], [3, 4]], metadata=metadata)
    t = torch.tensor([[1, 2], [1, 2]])
    heading = "Metadata:\n{'owner': 'Ministry of Silly Walks'}\n\ndata:\n"
    assert repr(torch.add(t, m)) == heading + "tensor([[2, 4],\n        [4, 6]])"
    assert repr(torch.mul(t, m)) == heading + "tensor([[1, 4],\n        [3, 8]])"
    assert torch.add(t, m)._metadata is metadata


# ---------------------------------------------------------------------------------------------------------------------
# Several types, and what can be overridden
# ---------------------------------------------------------------------------------------------------------------------


def answering(name: str, asked: list[str], answer: Any, *bases: type) -> Any:
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        asked.append(cls.__name__)
        return answer

    return type(name, bases, {"__torch_function__": classmethod(__torch_function__)})


def test_subclasses_are_asked_first_and_otherwise_left_to_right() -> None:
    asked: list[str] = []
    Parent = answering("Parent", asked, NotImplemented)
    Child = answering("Child", asked, NotImplemented, Parent)
    Stranger = answering("Stranger", asked, NotImplemented)

    with pytest.raises(TypeError, match=r"\[Stranger, Child, Parent\]"):
        torch.where(Stranger(), Parent(), Child())
    assert asked == ["Stranger", "Child", "Parent"]

    asked.clear()
    with pytest.raises(TypeError, match=r"\[Child, Parent\]"):
        torch.add(Parent(), Child())
    assert asked == ["Child", "Parent"]


def test_the_first_answer_is_the_result() -> None:
    asked: list[str] = []
    Silent = answering("Silent", asked, NotImplemented)
    # None is an answer like any other.
    Answering = answering("Answering", asked, None)
    Late = answering("Late", asked, "late")
    assert torch.where(Silent(), Answering(), Late()) is None
    assert asked == ["Silent", "Answering"]


def test_overridable_functions() -> None:
    from tensorlike._overrides import get_overridable_functions

    func_dict = get_overridable_functions()
    nn_funcs = func_dict[torch.nn.functional]
    names = [f.__name__ for f in nn_funcs]
    # The note prints the first five in the alphabet.
    assert names == sorted(names)
    assert {"cross_entropy", "linear", "mse_loss", "relu"} <= set(names)
    assert {torch.add, torch.mean, torch.mul} <= set(func_dict[torch])
    assert torch.Tensor.add in func_dict[torch.Tensor]


def test_testing_overrides() -> None:
    from tensorlike._overrides import get_testing_overrides

    override_dict = get_testing_overrides()
    dummy_add = override_dict[torch.add]
    # The note prints (input, other, out=None), which leaves out what torch.add has besides.
    assert str(inspect.signature(dummy_add)) == "(input, other, *, alpha=1, out=None)"
    assert dummy_add(None, None) == -1


def test_ignored_functions() -> None:
    from tensorlike._overrides import get_ignored_functions, get_overridable_functions

    ignored = get_ignored_functions()
    assert {torch.tensor, torch.zeros, torch.arange} <= set(ignored)
    overridable = {function for functions in get_overridable_functions().values() for function in functions}
    assert not overridable & set(ignored)


def test_overrides_has_its_later_public_name_too() -> None:
    from tensorlike import _overrides as older
    from tensorlike import overrides as newer

    for name in ("get_overridable_functions", "get_testing_overrides", "get_ignored_functions"):
        assert getattr(older, name) is getattr(newer, name)
