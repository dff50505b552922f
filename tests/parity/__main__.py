"""Entry of `python -m tests.parity`: finds PyTorch before anything that needs it."""

import importlib.util
import sys


def main() -> int:
    if importlib.util.find_spec("torch") is None:
        print("tests.parity compares with PyTorch, which is not installed: pip install torch==2.13.0", file=sys.stderr)
        return 2
    import torch

    from tests.parity.report import run

    torch.set_num_threads(1)  # The operands are small: more threads only get in each other's way.
    return run(sys.argv[1:])


if __name__ == "__main__":
    sys.exit(main())
