"""Operators between a tensor and objects of other types: who is asked, in which order, and what comes out."""

from __future__ import annotations

import operator

import numpy as np
import pytest
import torch

import tensorlike as tl

ARITHMETIC = ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul")
BITWISE = ("and", "or", "xor", "lshift", "rshift")
COMPARISONS = ("eq", "ne", "lt", "le", "gt", "ge")
OPERATORS = (*ARITHMETIC, *BITWISE, *COMPARISONS, *(f"i{name}" for name in (*ARITHMETIC, *BITWISE)), "divmod")

#: Who has a method for the operator: "foreign" has no protocol, the others' implementation refuses or answers, or
#: refuses what is done in place.
KINDS = ("foreign", "refuses", "answers", "refuses in-place")

#: Python asks `__rtruediv__` of the tensor, which PyTorch computes as `reciprocal() * other`: it asks `__rmul__` of
#: another type then.
KNOWN_DIFFERENCES = {("foreign", True, "truediv", True)}


def function_of(name):
    if name == "divmod":
        return divmod
    return getattr(operator, f"{name}_" if name in ("and", "or") else name)


def operand(library, kind, with_methods):
    asked = []

    def implementation(cls, func, types, args=(), kwargs=None):
        name = (library.overrides.resolve_name(func) or func.__name__).rpartition(".")[2]
        asked.append(f"type: {name}")
        if kind == "refuses in-place":
            in_place = name.endswith("_") and (not name.endswith("__") or name.startswith("__i"))
            return NotImplemented if in_place else "answered"
        return NotImplemented if kind == "refuses" else "answered"

    def method(name):
        def run(self, other):
            asked.append(name)
            return name

        return run

    body = {"__hash__": object.__hash__}
    if kind != "foreign":
        body["__torch_function__"] = classmethod(implementation)
    if with_methods:
        for name in (*ARITHMETIC, *BITWISE, "divmod"):
            body[f"__r{name}__"] = method(f"__r{name}__")
        for name in COMPARISONS:
            body[f"__{name}__"] = method(f"__{name}__")
    return type("Operand", (), body)(), asked


def outcome(call):
    try:
        result = call()
    except Exception as error:
        return type(error).__name__
    return result if isinstance(result, str | bool) else type(result).__name__


@pytest.mark.parametrize("name", OPERATORS)
@pytest.mark.parametrize("with_methods", [True, False], ids=["methods", "no methods"])
@pytest.mark.parametrize("kind", KINDS)
def test_the_same_are_asked(kind, with_methods, name):
    compared = 0
    for swapped in (False, True):
        if swapped and name.startswith("i"):
            continue
        found = []
        for library in (torch, tl):
            bare = name.removeprefix("i")
            x = library.ones(2, 2, dtype=library.int64 if bare in BITWISE else library.float32)
            other, asked = operand(library, kind, with_methods)
            args = (other, x) if swapped else (x, other)
            found.append((outcome(lambda args=args: function_of(name)(*args)), asked))
        if (kind, with_methods, name, swapped) in KNOWN_DIFFERENCES:
            assert found[0] != found[1], "no difference any more"
        else:
            assert found[0] == found[1]
        compared += 1
    assert compared


VALUES = [None, "a", b"a", [1.0, 1.0], (1.0,), {1}, {}, object()]


@pytest.mark.parametrize("value", VALUES, ids=lambda v: "object" if type(v) is object else repr(v))
def test_what_is_no_operand_is_left_to_python(value):
    for name in OPERATORS:
        for swapped in (False, True):
            if swapped and name.startswith("i"):
                continue
            found = []
            for library in (torch, tl):
                bare = name.removeprefix("i")
                x = library.ones(2, 2, dtype=library.int64 if bare in BITWISE else library.float32)
                args = (value, x) if swapped else (x, value)
                found.append(outcome(lambda args=args, name=name: function_of(name)(*args)))
            assert found[0] == found[1], (name, swapped)


def test_the_error_of_an_implementation_is_not_hidden():
    """A TypeError of the type's own is raised, where PyTorch makes it NotImplemented and asks on."""

    class Broken:
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            raise TypeError("of its own")

        def __radd__(self, other):
            return "reflected"

    assert torch.ones(2) + Broken() == "reflected"
    with pytest.raises(TypeError, match="of its own"):
        tl.ones(2) + Broken()


def test_a_refusal_still_says_who_refused():
    class Refuses:
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            return NotImplemented

    with pytest.raises(TypeError, match=r"no implementation found for .*add.*Refuses"):
        tl.ones(2) + Refuses()
    with pytest.raises(TypeError, match=r"no implementation found for .*add.*Refuses"):
        tl.ones(2).add(Refuses())
    assert (tl.ones(2) == Refuses()) is False
    assert (tl.ones(2) != Refuses()) is True


def test_a_traced_operator_asks_the_same():
    other, asked = operand(tl, "refuses", True)
    with tl.overrides.trace() as log:
        assert tl.ones(2) ** other == "__rpow__"
    assert asked == ["type: __pow__", "__rpow__"]
    assert len(log) == 1


def test_numbers_of_numpy_are_operands():
    for name in ("add", "mul", "pow", "lt"):
        assert type(function_of(name)(tl.ones(2), np.float32(2))) is tl.Tensor


#: What a type of tensors answers: nothing, the methods of the right operand alone, everything.
ANSWERS = {
    "nothing": lambda name: NotImplemented,
    "reflected": lambda name: "reflected" if name.startswith("__r") or name in ("gt", "ge") else NotImplemented,
    "everything": lambda name: "answered",
}


def tensor_types(library, asked):
    """Types whose operands inherit the operators of Tensor, by name."""

    def kind(name, answer, base=library.Tensor):
        def implementation(cls, func, types, args=(), kwargs=None):
            asked.append((name, (library.overrides.resolve_name(func) or func.__name__).rpartition(".")[2]))
            return answer(asked[-1][1])

        return type(name, (base,), {"__torch_function__": classmethod(implementation)})

    found = {name: kind(name, answer) for name, answer in ANSWERS.items()}
    found["own method"] = kind("own method", ANSWERS["nothing"], found["nothing"])
    for name in (*ARITHMETIC, *BITWISE):
        setattr(found["own method"], f"__r{name}__", lambda self, other, name=name: f"own {name}")
    found["subclass"] = kind("subclass", ANSWERS["nothing"], found["nothing"])
    switched_off = {"__torch_function__": library._C._disabled_torch_function_impl}
    found["switched off"] = type("switched off", (library.Tensor,), switched_off)
    found["plain"] = library.Tensor
    found["duck"] = type("duck", (), {"__torch_function__": kind("duck", ANSWERS["nothing"]).__torch_function__})
    return found


TENSOR_TYPES = (*ANSWERS, "own method", "subclass", "switched off", "plain", "duck", "number")


@pytest.mark.parametrize("right", TENSOR_TYPES)
@pytest.mark.parametrize("left", TENSOR_TYPES)
def test_an_inherited_method_of_the_right_operand_is_asked(left, right):
    if left == "number" == right:
        return
    compared = 0
    for name in OPERATORS:
        # PyTorch takes no number as a matrix before it asks a type.
        if name in ("eq", "ne", "divmod") or ("matmul" in name and "number" in (left, right)):
            continue
        found = []
        for library in (torch, tl):
            asked = []
            kinds = tensor_types(library, asked)

            def operand_of(kind, library=library, kinds=kinds, name=name):
                if kind in ("duck", "number"):
                    return 2 if kind == "number" else kinds["duck"]()
                dtype = library.int64 if name.removeprefix("i") in BITWISE else library.float32
                return library.ones(2, 2, dtype=dtype).as_subclass(kinds[kind])

            first, second = operand_of(left), operand_of(right)
            asked.clear()
            found.append((outcome(lambda f=first, s=second, name=name: function_of(name)(f, s)), asked))
        assert found[0] == found[1], name
        compared += 1
    assert compared > 20


def test_the_last_refusal_of_a_comparison_says_who_refused():
    refuses = tensor_types(tl, [])["nothing"]
    unrelated = type("Unrelated", (tl.Tensor,), {"__torch_function__": vars(refuses)["__torch_function__"]})
    x, one, other = tl.ones(2), tl.ones(2).as_subclass(refuses), tl.ones(2).as_subclass(unrelated)
    for first, second in ((one, one), (one, other), (x, one), (one, x), (one, 2)):
        for _ in range(2):
            with pytest.raises(TypeError, match=r"no implementation found for .*(lt|gt)"):
                operator.lt(first, second)


def test_a_number_is_no_matrix_for_a_subclass_either():
    for library in (torch, tl):
        kind = type("Sub", (library.Tensor,), {})
        with pytest.raises(TypeError):
            2 @ library.ones(2).as_subclass(kind)
