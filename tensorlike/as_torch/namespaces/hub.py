"""Downloads: files of weights, kept in a folder of the user's.

Source: PyTorch's `torch.hub`. Programs that a repository publishes are not fetched: install them as packages.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import sys
import tempfile
import zipfile
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlparse
from urllib.request import Request, urlopen

from tensorlike._above import explain_absent_names
from tensorlike._originals import tl

if TYPE_CHECKING:
    from tensorlike.serialization import MAP_LOCATION

__all__ = ["download_url_to_file", "get_dir", "load_state_dict_from_url", "set_dir"]

explain_absent_names(__name__)

#: Where the name of a file has the start of the SHA-256 of its content, such as `resnet18-5c106cde.pth`.
HASH_REGEX: Final = re.compile(r"-([a-f0-9]*)\.")
READ_DATA_CHUNK: Final = 128 * 1024

_chosen_directory: str | None = None


def get_dir() -> str:
    """Return the folder for downloads: `$TORCH_HOME/hub`, where TORCH_HOME is `~/.cache/torch` unless it is set.

    Shared with PyTorch, so that what one has downloaded serves the other.
    """
    if _chosen_directory is not None:
        return _chosen_directory
    cache = os.getenv("XDG_CACHE_HOME", "~/.cache")
    return os.path.join(os.path.expanduser(os.getenv("TORCH_HOME", os.path.join(cache, "torch"))), "hub")


def set_dir(d: str | os.PathLike[str]) -> None:
    """Choose the folder for downloads."""
    global _chosen_directory
    _chosen_directory = os.path.expanduser(os.fspath(d))


def download_url_to_file(url: str, dst: str, hash_prefix: str | None = None, progress: bool = True) -> None:
    """Write what is at `url` to the file `dst`, which is whole or absent at any time.

    - `hash_prefix`: how the SHA-256 of the content starts, in hexadecimal digits; RuntimeError where it does not.
    - `progress`: say on the standard error stream how much has come.
    """
    target = os.path.expanduser(dst)
    digest = hashlib.sha256()
    # In the same folder, so that the finished file takes its place in one step.
    handle, temporary = tempfile.mkstemp(suffix=".partial", dir=os.path.dirname(target) or ".")
    try:
        with urlopen(Request(url, headers={"User-Agent": "torch.hub"})) as source, open(handle, "wb") as file:
            total, done = source.headers.get("Content-Length"), 0
            while chunk := source.read(READ_DATA_CHUNK):
                file.write(chunk)
                digest.update(chunk)
                done += len(chunk)
                if progress:
                    sys.stderr.write(f"\r{done} of {total or '?'} bytes")
            if progress:
                sys.stderr.write("\n")
        if hash_prefix is not None and not digest.hexdigest().startswith(hash_prefix):
            raise RuntimeError(f'invalid hash value (expected "{hash_prefix}", got "{digest.hexdigest()}")')
        mask = os.umask(0)
        os.umask(mask)
        os.chmod(temporary, 0o666 & ~mask)  # As an ordinary new file, where a temporary one is its owner's alone.
        shutil.move(temporary, target)
    finally:
        with suppress(OSError):
            os.close(handle)
        with suppress(FileNotFoundError):
            os.remove(temporary)


def load_state_dict_from_url(
    url: str,
    model_dir: str | None = None,
    map_location: MAP_LOCATION = None,
    progress: bool = True,
    check_hash: bool = False,
    file_name: str | None = None,
    weights_only: bool = False,
) -> dict[str, Any]:
    """Download a file of weights, unless it is in `model_dir` from an earlier time, and load it.

    - `model_dir`: the folder `checkpoints` in that of `get_dir`, unless given.
    - `map_location`, `weights_only`: as for `load`. Set `weights_only` for files of others: a pickle runs code.
    - `check_hash`: compare with the start of the SHA-256 that the file's name has: `resnet18-5c106cde.pth`.
    - `file_name`: the file's name in the folder, that of the URL unless given.
    """
    folder = os.path.join(get_dir(), "checkpoints") if model_dir is None else model_dir
    os.makedirs(folder, exist_ok=True)
    name = os.path.basename(urlparse(url).path) if file_name is None else file_name
    path = os.path.join(folder, name)
    if not os.path.exists(path):
        sys.stdout.write(f'Downloading: "{url}" to {path}\n')
        found = HASH_REGEX.search(name) if check_hash else None
        download_url_to_file(url, path, found[1] if found is not None else None, progress)
    if zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as archive:
            members = archive.infolist()
            # A file from before PyTorch 1.6 in an archive of its own.
            if len(members) == 1 and not members[0].is_dir():
                with archive.open(members[0]) as member, tempfile.TemporaryFile() as plain:
                    shutil.copyfileobj(member, plain)
                    plain.seek(0)
                    old: dict[str, Any] = tl.load(plain, map_location=map_location, weights_only=weights_only)
                    return old
    loaded: dict[str, Any] = tl.load(path, map_location=map_location, weights_only=weights_only)
    return loaded
