"""What the examples in docstrings find: `tl` is tensorlike, as each page of the documentation says once."""

import importlib.util

import pytest

import tensorlike as tl

#: What the extra `dask` installs the imports for is not collected without it; `.ci/run` has a stage that does.
_WITH_DASK = ["tensorlike/dask/*", "tests/dask/*", "tests/helpers/chunk_*"]
collect_ignore_glob = [] if importlib.util.find_spec("dask") else _WITH_DASK


@pytest.fixture(autouse=True)
def names_of_examples(doctest_namespace: dict[str, object]) -> None:
    doctest_namespace["tl"] = tl
