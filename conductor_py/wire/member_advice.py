"""What a member of a task or a workflow says that cannot come true: no expression can change it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from conductor_py.errors import Violation
from conductor_py.model.definitions import WorkflowDef, WorkflowTask, tasks_of
from conductor_py.model.http_methods import METHODS
from conductor_py.model.json import JsonObject, JsonValue
from conductor_py.wire.task_rules import Finding

_SCHEMES = ("http://", "https://")


def member_advice(definition: WorkflowDef, root: str) -> Iterator[Violation]:
    """List them; ``root`` is the path of the definition."""
    if definition.version < 1:
        read = "takes 0 for the latest" if definition.version == 0 else "cannot name it"
        message = f"is {definition.version}, and a SUB_WORKFLOW {read}; count versions from 1"
        yield Violation(path=f"{root}.version", message=message)
    for path, task in tasks_of(definition, root):
        for where, message, value in (*_choice(task), *_http(task), *_child(task)):
            yield Violation(path=path + where, message=message, invalid_value=value)


def _choice(task: WorkflowTask) -> Iterator[Finding]:
    """Values to choose by that no input has."""
    named = {
        "SWITCH": (".expression", task.evaluator_type == "value-param" and task.expression),
        "DECISION": (".caseValueParam", not task.case_expression and task.case_value_param),
    }.get(task.type)
    if named and named[1] and named[1] not in task.input_parameters:
        message = (
            "names no inputParameter of this task: its value is always null, which leads to"
            " defaultCase; write the name of one, without $ and braces"
        )
        yield named[0], message, str(named[1])[:200]


def _child(task: WorkflowTask) -> Iterator[Finding]:
    version = task.sub_workflow_param.version if task.sub_workflow_param else None
    if task.type == "SUB_WORKFLOW" and isinstance(version, int) and version < 0:
        message = "is less than 0: the task fails; leave it out for the latest version"
        yield ".subWorkflowParam.version", message, str(version)


def _http(task: WorkflowTask) -> Iterator[Finding]:
    if task.type != "HTTP":
        return
    wanted = task.input_parameters.get("http_request")
    if isinstance(wanted, Mapping):
        yield from _request(wanted, ".inputParameters.http_request", is_whole=True)
    elif wanted is None:
        # What is not here may come from the template of the task definition.
        yield from _request(task.input_parameters, ".inputParameters", is_whole=False)
    elif not _is_open(wanted):
        yield ".inputParameters.http_request", "must be an object: the task fails without one", None


def _request(wanted: JsonObject, path: str, *, is_whole: bool) -> Iterator[Finding]:
    uri, method = wanted.get("uri"), wanted.get("method")
    if (is_whole or uri is not None) and not _is_open(uri) and not _is_url(uri):
        message = "must be a URL that begins with http:// or https://: the task fails without one"
        yield f"{path}.uri", message, uri[:200] if isinstance(uri, str) else None
    known = isinstance(method, str) and method.upper() in METHODS
    if (is_whole or method is not None) and not _is_open(method) and not known:
        message = f"must be one of {', '.join(sorted(METHODS))}: the task fails without one"
        yield f"{path}.method", message, method[:200] if isinstance(method, str) else None


def _is_url(value: JsonValue) -> bool:
    return isinstance(value, str) and value.strip().lower().startswith(_SCHEMES)


def _is_open(value: JsonValue) -> bool:
    """Whether an expression makes it."""
    return isinstance(value, str) and "${" in value
