"""How results lie in memory, against PyTorch: what is a view of what, steps and offsets, what is contiguous."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
import torch

import tensorlike as tl
from tensorlike.audit.samples import SAMPLES
from tests.helpers.oracle import leaves, outcome, to_torch, torch_function
from tests.helpers.rows import families, mutates
from tests.helpers.values import array, mapped, tensors_in, wrapped

# Of `M`, the library, and of `x`, two rows of three numbers.
EXPRESSIONS = """
x.t() | x.T | x.mT | x.H | x.mH | x.transpose(0,1) | x.permute(1,0) | x.view(6) | x.view(3,2) | x.view(-1)
x.reshape(6) | x.reshape(3,2) | x.flatten() | x.ravel() | x.unflatten(0,(2,1)) | x.squeeze() | x.unsqueeze(0)
x.unsqueeze(-1) | x.view(2,1,3).unsqueeze(1) | x[0] | x[:,1] | x[...] | x[None] | x[0,0] | x[::2] | x[:,::2]
x[1:,1:] | x.narrow(1,1,2) | x.select(0,1) | x.expand(4,2,3) | x.expand(2,3) | x.expand(1,2,3) | x.expand_as(x)
x.broadcast_to((4,2,3)) | M.zeros(1,1).expand(3,3) | x.diagonal() | x.diag() | x.unfold(1,2,1) | x.view(6).unfold(0,3,2)
x.as_strided((2,),(2,)) | x.as_strided((2,),(2,),1) | x.detach() | x.data | x.view_as(x) | x.reshape_as(x)
x.movedim(0,1) | x.moveaxis(0,1) | x.swapaxes(0,1)[1:] | x.swapdims(0,1) | x.split(1)[1] | x.chunk(2,1)[1]
x.tensor_split(2,1)[1] | x.hsplit([1])[1] | x.vsplit(2)[1] | x.unbind(0)[1] | x.unbind(1)[2] | list(x)[1]
x.split_with_sizes([1,1])[1] | x.real | x.view(M.int32) | x.view(M.float32) | x.contiguous() | x.t().contiguous()
x.t().clone() | x.clone() | x.t().reshape(6) | x.t().flatten() | x.to(M.float32) | x.float() | x.t().double()
x.double() | x.t().to(M.int64) | x[[0,1]] | x[x>0] | M.atleast_3d(x) | M.atleast_1d(x) | M.broadcast_tensors(x, x)[0]
M.ravel(x) | M.flatten(x,0,1) | M.squeeze(x[None],0) | M.select(x,0,0) | x.resolve_conj() | x.positive()
x.T[1:].T | x.view(6)[1:][::2] | x.flip(0) | x.roll(1) | x.repeat(2,1) | x.tile(2) | x + 0 | x.t() + 0
x.t() * x.t() | x.t().exp() | x.expand(4,2,3) + 1 | x.expand(4,2,3).clone() | x.expand(4,2,3).contiguous()
x[:, ::2] + 1 | x[:, ::2].clone() | x.t().sum(0) | x.sum(1, keepdim=True) | x.t().softmax(0) | x.t().cumsum(0)
M.where(x.t()>0, x.t(), x.t()) | x.t() @ x | x @ x.t() | M.zeros_like(x.t()) | M.ones_like(x.t()) | M.empty_like(x.t())
M.full_like(x.t(), 2) | M.rand_like(x.t()) | M.randn_like(x.t()) | M.randint_like(x.t(), 5) | M.empty_like(x[:, ::2])
M.zeros_like(x.expand(4,2,3)) | x.t().new_zeros((2,3)) | M.stack([x.t(),x.t()]) | M.cat([x.t(),x.t()])
x.t().masked_fill(x.t()>0, 1.) | x.t()[M.tensor([0,1])] | x.t()[:, M.tensor([0,1])] | x.t().tril() | x.t().clamp(0)
x.t().cummax(0)[0] | x.t().logcumsumexp(0) | x.t().max(0)[1] | M.kron(x,x) | x.sort(descending=True)[0]
x.argsort(0,descending=True) | x.unique() | M.meshgrid(x[0],x[1],indexing='ij')[0] | M.diag_embed(x)
x.view(1,2,3).transpose(0,2).squeeze() | x[:0] | M.zeros(2,0,3).view(0,3) | M.zeros(2,0,3).transpose(0,1).reshape(0)
M.eye(3)[1:] | M.arange(6)[::3] | M.arange(6).view(2,3).t() | M.tensor([[1,2],[3,4]])[1] | M.complex(x,x).real
M.complex(x,x).imag | M.view_as_real(M.complex(x,x)) | M.view_as_complex(M.zeros(3,2))
M.bmm(M.ones(2,3,4), M.ones(2,4,5))
M.nn.functional.pad(x,(1,1)) | M.nn.functional.softmax(x.t(),0) | M.nn.functional.layer_norm(x,(3,))
M.nn.functional.embedding(M.tensor([0,1]), x) | x.t().gather(0, M.zeros((1,2), dtype=M.int64))
x.t().index_select(0, M.tensor([0]))
"""


@pytest.fixture(autouse=True)
def no_warnings():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def described(library, expression, x):
    y = eval(expression, {"M": library, "x": x})
    if y is x:
        return "itself"
    return tuple(y.shape), tuple(y.stride()), y.storage_offset(), y._is_view(), y._base is x, y.is_contiguous()


@pytest.mark.parametrize("expression", [e.strip() for e in EXPRESSIONS.replace("\n", "|").split("|") if e.strip()])
def test_where_results_lie(expression):
    numbers = np.arange(6.0, dtype=np.float32).reshape(2, 3) + 1
    ours = described(tl, expression, wrapped(numbers.copy()))
    assert ours == described(torch, expression, torch.from_numpy(numbers))


def turned(tensor):
    """Return a tensor of the same values whose first dimension is the innermost in memory."""
    a = array(tensor)
    return wrapped(np.array(a.T, order="C").T)


def turned_torch(value):
    if isinstance(value, tl.Tensor):
        a = array(value)
        return torch.from_numpy(np.array(a.T, order="C")).permute(tuple(range(a.ndim))[::-1])
    if isinstance(value, (list, tuple)):
        return type(value)(turned_torch(item) for item in value)
    return to_torch(value)


#: Where a result is not contiguous and PyTorch's is, with the reason; there may be more reasons than names.
GAPS = {
    "tensorlike.svd": "composed of transposed factors",
    "tensorlike.renorm": "elementwise, and so in the order of its input",
    "tensorlike.nn.functional.logsigmoid": "elementwise, and so in the order of its input",
    "tensorlike.nn.functional.rrelu": "elementwise, and so in the order of its input",
    "tensorlike.rrelu": "elementwise, and so in the order of its input",
    "tensorlike.rms_norm": "elementwise, and so in the order of its input",
    "tensorlike.nn.functional.rms_norm": "elementwise, and so in the order of its input",
    "tensorlike.matrix_power": "the power of 1 is a copy in the order of its input",
    "tensorlike.conv_tbc": "a view of a convolution of another order",
    "tensorlike.nn.functional.conv_tbc": "a view of a convolution of another order",
    "tensorlike.pca_lowrank": "composed of transposed factors",
    "tensorlike.svd_lowrank": "composed of transposed factors",
}


@pytest.mark.slow
def test_what_is_contiguous_in_pytorch_is_contiguous():
    """`view` works on the results of operations where it does in PyTorch, whatever the layout of the operands."""
    wrong = set()
    for name, members in families().items():
        primary, samples = members[0], SAMPLES[name]
        theirs = torch_function(f"torch.{samples.torch_name}" if samples.torch_name else name)
        if mutates(primary) or theirs is None or primary.kind == "property" or "_to_csr" in name:
            continue
        for sample in samples.generate("float32" if "float32" in samples.dtypes else samples.dtypes[0])[:2]:
            if sample.name.startswith("not in PyTorch"):
                continue
            args, kwargs = mapped(list(sample.args), turned), mapped(sample.kwargs, turned)
            their_args = [turned_torch(value) for value in sample.args]
            their_kwargs = {key: turned_torch(value) for key, value in sample.kwargs.items()}
            expected, error = outcome(theirs, *their_args, **their_kwargs)
            if error is not None:
                continue
            result, error = outcome(primary.function, *args, **kwargs)
            assert error is None or "view size" in str(error), f"{name}{sample}: {error}"
            for ours, other in zip(tensors_in(result), leaves(expected)):
                assert all(step >= 0 for step in array(ours).strides), f"{name}{sample}: negative steps"
                if other.layout == torch.strided and other.is_contiguous() and not ours.is_contiguous():
                    wrong.add(name)
    assert not wrong - set(GAPS), f"not contiguous: {sorted(wrong - set(GAPS))}"
    assert not set(GAPS) - wrong, f"contiguous after all: {sorted(set(GAPS) - wrong)}"
