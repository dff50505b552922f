"""While installed, texts say torch; before and afterwards they say tensorlike."""

from __future__ import annotations

from tests.as_torch.processes import code

TEXTS = """
import copy, pickle
import tensorlike as tl
from tensorlike import nn

def error_of(function, *args, **kwargs):
    try:
        function(*args, **kwargs)
    except Exception as error:
        return str(error)

class Duck:
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        return NotImplemented

def texts():
    x = tl.ones(2, 2)
    return [
        repr(tl.float32), repr(tl.Size([2])), repr(tl.strided), repr(tl.channels_last), repr(x.double()), x.type(),
        repr(tl.Generator()), repr(tl.max(x, 0)), repr(x.untyped_storage()), tl.typename(nn.Parameter), tl.typename(x),
        repr(nn.Linear), repr(tl.Tensor), repr(tl.nn.Parameter), nn.Fold.__module__ + "", tl.add.__module__,
        nn.functional.relu.__module__,
        tl.overrides.resolve_name(tl.add), tl.overrides.resolve_name(tl.Tensor.add),
        tl.overrides.resolve_name(tl.Tensor.shape.__get__), tl.overrides.resolve_name(nn.functional.relu),
        error_of(tl.add, Duck(), 1), error_of(tl.ones, 2, dtype=3), error_of(tl.ones, 2, device=1.5),
        error_of(lambda: x.int().requires_grad_()), error_of(nn.Linear(1, 1).register_parameter, "a", 3),
        error_of(tl.float32.__class__), error_of(lambda: x.contiguous(memory_format=3)), error_of(tl.finfo, tl.int32),
        error_of(tl.mean, tl.ones(2, dtype=tl.int64)), error_of(tl.rand, 2, dtype=tl.uint8), repr(tl.cuda.FloatTensor),
        error_of(nn.Linear(1, 1).register_buffer, "a", 3), error_of(nn.utils.vector_to_parameters, 3, []),
        error_of(setattr, tl.backends.cudnn, "enabled", 3), tl.Tensor.add_.__module__,
        nn.Linear.forward.__module__, str(pickle.dumps([tl.Tensor.add_, nn.Linear.forward])), str(pickle.dumps(x)),
        str(pickle.dumps(nn.Linear(1, 1))),
    ]
"""


def test_texts():
    code(
        TEXTS
        + """
before = texts()
with tl.install_as_torch():
    import torch
    inside = texts()
    for ours, text in zip(before, inside, strict=True):
        assert text is not None, ours
        assert "tensorlike" not in text.replace("tensorlike.overrides", ""), text
        assert "torch" in text, text
    assert inside[:4] == ["torch.float32", "torch.Size([2])", "torch.strided", "torch.channels_last"]
    assert inside[5] == "torch.FloatTensor" and "torch.Tensor.add" in inside
    assert torch.nn.Fold.__module__ == "torch.nn.modules.fold" and torch.relu.__module__ == "torch"
# But for the pickles: of new weights.
for one, other in zip(before[:-1], texts()[:-1], strict=True):
    assert one.split("seeded")[0] == other.split("seeded")[0]
"""
    )


def test_where_classes_are_from_is_importable():
    code("""
        import importlib, inspect, pickle, sys, typing
        import tensorlike as tl
        tl.install_as_torch()
        import torch
        from torch import nn, optim
        count = 0
        spaces = [torch, nn, nn.functional, optim, torch.linalg, torch.autograd, torch.utils.data, torch.distributions]
        for space in spaces:
            for name in space.__all__:
                value = getattr(space, name)
                if isinstance(value, type) and value.__module__.startswith("torch"):
                    module = sys.modules[value.__module__]
                    assert getattr(module, value.__qualname__.partition(".")[0]) is not None, value
                    assert pickle.loads(pickle.dumps(value)) is value
                    count += 1
        assert count > 250
        assert inspect.getsource(nn.Linear).startswith("class Linear")
        assert inspect.getsource(nn.Fold).startswith("class Fold")
        typing.get_type_hints(nn.Linear.forward)
    """)


def test_names_of_functions_in_two_namespaces_are_pytorchs():
    code("""
        import tensorlike as tl
        def names():
            relu, inverse = tl.nn.functional.relu, tl.linalg.inv
            functions = (tl.split, tl.norm, tl.einsum, tl.functional.split, tl.add, relu, inverse)
            return [tl.overrides.resolve_name(f) for f in functions]
        before = names()
        assert before[:2] == ["tensorlike.split", "tensorlike.norm"]
        with tl.install_as_torch():
            assert names() == [
                "torch.functional.split", "torch.functional.norm", "torch.functional.einsum", "torch.functional.split",
                "torch.add", "torch.nn.functional.relu", "torch.linalg.inv"]
            called = []
            class Duck:
                @classmethod
                def __torch_function__(cls, func, types, args=(), kwargs=None):
                    called.append(tl.overrides.resolve_name(func))
            tl.split(Duck(), 2)
            assert called == ["torch.functional.split"]
        assert names() == before
    """)


def test_errors_name_types_by_their_public_names():
    code("""
        import tensorlike as tl
        def scale(x: tl.Tensor, kind: tl.dtype, more: dict[str, tl.device]) -> tl.Tensor: ...
        def error():
            try:
                tl.library.infer_schema(scale, mutates_args=())
            except ValueError as error:
                return str(error)
        text = error()
        assert "dict[str, tensorlike.device]" in text and "(x: tensorlike.Tensor, kind: tensorlike.dtype" in text
        with tl.install_as_torch():
            assert error() == text.replace("tensorlike", "torch")
    """)
