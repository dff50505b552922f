"""Print the oldest version of each dependency that pyproject.toml admits, as a file of constraints for pip.

    python tools/oldest_dependencies.py > oldest.txt && pip install -c oldest.txt -e ".[test]"

.ci/run tests with these, since pip by itself takes the newest alone.
"""

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def oldest() -> dict[str, str]:
    """Return the oldest version of each dependency, those of the extras that a test environment has included."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    found: dict[str, str] = {}
    wanted = [*project["dependencies"], *extras["test"]]
    for requirement in wanted:
        if several := re.fullmatch(r"tensorlike\[(.+)\]", requirement):
            wanted += [inner for extra in several[1].split(",") for inner in extras[extra]]
            continue
        name, version = re.fullmatch(r"([\w.-]+)>=([\d.]+)", requirement).groups()  # type: ignore[union-attr]
        found[name] = version
    return found


if __name__ == "__main__":
    for name, version in oldest().items():
        print(f"{name}=={version}")
