"""Schedules over HTTP: the form, what is checked beyond it, previews and queries.

Conductor takes any schedule and lets a wrong one never fire; here it is refused, with the position
in the expression.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

from conductor_py.errors import InvalidInput, Violation
from conductor_py.model.business_time import instant_of
from conductor_py.model.cron import CronError, parse
from conductor_py.model.schedules import (
    CronSchedule,
    Overlap,
    RunFilter,
    RunState,
    Schedule,
    ScheduleFilter,
)
from conductor_py.model.zoned_time import zone_of
from conductor_py.wire.definition_reader import DefinitionReader, moved
from conductor_py.wire.fields import (
    Choice,
    Flag,
    Kept,
    Many,
    Payload,
    Text,
    Whole,
    WireSchema,
    load,
    whole,
)
from conductor_py.wire.parameters import Arguments, flag, number, text, wrong
from conductor_py.wire.requests import StartWorkflowRequestForm, read_start

MAX_PREVIEW = 5
"""Instants of a preview, as in Conductor."""

MAX_NAMES = 1_000
"""Names of one bulk request."""

_MAX_NAME = 255
_MAX_CRONS = 100
_MAX_TAGS = 100
_LAST_MS = 221_845_392_000_000
_TAKEN = frozenset({"search"})
_REQUEST = StartWorkflowRequestForm()


class CronScheduleForm(WireSchema):
    """A cron expression with six fields, and its time zone."""

    cron_expression = Text(required=True)
    zone_id = Text()


class TagForm(WireSchema):
    """A tag of a schedule."""

    key = Text(required=True)
    value = Text()
    type = Text()


_CRON = CronScheduleForm()
_TAG = TagForm()


class WorkflowScheduleForm(WireSchema):
    """Start a workflow at times: by ``cronExpression``, or by several ``cronSchedules``."""

    name = Text(required=True)
    cron_expression = Text()
    zone_id = Text()
    cron_schedules = Many(lambda: _CRON)
    start_workflow_request = Kept(lambda: _REQUEST, required=True)
    run_catchup_schedule_instances = Flag()
    paused = Flag()
    paused_reason = Text()
    schedule_start_time = Whole(least=0, most=_LAST_MS)
    schedule_end_time = Whole(least=0, most=_LAST_MS)
    overlap_policy = Choice(Overlap, make=Overlap)
    description = Text()
    tags = Many(lambda: _TAG)
    created_by = Text()
    updated_by = Text()
    create_time = Whole()
    updated_time = Whole()
    next_run_time = Whole()


class WorkflowScheduleExecutionForm(WireSchema):
    """The record of one firing of a schedule."""

    execution_id = Text(required=True)
    schedule_name = Text(required=True)
    scheduled_time = Whole(required=True)
    execution_time = Whole(required=True)
    workflow_name = Text(required=True)
    workflow_id = Text()
    state = Choice(RunState, required=True)
    reason = Text()
    stack_trace = Text()
    zone_id = Text()
    start_workflow_request = Payload()


_SCHEDULE = WorkflowScheduleForm()

FORMS: tuple[WireSchema, ...] = (_SCHEDULE, _CRON, _TAG, WorkflowScheduleExecutionForm())
"""The forms of this module, for the published schemas."""


def read_schedule(
    body: Any,  # noqa: ANN401 - any JSON value
    definitions: DefinitionReader,
    *,
    default_zone: str = "UTC",
) -> Schedule:
    """Read a schedule; ``InvalidInput`` lists everything that is wrong with it."""
    members: dict[str, Any] = load(_SCHEDULE, body)
    for kept_by_the_server in ("create_time", "updated_time", "next_run_time"):
        members.pop(kept_by_the_server, None)
    listed = members.pop("cron_schedules", ())
    members["cron_schedules"] = tuple(
        CronSchedule(
            cron_expression=one["cron_expression"], zone_id=one.get("zone_id") or default_zone
        )
        for one in listed
    )
    members["zone_id"] = members.get("zone_id") or default_zone
    if not members.get("paused"):
        members.pop("paused_reason", None)
    members["cron_expression"] = members.get("cron_expression") or None
    members["schedule_start_time"] = members.get("schedule_start_time") or None
    members["schedule_end_time"] = members.get("schedule_end_time") or None
    schedule = Schedule(**members | {"tags": tuple(members.get("tags", ()))})
    found = [*_name_findings(schedule.name), *_time_findings(schedule)]
    try:
        if read_start(schedule.start_workflow_request, definitions).business_at:
            message = "must not be given: it is the instant of each run"
            path = "$.startWorkflowRequest.businessTime"
            found.append(Violation(path=path, message=message))
    except InvalidInput as error:
        if not error.violations:
            raise
        found += moved(error.violations, "$.startWorkflowRequest")
    if found:
        raise InvalidInput(violations=tuple(found))
    return schedule


def _name_findings(name: str) -> list[Violation]:
    message = ""
    if not name.strip():
        message = "must not be empty"
    elif len(name) > _MAX_NAME:
        message = f"must not be longer than {_MAX_NAME} characters"
    elif name != name.strip() or "/" in name or not name.isprintable():
        message = "must hold no slash, no control characters and no blanks around it"
    elif name in _TAKEN:
        message = "is the address of the search for schedules; choose another name"
    return [Violation(path="$.name", message=message, invalid_value=name[:200])] if message else []


def _time_findings(schedule: Schedule) -> list[Violation]:
    found: list[Violation] = []
    if not schedule.crons:
        found.append(Violation(path="$.cronExpression", message="a cron expression must be given"))
    if len(schedule.cron_schedules) > _MAX_CRONS:
        found.append(
            Violation(
                path="$.cronSchedules", message=f"must not hold more than {_MAX_CRONS} entries"
            )
        )
    if len(schedule.tags) > _MAX_TAGS:
        found.append(
            Violation(path="$.tags", message=f"must not hold more than {_MAX_TAGS} entries")
        )
    if schedule.cron_expression is not None:
        single = CronSchedule(cron_expression=schedule.cron_expression, zone_id=schedule.zone_id)
        found += cron_findings(single, "$.cronExpression", "$.zoneId")
    for index, one in enumerate(schedule.cron_schedules[:_MAX_CRONS]):
        root = f"$.cronSchedules[{index}]"
        found += cron_findings(one, f"{root}.cronExpression", f"{root}.zoneId")
    start, end = schedule.schedule_start_time, schedule.schedule_end_time
    if start and end and end < start:
        found.append(
            Violation(
                path="$.scheduleEndTime",
                message="must not be before scheduleStartTime",
                invalid_value=str(end),
            )
        )
    return found


def cron_findings(cron: CronSchedule, cron_path: str, zone_path: str) -> list[Violation]:
    """List what is wrong with an expression and its zone."""
    found: list[Violation] = []
    try:
        parse(cron.cron_expression)
    except CronError as error:
        shown = cron.cron_expression[:200]
        found.append(Violation(path=cron_path, message=str(error), invalid_value=shown))
    try:
        zone_of(cron.zone_id)
    except ValueError as error:
        found.append(
            Violation(path=zone_path, message=str(error), invalid_value=cron.zone_id[:200])
        )
    return found


def read_names(body: object) -> tuple[str, ...]:
    """Read the names of a bulk request."""
    if not isinstance(body, list) or not all(isinstance(name, str) for name in body):
        raise _wrong_body("must be a list of names")
    if not 1 <= len(body) <= MAX_NAMES:
        raise _wrong_body(f"must hold 1 to {MAX_NAMES} names")
    return tuple(dict.fromkeys(body))


def read_tags(body: object) -> tuple[Mapping[str, str], ...]:
    """Read tags."""
    if not isinstance(body, list) or len(body) > _MAX_TAGS:
        raise _wrong_body(f"must be a list of at most {_MAX_TAGS} tags")
    return tuple(load(_TAG, one) for one in body)


# --------------------------------------------------------------------------------------- queries


def preview_of(
    arguments: Arguments, default_zone: str
) -> tuple[CronSchedule, int | None, int | None, int]:
    """Read the parameters of a preview: expression, start, end, how many."""
    expression = text(arguments, "cronExpression")
    if not expression:
        raise wrong("cronExpression", "a cron expression must be given")
    cron = CronSchedule(cron_expression=expression, zone_id=text(arguments, "zoneId", default_zone))
    found = cron_findings(cron, "?cronExpression", "?zoneId")
    if found:
        raise InvalidInput(violations=tuple(found))
    start = number(arguments, "scheduleStartTime", least=0, most=_LAST_MS)
    end = number(arguments, "scheduleEndTime", least=0, most=_LAST_MS)
    count = number(arguments, "limit", MAX_PREVIEW, least=0)
    return cron, start or None, end or None, min(count, MAX_PREVIEW)


def schedule_filter(arguments: Arguments) -> ScheduleFilter:
    """Read what a search for schedules asks for."""
    return ScheduleFilter(
        workflow_name=text(arguments, "workflowName"),
        name_part=text(arguments, "scheduleName"),
        paused=flag(arguments, "paused") if text(arguments, "paused") else None,
    )


_LISTED = re.compile(r"(\w{1,40})\s+IN\s*\((.*)\)", re.IGNORECASE | re.DOTALL)
_COMPARED = re.compile(r"(\w{1,40})\s*([<>])(=?)(.*)", re.DOTALL)
_EQUAL = re.compile(r"(\w{1,40})\s*=(.*)", re.DOTALL)
# What a record is asked for by the names of an execution's members.
_OF_EXECUTIONS: Mapping[str, str] = MappingProxyType(
    {"workflowtype": "workflowName", "status": "state", "starttime": "scheduledTime"}
)
_QUERIED: Mapping[str, str] = MappingProxyType(
    {
        name.lower(): name
        for name in ("scheduleName", "state", "scheduledTime", "workflowName", "executionId")
    }
    # As executions are searched; Conductor's pages and command line search records so, too.
    | dict(_OF_EXECUTIONS)
)
_CONDITION = re.compile(r"\w{1,40}\s{0,9}(?:[=<>!]|(?:NOT\s{1,9})?IN\s{0,9}\()", re.IGNORECASE)
_CONDITIONS = (
    "scheduleName IN (…), state IN (…), workflowName IN (…), scheduledTime>…, scheduledTime<…,"
    " executionId=…"
)
_AND = re.compile(r"(?<=\s)AND(?=\s)", re.IGNORECASE)
_SORTED: Mapping[str, str] = MappingProxyType(
    {
        name.lower(): name
        for name in (
            "scheduledTime",
            "executionTime",
            "scheduleName",
            "workflowName",
            "state",
            "executionId",
            "workflowId",
            "reason",
        )
    }
    # As executions are sorted; official clients ask for it here, too.
    | dict(_OF_EXECUTIONS)
)


def read_run_query(query: str) -> RunFilter:
    """Read a query for records: clauses joined by AND; one of no known form names a schedule, and
    ``*`` all.
    """
    members: dict[str, Any] = {}
    for clause in map(str.strip, _AND.split(query)):
        members |= _clause(clause) if clause not in {"", "*"} else {}
    return RunFilter(**members)


def _clause(clause: str) -> dict[str, Any]:
    if listed := _LISTED.fullmatch(clause):
        values = [_unquoted(part) for part in listed[2].split(",") if part.strip()]
        wanted = _wanted(_QUERIED.get(listed[1].lower(), ""), values)
    elif compared := _COMPARED.fullmatch(clause):
        wanted = _bound(_QUERIED.get(compared[1].lower(), ""), compared, clause)
    elif equal := _EQUAL.fullmatch(clause):
        wanted = _wanted(_QUERIED.get(equal[1].lower(), ""), [_unquoted(equal[2])])
    else:
        wanted = {}
    if wanted:
        return wanted
    if condition := _CONDITION.match(clause):
        raise wrong(
            "query",
            f"{condition[0].strip()} is no condition here; there are {_CONDITIONS}",
            clause[:200],
        )
    return {"names": frozenset({_unquoted(clause)})}


def _wanted(member: str, values: list[str]) -> dict[str, Any]:
    match member:
        case "scheduleName":
            return {"names": frozenset(values)}
        case "state":
            return {"states": frozenset(map(_state, values))}
        case "workflowName":
            return {"workflow_parts": frozenset(value.strip("*") for value in values)}
        case "executionId" if len(values) == 1:
            return {"execution": values[0]}
        case _:
            return {}


def _bound(member: str, compared: re.Match[str], clause: str) -> dict[str, Any]:
    if member != "scheduledTime":
        return {}
    try:
        instant = _instant(_unquoted(compared[4]))
    except ValueError as error:
        raise wrong("query", f"scheduledTime {error}", clause[:200]) from error
    if compared[3]:  # that instant, too
        instant += -1 if compared[2] == ">" else 1
    return {"after_ms" if compared[2] == ">" else "before_ms": instant}


def _instant(value: str) -> int:
    """Read a time of a query: a number is epoch ms, however short it is."""
    try:
        return whole(value)
    except ValueError:
        return instant_of(value, "UTC")


def read_run_sort(options: list[str]) -> tuple[tuple[str, bool], ...]:
    """Read the order of records: ``<field>:ASC`` or ``<field>``, descending without a word."""
    found = []
    for option in (part.strip() for value in options for part in re.split("[,|]", value)):
        if not option:
            continue
        name, _, direction = option.partition(":")
        if name.lower() not in _SORTED or direction.upper() not in {"", "ASC", "DESC"}:
            fields = ", ".join(dict.fromkeys(_SORTED.values()))
            raise wrong("sort", f"must be one of {fields}, with :ASC or :DESC", option[:200])
        found.append((_SORTED[name.lower()], direction.upper() == "ASC"))
    return tuple(found)


def _state(name: str) -> RunState:
    try:
        return RunState(name.upper())
    except ValueError as error:
        states = ", ".join(RunState)
        raise wrong("query", f"a state is one of {states}", name[:200]) from error


def _unquoted(value: str) -> str:
    value = value.strip()
    quoted = len(value) > 1 and value[0] == value[-1] and value[0] in "'\""
    return value[1:-1] if quoted else value


def _wrong_body(message: str) -> InvalidInput:
    return InvalidInput(violations=(Violation(path="$", message=message),))
