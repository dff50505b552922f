"""Pickles and files written by PyTorch are read while installed as torch, and the reverse."""

from __future__ import annotations

import io
import pickle
import subprocess
import sys
import warnings

import pytest
import torch

from tests.as_torch.processes import environment

PROGRAM = """
import io, pickle, sys, warnings
warnings.simplefilter("ignore")
import torch
from torch import nn

torch.manual_seed(0)

class Subclass(torch.Tensor):
    pass

def tagged(tensor, tag):
    tensor.tag = tag
    return tensor

whole = torch.arange(24.).reshape(4, 6)
OBJECTS = [
    whole, whole[1:3, ::2], whole.t(), torch.ones(2, requires_grad=True), torch.zeros(0, 3), torch.tensor(5),
    *(torch.ones(3, dtype=getattr(torch, name)) for name in (
        "float64 float32 float16 bfloat16 int64 int32 int16 int8 uint8 bool complex64 complex128"
    ).split()),
    nn.Parameter(torch.ones(2, 2)), nn.Parameter(torch.ones(2), requires_grad=False),
    tagged(torch.ones(2), "a tag"), tagged(nn.Parameter(torch.ones(2)), "a tag"),
    torch.float32, torch.Size([2, 3]), torch.device("cpu"), torch.strided, torch.channels_last, torch.contiguous_format,
    nn.functional.relu, nn.Linear, torch.Tensor, torch.finfo, torch.max(whole, 0), torch.linalg.slogdet(torch.eye(2)),
    nn.Linear(2, 3), nn.Sequential(nn.Conv2d(1, 2, 3), nn.BatchNorm2d(2), nn.ReLU(), nn.Flatten(), nn.Fold(2, 1)),
    nn.LSTM(2, 3), nn.GRU(2, 3, num_layers=2, bidirectional=True), nn.MultiheadAttention(4, 2), nn.Embedding(3, 2),
    nn.TransformerEncoderLayer(4, 2, 8), nn.PReLU(), nn.ConvTranspose2d(1, 1, 2), nn.MarginRankingLoss(),
    torch.optim.Adam([nn.Parameter(torch.ones(2))]), nn.LayerNorm(3), nn.PixelShuffle(2), nn.LPPool2d(2, 2),
    {"a": [torch.ones(1), None]}, torch.optim.SGD([nn.Parameter(torch.ones(2))], lr=0.1, momentum=0.9).state_dict(),
]
"""

WRITE = PROGRAM + """
files = []
# PyTorch cannot save a memory format with the protocol that it saves with.
saved = [value for value in OBJECTS if not isinstance(value, torch.memory_format)]
# And it cannot read its own pickles of these dtypes, but its files.
saved += [torch.ones(3, dtype=dtype) for dtype in (torch.uint16, torch.uint32, torch.uint64)]
for thing in (saved, nn.Linear(2, 3).state_dict(), [whole, whole[1]]):
    file = io.BytesIO()
    torch.save(thing, file)
    files.append(file.getvalue())
sys.stdout.buffer.write(pickle.dumps(([pickle.dumps(value) for value in OBJECTS], files)))
"""

#: Reads what was written, and says what it found in words that do not depend on who says it.
READ = PROGRAM + """
def said(value):
    if isinstance(value, torch.Tensor):
        found = [type(value).__name__, str(value.dtype), tuple(value.shape), value.stride() if value.numel() else (),
                 value.requires_grad]
        return [*found, value.detach().tolist(), vars(value)]
    if isinstance(value, nn.Module):
        return [type(value).__name__, {name: said(item) for name, item in value.state_dict().items()}]
    if isinstance(value, torch.optim.Optimizer):
        return [type(value).__name__, said(value.state_dict())]
    if isinstance(value, dict):
        return {key: said(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)) and type(value) is not torch.Size:
        return [type(value).__name__, *map(said, value)]
    return getattr(value, "__name__", repr(value))

pickles, files = pickle.loads(sys.stdin.buffer.read())
read = [pickle.loads(data) for data in pickles]
objects = torch.load(io.BytesIO(files[0]), weights_only=False)
state = torch.load(io.BytesIO(files[1]), weights_only=True)
shared = torch.load(io.BytesIO(files[2]))
for value in (*read, *objects):
    if isinstance(value, (nn.Linear, nn.LSTM, nn.GRU)):
        value(torch.ones(2, 1, 2))  # It works.
shared[0][1] = 7
assert shared[1].tolist() == [7.0] * 6  # On the same memory.
sys.stdout.buffer.write(pickle.dumps(([said(value) for value in read], [said(v) for v in objects], said(state))))
"""


def _run(program, given, ours):
    command = [sys.executable, *(["-m", "tensorlike", "run"] if ours else [])]
    done = subprocess.run([*command, program], input=given, capture_output=True, env=environment())
    assert done.returncode == 0, done.stderr.decode()
    return done.stdout


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    folder = tmp_path_factory.mktemp("programs")
    programs = {}
    for name, text in {"write": WRITE, "read": READ}.items():
        programs[name] = folder / f"{name}.py"
        programs[name].write_text(text)
    return programs, {ours: _run(programs["write"], b"", ours) for ours in (False, True)}


@pytest.mark.parametrize("ours", [False, True], ids=["pytorch's", "ours"])
def test_both_read_the_same(written, ours):
    programs, data = written
    theirs, here = (pickle.loads(_run(programs["read"], data[ours], reader)) for reader in (False, True))
    for place, (expected, found) in enumerate(zip(theirs, here, strict=True)):
        if isinstance(expected, dict):
            assert found == expected
            continue
        for number, (one, other) in enumerate(zip(expected, found, strict=True)):
            assert other == one, (place, number)


def test_files_name_nothing_that_pytorch_has_not(written):
    _, data = written
    pickles, files = pickle.loads(data[True])
    assert not any(b"tensorlike" in pickled for pickled in [*pickles, *files])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert isinstance(torch.load(io.BytesIO(files[1])), dict)
