"""Names of PyTorch's that are absent: errors with reasons, and placeholders."""

from __future__ import annotations

import pytest

import tensorlike as tl
from tensorlike.as_torch.absent import reason_of
from tests.as_torch.processes import code


def test_errors_say_why_without_an_installation_too():
    reason = reason_of("torch.export")
    assert reason is not None
    with pytest.raises(AttributeError, match="^module 'tensorlike' has no attribute 'export': tensorlike runs"):
        _ = tl.export
    with pytest.raises(AttributeError, match="^module 'tensorlike.nn' has no attribute 'quantized': .*quantized"):
        _ = tl.nn.quantized
    with pytest.raises(ImportError, match="^cannot import name 'export' from 'tensorlike': tensorlike runs the Python"):
        from tensorlike import export  # noqa: F401
    # Not PyTorch's either.
    with pytest.raises(AttributeError, match="^module 'tensorlike' has no attribute 'no_such_name'$"):
        _ = tl.no_such_name
    assert not hasattr(tl, "export")
    assert getattr(tl, "AliasDb", 3) == 3


def test_errors_while_installed():
    code("""
        import pytest
        import tensorlike as tl
        tl.install_as_torch()
        import torch
        with pytest.raises(AttributeError, match="^module 'torch' has no attribute 'AliasDb': tensorlike runs"):
            torch.AliasDb
        with pytest.raises(ModuleNotFoundError, match="^No module named 'torch.export': tensorlike runs") as caught:
            import torch.export
        assert caught.value.name == "torch.export"
        with pytest.raises(ImportError, match="^cannot import name 'AliasDb' from 'torch': tensorlike runs"):
            from torch import AliasDb
        with pytest.raises(ImportError, match="^cannot import name 'scaled_mm' from 'tensorlike.nn.functional'|'torch"):
            from torch.nn.functional import scaled_mm
        with pytest.raises(ImportError, match="^cannot import name 'nope' from 'torch'"):
            from torch import nope
        with pytest.raises(ModuleNotFoundError, match="'torch._inductor': .*underscore"):
            import torch._inductor
        with pytest.raises(ModuleNotFoundError, match="^No module named 'torch.tensor'$"):
            import torch.tensor  # A function, of which this library has a package.
        assert torch.tensor([1]).tolist() == [1]
        assert not hasattr(torch, "AliasDb") and not hasattr(torch, "export")
    """)


def test_placeholders():
    code("""
        import enum, pytest
        from abc import ABC
        from typing import Optional
        import tensorlike as tl
        tl.install_as_torch(missing="placeholder")
        import torch
        import torch.export.node
        import torch.onnx as onnx
        from torch import AliasDb
        from torch import export, package
        from torch.export import Tracer, symbolic_trace
        from torch.distributed.fsdp import FullyShardedDataParallel as FSDP
        from torch._inductor import compile_fx

        # Where no import asks, the truth.
        assert not hasattr(torch, "AliasDb") and not hasattr(torch, "package") and not hasattr(export, "Interpreter")
        assert getattr(torch, "FileCheck", None) is None
        with pytest.raises(AttributeError):
            torch.no_such_name
        with pytest.raises(ImportError):
            from torch import no_such_name

        # Classes are classes.
        assert isinstance(Tracer, type) and not isinstance(3, Tracer)
        assert not isinstance(torch.ones(1), (AliasDb, Tracer))
        assert Tracer.__module__ == "torch.export" and Tracer.__name__ == "Tracer"
        class Mine(Tracer, ABC):
            pass
        class Layer(torch.nn.Module, Tracer):
            pass
        assert issubclass(Mine, Tracer)
        def f(x: Optional[AliasDb], y: "Tracer | int", z: torch.export.Node = None) -> FSDP[int]:
            return x
        assert f(1, 2) == 1
        for use in (Tracer, Mine, Layer, AliasDb, FSDP, symbolic_trace, compile_fx, onnx.export, torch.export.wrap):
            with pytest.raises(NotImplementedError, match="is absent from tensorlike: "):
                use(3)
        # The same one each time, and of what is in it as well.
        from torch.export import Tracer as Again
        assert Again is Tracer is torch.export.Tracer is export.Tracer
        assert torch.distributed.fsdp.FullyShardedDataParallel is FSDP
        # Copies are itself.
        import copy, pickle
        assert copy.deepcopy([symbolic_trace])[0] is pickle.loads(pickle.dumps(symbolic_trace)) is symbolic_trace

        tl.install_as_torch(missing="raise")
        with pytest.raises(ImportError):
            from torch import AliasDb
        tl.uninstall_as_torch()
        assert not hasattr(tl, "export") and not hasattr(tl, "package")
    """)


def test_modules_that_code_imports_at_its_top():
    """Of them the names that are absent are placeholders in any case, and a question finds the truth."""
    code("""
        import pytest
        import tensorlike as tl
        for module, name in ((tl.fx, "Tracer"), (tl.onnx, "export")):
            with pytest.raises(AttributeError, match="tensorlike runs the Python"):
                getattr(module, name)
        tl.install_as_torch()
        import torch
        import torch._dynamo.config
        import torch._dynamo.eval_frame
        import torch.fx.graph_module
        import torch.jit
        import torch.onnx.symbolic_helper
        from torch.fx import Interpreter, Tracer, symbolic_trace
        from torch.jit import RecursiveScriptModule
        from torch.onnx import export, operators

        assert not hasattr(torch.fx, "Tracer") and not hasattr(torch.onnx, "export")
        assert not hasattr(torch._dynamo, "explain") and getattr(torch.fx, "Node", 3) == 3
        class Mine(Interpreter):
            pass
        for use in (Mine, Tracer, symbolic_trace, export, torch.onnx.export, torch._dynamo.explain, torch.fx.Graph):
            with pytest.raises(NotImplementedError, match="is absent from tensorlike: "):
                use(torch.nn.Linear(2, 2))
        for call in (lambda: torch.jit.save(Mine, "f"), lambda: torch.jit.load("f")):
            with pytest.raises(RuntimeError, match="compiled"):
                call()
        assert not isinstance(torch.nn.Linear(2, 2), (torch.fx.GraphModule, torch._dynamo.OptimizedModule))
        assert torch.onnx.is_in_onnx_export() is False
        shape = operators.shape_as_tensor(torch.ones(2, 3))
        assert shape.dtype is torch.int64 and shape.tolist() == [2, 3]
        assert operators.reshape_from_tensor_shape(torch.ones(6), shape).shape == (2, 3)

        config = torch._dynamo.config
        config.suppress_errors, config.of_another_version = True, 1
        with config.patch("recompile_limit", 64):
            assert torch._dynamo.config.recompile_limit == 64
        @config.patch({"verbose": True}, new=1)
        def limit():
            return config.verbose
        assert limit() is True and config.verbose is False and config.recompile_limit == 8
        with config.patch(new_name=1):
            assert config.new_name == 1
        assert not hasattr(config, "new_name") and config.suppress_errors is True
        def double(x):
            return 2 * x
        assert torch._dynamo.disable(double) is torch._dynamo.allow_in_graph(double) is double
        torch._dynamo.mark_dynamic(torch.ones(2), 0)
        torch._dynamo.reset()

        # Of other modules they are absent as ever, and after the installation of these.
        with pytest.raises(ImportError, match="tensorlike runs the Python"):
            import torch.export
        tl.uninstall_as_torch()
        with pytest.raises(AttributeError, match="tensorlike runs the Python"):
            tl.fx.Tracer
    """)


def test_modules_that_are_there_and_not_imported_are_not_absent():
    code("""
        import pytest
        import tensorlike as tl
        from tensorlike.as_torch.absent import STATE
        tl.install_as_torch(missing="placeholder")
        import torch
        with pytest.raises(AttributeError, match="^module 'torch.utils' has no attribute 'cpp_extension'$"):
            torch.utils.cpp_extension
        import torch.utils.cpp_extension
        assert torch.utils.cpp_extension is tl.utils.cpp_extension
        assert not STATE.gaps
    """)


def test_gaps_are_listed(tmp_path):
    from tests.as_torch.processes import python

    script = tmp_path / "script.py"
    script.write_text(
        "import torch\nfrom torch import AliasDb\nimport torch.export\nfor _ in range(3):\n    torch.FileCheck\n"
        "hasattr(torch, 'ErrorReport')\nprint('done')\n"
    )
    printed = python("-m", "tensorlike", "run", "--missing=placeholder", "--gaps", script)
    assert printed == "done\n"
    script.write_text(script.read_text() + "raise SystemExit(5)\n")
    printed = python("-m", "tensorlike", "run", "--missing", "placeholder", "--gaps", script, status=5)
    assert "3 names were asked for that tensorlike lacks:" in printed
    assert f"(first at {script}:5, 3 times)" in printed
    assert f"torch.AliasDb: {reason_of('torch.AliasDb')} (first at {script}:2" in printed
    assert "ErrorReport" not in printed
