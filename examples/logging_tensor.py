"""A subclass of Tensor that writes every function and method applied to it to the log."""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable
from typing import Any

import tensorlike as tl


class LoggingTensor(tl.Tensor):
    @classmethod
    def __torch_function__(
        cls,
        func: Callable[..., Any],
        types: tuple[type, ...],
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        kwargs = kwargs or {}
        # Printing the operands here is safe: repr of a tensor does not come back to this method.
        logging.info(f"func: {func.__name__}, args: {args!r}, kwargs: {kwargs!r}")
        # Calling func itself would come back here without end; super() runs it and keeps the type.
        return super().__torch_function__(func, types, args, kwargs)


def main() -> None:
    logging.basicConfig(level=logging.INFO, format="%(message)s", stream=sys.stdout)
    a = LoggingTensor([1, 2])
    b = LoggingTensor([3, 4])
    # Functions, operators and methods all arrive, and the results are LoggingTensors again.
    scaled = tl.mul(a, 2)
    added = scaled + b
    total = added.sum(dim=0, keepdim=True)
    print(f"{type(total).__name__} of value {total.item()}")


if __name__ == "__main__":
    main()
