"""Random programs with views and in-place operations, under transforms: as in PyTorch."""

from __future__ import annotations

import pytest
import torch

from tests.transforms.view_programs import compared, written


def differing(seeds: range) -> list[str]:
    found = []
    for seed in seeds:
        differences = compared(seed, torch)
        if differences:
            found.append(f"# seed {seed}\n{written(seed)}" + "\n".join(differences))
    return found


@pytest.mark.filterwarnings("ignore")
def test_view_programs_as_in_pytorch() -> None:
    found = differing(range(5000, 5040))
    assert not found, "\n\n".join(found)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("part", range(5))
def test_more_view_programs_as_in_pytorch(part: int) -> None:
    found = differing(range(6000 + 100 * part, 6100 + 100 * part))
    assert not found, "\n\n".join(found)
