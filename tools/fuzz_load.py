"""Fuzz `tensorlike.load`: bytes of a file, pickles of a ZIP file, and streams of PyTorch's first format.

    python tools/fuzz_load.py pickle --runs 1000000 --corpus corpus

Needs atheris (`pip install -e ".[dev]"`). An input counts as a find if loading it

- raises anything but UnpicklingError or RuntimeError, or an error that does not name the file;
- crashes, takes longer than ten seconds, or more memory than the limit;
- runs code: imports, compiles, opens or starts something, or calls what is not allowed.

Finds are written to the current folder by libFuzzer, as `crash-...`; `--replay` loads the files of a folder.
"""

from __future__ import annotations

import argparse
import codecs
import io
import pickle
import resource
import struct
import sys
import tempfile
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
CORPUS = ROOT / "tests" / "reliability" / "corpus"

#: What the process may take beyond what it has when fuzzing begins, libFuzzer's own tables included.
MEMORY = 2**30

#: The longest input, and elements of the storages "0" to "2" that a fuzzed pickle may refer to.
LONGEST = 4096
STORAGES = (bytes(range(8)), bytes(24), b"")

#: What Python reports to audit hooks when code is run or the outside is touched.
TRIPWIRES = (
    "compile", "exec", "import", "open", "os.", "subprocess.", "socket.", "ctypes.", "code.", "shutil.", "pickle.",
    "marshal.", "function.", "mmap.", "sys.set", "sys._",
)  # fmt: skip


class Tripped(BaseException):
    """A file ran code."""


loading = False


def audit(event: str, args: Any) -> None:
    if loading and event.startswith(TRIPWIRES):
        raise Tripped(event, args)


def tripwire(*args: Any) -> None:
    """Raise Tripped: no file may call this."""
    raise Tripped("tripwire")


def zip_of(data: bytes) -> bytes:
    """Return a ZIP file of PyTorch's layout around a pickle. Written by hand: zipfile takes longer than `load`."""
    parts, directory, at = [], [], 0
    records = [("data.pkl", data), ("byteorder", sys.byteorder.encode())]
    for name, content in records + [(f"data/{key}", content) for key, content in enumerate(STORAGES)]:
        raw = f"a/{name}".encode()
        sizes = (0, len(content), len(content), len(raw), 0)
        parts += [struct.pack("<4s5H3L2H", b"PK\3\4", 20, 0, 0, 0, 0, *sizes), raw, content]
        directory += [struct.pack("<4s6H3L5H2L", b"PK\1\2", 20, 20, 0, 0, 0, 0, *sizes, 0, 0, 0, 0, at), raw]
        at += 30 + len(raw) + len(content)
    entries = b"".join(directory)
    count = len(directory) // 2
    end = struct.pack("<4s4H2LH", b"PK\5\6", 0, 0, count, count, len(entries), at, 0)
    return b"".join((*parts, entries, end))


def stream_of(data: bytes) -> bytes:
    """Return a stream of PyTorch's first format, the pickle of the object and all that follows of which are `data`."""
    return b"".join(pickle.dumps(item, 2) for item in (0x1950A86A20F9469CFC6C, 1001, {})) + data


TARGETS = {"raw": bytes, "pickle": zip_of, "legacy": stream_of}


class Named(io.BytesIO):
    """A file whose name errors must show."""

    name = "fuzzed.pt"


def check(data: bytes) -> Any:
    """Load a file and return what was loaded, or None; raise for what is a find."""
    import tensorlike as tl

    global loading
    loading = True
    try:
        found = tl.load(Named(data))
    except (pickle.UnpicklingError, RuntimeError) as error:
        if isinstance(error, (RecursionError, NotImplementedError)) or "fuzzed.pt" not in str(error):
            raise AssertionError(f"an error that is not documented: {error!r}") from error
        return None
    finally:
        loading = False
    use(found)
    return found


def use(found: Any) -> None:
    """Read all elements of all tensors that were loaded."""
    import tensorlike as tl

    seen: set[int] = set()
    todo = [found]
    while todo:
        value = todo.pop()
        if id(value) in seen:
            continue
        seen.add(id(value))
        if isinstance(value, tl.Tensor):
            todo.append(value.__dict__)
            if value.is_sparse:
                todo += [value._indices(), value._values()]
            elif value.numel() <= 10**5:
                value.detach().numpy().tobytes()
        elif isinstance(value, dict):
            todo += [*value.keys(), *value.values(), getattr(value, "__dict__", None)]
        elif isinstance(value, (list, tuple, set, frozenset)):
            todo += value


def words() -> list[bytes]:
    """Return what files hold, so that the fuzzer need not guess it."""
    from tensorlike.serialization import allowed

    names = [*allowed._GLOBALS, *allowed._DTYPE_NAMES, "tensorlike.tensor.storage.rebuild_storage", "os.system"]
    found = [f"c{name.rpartition('.')[0]}\n{name.rpartition('.')[2]}\n".encode() for name in names]
    found += [b"c__main__\ntripwire\n", b"cbuiltins\neval\n"]
    found += [b"X" + struct.pack("<L", len(text)) + text for text in (b"storage", b"0", b"1", b"2", b"cpu", b"cuda")]
    attributes = (b"_metadata", b"_tl_data", b"__array_interface__", b"__class__", b"latin1", b"unit")
    found += [b"X" + struct.pack("<L", len(text)) + text for text in attributes]
    own = b"(X\7\0\0\0storageX\1\0\0\0000K\x08tQ"
    typed = b"(X\7\0\0\0storagectorch\nFloatStorage\nX\1\0\0\0000X\3\0\0\0cpuK\2tQ"
    legacy = b"(X\7\0\0\0storagectorch\nFloatStorage\nX\1\0\0\0000X\3\0\0\0cpuK\2NtQ"
    found += [own, typed, legacy, b"ccollections\nOrderedDict\n)R"]
    found += [b"PK\3\4", b"PK\1\2", b"PK\5\6", b"PK\6\6", b"PK\6\7"]
    found += [b"\x85", b"\x86", b"\x87", b"K\0", b"K\1", b"\x89", b"\x88", b"tR", b"\x8a\x08" + b"\xff" * 7 + b"\x7f"]
    return found


def prepare() -> None:
    """Do what is done when it is first needed, and set the tripwires and the limit: from now on, it would be a find."""
    for target, form in TARGETS.items():
        for path in sorted((CORPUS / target).iterdir()):
            check(form(path.read_bytes()))
    codecs.lookup("raw-unicode-escape")
    sys.addaudithook(audit)
    taken = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (taken + MEMORY, resource.getrlimit(resource.RLIMIT_AS)[1]))


def main() -> int:
    parser = argparse.ArgumentParser(description="Fuzz tensorlike.load.")
    parser.add_argument("target", choices=TARGETS)
    parser.add_argument("--runs", type=int, default=100_000, help="how many inputs to load")
    parser.add_argument("--seconds", type=int, default=0, help="stop after this time; 0 means no limit")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--corpus", type=Path, help="a folder that keeps what reaches new code, to go on from")
    parser.add_argument("--replay", type=Path, help="load the files of a folder, and nothing else")
    options = parser.parse_args()
    wrap = TARGETS[options.target]
    if options.replay:
        import tensorlike

        prepare()
        files = sorted(path for path in options.replay.iterdir() if path.is_file())
        for path in files:
            check(wrap(path.read_bytes()))
        print(f"{len(files)} files are loaded, or refused as documented")
        return 0 if files else 1

    import atheris

    # Everything else is imported first: only the code that reads files is worth the fuzzer's attention.
    import tensorlike
    from tensorlike import serialization  # noqa: F401

    with atheris.instrument_imports(include=["tensorlike.serialization"]):
        for name in [name for name in sys.modules if name.startswith("tensorlike.serialization")]:
            del sys.modules[name]
        import tensorlike.serialization.loading

    tensorlike.load = tensorlike.serialization.loading.load
    prepare()
    with tempfile.TemporaryDirectory() as folder:
        dictionary = Path(folder, "words")
        quoted = ("".join(f"\\x{byte:02x}" for byte in word) for word in words())
        dictionary.write_text("".join(f'"{word}"\n' for word in quoted))
        grown = options.corpus or Path(folder, "grown")
        grown.mkdir(parents=True, exist_ok=True)
        atheris.Setup(
            [
                sys.argv[0], str(grown), str(CORPUS / options.target), f"-dict={dictionary}", f"-max_len={LONGEST}",
                f"-runs={options.runs}", f"-max_total_time={options.seconds}", f"-seed={options.seed}", "-timeout=10",
                "-rss_limit_mb=0", "-print_final_stats=1", "-verbosity=1",
            ],
            lambda data: check(wrap(data)),
        )  # fmt: skip
        atheris.Fuzz()
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
