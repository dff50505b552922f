"""The everyday programs of the conformance suite: those that ask a type about supported functions alone."""

from __future__ import annotations

import functools
from typing import Any

from tensorlike.audit.programs import PROGRAMS, Program, Runner
from tensorlike.overrides.introspection import resolve_name
from tensorlike.tensor.tensor import Tensor

from .suite_calls import suite_api

__all__ = ["PROGRAMS", "Program", "Runner", "functions_of"]


@functools.cache
def functions_of(program: str) -> frozenset[str]:
    """Return the names of the functions that a program asks its type about, of those that a suite tests."""
    asked: set[str | None] = set()

    class Probe(Tensor):
        @classmethod
        def __torch_function__(cls, func: Any, types: tuple[type, ...], args: Any = (), kwargs: Any = None) -> Any:
            asked.add(resolve_name(func))
            return super().__torch_function__(func, types, args, kwargs or {})

    api = suite_api()
    Runner(Probe, lambda tensor: tensor.as_subclass(Probe), api.as_plain, api).run(PROGRAMS[program])
    return frozenset(name for name in asked if name in api.table)
