"""A DAG written in Python: its tasks, what follows what, and the definition that comes of them.

What can be known where it is written is refused there: a reference that is there already, a
relation to another DAG or round in a circle, a label that does not fit. Everything else that a
server would refuse ``build`` refuses before, by the same rules.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar, Unpack

from conductor_py.errors import DefinitionError, NotFound
from conductor_py.model.json import JsonObject
from conductor_py.sdk.dag_relations import Relations
from conductor_py.sdk.dag_tasks import Condition, ConditionsTask, DagTask, SwitchTask
from conductor_py.sdk.definition_builder import DefinitionBuilder, switch_document
from conductor_py.sdk.definition_document import checked
from conductor_py.sdk.definition_members import (
    DagMembers,
    SharedTaskMembers,
    TaskMembers,
    members,
    task_document,
)

if TYPE_CHECKING:
    from datetime import date

    from conductor_py.sdk.client import Client
    from conductor_py.sdk.operation_calls import RerunMode

_Kind = TypeVar("_Kind", bound=DagTask)


class Dag(DefinitionBuilder[DagTask]):
    """A DAG under construction. It is changed by its own methods and by those of its tasks."""

    _kind = "DAG"
    _made_by: ClassVar = {"CONDITIONS": "dag.conditions", "SWITCH": "dag.switch"}

    def __init__(self, name: str, **given: Unpack[DagMembers]) -> None:
        """Begin without tasks; ``given`` is what the workflow is told beside them."""
        super().__init__(name, members(DagMembers, given, f"DAG {name}"))
        self._relations = Relations(name)
        self._tasks: dict[str, DagTask] = {}
        self._cleanups: list[DagTask] = []

    # -- tasks -------------------------------------------------------------------------------------

    def conditions(
        self, reference: str, condition: Condition | None = None, **given: Unpack[TaskMembers]
    ) -> ConditionsTask:
        """Add CONDITIONS, which come after the tasks that ``condition`` is about; without one, all
        that lead to them must have succeeded.
        """
        document: dict[str, Any] = {"name": reference, "type": "CONDITIONS"}
        if condition is not None:
            document["inputParameters"] = {"condition": condition.document}
        judging = self._added(ConditionsTask, reference, document, given)
        for task in condition.tasks if condition is not None else ():
            task >> judging
        return judging

    def switch(self, reference: str, value: str, **given: Unpack[TaskMembers]) -> SwitchTask:
        """Add a SWITCH by ``value``, an expression such as ``${count.output.size}``.

        With ``evaluator_type="javascript"`` it is a script over the task's inputs.
        """
        document = switch_document(reference, value, given)
        return self._added(SwitchTask, reference, document, given)

    def shared(
        self, reference: str, *, code: str, version: int, **given: Unpack[SharedTaskMembers]
    ) -> DagTask:
        """Add a task of the catalog that many workflows use; what is given replaces what it has."""
        uses = {"uses": {"code": code, "version": version}}
        return self._added(DagTask, reference, uses, given)

    def cleanup(
        self,
        name: str,
        *,
        reference: str | None = None,
        after: Iterable[DagTask] | None = None,
        **given: Unpack[TaskMembers],
    ) -> DagTask:
        """Add a task that runs when tasks have ended, whatever has become of them; it excuses no
        failure. Without ``after`` these are all that nothing follows when the DAG is built.

        With the failure strategy END a failure ends the whole at once, this task included.
        """
        given.setdefault("trigger_rule", "ALL_DONE")
        task = self.task(name, reference=reference, **given)
        if after is None:
            self._cleanups.append(task)
        for each in after or ():
            each.always(task)
        return task

    # -- the definition ----------------------------------------------------------------------------

    def build(self) -> JsonObject:
        """Write the definition: what is sent to a server, and an object of its own.

        Raises ``DefinitionError`` with everything that is wrong, in terms of tasks and relations in
        its message and as JSON paths in its ``violations``.
        """
        relations = list(self._written())
        definition = {
            "name": self.name,
            **self._members,
            "tasks": [task.document for task in self._tasks.values()],
            # Without a relation it would be a list of tasks, which run one after the other.
            "relations": relations or [{"postTask": reference} for reference in self._tasks],
        }
        return checked(definition, str(self))

    def to_json(self) -> JsonObject:
        """Write the definition, as ``build`` does."""
        return self.build()

    def save(self, client: Client, *, draft: bool = False, etag: int = 0) -> JsonObject:
        """Save it in the catalog, as a new version of what has its name, and return the head.

        Raises ``Conflict`` when that is published and this is no ``draft``, or has another
        ``etag``.
        """
        definition = self.build()
        known = self._known(client)
        if known is None:
            return client.save_version("workflows", definition)
        code, seen = known
        return client.save_version(
            "workflows", definition, code=code, etag=etag or seen, draft=draft
        )

    def publish(self, client: Client, *, version: int | None = None, etag: int = 0) -> JsonObject:
        """Let a version in the catalog, the one that is edited if none is named, start by its name;
        return the head. Raises ``NotFound`` when it was never saved, ``Conflict``.
        """
        known = self._known(client)
        if known is None:
            raise NotFound(f"There is no workflow {self.name} in the catalog; save it first")
        return client.publish(known[0], version=version, etag=etag)

    def start(
        self,
        client: Client,
        *,
        input: JsonObject | None = None,
        version: int | None = None,
        correlation_id: str | None = None,
        priority: int | str | None = None,
        start_nodes: Sequence[DagTask] = (),
        depend_mode: RerunMode | None = None,
        business_time: date | str | None = None,
        zone: str | None = None,
    ) -> str:
        """Start the published version, or the one that is named, and return the workflow id.

        What is here and was not published is not what runs: ``client.start_workflow(definition=
        dag.build())`` runs that.
        """
        return client.start_workflow(
            self.name,
            input=input,
            version=version,
            correlation_id=correlation_id,
            priority=priority,
            start_nodes=[task.reference for task in start_nodes],
            depend_mode=depend_mode,
            business_time=business_time,
            zone=zone,
        )

    # ----------------------------------------------------------------------------------------------

    def _made(self, reference: str, document: dict[str, Any], given: Mapping[str, Any]) -> DagTask:
        return self._added(DagTask, reference, document, given)

    def _wrong(self, sentence: str) -> DefinitionError:
        return self._relations.wrong(sentence)

    def _added(
        self, kind: type[_Kind], reference: str, document: dict[str, Any], given: Mapping[str, Any]
    ) -> _Kind:
        whole = task_document(reference, document, given, str(self))
        task = kind(self._relations, reference, whole)
        self._tasks[reference] = task
        return task

    def _written(self) -> Iterator[dict[str, Any]]:
        for each in self._relations:
            written = {"preTask": each.pre_task, "postTask": each.post_task, "label": each.label}
            yield written if each.case is None else {**written, "case": each.case}
        late = {task.reference for task in self._cleanups}
        for task in self._cleanups:
            late |= self._relations.behind(task.reference)
        for end in self._tasks:
            if end not in late and self._relations.is_end(end):
                for task in self._cleanups:
                    yield {"preTask": end, "postTask": task.reference, "label": "always"}

    def _known(self, client: Client) -> tuple[str, int] | None:
        """Find code and etag of what has this name in the catalog."""
        heads = client.list_heads("workflows", name=self.name)
        if not heads:
            return None
        etag = heads[0].get("etag")
        return str(heads[0].get("code")), etag if isinstance(etag, int) else 0
