"""A workflow written in Python: its tasks, one after the other or side by side, and the definition
that comes of them, which is the one that would be written by hand.

What can be known where it is written is refused there: a reference that is there already, an empty
branch, a task in two places. Everything else that a server would refuse ``to_json`` refuses before,
by the same rules. Where tasks depend on several others in no plain order, ``Dag`` says it better.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Final, Unpack

from conductor_py.errors import DefinitionError
from conductor_py.model.json import JsonObject
from conductor_py.sdk.definition_builder import DefinitionBuilder, switch_document
from conductor_py.sdk.definition_document import checked
from conductor_py.sdk.definition_members import TaskMembers, WorkflowMembers, members, task_document
from conductor_py.sdk.worker import WorkerTask
from conductor_py.sdk.workflow_tasks import (
    Branch,
    ChoiceTask,
    DynamicForkTask,
    ForkTask,
    LoopTask,
    TaskSequence,
    WorkflowTask,
)

_SHOWN: Final = 5


class Workflow(DefinitionBuilder[WorkflowTask]):
    """A workflow under construction: ``workflow >> a >> [b, c] >> d``.

    It is changed by its own methods and by those of its tasks.
    """

    _kind = "workflow"
    _made_by: ClassVar = {
        "FORK_JOIN": "workflow.fork",
        "JOIN": "workflow.fork",
        "FORK_JOIN_DYNAMIC": "workflow.dynamic_fork",
        "SWITCH": "workflow.switch",
        "DO_WHILE": "workflow.do_while",
    }

    def __init__(
        self, name: str, *, version: int | None = None, **given: Unpack[WorkflowMembers]
    ) -> None:
        """Begin without tasks; ``given`` is what the workflow is told beside them."""
        told = members(WorkflowMembers, given, f"workflow {name}")
        super().__init__(name, told if version is None else {"version": version, **told})
        self._references: dict[str, None] = {}
        self._root = TaskSequence(self, [], f"workflow {name}")

    def __rshift__(self, after: Branch) -> TaskSequence:
        """Let tasks come next, after all that the workflow has so far."""
        return self._root >> after

    # -- tasks -------------------------------------------------------------------------------------

    def task(
        self,
        name: str | WorkerTask[..., object],
        *,
        reference: str | None = None,
        type: str = "SIMPLE",
        permissive: bool = False,
        **given: Unpack[TaskMembers],
    ) -> WorkflowTask:
        """Add a task of any type, as a DAG does; when a ``permissive`` one has failed for good the
        others go on, and the workflow fails at its end.
        """
        task = super().task(name, reference=reference, type=type, **given)
        if permissive:
            task.document["permissive"] = True
        return task

    # -- tasks that have others inside -------------------------------------------------------------

    def fork(
        self,
        *branches: Branch,
        reference: str | None = None,
        join: str | None = None,
        **given: Unpack[TaskMembers],
    ) -> ForkTask:
        """Add branches that run side by side, and the JOIN that awaits all of them.

        A list after ``>>`` does the same. Without a ``reference`` it has one made of the first
        task's, ``fork_<task>`` with ``join_<task>``. Raises ``DefinitionError`` for an empty
        branch.
        """
        if not branches:
            raise self.wrong(f"{reference or 'a fork'} has no branch; give at least one task")
        sequences = [self.sequence_of(branch) for branch in branches]
        first = sequences[0].tasks[0].reference
        named = reference or f"fork_{first}"
        joined = join or (f"{reference}_join" if reference else f"join_{first}")
        document = self._document(named, {"name": named, "type": "FORK_JOIN"}, given)
        return ForkTask(self, document, sequences, joined)

    def dynamic_fork(
        self,
        reference: str,
        *,
        tasks: str | None = None,
        inputs_by_reference: str | None = None,
        each: str | None = None,
        task: str | WorkerTask[..., object] | None = None,
        workflow: str | None = None,
        join: str | None = None,
        **given: Unpack[TaskMembers],
    ) -> DynamicForkTask:
        """Add branches that are known when it runs, and the JOIN that awaits them.

        Either ``each`` is an expression for a list, and ``task`` or ``workflow`` names what runs
        for each of its items; or ``tasks`` is an expression for a list of tasks as a definition has
        them, and ``inputs_by_reference`` one for an object with the input of each. Raises
        ``DefinitionError`` for a mixture.
        """
        document: dict[str, Any] = {"name": reference, "type": "FORK_JOIN_DYNAMIC"}
        match (tasks, inputs_by_reference, each, task, workflow):
            case (str(), str(), None, None, None):
                document |= {
                    "dynamicForkTasksParam": "tasks",
                    "dynamicForkTasksInputParamName": "inputs",
                    "inputParameters": {"tasks": tasks, "inputs": inputs_by_reference},
                }
            case (None, None, str(), str() | WorkerTask(), None):
                named = task.options.name if isinstance(task, WorkerTask) else task
                document["inputParameters"] = {"forkTaskName": named, "forkTaskInputs": each}
            case (None, None, str(), None, str()):
                document["inputParameters"] = {
                    "forkTaskWorkflow": workflow,
                    "forkTaskInputs": each,
                }
            case _:
                raise self.wrong(
                    f"{reference} needs each with task or workflow, or tasks with"
                    " inputs_by_reference, and nothing else of these"
                )
        return DynamicForkTask(
            self, self._document(reference, document, given), join or f"{reference}_join"
        )

    def switch(self, reference: str, value: str, **given: Unpack[TaskMembers]) -> ChoiceTask:
        """Add a SWITCH by ``value``, an expression such as ``${count.output.size}``; its ``case``
        and ``default`` say what runs then. What comes after it runs after each of them.

        With ``evaluator_type="javascript"`` it is a script over the task's inputs.
        """
        document = switch_document(reference, value, given)
        return ChoiceTask(self, self._document(reference, document, given))

    def do_while(
        self,
        reference: str,
        body: Branch,
        *,
        condition: str | None = None,
        times: int | None = None,
        **given: Unpack[TaskMembers],
    ) -> LoopTask:
        """Add a loop over ``body``: while ``condition`` holds (JavaScript, where ``$.<reference>``
        is what a task of the loop gave, ``$.<loop>.iteration`` the number of rounds so far), so
        many ``times``, or once for each of ``items``, an expression for a list.

        Raises ``DefinitionError`` unless exactly one of the three is given.
        """
        if [condition, times, given.get("items")].count(None) != 2:
            raise self.wrong(f"{reference} needs a condition, times or items, and one of them only")
        document: dict[str, Any] = {"name": reference, "type": "DO_WHILE"}
        if times is not None:
            document["loopCondition"] = f"$['{reference}'].iteration < {times}"
        elif condition is not None:
            document["loopCondition"] = condition
        return LoopTask(self, self._document(reference, document, given), self.sequence_of(body))

    # -- the definition ----------------------------------------------------------------------------

    def to_json(self) -> JsonObject:
        """Write the definition: what is sent to a server, and an object of its own.

        Raises ``DefinitionError`` with everything that is wrong, in terms of tasks in its message
        and as JSON paths in its ``violations``; ``InvalidInput`` for what JSON cannot hold.
        """
        self._refuse_what_has_no_place()
        tasks = self._root.documents()
        return checked({"name": self.name, **self._members, "tasks": tasks}, str(self))

    # -- for its tasks -----------------------------------------------------------------------------

    def take_reference(self, reference: str) -> None:
        """Take a reference; raises ``DefinitionError`` when there is one like it."""
        if not reference.strip():
            raise self.wrong("a task needs a reference")
        if reference in self._references:
            raise self.wrong(
                f"there is a task {reference} already; give this one another reference"
            )
        self._references[reference] = None

    def sequence_of(self, given: Branch) -> TaskSequence:
        """Return what was given as a sequence that begins with it; raises ``DefinitionError``."""
        if isinstance(given, TaskSequence):
            sequence = given.sequence()
        elif isinstance(given, WorkflowTask):
            sequence = given.sequence()
            if sequence.tasks[0] is not given:
                raise self.wrong(
                    f"{given.reference} has a place already, in the line that begins with"
                    f" {sequence.tasks[0].reference}"
                )
        elif not isinstance(given, list | tuple):
            raise self.wrong(f"{given!r} is no task of it; add one with workflow.task(…)")
        elif not given:
            raise self.wrong("an empty list is no branch; give at least one task")
        else:
            sequence = self.fork(*given).sequence()
        if sequence.workflow is not self:
            first = sequence.tasks[0].reference
            raise self.wrong(f"{first} is a task of another workflow, {sequence.workflow.name}")
        return sequence

    def wrong(self, sentence: str) -> DefinitionError:
        """Say of which workflow it is."""
        return DefinitionError(f"{self}: {sentence}")

    # ----------------------------------------------------------------------------------------------

    def _made(
        self, reference: str, document: dict[str, Any], given: Mapping[str, Any]
    ) -> WorkflowTask:
        return WorkflowTask(self, reference, self._document(reference, document, given))

    def _wrong(self, sentence: str) -> DefinitionError:
        return self.wrong(sentence)

    def _document(
        self, reference: str, document: dict[str, Any], given: Mapping[str, Any]
    ) -> dict[str, Any]:
        return task_document(reference, document, given, str(self))

    def _refuse_what_has_no_place(self) -> None:
        placed = {
            each["taskReferenceName"]
            for sequence in (self._root, *self._root.nested())
            for task in sequence.tasks
            for each in task.documents()
        }
        lost = [reference for reference in self._references if reference not in placed]
        if lost:
            shown = ", ".join(lost[:_SHOWN]) + (
                f" and {len(lost) - _SHOWN} more" if len(lost) > _SHOWN else ""
            )
            raise self.wrong(f"nothing leads to {shown}; write workflow >> {lost[0]}")
