"""The function that an implementation is handed for each operator, protocol and property, beside PyTorch's."""

from __future__ import annotations

import copy
import math
import operator
import re
import warnings

import numpy as np
import pytest
import torch

import tensorlike as tl

ARITHMETIC = ("+", "-", "*", "/", "//", "%", "**", "@")
BITWISE = ("&", "|", "^", "<<", ">>")
COMPARISONS = ("==", "!=", "<", "<=", ">", ">=")

#: What the statements are about: `x` is plain, `d` a type of another kind, `s` a subclass; `i` and `si` have integers,
#: `n` and `ni` one element. The mode sees them as plain tensors.
PAIRS = (("x", "d"), ("d", "x"), ("s", "2"), ("2", "s"), ("s", "x"), ("x", "s"), ("s", "s"))
STATEMENTS = [
    *(f"{a} {sign} {b}" for sign in (*ARITHMETIC, *COMPARISONS) for a, b in PAIRS if (sign, b) != ("@", "2")
      and (sign, a) != ("@", "2")),
    *(f"{a} {sign} {b}".replace("x", "i").replace("s", "si") for sign in BITWISE for a, b in PAIRS),
    *(f"{a} {sign}= {b}" for sign in ARITHMETIC for a, b in PAIRS if a in "xs" and (sign, b) != ("@", "2")),
    *(f"{a} {sign}= {b}".replace("x", "i").replace("s", "si") for sign in BITWISE for a, b in PAIRS if a in "xs"),
    "s + d", "d + s", "s ** d", "s == d", "d == s", "s != d", "d < s",
    "divmod(x, d)", "divmod(d, x)", "x.__eq__(d)", "x.__add__(d)", "x.eq(d)", "x.add_(d)", "s.__rpow__(2)",
    "s.__rdiv__(2)",
    "-s", "+s", "~si", "abs(s)", "round(s)", "math.trunc(n)", "math.floor(n)", "math.ceil(n)",
    "len(s)", "bool(n)", "int(n)", "float(n)", "complex(n)", "operator.index(ni)", "hash(s)", "repr(s)", "str(s)",
    "format(n, '.2f')", "format(s)", "iter(s)", "reversed(s)", "1.0 in s", "n in x", "d in x", "n in [n]",
    "s[0]", "s[0:1]", "s[si]", "x[si]", "x[d]", "x[0, d]", "s[0] = 1.0", "x[0] = n[0]", "x[d] = 1.0", "x[0] = d",
    "x[si] = 1.0", "del s[0]", "copy.copy(s)", "np.asarray(s)", "s.__array__()", "np.sin(s)", "s.__dlpack__()",
    "s.__dlpack_device__()", "s.__array_wrap__(np.ones(2))", "s.__reduce_ex__(2)", "s.as_subclass(type(x))",
    *(f"s.{name}()" for name in (
        "backward", "retain_grad", "requires_grad_", "detach", "storage", "untyped_storage", "numpy", "tolist", "size",
        "stride", "dim", "numel", "data_ptr", "is_contiguous", "storage_offset", "element_size", "is_floating_point",
        "share_memory_", "is_shared", "type", "cpu", "double", "unique", "norm", "get_device",
    )),
    "s.split(1)", "s.to('cpu')", "s.copy_(x)", "x.copy_(s)", "s.new(2)", "s.resize_(2)", "s.register_hook(print)",
    "s.unflatten(0, (1, 2))", "s.apply_(abs)", "s.map_(x, max)", "n.item()",
    *(f"s.{name}" for name in (
        "shape", "dtype", "device", "layout", "grad", "_grad", "grad_fn", "_grad_fn", "data", "requires_grad",
        "is_leaf", "ndim", "T", "H", "mT", "mH", "real", "imag", "names", "_base", "_version", "itemsize", "nbytes",
        "is_cuda",
        "is_cpu", "is_meta", "is_sparse", "is_quantized", "output_nr", "retains_grad", "name", "volatile", "grad_dtype",
        "_backward_hooks", "_post_accumulate_grad_hooks", "missing", "__dict__", "__class__",
    )),
    "s.grad = x", "s._grad = x", "x.grad = s", "x.grad = d", "s.grad = None", "s.data = x", "x.data = s", "x.data = d",
    "s.requires_grad = True", "s.names = None", "s.shape = (2,)", "s.dtype = None", "s.grad_fn = None", "s.T = x",
    "s.is_leaf = True", "s.grad_dtype = None", "s._backward_hooks = None", "s._post_accumulate_grad_hooks = None",
    "s.missing = 1", "del s.grad", "del s._grad", "del s.shape", "del s.dtype",
]  # fmt: skip

_OBJECT = "`Tensor.__neg__` is another function that reports `Tensor.neg`, as `__add__` is; PyTorch's is the same one"
_AS_CALLED = "arguments arrive as the caller passed them; PyTorch's functions in Python name those that they hand on"
_STATE = "no other function is called for the state; PyTorch's reads the properties where a mode sees it"
_ANYWHERE = "a type is asked wherever it stands; PyTorch's accessor and `in` refuse what is no tensor without asking it"
_BOTH = "both operands are asked, in order; PyTorch's `==` asks the left one alone"
KNOWN = {
    "subclass": {
        "-s": _OBJECT, "abs(s)": _OBJECT, "np.sin(s)": _AS_CALLED, "s.__array_wrap__(np.ones(2))": _AS_CALLED,
        "s == d": _BOTH, "d == s": _BOTH,
        "x.grad = d": _ANYWHERE, "x.data = d": _ANYWHERE, "d in x": _ANYWHERE,
        "n in x": "`eq` is called; PyTorch's `__contains__` says `==`",
    },
    "mode": {
        "-s": _OBJECT, "abs(s)": _OBJECT, "np.sin(s)": _AS_CALLED, "s.__array_wrap__(np.ones(2))": _AS_CALLED,
        "copy.copy(s)": _STATE, "s.__reduce_ex__(2)": _STATE,
    },
}  # fmt: skip


def _namespace(library, log, kind):
    def implementation(cls, func, types, args=(), kwargs=None):
        log.append((func, types, len(args)))
        return "answered"

    def of_subclass(cls, func, types, args=(), kwargs=None):
        log.append((func, types, len(args)))
        return super(Sub, cls).__torch_function__(func, types, args, kwargs or {})

    def of_mode(self, func, types, args=(), kwargs=None):
        log.append((func, types, len(args)))
        return func(*args, **(kwargs or {}))

    Duck = type("Duck", (), {"__torch_function__": classmethod(implementation), "__hash__": object.__hash__})
    Sub = type("Sub", (library.Tensor,), {"__torch_function__": classmethod(of_subclass)})
    Mode = type("Mode", (library.overrides.TorchFunctionMode,), {"__torch_function__": of_mode})
    made = (lambda t: t.as_subclass(Sub)) if kind == "subclass" else (lambda t: t)
    values = {
        "x": library.ones(2), "i": library.ones(2, dtype=library.int64), "d": Duck(),
        "s": made(library.ones(2)), "si": made(library.ones(2, dtype=library.int64)),
        "n": made(library.ones(1)), "ni": made(library.ones(1, dtype=library.int64)),
        "copy": copy, "math": math, "np": np, "operator": operator,
    }  # fmt: skip
    return values, Mode()


def _paths(library, func):
    """Return the places where `func` itself is to be found: the methods and accessors of Tensor."""
    if func.__name__ in ("__get__", "__set__", "__delete__"):
        names = [n for n in dir(library.Tensor) if getattr(library.Tensor, n, None) is func.__self__]
        return tuple(f"{name}.{func.__name__}" for name in names)
    return tuple(n for n in sorted(dir(library.Tensor)) if getattr(library.Tensor, n, None) is func)


def asked(library, statement, kind):
    """Return what implementations were handed: name, places and number of arguments, with the types."""
    log = []
    values, mode = _namespace(library, log, kind)
    log.clear()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            if kind == "mode":
                with mode:
                    exec(statement, values)
            else:
                exec(statement, values)
        except Exception:  # What is raised is compared elsewhere.
            pass
        found = []
        for func, types, count in log:
            # PyTorch's functions written in Python list Tensor itself among the types, those in C do not.
            names = tuple(t.__name__ for t in types if t is not library.Tensor)
            found.append((func.__name__, _paths(library, func), names, count))
    return found


#: The mode sees plain tensors.
CASES = [(kind, s) for kind in KNOWN for s in STATEMENTS if kind == "subclass" or not re.search(r"\bd\b", s)]


@pytest.mark.parametrize(("kind", "statement"), CASES)
def test_the_same_functions_are_handed_over(kind, statement):
    theirs, ours = (asked(library, statement, kind) for library in (torch, tl))
    if statement in KNOWN[kind]:
        assert theirs != ours, "no difference any more"
    else:
        assert ours == theirs
