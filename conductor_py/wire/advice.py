"""What a definition is taken with although it is hardly meant: warnings, each with its JSON path.

Nothing here is refused: Conductor takes these definitions, too, and official clients make some.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from conductor_py.errors import Violation
from conductor_py.model.definitions import (
    CONTROL_TYPES,
    WorkflowDef,
    WorkflowTask,
    children_of,
    inline_definitions,
    tasks_of,
)
from conductor_py.wire.catalog_forms import CatalogTaskForm, CatalogWorkflowForm
from conductor_py.wire.definitions import TASK_DEF, WORKFLOW_DEF
from conductor_py.wire.event_handlers import EventHandlerForm
from conductor_py.wire.fields import Cases, Key, Lists, Many, One, WireSchema, step
from conductor_py.wire.flow_advice import flow_advice
from conductor_py.wire.likeness import LIKENESS, nearest
from conductor_py.wire.member_advice import member_advice
from conductor_py.wire.schedules import WorkflowScheduleForm
from conductor_py.wire.task_rules import RULES
from conductor_py.wire.validation import FORKS, places_of

BUILT_IN = frozenset(
    (*RULES, *CONTROL_TYPES, "HUMAN", "NOOP", "PULL_WORKFLOW_MESSAGES", "SET_VARIABLE", "SIMPLE")
)
"""Types that this server carries out itself, and that of workers."""
_ELSEWHERE = frozenset(
    (
        *("BUSINESS_RULE", "CALL_MCP_TOOL", "CHUNK_TEXT", "GENERATE_AUDIO"),
        *("GENERATE_IMAGE", "GENERATE_PDF", "GENERATE_VIDEO", "GET_DOCUMENT"),
        *("GET_SIGNED_JWT", "GET_WORKFLOW", "GRPC", "HTTP_POLL"),
        *("JDBC", "LIST_FILES", "LIST_MCP_TOOLS", "OPS_GENIE"),
        *("PARSE_DOCUMENT", "QUERY_PROCESSOR", "SENDGRID", "UPDATE_SECRET"),
        *("UPDATE_TASK", "WAIT_FOR_WEBHOOK"),
    )
)
"""What Conductor with its modules, or Orkes, carries out in the server; and all that begins so:"""
_ELSEWHERE_TOO = "LLM_"
_NO_WORKER = "and no path of the interface carries one: workers cannot poll for it"
_ZONES = frozenset({"timezone", "time_zone", "zone", "tz"})
"""What other schedulers call the zone."""
_HARDLY_MEANT = 0.9
"""So much alike is one that is misspelt although the right one stands beside it."""


def advice(definition: WorkflowDef, document: object) -> Iterator[Violation]:
    """List what is likely not meant in a definition, and in the JSON it was read from."""
    for root, each in inline_definitions(definition):
        yield from _without_join(each, root)
        yield from _idle(each, root)
        yield from _of_others(each, root)
        yield from _unreachable(each, root)
        yield from member_advice(each, root)
        yield from flow_advice(each, root)
    yield from _strangers(WORKFLOW_DEF, document, "$")


def task_advice(document: object) -> Iterator[Violation]:
    """List what is likely not meant in the JSON of a task definition."""
    if isinstance(document, Mapping) and "/" in str(document.get("name")):
        yield Violation(path="$.name", message=f"has a slash, {_NO_WORKER}")
    yield from _strangers(TASK_DEF, document, "$")


def versioned_advice(document: object, *, is_task: bool) -> Iterator[Violation]:
    """List what is likely not meant in the JSON of a workflow or task that has versions."""
    yield from _strangers(CatalogTaskForm() if is_task else CatalogWorkflowForm(), document, "$")


def schedule_advice(document: object, now_ms: int) -> Iterator[Violation]:
    """List what is likely not meant in the JSON of a schedule."""
    yield from _strangers(WorkflowScheduleForm(), document, "$")
    if not isinstance(document, Mapping):
        return
    crons = document.get("cronSchedules")
    listed = enumerate(crons if isinstance(crons, list) else ())
    for path, each in (("$", document), *((f"$.cronSchedules[{at}]", one) for at, one in listed)):
        for name in each if isinstance(each, Mapping) else ():
            if str(name).lower() in _ZONES:
                message = "is not a known member; did you mean zoneId?"
                yield Violation(path=f"{path}{step(name)}", message=message)
    end = document.get("scheduleEndTime")
    if isinstance(end, int) and 0 < end <= now_ms:
        message = "has passed: the schedule starts nothing"
        yield Violation(path="$.scheduleEndTime", message=message)


def handler_advice(document: object) -> Iterator[Violation]:
    """List what is likely not meant in the JSON of an event handler."""
    yield from _strangers(EventHandlerForm(), document, "$")


def _unreachable(definition: WorkflowDef, root: str) -> Iterator[Violation]:
    """Names that stand in paths of the interface, with what parts a path."""
    if "/" in definition.name:
        message = "has a slash, and no path of the interface carries one: it can only be started"
        yield Violation(path=f"{root}.name", message=message)
    for path, task in tasks_of(definition, root):
        if task.type == "SIMPLE" and "/" in task.name:
            yield Violation(path=f"{path}.name", message=f"has a slash, {_NO_WORKER}")


def _without_join(definition: WorkflowDef, root: str) -> Iterator[Violation]:
    yield from _forks(definition.tasks, f"{root}.tasks", None)


def _forks(
    tasks: Sequence[WorkflowTask], path: str, behind: WorkflowTask | None
) -> Iterator[Violation]:
    """Forks of a list that no JOIN comes next to; ``behind`` is what comes next to the list."""
    for index, task in enumerate(tasks):
        here, is_last = f"{path}[{index}]", index + 1 == len(tasks)
        following = behind if is_last else tasks[index + 1]
        # To a fork that data makes it stands next in the same list.
        join = None if is_last and task.type != "FORK_JOIN" else following
        if task.type in FORKS and not _is(join, "JOIN", "EXCLUSIVE_JOIN"):
            message = f"has no JOIN right behind it: this {task.type} fails when it is reached"
            yield Violation(path=here, message=message)
        for inner, body in children_of(task):
            yield from _forks(body, here + inner, None if task.type == "DO_WHILE" else following)


def _is(task: WorkflowTask | None, *types: str) -> bool:
    return task is not None and task.type in types


def _idle(definition: WorkflowDef, root: str) -> Iterator[Violation]:
    """What looks as if something came of it, and nothing ever does."""
    if definition.workflow_status_listener_sink and not definition.workflow_status_listener_enabled:
        message = "has no effect without workflowStatusListenerEnabled"
        yield Violation(path=f"{root}.workflowStatusListenerSink", message=message)
    for place in places_of(definition.tasks, f"{root}.tasks", 1):
        task = place.task
        condition = task.loop_condition or ""
        if task.type == "DO_WHILE" and "${" in condition and "`" not in condition:
            message = (
                "is JavaScript, in which no ${…} is read: name the value in inputParameters, and"
                " write $.name"
            )
            yield Violation(path=f"{place.path}.loopCondition", message=message)
        if task.type == "JOIN" and not task.join_on and _is(place.before, "FORK_JOIN"):
            message = "is empty: the JOIN waits for nothing, and does not end with the fork"
            yield Violation(path=f"{place.path}.joinOn", message=message)
        if task.type == "JOIN" and task.expression:
            message = "is not read: a JOIN ends when all that it waits for has"
            yield Violation(path=f"{place.path}.expression", message=message)
        named = task.dynamic_fork_tasks_param
        told = task.input_parameters.keys() & {named, "forkTaskInputs"}
        if task.type == "FORK_JOIN_DYNAMIC" and named and not told:
            message = f"names no inputParameter: the fork finds no tasks in {named!r}"
            yield Violation(path=f"{place.path}.dynamicForkTasksParam", message=message)


def _of_others(definition: WorkflowDef, root: str) -> Iterator[Violation]:
    """Types that another server carries out itself, or that are misspelt, and here wait for a
    worker.
    """
    for path, task in tasks_of(definition, root):
        kind = task.type
        meant = None if kind in BUILT_IN else nearest(kind.upper(), BUILT_IN, LIKENESS)
        if meant and kind not in _ELSEWHERE:
            message = f"is a type of yours, for which a worker must poll; did you mean {meant}?"
            yield Violation(path=f"{path}.type", message=message)
        if kind in _ELSEWHERE or kind.startswith(_ELSEWHERE_TOO):
            message = (
                f"is not carried out by this server: a worker, or a system task of yours, must"
                f" poll for {kind}"
            )
            yield Violation(path=f"{path}.type", message=message)


def _strangers(form: WireSchema, value: object, path: str) -> Iterator[Violation]:
    """Members that no form knows, where one that it knows is much alike."""
    if not isinstance(value, Mapping):
        return
    known = {str(field.data_key): field for field in form.fields.values()}
    for name, inner in value.items():
        field = known.get(name)
        if field is None:
            near = nearest(name, known, LIKENESS)
            if near and near not in value:
                message = f"is not a known member; did you mean {near}?"
                yield Violation(path=f"{path}{step(name)}", message=message)
            elif near and nearest(name, (near,), _HARDLY_MEANT):
                message = f"is not a known member; {near} counts"
                yield Violation(path=f"{path}{step(name)}", message=message)
        elif isinstance(field, One):
            for where, each in _inside(field, inner, path + step(name)):
                yield from _strangers(field.schema_of(), each, where)


def _inside(field: One, value: Any, path: str) -> Iterator[tuple[str, object]]:  # noqa: ANN401
    """The objects of another form that a member holds."""
    depth = 2 if isinstance(field, Lists | Cases) else int(isinstance(field, Many))
    found = [(path, value)]
    for _ in range(depth):
        found = [one for where, each in found for one in _items(where, each)]
    yield from found


def _items(path: str, value: object) -> list[tuple[str, object]]:
    if isinstance(value, Mapping):
        return [(path + step(Key(name)), each) for name, each in value.items()]
    if isinstance(value, list):
        return [(path + step(index), each) for index, each in enumerate(value)]
    return []
