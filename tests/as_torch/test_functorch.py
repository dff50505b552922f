"""The package functorch, which is served beside torch."""

from __future__ import annotations

from tests.as_torch.processes import code


def test_models_as_functions_and_ensembles():
    code("""
        import warnings
        warnings.simplefilter("ignore", FutureWarning)
        import tensorlike as tl
        tl.install_as_torch()
        import torch
        from functorch import combine_state_for_ensemble, grad, make_functional, make_functional_with_buffers, vmap

        torch.manual_seed(0)
        x = torch.randn(5, 2)
        model = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.BatchNorm1d(3), torch.nn.Linear(3, 1))
        f, params, buffers = make_functional_with_buffers(model)
        assert f.param_names[0] == "0.weight" and f.buffer_names == (
            "1.running_mean", "1.running_var", "1.num_batches_tracked")
        assert all(isinstance(p, torch.nn.Parameter) and p.requires_grad for p in params)
        before = [b.clone() for b in buffers]
        with torch.no_grad():
            given = [p * 0 for p in params]
        assert f(given, buffers, x).abs().sum() == 0  # What a call is given is what counts.
        assert buffers[2] == 1 and model[1].num_batches_tracked == 0
        f.eval()
        model.eval()
        assert torch.equal(f(params, before, x), model(x))

        # Gradients of each example.
        def loss(params, one):
            return f(params, before, one[None]).sum()
        each = vmap(grad(loss), (None, 0))(params, x)
        for i in range(5):
            model.zero_grad()
            model(x[i : i + 1]).sum().backward()
            for g, p in zip(each, model.parameters(), strict=True):
                assert torch.allclose(g[i], p.grad, atol=1e-6)

        models = [torch.nn.Linear(2, 2) for _ in range(3)]
        f, params, buffers = combine_state_for_ensemble(models)
        assert buffers == () and params[0].shape == (3, 2, 2) and not params[0].requires_grad
        assert torch.allclose(vmap(f, (0, 0, None))(params, buffers, x), torch.stack([m(x) for m in models]))

        class Tied(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.a = torch.nn.Linear(2, 2)
                self.b = self.a
            def forward(self, x):
                return self.b(self.a(x))
        f, params = make_functional(Tied(), disable_autograd_tracking=True)
        assert f.param_names == ("a.weight", "a.bias") and f.names_map["a.bias"] == ["a.bias", "b.bias"]
        assert not params[0].requires_grad
        assert torch.equal(f((2 * torch.eye(2), torch.zeros(2)), x), 4 * x)
    """)


def test_errors_and_warnings():
    code("""
        import warnings
        import pytest
        import tensorlike as tl
        tl.install_as_torch()
        import functorch, torch
        from functorch.experimental import replace_all_batch_norm_modules_

        assert functorch.__version__ == torch.__version__
        with pytest.warns(FutureWarning, match="functorch.vmap is deprecated: use torch.vmap instead") as caught:
            assert functorch.vmap(torch.sin)(torch.zeros(2)).tolist() == [0, 0]
        assert caught[0].filename == "<string>"
        with pytest.warns(FutureWarning, match="use torch.func.functional_call"), pytest.raises(
            RuntimeError, match="has buffers"
        ):
            functorch.make_functional(torch.nn.BatchNorm1d(2))
        for models in ([], [torch.nn.ReLU(), torch.nn.ELU()], [torch.nn.ReLU(), torch.nn.ReLU().eval()]):
            with pytest.warns(FutureWarning), pytest.raises(RuntimeError, match="^combine_state_for_ensemble: Exp"):
                functorch.combine_state_for_ensemble(models)
        with pytest.raises(ImportError, match="cannot import name 'make_fx' from 'functorch': .*Python"):
            from functorch import make_fx
        with pytest.raises(ModuleNotFoundError, match="^No module named 'functorch.compile'"):
            import functorch.compile
        tl.uninstall_as_torch()
        import sys
        assert "functorch" not in sys.modules
    """)


def test_children_have_it():
    code("""
        import subprocess, sys
        import tensorlike as tl
        tl.install_as_torch()
        program = "import functorch; print(functorch.__file__)"
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
        assert "as_torch" in done.stdout
    """)
