"""The audit itself: making the calls and judging the results.

# Note [How a call is chosen]
An instance made from a dense tensor stands in for the operand of a sample, which then is a call that plain tensors
take. An instance that was made without regard to the sample (`--make`) has a shape of its own, so the other operands
are resized to go with it where its shape is known, and several samples are tried: the best outcome counts, since the
worst may be the sample's fault. Where the instance's value is known, the same call with plain tensors comes first, and
a sample that they do not take is not used.
"""

from __future__ import annotations

import contextlib
import contextvars
import functools
import sys
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np

from tensorlike.dispatch.missing import MISSING

from .answering import Answering, Trace, handlers_of, is_watched
from .answering_code import Location, Recorder
from .api import AuditedApi, AuditedFunction, Call, TensorlikeApi, is_of_tensors
from .arguments import Place, at, copied, fitted, is_number, places, replaced, shown_call, text_of
from .errors import AuditError
from .failures import is_deliberate
from .foreign import described, let_through, name_of, printable, process_restored, qualified_name, text_of_error
from .judging import Arguments, Attempt, Judge, PlainCall, Unusable
from .making import InstanceMaker, a
from .metadata import Metadata, marked, metadata_of
from .model import AuditReport, AuditRow, SignatureProblem, ValueCheck
from .observed_calls import (
    TRIES,
    UNSETTLED,
    Answer,
    Printed,
    given_back,
    has_instance,
    implementer,
    is_variant,
    is_written_to,
    matching,
    shown_warning,
    simplicity,
    unmatched,
    was_number,
)
from .outcomes import FAULTY, Outcome
from .parallel import Audited, End, available_jobs, in_workers
from .sections import extra_rows
from .signatures import compared, confirmed, is_refused_by_python, refusal

__all__ = ["Attempt", "Auditor"]

_PRINTED = 2000


class Auditor:
    """Audits one type; `run` returns the report."""

    def __init__(
        self,
        kind: type,
        maker: InstanceMaker,
        *,
        only: Sequence[str] = (),
        progress: Callable[[int, int, str], None] | None = None,
        api: AuditedApi | None = None,
        plain_results: str | None = None,
        refusals: str | None = None,
        methods: str | None = None,
        positions: str | None = None,
        metadata: Sequence[Metadata] | None = None,
    ) -> None:
        self.kind = kind
        self.maker = maker
        self.api: AuditedApi = TensorlikeApi() if api is None else api
        #: Whether the type means to refuse what it refuses.
        self.refusals_meant = (refusals or maker.refusals) == "ok"
        #: Whether instances are to have the methods and operators of tensors.
        self.methods = (methods or maker.methods) != "none"
        #: Whether instances stand where calls have numbers, dims and sizes too.
        self.all_positions = (positions or maker.positions) == "all"
        self.only = tuple(only)
        found = metadata_of(kind, maker, maker.metadata if metadata is None else metadata)
        kept = (kind, self.api.tensor) if (plain_results or maker.plain_results) == "ok" else (kind,)
        self.judge = Judge(maker, self.api, kept, found)
        self.progress = progress
        functions = self.api.functions()
        for pattern in only:
            if not matching(functions, (pattern,)):
                raise AuditError(unmatched(pattern, functions))
        self.functions = matching(functions, only)
        self.handlers = handlers_of(kind, self.api)
        self.watched = is_watched(kind, self.handlers)
        self.warnings: Counter[str] = Counter()
        #: Sentences for the report: see `AuditReport.notes`.
        self.notes: list[str] = []
        #: Tells the process that started this one what ended it.
        self.in_plain_call: Any = bytearray(1)
        #: Rows of functions that are not called, by the name of the function.
        self.kept_rows: Mapping[str, list[AuditRow]] = {}
        #: Notes the code that runs, if that is asked for; `run` fills in where it is written, for each function.
        self.recorder: Recorder | None = None
        self.ran: dict[str, frozenset[Location]] = {}
        #: Called with the function, the operand and the arguments before each call.
        self.on_attempt: Callable[[AuditedFunction, str, Attempt], None] | None = None

    @property
    def carries(self) -> bool:
        """Whether instances carry something besides their values that is compared."""
        return bool(self.judge.metadata)

    def run(self, jobs: int = 0) -> AuditReport:
        """Make all calls and return the report. With `jobs`, so many processes make them where they can be forked."""
        begin = time.perf_counter()
        with self.api.repeatable(), self.api.same_random_numbers():
            results = self._results(jobs)
        if self.progress is not None:
            self.progress(len(self.functions), len(self.functions), "")
        rows: list[AuditRow] = []
        given: Counter[str] = Counter()
        for function, result in zip(self.functions, results):
            for row in result.rows:
                row.meant = self.refusals_meant and any(word is Outcome.REFUSED for word, _ in row.findings)
            rows += result.rows
            given.update(result.warnings)
            if function.name not in self.kept_rows:
                self.ran[function.name] = result.ran
        with self.api.repeatable():
            rows += extra_rows(self, jobs, rows)
        return AuditReport(
            type_name=qualified_name(self.kind),
            rows=rows,
            api=self.api.name,
            version=self.api.version,
            instances=self.maker.how,
            seconds=round(time.perf_counter() - begin, 3),
            warnings=dict(given),
            notes=list(self.notes),
        )

    def _results(self, jobs: int) -> list[Audited]:
        """Return the results of all functions in their order."""
        total = len(self.functions)
        found = {
            index: Audited(self.kept_rows[function.name], Counter())
            for index, function in enumerate(self.functions)
            if function.name in self.kept_rows
        }
        if not jobs or not available_jobs():
            for index, function in enumerate(self.functions):
                if self.progress is not None:
                    self.progress(index, total, function.name)
                if index not in found:
                    found[index] = self.audited(index, {})
            return [found[index] for index in range(total)]
        # The forms of one function come after each other: one process has their samples.
        families: dict[Any, list[int]] = {}
        for index, function in enumerate(self.functions):
            if index not in found:
                families.setdefault(function.family, []).append(index)
        order = [index for members in families.values() for index in members]
        if order:
            # What the samples import is imported once, before the processes are forked.
            next(iter(self.api.calls(self.functions[0])), None)
        report = self.progress
        progress = None if report is None else (lambda done, at: report(done, total, self.functions[at].name))
        found.update(in_workers(self, order, jobs, progress))
        return [found[index] for index in range(total)]

    # One function.

    def audited(self, index: int, ended: Mapping[str, End], announce: Callable[[str], None] | None = None) -> Audited:
        """Return the rows of the function numbered `index`, whichever functions were audited before it."""
        self.warnings = Counter()
        if self.recorder is not None:
            self.recorder.codes.clear()
        with self.api.same_random_numbers(), process_restored():
            if self.recorder is not None:
                sys.settrace(self.recorder)  # `process_restored` puts the one that was there back.
            rows = self.audit_function(self.functions[index], ended, announce)
        return Audited(rows, self.warnings, frozenset() if self.recorder is None else self.recorder.places())

    def sample_calls(self, function: AuditedFunction) -> list[Call]:
        """Return the sample calls of a function, the simplest first."""
        return sorted(self.api.calls(function), key=lambda call: simplicity(call, self.api.tensor))

    def audit_function(
        self,
        function: AuditedFunction,
        ended: Mapping[str, End] = MappingProxyType({}),
        announce: Callable[[str], None] | None = None,
    ) -> list[AuditRow]:
        """Return the rows of one function, one for each operand.

        `announce` is called with each operand before any call with it. An operand in `ended` is not tried: calls with
        it end the process, in the manner stated there.
        """
        calls = self.sample_calls(function)
        rows: list[AuditRow] = []
        for index, parameter in enumerate(p for p in function.parameters if p.operand):
            if announce is not None:
                announce(parameter.name)
            if parameter.name in ended:
                row = AuditRow(function.name, function.namespace, function.form, parameter.name, Outcome.RAISED)
                row.error, by_plain = ended[parameter.name]
                if by_plain:
                    row.outcome, row.reason = Outcome.NOT_CALLED, f"with plain tensors alone, {row.error}"
                    row.error = ""
                rows.append(row)
                continue
            try:
                row, answering = self._audit_operand(function, parameter.name, calls)
            except BaseException as error:
                # An attribute of the type, or of its instances, raised while the call was judged.
                let_through(error)
                row = AuditRow(function.name, function.namespace, function.form, parameter.name, Outcome.RAISED)
                row.error_type, row.error = name_of(type(error)), text_of_error(error)
                answering = None
                error.__traceback__ = None
                rows.append(row)
                continue
            ends = row.left_out or row.recursed or row.outcome is Outcome.NOT_CALLED
            if index == 0 and not ends:
                self._audit_parameters(function, parameter.name, calls, row)
            elif answering is not None and index:
                # The first row lists what is wrong with the signature, unless another function answers here.
                first = rows[0]
                if first.answered_by == row.answered_by:
                    row.signature = [p for p in row.signature if p.parameter == row.operand]
            if row.passed and function.elementwise and parameter.name in function.mutates:
                self._audit_aliased(function, parameter.name, calls, row)
            rows.append(row)
        return rows

    def _audit_operand(
        self, function: AuditedFunction, operand: str, calls: Sequence[Call]
    ) -> tuple[AuditRow, Answering | None]:
        best: tuple[AuditRow, Answering | None] | None = None
        reason = self.api.excluded(function, operand, self.kind)
        if not self.methods and is_of_tensors(function.name) and operand == function.parameters[0].name:
            reason = f"{name_of(self.kind)} says that it has no methods"
        if reason:
            calls = ()
        tries = 0
        for attempt in self.attempts(function, operand, calls):
            if isinstance(attempt, str):
                reason = reason or attempt
                continue
            tries += 1
            judged = self._judged(function, operand, attempt)
            if judged[0].outcome is Outcome.NOT_CALLED:
                reason = judged[0].reason
                if tries >= TRIES:
                    break
                continue
            if best is None or judged[0].severity < best[0].severity:
                best = judged
            # With an operand made for the sample, the sample cannot be the cause, nor of an answer or NotImplemented.
            settled = attempt.fits or best[0].outcome not in UNSETTLED
            if settled or tries >= TRIES:
                break
        if best is not None:
            return best
        if not calls and not reason:
            reason = "there are no sample inputs of this function"
        reason = reason or f"no sample call passes a tensor as {operand!r}"
        row = AuditRow(function.name, function.namespace, function.form, operand, Outcome.NOT_CALLED, reason=reason)
        return row, None

    def faulty_attempts(self, function: AuditedFunction, operand: str) -> Iterator[tuple[AuditRow, Attempt]]:
        """Make every call with an instance as `operand` and yield those that are faults, with how to make them anew."""
        calls = list(self.api.calls(function))
        if self.api.excluded(function, operand, self.kind):
            return
        for chosen in (calls, *(chosen for _, chosen in self._variations(function, calls))):
            for attempt in self.attempts(function, operand, chosen):
                if isinstance(attempt, str):
                    continue
                row, _ = self._judged(function, operand, attempt)
                if row.called and not row.passed:
                    with contextlib.suppress(Unusable):
                        yield row, attempt.anew()

    def _audit_parameters(self, function: AuditedFunction, operand: str, calls: Sequence[Call], row: AuditRow) -> None:
        """Call the function with each optional parameter away from its default, and by keyword."""
        refused: list[SignatureProblem] = []
        for parameter, chosen in self._variations(function, calls):
            tries = 0
            problem: SignatureProblem | None = None
            for attempt in self.attempts(function, operand, chosen):
                if isinstance(attempt, str):
                    continue
                tries += 1
                judged, _ = self._judged(function, operand, attempt, in_words=False)
                problem = None
                if row.error_type and (judged.error_type, judged.error) == (row.error_type, row.error):
                    break  # The parameter makes no difference.
                if judged.outcome in FAULTY and judged.outcome is not Outcome.TYPE_LOST:
                    words = f"{judged.error_type}: {judged.error}"
                    by_type = judged.outcome is Outcome.REFUSED
                    problem = refusal(parameter, self._in_words(function, attempt), words, by_type=by_type)
                    if not attempt.fits and not judged.signature and judged.outcome in UNSETTLED:
                        # The shapes may be at fault: another sample.
                        problem = None
                        if tries < TRIES:
                            continue
                else:
                    self._add_findings(row, judged, function, attempt)
                break
            if problem is not None:
                refused.append(problem)
        row.signature = confirmed(row.signature, refused)

    def _add_findings(self, row: AuditRow, judged: AuditRow, function: AuditedFunction, attempt: Attempt) -> None:
        """Add to a row what another call of the same function has shown to be wrong."""
        if judged.value is ValueCheck.DIFFERS and row.value is not ValueCheck.DIFFERS:
            row.value = ValueCheck.DIFFERS
            row.difference = f"{self._in_words(function, attempt)} gives {judged.difference}"
        if judged.attributes and not row.attributes:
            row.attributes = f"{judged.attributes}, in {self._in_words(function, attempt)}"

    def _audit_aliased(self, function: AuditedFunction, operand: str, calls: Sequence[Call], row: AuditRow) -> None:
        """Call a function that writes `operand` with the same instance as another operand too: `x.mul_(x)`.

        Of elementwise functions alone, which read each element before they write it.
        """
        others = [p.name for p in function.parameters if p.operand and p.name != operand]
        for call in calls:
            if self.maker.takes_tensors and self._audit_aliases_of(function, operand, others, call, row):
                return

    def _audit_aliases_of(
        self, function: AuditedFunction, operand: str, others: Sequence[str], call: Call, row: AuditRow
    ) -> bool:
        """Make such a call of a sample for the first operand that can be the same; return whether one was made."""
        written = ("out",) if operand == "out" else next(places(call, function, operand, self.api.tensor), None)
        for other in others:
            read = next(places(call, function, other, self.api.tensor), None)
            if written is None or read is None:
                continue
            # `out=` has no values of its own, so that the instance is made for the operand that is read.
            place, alias = (read, written) if operand == "out" else (written, read)
            try:
                attempt = self._attempt(function, call, place, True, alias)
            except Unusable:
                continue
            judged, _ = self._judged(function, operand, attempt, in_words=False)
            if judged.outcome is Outcome.RAISED:
                words = f"{judged.error_type}: {judged.error}"
                row.value = ValueCheck.DIFFERS
                row.difference = f"{self._in_words(function, attempt)}, the same instance twice, raises {words}"
            else:
                self._add_findings(row, judged, function, attempt)
            return True
        return False

    def _variations(self, function: AuditedFunction, calls: Sequence[Call]) -> Iterator[tuple[str, list[Call]]]:
        for p in function.parameters:
            if p.default is MISSING or p.operand:
                continue
            chosen = [c for c in calls if p.name in c.optional]
            chosen.sort(key=lambda c: len(c.optional))
            if not chosen and isinstance(p.default, (bool, int, float)):
                other = not p.default if isinstance(p.default, bool) else p.default + 1
                chosen = [
                    Call(c.args, {**c.kwargs, p.name: other}, c.optional | {p.name}, c.deterministic)
                    for c in calls
                    if not c.optional
                ]
            if chosen:
                yield p.name, chosen
        names = [p.name for p in function.parameters if p.kind == "positional"]
        if function.form in ("function", "alias") and "." not in function.name.removeprefix(function.namespace + "."):
            by_keyword = [
                Call((), {**dict(zip(names, c.args)), **c.kwargs}, c.optional, c.deterministic)
                for c in calls
                if len(c.args) <= len(names) and not c.optional
            ]
            if by_keyword and all(p.kind != "variadic" for p in function.parameters):
                yield names[0], by_keyword

    # One call.

    def attempts(self, function: AuditedFunction, operand: str, calls: Sequence[Call]) -> Iterator[Attempt | str]:
        """Yield calls in which an instance is the operand, or the reason why a sample cannot be used."""
        for call in calls:
            found = list(places(call, function, operand, self.api.tensor))
            if found:
                yield from self._with_instance(function, call, found[0])
                continue
            place = self._place_of(function, call, operand)
            if place is not None:
                yield from self._with_instance(function, call, place)

    def _place_of(self, function: AuditedFunction, call: Call, operand: str) -> Place | None:
        """Return the place of an operand that the sample does not pass, or passes as a number."""
        names = [p.name for p in function.parameters if p.kind == "positional"]
        if operand in names[: len(call.args)]:
            index = names.index(operand)
            return (index,) if is_number(call.args[index]) else None
        if operand in call.kwargs:
            return (operand,) if is_number(call.kwargs[operand]) else None
        return (operand,) if operand == "out" else None

    def _with_instance(self, function: AuditedFunction, call: Call, place: Place) -> Iterator[Attempt | str]:
        for from_sample in (True, False):
            if not (self.maker.takes_tensors if from_sample else self.maker.has_fixed):
                continue
            try:
                yield self._attempt(function, call, place, from_sample)
            except Unusable as error:
                yield str(error)
            else:
                return

    def _attempt(
        self,
        function: AuditedFunction,
        call: Call,
        place: Place,
        from_sample: bool,
        alias: Place | None = None,
        *,
        mark: bool = True,
    ) -> Attempt:
        """Return a call with an instance at `place`, and the same one at `alias` if that is given."""
        api, maker = self.api, self.maker
        # Those of the sample: no call has them themselves.
        args, kwargs = call.args, dict(call.kwargs)
        asked = place
        if place == ("out",) and "out" not in kwargs:
            sample = self._output_like(self.run_plain(function, args, kwargs).result)
            if isinstance(sample, tuple):
                kwargs["out"], place = sample, ("out", len(sample) - 1)
                sample = sample[-1]
        else:
            sample = at(args, kwargs, place)
            if is_number(sample):
                sample = api.tensor_of(np.array(sample))
        if alias is not None:
            other = self.run_plain(function, args, kwargs).result if alias == ("out",) else at(args, kwargs, alias)
            if not isinstance(other, api.tensor):
                raise Unusable("there are several results")
            one, two = api.array(other), api.array(sample)
            if (one.shape, one.dtype) != (two.shape, two.dtype):
                raise Unusable("the operands differ in shape or dtype")
        try:
            with self.quiet():
                instance = maker.like(copied(sample, api)) if from_sample else maker.fixed()
                is_marked = mark and self.judge.marks and marked(instance, self.judge.metadata)
                carried = self.judge.carried(instance)
                if maker.reads_values:
                    # A copy: what the call writes must not be compared with itself.
                    dense = copied(maker.dense(instance), api)
                else:
                    dense = sample if from_sample else api.stand_in(instance)
        except BaseException as error:
            let_through(error)
            raise Unusable(f"no instance for this operand: {described(error)}") from error
        fits = dense is not None
        if fits and not from_sample:
            args, kwargs = fitted(args, kwargs, tuple(sample.shape), tuple(dense.shape), api)
        # Without knowledge of the instance, the sample itself shows at least the kind of result.
        same = None if alias is None else (place, alias)
        before = replaced(args, kwargs, place, dense if fits else sample)
        again = functools.partial(self.run_plain, function, *before, same)
        with_instance = replaced(copied(list(args), api), copied(kwargs, api), place, instance)
        if alias is not None:
            with_instance = replaced(*with_instance, alias, instance)
        return Attempt(
            *with_instance,
            before=before,
            plain=again(),
            fits=fits,
            compare=maker.reads_values and function.comparable,
            again=again,
            anew=functools.partial(self._attempt, function, call, asked, from_sample, alias),
            call=call,
            place=place,
            sample=copied(sample, api) if from_sample else None,
            carried=carried,
            marked=is_marked,
        )

    def _output_like(self, result: object) -> Any:
        api = self.api
        if isinstance(result, api.tensor):
            return api.tensor_of(np.zeros_like(api.array(result)))
        if isinstance(result, tuple) and result and all(isinstance(r, api.tensor) for r in result):
            return tuple(api.tensor_of(np.zeros_like(api.array(r))) for r in result)
        raise Unusable("the result is no tensor that out= could take")

    def run_plain(
        self, function: AuditedFunction, args: tuple[Any, ...], kwargs: dict[str, Any],
        same: tuple[Place, Place] | None = None,
    ) -> PlainCall:  # fmt: skip
        """Call the function on copies of plain arguments, those at the places `same` being one; return what came of it.

        Raises Unusable if the call raises.
        """
        left: Arguments = tuple(copied(list(args), self.api)), copied(dict(kwargs), self.api)
        if same is not None:
            left = replaced(*left, same[1], at(*left, same[0]))
        self.in_plain_call[0] = 1
        try:
            with self.quiet(), warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                result = contextvars.copy_context().run(function.key, *left[0], **left[1])
        except Exception as error:
            raise Unusable(f"plain tensors are refused: {described(error)}") from error
        finally:
            self.in_plain_call[0] = 0
        if result is NotImplemented:
            # Methods of operators leave arguments that they do not take to Python.
            raise Unusable("plain tensors are left to the other operand's method")
        return PlainCall(result, left, frozenset(map(shown_warning, caught)))

    @contextlib.contextmanager
    def quiet(self) -> Iterator[None]:
        """Return a context in which output and warnings of the type's code are thrown away."""
        nowhere = Printed()
        with (
            process_restored(),
            warnings.catch_warnings(),
            contextlib.redirect_stdout(nowhere),
            contextlib.redirect_stderr(nowhere),
        ):
            warnings.simplefilter("ignore")
            yield

    def call(self, function: AuditedFunction, attempt: Attempt) -> Answer:
        """Make a call, observed, and return what came of it."""
        trace = Trace(self.api, self.kind, self.handlers, function, attempt.args, attempt.kwargs)
        printed = Printed()
        result: Any = None
        error: BaseException | None = None
        # A context of its own: a mode or a guard that the implementation leaves behind ends with the call.
        context = contextvars.copy_context()
        with (
            process_restored(),
            warnings.catch_warnings(record=True) as caught,
            contextlib.redirect_stdout(printed),
            contextlib.redirect_stderr(printed),
        ):
            warnings.simplefilter("always")
            try:
                with self.api.watching(trace):
                    if self.handlers:
                        sys.setprofile(trace)
                    result = context.run(function.key, *attempt.args, **attempt.kwargs)
            except BaseException as raised:
                error = raised
            finally:
                sys.setprofile(None)
        # Also an interrupt that the implementation has swallowed.
        let_through(error)
        given = [text for text in dict.fromkeys(map(shown_warning, caught)) if text not in attempt.plain.warnings]
        return Answer(result, error, trace, printable(printed.getvalue()[:_PRINTED]), given)

    def _judged(
        self, function: AuditedFunction, operand: str, attempt: Attempt, *, in_words: bool = True
    ) -> tuple[AuditRow, Answering | None]:
        """Make one call and return its row.

        Where the calls are observed by a mode, what seems wrong is looked at again without it: PyTorch's own functions
        may differ under a mode (`l1_loss` drops its weight), for which the type is not to blame.
        """
        row, answering = self._observed(function, operand, attempt, in_words)
        if attempt.marked and row.verdict in FAULTY and row.verdict is not Outcome.ATTRIBUTE_LOST:
            # The mark may be what the type's code does not expect.
            with contextlib.suppress(Unusable):
                attempt = attempt.anew(mark=False)
                row, answering = self._observed(function, operand, attempt, in_words)
        if self.api.observes_by_mode and (row.value is ValueCheck.DIFFERS or row.outcome is Outcome.RAISED):
            try:
                again = attempt.anew(mark=attempt.marked)
            except Unusable:
                return row, answering
            self._look_again(row, function, again)
        return row, answering

    def _look_again(self, row: AuditRow, function: AuditedFunction, attempt: Attempt) -> None:
        """Clear what was wrong with a call only while it was observed."""
        with self.quiet():
            try:
                result = contextvars.copy_context().run(function.key, *attempt.args, **attempt.kwargs)
            except BaseException as error:
                let_through(error)
                return
        if row.outcome is Outcome.RAISED:
            row.outcome, row.error_type, row.error, row.signature = Outcome.OWN, "", "", []
            row.answer = text_of(result)
            if self.judge.is_lost(attempt.expected, result) and not function.nowrap:
                row.outcome, row.type_lost = Outcome.TYPE_LOST, True
                row.reason = f"the answer is {a(type(result))}, not {a(self.kind)}"
        row.value, row.difference, row.attributes = ValueCheck.NOT_COMPARED, "", ""
        with self.quiet():
            self.judge.compare(row, function, attempt, result)

    def _in_words(self, function: AuditedFunction, attempt: Attempt) -> str:
        """Return an attempt that was called already as a line of Python."""
        with contextlib.suppress(Unusable):
            attempt = attempt.anew()
        with self.quiet():
            return shown_call(function.name, attempt.args, attempt.kwargs, self.api)

    def _observed(
        self, function: AuditedFunction, operand: str, attempt: Attempt, in_words: bool
    ) -> tuple[AuditRow, Answering | None]:
        """Make one call, observed, and return its row, without the texts of the call and its answer unless `in_words`.

        To print tensors takes longer than all else.
        """
        call = ""
        if in_words:
            with self.quiet():
                call = shown_call(function.name, attempt.args, attempt.kwargs, self.api)
        row = AuditRow(function.name, function.namespace, function.form, operand, Outcome.OWN, call=call)
        if self.on_attempt is not None:
            self.on_attempt(function, operand, attempt)
        answer = self.call(function, attempt)
        trace, error = answer.trace, answer.error
        # A number may be taken from a tensor by `__index__`, which alone asks its type then.
        if self.watched and not (trace.asked_types if was_number(attempt) else trace.asked):
            row.outcome = Outcome.NOT_CALLED
            row.reason = f"{function.name} does not ask the type of {operand!r}"
            trace.close()
            return row, None
        row.warnings = answer.warnings
        self.warnings.update(row.warnings)
        row.printed = answer.printed
        if error is not None:
            row.error_type, row.error = name_of(type(error)), text_of_error(error)
            row.outcome, row.left_out = self._failure(trace, error)
            if row.outcome is Outcome.RAISED and is_refused_by_python(error, self.api):
                row.signature = [refusal(operand, call, f"{row.error_type}: {row.error}")]
            error.__traceback__ = None
        elif answer.result is NotImplemented:
            # An operator leaves a call that every type refused to Python, which asks the other operand's method next.
            row.outcome, row.left_out = Outcome.REFUSED, True
        else:
            self._judge_result(row, function, attempt, answer, in_words)
        answering = trace.answering
        if answering is not None and error is None:
            row.answered_by = answering.where()
            if not answering.accepts_anything and not is_variant(self.kind, trace.owner, function):
                row.signature = compared(function, answering, Call(attempt.args, attempt.kwargs, attempt.call.optional))
        trace.close()
        return row, answering

    def _failure(self, trace: Trace, error: BaseException) -> tuple[Outcome, bool]:
        """Return the outcome of a call that raised, and whether the type returned NotImplemented."""
        # The error of an operator begins with Python's own words.
        text = text_of_error(error)
        if (
            isinstance(error, TypeError)
            and any(words in text for words in self.api.nobody_answered)
            and (trace.refused or not self.handlers)
        ):
            return Outcome.REFUSED, True
        return (Outcome.REFUSED if is_deliberate(error, self.api) else Outcome.RAISED), False

    def _judge_result(
        self, row: AuditRow, function: AuditedFunction, attempt: Attempt, answer: Answer, in_words: bool
    ) -> None:
        trace, result = answer.trace, answer.result
        with self.quiet():
            if in_words:
                row.answer = text_of(result)
            # The target of an in-place function keeps its type.
            target = bool(attempt.args) and result is attempt.args[0] and is_written_to(function, (0,))
            row.type_lost = not (target or function.nowrap or given_back(attempt, result)) and self.judge.is_lost(
                attempt.expected, result
            )
            plain = trace.fell_back and (trace.by_policy or not has_instance(result, self.judge.relatives))
        if plain:
            row.outcome = Outcome.THROUGH_PLAIN
        elif row.type_lost:
            row.outcome = Outcome.TYPE_LOST
            row.reason = f"the answer is {a(type(result))}, not {a(self.kind)}"
        elif self.kind not in trace.asked_types and implementer(self.kind, trace.owner, function) is not self.kind:
            row.outcome = Outcome.INHERITED
        row.by_default, row.on_plain = trace.default_answered, trace.fell_back
        with self.quiet():
            self.judge.compare(row, function, attempt, result)
