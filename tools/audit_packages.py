"""Audit the types of public packages on PyTorch, and write the totals into docs/results/packages.json.

    python tools/audit_packages.py [PACKAGE...] [--torch-python PYTHON]

PYTHON has the packages, PyTorch and tensorlike; benchmarks/package_audits/pyproject.toml says how instances are made of
types that need more than a tensor. What stands as confirmed in the results is checked by hand, and kept.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
OPTIONS = ROOT / "benchmarks" / "package_audits"
RESULTS = ROOT / "docs" / "results" / "packages.json"
#: The words of an audit that the table shows, beside `calls` and `passed`.
WORDS = ("raised", "type_lost", "wrong_value", "attribute_lost", "signature", "refused")


def audit(package: str, python: str) -> dict[str, Any]:
    """Audit a package in a process of its own and return its line of the table."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "report.json"
        command = [python, "-m", "tensorlike", "audit", "--all", package, "--api", "torch", "--json", str(file)]
        start = time.perf_counter()
        done = subprocess.run(command, cwd=OPTIONS, capture_output=True, text=True, check=False)
        seconds = time.perf_counter() - start
        if not file.exists():
            raise SystemExit(f"{package}: {done.stderr[-2000:]}")
        found = json.loads(file.read_text(encoding="utf-8"))
    totals = [report["totals"] for report in found["reports"]]
    return {
        "package": package, "version": found["version"], "torch": found["api_version"], "types": len(totals),
        "left out": len(found["types_left_out"]), "calls": sum(t["calls"] for t in totals),
        "passed": sum(t["passed"] for t in totals),
        **{word.replace("_", " "): sum(t[word] for t in totals) for word in WORDS}, "seconds": round(seconds, 1),
    }  # fmt: skip


def main() -> int:
    data = json.loads(RESULTS.read_text(encoding="utf-8"))
    known = {row["package"]: row for row in data["packages"]}
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("packages", nargs="*", default=sorted(known), metavar="PACKAGE", help="all of the table")
    parser.add_argument("--torch-python", default=sys.executable, metavar="PYTHON", help="this one")
    options = parser.parse_args()
    for package in options.packages:
        row = audit(package, options.torch_python)
        row["confirmed"] = known.get(package, {}).get("confirmed", "")
        known[package] = row
        print(json.dumps({key: value for key, value in row.items() if key != "confirmed"}), flush=True)
    data["date"] = datetime.datetime.now(tz=datetime.UTC).date().isoformat()
    data["machine"] = f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}"
    data["packages"] = [known[name] for name in sorted(known)]
    RESULTS.write_text(json.dumps(data, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
