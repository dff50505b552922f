"""Write the operators of the C++ headers: `python tools/generate_cpp.py [--check]`.

Each schema of `tools/cpp_schemas.txt` (facts about PyTorch's C++ API) that the library has a function for becomes one
function of `at::`, one method of `Tensor`, or both. Its body calls the public function of Python, so that types, modes
and subclasses see the call. The result is checked in, and CI fails on a difference.
"""

from __future__ import annotations

import inspect
import json
import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import tensorlike as tl
from tensorlike.library.schema import Argument, Schema, Type, parse_schema

SCHEMAS = Path(__file__).with_name("cpp_schemas.txt")
OUTPUT = Path(__file__).parent.parent / "tensorlike" / "include" / "tensorlike" / "generated"

#: What PyTorch's C++ API calls otherwise than its Python API.
RENAMED = {"cross_entropy_loss": "nn.functional.cross_entropy", "conv_transpose2d": "nn.functional.conv_transpose2d"}

#: Written by hand in the headers, since they are no operators or take types of C++ alone.
BY_HAND = frozenset(
    [
        "backward",
        "contiguous",
        "data",
        "dim",
        "element_size",
        "get_device",
        "index",
        "index_put",
        "index_put_",
        "is_complex",
        "is_conj",
        "is_contiguous",
        "is_floating_point",
        "is_inference",
        "is_leaf",
        "is_neg",
        "is_signed",
        "item",
        "itemsize",
        "nbytes",
        "ndimension",
        "numel",
        "output_nr",
        "requires_grad_",
        "retain_grad",
        "retains_grad",
        "set_data",
        "size",
        "stride",
        "storage_offset",
        "sym_numel",
        "sym_size",
        "sym_stride",
        "to",
        "to_dense",
        "cpu",
        "cuda",
        "is_same_size",
        "from_file",
        "slice",
    ]
)

#: Words that C++ keeps for itself.
KEYWORDS = {"default", "template", "class", "new", "delete", "operator", "union", "and", "or", "not", "xor"}

#: The options of a factory, in C++ one `TensorOptions`.
OPTIONS = ("dtype", "layout", "device", "pin_memory")

#: Arguments that say nothing here: tensors are strided and never pinned.
IGNORED = {"layout", "pin_memory", "non_blocking"}


#: Factories whose plain tensors the native core makes: by its name of the filling, and whether they take their
#: dtype and device from a tensor.
MADE = {
    "empty": ("TENSORLIKE_UNFILLED", False),
    "zeros": ("TENSORLIKE_ZEROS", False),
    "ones": ("TENSORLIKE_ONES", False),
    "empty_like": ("TENSORLIKE_UNFILLED", True),
    "zeros_like": ("TENSORLIKE_ZEROS", True),
    "ones_like": ("TENSORLIKE_ONES", True),
    "new_empty": ("TENSORLIKE_UNFILLED", True),
    "new_zeros": ("TENSORLIKE_ZEROS", True),
    "new_ones": ("TENSORLIKE_ONES", True),
}


@dataclass
class Parameter:
    """A parameter of a C++ function."""

    name: str
    type: str
    default: str | None
    #: The expression that passes it on, None for an argument that Python has no parameter for.
    passes: str | None = None
    #: The condition under which it has its default.
    is_default: str | None = None

    def declared(self, with_default: bool) -> str:
        """Return its declaration."""
        default = f" = {self.default}" if with_default and self.default is not None else ""
        return f"{self.type} {self.name}{default}"


@dataclass
class Operator:
    """A schema as a function of C++."""

    schema: Schema
    letters: str
    path: str
    returns: str
    parameters: list[Parameter]
    outputs: list[str]

    @property
    def name(self) -> str:
        """The name in C++."""
        return self.schema.name + ("_out" if self.outputs else "")

    @property
    def writes_self(self) -> bool:
        """Whether it writes its first argument and returns it."""
        first = self.schema.arguments[0] if self.schema.arguments else None
        return not self.outputs and first is not None and first.type.is_write and self.returns == "Tensor&"


BASE = {
    "Tensor": "Tensor",
    "int": "int64_t",
    "float": "double",
    "bool": "bool",
    "str": "c10::string_view",
    "Scalar": "Scalar",
    "ScalarType": "ScalarType",
    "Layout": "Layout",
    "MemoryFormat": "MemoryFormat",
    "Device": "Device",
    "Generator": "Generator",
}


def value_type(kind: Type) -> str | None:
    """Return the C++ type of an argument, None for one that the headers have not."""
    if kind.name == "Optional":
        inner = kind.elements[0]
        if inner.name == "List" and inner.elements[0].base == "int":
            return "OptionalIntArrayRef"
        found = value_type(inner)
        return None if found is None else f"std::optional<{found}>"
    if kind.name == "List":
        element = kind.elements[0]
        if element.base == "bool" and kind.size is not None:
            return f"std::array<bool, {kind.size}>"
        if element.name == "Optional":
            return "c10::List<std::optional<Tensor>>" if element.elements[0].name == "Tensor" else None
        found = value_type(element)
        named = {"Tensor": "TensorList", "int64_t": "IntArrayRef"}
        return None if found is None else named.get(found, f"ArrayRef<{found}>")
    return BASE.get(kind.base)


def argument_type(kind: Type) -> str | None:
    """Return how an argument is passed."""
    found = value_type(kind)
    if found == "Tensor" and kind.is_write:
        return "Tensor&"
    by_reference = ("Tensor", "Scalar", "std::optional<Tensor>", "std::optional<Scalar>")
    return f"const {found}&" if found in by_reference or (found or "").startswith("c10::List") else found


def result_type(kind: Type) -> str | None:
    """Return the C++ type of a result."""
    if kind.name == "List":
        return "std::vector<Tensor>" if kind.elements[0].name == "Tensor" else None
    found = BASE.get(kind.base)
    return "Tensor&" if found == "Tensor" and kind.is_write else found


def cpp_default(argument: Argument) -> str | None:
    """Return the default of an argument as C++."""
    if not argument.has_default:
        return None
    value, kind = argument.default, argument.type
    optional = kind.name == "Optional"
    if value is None:
        return "std::nullopt" if optional else "{}"
    while kind.name == "Optional":
        kind = kind.elements[0]
    if kind.base == "MemoryFormat":
        return "MemoryFormat::Contiguous"
    if isinstance(value, list):
        if kind.size is not None and value and all(v == value[0] for v in value) and kind.elements[0].base == "int":
            # One number, as in PyTorch: the array behind a braced default would be gone in some uses.
            return str(value[0])
        return "{" + ", ".join(cpp_literal(v) for v in value) + "}"
    if value == "Mean":
        return "Reduction::Mean"
    if kind.base == "ScalarType":
        return {"long": "kLong", "float": "kFloat"}[value]
    return cpp_literal(value)


def cpp_literal(value: Any) -> str:
    """Return a Python value as a literal of C++."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        if value in (float("inf"), float("-inf")):
            return ("-" if value < 0 else "") + "std::numeric_limits<double>::infinity()"
        return repr(value)
    return json.dumps(value)


def is_default(argument: Argument, name: str, default: str) -> str:
    """Return the C++ condition that `name` has its default."""
    kind = argument.type
    optional = kind.name == "Optional"
    if argument.default is None:
        return f"!{name}.has_value()"
    while kind.name == "Optional":
        kind = kind.elements[0]
    inner = f"(*{name})" if optional else name
    if kind.name == "List" and kind.elements[0].base == "bool":
        condition = f"{inner} == {argument_type(kind)}{default}"
    elif kind.name == "List":
        element = value_type(kind.elements[0])
        listed = default if default.startswith("{") else f"{{{default}}}"
        condition = f"detail::is_list({inner}, std::initializer_list<{element}>{listed})"
    elif kind.base == "Scalar":
        condition = f"{inner}.is_same(Scalar({default}))"
    else:
        condition = f"{inner} == {default}"
    return f"{name}.has_value() && {condition}" if optional else condition


def same_default(argument: Argument, python: Any) -> bool:
    """Return whether the default of a schema is that of the Python parameter."""
    value = argument.default
    if value == [] and python is None:
        return True
    if isinstance(python, str):
        return value in (python, python.capitalize()) or (value == 1 and python == "mean")
    if isinstance(value, list) and not isinstance(python, (list, tuple)):
        return all(v == python for v in value) and bool(value)
    if isinstance(value, list):
        return value == list(python)
    if python is inspect.Parameter.empty or isinstance(python, bool) != isinstance(value, bool):
        return False
    return bool(value == python)


def python_function(name: str) -> tuple[Callable[..., Any], str] | None:
    """Return the public function for an operator and its path, None if the library has none."""
    candidates = [RENAMED[name]] if name in RENAMED else []
    candidates += [name.replace("_", ".", 1) for p in ("linalg_", "fft_", "special_") if name.startswith(p)]
    is_inplace = name.endswith("_") and not name.endswith("__")
    candidates += [f"Tensor.{name}", name] if is_inplace else [name, f"Tensor.{name}"]
    candidates.append(f"nn.functional.{name}")
    for path in candidates:
        found: Any = tl
        for part in path.split("."):
            found = getattr(found, part, None)
        if callable(found) and not inspect.isclass(found) and not inspect.ismodule(found):
            return found, path
    return None


def operator(schema: Schema, letters: str, required: list[str]) -> Operator | str:
    """Return an operator, or the reason why it is left out; `required` are the arguments without a default in C++."""
    if schema.name in BY_HAND:
        return "written by hand"
    found = python_function(schema.name)
    if found is None:
        return "no function of Python"
    function, path = found
    results = [result_type(r.type) for r in schema.returns]
    if None in results:
        return "a result of a type that the headers have not"
    texts = [r for r in results if r is not None]
    returns = "void" if not texts else texts[0] if len(texts) == 1 else f"std::tuple<{', '.join(texts)}>"
    outputs = [a.name for a in schema.arguments if a.keyword_only and a.type.is_write]
    if outputs and not texts:
        return "an output that is a list"
    given = [a for a in schema.arguments if a.name not in outputs]
    parameters = [replace(p, default=None) if p.name.rstrip("_") in required else p for p in passed(given, function)]
    if any(p.type == "" for p in parameters):
        return "an argument of a type that the headers have not"
    missing = [p.name for p in parameters if p.passes is None and p.default is None]
    if missing:
        return f"Python's function has no parameter {missing[0]}"
    return Operator(schema, letters, path, returns, parameters, outputs)


def passed(arguments: list[Argument], function: Callable[..., Any]) -> Iterator[Parameter]:
    """Yield the parameters of the C++ function, each with the way that it is passed on to Python."""
    try:
        python = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        python = []
    by_name = {p.name: p for p in python}
    by_position = [p for p in python if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    variadic = any(p.kind == p.VAR_POSITIONAL for p in python)
    names = [a.name for a in arguments]
    has_options = all(o in names for o in OPTIONS)
    position, keywords_began = 0, False
    for argument in arguments:
        if has_options and argument.name in OPTIONS:
            if argument.name == "dtype":
                required = all(a.default is not None for a in arguments if a.name in OPTIONS)
                yield Parameter("options", "const TensorOptions&", None if required else "{}", "options")
            continue
        type_ = argument_type(argument.type)
        default = cpp_default(argument)
        name = argument.name + ("_" if argument.name in KEYWORDS else "")
        if type_ is None:
            yield Parameter(name, "", None)
            continue
        target = next((n for n in ({"self": "input"}.get(argument.name), argument.name) if n in by_name), None)
        value = name
        if argument.name == "reduction" and type_ == "int64_t":
            value = "reduction_name"
        at_position = by_position[position] if position < len(by_position) else None
        fits = at_position is not None and (at_position.name in (argument.name, target) or position == 0)
        # Another overload of PyTorch's than the one whose names Python's parameters have.
        fits = fits or (at_position is not None and target is None and not argument.has_default)
        passes: str | None
        if not keywords_began and not argument.keyword_only and (fits or variadic):
            parameter = at_position
            position += 1
            passes = value
        elif target is not None:
            parameter = by_name[target]
            keywords_began = keywords_began or not argument.keyword_only
            passes = f'detail::keyword("{target}", {value})'
        else:
            left_out = None if default is None else is_default(argument, name, default)
            yield Parameter(name, type_, default, None, left_out)
            continue
        condition = None
        if default is not None and parameter is not None and same_default(argument, parameter.default):
            condition = is_default(argument, name, default)
            if passes == value:
                passes = f"detail::positional({value}, {condition})"
            else:
                passes = f'detail::keyword("{target}", {value}, {condition})'
        yield Parameter(name, type_, default, passes, condition)


def call(operator: Operator, self_expression: str | None) -> str:
    """Return the body of the function: its checks and its call."""
    lines, arguments = [], []
    for parameter in operator.parameters:
        expression = parameter.passes
        if expression is None:
            if parameter.name not in IGNORED and parameter.is_default is not None:
                lines.append(
                    f'TORCH_CHECK_NOT_IMPLEMENTED({parameter.is_default}, "{operator.schema.name}(): tensorlike has no '
                    f"argument '{parameter.name}'\");"
                )
            continue
        expression = expression.replace("reduction_name", "detail::reduction_name(reduction)")
        if parameter.name == "self" and self_expression is not None:
            expression = self_expression
        arguments.append(expression)
    if len(operator.outputs) == 1:
        arguments.append(f'detail::keyword("out", {operator.outputs[0]})')
    elif operator.outputs:
        arguments.append(f'detail::keyword("out", std::tie({", ".join(operator.outputs)}))')
    if operator.name in MADE:
        filling, like = MADE[operator.name]
        given = [self_expression if p.name == "self" and self_expression else p.name for p in operator.parameters]
        if not like and "memory_format" not in given:
            given.append("std::nullopt")
        maker = "made_like" if like else "made"
        lines.append(f"if (Tensor made = detail::{maker}({', '.join([filling, *given])}); made.defined()) return made;")
    lines.append(f'static detail::PythonFunction function("{operator.path}");')
    result = "void" if operator.outputs or operator.writes_self or "&" in operator.returns else operator.returns
    text = f"detail::call<{result}>({', '.join(['function', *arguments])});"
    if operator.writes_self:
        text += " return const_cast<Tensor&>(*this);" if self_expression else " return self;"
    elif len(operator.outputs) == 1:
        text += f" return {operator.outputs[0]};"
    elif operator.outputs:
        text += f" return {operator.returns}({', '.join(operator.outputs)});"
    elif result != "void":
        text = "return " + text
    lines.append(text)
    return " ".join(lines)


def declared(parameters: list[Parameter], with_defaults: bool = True) -> str:
    """Return a list of parameters; those after the first one without a default have none."""
    return ", ".join(p.declared(with_defaults) for p in parameters)


def generate() -> tuple[dict[str, str], Counter[str]]:
    """Return the text of each file, and how many schemas were left out for which reason."""
    left_out: Counter[str] = Counter()
    methods, definitions, functions = [], [], []
    seen: set[tuple[str, ...]] = set()
    for line in SCHEMAS.read_text().splitlines():
        if line.startswith("#"):
            continue
        letters, _, rest = line.partition(" ")
        text, _, required = rest.partition(" | ")
        found = operator(parse_schema(text), letters, required.split())
        if isinstance(found, str):
            left_out[found] += 1
            continue
        key = (found.name, *(p.type for p in found.parameters))
        if key in seen:
            continue
        seen.add(key)
        others = [p for p in found.parameters if p.name != "self"]
        if "m" in letters:
            methods.append(f"{found.returns} {found.name}({declared(others)}) const;")
            head = f"inline {found.returns} Tensor::{found.name}({declared(others, False)}) const"
            definitions.append(f"{head} {{ {call(found, '*this')} }}")
        if "f" in letters:
            outputs = [Parameter(name, "Tensor&", None) for name in found.outputs]
            functions.append(
                f"inline {found.returns} {found.name}({declared(outputs + found.parameters)}) {{ {call(found, None)} }}"
            )
            if outputs:
                functions.append(
                    f"inline {found.returns} {found.name}f({declared(found.parameters + outputs, False)}) "
                    f"{{ return {found.name}({', '.join(p.name for p in outputs + found.parameters)}); }}"
                )
    head = "// Generated by tools/generate_cpp.py: do not edit.\n"
    files = {"tensor_methods.h": methods, "methods.h": definitions, "functions.h": functions}
    return {name: head + "\n".join(lines) + "\n" for name, lines in files.items()}, left_out


def main() -> int:
    """Write the files, or compare them with `--check`."""
    files, left_out = generate()
    if "--check" in sys.argv[1:]:
        stale = [n for n, text in files.items() if not (OUTPUT / n).exists() or (OUTPUT / n).read_text() != text]
        for name in stale:
            print(f"{OUTPUT.name}/{name} is out of date: run python tools/generate_cpp.py")
        return int(bool(stale))
    OUTPUT.mkdir(exist_ok=True)
    for name, text in files.items():
        (OUTPUT / name).write_text(text)
    if "--summary" in sys.argv[1:]:
        print({name: text.count("\n") - 1 for name, text in files.items()})
        for reason, count in left_out.most_common():
            print(f"{count:5} {re.sub(' +', ' ', reason)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
