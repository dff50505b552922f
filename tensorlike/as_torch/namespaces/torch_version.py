"""`TorchVersion`: the version of PyTorch whose names and semantics these are, compared as versions are.

Source: PyTorch's `torch.torch_version`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, Final, TypeAlias

from .version import __version__ as _NUMBER

__all__ = ["TorchVersion"]

_Key: TypeAlias = tuple[Any, ...]

_VERSION: Final = re.compile(
    r"\s*v?(?:(?P<epoch>\d+)!)?(?P<release>\d+(?:\.\d+)*)"
    r"(?:[-_.]?(?P<pre>alpha|beta|preview|pre|rc|a|b|c)[-_.]?(?P<pre_number>\d*))?"
    r"(?:-(?P<implicit>\d+)|[-_.]?(?P<post>post|rev|r)[-_.]?(?P<post_number>\d*))?"
    r"(?:[-_.]?(?P<dev>dev)[-_.]?(?P<dev_number>\d*))?"
    r"(?:\+(?P<local>[a-z0-9]+(?:[-_.][a-z0-9]+)*))?\s*",
    re.IGNORECASE,
)
_PRE: Final = {"alpha": "a", "beta": "b", "c": "rc", "pre": "rc", "preview": "rc"}


def _key(version: str) -> _Key | None:
    """Return what orders versions as the packaging standard does, None for a text that is no version."""
    found = _VERSION.fullmatch(version)
    if found is None:
        return None
    release = [int(part) for part in found["release"].split(".")]
    while len(release) > 1 and not release[-1]:
        del release[-1]
    is_post = found["implicit"] is not None or found["post"] is not None
    post = int(found["implicit"] or found["post_number"] or 0) if is_post else -1
    dev = int(found["dev_number"] or 0) if found["dev"] else float("inf")
    pre: tuple[str, float]
    if found["pre"]:
        pre = _PRE.get(found["pre"].lower(), found["pre"].lower()), int(found["pre_number"] or 0)
    else:
        # A development release of the version itself comes before its pre-releases, and these before the version.
        pre = ("", 0) if found["dev"] and not is_post else ("z", 0)
    local = tuple(
        (1, int(part), "") if part.isdigit() else (0, 0, part.lower())
        for part in re.split(r"[-_.]", found["local"] or "") if part
    )  # fmt: skip
    return int(found["epoch"] or 0), tuple(release), pre, post, dev, local


class TorchVersion(str):
    """A version as text, compared as a version with other texts, with tuples of numbers and with `Version` objects.

    Example:
        >>> version = tl.torch_version.TorchVersion("2.13.0+tensorlike")
        >>> version >= "2.9", version >= (2, 13), version < (3,), version == "2.13.0"
        (True, True, True, False)

    Same as PyTorch's class of that name. Where one side is no version, texts are compared; `!=` compares texts always.
    """

    __slots__ = ()

    def _compare(self, other: Any, method: str) -> Any:
        if isinstance(other, Iterable) and not isinstance(other, str):
            text = ".".join(str(part) for part in other)
        else:  # A text, or a `Version` of the package `packaging`; nothing else reads as a version.
            text = str(other) if isinstance(other, str) or hasattr(other, "release") else ""
        ours, theirs = _key(self), _key(text)
        if ours is None or theirs is None:
            return getattr(super(), method)(other)
        return getattr(ours, method)(theirs)

    def __lt__(self, other: Any) -> Any:
        return self._compare(other, "__lt__")

    def __le__(self, other: Any) -> Any:
        return self._compare(other, "__le__")

    def __eq__(self, other: Any) -> Any:
        return self._compare(other, "__eq__")

    def __gt__(self, other: Any) -> Any:
        return self._compare(other, "__gt__")

    def __ge__(self, other: Any) -> Any:
        return self._compare(other, "__ge__")

    __hash__ = str.__hash__


#: The version of PyTorch whose API this is.
__version__ = TorchVersion(_NUMBER)
