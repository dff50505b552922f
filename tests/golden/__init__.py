"""Golden files: what is generated for six kinds of operations, and each block of a wrapper by itself.

A change of a template changes them, so that it is read in review as the code that it generates.

    python -m tests.golden        # writes them anew
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from tensorlike.dispatch import generated
from tensorlike.dispatch.registry import REGISTRY
from tensorlike.dispatch.signature import Parameter
from tensorlike.dispatch.wrap import (
    collect_lines,
    foreign_lines,
    known_lines,
    plain_lines,
    wrapper_parameters,
    wrapper_source,
)
from tensorlike.tensor.forms import foreign_test, plain_but_foreign
from tensorlike.tensor.generate_hot import hot_source, inherited_lines, inplace_hot_source

FOLDER = Path(__file__).parent

#: An operation of each kind, and the form of which everything is shown; of the others what differs by kind.
ARCHETYPES = {
    "unary": "tensorlike.exp",
    "binary": "tensorlike.mul",
    "reduction": "tensorlike.sum",
    "view": "tensorlike.transpose",
    "several": "tensorlike.sort",
    "inplace": "tensorlike.Tensor.mul_",
}


def archetype(name: str) -> str:
    """Return all that is generated for one form, its wrapper first, and for the recording of its operation."""
    form = REGISTRY[ARCHETYPES[name]]
    functions = [form.function, form.implementation, *([form.inherited] if form.inherited is not None else [])]
    found = generated.pieces([*functions, *form.operation.generated_functions()])
    return "\n".join(f"# {piece.filename}\n{piece.source.rstrip()}\n" for piece in found)


def blocks() -> Iterator[tuple[str, list[str]]]:
    """Yield the name and the lines of each block, as the functions named after them write it."""

    def own(name: str) -> list[Parameter]:
        return wrapper_parameters(REGISTRY[name].parameters)

    mul, total, stack = own("tensorlike.mul"), own("tensorlike.sum"), own("tensorlike.stack")
    softmax, index = own("tensorlike.nn.functional.softmax"), own("tensorlike.Tensor.__getitem__")
    operation = REGISTRY["tensorlike.mul"].operation
    yield "hot, of two operands", hot_source(operation, mul).splitlines()  # type: ignore[arg-type]
    yield "hot, in place", inplace_hot_source(operation, own("tensorlike.Tensor.mul_")).splitlines()  # type: ignore[arg-type]
    yield "hot, of an operator", plain_but_foreign(mul, "Tensor.__eq__").strip().splitlines()
    yield "plain, of operands alone", plain_lines(own("tensorlike.Tensor.t"))
    yield "plain, with options", plain_lines(total)
    yield "plain, with options of a Python function", plain_lines(softmax, strict=True)
    yield "plain, of a sequence", plain_lines(stack)
    yield "plain, of an index", plain_lines(index)
    yield "plain, of variadic operands", plain_lines(own("tensorlike.broadcast_tensors"))
    yield "foreign", foreign_lines(foreign_test(mul))
    yield "known, of an elementwise operation", known_lines(mul, inherited_lines(operation, mul))  # type: ignore[arg-type]
    yield "known, with options", known_lines(total, ())
    yield "known, of a sequence", known_lines(stack, ())
    yield "collect, of operands alone", collect_lines(mul)
    yield "collect, of a sequence", collect_lines(stack)
    yield "wrapper, of no operand", wrapper_source([p._replace(operand=None) for p in total]).splitlines()


def expected() -> dict[str, str]:
    """Return the text of every golden file by its name."""
    texts = {f"{name}.txt": archetype(name) for name in ARCHETYPES}
    texts["blocks.txt"] = "\n".join(f"# {name}\n" + "\n".join(lines) + "\n" for name, lines in blocks())
    return texts
