"""Whether the parity tests have their oracle, and the one they were written against."""

import pytest


def test_oracle_is_the_version_the_parity_tests_know() -> None:
    reason = "the parity tests need PyTorch: pip install torch==2.13.0"
    torch = pytest.importorskip("torch", reason=reason, exc_type=ImportError)
    assert torch.__version__.split("+")[0] == "2.13.0"
