"""The listings of docs/cpp.md run in their order, in one namespace, and print what stands below them."""

import contextlib
import io

import pytest

from tests.cpp.building import require_compiler
from tests.package.test_guide import LISTING, ROOT

GUIDE = ROOT / "docs" / "cpp.md"


@pytest.mark.slow
def test_listings(monkeypatch, tmp_path):
    require_compiler()
    monkeypatch.setenv("TORCH_EXTENSIONS_DIR", str(tmp_path))
    text = GUIDE.read_text(encoding="utf-8")
    listings = list(LISTING.finditer(text))
    assert len(listings) == text.count("```python") >= 4
    namespace = {"__name__": "guide"}
    for listing in listings:
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile("\n" * text[: listing.start("code")].count("\n") + listing["code"], GUIDE, "exec"), namespace)
        if listing["printed"] is not None:
            assert printed.getvalue() == listing["printed"], listing["code"]
