"""Work that may leave its process spoiled, or hanging: it goes on in a child, and after a find in a fresh one."""

from __future__ import annotations

import ctypes
import json
import os
import select
import signal
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

__all__ = ["Report", "in_children", "one_child"]

#: Tells the parent of one thing: a dict that goes through JSON.
Report = Callable[[dict[str, Any]], None]


def one_child(work: Callable[[Report], None], patience: float) -> Iterator[dict[str, Any]]:
    """Run `work(report)` in a forked child and yield what it reports.

    The last report is `{"end": status}`, where the status is "done", "hang" for a child that reported nothing for
    `patience` seconds, "signal N" or "error", with the text of the error.
    """
    reading, writing = os.pipe()
    pid = os.fork()
    if not pid:
        status = 0
        try:
            os.close(reading)
            if sys.platform == "linux":
                # A child that hangs must not outlive a parent that was stopped: PR_SET_PDEATHSIG.
                ctypes.CDLL(None).prctl(1, signal.SIGKILL)
            # Ends of the child that are no errors, such as os._exit of what is tested, are told apart by the mark.
            work(lambda value: _write(writing, value))
            _write(writing, {"done": True})
        except BaseException as error:
            import traceback

            _write(writing, {"error": "".join(traceback.format_exception(error)[-3:])})
            status = 1
        finally:
            os._exit(status)
    os.close(writing)
    buffer = b""
    ended = ""
    deadline = time.monotonic() + patience
    try:
        while True:
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([reading], [], [], left)[0]:
                os.kill(pid, signal.SIGKILL)
                ended = "hang"
                break
            data = os.read(reading, 65536)
            if not data:
                break
            deadline = time.monotonic() + patience
            *lines, buffer = (buffer + data).split(b"\n")
            for line in lines:
                value = json.loads(line)
                if "done" in value:
                    ended = "done"
                elif "error" in value:
                    ended = f"error: {value['error']}"
                else:
                    yield value
    finally:
        os.close(reading)
        if not ended:
            # A caller that stops asking, or a child that ended without a word.
            time.sleep(0.01)
        _, status = os.waitpid(pid, 0)
    if not ended:
        ended = f"signal {os.WTERMSIG(status)}" if os.WIFSIGNALED(status) else f"exit status {status >> 8}"
    yield {"end": ended}


def _write(descriptor: int, value: dict[str, Any]) -> None:
    data = json.dumps(value).encode() + b"\n"
    while data:
        data = data[os.write(descriptor, data) :]


def in_children(
    work: Callable[[int, Report], None], patience: float = 20.0, limit: int = 1 << 60
) -> Iterator[dict[str, Any]]:
    """Run `work(start, report)` for start = 0, and again in a fresh child from where the last one stopped.

    Work reports `{"at": n}` before each point n, goes on until there is none left, and returns early where its process
    is spoiled. A report that has `last` ends it all.
    """
    start = 0
    while start < limit:
        at, last = start - 1, False
        for value in one_child(lambda report, start=start: work(start, report), patience):  # type: ignore[misc]
            if "at" in value:
                at = value["at"]
            if "end" in value:
                if value["end"] != "done":
                    yield {"at": at, "died": value["end"]}
                continue
            last = last or "last" in value
            yield value
        if last or at < start:
            return
        start = at + 1
