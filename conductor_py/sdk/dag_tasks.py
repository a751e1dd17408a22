"""The tasks of a DAG as objects that are told what follows them.

Every way of saying so takes a task or a list of tasks and gives back what it took, so that lines
can go on: ``extract >> clean >> [report, archive]``. The labels are those of the definition; which
one a relation has follows from how it was said.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Literal, Self, TypeVar

from conductor_py.errors import DefinitionError
from conductor_py.model.definitions import ORDER
from conductor_py.model.json import JsonObject
from conductor_py.records import dataclass
from conductor_py.sdk.dag_relations import Relations

After = TypeVar("After", bound="DagTask | Sequence[DagTask]")


class DagTask:
    """A task of a DAG; ``Dag.task`` and its neighbours make them."""

    def __init__(self, relations: Relations, reference: str, document: dict[str, Any]) -> None:
        relations.add_task(reference)
        self.reference = reference
        self.document = document
        self._relations = relations

    def __rshift__(self, after: After) -> After:
        """Let tasks come after this one when it has succeeded; CONDITIONS when it has ended."""
        for task in _each(after):
            self._lead(task, "test" if isinstance(task, ConditionsTask) else "ok")
        return after

    def __rrshift__(self, before: Iterable[DagTask]) -> Self:
        """Come after each of several tasks."""
        for task in before:
            task >> self
        return self

    def always(self, after: After) -> After:
        """Let tasks come after this one whatever becomes of it; its failure stays a failure."""
        for task in _each(after):
            if isinstance(task, ConditionsTask):
                raise self._relations.wrong(
                    f"{task.reference} looks at {self.reference} whatever becomes of it; write"
                    f" {self.reference} >> {task.reference}"
                )
            self._lead(task, "always")
        return after

    def precedes(self, after: After) -> After:
        """Let tasks wait for the end of this one, and depend on it in nothing: they run whatever
        becomes of it, and a recovery of this one does not run them again.
        """
        for task in _each(after):
            self._lead(task, ORDER)
        return after

    def succeeded(self) -> Condition:
        """What CONDITIONS ask: whether this task has succeeded."""
        return _asked(self, "SUCCESS")

    def failed(self) -> Condition:
        """What CONDITIONS ask: whether this task has failed, or could not run."""
        return _asked(self, "FAILURE")

    def output(self, path: str = "") -> str:
        """The expression by which inputs read what this task gives: all of it, or a member."""
        return f"${{{self.reference}.output{'.' if path else ''}{path}}}"

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.reference} of {self._relations.name}>"

    def _lead(self, after: DagTask, label: str, case: str | None = None) -> None:
        if after._relations is not self._relations:
            raise self._relations.wrong(
                f"{self.reference} cannot lead to {after.reference}, a task of another DAG,"
                f" {after._relations.name}"
            )
        self._relations.relate(self.reference, after.reference, label, case)


class _Choice(DagTask):
    """A task that chooses who comes after it, so nobody simply does."""

    _ways: str

    def _lead(self, after: DagTask, label: str, case: str | None = None) -> None:
        if label in {"ok", "test", "always"}:
            raise self._relations.wrong(
                f"{self.reference} chooses: {after.reference} comes after it by {self._ways}"
            )
        super()._lead(after, label, case)


class ConditionsTask(_Choice):
    """A task that takes one of two sides; both must be there, else a failure would be forgotten."""

    _ways = "on_success or on_failure"

    def on_success(self, after: After) -> After:
        """Let tasks come after it when the condition holds."""
        for task in _each(after):
            self._lead(task, "success")
        return after

    def on_failure(self, after: After) -> After:
        """Let tasks come after it when the condition does not hold."""
        for task in _each(after):
            self._lead(task, "failure")
        return after


class SwitchTask(_Choice):
    """A task that takes the case that its value names, or else the default."""

    _ways = "case or default"

    def case(self, value: str, after: After) -> After:
        """Let tasks come after it when its value is this one."""
        for task in _each(after):
            self._lead(task, "case", value)
        return after

    def default(self, after: After) -> After:
        """Let tasks come after it when its value is that of no case."""
        for task in _each(after):
            self._lead(task, "default")
        return after


@dataclass(frozen=True, slots=True)
class Condition:
    """What CONDITIONS ask: a tree as the definition has it, and the tasks that it is about."""

    document: JsonObject
    tasks: tuple[DagTask, ...]


def all_of(*conditions: Condition) -> Condition:
    """Hold when all of these do; raises ``DefinitionError`` when there are none."""
    return _joined("AND", conditions)


def any_of(*conditions: Condition) -> Condition:
    """Hold when one of these does; raises ``DefinitionError`` when there are none."""
    return _joined("OR", conditions)


def _joined(relation: Literal["AND", "OR"], conditions: Sequence[Condition]) -> Condition:
    if not conditions:
        raise DefinitionError("all_of and any_of need at least one condition")
    items = [each.document for each in conditions]
    tasks = dict.fromkeys(task for each in conditions for task in each.tasks)
    return Condition({"relation": relation, "items": items}, tuple(tasks))


def _asked(task: DagTask, status: Literal["SUCCESS", "FAILURE"]) -> Condition:
    return Condition({"task": task.reference, "status": status}, (task,))


def _each(tasks: DagTask | Sequence[DagTask]) -> Sequence[DagTask]:
    return (tasks,) if isinstance(tasks, DagTask) else tasks
