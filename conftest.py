"""What the examples in docstrings find: `tl` is tensorlike, as each page of the documentation says once."""

import importlib
import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

import tensorlike as tl

#: What the extra `dask` installs the imports for is not collected without it; `.ci/run` has a stage that does.
_WITH_DASK = ["tensorlike/dask/*", "tests/dask/*", "tests/helpers/chunk_*"]
collect_ignore_glob = [] if importlib.util.find_spec("dask") else _WITH_DASK


#: Its modules are imported as `tensorlike.NAME`: Note [Namespaces that PyTorch has].
_NAMESPACES = Path(tl.__file__).parent / "as_torch" / "namespaces"
collect_ignore_glob += ["tensorlike/as_torch/namespaces/__init__.py"]


@pytest.hookimpl(tryfirst=True)
def pytest_collect_file(file_path: Path) -> None:
    """Import a module of that folder by its public name, lest its examples import it once more, by its path."""
    if file_path.suffix == ".py" and file_path.is_relative_to(_NAMESPACES):
        sys.modules.setdefault("tensorlike.as_torch.namespaces", ModuleType("namespaces"))  # The folder's own raises.
        parts = file_path.relative_to(_NAMESPACES).with_suffix("").parts
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        sys.modules[f"tensorlike.as_torch.namespaces.{name}"] = importlib.import_module(f"tensorlike.{name}")


@pytest.fixture(autouse=True)
def names_of_examples(doctest_namespace: dict[str, object]) -> None:
    doctest_namespace["tl"] = tl
