"""Everything that can be switched, looked at from outside: what must be as it was when an interrupted call is over."""

from __future__ import annotations

import contextvars
import gc
import sys
import threading
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from .scenarios import CALLED, SHARED, part, plain_duck, recording_subclass

__all__ = ["SETTINGS", "Probe"]

#: What the probe says of the settings that not the library alone changes, such as NumPy's error state.
SETTINGS = "process-wide settings are changed"
#: How long another thread may take for a few small calls before a lock counts as held.
PATIENCE = 2.0


class Probe:
    """Looks at the state of one library. It is made while everything is as it should be, and compares with that.

    `probe()` returns the names of what is switched, in the order of the checks; an empty list when nothing is. What is
    observed is public, but for two checks that only run where the library has what they look at.
    """

    def __init__(self, tl: Any) -> None:
        self.tl = tl
        self.forward = part(tl, "autograd.forward_ad")
        self.func = part(tl, "func")
        self.x = tl.tensor([0.5, 1.0], requires_grad=True)
        self.one = tl.ones(2)
        self.recording = self.one.clone().as_subclass(recording_subclass(tl))
        self.duck = plain_duck(tl)(tl.ones(2))
        self.printed = tl.tensor([1.123456789, 2e-9, 30.0])
        self.checks: list[tuple[str, Callable[[], bool]]] = [
            ("recording is off", tl.is_grad_enabled),
            ("inference mode is on", lambda: not tl.is_inference_mode_enabled()),
            ("anomaly detection is on", lambda: not tl.is_anomaly_enabled()),
            ("results are inference tensors", lambda: not tl.add(self.one, 1).is_inference()),
            ("a mode sees plain operands", lambda: self._called(lambda: tl.add(self.one, 1)) == []),
            ("a subclass is not asked, or a mode is", lambda: self._asks_subclass()),
            ("a duck type is not asked, or a mode is", lambda: self._called(lambda: tl.add(self.duck, 1)) == ["duck"]),
            ("saved-tensor hooks are on", self._no_hooks),
            ("saved-tensor hooks are refused", self._hooks_allowed),
            ("recording and backward are wrong", self._backward),
            ("a level of forward AD is entered", self._no_dual_level),
            ("a level of a transform is entered", self._transforms),
            ("print options are changed", lambda: repr(self.printed) == self.before["printed"]),
            (SETTINGS, lambda: self._settings() == self.before["settings"]),
            ("another thread waits for ever", self._other_thread),
        ]
        core = sys.modules.get(f"{tl.__name__}.dispatch.core")
        if hasattr(core, "PLAIN"):
            self.checks.append(("no type is plain", lambda: bool(core.PLAIN)))
        self.checks.append(("a context variable of the library is changed", self._variables))
        threads = sys.modules.get(f"{tl.__name__}.tensor.threads")
        if hasattr(threads, "_claims"):
            self.checks.append(("large work counts as going on", lambda: not threads._claims))
        if hasattr(tl._C, "_functorch"):
            functorch = tl._C._functorch
            self.checks.append(("a level of functorch is entered", lambda: functorch.peek_interpreter_stack() is None))
        self.before: dict[str, Any] = {"printed": repr(self.printed), "settings": self._settings()}
        self.variables = self._own_variables()
        wrong = self()
        if wrong:
            raise RuntimeError(f"the probe does not hold where nothing is switched: {wrong}")

    def __call__(self) -> list[str]:
        del CALLED[:]
        wrong = []
        for name, check in self.checks:
            try:
                if check():
                    continue
            except Exception as error:
                name = f"{name} ({type(error).__name__})"
            wrong.append(name)
        del CALLED[:]
        return wrong

    @staticmethod
    def _called(call: Callable[[], Any]) -> list[str]:
        del CALLED[:]
        call()
        return CALLED[:]

    def _asks_subclass(self) -> bool:
        return set(self._called(lambda: self.tl.add(self.recording, 1))) == {"subclass"}

    def _no_hooks(self) -> bool:
        # Both libraries refuse to enter this while a hook is on, whose error this is.
        with self.tl.autograd.graph.disable_saved_tensors_hooks("a hook is on"):
            pass
        return self._called(lambda: self.x.exp()) == []

    def _hooks_allowed(self) -> bool:
        with self.tl.autograd.graph.saved_tensors_hooks(_same, _same):
            pass
        return True

    def _backward(self) -> bool:
        x = self.x
        x.grad = None
        y = (x * 3 + 1).sum()
        if not y.requires_grad:
            return False
        y.backward()
        right = x.grad is not None and x.grad.tolist() == [3.0, 3.0] and not x.grad.requires_grad
        x.grad = None
        return right and type(y) is self.tl.Tensor

    def _no_dual_level(self) -> bool:
        try:
            self.forward.make_dual(self.one, self.one)
        except RuntimeError:
            return True
        return False

    def _transforms(self) -> bool:
        # A random number is refused inside vmap, and a level that was left behind is inside.
        self.tl.rand(1)
        return self.func.vmap(_double)(self.one).tolist() == [2.0, 2.0]

    def _own_variables(self) -> dict[Any, Any]:
        """Return the context variables of the library that were set, with their values."""
        return {v: value for v, value in contextvars.copy_context().items() if v.name.startswith(self.tl.__name__)}

    def _variables(self) -> bool:
        for variable, value in self._own_variables().items():
            if variable in self.variables:
                if value != self.variables[variable]:
                    return False
            elif type(value) is tuple and value:
                return False  # A stack that nothing was on before.
        return True

    def _settings(self) -> list[Any]:
        tl = self.tl
        # SciPy adds filters for warnings of its own when it is imported.
        filters = [f for f in warnings.filters if f[2].__module__ == "builtins"]
        return [
            str(tl.get_default_dtype()), tl.get_num_threads(), np.geterr(), len(filters), gc.isenabled(),
            sys.getrecursionlimit(),
        ]  # fmt: skip

    def _other_thread(self) -> bool:
        ended = []

        def calls() -> None:
            tl = self.tl
            tl.rand(2)
            generator = SHARED.get(f"{tl.__name__} generator")
            if generator is not None:
                tl.empty(2).normal_(generator=generator)
            x = tl.ones(2, requires_grad=True)
            (x * x).sum().backward()
            with tl.no_grad():
                tl.add(x, 1)
            ended.append(tl.is_grad_enabled())

        # A daemon: a thread that waits for ever must not keep the process from ending.
        for attempt in range(5):
            thread = threading.Thread(target=calls, daemon=True)
            try:
                thread.start()
                break
            except RuntimeError:  # The machine has no thread left, which is no state of the library's.
                if attempt == 4:
                    raise
                time.sleep(0.2)
        thread.join(PATIENCE)
        return ended == [True]


def _same(value: Any) -> Any:
    return value


def _double(value: Any) -> Any:
    return value * 2
