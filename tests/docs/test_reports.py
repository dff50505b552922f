"""The reports that pages of the site embed are made, and are those that the pages name."""

import re
import sys
from pathlib import Path
from typing import Any

import pytest

DOCS = Path(__file__).resolve().parents[2] / "docs"


@pytest.fixture(scope="module")
def reports() -> Any:
    pytest.importorskip("sphinx", reason="the site needs Sphinx, of the extra 'docs'")
    pytest.importorskip("jinja2", reason="reports need Jinja2, of the extra 'report'")
    sys.path.insert(0, str(DOCS / "_ext"))
    try:
        import tensorlike_reports
    finally:
        sys.path.remove(str(DOCS / "_ext"))
    return tensorlike_reports


def test_reports_are_written(reports: Any, tmp_path: Path) -> None:
    reports.write(tmp_path)
    audit, trace = ((tmp_path / name).read_text(encoding="utf-8") for name in ("audit.html", "trace.html"))
    assert "examples/scalar_tensor.py:ScalarTensor" in audit
    assert "tensorlike.mul" in audit
    assert "tensorlike.stack" in trace
    assert "UnitError" in trace
    # No path of the machine that built it.
    assert str(DOCS.parent) not in audit + trace


def test_pages_embed_them_all(reports: Any) -> None:
    found = {}
    for page in DOCS.rglob("*.md"):
        for source in re.findall(r'<iframe [^>]*src="([^"]*)"', page.read_text(encoding="utf-8")):
            found[Path(source).name] = (page.parent / source).resolve()
    assert found == {name: DOCS / "_static" / "reports" / name for name in reports.REPORTS}
