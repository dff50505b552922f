"""Installing tensorlike as torch, and undoing it; each in a process of its own."""

from __future__ import annotations

import pytest

from tests.as_torch.processes import code


def test_modules_are_the_same_objects():
    code("""
        import sys
        import tensorlike as tl
        names = {name: (module.__name__, module.__spec__) for name, module in sys.modules.items()
                 if name.startswith("tensorlike")}
        with tl.install_as_torch():
            import torch
            import torch.nn.functional as F
            from torch import nn
            from torch.optim.lr_scheduler import StepLR
            import torch.utils.data
            assert torch.nn is tl.nn is nn is sys.modules["torch.nn"]
            assert F is tl.nn.functional
            assert torch.Tensor is tl.Tensor and torch.add is tl.add and torch.float32 is tl.float32
            assert torch.linalg.inv is tl.linalg.inv
            assert StepLR is tl.optim.lr_scheduler.StepLR
            assert torch.utils.data is tl.utils.data
            assert torch.__name__ == "torch" and torch.__package__ == "torch"
            assert set(dir(tl)) <= set(dir(torch))
        assert not [name for name in sys.modules if name.partition(".")[0] == "torch"]
        # Neither names nor specs of the library's own modules have changed.
        for name, (said, spec) in names.items():
            if name in sys.modules:
                assert sys.modules[name].__name__ == said and sys.modules[name].__spec__ is spec, name
        assert tl.nn.__spec__.name == "tensorlike.nn"
    """)


def test_versions():
    code("""
        import importlib.metadata
        import tensorlike as tl
        ours = tl.__version__
        with tl.install_as_torch():
            import torch
            from torch.torch_version import TorchVersion
            assert torch.__version__ == "2.13.0+tensorlike" and isinstance(torch.__version__, TorchVersion)
            assert torch.__version__ >= (2, 13) and torch.__version__ > "2.9.1"
            assert tl.__version__ == ours != torch.__version__
            assert torch.version.__version__ == torch.__version__ and torch.version.cuda is None
            assert importlib.metadata.version("torch") == "2.13.0+tensorlike"
            assert importlib.metadata.distribution("Torch").metadata["Name"] == "torch"
            assert "torch" in importlib.metadata.packages_distributions()["torch"]
        assert tl.__version__ == ours
    """)


def test_what_is_set_on_one_name_is_set_on_the_other():
    code("""
        import tensorlike as tl
        add = tl.add
        with tl.install_as_torch():
            import torch
            torch.add = 1
            assert tl.add == 1
            tl.add = add
            assert torch.add is add
            tl.something = 2
            assert torch.something == 2
            del torch.something
            assert not hasattr(tl, "something")
            torch.nn.Thing = 3
            assert tl.nn.Thing == 3
            version = torch.__version__
            torch.__version__ = "1"
            assert tl.__version__ != "1"
            torch.__version__ = version
        kept = torch
        tl.another = 4
        kept.third = 5
        assert not hasattr(kept, "another") and not hasattr(tl, "third")
        with tl.install_as_torch():
            import torch
            assert torch is kept and torch.another == 4
    """)


def test_installing_twice_changes_the_options_alone():
    code("""
        import sys
        import tensorlike as tl
        outer = tl.install_as_torch()
        import torch
        path = list(sys.meta_path)
        with tl.install_as_torch(missing="placeholder"):
            assert sys.meta_path == path
            from torch import AliasDb
        try:
            from torch import AliasDb
        except ImportError:
            pass
        else:
            raise AssertionError
        assert sys.modules["torch"] is torch
        tl.uninstall_as_torch()
        tl.uninstall_as_torch()
        assert "torch" not in sys.modules and not any(f in sys.meta_path for f in path if type(f).__name__ == "_Finder")
    """)


def test_everything_is_as_before_afterwards():
    code("""
        import os, sys
        import tensorlike as tl
        from tensorlike import nn
        before = dict(os.environ), list(sys.meta_path), list(sys.path), str(tl.float32), nn.Linear.__module__
        with tl.install_as_torch():
            import torch
            assert nn.Linear.__module__ == "torch.nn.modules.linear"
            assert str(tl.float32) == "torch.float32"
            import torch.distributions  # Loaded while installed.
            assert torch.distributions.Normal.__module__ == "torch.distributions.normal"
        assert tl.distributions.Normal.__module__ == "tensorlike.distributions.normal"
        assert before == (dict(os.environ), list(sys.meta_path), list(sys.path), str(tl.float32), nn.Linear.__module__)
        assert type(tl) is type(os)
        sys.modules["torch"] = None  # As a test does that wants it absent.
        with tl.install_as_torch():
            import torch
        assert sys.modules["torch"] is None
    """)


def test_an_error_inside_uninstalls():
    code("""
        import sys
        import tensorlike as tl
        try:
            with tl.install_as_torch():
                import torch
                raise KeyboardInterrupt
        except KeyboardInterrupt:
            pass
        assert "torch" not in sys.modules
    """)


@pytest.mark.parametrize("missing", ["'nothing'", "None", "0"])
def test_an_unknown_option_is_refused(missing):
    printed = code(f"import tensorlike as tl; tl.install_as_torch(missing={missing})", status=1)
    assert "ValueError: install_as_torch(): missing must be 'raise' or 'placeholder', not" in printed


def test_it_is_refused_after_another_torch():
    printed = code(
        """
        import sys, types
        sys.modules["torch"] = types.ModuleType("torch")
        import tensorlike as tl
        try:
            tl.install_as_torch()
        finally:
            # Nothing of it stays.
            assert type(sys.modules["torch"]) is types.ModuleType
            assert not any(type(f).__name__ == "_Finder" for f in sys.meta_path)
            assert repr(tl.float32) == "tensorlike.float32" and type(tl) is types.ModuleType
        """,
        status=1,
    )
    assert "RuntimeError: install_as_torch(): PyTorch is imported already" in printed


def test_it_is_refused_while_another_thread_imports_another_torch(tmp_path):
    (tmp_path / "torch.py").write_text("import time\ntime.sleep(0.5)\n")
    printed = code(
        """
        import sys, threading, time
        import tensorlike as tl
        sys.path.insert(0, sys.argv[1])
        thread = threading.Thread(target=__import__, args=("torch",))
        thread.start()
        while "torch" not in sys.modules:
            time.sleep(0.01)
        try:
            tl.install_as_torch()
        except RuntimeError as error:
            print(error)
        thread.join()
        assert sys.modules["torch"].__file__ == sys.argv[1] + "/torch.py"
        """,
        tmp_path,
    )
    assert "is imported already" in printed


def test_many_threads_install_and_import():
    code("""
        import threading
        import tensorlike as tl
        found = []
        def run():
            tl.install_as_torch()
            import torch.nn.functional
            from torch.distributions import Normal
            found.append((torch, torch.nn.functional, Normal))
        threads = [threading.Thread(target=run) for _ in range(16)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert len(found) == 16 and len(set(found)) == 1
    """)


def test_what_a_package_inspects():
    code("""
        import importlib, importlib.util, inspect, os, pkgutil, sys
        import tensorlike as tl
        tl.install_as_torch()
        assert importlib.util.find_spec("torch") is not None
        import torch
        assert os.path.isfile(torch.__file__) and os.path.isdir(torch.__path__[0])
        assert os.path.isdir(os.path.join(os.path.dirname(torch.__file__), "include"))
        assert torch.__spec__.name == "torch" and torch.__spec__.submodule_search_locations
        assert importlib.util.find_spec("torch.nn") is not None
        assert importlib.util.find_spec("torch").loader.get_source("torch") == inspect.getsource(tl)
        import importlib.resources
        assert importlib.resources.files("torch").joinpath("py.typed").is_file()
        assert importlib.util.find_spec("torch.export") is None and importlib.util.find_spec("torch.nope") is None
        assert "nn" in {found.name for found in pkgutil.iter_modules(torch.__path__)}
        assert inspect.getsource(torch.nn.Linear) and inspect.getmodule(torch.nn.Linear) is torch.nn.modules.linear
        assert importlib.reload(torch) is torch
        assert importlib.reload(torch.nn.init) is torch.nn.init
        assert torch.autograd.gradcheck.__module__ == "torch.autograd.gradcheck"
        assert sys.modules["torch.autograd.gradcheck"].gradcheck is torch.autograd.gradcheck
    """)


def test_names_that_libraries_import():
    code("""
        import tensorlike as tl
        tl.install_as_torch()
        import torch
        from torch._jit_internal import _copy_to_script_wrapper
        from torch._subclasses.fake_tensor import is_fake
        from torch._utils import _flatten_dense_tensors, _unflatten_dense_tensors
        from torch.fx.experimental.proxy_tensor import get_proxy_mode
        from torch.serialization import FILE_LIKE, MAP_LOCATION
        from torch.utils.data._utils.collate import np_str_obj_array_pattern

        assert torch.backends.flags_frozen() is False
        assert torch.torch is torch and not hasattr(tl, "torch")
        assert _copy_to_script_wrapper(len) is len and not is_fake(torch.ones(1)) and get_proxy_mode() is None
        parts = torch.ones(2, 3), torch.zeros(1)
        flat = _flatten_dense_tensors(parts)
        assert flat.tolist() == 6 * [1] + [0]
        assert all(map(torch.equal, _unflatten_dense_tensors(flat, parts), parts))
    """)
