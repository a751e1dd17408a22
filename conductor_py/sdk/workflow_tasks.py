"""The tasks of a workflow as objects that are told what follows them.

``>>`` means one after the other, a list means side by side, and that everywhere: between tasks, in
a case of a SWITCH, in the body of a loop. A task has one place; what would give it another is
refused in its own line.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

from conductor_py.sdk.definition_builder import expression

if TYPE_CHECKING:
    from conductor_py.sdk.workflow import Workflow

Branch: TypeAlias = "SequencePart | Sequence[Branch]"
"""What may follow, or be a branch: a task, a sequence, or a list of what runs side by side."""


class SequencePart(ABC):
    """What others may come after: a task, or tasks that run one after the other."""

    @abstractmethod
    def sequence(self) -> TaskSequence:
        """Return the sequence that it stands in, or is."""

    def __rrshift__(self, before: Sequence[Branch]) -> TaskSequence:
        """Come after what runs side by side."""
        return self.sequence().workflow.sequence_of(before) >> self

    @abstractmethod
    def __rshift__(self, after: Branch) -> TaskSequence:
        """Let others come after it; returns the whole sequence."""


class WorkflowTask(SequencePart):
    """A task of a workflow; ``Workflow.task`` and its neighbours make them."""

    def __init__(self, workflow: Workflow, reference: str, document: dict[str, Any]) -> None:
        workflow.take_reference(reference)
        self.reference = reference
        self.document = document
        self._workflow = workflow
        self._sequence: TaskSequence | None = None

    def __rshift__(self, after: Branch) -> TaskSequence:
        """Let others come after this one."""
        sequence = self.sequence()
        following = sequence.after(self)
        if following is not None:
            raise self._workflow.wrong(
                f"{self.reference} has {following.reference} after it already; write the whole"
                " line at once"
            )
        return sequence >> after

    def output(self, path: str = "") -> str:
        """The expression by which inputs read what this task gives: all of it, or a member."""
        return expression(f"{self.reference}.output", path)

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.reference} of {self._workflow}>"

    # -- for the workflow that it is of ------------------------------------------------------------

    def sequence(self) -> TaskSequence:
        """Return the sequence that it stands in, one of its own at first."""
        if self._sequence is None:
            self._sequence = TaskSequence(self._workflow, [self])
        self._sequence = self._sequence.sequence()
        return self._sequence

    def bodies(self) -> Iterator[TaskSequence]:
        """The sequences inside it."""
        yield from ()

    def documents(self) -> list[dict[str, Any]]:
        """Write it, and the JOIN that comes with it."""
        return [self.document]

    def ends(self) -> list[str]:
        """The references that a JOIN must await to have awaited this task."""
        return [self.reference]


class TaskSequence(SequencePart):
    """Tasks that run one after the other."""

    def __init__(self, workflow: Workflow, tasks: Sequence[WorkflowTask], place: str = "") -> None:
        self.workflow = workflow
        self.tasks = list(tasks)
        #: Where it stands, for messages; empty as long as it has no place.
        self.place = place
        self._became: TaskSequence | None = None

    def __rshift__(self, after: Branch) -> TaskSequence:
        """Let others come after the last one; returns the whole sequence."""
        here = self.sequence()
        more = self.workflow.sequence_of(after)
        first = more.tasks[0].reference
        if more is here or here in more.nested():
            raise self.workflow.wrong(f"{first} must not come after itself")
        more.put(here.place or f"the line that begins with {here.tasks[0].reference}")
        here.tasks += more.tasks
        more.tasks, more._became = [], here
        return here

    def __repr__(self) -> str:
        return f"<TaskSequence {' >> '.join(task.reference for task in self.sequence().tasks)}>"

    # -- for the workflow that it is of ------------------------------------------------------------

    def sequence(self) -> TaskSequence:
        """Return the sequence that this one has been made a part of, else itself."""
        found = self
        while found._became is not None:
            found = found._became
        return found

    def put(self, place: str) -> None:
        """Give it its place; raises ``DefinitionError`` when it has one."""
        if self.place:
            first = self.tasks[0].reference
            raise self.workflow.wrong(f"{first} cannot stand in {place}: it is in {self.place}")
        self.place = place

    def after(self, task: WorkflowTask) -> WorkflowTask | None:
        """Return the task behind one of these."""
        if self.tasks[-1] is task:
            return None
        return self.tasks[self.tasks.index(task) + 1]

    def nested(self) -> Iterator[TaskSequence]:
        """All sequences inside it, however deep."""
        for task in self.tasks:
            for body in task.bodies():
                yield body
                yield from body.nested()

    def documents(self) -> list[dict[str, Any]]:
        """Write all of it."""
        return [document for task in self.tasks for document in task.documents()]

    def ends(self) -> list[str]:
        """The references that a JOIN must await to have awaited it."""
        return self.tasks[-1].ends()


class ForkTask(WorkflowTask):
    """FORK_JOIN, and the JOIN behind it: what it gives is what the branches give, by reference."""

    def __init__(
        self,
        workflow: Workflow,
        document: dict[str, Any],
        branches: Sequence[TaskSequence],
        join: str,
    ) -> None:
        super().__init__(workflow, document["taskReferenceName"], document)
        workflow.take_reference(join)
        self.join = join
        self._branches = branches
        for branch in branches:
            branch.put(f"a branch of {self.reference}")

    def output(self, path: str = "") -> str:
        """The expression by which inputs read what the branches give, by reference."""
        return expression(f"{self.join}.output", path)

    def bodies(self) -> Iterator[TaskSequence]:
        yield from self._branches

    def documents(self) -> list[dict[str, Any]]:
        branches = [branch.documents() for branch in self._branches]
        awaited = [reference for branch in self._branches for reference in branch.ends()]
        return [{**self.document, "forkTasks": branches}, join_document(self.join, awaited)]

    def ends(self) -> list[str]:
        return [self.join]


class DynamicForkTask(WorkflowTask):
    """FORK_JOIN_DYNAMIC, and the JOIN behind it."""

    def __init__(self, workflow: Workflow, document: dict[str, Any], join: str) -> None:
        super().__init__(workflow, document["taskReferenceName"], document)
        workflow.take_reference(join)
        self.join = join

    def output(self, path: str = "") -> str:
        """The expression by which inputs read what the branches give, by reference."""
        return expression(f"{self.join}.output", path)

    def documents(self) -> list[dict[str, Any]]:
        return [self.document, join_document(self.join, [])]

    def ends(self) -> list[str]:
        return [self.join]


class ChoiceTask(WorkflowTask):
    """SWITCH: it takes the case that its value names, or else the default."""

    def __init__(self, workflow: Workflow, document: dict[str, Any]) -> None:
        super().__init__(workflow, document["taskReferenceName"], document)
        self._cases: dict[str, TaskSequence] = {}
        self._default: TaskSequence | None = None

    def case(self, value: str, then: Branch) -> TaskSequence:
        """Say what runs when its value is this one; returns that as a sequence."""
        if value in self._cases:
            raise self._workflow.wrong(f"{self.reference} has a case {value} already")
        self._cases[value] = self._taken(then, f"the case {value} of {self.reference}")
        return self._cases[value]

    def default(self, then: Branch) -> TaskSequence:
        """Say what runs when its value is that of no case."""
        if self._default is not None:
            raise self._workflow.wrong(f"{self.reference} has a default already")
        self._default = self._taken(then, f"the default of {self.reference}")
        return self._default

    def bodies(self) -> Iterator[TaskSequence]:
        yield from self._cases.values()
        if self._default is not None:
            yield self._default

    def documents(self) -> list[dict[str, Any]]:
        cases = {value: body.documents() for value, body in self._cases.items()}
        document = {**self.document, "decisionCases": cases}
        if self._default is not None:
            document["defaultCase"] = self._default.documents()
        return [document]

    def ends(self) -> list[str]:
        # the SWITCH itself is done at once: what it leads to must be awaited as well
        return [self.reference, *(end for body in self.bodies() for end in body.ends())]

    def _taken(self, then: Branch, place: str) -> TaskSequence:
        body = self._workflow.sequence_of(then)
        inside = [body, *body.nested()]
        if self.sequence() in inside:
            raise self._workflow.wrong(f"{self.reference} must not come after itself")
        body.put(place)
        return body


class LoopTask(WorkflowTask):
    """DO_WHILE."""

    def __init__(self, workflow: Workflow, document: dict[str, Any], body: TaskSequence) -> None:
        super().__init__(workflow, document["taskReferenceName"], document)
        self._body = body
        body.put(f"the loop {self.reference}")

    def bodies(self) -> Iterator[TaskSequence]:
        yield self._body

    def documents(self) -> list[dict[str, Any]]:
        return [{**self.document, "loopOver": self._body.documents()}]


def join_document(reference: str, awaited: Sequence[str]) -> dict[str, Any]:
    """Write a JOIN."""
    return {
        "name": reference,
        "taskReferenceName": reference,
        "type": "JOIN",
        "joinOn": list(awaited),
    }
