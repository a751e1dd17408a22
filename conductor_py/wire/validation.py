"""Whether a definition makes sense: every rule that needs no other definition.

Nothing stops at the first finding: all of them are collected, each with its JSON path. The rules
are Conductor's, applied to the whole tree (Conductor leaves out loop bodies), and those that
Conductor finds out only when the workflow runs and can then only fail: a JOIN on a reference that
does not exist, a WAIT that cannot be read, a ``keepLastN`` that is no number. What is taken with a
warning stands in ``advice``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator

from conductor_py.errors import DefinitionError, Violation
from conductor_py.model.definitions import (
    CONTROL_TYPES,
    TaskDef,
    WorkflowDef,
    WorkflowTask,
    children_of,
)
from conductor_py.model.json import JsonObject, JsonValue
from conductor_py.model.parameters import ROOTS
from conductor_py.model.text_bounds import too_long
from conductor_py.records import dataclass, field
from conductor_py.wire.dag_rules import dag_findings
from conductor_py.wire.fields import texts_in
from conductor_py.wire.parameter_rules import parameter_findings
from conductor_py.wire.task_rules import RULES, Finding, InputTemplateOf, no_template, scripts_of

CheckExpressions = Callable[[JsonValue], Iterable[tuple[str, str]]]
"""List the malformed ``${…}`` of a value: where (a path below it) and a sentence."""

CheckScript = Callable[[str], str | None]
"""Say what keeps a JavaScript program from being parsed; ``None``: nothing."""

_NAME = re.compile(r"[A-Za-z0-9_<>{}#\s-]+")
_REFERENCE = re.compile(r"(?<!\$)\$\{\s*([^.\[\]{}$\s]+)")
_MOST_MASKED = 1_000
_DYNAMIC = frozenset({"FORK_JOIN_DYNAMIC", "DYNAMIC"})
FORKS = frozenset({"FORK_JOIN", "FORK_JOIN_DYNAMIC"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """The largest definition that is taken."""

    max_tasks: int = 10_000
    max_depth: int = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """What the deployment asks of definitions, and what the rules need to ask others.

    ``unknown_names``: whether ``${NAME}`` may name what is no task of the definition.
    """

    limits: Limits = field(default_factory=Limits)
    check_expressions: CheckExpressions = lambda _: ()
    check_script: CheckScript = lambda _: None
    input_template_of: InputTemplateOf = no_template
    unknown_names: bool = False
    owner_email_mandatory: bool = False
    restrict_names: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """A task and where it stands."""

    task: WorkflowTask
    path: str
    depth: int
    before: WorkflowTask | None
    after: WorkflowTask | None


def check(definition: WorkflowDef, rules: Rules, *, root: str = "$") -> None:
    """Raise ``DefinitionError`` with all that is wrong; ``root`` is the definition's path."""
    found = tuple(findings(definition, rules, root=root))
    if found:
        raise DefinitionError(violations=found)


def check_task_def(definition: TaskDef, rules: Rules, *, root: str = "$") -> None:
    """Raise ``DefinitionError`` with everything that is wrong with a task definition."""
    found = tuple(_violations(root, _task_def_findings(definition, rules)))
    found += tuple(_template(definition, root, rules))
    if found:
        raise DefinitionError(violations=found)


def findings(definition: WorkflowDef, rules: Rules, *, root: str = "$") -> Iterator[Violation]:
    """List everything that is wrong with a definition."""
    yield from _violations(root, _head_findings(definition, rules))
    places: list[Place] = []
    for place in places_of(definition.tasks, f"{root}.tasks", 1):
        places.append(place)
        if len(places) > rules.limits.max_tasks or place.depth > rules.limits.max_depth:
            yield _too_large(place, rules.limits)
            return
    references = frozenset(place.task.task_reference_name for place in places)
    yield from _violations(root, dag_findings(definition))
    yield from _violations(root, parameter_findings(definition))
    opened = any(place.task.type in _DYNAMIC for place in places)
    yield from _duplicates(places)
    for place in places:
        found = _task_findings(place, rules, references)
        if definition.relations and place.depth == 1:
            # The branches of a DAG are its relations.
            found = (each for each in found if each[0] != ".decisionCases")
        yield from _violations(place.path, found)
        # Only a dynamic fork brings references that the definition does not name.
        known = None if opened and place.depth > 1 else references
        inputs = f"{place.path}.inputParameters"
        yield from _expressions(place.task.input_parameters, inputs, rules, known)
        own = f"{place.path}.parameters"
        yield from _expressions(place.task.parameters, own, rules, known)
        yield from _expressions(place.task.read_beside_input, place.path, rules, None)
        yield from _template(place.task.task_definition, f"{place.path}.taskDefinition", rules)
        yield from _inline(place, rules)
    yield from _expressions(definition.parameters, f"{root}.parameters", rules, None)
    beside: JsonObject = {
        "rateLimitConfig": definition.rate_limit_config,
        "failureWorkflow": definition.failure_workflow,
    }
    yield from _expressions(beside, root, rules, None)
    outputs = f"{root}.outputParameters"
    yield from _expressions(definition.output_parameters, outputs, rules, None)


def _violations(root: str, found: Iterator[Finding]) -> Iterator[Violation]:
    for path, message, value in found:
        yield Violation(path=root + path, message=message, invalid_value=value)


def _too_large(place: Place, limits: Limits) -> Violation:
    if place.depth > limits.max_depth:
        message = f"must not be nested more than {limits.max_depth} tasks deep"
    else:
        message = f"must not be preceded by {limits.max_tasks} tasks: split the workflow"
    return Violation(path=place.path, message=message)


def places_of(tasks: tuple[WorkflowTask, ...], path: str, depth: int) -> Iterator[Place]:
    """List the tasks of a list, each before those inside it."""
    for index, task in enumerate(tasks):
        here = f"{path}[{index}]"
        yield Place(
            task=task,
            path=here,
            depth=depth,
            before=tasks[index - 1] if index else None,
            after=tasks[index + 1] if index + 1 < len(tasks) else None,
        )
        for inner, body in children_of(task):
            yield from places_of(body, here + inner, depth + 1)


# ------------------------------------------------------------------------------------ the whole


def _head_findings(definition: WorkflowDef, rules: Rules) -> Iterator[Finding]:
    yield from _too_long(".name", definition.name)
    if not definition.name.strip():
        yield ".name", "must not be empty", definition.name
    elif rules.restrict_names and not _NAME.fullmatch(definition.name):
        message = "may hold letters, digits, blanks and _ < > { } # - only"
        yield ".name", message, definition.name
    if not definition.tasks:
        yield ".tasks", "must hold at least one task", None
    if definition.schema_version != 2:
        yield ".schemaVersion", "must be 2", str(definition.schema_version)
    if len(definition.masked_fields) > _MOST_MASKED:
        yield ".maskedFields", f"must not name more than {_MOST_MASKED:,} fields", None
    if rules.owner_email_mandatory and not definition.owner_email:
        yield ".ownerEmail", "must be given", None


def _too_long(path: str, name: str) -> Iterator[Finding]:
    message = too_long(name)
    if message is not None:
        yield path, message, f"{name[:20]}…"


def _duplicates(places: list[Place]) -> Iterator[Violation]:
    first: dict[str, str] = {}
    for place in places:
        name = place.task.task_reference_name
        if name and name in first:
            yield Violation(
                path=f"{place.path}.taskReferenceName",
                message=f"must be unique in the workflow; {first[name]} has it already",
                invalid_value=name,
            )
        first.setdefault(name, place.path)


def _inline(place: Place, rules: Rules) -> Iterator[Violation]:
    params = place.task.sub_workflow_param
    if params is not None and isinstance(params.workflow_definition, WorkflowDef):
        root = f"{place.path}.subWorkflowParam.workflowDefinition"
        yield from findings(params.workflow_definition, rules, root=root)


# -------------------------------------------------------------------------------------- one task


def _name_findings(task: WorkflowTask) -> Iterator[Finding]:
    yield from _too_long(".name", task.name)
    yield from _too_long(".taskReferenceName", task.task_reference_name)
    yield from _too_long(".type", task.type)
    if not task.name.strip():
        yield ".name", "must not be empty", task.name
    if not task.task_reference_name.strip():
        yield ".taskReferenceName", "must not be empty", task.task_reference_name
    if task.type == "SIMPLE" and task.name in CONTROL_TYPES:
        yield ".name", "must not be that of a type that leads an execution", task.name
    if task.type == "FORK":
        yield ".type", "must be FORK_JOIN or FORK_JOIN_DYNAMIC for a fork", task.type


def _task_findings(place: Place, rules: Rules, references: frozenset[str]) -> Iterator[Finding]:
    task = place.task
    yield from _name_findings(task)
    rule = RULES.get(task.type)
    if rule is not None:
        yield from rule(task, rules.input_template_of)
    for path, script in scripts_of(task):
        wrong = rules.check_script(script)
        if wrong is not None:
            yield path, wrong, script[:200]
    if task.type == "JOIN" and not _joins_dynamic_fork(place):
        for index, name in enumerate(task.join_on):
            if name not in references:
                yield f".joinOn[{index}]", "must name a task of this workflow", name


def _joins_dynamic_fork(place: Place) -> bool:
    return place.before is not None and place.before.type == "FORK_JOIN_DYNAMIC"


def _expressions(
    values: JsonObject, root: str, rules: Rules, known: frozenset[str] | None
) -> Iterator[Violation]:
    for place, complaint in rules.check_expressions(values):
        yield Violation(path=root + place, message=complaint)
    if known is None or rules.unknown_names:
        return
    for path, text in texts_in(values, root):
        for name in _REFERENCE.findall(text) if "${" in text else ():
            if name not in known and name not in ROOTS:
                message = f"refers to '{name}', which is no task of this workflow"
                yield Violation(path=path, message=message, invalid_value=text[:200])


# ------------------------------------------------------------------------------ task definitions


def _template(definition: TaskDef | None, root: str, rules: Rules) -> Iterator[Violation]:
    if definition is not None:
        yield from _expressions(definition.input_template, f"{root}.inputTemplate", rules, None)


def _task_def_findings(definition: TaskDef, rules: Rules) -> Iterator[Finding]:
    response, timeout = definition.response_timeout_seconds, definition.timeout_seconds
    total = definition.total_timeout_seconds
    yield from _too_long(".name", definition.name)
    if not definition.name.strip():
        yield ".name", "must not be empty", definition.name
    if definition.backoff_scale_factor < 1:
        yield ".backoffScaleFactor", "must not be less than 1", str(definition.backoff_scale_factor)
    if response < 1:
        yield ".responseTimeoutSeconds", "must not be less than 1", str(response)
    if 0 < timeout < response:
        message = f"must not be more than timeoutSeconds, which is {timeout}"
        yield ".responseTimeoutSeconds", message, str(response)
    if timeout > 0 and 0 < total < timeout:
        message = f"must not be more than totalTimeoutSeconds, which is {total}"
        yield ".timeoutSeconds", message, str(timeout)
    if rules.owner_email_mandatory and not definition.owner_email:
        yield ".ownerEmail", "must be given", None
