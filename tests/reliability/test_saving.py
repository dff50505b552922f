"""A save that is killed, fails or meets a reader leaves the old file whole or the new one."""

from __future__ import annotations

import io
import json
import os
import signal
import stat
import subprocess
import sys
import tempfile
import threading
import zipfile
from pathlib import Path

import numpy as np
import pytest

import tensorlike as tl
from tensorlike.serialization import saving

posix = pytest.mark.skipif(os.name != "posix", reason="permissions, links and pipes are POSIX's")


@pytest.fixture
def path(tmp_path):
    """The path of a file that was saved before, alone in its directory."""
    found = tmp_path / "saved.pt"
    tl.save(["old"], found)
    return found


def left(path):
    """Return what is in the directory beside a file."""
    return sorted(name for name in os.listdir(path.parent) if name != path.name)


def run(program, *arguments, **options):
    environment = {**os.environ, "PYTHONPATH": str(Path(tl.__file__).parents[1])}
    return subprocess.run(
        [sys.executable, "-c", program, *map(str, arguments)],
        env=environment, capture_output=True, text=True, timeout=120, **options,
    )  # fmt: skip


@posix
def test_killed_saves_and_simultaneous_loads_lose_no_file(tmp_path, long_form):
    kills = 2000 if long_form else 40
    program = Path(__file__).with_name("kill_saves.py")
    command = [sys.executable, program, "tensorlike", f"--kills={kills}", f"--loads={kills * 5}", "--folder", tmp_path]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60 + kills, check=False)
    assert done.returncode == 0, done.stderr
    counts = json.loads(done.stdout)
    assert counts["kills"] == kills
    assert counts["loads"] == kills * 5
    # Kills that never hit a save would prove nothing.
    assert counts["landed"] >= kills // 8
    assert counts["lost"] == counts["failed"] == 0


class Unpicklable:
    def __init__(self, error):
        self.error = error

    def __reduce__(self):
        raise self.error


class Stop(BaseException):
    pass


@pytest.mark.parametrize("error", [TypeError("no pickle"), KeyboardInterrupt(), SystemExit(3), Stop()])
def test_what_cannot_be_pickled_leaves_the_file(path, error):
    with pytest.raises(type(error)):
        tl.save([tl.ones(3), Unpicklable(error)], path)
    assert tl.load(path) == ["old"]
    assert left(path) == []
    with pytest.raises(type(error)):
        tl.save(Unpicklable(error), path.with_name("new.pt"))
    assert left(path) == []


def failing(monkeypatch, place, error, after):
    """Make the function at `place` raise at its call number `after`; return the numbers of its calls."""
    owner, name = place
    original = getattr(owner, name)
    calls = []

    def fail(*args, **kwargs):
        calls.append(name)
        if len(calls) == after:
            raise error
        return original(*args, **kwargs)

    monkeypatch.setattr(owner, name, fail)
    return calls


@pytest.mark.parametrize("existing", [True, False])
@pytest.mark.parametrize("error", [OSError(5, "Input/output error"), KeyboardInterrupt(), MemoryError(), Stop()])
@pytest.mark.parametrize(
    "place, after",
    [
        *(((saving, "_write_member"), n) for n in range(1, 6)),
        ((saving, "_to_disk"), 1),
        ((os, "fsync"), 1),
        ((os, "replace"), 1),
        ((saving, "_write_archive"), 1),
    ],
)
def test_an_error_at_any_step_leaves_the_file(path, place, after, error, existing, monkeypatch):
    target = path if existing else path.with_name("new.pt")
    calls = failing(monkeypatch, place, error, after)
    with pytest.raises(type(error)):
        tl.save([tl.ones(3)], target)
    monkeypatch.undo()
    assert len(calls) == after
    assert tl.load(path) == ["old"]
    assert left(path) == []


def test_the_disk_need_not_say_when_it_has_written(path, monkeypatch):
    calls = failing(monkeypatch, (os, "fsync"), OSError(22, "Invalid argument"), 1)
    tl.save(["new"], path)
    monkeypatch.undo()
    assert calls
    assert tl.load(path) == ["new"]


@posix
def test_a_full_disk_leaves_the_file(path):
    # The limit on the size of files stands in for the disk; the signal that comes with it is ignored.
    program = """
import resource, signal, sys
import tensorlike as tl
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
try:
    tl.save([tl.ones(1_000_000)], sys.argv[1])
except OSError as error:
    print("raised", error.errno)
"""
    done = run(program, path)
    assert (done.stdout, done.stderr) == ("raised 27\n", "")
    assert tl.load(path) == ["old"]
    assert left(path) == []


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no device that is always full")
def test_a_full_device_raises():
    done = run("import tensorlike as tl\ntry: tl.save([1], '/dev/full')\nexcept OSError as error: print(error.errno)")
    assert (done.stdout, done.stderr) == ("28\n", "")


@posix
def test_a_signal_leaves_the_file(path):
    program = """
import signal, sys, threading
import tensorlike as tl
x = tl.ones(20_000_000)
signal.signal(signal.SIGALRM, signal.default_int_handler)
signal.setitimer(signal.ITIMER_REAL, 0.01)
try:
    while True:
        tl.save([x], sys.argv[1])
except KeyboardInterrupt:
    print("interrupted")
"""
    done = run(program, path)
    assert (done.stdout, done.stderr) == ("interrupted\n", "")
    found = tl.load(path)
    assert found == ["old"] or bool((found[0] == 1).all())
    assert left(path) == []


@posix
@pytest.mark.parametrize("mask", [0o022, 0o077, 0o002])
def test_a_new_file_has_the_permissions_of_open(tmp_path, mask):
    program = """
import os, sys
import tensorlike as tl
os.umask(int(sys.argv[2]))
with open(os.path.join(sys.argv[1], "opened"), "wb"): pass
tl.save([1], os.path.join(sys.argv[1], "saved"))
assert os.umask(0) == int(sys.argv[2])
"""
    done = run(program, tmp_path, mask)
    assert (done.returncode, done.stderr) == (0, "")
    modes = [stat.S_IMODE((tmp_path / name).stat().st_mode) for name in ("opened", "saved")]
    assert modes == [0o666 & ~mask] * 2


@posix
@pytest.mark.parametrize("mode", [0o600, 0o640, 0o666, 0o755])
def test_a_file_keeps_its_permissions(path, mode, monkeypatch):
    path.chmod(mode)
    before = path.stat()
    seen = []
    write = saving._write_archive

    def look(file, *rest):
        seen.append(stat.S_IMODE(os.fstat(file.fileno()).st_mode))
        write(file, *rest)

    monkeypatch.setattr(saving, "_write_archive", look)
    tl.save(["new"], path)
    after = path.stat()
    # The permissions are there before the first byte is.
    assert seen == [mode]
    assert stat.S_IMODE(after.st_mode) == mode
    assert (after.st_uid, after.st_gid) == (before.st_uid, before.st_gid)
    assert after.st_ino != before.st_ino
    assert tl.load(path) == ["new"]


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only the superuser gives files away")
def test_a_file_keeps_its_owner(path):
    os.chown(path, 1234, 2345)
    path.chmod(0o4640)
    tl.save(["new"], path)
    after = path.stat()
    assert (after.st_uid, after.st_gid, stat.S_IMODE(after.st_mode)) == (1234, 2345, 0o640)


@pytest.mark.skipif(not hasattr(os, "setxattr"), reason="there are no extended attributes on this system")
def test_a_file_keeps_its_extended_attributes(path):
    try:
        os.setxattr(path, "user.origin", b"a run")
    except OSError:
        pytest.skip("the file system has no extended attributes")
    tl.save(["new"], path)
    assert os.getxattr(path, "user.origin") == b"a run"


@posix
def test_symbolic_links_stay(path):
    folder = path.parent / "folder"
    folder.mkdir()
    (folder / "first").symlink_to("second")
    (folder / "second").symlink_to("../saved.pt")
    tl.save(["new"], folder / "first")
    assert os.readlink(folder / "first") == "second"
    assert os.readlink(folder / "second") == "../saved.pt"
    assert not path.is_symlink()
    assert tl.load(path) == ["new"]
    assert sorted(os.listdir(folder)) == ["first", "second"]
    # The target of a link need not exist, nor need links lead anywhere.
    (folder / "dangling").symlink_to("made.pt")
    tl.save(["made"], folder / "dangling")
    assert (folder / "dangling").is_symlink()
    assert tl.load(folder / "made.pt") == ["made"]
    (folder / "loop").symlink_to("loop")
    with pytest.raises(OSError, match="loop"):
        tl.save(1, folder / "loop")


@posix
def test_links_of_directories_are_followed_before_dots(tmp_path):
    (tmp_path / "far" / "deep").mkdir(parents=True)
    (tmp_path / "link").symlink_to(tmp_path / "far" / "deep")
    tl.save(["here"], f"{tmp_path}/link/../saved.pt")
    assert tl.load(tmp_path / "far" / "saved.pt") == ["here"]


@posix
def test_other_hard_links_keep_the_old_file(path):
    other = path.with_name("other.pt")
    os.link(path, other)
    tl.save(["new"], path)
    assert tl.load(path) == ["new"]
    assert tl.load(other) == ["old"]


def test_a_reader_that_has_the_file_open_keeps_it(path):
    with open(path, "rb") as file:
        tl.save(["new"], path)
        assert tl.load(file) == ["old"]


@posix
def test_pipes_and_devices_are_written_in_place(tmp_path):
    tl.save([1], "/dev/null")
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    read = []
    reader = threading.Thread(target=lambda: read.append(pipe.read_bytes()))
    reader.start()
    tl.save([tl.arange(3)], pipe)
    reader.join()
    assert tl.load(io.BytesIO(read[0]))[0].tolist() == [0, 1, 2]
    assert os.listdir(tmp_path) == ["pipe"]


@pytest.mark.skipif(not os.path.exists("/dev/stdout"), reason="there is no path of the standard output")
def test_the_standard_output(tmp_path):
    target = tmp_path / "stdout.pt"
    program = "import tensorlike as tl; tl.save([1, 2], '/dev/stdout')"
    environment = {**os.environ, "PYTHONPATH": str(Path(tl.__file__).parents[1])}
    with open(target, "w+b") as file:
        file.write(b"longer than what is saved" * 1000)
        file.seek(0)
        before = os.fstat(file.fileno()).st_ino
        subprocess.run([sys.executable, "-c", program], env=environment, stdout=file, check=True, timeout=120)
    assert target.stat().st_ino == before
    assert tl.load(target) == [1, 2]
    piped = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, timeout=120)
    assert tl.load(io.BytesIO(piped.stdout)) == [1, 2]


def refusing(monkeypatch, function, error):
    """Make the system refuse a call on the temporary file."""
    original = getattr(os, function)

    def refuse(path, *args, **kwargs):
        if ".tensorlike-" in os.fspath(path):
            raise error
        return original(path, *args, **kwargs)

    monkeypatch.setattr(os, function, refuse)


@posix
@pytest.mark.parametrize(
    "function, error",
    [
        ("open", PermissionError(13, "Permission denied")),
        ("open", OSError(30, "Read-only file system")),
        ("replace", OSError(16, "Device or resource busy")),
        ("replace", PermissionError(1, "Operation not permitted")),
    ],
)
def test_what_cannot_be_replaced_is_written_in_place(path, function, error, monkeypatch):
    path.write_bytes(path.read_bytes() + bytes(10_000))
    before = path.stat().st_ino
    refusing(monkeypatch, function, error)
    tl.save([tl.arange(3)], path)
    monkeypatch.undo()
    assert path.stat().st_ino == before
    assert path.stat().st_size < 5000
    assert tl.load(path)[0].tolist() == [0, 1, 2]
    assert left(path) == []


@posix
@pytest.mark.parametrize("function", ["open", "replace"])
def test_a_full_directory_leaves_the_file(path, function, monkeypatch):
    refusing(monkeypatch, function, OSError(28, "No space left on device"))
    with pytest.raises(OSError, match="No space") as caught:
        tl.save(["new"], path)
    monkeypatch.undo()
    assert ".tensorlike-" not in str(caught.value)
    assert tl.load(path) == ["old"]
    assert left(path) == []


@posix
def test_permissions_are_those_of_open():
    program = """
import os, sys
import tensorlike as tl
folder = sys.argv[1]
file = os.path.join(folder, "saved.pt")
tl.load(file)  # imports what is needed
if os.geteuid() == 0:
    # Permissions bind users only.
    for name in (folder, file):
        os.chown(name, 65534, 65534)
    os.seteuid(65534)
os.chmod(folder, 0o555)
before = os.stat(file).st_ino
tl.save(["in place"], file)
assert tl.load(file) == ["in place"] and os.stat(file).st_ino == before
try:
    tl.save(1, os.path.join(folder, "new.pt"))
except PermissionError as error:
    print(error)
os.chmod(folder, 0o755)
os.chmod(file, 0o222)
tl.save(["cannot be read"], file)
assert os.stat(file).st_ino != before and os.stat(file).st_mode & 0o777 == 0o222
os.chmod(file, 0o444)
before = os.stat(file).st_ino
try:
    tl.save(["new"], file)
except PermissionError as error:
    print(error)
assert os.stat(file).st_ino == before
print(os.listdir(folder))
"""
    with tempfile.TemporaryDirectory() as folder:
        tl.save(["old"], os.path.join(folder, "saved.pt"))
        done = run(program, folder)
        refused = "[Errno 13] Permission denied: '{}/{}'\n".format
        assert done.stderr == ""
        assert done.stdout == refused(folder, "new.pt") + refused(folder, "saved.pt") + "['saved.pt']\n"


def test_errors_are_those_of_open(tmp_path):
    (tmp_path / "file").write_text("text")
    for wrong in ("", "none/saved.pt", ".", "file/saved.pt", "new/", "a\0b", "n" * 300):
        target = f"{tmp_path}/{wrong}" if wrong else ""
        with pytest.raises((OSError, ValueError)) as ours:
            tl.save(1, target)
        with pytest.raises((OSError, ValueError)) as expected:
            open(target, "wb").close()
        assert type(ours.value) is type(expected.value), wrong
        assert str(ours.value) == str(expected.value)
    assert os.listdir(tmp_path) == ["file"]


def test_paths_of_all_kinds(tmp_path, monkeypatch):
    class Path8:
        def __fspath__(self):
            return os.fsencode(tmp_path / "bytes.pt")

    tl.save(["bytes"], Path8())
    assert tl.load(tmp_path / "bytes.pt") == ["bytes"]
    monkeypatch.chdir(tmp_path)
    tl.save(["relative"], "relative.pt")
    tl.save(["é"], "é" * 100)
    assert sorted(os.listdir(tmp_path)) == sorted(["bytes.pt", "relative.pt", "é" * 100])


def offsets(data):
    """Return where the bytes of each member of an archive start."""
    found = {}
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        assert archive.testzip() is None
        for member in archive.infolist():
            start = member.header_offset
            name, extra = (int.from_bytes(data[start + i : start + i + 2], "little") for i in (26, 28))
            found[member.filename] = start + 30 + name + extra
    return found


class Unseekable:
    def __init__(self):
        self.data = b""

    def write(self, data):
        self.data += bytes(data)
        return len(data)

    def flush(self):
        pass


@pytest.mark.parametrize("limit", [zipfile.ZIP64_LIMIT, 100])
@pytest.mark.parametrize("kind", [io.BytesIO, Unseekable])
def test_storages_are_aligned(limit, kind, monkeypatch):
    # With a low limit, members are written as those of more than 2 GiB are.
    monkeypatch.setattr(zipfile, "ZIP64_LIMIT", limit)
    value = {"empty": tl.zeros(0), "one": tl.ones(1), "many": tl.arange(1000), "bytes": tl.zeros(77, dtype=tl.uint8)}
    file = kind()
    tl.save(value, file)
    data = file.getvalue() if kind is io.BytesIO else file.data
    found = offsets(data)
    assert [name for name in found if "/data/" in name] == [f"archive/data/{n}" for n in range(4)]
    assert {start % 64 for start in found.values()} == {0}
    again = tl.load(io.BytesIO(data))
    assert all(tl.equal(again[name], value[name]) for name in value)


def test_pytorch_reads_the_archive(tmp_path):
    torch = pytest.importorskip("torch")
    tl.save([tl.ones(3), tl.arange(5)], tmp_path / "saved.pt")
    reader = torch._C.PyTorchFileReader(str(tmp_path / "saved.pt"))
    storages = [name for name in reader.get_all_records() if name.startswith("data/")]
    assert len(storages) == 2
    assert {reader.get_record_offset(name) % 64 for name in storages} == {0}
    assert np.frombuffer(reader.get_record("data/1"), np.int64).tolist() == [0, 1, 2, 3, 4]


def test_large_tensors_are_copied_in_pieces(tmp_path):
    import tracemalloc

    x = tl.ones(10_000_000)
    tracemalloc.start()
    try:
        tl.save([x], tmp_path / "saved.pt")
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert (tmp_path / "saved.pt").stat().st_size > 40_000_000
    assert peak < 3 * saving._PIECE


def test_a_tensor_that_changes_meanwhile_gives_a_readable_file(tmp_path):
    x = tl.zeros(4_000_000)
    ended = threading.Event()

    def change():
        while not ended.is_set():
            x.add_(1)

    thread = threading.Thread(target=change)
    thread.start()
    try:
        for _ in range(5):
            tl.save(x, tmp_path / "saved.pt")
            with zipfile.ZipFile(tmp_path / "saved.pt") as archive:
                assert archive.testzip() is None
    finally:
        ended.set()
        thread.join()


def test_a_temporary_file_is_not_the_target(path):
    # What a killed process left is neither read nor in the way.
    leftover = path.with_name(".tensorlike-0123456789abcdef.tmp")
    leftover.write_bytes(b"part of a file")
    tl.save(["new"], path)
    assert tl.load(path) == ["new"]
    assert leftover.read_bytes() == b"part of a file"


@posix
def test_a_directory_may_refuse_to_be_opened(path, monkeypatch):
    original, folder = os.open, os.fspath(path.parent)

    def refuse(name, *args, **kwargs):
        if name == folder:
            raise PermissionError(13, "Permission denied")
        return original(name, *args, **kwargs)

    monkeypatch.setattr(os, "open", refuse)
    tl.save(["new"], path)
    monkeypatch.undo()
    assert tl.load(path) == ["new"]


@posix
def test_a_terminated_process_leaves_the_file(path):
    # SIGTERM ends a process as SIGKILL does, unless Python handles it.
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL
    program = """
import sys
import tensorlike as tl
x = tl.ones(1_000_000)
print(1, flush=True)
while True:
    tl.save(x, sys.argv[1])
"""
    environment = {**os.environ, "PYTHONPATH": str(Path(tl.__file__).parents[1])}
    with subprocess.Popen([sys.executable, "-c", program, str(path)], env=environment, stdout=subprocess.PIPE) as child:
        assert child.stdout.readline() == b"1\n"
        child.terminate()
    found = tl.load(path)
    assert found == ["old"] or bool((found == 1).all())
