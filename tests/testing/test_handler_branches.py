"""Branches as jumps tell them agree with the values that the conditions had, for conditions of every shape."""

import ast
import contextlib
import importlib.util
import itertools
import sys

import pytest

from tensorlike.testing.handler_lines import Handler, line_tracer

SOURCE = """
def plain(a, b, c):
    if a:
        return 1

def ends_with_if(a, b, c):
    x = 1
    if a:
        if b: x = 2
        elif c:
            pass
        else: x = 3

def connected(a, b, c):
    if a and b or not c:
        return 1
    if not (a or b) and c: return 2
    if not a and not b:
        return 3
    return 4

def compared(a, b, c):
    if a is None or b is not None:
        return 1
    if 0 < a < 2 <= c:
        return 2
    return 3 if a in (0, 2) else 4 if not c else 5

def constants(a, b, c):
    if __debug__:
        x = 1
    while True:
        if a: break
        a = True
    return x

def looped(a, b, c):
    while a and b:
        a = a - 1
        if c:
            continue
        if a: break
    else:
        return 1
    for x in range(c or 0):
        if x: break
    else:
        return 2
    for y in (): return 3
    while not a:
        a = 1

def nested_expressions(a, b, c):
    x = (a if b else c) if (b if c else a) else [y for y in range(3) if a if y]
    if [y for y in range(2) if y and b]:
        x = 1
    return x if (z := a) and z else (lambda q: 1 if q else 2)(b)

def tried(a, b, c):
    try:
        if a:
            raise ValueError
        if b: return 1
    except ValueError as error:
        if c:
            return 2
    else:
        x = 3 if c else 4
    finally:
        if b or c:
            x = 5
        while c:
            c = False
    return x

def with_context(a, b, c):
    with Context():
        if a:
            return 1
        if b: raise KeyError
    if c:
        x = 1
    else:
        x = 2
    assert a or b or x

def matched(a, b, c):
    match (a, b):
        case (1, _) if c: return 1
        case (None, y) | (0, y):
            if y: return 2
        case [_, 1 | 2]:
            return 3
    if not matched: return 9
    match c:
        case int():
            return 4

def many_lines(a, b, c):
    if (
        a
        and
        b
    ): return (
        1
    )
    elif c or (
        b is
        None
    ):
        return {
            **({"x": 1} if a else {}),
            **{k: k for k in "xy" if b},
        }

def later(a, b, c):
    def inner(q):
        if q:
            yield 1
        else: yield 2
        return 3 if q is None else 4
    if a: return [*inner(b)] + [*inner(c)]

def ignores_results(a, b, c):
    a and b or c
    x = a or b
    if x:
        "nothing"
    if x: ...
    if x:
        pass

class Context:
    def __enter__(self): return self
    def __exit__(self, kind, value, traceback): return kind is KeyError
"""
LONG = (
    "def long(a, b, c):\n    if a:\n"
    + "        x = [a, b, c, (a, b), {a: b}]\n" * 300
    + "    if b:\n        return 1\n"
)


class Noted(ast.NodeTransformer):
    """Notes the values of conditions, and whether the bodies of loops run."""

    def _test(self, node):
        where = ast.Constant((node.lineno, node.col_offset))
        self.generic_visit(node)
        node.test = ast.Call(ast.Name("note", ast.Load()), [where, node.test], [])
        return node

    visit_If = visit_While = visit_IfExp = _test

    def visit_For(self, node):
        where = ast.Constant((node.lineno, node.col_offset))
        self.generic_visit(node)
        node.iter = ast.Call(ast.Name("noted_loop", ast.Load()), [where, node.iter], [])
        return node


def noted(source, names):
    """The outcomes of each branch in each function for all arguments, as the conditions say them."""
    found = {}

    def note(where, value):
        found.setdefault(where, set()).add(bool(value))
        return value

    def noted_loop(where, values):
        for value in values:
            note(where, True)
            yield value
        note(where, False)

    namespace = {"note": note, "noted_loop": noted_loop}
    exec(compile(ast.fix_missing_locations(Noted().visit(ast.parse(source))), "noted", "exec"), namespace)
    for name in names:
        call(namespace[name])
    return found


def call(function):
    for arguments in itertools.product((None, 0, 1, 2), repeat=3):
        with contextlib.suppress(ArithmeticError, AssertionError, TypeError, ValueError, UnboundLocalError):
            function(*arguments)


@pytest.mark.parametrize("source", [SOURCE, LONG], ids=["shapes", "far jumps"])
def test_outcomes_are_the_values_of_the_conditions(source, tmp_path):
    if sys.gettrace() is not None and not hasattr(sys, "monitoring"):
        pytest.skip("another tracer runs, which is left alone")
    file = tmp_path / "shapes.py"
    file.write_text(source)
    spec = importlib.util.spec_from_file_location("shapes", file)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    functions = {name: value for name, value in vars(module).items() if hasattr(value, "__code__")}
    handlers = [Handler(name, function) for name, function in functions.items()]
    tracer = line_tracer(handlers, str)
    tracer.start()
    try:
        for function in functions.values():
            call(lambda *arguments, function=function: tracer.traced("f", function, *arguments))
    finally:
        tracer.stop()
    ways = {}
    for _, _, line, column, outcome, *_ in tracer.hits():
        if column >= 0:
            ways.setdefault((line, column), set()).add(bool(outcome))
    expected = noted(source, functions)
    patterns = {(b.line, b.column) for handler in handlers for b in handler.branches if b.kind == "case"}
    assert patterns or source is LONG
    # What a compiler knows is no branch.
    known = {where for where, outcomes in expected.items() if where not in ways}
    lines = source.splitlines()
    absent = {"if __debug__:", "while True:", "for y in (): return 3"}
    if not hasattr(sys, "monitoring"):
        # Python 3.11 does not say that the condition of a condition is one.
        absent.add("x = (a if b else c) if (b if c else a) else [y for y in range(3) if a if y]")
    assert {lines[line - 1].strip() for line, _ in known} <= absent
    assert {where: found for where, found in ways.items() if where not in patterns} == {
        where: found for where, found in expected.items() if where not in known
    }
    listed = {(b.line, b.column) for handler in handlers for b in handler.branches}
    assert listed >= set(ways)
