"""Public names that a user has replaced: no module of the library finds the replacement, however late it is loaded."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

import tensorlike
from tests.as_torch.processes import code

#: Replaces every public function of the namespaces that have functions by one that raises, and keeps the former ones.
REPLACE = """
import io, pickle, sys, warnings
import tensorlike as tl
warnings.simplefilter("ignore")
import tensorlike.nn.functional, tensorlike.linalg, tensorlike.fft, tensorlike.special

from tensorlike._originals import functional as F, tl as kept

class Replaced(Exception):
    pass

def replacement(name):
    def raises(*args, **kwargs):
        raise Replaced(name)
    return raises

count = 0
spaces = [tl, tl.linalg, tl.fft, tl.special] + ([tl.nn.functional] if FUNCTIONAL else [])
for space in spaces:
    for name, value in list(vars(space).items()):
        if name[:1] != "_" and callable(value) and not isinstance(value, type):
            setattr(space, name, replacement(f"{space.__name__}.{name}"))
            count += 1
for name in tl._LAZY_FUNCTIONS:  # Set before they are loaded.
    if name[:1].islower() and name not in ("classes", "ops"):
        setattr(tl, name, replacement(f"tensorlike.{name}"))
assert count > (700 if FUNCTIONAL else 600), count
x = kept.tensor([[1.0, 2.0], [3.0, 4.0]])
v = kept.tensor([1.0, 2.0])
"""

#: One use or more of each module that is loaded when it is asked for.
USES = {
    "sparse": """
s = x.to_sparse()
assert s.to_dense().tolist() == x.tolist()
assert (s + s).to_dense().tolist() == [[2, 4], [6, 8]]
assert kept.sparse_coo_tensor([[0], [1]], [2.0], (2, 2)).to_dense().tolist() == [[0, 2], [0, 0]]
assert kept.mm(s, x).tolist() == [[7, 10], [15, 22]]
assert s.select(0, 1).to_dense().tolist() == [3, 4] and s.t().coalesce().sum().item() == 10
import tensorlike.sparse as sparse
assert sparse.mm(s, x).tolist() == [[7, 10], [15, 22]] and sparse.sum(s).item() == 10
assert sparse.softmax(s, 1).to_dense().sum().item() == 2
""",
    "distributions": """
import tensorlike.distributions as d
kept.manual_seed(0)
cases = [d.Normal(0.0, 1.0), d.Bernoulli(0.3), d.Categorical(v), d.Gamma(1.0, 2.0), d.Beta(1.0, 2.0), d.Dirichlet(v),
         d.Binomial(3, 0.5), d.Poisson(2.0), d.Geometric(0.5), d.Laplace(0.0, 1.0), d.StudentT(3.0),
         d.Uniform(0.0, 1.0),
         d.OneHotCategorical(v), d.NegativeBinomial(3, 0.5), d.VonMises(0.0, 1.0), d.MultivariateNormal(v, kept.eye(2)),
         d.LowRankMultivariateNormal(v, kept.ones(2, 1), v), d.Exponential(1.0), d.Cauchy(0.0, 1.0), d.Gumbel(0.0, 1.0),
         d.HalfNormal(1.0), d.Weibull(1.0, 1.0), d.Multinomial(3, v), d.ContinuousBernoulli(0.3), d.LogNormal(0.0, 1.0),
         d.Wishart(kept.tensor(3.0), kept.eye(2)), d.LKJCholesky(2), d.RelaxedBernoulli(kept.tensor(1.0), 0.3),
         d.FisherSnedecor(2.0, 3.0), d.Pareto(1.0, 1.0), d.Chi2(2.0), d.Kumaraswamy(1.0, 1.0)]
for each in cases:
    value = each.sample()
    each.log_prob(value)
d.kl_divergence(cases[0], d.Normal(1.0, 2.0)), d.kl_divergence(d.Beta(1.0, 2.0), d.Beta(2.0, 1.0))
d.kl_divergence(cases[15], cases[15])
for each in (cases[0], cases[1], cases[3], cases[5]):
    each.entropy(), each.mean, each.variance
for t in (d.ExpTransform(), d.SigmoidTransform(), d.TanhTransform(), d.StickBreakingTransform(),
          d.SoftmaxTransform(), d.AffineTransform(1.0, 2.0), d.CorrCholeskyTransform(), d.LowerCholeskyTransform()):
    y = t(x if t.domain.event_dim == 2 else kept.ones(3))
    t.inv(y)
d.TransformedDistribution(cases[0], [d.ExpTransform()]).log_prob(kept.tensor(2.0))
d.MixtureSameFamily(d.Categorical(v), d.Normal(v, v)).log_prob(kept.tensor(2.0))
d.Independent(d.Normal(v, v), 1).log_prob(v)
assert all(bool(c.check(kept.ones(()))) for c in (d.constraints.positive, d.constraints.real))
""",
    "func": """
from tensorlike import func
f = lambda t: (t * t).sum()
assert func.grad(f)(v).tolist() == [2, 4]
assert func.vmap(lambda t: t.sum())(x).tolist() == [3, 7]
assert func.jacrev(lambda t: t * t)(v).tolist() == func.jacfwd(lambda t: t * t)(v).tolist() == [[2, 0], [0, 4]]
assert func.hessian(f)(v).tolist() == [[2, 0], [0, 2]]
assert func.jvp(f, (v,), (v,))[1].item() == 10 and func.vjp(f, v)[1](kept.tensor(1.0))[0].tolist() == [2, 4]
func.linearize(f, v)
assert func.stack_module_state([tl.nn.Linear(2, 2) for _ in range(2)])[0]["weight"].shape == (2, 2, 2)
""",
    "autograd": """
from tensorlike.autograd import functional, forward_ad, gradcheck, graph
assert functional.jacobian(lambda t: t * t, v).tolist() == [[2, 0], [0, 4]]
functional.hessian(lambda t: (t * t).sum(), v), functional.vhp(lambda t: (t * t).sum(), v, v)
functional.hvp(lambda t: (t * t).sum(), v, v), functional.jvp(lambda t: t * t, v, v)
functional.vjp(lambda t: t * t, v, v)
with forward_ad.dual_level():
    assert forward_ad.unpack_dual(forward_ad.make_dual(v, v).sin()).tangent is not None
assert gradcheck(lambda t: t.exp(), (kept.ones(2, dtype=kept.float64, requires_grad=True),), check_forward_ad=True)
with graph.saved_tensors_hooks(lambda t: t, lambda t: t):
    (v.clone().requires_grad_() ** 2).sum().backward()
with tl.autograd.detect_anomaly():
    (v.clone().requires_grad_() ** 2).sum().backward()
""",
    "utils": """
from tensorlike.utils import data, checkpoint, dlpack, benchmark, _pytree
loader = data.DataLoader(data.TensorDataset(x, v), batch_size=2, shuffle=True)
assert [b[0].shape for b in loader] == [(2, 2)]
assert data.default_collate([{"a": 1.0, "b": v}, {"a": 2.0, "b": v}])["b"].shape == (2, 2)
list(data.WeightedRandomSampler([1.0, 2.0], 3)), data.random_split(range(4), [2, 2]), list(data.RandomSampler([1, 2]))
list(data.DistributedSampler([1, 2, 3], 2, 0))
assert checkpoint.checkpoint(lambda t: t * 2, v.clone().requires_grad_(), use_reentrant=False).tolist() == [2, 4]
dlpack.from_dlpack(dlpack.to_dlpack(v.clone()))
benchmark.Timer("v + v", globals={"v": v}).timeit(2)
assert _pytree.tree_map(lambda t: t, {"a": [v]})["a"][0] is v
""",
    "serialization": """
file = io.BytesIO()
kept.save({"x": x, "p": tl.nn.Linear(2, 2).state_dict(), "s": x.to_sparse(), "n": 3}, file)
file.seek(0)
assert kept.load(file)["x"].tolist() == x.tolist()
assert pickle.loads(pickle.dumps(x)).tolist() == x.tolist()
import copy
assert copy.deepcopy(x).tolist() == x.tolist()
""",
    "testing": """
from tensorlike import testing
testing.assert_close(x, x.clone())
testing.make_tensor((2, 2), dtype=tl.float32, device="cpu")
try:
    testing.assert_close(x, x + 1)
except AssertionError:
    pass
from tensorlike.audit.samples import SAMPLES, serving
for each in list(SAMPLES.values()):
    each.generate(each.dtypes[0])
""",
    "array_api": """
from tensorlike import array_api as xp
assert xp.add(x, x).tolist() == [[2, 4], [6, 8]] and xp.concat([v, v]).shape == (4,) and xp.sum(x).item() == 10
xp.linalg.inv(x), xp.fft.fft(v), xp.sort(x), xp.unique_values(v), xp.asarray([1.0]), xp.zeros((2,))
xp.where(x > 1, x, x)
xp.take(v, xp.asarray([0])), xp.std(x), xp.arange(3), xp.linspace(0, 1, 3), xp.matmul(x, x), xp.argmax(v)
xp.astype(v, xp.float64)
xp.result_type(v, xp.float64), xp.meshgrid(v, v), xp.tril(x), xp.permute_dims(x, (1, 0)), xp.expand_dims(v, axis=0)
xp.cumulative_sum(v), xp.clip(v, 0, 1), xp.searchsorted(v, v), xp.nonzero(v), xp.finfo(xp.float32)
""",
    "amp": """
from tensorlike import amp
with kept.autocast("cpu", dtype=tl.bfloat16):
    assert kept.mm(x, x).dtype is tl.bfloat16
    F.softmax(x, 0), F.mse_loss(x, x), kept.cat([x, x.bfloat16()])
scaler = amp.GradScaler("cpu")
w = tl.nn.Parameter(v.clone())
o = tl.optim.SGD([w], lr=0.1)
scaler.scale((w * w).sum()).backward()
scaler.unscale_(o), scaler.step(o), scaler.update()
""",
    "overrides": """
from tensorlike import overrides
overrides.get_overridable_functions(), overrides.get_testing_overrides(), overrides.get_ignored_functions()
class Duck:
    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        return overrides.resolve_name(func)
assert kept.add(Duck(), 1) == "tensorlike.add" and overrides.is_tensor_like(Duck())
with overrides.trace() as log:
    kept.add(v, 1)
class Sub(tl.Tensor):
    pass
assert type(kept.add(v.as_subclass(Sub), 1)) is Sub
assert overrides.audit(Sub, only=["tensorlike.add", "tensorlike.exp", "tensorlike.cat"]).rows
""",
    "masked": """
from tensorlike import masked
masked.sum(x, 0, mask=x > 1), masked.softmax(x, 0, mask=x > 1), masked.mean(x, 0, mask=x > 1)
masked.var(x, 0, mask=x > 1)
""",
    "signal": """
from tensorlike import signal
signal.windows.hann(4), signal.windows.kaiser(4), signal.windows.gaussian(4), signal.windows.bartlett(4)
""",
    "optim": """
from tensorlike import optim
def trained(kind, **options):
    w = tl.nn.Parameter(x.clone())
    o = kind([w], **options)
    def closure():
        o.zero_grad()
        loss = (w * w).sum()
        loss.backward()
        return loss
    for _ in range(2):
        o.step(closure)
    o.load_state_dict(o.state_dict())
for name in ("SGD", "Adam", "AdamW", "Adagrad", "Adadelta", "Adamax", "ASGD", "NAdam", "RAdam", "RMSprop", "Rprop",
             "LBFGS", "Adafactor", "Muon"):
    trained(getattr(optim, name), **({"lr": 0.1, "momentum": 0.9} if name == "SGD" else {}))
trained(optim.Adam, amsgrad=True, foreach=True)
trained(optim.SGD, lr=0.1, differentiable=False, nesterov=True, momentum=0.9)
w = tl.nn.Parameter(x.clone())
o = optim.SGD([w], lr=0.1)
for s in (optim.lr_scheduler.StepLR(o, 1), optim.lr_scheduler.OneCycleLR(o, 1.0, total_steps=4),
          optim.lr_scheduler.CosineAnnealingLR(o, 3), optim.lr_scheduler.ReduceLROnPlateau(o)):
    o.step()
    s.step(1.0) if isinstance(s, optim.lr_scheduler.ReduceLROnPlateau) else s.step()
average = optim.swa_utils.AveragedModel(tl.nn.Linear(2, 2))
average.update_parameters(tl.nn.Linear(2, 2))
""",
    "nn.utils": """
from tensorlike.nn import init, utils
from tensorlike.nn.utils import parametrizations, prune, rnn
w = tl.nn.Parameter(x.clone())
for name in ("uniform_", "normal_", "ones_", "zeros_", "eye_", "xavier_uniform_", "xavier_normal_", "kaiming_uniform_",
             "kaiming_normal_", "trunc_normal_", "orthogonal_"):
    getattr(init, name)(w)
init.constant_(w, 1.0), init.sparse_(w, 0.5), init.dirac_(kept.zeros(2, 2, 2))
w.grad = kept.ones_like(w)
utils.clip_grad_norm_([w], 1.0), utils.clip_grad_value_([w], 0.5)
utils.vector_to_parameters(utils.parameters_to_vector([w]), [w])
packed = rnn.pack_sequence([v, v[:1]])
rnn.pad_packed_sequence(packed), rnn.pad_sequence([v, v[:1]]), rnn.unpad_sequence(x, kept.tensor([2, 1]))
prune.l1_unstructured(tl.nn.Linear(2, 2), "weight", 1), prune.ln_structured(tl.nn.Linear(2, 2), "weight", 1, 2, 0)
prune.random_unstructured(tl.nn.Linear(2, 2), "weight", 1)
parametrizations.weight_norm(tl.nn.Linear(2, 2)).weight, parametrizations.orthogonal(tl.nn.Linear(2, 2)).weight
parametrizations.spectral_norm(tl.nn.Linear(2, 2)).weight
utils.weight_norm(tl.nn.Linear(2, 2)), utils.spectral_norm(tl.nn.Linear(2, 2))
utils.fusion.fuse_linear_bn_eval(tl.nn.Linear(2, 2).eval(), tl.nn.BatchNorm1d(2).eval())
""",
    "library": """
from tensorlike import library
@library.custom_op("test::twice", mutates_args=())
def twice(t: tl.Tensor) -> tl.Tensor:
    return t * 2
library.register_autograd("test::twice", lambda ctx, g: g * 2)
assert twice(v.clone().requires_grad_()).tolist() == [2, 4]
twice.register_fake(lambda t: kept.empty_like(t))
library.opcheck(twice, (v,))
kept._check(True)
""",
    "printing": """
assert repr(x) == "tensor([[1., 2.],\\n        [3., 4.]])" and "nan" in repr(x / 0 * 0) and repr(x.to_sparse())
repr(kept.ones(2000)), repr(x.bool()), repr(kept.ones(2, dtype=tl.complex64)), f"{v[0]:.2f}", repr(tl.nn.Linear(2, 2))
kept.set_printoptions(precision=3)
""",
    "quasirandom": """
from tensorlike import quasirandom
quasirandom.SobolEngine(2, scramble=True, seed=0).draw(3)
""",
    "others": """
from tensorlike import hub, jit, multiprocessing, compiler, futures, backends, random, version
assert kept.compile(lambda t: t + 1)(v).tolist() == [2, 3] and jit.script(lambda t: t)(v) is v
with random.fork_rng():
    kept.manual_seed(1)
tl.functional.split(x, 1)
tl._C._nn.gelu(v), kept.sym_max(1, 2)
tl.FloatTensor([1.0]), tl.Tensor([1.0]), tl.FloatStorage(2)
v.share_memory_(), v.numpy(), kept.from_numpy(v.numpy()), kept.as_tensor(v.numpy())
v[kept.tensor([True, False])], x[:, 0], v.tolist(), float(v[0]), list(x), v.unique(), x.inverse(), x.svd()
x.topk(1), x.std()
import numpy
numpy.add(v, v), numpy.asarray(v)
""",
}

#: The layers of `nn`, which call `nn.functional` as they find it.
LAYERS = """
layers = [tl.nn.Linear(2, 2), tl.nn.ReLU(), tl.nn.BatchNorm1d(2), tl.nn.LayerNorm(2), tl.nn.Dropout(), tl.nn.Softmax(1),
          tl.nn.GELU(), tl.nn.PReLU()]
for layer in layers:
    layer(x)
tl.nn.Conv1d(2, 2, 1)(x), tl.nn.MaxPool1d(1)(x), tl.nn.Embedding(3, 2)(kept.tensor([1])), tl.nn.LSTM(2, 2)(x)
tl.nn.GRU(2, 2)(x)
tl.nn.RNNCell(2, 2)(x), tl.nn.MultiheadAttention(2, 1)(x, x, x), tl.nn.TransformerEncoderLayer(2, 1, 4)(x)
tl.nn.CrossEntropyLoss()(x, kept.tensor([0, 1])), tl.nn.MSELoss()(x, x), tl.nn.BCELoss()(x / 10, x / 10)
tl.nn.Transformer(2, 1, 1, 1, 4)(x, x), tl.nn.Upsample(scale_factor=2)(x[None]), tl.nn.LazyLinear(3)(x)
tl.nn.AdaptiveLogSoftmaxWithLoss(2, 4, [2])(x, kept.tensor([0, 3]))
tl.nn.Sequential(tl.nn.Linear(2, 2), tl.nn.SiLU())(x)
"""


@pytest.mark.parametrize("name", USES)
def test_modules_that_are_loaded_later_do_without_them(name):
    code("FUNCTIONAL = True\n" + REPLACE + USES[name])


def test_layers_do_without_those_beside_nn_functional():
    code("FUNCTIONAL = False\n" + REPLACE + LAYERS)


def test_dask_does_without_them():
    pytest.importorskip("dask")
    code("FUNCTIONAL = True\n" + REPLACE + """
from tensorlike.dask import from_tensor
c = from_tensor(x, chunks=1)
assert kept.add(c, c).compute().tolist() == [[2, 4], [6, 8]]
kept.sum(c).compute(), kept.mm(c, c).compute(), kept.cat([c, c]).compute(), c[0].compute()
kept.reshape(c, (4,)).compute()
F.relu(c).compute(), kept.linalg.norm(c).compute()
""")


def test_layers_call_what_stands_in_nn_functional():
    code("""
import tensorlike as tl
called = []
former = tl.nn.functional.linear
def linear(*args):
    called.append(1)
    return former(*args)
tl.nn.functional.linear = linear
tl.nn.Linear(2, 2)(tl.ones(2))
assert called == [1]
""")


PACKAGE = Path(tensorlike.__file__).parent

NAMESPACES = PACKAGE / "as_torch" / "namespaces"
#: Where the modules `tensorlike.NAME` stand.
FOLDERS = (PACKAGE, NAMESPACES)

#: Files that read the public namespace because it is the public one, with the reason.
READERS = {
    "_originals.py": "for type checkers",
    "__main__.py": "show_config() is what it prints",
    "as_torch/namespaces/_utils.py": "pickles name `torch` in it",
    "as_torch": "serves the public names",
    "audit/api.py": "the version and the folder",
    "audit/making.py": "`tl` in the user's expressions",
    "audit/outputs.py": "the version",
    "utils/benchmark/utils/timer.py": "`torch` in the user's statements",
}


def _reads_of_the_package(path: Path) -> list[str]:
    """Return the places of a file that import the package by its name, or functions from it."""
    found = []
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found += [f"{path}:{node.lineno}: import {a.name}" for a in node.names if a.name == "tensorlike"]
            layers = "nn/modules" in path.as_posix()
            found += [
                f"{path}:{node.lineno}: import {a.name}" for a in node.names
                if a.name == "tensorlike.nn.functional" and not layers
            ]  # fmt: skip
        elif isinstance(node, ast.ImportFrom) and (node.module, node.level) == ("tensorlike", 0):
            found += [
                f"{path}:{node.lineno}: from tensorlike import {a.name}" for a in node.names
                if a.name[:1] != "_" and not any(
                    (folder / f"{a.name}{end}").exists() for folder in FOLDERS for end in (".py", "/__init__.py")
                )
            ]  # fmt: skip
    return found


def test_no_module_reads_functions_from_the_public_namespace():
    found = []
    for path in sorted(PACKAGE.rglob("*.py")):
        inner = path.relative_to(PACKAGE).as_posix()
        rows = [known for known in READERS if inner == known or inner.startswith(f"{known}/")]
        if not rows or (rows == ["as_torch"] and path.is_relative_to(NAMESPACES)):
            found += _reads_of_the_package(path)
    assert found == []


def test_the_check_finds_them(tmp_path):
    file = tmp_path / "module.py"
    file.write_text("import tensorlike as tl\nfrom tensorlike import cat, nn\ndef f():\n    import tensorlike\n")
    assert [line.rpartition(": ")[2] for line in _reads_of_the_package(file)] == [
        "import tensorlike", "from tensorlike import cat", "import tensorlike",
    ]  # fmt: skip
