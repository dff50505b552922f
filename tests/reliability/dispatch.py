"""Who is asked about a call, in which order: random calls on random lattices of types, against a model.

`python -m tests.reliability.dispatch [--module torch] [--calls N]` prints how many calls went another way than the
model says.
"""

from __future__ import annotations

import argparse
import importlib
import json
import random
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from typing import Any

__all__ = ["calls", "expected"]

#: What happened in a call: who was asked with which types, and how it ended.
Log = list[Any]


# The model: who is asked, in which order, and what comes of it. It knows names and behaviours, and calls nothing.


def order(operands: Sequence[type], behaviour: dict[type, str]) -> list[type]:
    """Return the types to ask: each once, from left to right, but subclasses before superclasses."""
    found: list[type] = []
    for kind in operands:
        if kind not in found and behaviour.get(kind, "no override") != "no override":
            at = next((i for i, other in enumerate(found) if issubclass(kind, other)), len(found))
            found.insert(at, kind)
    return found


def expected(
    modes: Sequence[tuple[str, str]], guard: str, operands: Sequence[type], behaviour: dict[type, str], tensor: type
) -> Log:
    """Return what a call logs: the innermost mode first, then the types, then the implementation."""
    types = [] if guard else order(operands, behaviour)
    log: Log = []
    refused = False
    if modes and guard != "all":
        *outer, (name, answer) = modes
        log.append((name, tuple(types)))
        if answer == "answer":
            return [*log, "answered"]
        if answer == "again":
            return log + expected(outer, guard, operands, behaviour, tensor)
        refused = True
    for kind in types:
        answer = behaviour[kind]
        if answer in ("answer", "refuse", "default"):
            log.append((kind, tuple(types)))
        if answer == "answer":
            return [*log, "answered"]
        # Tensor's own answer, which is for the subclass of all others alone.
        if answer in ("inherit", "default") and all(issubclass(kind, other) for other in types):
            # The call goes once more to the modes: it is the same call with the types switched off.
            return log + expected(modes, guard or "subclasses", operands, behaviour, tensor)
    if types or refused or not all(issubclass(kind, tensor) for kind in operands):
        return [*log, "TypeError"]
    return [*log, "computed"]


class Lattice:
    """Some types that inherit from one another, tensors and others, each with its own way to answer."""

    def __init__(self, tl: Any, chance: random.Random, log: Log) -> None:
        self.tl = tl
        self.behaviour: dict[type, str] = {}
        tensor = tl.Tensor
        for number in range(chance.randint(2, 6)):
            made = [kind for kind in self.behaviour if chance.random() < 0.4]
            bases = tuple(made) or ((tensor,) if chance.random() < 0.6 else (object,))
            try:
                self._add(chance, log, f"T{number}", bases)
            except TypeError:
                continue  # There is no order of these bases that Python could resolve methods in.

    def _add(self, chance: random.Random, log: Log, name: str, bases: tuple[type, ...]) -> None:
        is_tensor = any(issubclass(base, self.tl.Tensor) for base in bases)
        answers = ("answer", "refuse", "inherit", "default", "no override") if is_tensor else ("answer", "refuse")
        answer = chance.choice(answers)
        space: dict[str, Any] = {}
        tensor_answer = self.tl.Tensor.__torch_function__.__func__

        def asked(cls: Any, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            # What the library itself calls on the way, such as as_subclass, is not the call that is looked at.
            if log and log[0] is not func:
                return tensor_answer(cls, func, types, args, kwargs or {})
            log.append((cls, tuple(types)))
            if answer == "answer":
                return "answered"
            if answer == "refuse":
                return NotImplemented
            return tensor_answer(cls, func, types, args, kwargs or {})

        if answer == "no override":
            space["__torch_function__"] = self.tl._C._disabled_torch_function_impl
        elif answer == "inherit":
            space["__torch_function__"] = classmethod(tensor_answer)
        else:
            space["__torch_function__"] = classmethod(asked)
        kind = type(name, bases, space)
        self.behaviour[kind] = answer

    def operand(self, chance: random.Random) -> Any:
        if chance.random() < 0.25:
            return self.tl.ones(2)
        kind = chance.choice(list(self.behaviour))
        return self.tl.ones(2).as_subclass(kind) if issubclass(kind, self.tl.Tensor) else kind()


def _functions(tl: Any) -> list[tuple[int, Any, Any]]:
    """Return functions with how many operands they take and how they are called with them."""
    return [
        (1, tl.exp, lambda f, a: f(a)),
        (1, tl.sum, lambda f, a: f(a)),
        (1, tl.nn.functional.softmax, lambda f, a: f(a, dim=0)),
        (2, tl.add, lambda f, a, b: f(a, b)),
        (2, tl.add, lambda f, a, b: f(a, other=b)),
        (2, tl.matmul, lambda f, a, b: f(a, b)),
        (2, tl.nn.functional.mse_loss, lambda f, a, b: f(a, b)),
        (3, tl.addcmul, lambda f, a, b, c: f(a, b, c)),
        (3, tl.where, lambda f, a, b, c: f(a > 0 if type(a) is tl.Tensor else a, b, c)),
        (3, tl.cat, lambda f, a, b, c: f([a, b, c])),
        (4, tl.stack, lambda f, a, b, c, d: f((a, b, c, d), 0)),
    ]


def _where_takes_bool(tl: Any, function: Any, operands: Sequence[Any]) -> bool:
    return function is not tl.where or type(operands[0]) is tl.Tensor or not isinstance(operands[0], tl.Tensor)


def calls(tl: Any, count: int, seed: int = 0) -> tuple[int, list[str]]:
    """Make random calls; return how many were compared, and those that went another way than the model says."""
    functions = _functions(tl)
    errors: list[str] = []
    done = turn = 0
    while done < count:
        chance = random.Random(seed * 1_000_003 + turn)
        turn += 1
        log: Log = []
        lattice = Lattice(tl, chance, log)
        if not lattice.behaviour:
            continue

        class Mode(tl.overrides.TorchFunctionMode):
            def __init__(self, name, answer, log=log):
                super().__init__()
                self.name, self.answer, self.log = name, answer, log

            def __torch_function__(self, func, types, args=(), kwargs=None):
                if self.log and self.log[0] is not func:
                    return func(*args, **(kwargs or {}))
                self.log.append((self.name, tuple(types)))
                if self.answer == "answer":
                    return "answered"
                if self.answer == "refuse":
                    return NotImplemented
                return func(*args, **(kwargs or {}))

        for _ in range(20):
            number, function, call = chance.choice(functions)
            operands = [lattice.operand(chance) for _ in range(number)]
            if not _where_takes_bool(tl, function, operands):
                continue
            modes = [(f"mode {i}", chance.choice(("answer", "refuse", "again", "again")))
                     for i in range(chance.choice((0, 0, 0, 1, 2)))]  # fmt: skip
            guard = chance.choice(("", "", "", "", "subclasses", "all"))
            right = expected(modes, guard, [type(o) for o in operands], lattice.behaviour, tl.Tensor)
            found = _found(tl, log, modes, guard, function, call, operands, Mode)
            done += 1
            if found != right:
                errors.append(
                    f"turn {turn - 1}: {function.__name__}({', '.join(type(o).__name__ for o in operands)}), modes "
                    f"{modes}, guard {guard or 'none'}, {_names(lattice.behaviour)}: {_text(found)}, not {_text(right)}"
                )
    return done, errors


def _found(
    tl: Any, log: Log, modes: Any, guard: str, function: Any, call: Any, operands: Sequence[Any], mode: Any
) -> Log:
    with ExitStack() as stack:
        for name, answer in modes:
            stack.enter_context(mode(name, answer))
        if guard:
            guards = {"subclasses": tl._C.DisableTorchFunctionSubclass, "all": tl._C.DisableTorchFunction}
            stack.enter_context(guards[guard]())
        # The first entry says which function is looked at.
        log[:] = [function]
        try:
            result = call(function, *operands)
            ended = "answered" if isinstance(result, str) else "computed"
        except TypeError:
            ended = "TypeError"
        except Exception as error:
            ended = f"{type(error).__name__}: {error}"
        finally:
            found = log[1:]
            del log[:]
    return [*found, ended]


def _names(behaviour: dict[type, str]) -> str:
    return ", ".join(f"{k.__name__}({', '.join(b.__name__ for b in k.__bases__)}): {v}" for k, v in behaviour.items())


def _text(log: Log) -> str:
    return str([e if type(e) is str else (getattr(e[0], "__name__", e[0]), *(t.__name__ for t in e[1])) for e in log])


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.reliability.dispatch", description=__doc__.split("\n")[0])
    parser.add_argument("--module", default="tensorlike", help="the library: tensorlike, or torch")
    parser.add_argument("--calls", type=int, default=5000, help="how many random calls")
    parser.add_argument("--json", action="store_true", help="print the results as JSON")
    options = parser.parse_args(arguments)
    done, errors = calls(importlib.import_module(options.module), options.calls)
    if options.json:
        print(json.dumps({"calls": done, "errors": errors}))
        return 0
    print(f"{done} calls, {len(errors)} not as the model says")
    for text in errors[:10]:
        print(f"    {text}")
    return int(bool(errors))


if __name__ == "__main__":
    sys.exit(main())
