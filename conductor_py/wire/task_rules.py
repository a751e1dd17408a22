"""What each task type asks of its place in a definition, one function a type."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType

from conductor_py.errors import Violation
from conductor_py.model.definitions import WorkflowTask
from conductor_py.model.json import JsonObject, JsonValue
from conductor_py.model.wait_time import parse_duration_ms, parse_until_ms
from conductor_py.wire.business_times import read_business
from conductor_py.wire.pipeline_templates import template_findings

Finding = tuple[str, str, str | None]
"""Path below the task, sentence, and the scalar that is wrong."""

InputTemplateOf = Callable[[str], JsonObject]
"""The input template of the registered task definition of that name; empty when there is none."""

_Rule = Callable[[WorkflowTask, InputTemplateOf], Iterator[Finding]]
_SCRIPTS = ("javascript", "graaljs")
_EVALUATORS = ("value-param", *_SCRIPTS)
_ENDINGS = ("COMPLETED", "FAILED", "TERMINATED")


def no_template(_name: str) -> JsonObject:
    """Know no task definitions."""
    return {}


def _switch(task: WorkflowTask, _: InputTemplateOf) -> Iterator[Finding]:
    if not task.decision_cases:
        yield ".decisionCases", "must hold at least one case", None
    if not task.evaluator_type:
        yield ".evaluatorType", "must be given", None
    else:
        yield from _evaluator(".evaluatorType", task.evaluator_type)
    if not task.expression:
        yield ".expression", "must be given", None


def _evaluator(path: str, name: JsonValue) -> Iterator[Finding]:
    if not isinstance(name, str) or "${" in name or name in _EVALUATORS:
        return
    message = f"must be one of {', '.join(_EVALUATORS)}"
    if name == "python":
        message += "; a Python script cannot be kept from doing harm"
    yield path, message, name


def _inline(task: WorkflowTask, input_template_of: InputTemplateOf) -> Iterator[Finding]:
    yield from _needs_input("expression")(task, input_template_of)
    yield from _evaluator(
        ".inputParameters.evaluatorType", task.input_parameters.get("evaluatorType")
    )


def _lambda(task: WorkflowTask, input_template_of: InputTemplateOf) -> Iterator[Finding]:
    if not task.script_expression:
        yield from _needs_input("scriptExpression")(task, input_template_of)


def _decision(task: WorkflowTask, _: InputTemplateOf) -> Iterator[Finding]:
    if not task.decision_cases:
        yield ".decisionCases", "must hold at least one case", None
    if not (task.case_value_param or task.case_expression):
        yield ".caseValueParam", "or caseExpression must be given", None


def _event(task: WorkflowTask, _: InputTemplateOf) -> Iterator[Finding]:
    if not task.sink:
        yield ".sink", "must be given", None


def _dynamic(task: WorkflowTask, _: InputTemplateOf) -> Iterator[Finding]:
    if not task.dynamic_task_name_param:
        yield ".dynamicTaskNameParam", "must be given", None


def _fork(task: WorkflowTask, _: InputTemplateOf) -> Iterator[Finding]:
    if not task.fork_tasks:
        yield ".forkTasks", "must hold at least one branch", None
    for index, branch in enumerate(task.fork_tasks):
        if not branch:
            yield f".forkTasks[{index}]", "must hold at least one task", None


def _dynamic_fork(task: WorkflowTask, _: InputTemplateOf) -> Iterator[Finding]:
    pair = (task.dynamic_fork_tasks_param, task.dynamic_fork_tasks_input_param_name)
    if "forkTaskInputs" in task.input_parameters:
        return
    if task.dynamic_fork_join_tasks_param:
        if any(pair):
            message = "must not be given together with dynamicForkTasksParam"
            yield ".dynamicForkJoinTasksParam", message, task.dynamic_fork_join_tasks_param
        return
    if not pair[0]:
        yield ".dynamicForkTasksParam", "must be given", None
    if not pair[1]:
        yield ".dynamicForkTasksInputParamName", "must be given", None


def _needs_input(*names: str) -> _Rule:
    """Demand one of these inputs; the first may also stand in the task definition's template."""

    def rule(task: WorkflowTask, input_template_of: InputTemplateOf) -> Iterator[Finding]:
        if any(name in task.input_parameters for name in names):
            return
        inline = task.task_definition
        template = inline.input_template if inline else input_template_of(task.name)
        if names[0] not in template:
            others = f", or {' and '.join(names[1:])} in its place" if names[1:] else ""
            yield f".inputParameters.{names[0]}", f"must be given{others}", None

    return rule


def _terminate(task: WorkflowTask, _: InputTemplateOf) -> Iterator[Finding]:
    status = task.input_parameters.get("terminationStatus")
    if status not in _ENDINGS:
        message = f"must be one of {', '.join(_ENDINGS)}"
        shown = status if isinstance(status, str) else None
        yield ".inputParameters.terminationStatus", message, shown
    if task.optional:
        yield ".optional", "must not be true for TERMINATE", "true"


def _loop(task: WorkflowTask, _: InputTemplateOf) -> Iterator[Finding]:
    if not (task.loop_condition or task.items or "_items" in task.input_parameters):
        yield ".loopCondition", "must be given, or items to loop over", None
    if not task.loop_over:
        yield ".loopOver", "must hold at least one task", None
    keep = task.input_parameters.get("keepLastN")
    if keep is not None and (not isinstance(keep, int) or isinstance(keep, bool) or keep < 1):
        message = "must be a whole number of at least 1; expressions are not possible here"
        yield ".inputParameters.keepLastN", message, keep if isinstance(keep, str) else str(keep)


def _pipeline(task: WorkflowTask, input_template_of: InputTemplateOf) -> Iterator[Finding]:
    yield from _needs_input("job")(task, input_template_of)
    if "job" in task.input_parameters:
        for found in template_findings(task.input_parameters["job"]):
            yield f".inputParameters.job{found.path[1:]}", found.message, found.invalid_value


def _sub_workflow(task: WorkflowTask, _: InputTemplateOf) -> Iterator[Finding]:
    params = task.sub_workflow_param
    if params is None:
        yield ".subWorkflowParam", "must be given", None
        return
    at, zone = (
        None if "${" in str(each) else each for each in (params.business_time, params.zone_id)
    )
    found = read_business(at, zone, ".subWorkflowParam.")
    if isinstance(found, Violation):
        yield found.path, found.message, found.invalid_value


def _wait(task: WorkflowTask, _: InputTemplateOf) -> Iterator[Finding]:
    duration = task.input_parameters.get("duration")
    until = task.input_parameters.get("until")
    if duration and until:
        yield ".inputParameters", "must hold either duration or until, not both", None
    # An empty text is no time at all: the WAIT waits for a signal.
    if _is_literal(duration) and parse_duration_ms(str(duration)) is None:
        message = "must be a duration such as '2 days 3 hours 5 minutes 10 seconds' or '90s'"
        yield ".inputParameters.duration", message, str(duration)
    if _is_literal(until):
        try:
            parse_until_ms(str(until))
        except ValueError as unreadable:
            yield ".inputParameters.until", f"must be a time: {unreadable}", str(until)


def _is_literal(value: JsonValue) -> bool:
    return bool(value) and "${" not in str(value)


def scripts_of(task: WorkflowTask) -> Iterator[tuple[str, str]]:
    """The programs that choose a branch, which no expression can change: path and text."""
    if task.type == "SWITCH" and task.expression and task.evaluator_type in _SCRIPTS:
        yield ".expression", task.expression
    if task.type == "DECISION" and task.case_expression:
        yield ".caseExpression", task.case_expression


RULES: Mapping[str, _Rule] = MappingProxyType(
    {
        "SWITCH": _switch,
        "DECISION": _decision,
        "EVENT": _event,
        "DYNAMIC": _dynamic,
        "FORK_JOIN": _fork,
        "FORK_JOIN_DYNAMIC": _dynamic_fork,
        "HTTP": _needs_input("http_request", "uri", "method"),
        "KAFKA_PUBLISH": _needs_input("kafka_request"),
        "JSON_JQ_TRANSFORM": _needs_input("queryExpression"),
        "INLINE": _inline,
        "LAMBDA": _lambda,
        "START_WORKFLOW": _needs_input("startWorkflow"),
        "TERMINATE": _terminate,
        "DO_WHILE": _loop,
        "SPARK_PIPELINE": _pipeline,
        "SUB_WORKFLOW": _sub_workflow,
        "WAIT": _wait,
    }
)
"""The rules by task type; a type that is not here asks for nothing."""
