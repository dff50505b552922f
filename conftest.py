"""What the examples in docstrings find: `tl` is tensorlike, as each page of the documentation says once."""

import importlib.util

import pytest

import tensorlike as tl

#: Packages of ours that an extra installs what they import for: without it there are no examples to collect.
collect_ignore = [] if importlib.util.find_spec("dask") else ["tensorlike/dask", "tests/dask"]


@pytest.fixture(autouse=True)
def names_of_examples(doctest_namespace: dict[str, object]) -> None:
    doctest_namespace["tl"] = tl
