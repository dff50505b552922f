"""Settings of PyTorch's compiler: those that code reads most have PyTorch's values, and every other may be set.

Nothing is compiled, so they change nothing.

>>> from tensorlike._dynamo import config
>>> config.suppress_errors = True
>>> with config.patch(recompile_limit=64):
...     config.recompile_limit
64
>>> config.suppress_errors, config.recompile_limit
(True, 8)
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final

__all__ = ["patch"]

accumulated_cache_size_limit = accumulated_recompile_limit = 256
allow_unspec_int_on_nn_module = False
assume_static_by_default = automatic_dynamic_shapes = dynamic_shapes = True
cache_size_limit = recompile_limit = 8
capture_dynamic_output_shape_ops = capture_scalar_outputs = False
compiled_autograd = False
disable = False
error_on_recompile = fail_on_recompile_limit_hit = False
force_parameter_static_shapes = True
guard_nn_modules = inline_inbuilt_nn_modules = True
optimize_ddp = True
specialize_float = specialize_int = False
suppress_errors = False
verbose = False

_UNSET: Final = object()


def _put(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Set settings, and return what they were."""
    own = globals()
    before = {name: own.get(name, _UNSET) for name in settings}
    for name, value in settings.items():
        if value is _UNSET:
            del own[name]
        else:
            own[name] = value
    return before


@contextmanager
def _patched(settings: Mapping[str, Any]) -> Iterator[None]:
    before = _put(settings)
    try:
        yield
    finally:
        _put(before)


def patch(arg1: str | Mapping[str, Any] | None = None, arg2: Any = None, **kwargs: Any) -> Any:
    """Return a context manager, and decorator, with settings: of a name and a value, of a dictionary, of keywords."""
    if isinstance(arg1, str):
        return _patched({arg1: arg2})
    return _patched(kwargs if arg1 is None else arg1)
