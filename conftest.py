"""What the examples in docstrings find: `tl` is tensorlike, as each page of the documentation says once."""

import pytest

import tensorlike as tl


@pytest.fixture(autouse=True)
def names_of_examples(doctest_namespace: dict[str, object]) -> None:
    doctest_namespace["tl"] = tl
