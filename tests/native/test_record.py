"""Recording in C gives the nodes that recording in Python gives."""

import copy
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import tensorlike as tl
from tensorlike._native import core
from tensorlike.audit.samples import SAMPLES
from tensorlike.autograd.node import Node, leads_nowhere, next_sequence_number
from tensorlike.tensor.declarations.declare import DECLARATIONS

pytestmark = pytest.mark.skipif(core is None, reason="needs the native core")
ROOT = Path(__file__).parents[2]


def _recorded():
    return sorted(
        name for name, d in DECLARATIONS.items()
        if d.vjp is not None and not d.outputs and d.view is not True and name in SAMPLES
        and hasattr(d.recording(), "_tl_python")
    )  # fmt: skip


NAMES = _recorded() if core is not None else []


def described(value):
    """Return what two values have in common that were saved from the same operands."""
    if isinstance(value, tuple) and len(value) == 3 and type(value[1]) is list:
        return ("saved", id(value[0]), id(value[1]), value[2])
    if isinstance(value, np.ndarray):
        return ("array", id(value))
    if isinstance(value, (tuple, list)):
        return (type(value), *[described(v) for v in value])
    return (type(value), id(value) if isinstance(value, (tl.Tensor, Node)) else repr(value))


def assert_same_record(d, array, operands):
    """Record a result by both, and compare all that there is to see."""
    record = d.recording()
    given = [p.default for p in d.recorded().parameters]
    given[: len(operands)] = operands
    first = record(array, *given)
    second = record._tl_python(array, *given)
    assert type(first) is type(second)
    assert first._tl_tracked is second._tl_tracked
    assert first._tl_data is second._tl_data is array
    assert first._tl_counter == second._tl_counter
    assert first._tl_meta is second._tl_meta is None
    assert (first._tl_edge is None) == (second._tl_edge is None)
    if first._tl_edge is None:
        return None
    one, other = first._tl_edge[0], second._tl_edge[0]
    assert type(one) is type(other)
    assert first._tl_edge[1] == second._tl_edge[1] == 0
    assert other._tl_sequence_number == one._tl_sequence_number + 1
    assert len(one._tl_edges) == len(other._tl_edges)
    for edge, twin in zip(one._tl_edges, other._tl_edges, strict=True):
        # A view that was made outside the history of its base gets a node with each call.
        assert edge == twin or (leads_nowhere(edge) and leads_nowhere(twin))
    assert one._tl_shape == other._tl_shape
    assert type(one._tl_shape) is tuple
    assert one._tl_dtype is other._tl_dtype
    for name in d.recorded().slots():
        if name == "_saved_result":
            assert one._saved_result[0] is other._saved_result[0] is array
            assert one._saved_result[1] is first._tl_counter
            assert one._saved_result[2] == 0
        else:
            assert described(getattr(one, name)) == described(getattr(other, name)), name
    return one


@pytest.mark.parametrize("name", NAMES)
def test_every_declaration(name):
    d = DECLARATIONS[name]
    if not d.elementwise:
        pytest.skip("its arguments are not those of its kernel")
    seen = 0
    for sample in SAMPLES[name].generate("float32", requires_grad=True):
        if sample.kwargs or len(sample.args) > len(d.recorded().parameters):
            continue
        if not isinstance(sample.args[0], tl.Tensor):
            continue  # A number as the first operand is made a tensor before.
        result = d.function(*sample.args)
        if isinstance(result, tl.Tensor):
            assert_same_record(d, result._tl_data, sample.args)
            seen += 1
            # Some operands without a gradient.
            for index in range(len(sample.args)):
                args = [a.detach() if i == index and isinstance(a, tl.Tensor) else a for i, a in enumerate(sample.args)]
                assert_same_record(d, result._tl_data, args)
    if not seen:
        pytest.skip("every sample has options")


def test_many_operations_are_recorded_in_c():
    assert len(NAMES) > 100
    assert {"tensorlike.mul", "tensorlike.exp", "tensorlike.sum", "tensorlike.where"} & set(NAMES)


class Sub(tl.Tensor):
    """A subclass that inherits everything."""


def _operands():
    x = tl.tensor([1.0, 2.0], requires_grad=True)
    used = tl.tensor([1.0, 2.0], requires_grad=True)
    used * 2
    modified = tl.ones(2)
    modified.add_(1)
    base = tl.ones(4, requires_grad=True) * 1
    view = base[:2]
    stale = base[2:]
    base.mul_(2)
    with tl.no_grad():
        outside = base[:2]
    return {
        "leaf": x, "used leaf": used, "result": x * 3, "constant": tl.ones(2), "modified": modified, "view": view,
        "stale view": stale, "outside": outside, "view of a constant": tl.ones(4)[:2],
        "subclass": tl.ones(2).as_subclass(Sub).requires_grad_(), "parameter": tl.nn.Parameter(tl.ones(2)),
        "float": 2.5, "int": 3, "hooked": _hooked(), "numpy number": np.float32(2),
    }  # fmt: skip


def _hooked():
    x = tl.ones(2, requires_grad=True)
    x.register_hook(lambda grad: grad * 2)
    return x


@pytest.mark.parametrize("first", [n for n in _operands() if n not in ("float", "int", "numpy number")])
@pytest.mark.parametrize("second", list(_operands()))
@pytest.mark.parametrize("recording", [True, False])
def test_operands(first, second, recording):
    operands = _operands()
    d = tl.mul.operation
    array = np.ones(2, np.float32)
    with tl.set_grad_enabled(recording):
        node = assert_same_record(d, array, (operands[first], operands[second]))
    tracked = [o for o in (operands[first], operands[second]) if isinstance(o, tl.Tensor) and o.requires_grad]
    assert (node is not None) == bool(tracked and recording)


def test_same_errors():
    record = tl.sum.operation.recording()
    x = tl.ones(2, requires_grad=True)
    array = np.array(2)
    messages = []
    for one in (record, record._tl_python):
        with pytest.raises(RuntimeError) as error:
            one(array, x, None, False, None)
        messages.append(str(error.value))
    assert messages[0] == messages[1]
    assert "does not support dtype" in messages[0]
    for arguments in ((), (array,), (array, x)):
        messages = []
        for one in (record, record._tl_python):
            with pytest.raises(TypeError) as error:
                one(*arguments)
            messages.append(str(error.value))
        assert messages[0] == messages[1]


def test_numbers_of_nodes_go_up_by_one():
    x = tl.ones(2, requires_grad=True)
    start = next_sequence_number()
    made = [(x * 2).grad_fn, x[:1].grad_fn, tl.cat([x, x]).grad_fn, (x + x).grad_fn]
    assert [n._tl_sequence_number for n in made] == [start + 1, start + 2, start + 3, start + 4]
    assert x.grad_fn is None
    assert made[0].next_functions[0][0]._tl_sequence_number < 0


def test_nothing_is_kept():
    x, y = tl.ones(3, requires_grad=True), tl.ones(3)
    record = tl.mul.operation.recording()
    array = np.ones(3, np.float32)
    record(array, x, y)
    counted = (x, y, array, x._tl_meta, x._tl_meta.leaf_edge, y._tl_counter, record, type(tl.mul(x, y).grad_fn))
    before = [sys.getrefcount(o) for o in counted]
    for _ in range(100):
        record(array, x, y)
        record(array, y, y)
        record(array, x, 2.0)
    assert [sys.getrefcount(o) for o in counted] == before


def test_nodes_have_the_fields_of_nodes_in_python():
    node = (tl.ones(2, requires_grad=True) * 2).grad_fn
    assert isinstance(node, Node)
    assert {"_tl_dtype", "_tl_edges", "_tl_sequence_number", "_tl_shape"} <= set(dir(node))
    assert node.__dict__ == {}
    node.metadata["key"] = 1
    assert node.metadata == {"key": 1}
    fresh = type(node)()
    assert copy.copy(node)._tl_edges == node._tl_edges
    for name in ("_tl_edges", "_tl_shape", "_tl_dtype", "_saved_other"):
        with pytest.raises(AttributeError):
            getattr(fresh, name)
        setattr(fresh, name, ())
        assert getattr(fresh, name) == ()
        delattr(fresh, name)
        assert not hasattr(fresh, name)


def test_random_programs_in_both_modes(tmp_path):
    found = []
    for pure in ("0", "1"):
        environment = {**os.environ, "TENSORLIKE_PURE": pure, "PYTHONPATH": str(ROOT), "PYTHONHASHSEED": "0"}
        command = [sys.executable, str(Path(__file__).with_name("graphs.py")), "70000", "120"]
        found.append(subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout)
    assert found[0].count("\n") > 1000
    for one, other in zip(found[0].splitlines(), found[1].splitlines(), strict=True):
        assert one == other
