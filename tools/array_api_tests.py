"""Run data-apis/array-api-tests on `tensorlike.array_api`: `python tools/array_api_tests.py CHECKOUT [EXAMPLES]`.

CHECKOUT is one of that repository, with its submodule. It fails for a test that fails and is not in
tests/array_api/exceptions.txt, and for one that is there and passes, unless `~` says that it does so for some examples
alone. EXAMPLES is the number of examples of each test,
20 unless given.
"""

from __future__ import annotations

import fnmatch
import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
EXCEPTIONS = ROOT / "tests" / "array_api" / "exceptions.txt"


def expected() -> tuple[set[str], list[str]]:
    """Return the tests that fail, and patterns of those that fail for some of their examples."""
    lines = [line for line in EXCEPTIONS.read_text(encoding="utf-8").splitlines() if line and not line.startswith("#")]
    return {line for line in lines if line[0] != "~"}, [line[1:] for line in lines if line[0] == "~"]


def main(arguments: list[str]) -> int:
    """Run the tests and return the exit status."""
    if len(arguments) not in (1, 2):
        print(__doc__, file=sys.stderr)
        return 2
    command = [sys.executable, "-m", "pytest", "-q", "-rfE", "-p", "no:cacheprovider", "--disable-deadline"]
    command += ["--max-examples", arguments[1] if len(arguments) == 2 else "20", "array_api_tests"]
    path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    environment = {
        **os.environ,
        "ARRAY_API_TESTS_MODULE": "tensorlike.array_api",
        "PYTHONPATH": path,
    }
    done = subprocess.run(command, cwd=arguments[0], env=environment, capture_output=True, text=True, check=False)
    summary = done.stdout.rstrip().rpartition("\n")[2]
    failed = set(re.findall(r"^(?:FAILED|ERROR) array_api_tests/(.*?)(?: - .*)?$", done.stdout, re.MULTILINE))
    if not re.search(r"\d+ passed", summary):
        print(done.stdout[-3000:] + done.stderr[-3000:], file=sys.stderr)
        return 2
    always, sometimes = expected()
    # The name of a test may hold " - ", which begins its error elsewhere.
    unexpected = {
        name
        for name in failed
        if not any(known.startswith(name) for known in always)
        and not any(fnmatch.fnmatchcase(name, pattern) for pattern in sometimes)
    }
    passed = {known for known in always if not any(known.startswith(name) for name in failed)}
    for text, names in (("fails", unexpected), ("passes, and is in the list of exceptions", passed)):
        for name in sorted(names):
            print(f"{name} {text}")
    print(summary)
    return 1 if unexpected or passed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
