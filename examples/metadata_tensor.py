"""A wrapper that carries a dictionary of metadata through every operation on the tensor it holds."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tensorlike as tl


class MetadataTensor:
    """A tensor and its metadata. Not a subclass of Tensor: the tensor is an attribute."""

    def __init__(self, data: Any, metadata: dict[str, Any] | None = None, **kwargs: Any) -> None:
        self._t = tl.as_tensor(data, **kwargs)
        self._metadata = metadata

    def __repr__(self) -> str:
        return f"Metadata:\n{self._metadata}\n\ndata:\n{self._t}"

    # Older code has this as a plain method and takes the metadata from `self`; a classmethod has no `self`, so the
    # metadata is that of the first operand that has any.
    @classmethod
    def __torch_function__(
        cls,
        func: Callable[..., Any],
        types: tuple[type, ...],
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        found: list[dict[str, Any] | None] = []

        def unwrap(value: Any) -> Any:
            if isinstance(value, cls):
                found.append(value._metadata)
                return value._t
            # Operands come inside lists too, as in tl.cat([t, m]).
            if isinstance(value, (list, tuple)):
                return type(value)(unwrap(item) for item in value)
            return value

        plain_args = [unwrap(value) for value in args]
        plain_kwargs = {name: unwrap(value) for name, value in (kwargs or {}).items()}
        result = func(*plain_args, **plain_kwargs)
        # Some functions answer with something else, as tl.is_floating_point(m) does with a bool.
        return cls(result, metadata=found[0]) if isinstance(result, tl.Tensor) else result


def main() -> None:
    m = MetadataTensor([[1, 2], [3, 4]], metadata={"owner": "Ministry of Silly Walks"})
    t = tl.tensor([[1, 2], [1, 2]])
    print(tl.add(t, m), end="\n\n")
    print(tl.mul(t, m), end="\n\n")
    print(tl.cat([t, m], dim=1), end="\n\n")
    print("floating point:", tl.is_floating_point(m))


if __name__ == "__main__":
    main()
