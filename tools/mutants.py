"""Make a plausible error in a line of the library, and see whether the tests of that part fail.

    python tools/mutants.py [NAME...] [--jobs N] [--list]

Each mutant is tried in a copy of the tree, by the tests beside it. One that survives is an error that nobody would hear
of: it needs a test, or it is no error, and then it is no mutant. The exit status is 1 when one survives, and when a
line of the table is no longer in its file.
"""

from __future__ import annotations

import argparse
import os
import queue
import shutil
import subprocess
import sys
import tempfile
import threading
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[1]
#: More than the slowest tests take: who takes longer does not end, which is a failure.
SECONDS = 600

ENGINE = "tests/autograd/test_gradient_ownership.py tests/autograd/test_engine.py tests/autograd/test_autograd.py"
GRAPH = f"{ENGINE} tests/autograd/test_function.py tests/autograd/test_graph.py"
VIEWS = "tests/autograd/test_inplace_views.py tests/autograd/test_autograd.py"
DISPATCH = " ".join(
    f"tests/dispatch/test_{name}.py" for name in ("dispatch_corners", "dispatch", "dispatch_modes", "plain_sets")
)
AUDIT = " ".join(f"tests/audit/test_audit_{name}.py" for name in ("writes", "kinds", "metadata"))
WRITTEN = "tests/audit/test_audit_written.py"


class Mutant(NamedTuple):
    name: str
    file: str
    #: What is replaced: it occurs once.
    original: str
    mutated: str
    tests: str
    #: Whether the line runs in pure Python alone.
    pure: bool = False


CORE = "tensorlike/dispatch/core.py"
MODES = "tensorlike/dispatch/modes.py"
LOOP = "tensorlike/autograd/engine.py"
NODE = "tensorlike/autograd/node.py"
TENSOR_VIEWS = "tensorlike/tensor/memory/views.py"
RECORDING = "tensorlike/tensor/declarations/recording.py"
JUDGING = "tensorlike/audit/judging.py"
C_LOOP = "tensorlike/_native/engine.c"
C_RECORD = "tensorlike/_native/record.c"
C_GENERAL = "tensorlike/_native/general.c"
GENERAL = "tests/native/test_general.py"

MUTANTS = (
    # calls in C
    Mutant("too-many-arguments", C_GENERAL, "else if (count > self->most) {", "else if (false) {", GENERAL),
    Mutant("calls-under-a-mode", C_GENERAL, " && PySet_GET_SIZE(provided.plain) > 0;", ";", GENERAL),
    Mutant("drawn-twice", C_GENERAL, "return entered && data->random ?", "return false ?", GENERAL),
    Mutant("written-while-expanded", C_GENERAL, "if (PyArray_STRIDE(array, i) == 0 &&", "if (false &&", GENERAL),
    Mutant("read-while-written", C_GENERAL, "as_tensor(values[i])->counter == counter", "false", GENERAL),
    # dispatch
    Mutant("subclasses-last", CORE, "if issubclass(kind, other)), len(types))", "if False), len(types))", DISPATCH),
    Mutant(
        "plan-of-a-late-handler",
        CORE,
        "cacheable = cacheable and kind in PLAIN_TYPES",
        "cacheable = cacheable",
        DISPATCH,
    ),
    Mutant(
        "stale-plan",
        CORE,
        "if plan is not None and _is_current(plan) else",
        "if plan is not None else",
        f"{DISPATCH} tests/dispatch/test_dispatch_default.py",
    ),
    Mutant("guard-and-modes", CORE, "    if state.modes and not state.all_disabled:", "    if state.modes:", DISPATCH),
    Mutant(
        "left-internal-mode",
        CORE,
        "if a.mode._internal and not a.over)",
        "if a.mode._internal)",
        f"{DISPATCH} tests/autograd/test_graph.py",
    ),
    Mutant("refused-comparison", CORE, "operands == (second, first)", "operands == (first, second)", DISPATCH),
    Mutant("refused-by-nobody", CORE, "        return bool(types)\n", "        return True\n", DISPATCH),
    Mutant(
        "guard-keeps-subclasses",
        MODES,
        "but(subclasses_disabled=True, all_disabled=True)",
        "but(all_disabled=True)",
        DISPATCH,
    ),
    Mutant(
        "finished-modes",
        MODES,
        "for activation in STATE.get().modes if not activation.over)",
        "for activation in STATE.get().modes)",
        DISPATCH,
    ),
    # the engine in Python
    Mutant("not-owned", LOOP, "    if key in owned:", "    if True:", ENGINE, pure=True),
    Mutant(
        "dtype-on-the-way",
        LOOP,
        "!= following._tl_shape or data.dtype is not following._tl_dtype:",
        "!= following._tl_shape:",
        ENGINE,
        pure=True,
    ),
    Mutant("grad-touches-leaves", LOOP, "leaf = run.accumulate and node in wanted", "leaf = node in wanted", ENGINE),
    Mutant(
        "narrowed-when-recording", LOOP, "run.partial = None if create_graph else set()", "run.partial = set()", ENGINE
    ),
    Mutant("no-hook-without-gradient", LOOP, "            node.apply_nothing()\n", "            pass\n", GRAPH),
    Mutant(
        "stolen",
        NODE,
        "variable._tl_data.strides and _stealable(grad):",
        "variable._tl_data.strides:",
        ENGINE,
        pure=True,
    ),
    Mutant("gradient-version", NODE, "before._tl_counter[0] += 1", "before._tl_counter[0] += 0", GRAPH, pure=True),
    Mutant("recorded-gradient-shared", NODE, "= _recorded_copy(grad, variable)", "= grad", ENGINE),
    Mutant("retained-gradient-shared", "tensorlike/autograd/engine_hooks.py", "= value.clone()", "= value", ENGINE),
    # the engine in C
    Mutant("c-not-owned", C_LOOP, "bool owned = found->owned;", "bool owned = true;", ENGINE),
    Mutant(
        "c-stolen-array", C_LOOP, "Py_REFCNT(grad) == 1 && Py_REFCNT(array) == 1 &&", "Py_REFCNT(grad) == 1 &&", ENGINE
    ),
    Mutant(
        "c-stolen-tensor",
        C_LOOP,
        "Py_REFCNT(grad) == 1 && Py_REFCNT(array) == 1 &&",
        "Py_REFCNT(array) == 1 &&",
        ENGINE,
    ),
    Mutant(
        "c-stolen-view",
        C_LOOP,
        "Py_REFCNT(array) == 1 && PyArray_BASE(array) == NULL) {",
        "Py_REFCNT(array) == 1) {",
        ENGINE,
    ),
    Mutant("c-gradient-version", C_LOOP, "return bump(sum) < 0 ? -1 : 1;", "return 1;", GRAPH),
    Mutant(
        "c-table-gap",
        C_LOOP,
        "(place < home && home <= next)",
        "(place <= home && home <= next)",
        f"{ENGINE} tests/native/test_engine.py",
    ),
    Mutant("c-layout", C_LOOP, "if (is_same_layout(array, like) && Py_REFCNT", "if (Py_REFCNT", ENGINE),
    # recording
    Mutant("c-stale-view", C_RECORD, "&& now == then;", "&& now >= then;", VIEWS),
    Mutant(
        "c-half",
        C_RECORD,
        "return kind == 'f' || kind == 'c' || kind == 'V';",
        "return kind == 'f' || kind == 'c';",
        f"{ENGINE} tests/tensor/test_promotion.py tests/native/test_record.py",
    ),
    Mutant("c-saves-all", C_RECORD, "if (!(saved->needed_by & with_edges)) {", "if (false) {", GRAPH),
    Mutant("saves-all", RECORDING, "            if needed_by & with_edges:", "            if True:", GRAPH, pure=True),
    Mutant(
        "saves-the-only-one", RECORDING, "[None if tracked == [i] else save(t) for", "[save(t) for", GRAPH, pure=True
    ),
    Mutant("frees-numbers", RECORDING, "if number_kept and not isinstance(", "if not isinstance(", GRAPH, pure=True),
    # views
    Mutant(
        "no-overlap",
        TENSOR_VIEWS,
        "        if stride < reach:\n            return True",
        "        if stride < reach:\n            return False",
        VIEWS,
    ),
    Mutant("before-the-base", TENSOR_VIEWS, "before = max(-geometry.offset, 0)", "before = 0", VIEWS),
    Mutant(
        "view-of-view-refuses",
        TENSOR_VIEWS,
        "        refuses = of_source.view_refuses\n",
        "        pass\n",
        VIEWS,
        pure=True,
    ),
    Mutant("view-version", TENSOR_VIEWS, "    tensor._tl_view_version = tensor._tl_counter[0]\n", "", VIEWS),
    Mutant("expanded-once", TENSOR_VIEWS, "whole / whole.dtype.type(math.prod(repeats))", "whole", VIEWS),
    Mutant("slices-read", TENSOR_VIEWS, "    base[...] = array\n    window", "    window", VIEWS),
    Mutant(
        "overlap-of-one",
        TENSOR_VIEWS,
        "if any(s == 0 and n > 1 for s, n in zip(array.strides",
        "if any(s == 0 for s, n in zip(array.strides",
        VIEWS,
    ),
    # the audit
    Mutant(
        "audit-shared-operand",
        "tensorlike/audit/run.py",
        "dense = copied(maker.dense(instance), api)",
        "dense = maker.dense(instance)",
        AUDIT,
    ),
    Mutant(
        "audit-again",
        JUDGING,
        "if found and values and difference(expected, attempt.again().result, self.api):",
        "if found and values:",
        AUDIT,
    ),
    Mutant(
        "audit-unwritten",
        JUDGING,
        "attempt.call.deterministic or self._is_unwritten(attempt, key, expected)",
        "attempt.call.deterministic",
        AUDIT,
    ),
    Mutant("audit-itself", JUDGING, "if expected is operand or not self._overlaps", "if not self._overlaps", AUDIT),
    Mutant("audit-attributes", JUDGING, 'if is_source and attempt.place[0] != "out":', "if True:", AUDIT),
    Mutant(
        "audit-memory",
        JUDGING,
        "            if row.value is not ValueCheck.DIFFERS:\n                self._compare_memory",
        "            if row.value is ValueCheck.DIFFERS:\n                self._compare_memory",
        AUDIT,
    ),
    Mutant(
        "written-first-try",
        "tensorlike/audit/written.py",
        "or best.outcome not in UNSETTLED or",
        "or",
        WRITTEN,
    ),
    Mutant(
        "written-truth",
        "tensorlike/audit/written.py",
        'written.attribute == "__bool__" and not _has_truth(auditor.kind)',
        'written.attribute == "__bool__" and False',
        WRITTEN,
    ),
)


def mutated(mutant: Mutant, root: Path = ROOT) -> str:
    """Return the text of the file with the error in it; raise LookupError where the line is not there once."""
    path = root / mutant.file
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    found = text.count(mutant.original)
    if found != 1:
        raise LookupError(
            f"{mutant.name}: {mutant.file} has {mutant.original.strip()!r} {found} times, not once: bring the table in "
            "tools/mutants.py up to date"
        )
    return text.replace(mutant.original, mutant.mutated)


def copy_of_the_tree(place: Path) -> None:
    """Copy what is tracked or would be, and the native core that was built."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT, capture_output=True, text=True, check=True,
    )  # fmt: skip
    names = [name for name in listed.stdout.split("\0") if name]
    names += [path.relative_to(ROOT).as_posix() for path in (ROOT / "tensorlike" / "_native").glob("core.*.so")]
    for name in names:
        if (ROOT / name).is_file():
            (place / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, place / name)


def build(place: Path) -> None:
    command = [sys.executable, "setup.py", "-q", "build_ext", "--inplace"]
    done = subprocess.run(command, cwd=place, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"the native core was not built:\n{done.stderr[-2000:]}")


def tests_pass(place: Path, tests: str, pure: bool) -> bool:
    """Run tests in a copy of the tree until one fails; return whether none does."""
    environment = {**os.environ, "PYTHONPATH": str(place), "TENSORLIKE_PURE": "1" if pure else "0"}
    environment["PYTHONDONTWRITEBYTECODE"] = "1"
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *tests.split()]
    try:
        done = subprocess.run(
            command, cwd=place, env=environment, capture_output=True, text=True, timeout=SECONDS, check=False
        )
    except subprocess.TimeoutExpired:
        return False
    if done.returncode in (3, 4, 5):  # pytest's own errors, a file that is not there, nothing collected
        raise RuntimeError(f"{tests}: no tests were run\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    return done.returncode == 0


class Copies:
    """A copy of the tree for each worker."""

    def __init__(self, folder: Path, count: int) -> None:
        self.free: queue.Queue[Path] = queue.Queue()
        for number in range(count):
            copy_of_the_tree(folder / str(number))
            self.free.put(folder / str(number))
        self.whole: dict[tuple[str, bool], bool] = {}
        self.lock = threading.Lock()

    def survives(self, mutant: Mutant) -> bool:
        """Return whether the tests pass with the error; raise RuntimeError where they fail without it."""
        place = self.free.get()
        path = place / mutant.file
        original = path.read_text(encoding="utf-8")
        in_c = path.suffix in (".c", ".h")
        try:
            path.write_text(mutated(mutant, place), encoding="utf-8")
            if in_c:
                build(place)
            passed = tests_pass(place, mutant.tests, mutant.pure)
        finally:
            path.write_text(original, encoding="utf-8")
            if in_c:
                build(place)
        try:
            if not passed and not self._passes_without(place, mutant):
                raise RuntimeError(f"the tests fail without the error, too: {mutant.tests}")
        finally:
            self.free.put(place)
        return passed

    def _passes_without(self, place: Path, mutant: Mutant) -> bool:
        key = (mutant.tests, mutant.pure)
        with self.lock:
            if key not in self.whole:
                self.whole[key] = tests_pass(place, *key)
            return self.whole[key]


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", metavar="NAME", help="mutants to try; all of them without a name")
    parser.add_argument("--jobs", type=int, default=1, metavar="N", help="how many are tried at once")
    parser.add_argument("--list", action="store_true", help="print the table and try none")
    options = parser.parse_args(arguments)
    unknown = set(options.names) - {mutant.name for mutant in MUTANTS}
    if unknown:
        parser.error(f"there is no mutant {', '.join(sorted(unknown))}; --list prints them")
    chosen = [mutant for mutant in MUTANTS if not options.names or mutant.name in options.names]
    gone = 0
    for mutant in chosen:
        try:
            mutated(mutant)
        except LookupError as error:
            gone += 1
            print(error, file=sys.stderr)
        else:
            if options.list:
                print(f"{mutant.name:<28}{mutant.file}: {mutant.mutated.strip() or 'nothing'}")
    if gone or options.list:
        return int(gone > 0)
    survivors = errors = 0
    with tempfile.TemporaryDirectory() as folder:
        copies = Copies(Path(folder), min(options.jobs, len(chosen)))
        with ThreadPoolExecutor(options.jobs) as pool:
            running = {pool.submit(copies.survives, mutant): mutant for mutant in chosen}
            for done in as_completed(running):
                name = running[done].name
                try:
                    survived = done.result()
                except RuntimeError as error:
                    errors += 1
                    print(f"{name:<28}not tried: {error}", flush=True)
                    continue
                survivors += survived
                print(f"{name:<28}{'SURVIVED' if survived else 'killed'}", flush=True)
    print(f"{len(chosen)} mutants, {survivors} survived, {errors} not tried")
    return int(survivors > 0 or errors > 0)


if __name__ == "__main__":
    sys.exit(main())
