"""Which workflows a definition starts by names that it says.

Names that are worked out while an execution runs (``${...}``) and what stands in definitions that
are sent along are nobody's to know beforehand.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from conductor_py.model.definitions import WorkflowDef, WorkflowTask, children_of
from conductor_py.model.lineage import Call, Link


def calls_of(definition: WorkflowDef) -> Iterator[Call]:
    """List the workflows that a definition starts."""
    if definition.failure_workflow and "${" not in definition.failure_workflow:
        yield Call(
            link=Link.FAILURE_WORKFLOW,
            path="$.failureWorkflow",
            name=definition.failure_workflow,
            version=definition.failure_workflow_version or None,
        )
    pending = [(f"$.tasks[{at}]", task) for at, task in enumerate(definition.tasks)]
    while pending:
        path, task = pending.pop()
        called = _called(task)
        if called is not None:
            link, member, name, version = called
            if name and "${" not in name:
                known = version if isinstance(version, int) and version else None
                yield Call(link=link, path=path + member, name=name, version=known)
        for inner, body in children_of(task):
            pending += [(f"{path}{inner}[{at}]", each) for at, each in enumerate(body)]


def _called(task: WorkflowTask) -> tuple[Link, str, str, object] | None:
    params = task.sub_workflow_param
    if task.type == "SUB_WORKFLOW" and params is not None and params.workflow_definition is None:
        return Link.SUB_WORKFLOW, ".subWorkflowParam.name", params.name or "", params.version
    request = task.input_parameters.get("startWorkflow")
    if task.type == "START_WORKFLOW" and isinstance(request, Mapping):
        name = request.get("name")
        if isinstance(name, str) and request.get("workflowDef") is None:
            path = ".inputParameters.startWorkflow.name"
            return Link.START_WORKFLOW, path, name, request.get("version")
    return None
