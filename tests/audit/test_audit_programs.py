"""The everyday programs: each finds a fault that no other one does, at a line of it."""

import threading

import pytest

import tensorlike as tl
from tensorlike.audit.making import api_named, instances_of
from tensorlike.audit.programs import PROGRAMS, Runner

T = tl.Tensor


class Faulty(tl.Tensor):
    """Doubles the results of a function, negates truth, or raises where the result is no tensor."""

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        result = super().__torch_function__(func, types, args, kwargs or {})
        if not cls.goes_wrong(func, args):
            return result
        if not isinstance(result, tl.Tensor) or func in (T.sub_, T.lerp_, T.copy_):
            raise ValueError("planted")
        with tl.overrides.DisableTorchFunctionSubclass():
            return (~result if result.dtype == tl.bool else result * 2).as_subclass(cls)

    @classmethod
    def goes_wrong(cls, func, args):
        return False


#: By program: the function of which results are wrong, or a condition on the function and the arguments.
WRONG = {
    "arithmetic": T.__rpow__,
    "comparing": T.ge,
    "equality_and_membership": T.__contains__,
    "sorting_a_list": lambda func, args: func is T.add and type(args[1]) is int and args[1] == 0,
    "shape_and_dtype": T.ndim.__get__,
    "indexing": lambda func, args: func is T.__setitem__ and type(args[1]) is int,
    "iterating": T.__reversed__,
    "reducing_in_a_loop": T.prod,
    "reshaping": T.permute,
    "joining": tl.cat,
    "masking": T.masked_fill,
    "products": tl.einsum,
    "statistics": T.topk,
    "accumulating": T.sub_,
    "converting": T.tolist,
    "numpy_beside": T.__array__,
    "detaching": T.clamp,
    "network": tl.nn.functional.layer_norm,
    "buffer": lambda func, args: func is T.copy_ and args[1].as_subclass(T).tolist() == [0.5, 2.0],
    "collating": lambda func, args: func is tl.stack and bool((args[0][-1].as_subclass(T) == 1).all()),
    "loading": lambda func, args: func is T.size and args[1:] == (0,),
    "mode": tl.tanh,
    "threads": lambda func, args: threading.current_thread() is not threading.main_thread(),
    "training_step": tl.nn.functional.mse_loss,
    "optimizing": T.lerp_,
    "gradient": T.log,
    "custom_function": tl.pow,
    "batching": tl.dot,
    "jacobian": tl.expm1,
    "forward_derivative": tl.atan,
}


class Unprintable(Faulty):
    def __repr__(self, **options):
        raise TypeError


class CopiedPlain(Faulty):
    def __deepcopy__(self, memo):
        return tl.tensor([0.5, 2.0])


class PickledPlain(Faulty):
    protocol = 5

    def __reduce_ex__(self, protocol):
        return (tl.tensor, ([0.5, 2.0],)) if protocol == self.protocol else super().__reduce_ex__(protocol)


class SavedPlain(PickledPlain):
    protocol = 2


def of_wrong(name):
    rule = WRONG[name]
    condition = rule if getattr(rule, "__name__", "") == "<lambda>" else lambda func, args: func == rule

    class Kind(Faulty):
        @classmethod
        def goes_wrong(cls, func, args):
            return condition(func, args)

    Kind.__qualname__ = "Kind"  # For pickle, which looks it up in the module.
    return Kind


def kind_of(name):
    others = {"printing": Unprintable, "copying": CopiedPlain, "pickling": PickledPlain, "saving": SavedPlain}
    return others.get(name) or of_wrong(name)


def failing(kind):
    api = api_named("tensorlike")
    _, maker = instances_of(kind, api=api)
    runner = Runner(kind, maker.like, maker.dense, api)
    return {name: ran for name, program in PROGRAMS.items() if not (ran := runner.run(program)).passed}


@pytest.mark.parametrize("name", PROGRAMS)
def test_each_program_finds_a_fault_that_no_other_does(name, monkeypatch):
    kind = kind_of(name)
    monkeypatch.setitem(globals(), kind.__name__, kind)
    found = failing(kind)
    assert set(found) == {name}, {name: ran.error or ran.difference or ran.reason for name, ran in found.items()}
    assert not found[name].reason
    assert found[name].line


def test_a_type_without_faults_passes_all_but_what_does_not_apply():
    assert failing(Faulty) == {}
