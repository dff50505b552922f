"""`torch._check` and its family beside PyTorch's: types of errors and their texts."""

import pytest
import torch

import tensorlike as tl

NAMES = ("_check", "_check_index", "_check_value", "_check_type", "_check_not_implemented")
ARGUMENTS = {
    "holds": lambda lib: (True,),
    "fails": lambda lib: (False,),
    "fails with a text": lambda lib: (False, lambda: "wrong"),
    "fails with a number": lambda lib: (False, lambda: 3),
    "text that is no function": lambda lib: (False, "wrong"),
    "integer": lambda lib: (1,),
    "tensor": lambda lib: (lib.tensor(True),),
}


def outcome(lib, name, arguments):
    try:
        return getattr(lib, name)(*arguments)
    except Exception as error:
        return type(error), str(error).replace("tensorlike.", "torch.")


@pytest.mark.parametrize("case", ARGUMENTS)
@pytest.mark.parametrize("name", NAMES)
def test_a_condition_raises_what_it_does_in_pytorch(name, case):
    ours, theirs = (outcome(lib, name, ARGUMENTS[case](lib)) for lib in (tl, torch))
    assert ours == theirs


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("_check_tensor_all", lambda lib: (lib.tensor([True, False]),)),
        ("_check_tensor_all", lambda lib: (lib.tensor([True]),)),
        ("_check_tensor_all", lambda lib: (lib.tensor([1]),)),
        ("_check_tensor_all", lambda lib: (True,)),
        ("_check_is_size", lambda lib: (-1,)),
        ("_check_is_size", lambda lib: (3,)),
        ("_assert", lambda lib: (lib.tensor(False), "no")),
        ("_assert", lambda lib: (True, "no")),
    ],
)
@pytest.mark.filterwarnings("ignore:_check_is_size:FutureWarning")
def test_other_conditions(name, arguments):
    ours, theirs = (outcome(lib, name, arguments(lib)) for lib in (tl, torch))
    assert ours == theirs
