"""Entry of `python -m tests.parity`: finds the tests' helpers, and PyTorch, before anything that needs them."""

import importlib.util
import sys
from pathlib import Path


def main() -> int:
    if importlib.util.find_spec("torch") is None:
        print("tests.parity compares with PyTorch, which is not installed: pip install torch==2.13.0", file=sys.stderr)
        return 2
    # As pytest has it: the helpers are found by the name that the tests use, and the repository by its root.
    for place in (Path(__file__).parents[1], Path(__file__).parents[2]):
        sys.path.insert(0, str(place))
    import torch

    from parity.report import run

    torch.set_num_threads(1)  # The operands are small: more threads only get in each other's way.
    return run(sys.argv[1:])


if __name__ == "__main__":
    sys.exit(main())
