"""Run the commands that README.md and CONTRIBUTING.md show, in a fresh checkout and a fresh virtual environment.

    python tools/run_documented_commands.py            # in the root of a checkout without a .venv
    python tools/run_documented_commands.py --list     # what would be run

The commands of a file run in its order in one folder, as a reader types them. Those that a stage of `.ci/run` runs are
left out, and those that run all tests get a folder of tests: `ELSEWHERE` and `NARROWED` say which.
"""

from __future__ import annotations

import argparse
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PAGES = ("README.md", "CONTRIBUTING.md")

#: Commands that stages of `.ci/run` run, by how they begin or what they have, with the stage.
ELSEWHERE = {
    "examples/digits.py": "README: the main job",
    '.venv/bin/pip install -q -e ".[test]" && ': "README: the tests",
    "bash .ci/run": "commands of README and CONTRIBUTING",
    "TENSORLIKE_BUILD_SANITIZERS=": "the native core under sanitizers: set-up",
    "LD_PRELOAD=": "the native core under sanitizers",
}
#: What a command that runs all tests is given here: a few of each kind.
NARROWED = "tests/package/test_prose.py tests/dispatch/test_operation.py"
#: What stands for words in capitals.
WORDS = {"DIR": "build/notebooks"}


def commands(page: str) -> Iterator[str]:
    """Yield the commands of a page's shell listings, without their comments, with continued lines as one."""
    text = (ROOT / page).read_text(encoding="utf-8")
    for block in re.findall(r"^```sh\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
        for line in block.replace("\\\n", " ").splitlines():
            command = re.sub(r"\s{2,}#.*$", "", line).strip()
            if command and not command.startswith("#"):
                yield re.sub(r"\s+", " ", command)


def elsewhere(command: str) -> str:
    """Return the stage of `.ci/run` that runs a command, "" for one that is run here."""
    return next((stage for words, stage in ELSEWHERE.items() if words in command), "")


def as_run(command: str) -> str:
    """Return what is run for a command that a page shows."""
    for word, value in WORDS.items():
        command = re.sub(rf"\b{word}\b", value, command)
    if re.search(r"-m pytest\b", command) and "tests/" not in command:
        return f"{command} {NARROWED}"
    return command


def main(arguments: list[str] | None = None) -> int:
    """Run the command and return its exit status."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--list", action="store_true", help="print the commands and run none")
    options = parser.parse_args(arguments)
    environment = dict(os.environ)
    if not options.list:
        outer = ROOT / "build" / "shell"
        subprocess.run([sys.executable, "-m", "venv", str(outer)], check=True)
        # `python3` is that of an environment of its own, so that an install leaves no other one changed.
        environment["PATH"] = f"{outer / 'bin'}{os.pathsep}{environment['PATH']}"
    failed = 0
    for page in PAGES:
        for command in commands(page):
            stage = elsewhere(command)
            print(f"{page}: {command}" + (f"\n    (run by the stage {stage!r})" if stage else ""), flush=True)
            if options.list or stage:
                continue
            begin = time.monotonic()
            status = subprocess.run(["bash", "-c", as_run(command)], cwd=ROOT, env=environment, check=False).returncode
            failed += status != 0
            how = "ok" if status == 0 else f"FAILED with exit status {status}"
            print(f"    {how}, {time.monotonic() - begin:.0f} s", flush=True)
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
