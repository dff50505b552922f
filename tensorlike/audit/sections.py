"""The sections of an audit besides its functions: calls as code writes them, and the everyday programs."""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from .foreign import let_through, name_of, text_of_error
from .model import POSITION, PROGRAM, WRITTEN, AuditRow, ValueCheck
from .outcomes import Outcome
from .parallel import Audited, End, available_jobs, in_workers
from .positions import POSITIONS_NAMESPACE, position_row, positions
from .programs import PROGRAMS, Program, Runner
from .written import NAMESPACE, written_forms, written_row

if TYPE_CHECKING:
    from .run import Auditor

#: The line of the table that programs are counted in.
PROGRAMS_NAMESPACE = "programs"


def extra_rows(auditor: Auditor, jobs: int, rows: Sequence[AuditRow]) -> list[AuditRow]:
    """Return the rows of calls as code writes them, of numbers' positions, and of programs; `rows` are the functions'.

    Where only some functions were asked for there are those of their numbers alone.
    """
    if auditor.only and not auditor.all_positions:
        return []
    if not auditor.methods and not auditor.only:
        auditor.notes.append(f"functions only: {name_of(auditor.kind)} says that it has no methods")
    section = _Section(auditor, rows)
    order = range(len(section.items))
    if jobs and available_jobs():
        found = in_workers(section, order, jobs)
    else:
        found = {index: section.audited(index, {}) for index in order}
    made = [row for index in order for row in found[index].rows]
    unasked = sum(row.form == POSITION and "does not ask the type" in row.reason for row in made)
    if unasked:
        auditor.notes.append(f"{unasked} functions do not ask the type of a number: they are to blame, not the type")
    programs = [row for row in made if row.form == PROGRAM and row.called]
    if programs:
        auditor.notes.append(f"{sum(row.passed for row in programs)} of {len(programs)} programs passed")
    return made


class _Section:
    """The work of a worker: each item is a call as code writes it, or a program."""

    def __init__(self, auditor: Auditor, rows: Sequence[AuditRow]) -> None:
        self.auditor = auditor
        #: How the type answered each function, as its first operand.
        answered: dict[str, Outcome] = {}
        for row in rows:
            if row.called and row.operand != "out":
                answered.setdefault(row.function, row.outcome)
        good = (Outcome.OWN, Outcome.THROUGH_PLAIN, Outcome.INHERITED)
        answered = {name: outcome for name, outcome in answered.items() if outcome in good}
        #: Each with what the call is, the namespace and the form of its row, and what makes the row.
        self.items: list[tuple[str, str, str, Callable[[], AuditRow]]] = []
        if auditor.all_positions:
            for function, name in positions(auditor):
                make = functools.partial(position_row, auditor, function, name)
                self.items.append((function.name, POSITIONS_NAMESPACE, POSITION, make))
        if auditor.only:
            return
        if auditor.methods:
            for written in written_forms(auditor.api.members()):
                make = functools.partial(written_row, auditor, written, answered)
                self.items.append((written.text, NAMESPACE, WRITTEN, make))
        runner = _runner(auditor)
        for program in PROGRAMS.values():
            make = functools.partial(_program_row, auditor, runner, program)
            self.items.append((program.title, PROGRAMS_NAMESPACE, PROGRAM, make))

    @property
    def in_plain_call(self) -> Any:
        """The note of the auditor, whose calls these are."""
        return self.auditor.in_plain_call

    @in_plain_call.setter
    def in_plain_call(self, value: object) -> None:
        self.auditor.in_plain_call = value

    def audited(
        self,
        index: int,
        ended: Mapping[str, End] = MappingProxyType({}),
        announce: Callable[[str], None] | None = None,
    ) -> Audited:
        """Return the row of the item numbered `index`; `ended` says how it ended a process, if it did."""
        text, namespace, form, make = self.items[index]
        if announce is not None:
            announce("self")
        if "self" in ended:
            row = AuditRow(text, namespace, form, "self", Outcome.RAISED, error=ended["self"].how)
            if ended["self"].by_plain:
                row.outcome, row.reason, row.error = Outcome.NOT_CALLED, f"with plain tensors alone, {row.error}", ""
            return Audited([row], Counter())
        with self.auditor.api.same_random_numbers():
            try:
                row = make()
            except BaseException as error:
                # An attribute of the type, or of its instances, raised while the call was judged.
                let_through(error)
                row = AuditRow(text, namespace, form, "self", Outcome.RAISED)
                row.error_type, row.error = name_of(type(error)), text_of_error(error)
                error.__traceback__ = None
        return Audited([row], Counter())


def _runner(auditor: Auditor) -> Runner | None:
    maker = auditor.maker
    if not maker.takes_tensors:
        return None
    lacks = frozenset() if auditor.methods else frozenset(("methods",))
    return Runner(auditor.kind, maker.like, maker.dense if maker.reads_values else None, auditor.api, lacks=lacks)


def _program_row(auditor: Auditor, runner: Runner | None, program: Program) -> AuditRow:
    row = AuditRow(program.title, PROGRAMS_NAMESPACE, PROGRAM, "self", Outcome.OWN)
    if runner is None:
        row.outcome, row.reason = Outcome.NOT_CALLED, "instances cannot be made of the tensors of a program"
        return row
    ran = runner.run(program)
    row.call = ran.line
    if ran.reason:
        row.outcome, row.reason = Outcome.NOT_CALLED, ran.reason
    elif ran.error is not None:
        # The message of a call without an answer goes on with the types that were called.
        row.error_type = name_of(type(ran.error))
        row.error = text_of_error(ran.error).partition(" on types that implement ")[0]
        row.outcome = Outcome.REFUSED if ran.refused else Outcome.RAISED
        row.meant = ran.refused and auditor.refusals_meant
        ran.error.__traceback__ = None
    elif not auditor.handlers:
        row.outcome = Outcome.INHERITED
    if ran.difference is not None:
        row.value = ValueCheck.DIFFERS if ran.difference else ValueCheck.EQUAL
        row.difference = ran.difference
    return row
