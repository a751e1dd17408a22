"""What DAGs and workflows written in Python have in common: tasks of every kind, and expressions.

Each kind of task is one method that knows the members of its type, so that nobody has to. What the
order of tasks is made of (relations, or a sequence) belongs to the two builders.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar, Generic, Literal, TypeVar, Unpack

from conductor_py.errors import DefinitionError
from conductor_py.model.json import JsonObject, JsonValue
from conductor_py.sdk.definition_document import Definition
from conductor_py.sdk.definition_members import TaskMembers
from conductor_py.sdk.worker import WorkerTask

TaskT = TypeVar("TaskT")


class DefinitionBuilder(ABC, Generic[TaskT]):
    """A definition under construction."""

    _kind: ClassVar[str]
    _made_by: ClassVar[Mapping[str, str]]

    def __init__(self, name: str, told: dict[str, Any]) -> None:
        """Begin without tasks; ``told`` are members of the definition by their JSON names."""
        self.name = name
        self._members = told

    def __str__(self) -> str:
        return f"{self._kind} {self.name}"

    # -- expressions -------------------------------------------------------------------------------

    def input(self, path: str = "") -> str:
        """The expression by which tasks read the workflow's input: all of it, or a member."""
        return expression("workflow.input", path)

    def variable(self, path: str = "") -> str:
        """The expression by which tasks read the workflow's variables."""
        return expression("workflow.variables", path)

    def outputs(self, **values: JsonValue) -> None:
        """Say what the workflow gives when it has ended, beside what was said before."""
        self._members["outputParameters"] = {**self._members.get("outputParameters", {}), **values}

    # -- tasks -------------------------------------------------------------------------------------

    def task(
        self,
        name: str | WorkerTask[..., object],
        *,
        reference: str | None = None,
        type: str = "SIMPLE",
        **given: Unpack[TaskMembers],
    ) -> TaskT:
        """Add a task of any type: of workers that ask for ``name``, HTTP, WAIT, SPARK_PIPELINE and
        so on. Without a ``reference`` it has its name for one.

        A function of a worker may stand for the name of its task type.
        """
        named = name.options.name if isinstance(name, WorkerTask) else name
        if type in self._made_by:
            raise self._wrong(f"{named}: write {self._made_by[type]}(…) for a {type}")
        return self._made(reference or named, {"name": named, "type": type}, given)

    def sub_workflow(
        self,
        reference: str,
        workflow: str | Definition,
        *,
        version: int | None = None,
        **given: Unpack[TaskMembers],
    ) -> TaskT:
        """Add a task that runs a workflow: one that has a name, in that version or the newest, or
        another definition as it is now.
        """
        started: dict[str, Any] = {"name": workflow}
        if isinstance(workflow, Mapping):
            started = {"name": workflow.get("name"), "workflowDefinition": workflow}
        elif not isinstance(workflow, str):
            started = {"name": workflow.name, "workflowDefinition": workflow.to_json()}
        if version is not None:
            started["version"] = version
        started |= given.pop("sub_workflow_param", {})
        document = {"name": reference, "type": "SUB_WORKFLOW", "subWorkflowParam": started}
        return self._made(reference, document, given)

    def http(
        self,
        reference: str,
        uri: str,
        *,
        method: str = "GET",
        headers: JsonObject | None = None,
        body: JsonValue = None,
        accept: str | None = None,
        content_type: str | None = None,
        connect_timeout_ms: int | None = None,
        read_timeout_ms: int | None = None,
        **given: Unpack[TaskMembers],
    ) -> TaskT:
        """Add an HTTP request; its output has the answer as ``response.body`` and so on."""
        request: dict[str, JsonValue] = {
            "uri": uri,
            "method": method,
            "headers": headers,
            "body": body,
            "accept": accept,
            "contentType": content_type,
            "connectionTimeOut": connect_timeout_ms,
            "readTimeOut": read_timeout_ms,
        }
        told = {name: value for name, value in request.items() if value is not None}
        return self._of_type("HTTP", reference, given, http_request=told)

    def wait(
        self,
        reference: str,
        *,
        duration: str | None = None,
        until: str | None = None,
        **given: Unpack[TaskMembers],
    ) -> TaskT:
        """Add a WAIT: for a ``duration`` (``2h 30m``), ``until`` a moment (``2030-12-31 23:59
        UTC``), or, with neither, until somebody reports on it. Raises ``DefinitionError`` for both.
        """
        if duration is not None and until is not None:
            raise self._wrong(f"{reference} waits for a duration or until a moment, not for both")
        return self._of_type("WAIT", reference, given, duration=duration, until=until)

    def human(self, reference: str, **given: Unpack[TaskMembers]) -> TaskT:
        """Add a task that a person does; it is open until somebody reports on it."""
        return self._of_type("HUMAN", reference, given)

    def set_variable(
        self, reference: str, variables: JsonObject, **given: Unpack[TaskMembers]
    ) -> TaskT:
        """Add a task that replaces variables of the workflow; ``variable`` reads them."""
        given["inputs"] = {**given.get("inputs", {}), **variables}
        return self._of_type("SET_VARIABLE", reference, given)

    def terminate(
        self,
        reference: str,
        status: Literal["COMPLETED", "FAILED", "TERMINATED"] = "COMPLETED",
        *,
        reason: str | None = None,
        output: JsonObject | str | None = None,
        **given: Unpack[TaskMembers],
    ) -> TaskT:
        """Add a task that ends the whole workflow as ``status``, with that output."""
        return self._of_type(
            "TERMINATE",
            reference,
            given,
            terminationStatus=status,
            terminationReason=reason,
            workflowOutput=output,
        )

    def inline(self, reference: str, script: str, **given: Unpack[TaskMembers]) -> TaskT:
        """Add a script over its own ``inputs`` (``$.name``); its output has the ``result``.

        It is JavaScript unless ``evaluator_type`` says otherwise.
        """
        evaluator = given.pop("evaluator_type", "javascript")
        return self._of_type("INLINE", reference, given, evaluatorType=evaluator, expression=script)

    def event(self, reference: str, sink: str, /, **given: Unpack[TaskMembers]) -> TaskT:
        """Add a task that publishes its inputs under the event that ``sink`` names."""
        document = {"name": reference, "type": "EVENT", "sink": sink}
        return self._made(reference, document, given)

    # ----------------------------------------------------------------------------------------------

    @abstractmethod
    def _made(
        self, reference: str, document: dict[str, Any], given: Mapping[str, Any]
    ) -> TaskT: ...

    @abstractmethod
    def _wrong(self, sentence: str) -> DefinitionError: ...

    def _of_type(
        self, type: str, reference: str, given: Mapping[str, Any], **inputs: JsonValue
    ) -> TaskT:
        """Add a task that is told what it needs by its inputs; None is left out."""
        told = {name: value for name, value in inputs.items() if value is not None}
        document = {"name": reference, "type": type, "inputParameters": told}
        return self._made(reference, document, given)


def expression(root: str, path: str) -> str:
    """Write ``${root.path}``, or ``${root}`` for all of it."""
    return f"${{{root}{'.' if path else ''}{path}}}"


def switch_document(reference: str, value: str, given: TaskMembers) -> dict[str, Any]:
    """Write a SWITCH by an expression, or by a script where ``given`` names its evaluator; an
    expression becomes one of the inputs given.
    """
    document: dict[str, Any] = {"name": reference, "type": "SWITCH"}
    if given.get("evaluator_type", "value-param") != "value-param":
        return {**document, "expression": value}
    given["inputs"] = {**given.get("inputs", {}), "case": value}
    return {**document, "evaluatorType": "value-param", "expression": "case"}
