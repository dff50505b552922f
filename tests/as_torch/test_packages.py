"""Packages written for PyTorch, installed from the index without it, doing their work on this library.

Left out unless asked for, since the packages are downloaded: a stage of .ci/run runs them.
"""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from tests.as_torch.processes import code

pytestmark = pytest.mark.skipif(
    os.environ.get("TENSORLIKE_TEST_PACKAGES") != "1", reason="downloads packages: set TENSORLIKE_TEST_PACKAGES=1"
)

#: With what they need besides PyTorch, which is left out, and what the tests' environment has.
PACKAGES = (
    "einops", "geoopt", "gpytorch", "jaxtyping", "linear_operator", "monai", "mpmath", "torchdiffeq", "torchinfo",
    "wadler_lindig",
)  # fmt: skip


@pytest.fixture(scope="module")
def packages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("packages")
    install = [sys.executable, "-m", "pip", "install", "-q", "--no-deps", "--no-compile", "--target", str(folder)]
    done = subprocess.run([*install, *PACKAGES], capture_output=True, text=True, timeout=150)
    assert done.returncode == 0, done.stderr
    # The tests would run on PyTorch.
    assert not (folder / "torch").exists()
    return folder


def program(packages: Path, text: str) -> None:
    """Run a program in a process that has the packages; warnings of theirs are theirs to mend."""
    start = (
        f"import sys; sys.path.append({str(packages)!r}); import tensorlike as tl; tl.install_as_torch(); import torch"
    )
    code(start + "\n" + textwrap.dedent(text), PYTHONWARNINGS="ignore")


def test_a_step_on_a_manifold(packages):
    program(
        packages,
        """
        import geoopt

        # The direction of the largest stretch of a symmetric matrix, on the sphere.
        torch.manual_seed(0)
        a = torch.diag(torch.tensor([1.0, 2.0, 5.0], dtype=torch.float64))
        sphere = geoopt.Sphere()
        start = torch.tensor([0.6, 0.0, 0.8], dtype=torch.float64)
        x = geoopt.ManifoldParameter(start.clone(), manifold=sphere)
        optimizer = geoopt.optim.RiemannianSGD([x], lr=0.05)
        (-x @ a @ x).backward()
        euclidean = -2 * a @ start
        tangent = euclidean - (euclidean @ start) * start
        assert torch.allclose(sphere.egrad2rgrad(start, x.grad), tangent)
        optimizer.step()
        moved = start - 0.05 * tangent
        assert torch.allclose(x.detach(), moved / moved.norm())
        for _ in range(200):
            optimizer.zero_grad()
            (-x @ a @ x).backward()
            optimizer.step()
        assert torch.allclose(x.detach().abs(), torch.tensor([0.0, 0.0, 1.0], dtype=torch.float64), atol=1e-4)

        # The distance of the hyperbolic plane, from its definition.
        ball = geoopt.PoincareBall()
        u, v = torch.tensor([0.1, 0.2]).double(), torch.tensor([-0.3, 0.4]).double()
        ratio = 2 * (u - v).square().sum() / ((1 - u.square().sum()) * (1 - v.square().sum()))
        assert torch.allclose(ball.dist(u, v), torch.acosh(1 + ratio))
    """,
    )


def test_a_regression_by_gaussian_processes(packages):
    program(
        packages,
        """
        import gpytorch

        class Model(gpytorch.models.ExactGP):
            def __init__(self, x, y, likelihood):
                super().__init__(x, y, likelihood)
                self.mean_module = gpytorch.means.ZeroMean()
                self.covar_module = gpytorch.kernels.ScaleKernel(gpytorch.kernels.RBFKernel())

            def forward(self, x):
                return gpytorch.distributions.MultivariateNormal(self.mean_module(x), self.covar_module(x))

        torch.set_default_dtype(torch.float64)
        torch.manual_seed(0)
        x, new = torch.linspace(0, 1, 40), torch.tensor([0.33, 0.77])
        y = torch.sin(6 * x) + 0.05 * torch.randn(40)
        likelihood = gpytorch.likelihoods.GaussianLikelihood()
        model = Model(x, y, likelihood)
        objective = gpytorch.mlls.ExactMarginalLogLikelihood(likelihood, model)
        optimizer = torch.optim.Adam(model.parameters(), lr=0.1)
        losses = []
        for _ in range(25):
            optimizer.zero_grad()
            loss = -objective(model(x), y)
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        assert losses[-1] < losses[0] - 0.5

        def kernel(a, b):
            scale = model.covar_module.outputscale
            length = model.covar_module.base_kernel.lengthscale.squeeze()
            return scale * torch.exp(-0.5 * ((a[:, None] - b) / length).square())

        model.eval()
        expected = kernel(new, x) @ torch.linalg.solve(kernel(x, x) + likelihood.noise * torch.eye(40), y)
        # By a Cholesky decomposition, and by conjugate gradients.
        for largest in (800, 1):
            model.train()
            model.eval()
            with gpytorch.settings.max_cholesky_size(largest), gpytorch.settings.cg_tolerance(1e-8), torch.no_grad():
                assert torch.allclose(model(new).mean, expected, atol=1e-5), largest
    """,
    )


def test_an_operator_that_is_not_evaluated(packages):
    program(
        packages,
        """
        import linear_operator
        from linear_operator.operators import DenseLinearOperator, DiagLinearOperator, KroneckerProductLinearOperator

        torch.manual_seed(0)
        root, diagonal = torch.randn(6, 6).double(), torch.rand(6).double() + 1
        dense = root @ root.mT
        total = DenseLinearOperator(dense) + DiagLinearOperator(diagonal)
        right = torch.randn(6).double()
        matrix = dense + torch.diag(diagonal)
        found = torch.linalg.solve(total, right.unsqueeze(-1)).squeeze()
        assert torch.allclose(found, torch.linalg.solve(matrix, right))
        assert torch.allclose(total.logdet(), torch.logdet(matrix))
        product = KroneckerProductLinearOperator(DenseLinearOperator(dense), DiagLinearOperator(diagonal))
        assert torch.allclose(torch.matmul(product, torch.ones(36).double()),
                              torch.kron(dense, torch.diag(diagonal)) @ torch.ones(36).double())
    """,
    )


def test_gradients_through_an_equation(packages):
    program(
        packages,
        """
        from torchdiffeq import odeint, odeint_adjoint

        class Decay(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.rate = torch.nn.Parameter(torch.tensor(0.7, dtype=torch.float64))

            def forward(self, t, y):
                return -self.rate * y

        times = torch.tensor([0.0, 0.5, 2.0], dtype=torch.float64)
        for solve in (odeint, odeint_adjoint):
            for method in ("dopri5", "rk4"):
                decay = Decay()
                start = torch.tensor([3.0], dtype=torch.float64, requires_grad=True)
                options = {} if method == "dopri5" else {"options": {"step_size": 0.01}}
                y = solve(decay, start, times, method=method, rtol=1e-9, atol=1e-9, **options)
                assert torch.allclose(y[:, 0], 3 * torch.exp(-0.7 * times), atol=1e-6)
                y[-1].sum().backward()
                assert torch.allclose(decay.rate.grad, -2 * 3 * torch.exp(torch.tensor(-1.4).double()), atol=1e-5)
                assert torch.allclose(start.grad, torch.exp(torch.tensor([-1.4]).double()), atol=1e-5)
    """,
    )


def test_images_with_their_positions(packages):
    program(
        packages,
        """
        import numpy as np
        from monai.data import MetaTensor
        from monai.transforms import Compose, EnsureChannelFirst, Flip, ScaleIntensity, Spacing

        image = MetaTensor(torch.arange(24.0).reshape(4, 6), affine=torch.diag(torch.tensor([2.0, 2.0, 1.0])))
        pipeline = Compose([EnsureChannelFirst(channel_dim="no_channel"), Flip(spatial_axis=0), ScaleIntensity()])
        done = pipeline(image)
        assert type(done) is MetaTensor and done.shape == (1, 4, 6)
        expected = image.as_tensor().flip(0)[None] / 23
        assert torch.allclose(done.as_tensor(), expected)
        assert [step["class"] for step in done.applied_operations] == ["Flip"]
        assert np.allclose(done.affine[:2, :2].numpy(), [[-2, 0], [0, 2]])
        assert type(done + 1) is MetaTensor and (done + 1).affine is not None
        finer = Spacing(pixdim=(1.0, 1.0), mode="nearest")(done)
        assert type(finer) is MetaTensor and finer.shape[1] > 4
    """,
    )


def test_a_model_with_layers_of_einops_and_its_summary(packages):
    program(
        packages,
        """
        import torchinfo
        from einops import einsum, rearrange, reduce
        from einops.layers.torch import EinMix, Rearrange, Reduce

        torch.manual_seed(0)
        x = torch.randn(2, 4, 4, 3)
        assert torch.equal(rearrange(x, "b (h p) w c -> b h (p w) c", p=2), x.reshape(2, 2, 8, 3))
        assert torch.allclose(reduce(x, "b h w c -> b c", "mean"), x.mean((1, 2)))
        assert torch.allclose(einsum(x, x, "b h w c, b h w d -> b c d"), torch.einsum("bhwc,bhwd->bcd", x, x))

        model = torch.nn.Sequential(
            Rearrange("b c (h p) (w q) -> b (h w) (p q c)", p=4, q=4), torch.nn.Linear(16, 8), torch.nn.ReLU(),
            EinMix("b t c -> b t d", weight_shape="c d", bias_shape="d", c=8, d=5), Reduce("b t d -> b d", "mean"),
        )
        summary = torchinfo.summary(model, (2, 1, 8, 8), verbose=0)
        assert summary.total_params == sum(p.numel() for p in model.parameters()) == 16 * 8 + 8 + 8 * 5 + 5
        assert "Linear" in str(summary) and "[2, 4, 8]" in str(summary)

        images, labels = torch.randn(32, 1, 8, 8), torch.randint(5, (32,))
        optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
        losses = []
        for _ in range(60):
            optimizer.zero_grad()
            loss = torch.nn.functional.cross_entropy(model(images), labels)
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        assert losses[-1] < 0.7 * losses[0]
    """,
    )
