"""The tutorials as notebooks run from top to bottom, and a trace is shown as a tree."""

import os
from pathlib import Path
from typing import Any

import pytest

from tools import build_notebooks

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch) -> Any:
    for module in ("jupytext", "nbclient", "ipykernel"):
        pytest.importorskip(module, reason="running notebooks needs the extra 'docs'")
    import nbclient

    path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    monkeypatch.setenv("PYTHONPATH", path)

    def run(notebook: Any) -> list[Any]:
        client = nbclient.NotebookClient(notebook, timeout=60, kernel_name="python3")
        return [cell for cell in client.execute().cells if cell.cell_type == "code"]

    return run


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # Jupyter's own
@pytest.mark.parametrize("page", build_notebooks.TUTORIALS[1:], ids=lambda page: page.stem)
def test_tutorials_run_as_notebooks(run: Any, page: Path) -> None:
    cells = run(build_notebooks.notebook(page))
    assert len(cells) == page.read_text(encoding="utf-8").count("```python")
    assert any(cell.outputs for cell in cells)
    if page.stem == "carry-metadata":
        assert [text for text in shown_as_html(cells) if "<td>5</td><th>m</th>" in text]


def shown_as_html(cells: list[Any]) -> list[str]:
    return [
        output.data["text/html"] for cell in cells for output in cell.outputs if "text/html" in output.get("data", {})
    ]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_a_trace_is_shown_as_a_tree(run: Any) -> None:
    cells = run(build_notebooks.notebook(ROOT / "docs" / "how-to" / "debug-a-dispatch.md"))
    shown = shown_as_html(cells)
    assert len(shown) == 1
    assert "<details open>" in shown[0]
