"""A log of what is computed: the functions called on some tensors, or in some part of a program, with times and shapes.

What it shows of the protocol: its two halves side by side. A subclass of `Tensor` follows its data: whatever is made
from a `LoggingTensor` is one, and carries the log on (`__tensor_attributes__`). A mode follows the program: every call
in a `with` block is seen, that of a factory too, whatever its operands are.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import tensorlike as tl
from tensorlike.overrides import DisableTorchFunction, TorchFunctionMode, resolve_name


class Call(NamedTuple):
    """One call: the function, the shapes that went in and came out, and the seconds between."""

    name: str
    inputs: tuple[tuple[int, ...], ...]
    outputs: tuple[tuple[int, ...], ...]
    seconds: float
    error: str = ""

    def __str__(self) -> str:
        end = " ".join(map(str, self.outputs)) or "no tensor"
        return f"{self.name}: {' '.join(map(str, self.inputs)) or 'no tensor'} -> {self.error or end}"


class Log:
    """A list of calls."""

    def __init__(self) -> None:
        self.calls: list[Call] = []

    def noted(self, func: Callable[..., Any], args: Any, kwargs: dict[str, Any], run: Callable[[], Any]) -> Any:
        """Run a call and note it, also if it raises."""
        inputs = tuple(shapes((args, kwargs)))
        begin = time.perf_counter()
        try:
            result = run()
        except Exception as error:
            self.calls.append(Call(name_of(func), inputs, (), time.perf_counter() - begin, f"{type(error).__name__}"))
            raise
        seconds = time.perf_counter() - begin
        self.calls.append(Call(name_of(func), inputs, tuple(shapes(result)), seconds))
        return result

    def summary(self) -> list[tuple[str, int, float]]:
        """The functions with their numbers of calls and total seconds, the slowest first."""
        found: dict[str, list[float]] = {}
        for call in self.calls:
            found.setdefault(call.name, []).append(call.seconds)
        rows = [(name, len(times), sum(times)) for name, times in found.items()]
        return sorted(rows, key=lambda row: -row[2])

    def __str__(self) -> str:
        return "\n".join(map(str, self.calls))


def name_of(func: Any) -> str:
    # A property is asked for by its `__get__`, such as tensorlike.Tensor.shape.__get__.
    return (resolve_name(func) or func.__name__).removesuffix(".__get__").rpartition(".")[2]


def shapes(value: Any) -> Iterator[tuple[int, ...]]:
    """Yield the shapes of the tensors in a value, without asking a type or mode."""
    if isinstance(value, tl.Tensor):
        with DisableTorchFunction():
            yield tuple(value.shape)
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from shapes(item)
    elif isinstance(value, dict):
        yield from shapes(list(value.values()))


class LoggingTensor(tl.Tensor):
    """A tensor that notes every function applied to it, and to what is made of it, in `journal`."""

    __tensor_attributes__ = ("journal",)
    journal: Log | None = None

    @staticmethod
    def of(data: Any, log: Log) -> LoggingTensor:
        tensor = tl.as_tensor(data).as_subclass(LoggingTensor)
        tensor.journal = log
        return tensor

    @classmethod
    def __torch_function__(
        cls,
        func: Callable[..., Any],
        types: tuple[type, ...],
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        keywords = kwargs or {}
        # Calling func itself would come back here without end; super() runs it and keeps type and attributes.
        def run() -> Any:
            return super(LoggingTensor, cls).__torch_function__(func, types, args, keywords)

        log = next(logs((args, keywords)), None)
        return run() if log is None else log.noted(func, args, keywords, run)


def logs(value: Any) -> Iterator[Log]:
    """Yield the logs of the LoggingTensors in a value."""
    if isinstance(value, LoggingTensor):
        if value.journal is not None:
            yield value.journal
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from logs(item)
    elif isinstance(value, dict):
        yield from logs(list(value.values()))


class LogCalls(TorchFunctionMode):
    """Notes every call of a public function inside the block: `with LogCalls() as log: ...`."""

    def __init__(self) -> None:
        super().__init__()
        self.log = Log()

    def __enter__(self) -> Log:  # type: ignore[override]
        super().__enter__()
        return self.log

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        # A mode is off its own stack while it answers.
        return self.log.noted(func, args, kwargs or {}, lambda: func(*args, **(kwargs or {})))


def main() -> None:
    log = Log()
    a = LoggingTensor.of([[1.0, 2.0], [3.0, 4.0]], log)
    b = (a @ a + 1).softmax(dim=0)
    total: Any = tl.cat([b, tl.ones(1, 2)]).sum()
    print(log)
    with DisableTorchFunction():
        print("the result is", type(total).__name__, "and has the log:", total.journal is log)

    # An error is noted with the shapes that caused it.
    try:
        a @ tl.ones(3)
    except RuntimeError:
        print(log.calls[-1])

    # The mode sees what is inside modules, and tensors without a log.
    tl.manual_seed(0)
    network = tl.nn.Sequential(tl.nn.Linear(3, 4), tl.nn.ReLU(), tl.nn.Linear(4, 1))
    with LogCalls() as calls:
        network(tl.ones(5, 3)).mean().backward()
    print("in the block:", [name for name, _, _ in sorted(calls.summary())])
    print("slowest takes time:", calls.summary()[0][2] > 0)


if __name__ == "__main__":
    main()
