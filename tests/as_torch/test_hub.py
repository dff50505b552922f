"""Downloads of weights; the server is a folder."""

from __future__ import annotations

import hashlib
import os
import zipfile
from pathlib import Path

import pytest

import tensorlike as tl


@pytest.fixture
def weights(tmp_path: Path) -> Path:
    path = tmp_path / "weights.pt"
    tl.save({"w": tl.arange(3)}, path)
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    return path.rename(tmp_path / f"net-{digest[:8]}.pt")


def test_weights_are_downloaded_once(weights, tmp_path, capsys, monkeypatch):
    monkeypatch.setenv("TORCH_HOME", str(tmp_path / "home"))
    assert tl.hub.get_dir() == str(tmp_path / "home" / "hub")
    for _ in range(2):
        loaded = tl.hub.load_state_dict_from_url(weights.as_uri(), check_hash=True, weights_only=True)
        assert loaded["w"].tolist() == [0, 1, 2]
        weights.unlink(missing_ok=True)
    assert os.listdir(tmp_path / "home" / "hub" / "checkpoints") == [weights.name]
    shown = capsys.readouterr()
    assert shown.out.count("Downloading") == 1
    assert "bytes" in shown.err


def test_a_download_that_fails_leaves_nothing(weights, tmp_path):
    target = tmp_path / "target"
    with pytest.raises(RuntimeError, match='invalid hash value .expected "0123"'):
        tl.hub.download_url_to_file(weights.as_uri(), str(target), "0123", progress=False)
    with pytest.raises(OSError, match="No such file"):
        tl.hub.download_url_to_file((tmp_path / "absent").as_uri(), str(target), progress=False)
    assert os.listdir(tmp_path) == [weights.name]
    tl.hub.download_url_to_file(weights.as_uri(), str(target), progress=False)
    assert target.read_bytes() == weights.read_bytes()


def test_a_file_in_an_archive_of_its_own(weights, tmp_path):
    with zipfile.ZipFile(tmp_path / "old.zip", "w") as archive:
        archive.write(weights, "inner.pt")
    folder = str(tmp_path / "models")
    loaded = tl.utils.model_zoo.load_url((tmp_path / "old.zip").as_uri(), folder, progress=False, file_name="x.pth")
    assert loaded["w"].tolist() == [0, 1, 2]
    assert os.listdir(folder) == ["x.pth"]


def test_the_folder_is_chosen(tmp_path, monkeypatch):
    monkeypatch.setattr(tl.hub, "_chosen_directory", None)
    tl.hub.set_dir(tmp_path)
    assert tl.hub.get_dir() == str(tmp_path)
    with pytest.raises(AttributeError, match="no attribute 'list': a tool around PyTorch"):
        _ = tl.hub.list
