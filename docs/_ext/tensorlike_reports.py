"""The reports that pages of the site show: an audit and a trace of examples, made when the site is built.

A page embeds one with an `<iframe>`, which a git host leaves out.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib.util
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

from sphinx.application import Sphinx

import tensorlike as tl
from tensorlike.audit import cli

ROOT = Path(__file__).resolve().parents[2]
EXAMPLES = ROOT / "examples"


def _example(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    # Dataclasses look their module up.
    sys.modules[path.stem] = module
    spec.loader.exec_module(module)
    return module


def write_audit(path: Path) -> None:
    """Write the page of the audit of a small type that leaves much out."""
    parser = argparse.ArgumentParser()
    cli.add_arguments(parser)
    target = f"{EXAMPLES / 'scalar_tensor.py'}:ScalarTensor"
    report, _, _ = cli.audited(parser.parse_args([target, "--make", "ScalarTensor(2, 2.0)"]))
    report.target = "examples/scalar_tensor.py:ScalarTensor"
    from tensorlike.audit.html import to_html

    path.write_text(to_html(report), encoding="utf-8")


def write_trace(path: Path) -> None:
    """Write the page of a trace of calls that types answer, hand on and refuse."""
    units = _example(EXAMPLES / "gallery" / "unit_tensor.py")
    distance, time = units.quantity([100.0, 200.0], "m"), units.quantity([9.58, 19.19], "s")
    with tl.overrides.trace() as log:
        speed = distance / time
        speed.mean()
        tl.stack([speed, speed]).amax(0)
        with contextlib.suppress(units.UnitError):
            distance + time
    path.write_text(log.to_html(), encoding="utf-8")


REPORTS = {"audit.html": write_audit, "trace.html": write_trace}


def write(folder: Path) -> None:
    """Write all reports into a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, written in REPORTS.items():
        written(folder / name)


def write_for_site(app: Sphinx, exception: Exception | None) -> None:
    """Write the reports beside the pages."""
    if exception is None and app.builder.format == "html":
        write(Path(app.outdir) / "_static" / "reports")


def setup(app: Sphinx) -> dict[str, Any]:
    """Connect it to the build."""
    app.connect("build-finished", write_for_site)
    return {"version": "1", "parallel_read_safe": True, "parallel_write_safe": True}
