"""Programs for what tensorlike alone has."""

from __future__ import annotations

import functools
from typing import Any

from .common import Program, Watch, fail, used
from .overrides import Raises, Recurses, Refuses

# ------------------------------------------------------------------------------------------------- tensorlike's alone

#: What PyTorch has nothing like.
OWN: dict[str, Program] = {}


def own(function: Program) -> Program:
    OWN[function.__name__] = function
    return function


@own
def raised_under_a_trace(T: Any, watch: Watch) -> Any:
    with T.overrides.trace():
        return T.matmul(watch(Raises(used(T, watch))), used(T, watch, 2, 2))


@own
def misused_under_a_trace(T: Any, watch: Watch) -> Any:
    with T.overrides.trace(plain=True):
        return T.matmul(used(T, watch), used(T, watch, 2, 2))


@own
def runaway_under_a_trace(T: Any, watch: Watch) -> Any:
    with T.overrides.trace():
        return T.matmul(watch(Recurses(used(T, watch))), used(T, watch, 2, 2))


class One(Refuses):
    pass


class Other(Refuses):
    pass


class Third(Refuses):
    pass


@functools.cache
def _rules(T: Any) -> None:
    T.overrides.register(T.add, (One, Other))(fail)
    T.overrides.register(T.add, (One, Third))(T.add)


@own
def rule_raises(T: Any, watch: Watch) -> Any:
    _rules(T)
    return T.add(watch(One(used(T, watch))), watch(Other(used(T, watch))))


@own
def runaway_rule(T: Any, watch: Watch) -> Any:
    _rules(T)
    return T.add(watch(One(used(T, watch))), watch(Third(used(T, watch))))


@own
def drawing_of_no_graph(T: Any, watch: Watch) -> Any:
    return T.autograd.graph.draw([watch(T.ones(3))])


@own
def default_refuses(T: Any, watch: Watch) -> Any:
    return T.add(used(T, watch), watch(Refuses(used(T, watch))))
