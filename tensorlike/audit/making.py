"""Making instances of the audited type, and finding the type: `FILE_OR_MODULE:TYPE`.

A type may define how it is made and how its value is read:

    class ScalarTensor:
        @classmethod
        def __tensorlike_from_dense__(cls, tensor):   # an instance for a plain tensor; raise what cannot be held
            ...

        def __tensorlike_to_dense__(self):            # the instance's value as a plain tensor
            ...
"""

from __future__ import annotations

import contextlib
import difflib
import importlib
import importlib.util
import inspect
import os
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np

import tensorlike

from .api import TensorlikeApi
from .api_torch import TorchApi
from .errors import AuditError
from .foreign import described, let_through, name_of, process_restored, text_of_error
from .options import options_of_class

if TYPE_CHECKING:
    from .api import AuditedApi

FROM_DENSE = "__tensorlike_from_dense__"
TO_DENSE = "__tensorlike_to_dense__"

_HOW = (
    f"give --make EXPR or --from-dense EXPR (in Python: make=, from_dense=), or the type a classmethod "
    f"{FROM_DENSE}(cls, tensor)"
)


def a(kind: type) -> str:
    """Return the name of a type with its article."""
    name = name_of(kind)
    spelled = len(name) == 1 or name.isupper()  # letter by letter: an F, a U
    sound = r"[AEFHILMNORSX]" if spelled else r"(?i)(?!eu|one|uni|use|uti)[aeiou]"
    return f"{'an' if re.match(sound, name) else 'a'} {name}"


class InstanceMaker:
    """Makes instances of one type and reads their values."""

    def __init__(
        self,
        kind: type,
        api: AuditedApi,
        *,
        make: Callable[[], Any] | None,
        from_dense: Callable[[Any], Any] | None,
        to_dense: Callable[[Any], Any] | None,
        how: str,
        plain_results: str = "lost",
        refusals: str = "fault",
        methods: str = "expected",
        positions: str = "tensors",
        metadata: Sequence[Any] = (),
    ) -> None:
        self.kind = kind
        self.api = api
        self._make = make
        self._from_dense = from_dense
        self._to_dense = to_dense
        #: In words: how instances are made.
        self.how = how
        self.takes_tensors = from_dense is not None
        self.has_fixed = make is not None
        self.reads_values = to_dense is not None
        #: Whether plain tensors are meant as answers, one of `options.PLAIN_RESULTS`.
        self.plain_results = plain_results
        #: Whether refusals are meant, one of `options.REFUSALS`.
        self.refusals = refusals
        #: Where instances stand, one of `options.CHOICES["positions"]`.
        self.positions = positions
        #: Whether instances are to have the methods of tensors, one of `options.CHOICES["methods"]`.
        self.methods = "none" if getattr(kind, "__tensor_methods__", True) is False else methods
        #: What instances carry besides their values and the attributes that the type declares: `metadata.Metadata`.
        self.metadata = metadata

    def _checked(self, value: object, how: str) -> Any:
        if not isinstance(value, self.kind):
            raise AuditError(f"{how} makes {a(type(value))}, not {a(self.kind)}")
        return value

    def like(self, tensor: Any) -> Any:
        """Return an instance for a plain tensor, which it may keep."""
        if self._from_dense is None:
            raise AuditError("there is no from_dense")
        return self._checked(self._from_dense(tensor), "from_dense")

    def fixed(self) -> Any:
        """Return an instance of a shape of the type's own choice."""
        if self._make is None:
            raise AuditError("there is no make")
        return self._checked(self._make(), "make" if self._make is not self.kind else self.how)

    def dense(self, instance: object) -> Any:
        """Return the value of an instance as a plain tensor."""
        if self._to_dense is None:
            raise AuditError("there is no to_dense")
        value = self._to_dense(instance)
        return value if type(value) is self.api.tensor else self.api.as_plain(value)

    def first_error(self, read: Callable[[Any], Any]) -> BaseException | None:
        """Return the exception that `read` of an instance raises, None where it raises none."""
        try:
            read(self._first())
        except BaseException as error:
            let_through(error)
            return error
        return None

    def _first(self) -> Any:
        """Return an instance: of a small tensor, or of the type's own choice."""
        if self._from_dense is not None:
            for shape in ((2, 2), (), (3,)):
                with contextlib.suppress(Exception):
                    return self.like(self.api.tensor_of(np.full(shape, 2, dtype=np.float32)))
        return self.fixed()

    def check(self) -> None:
        """Raise AuditError unless instances can be made in one way at least, and read if they are to be."""
        errors: list[BaseException] = []
        instance: Any = None
        if self._from_dense is not None:
            for shape in ((2, 2), (), (3,)):
                try:
                    instance = self.like(self.api.tensor_of(np.full(shape, 2, dtype=np.float32)))
                    break
                except BaseException as error:
                    let_through(error)
                    errors.append(error)
        if self._make is not None:
            try:
                instance = self.fixed()
            except BaseException as error:
                let_through(error)
                errors.append(error)
                self._make, self.has_fixed = None, False
        if instance is None:
            first = errors[0]
            text = text_of_error(first) if isinstance(first, AuditError) else f"{self.how} raises {described(first)}"
            raise AuditError(f"cannot make {a(self.kind)}: {text}; {_HOW}")
        if self._to_dense is not None:
            try:
                self.dense(instance)
            except BaseException as error:
                let_through(error)
                text = f"to_dense of {a(self.kind)} raises {described(error)}"
                raise AuditError(f"{text}; it must return the instance's value as a plain tensor") from error


def instances_of(
    type_or_maker: type | Callable[[], Any],
    *,
    make: Callable[[], Any] | None = None,
    from_dense: Callable[[Any], Any] | None = None,
    to_dense: Callable[[Any], Any] | None = None,
    api: AuditedApi | None = None,
) -> tuple[type, InstanceMaker]:
    """Return the audited type and the InstanceMaker for it; see `tensorlike.overrides.audit` for the order."""
    if api is None:
        api = TensorlikeApi()
    if isinstance(type_or_maker, type):
        kind = type_or_maker
    elif callable(type_or_maker):
        make = type_or_maker
        try:
            kind = type(make())
        except BaseException as error:
            let_through(error)
            raise AuditError(f"the function that makes an instance raises {described(error)}") from error
    else:
        raise AuditError(f"audit() takes a type, or a function that returns an instance, not {type_or_maker!r}")
    _check_kind(kind, api)
    said = options_of_class(kind)
    if make is None and from_dense is None:
        make, from_dense = said.get("make"), said.get("from_dense")
    to_dense = to_dense or said.get("to_dense")
    how = "make" if make is not None else ""
    if from_dense is None and hasattr(kind, FROM_DENSE):
        from_dense = getattr(kind, FROM_DENSE)
        how = how or f"{name_of(kind)}.{FROM_DENSE}"
    elif from_dense is not None:
        how = "from_dense"
    if to_dense is None:
        if hasattr(kind, TO_DENSE):
            to_dense = lambda instance: getattr(instance, TO_DENSE)()
        elif issubclass(kind, api.tensor):
            to_dense = api.as_plain
    if from_dense is None and make is None:
        if issubclass(kind, api.tensor):
            from_dense, how = _from_tensor(kind, api)
        else:
            make = kind
            how = f"{name_of(kind)}()"
    maker = InstanceMaker(
        kind,
        api,
        make=make,
        from_dense=from_dense,
        to_dense=to_dense,
        how=how,
        plain_results=said.get("plain_results", "lost"),
        refusals=said.get("refusals", "fault"),
        methods=said.get("methods", "expected"),
        positions=said.get("positions", "tensors"),
        metadata=said.get("metadata", ()),
    )
    maker.check()
    return kind, maker


def _from_tensor(kind: type, api: AuditedApi) -> tuple[Callable[[Any], Any], str]:
    """Return how an instance of a subclass of Tensor is made of a tensor, and that in words.

    `as_subclass` skips the constructor, so that instances of a class with one of its own would lack what it sets: then
    it is the constructor that is called with the tensor. Raises AuditError where it needs more than that.
    """
    constructor = _own_constructor(kind, api)
    if constructor is None:
        return (lambda tensor: api.as_subclass(tensor, kind)), f"a tensor made {a(kind)}"
    name = name_of(kind)
    try:
        signature = inspect.signature(constructor)
        signature.bind(kind, None)
    except (TypeError, ValueError):
        pass
    else:
        return (lambda tensor: _leaf(kind(tensor), tensor, api)), f"{name}(tensor)"
    required = [
        p.name if p.kind is not p.KEYWORD_ONLY else f"{p.name}=..."
        for p in list(signature.parameters.values())[1:]
        if p.default is p.empty and p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)
    ]
    rest, needed = ", ".join(["t", *required[1:]]), ", ".join(required) or "no tensor"
    raise AuditError(
        f"cannot make {a(kind)} of a tensor: {constructor.__qualname__}() needs {needed}, and "
        f"an instance made without it would lack what it sets; give --from-dense "
        f'"lambda t: {name}({rest})" or --make EXPR (in Python: from_dense=, make=), or the type a classmethod '
        f"{FROM_DENSE}(cls, tensor)"
    )


def _leaf(made: Any, tensor: Any, api: AuditedApi) -> Any:
    """Return what a constructor made of a leaf as a leaf with the same attributes.

    Constructors end in `as_subclass` or `Tensor.__new__`, which give a view of the tensor: functions that are for
    leaves alone would refuse it, whatever the type does.
    """
    kind = type(made)
    if not isinstance(made, api.tensor) or any("__slots__" in vars(base) for base in _bases_below(kind, api)):
        return made
    plain = api.as_plain(made).detach()
    leaf = api.as_subclass(plain.requires_grad_(tensor.requires_grad), kind)
    leaf.__dict__.update(made.__dict__)
    return leaf


def _bases_below(kind: type, api: AuditedApi) -> list[type]:
    return [base for base in kind.__mro__ if not issubclass(api.tensor, base)]


def _own_constructor(kind: type, api: AuditedApi) -> Any:
    """Return the `__init__` or `__new__` with parameters that comes before the library's own, None without one."""
    for base in kind.__mro__:
        if base is api.tensor:
            return None
        for name in ("__init__", "__new__"):
            method = vars(base).get(name)
            function = getattr(method, "__func__", method)
            code = getattr(function, "__code__", None)
            if code is None or api.is_own_code(code):
                continue
            if code.co_argcount + code.co_kwonlyargcount > 1 or code.co_flags & inspect.CO_VARARGS:
                return function
    return None


def _has_protocol(value: object) -> bool:
    try:
        return isinstance(value, type) and hasattr(value, "__torch_function__")
    except BaseException as error:  # A metaclass whose __getattr__ raises something else.
        let_through(error)
        return False


def _check_kind(kind: type, api: AuditedApi) -> None:
    if kind is api.tensor:
        raise AuditError(f"{name_of(kind)} is the plain tensor: audit a subclass, or a type with __torch_function__")
    try:
        known = hasattr(kind, "__torch_function__")
    except BaseException as error:
        let_through(error)
        raise AuditError(f"{name_of(kind)} cannot be asked for its __torch_function__: {described(error)}") from error
    if not known:
        raise AuditError(
            f"{name_of(kind)} has no __torch_function__, so no function asks it: define the classmethod "
            f"__torch_function__(cls, func, types, args=(), kwargs=None)"
        )


def api_named(name: str) -> AuditedApi:
    """Return the API called "tensorlike" or "torch". Raises AuditError for others, or without PyTorch."""
    if name == "torch":
        return TorchApi()
    if name != "tensorlike":
        raise AuditError(f"the API to audit against is 'tensorlike' or 'torch', not {name!r}")
    return TensorlikeApi()


def evaluated(expression: str, option: str, module: ModuleType, kind: type) -> Any:
    """Return a function that evaluates `expression` where the type was defined, with `tl` at hand."""
    try:
        code = compile(expression, f"<{option}>", "eval")
    except (SyntaxError, ValueError) as error:
        reason = error.msg if isinstance(error, SyntaxError) else error
        raise AuditError(f"{option} {expression!r} is no expression: {reason}") from error
    namespace: dict[str, Any] = {"tl": tensorlike, name_of(kind): kind, **vars(module)}

    def value() -> Any:
        return eval(code, namespace)

    if option == "--make":

        def make() -> Any:
            found = value()
            # `--make SomeType` and `--make "lambda: ..."` are as good as a call.
            return found() if callable(found) and not isinstance(found, kind) else found

        return make
    try:
        function = value()
    except BaseException as error:
        let_through(error)
        raise AuditError(f"{option} {expression!r} raises {described(error)}") from error
    if not callable(function):
        raise AuditError(f'{option} {expression!r} is {a(type(function))}, not a function such as "lambda x: x"')
    return function


@contextlib.contextmanager
def target(text: str) -> Iterator[tuple[ModuleType, type]]:
    """Import FILE_OR_MODULE:TYPE and yield the module and the type; the import path is as it was afterwards.

    A file is imported under its stem, with its folder first on the path, so that its instances can be pickled.
    """
    where, colon, name = text.rpartition(":")
    if not colon or not where or not name:
        raise AuditError(
            f"what to audit is given as FILE_OR_MODULE:TYPE, such as examples/scalar_tensor.py:ScalarTensor, "
            f"not {text!r}"
        )
    is_file = where.endswith(".py") or os.sep in where or "/" in where
    folder = os.path.dirname(os.path.abspath(where)) if is_file else os.getcwd()
    sys.path.insert(0, folder)
    stem = ""
    try:
        if is_file:
            module, stem = _imported_file(where)
        else:
            module = _imported_module(where)
        yield module, _type_of(module, where, name)
    finally:
        with contextlib.suppress(ValueError):
            sys.path.remove(folder)
        if stem:
            sys.modules.pop(stem, None)


def _imported_module(name: str) -> ModuleType:
    with _importing(name):
        return importlib.import_module(name)


def _imported_file(path: str) -> tuple[ModuleType, str]:
    """Return the module of a file, and its name if it was not imported before."""
    full = os.path.abspath(path)
    if not os.path.isfile(full):
        raise AuditError(f"there is no file {path}")
    stem = os.path.splitext(os.path.basename(full))[0]
    known = sys.modules.get(stem)
    if known is not None:
        if os.path.abspath(getattr(known, "__file__", None) or "") == full:
            return known, ""
        raise AuditError(
            f"{path} cannot be imported as {stem!r}: another module of this name is loaded; rename the file"
        )
    spec = importlib.util.spec_from_file_location(stem, full)
    if spec is None or spec.loader is None:
        raise AuditError(f"{path} is no Python file: its name must end with .py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[stem] = module
    try:
        with _importing(path):
            spec.loader.exec_module(module)
    except BaseException:
        sys.modules.pop(stem, None)
        raise
    return module, stem


@contextlib.contextmanager
def _importing(what: str) -> Iterator[None]:
    # Output of a module while it is imported must not get into the JSON on standard output.
    try:
        with contextlib.redirect_stdout(sys.stderr), process_restored():
            yield
    except BaseException as error:
        let_through(error)
        raise AuditError(f"cannot import {what}: {described(error)}") from error


def _type_of(module: ModuleType, where: str, name: str) -> type:
    found: Any = module
    for part in name.split("."):
        try:
            found = getattr(found, part)
        except BaseException as error:
            let_through(error)
            types = [n for n, v in vars(module).items() if _has_protocol(v)]
            near = difflib.get_close_matches(name, types, n=1)
            known = f"it has {', '.join(types)}" if types else "it has no type with __torch_function__"
            raise AuditError(f"{where} has no {name}; {f'did you mean {near[0]}?' if near else known}") from None
    if not isinstance(found, type):
        raise AuditError(f"{name} in {where} is {a(type(found))}, not a type")
    return found
