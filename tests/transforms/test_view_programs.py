"""Random programs with views and in-place operations: forward mode agrees with reverse mode."""

from __future__ import annotations

import pytest

from tests.transforms.view_programs import compared, read_first, written


def differing(seeds: range) -> tuple[list[str], int]:
    """Return what differs, with the programs, and how many programs could be compared."""
    found, count = [], 0
    for seed in seeds:
        differences = compared(seed)
        count += differences is not None
        if differences:
            found.append(f"# seed {seed}\n{written(seed)}" + "\n".join(differences))
    return found, count


@pytest.mark.filterwarnings("ignore")
def test_view_programs() -> None:
    found, count = differing(range(60))
    assert not found, "\n\n".join(found)
    assert count > 40


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("part", range(10))
def test_more_view_programs(part: int) -> None:
    found, count = differing(range(1000 + 100 * part, 1100 + 100 * part))
    assert not found, "\n\n".join(found)
    assert count > 60


@pytest.mark.filterwarnings("ignore")
def test_operands_that_overlap_are_read_first() -> None:
    """In PyTorch too, where the program of this seed adds a row to a column of the same matrix."""
    torch = pytest.importorskip("torch")
    assert "t3[1] += t2.clone()\n" in read_first(written(2180))
    assert compared(2180, torch) == []


@pytest.mark.filterwarnings("ignore")
def test_a_planted_fault_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the mode that makes tensors follow their memory, programs differ."""
    monkeypatch.setattr("tensorlike.transforms.tangents.settle_one", lambda *args, **options: None)
    assert differing(range(60))[0]
