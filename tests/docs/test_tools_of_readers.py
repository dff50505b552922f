"""Tools by which people read functions see a public function as they see one written in Python.

IPython and Sphinx come with the extra `docs`; `.ci/run` has a stage that runs this with them.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import tensorlike as tl


@pytest.fixture
def shell() -> Iterator[Any]:
    interactive = pytest.importorskip("IPython.core.interactiveshell", reason="IPython is not installed: extra docs")
    made = interactive.InteractiveShell(user_ns={"tl": tl})
    yield made
    made.history_manager.end_session()


class TestIPython:
    """`tl.mul?` and `tl.mul??`."""

    @pytest.mark.parametrize(
        ("name", "parameters", "line"),
        [
            ("tl.mul", "input,other", "def mul("),
            ("tl.Tensor.mul", "self,other", "def mul("),
            ("tl.linalg.svd", "A,full_matrices=True", "def svd("),
            ("tl.nn.functional.softmax", "input,dim=None", "def softmax("),
            ("tl.cat", "tensors,dim=0", "def cat("),
        ],
    )
    def test_what_it_shows(self, shell: Any, name: str, parameters: str, line: str) -> None:
        shown = shell.object_inspect(name, detail_level=1)
        assert shown["found"]
        plain = re.sub(r"[\s']", "", re.sub(r": '[^']*'", "", shown["definition"]))
        assert plain.startswith(f"{name}({parameters}".replace(" ", "")), plain
        assert line in shown["source"]
        assert Path(shown["file"]).is_relative_to(Path(tl.__file__).parent)

    def test_its_page(self, shell: Any) -> None:
        page = shell.object_inspect_text("tl.exp")
        assert "Signature" in page
        assert "exp" in page
        assert str(tl.exp.__doc__).splitlines()[0] in page


def test_sphinx_documents_functions_and_methods(tmp_path: Path) -> None:
    application = pytest.importorskip("sphinx.application", reason="Sphinx is not installed: extra docs")
    (tmp_path / "conf.py").write_text('extensions = ["sphinx.ext.autodoc"]\nproject = "test"\n')
    (tmp_path / "index.rst").write_text(
        textwrap.dedent("""
        Test
        ====

        .. autofunction:: tensorlike.mul

        .. automethod:: tensorlike.Tensor.mul

        .. autofunction:: tensorlike.linalg.svd
        """)
    )
    out = tmp_path / "out"
    warnings = tmp_path / "warnings"
    with warnings.open("w") as stream:
        app = application.Sphinx(
            str(tmp_path), str(tmp_path), str(out), str(tmp_path / "trees"), "text", status=None, warning=stream
        )
        app.build()
    text = (out / "index.txt").read_text()
    assert "tensorlike.mul(input" in text
    assert "Tensor.mul(" in text
    assert "tensorlike.linalg.svd(A" in text
    assert "Return the product of" in text
    assert "autodoc" not in warnings.read_text()
