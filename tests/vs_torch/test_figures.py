"""Pages of the documentation show the committed results, as `tools/write_figures.py` writes them."""

from __future__ import annotations

import importlib.util
import shutil
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture
def tool(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The tool, at work on a copy of the pages."""
    shutil.copytree(ROOT / "docs" / "results", tmp_path / "docs" / "results")
    for name in ("audit-of-packages.md", "parity.md", "performance.md"):
        shutil.copy(ROOT / "docs" / name, tmp_path / "docs")
    spec = importlib.util.spec_from_file_location("write_figures", ROOT / "tools" / "write_figures.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    monkeypatch.setattr(module, "ROOT", tmp_path)
    monkeypatch.setattr(module, "RESULTS", tmp_path / "docs" / "results")
    monkeypatch.setattr(sys, "argv", ["write_figures", "--check"])
    return module


def test_a_change_of_the_results_shows(tool, capsys, monkeypatch):
    assert tool.main() == 0
    results = tool.RESULTS / "random-programs.json"
    results.write_text(results.read_text().replace('"programs": 20000', '"programs": 20001'))
    assert tool.main() == 1
    assert "docs/parity.md" in capsys.readouterr().err
    monkeypatch.setattr(sys, "argv", ["write_figures"])
    assert tool.main() == 0
    page = (tool.ROOT / "docs" / "parity.md").read_text()
    assert "20,001 programs" in page
    assert tool.written(page) == page


def test_an_unknown_name_and_a_page_without_figures_are_refused(tool, capsys):
    with pytest.raises(SystemExit, match="no figures called 'speed'"):
        tool.written("<!-- figures: speed -->\n<!-- end of figures -->")
    (tool.ROOT / "docs" / "performance.md").write_text("# Performance\n")
    assert tool.main() == 1
    assert "no page shows these figures: breadth, performance, performance again" in capsys.readouterr().err
