"""Backfills over HTTP: what is to be run again, for which business times, in how many lanes."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import date, timedelta
from typing import Any, ClassVar, Final

from conductor_py.errors import InvalidInput, Violation
from conductor_py.model.backfills import (
    MAX_LANES,
    MAX_MEMBERS,
    MAX_RUNS,
    Backfill,
    BackfillRun,
    OnFailure,
    runs_between,
)
from conductor_py.model.business_time import instant_of
from conductor_py.model.json import JsonObject
from conductor_py.model.requests import StartRequest
from conductor_py.model.schedules import CronSchedule, Schedule
from conductor_py.model.zoned_time import zone_of
from conductor_py.wire.business_times import BusinessTime, BusinessTimes
from conductor_py.wire.definition_reader import DefinitionReader, moved
from conductor_py.wire.fields import (
    Choice,
    Flag,
    Kept,
    Payload,
    Text,
    Whole,
    Wholes,
    WireField,
    WireSchema,
    load,
)
from conductor_py.wire.priorities import Priority
from conductor_py.wire.requests import StartWorkflowRequestForm, read_start
from conductor_py.wire.schedules import cron_findings

_CARRIED: Final = re.compile(r"[^'\\{}]{0,1000}")
_DAY: Final = timedelta(days=1)
_REQUEST: Final = StartWorkflowRequestForm()
_FROM_A_SCHEDULE: Final = ("startWorkflowRequest", "cronExpression")
_NOT_OF_EACH: Final = (
    "externalInputPayloadStoragePath",
    "startNodes",
    "idempotencyKey",
    "businessTime",
)


class BackfillForm(WireSchema):
    """Run a workflow for business times that have passed: for those that a schedule means, or a
    cron expression, or for those that are named.
    """

    schedule_name = Text()
    start_workflow_request = Kept(lambda: _REQUEST)
    cron_expression = Text()
    zone_id = Text()
    from_ = BusinessTime(data_key="from")
    to = BusinessTime()
    business_times = BusinessTimes()
    lanes = Whole(least=1, most=MAX_LANES)
    newest_first = Flag()
    on_failure = Choice(OnFailure, make=OnFailure)
    input = Payload()
    priority = Priority()
    correlation_id = Text()
    created_by = Text()
    idempotency_key = Text()


class _Lanes(WireField):
    """A list of lists of whole numbers."""

    form: ClassVar[Mapping[str, Any]] = {"type": "array", "items": Wholes.form}


class BackfillStartedForm(WireSchema):
    """What a backfill runs: the business times of each lane (epoch ms), in their order."""

    workflow_id = Text()
    count = Whole(required=True)
    lanes = _Lanes(required=True)


_FORM: Final = BackfillForm()
FORMS: tuple[WireSchema, ...] = (_FORM, BackfillStartedForm())
"""The forms of this module, for the published schemas."""


def read_backfill(
    body: Any,  # noqa: ANN401 - any JSON value
    definitions: DefinitionReader,
    find: Callable[[str], Schedule],
    *,
    now_ms: int,
    default_zone: str = "UTC",
) -> Backfill:
    """Read a backfill; ``find`` finds the schedule of a name (``NotFound``). ``InvalidInput`` says
    what is wrong, with its place.
    """
    members: dict[str, Any] = load(_FORM, body)
    schedule = _schedule(members, body, find, default_zone)
    request = _request(schedule, members, definitions)
    runs = _runs(schedule, members, request, now_ms)
    if len(runs) * len(request.input) > MAX_MEMBERS:
        most = MAX_MEMBERS // len(request.input)
        message = f"has {len(request.input)} members: at most {most} runs in one backfill"
        raise _wrong("$.startWorkflowRequest.input", message)
    if members.get("newest_first"):
        runs = runs[::-1]
    inline = schedule.start_workflow_request.get("workflowDef")
    return Backfill(
        request=request,
        runs=runs,
        inline=inline if isinstance(inline, Mapping) else None,
        lanes=members.get("lanes", 1),
        on_failure=members.get("on_failure", OnFailure.STOP_LANE),
        schedule=members.get("schedule_name") or "",
        idempotency_key=members.get("idempotency_key"),
    )


def _schedule(
    members: Mapping[str, Any],
    body: Mapping[str, Any],
    find: Callable[[str], Schedule],
    default_zone: str,
) -> Schedule:
    """The schedule that is named, or one made of what was sent."""
    name = members.get("schedule_name")
    request = members.get("start_workflow_request")
    of_request = request.get("zoneId") if isinstance(request, Mapping) else None
    zone = members.get("zone_id") or of_request or default_zone
    if members.get("zone_id"):
        _check_zone(zone)
    if name:
        for member in _FROM_A_SCHEDULE:
            if body.get(member) is not None:
                raise _wrong(f"$.{member}", "must not be given with scheduleName, which has it")
        return find(name)
    if request is None:
        raise _wrong("$.scheduleName", "either scheduleName or startWorkflowRequest must be given")
    crons: tuple[CronSchedule, ...] = ()
    if expression := members.get("cron_expression"):
        if members.get("business_times") is not None:
            raise _wrong("$.cronExpression", "must not be given with businessTimes")
        cron = CronSchedule(cron_expression=expression, zone_id=str(zone))
        found = cron_findings(cron, "$.cronExpression", "$.startWorkflowRequest.zoneId")
        if found:
            raise InvalidInput(violations=tuple(found))
        crons = (cron,)
    return Schedule(
        name="", start_workflow_request=request, cron_schedules=crons, zone_id=str(zone)
    )


def _check_zone(zone: str) -> None:
    try:
        zone_of(zone)
    except ValueError as error:
        raise _wrong("$.zoneId", str(error), zone) from error


def _request(
    schedule: Schedule, members: Mapping[str, Any], definitions: DefinitionReader
) -> StartRequest:
    """What each run is started with."""
    sent = schedule.start_workflow_request
    root = "$.startWorkflowRequest"
    for member in _NOT_OF_EACH:
        if sent.get(member):
            raise _wrong(f"{root}.{member}", "must not be given: a backfill starts many executions")
    try:
        request = read_start(dict(sent), definitions)
    except InvalidInput as error:
        raise InvalidInput(violations=tuple(moved(error.violations, root))) from error
    if "${" in request.name:
        raise _wrong(f"{root}.name", "must hold no expression", request.name)
    request = replace(request, input={**request.input, **members.get("input", {})})
    for name in request.input:
        if not _CARRIED.fullmatch(name):
            message = (
                "must have names of at most 1,000 characters without apostrophes, braces and"
                " backslashes, to be handed on"
            )
            raise _wrong(f"{root}.input", message, name)
    names = ("priority", "correlation_id", "created_by")
    return replace(request, **{name: members[name] for name in names if name in members})


def _runs(
    schedule: Schedule, members: Mapping[str, Any], request: StartRequest, now_ms: int
) -> tuple[BackfillRun, ...]:
    """The runs that are asked for, oldest first."""
    own = members.get("zone_id") or request.zone
    zone = own or _zone(schedule)
    named: Sequence[int | str] | None = members.get("business_times")
    if named is not None:
        if "from_" in members or "to" in members:
            raise _wrong("$.businessTimes", "must not be given with from and to")
        return _named(named, zone, now_ms, schedule.crons[0].text if schedule.crons else "")
    runs = _range(schedule, members, zone, now_ms)
    return tuple(replace(run, zone=own) for run in runs) if own else runs


def _zone(schedule: Schedule) -> str:
    return schedule.crons[0].zone_id if schedule.crons else schedule.zone_id


def _named(
    named: Sequence[int | str], zone: str, now_ms: int, cron: str
) -> tuple[BackfillRun, ...]:
    if not 1 <= len(named) <= MAX_RUNS:
        raise _wrong("$.businessTimes", f"must hold 1 to {MAX_RUNS} times")
    first: dict[int, int] = {}
    for index, given in enumerate(named):
        path = f"$.businessTimes[{index}]"
        instant = _instant(given, zone, path, now_ms)
        if instant in first:
            raise _wrong(path, f"must be there once; it is businessTimes[{first[instant]}]", given)
        first[instant] = index
    return tuple(BackfillRun(business_at=at, zone=zone, cron=cron) for at in sorted(first))


def _range(
    schedule: Schedule, members: Mapping[str, Any], zone: str, now_ms: int
) -> tuple[BackfillRun, ...]:
    if not schedule.crons:
        message = "cronExpression with from and to, or businessTimes must be given"
        raise _wrong("$.cronExpression", message)
    if "from_" not in members:
        raise _wrong("$.from", "must be given, or businessTimes instead")
    first = _instant(members["from_"], zone, "$.from", now_ms)
    last = now_ms
    if "to" in members:
        last = min(_last(members["to"], zone), now_ms)
    if last < first:
        raise _wrong("$.to", "must not be before from", members.get("to"))
    runs = runs_between(schedule, first, last)
    if not runs:
        raise _wrong("$.from", "no instant that has passed is meant between from and to")
    if len(runs) > MAX_RUNS:
        raise _wrong("$.to", f"more than {MAX_RUNS} runs are meant; take several backfills")
    return runs


def _instant(given: int | str, zone: str, path: str, now_ms: int) -> int:
    instant = _read(given, zone, path)
    if instant > now_ms:
        raise _wrong(path, "must not be in the future: that is for a schedule", given)
    return instant


def _last(given: int | str, zone: str) -> int:
    """The end of a range; a date is meant whole, however long its day is."""
    instant = _read(given, zone, "$.to")
    try:
        day = date.fromisoformat(given.strip()) if isinstance(given, str) else None
    except ValueError:
        day = None
    return instant if day is None else _read(f"{day + _DAY}", zone, "$.to") - 1


def _read(given: int | str, zone: str, path: str) -> int:
    try:
        return instant_of(given, zone)
    except ValueError as error:
        raise _wrong(path, str(error), given) from error


def _wrong(path: str, message: str, value: object = None) -> InvalidInput:
    shown = None if value is None else str(value)[:200]
    return InvalidInput(violations=(Violation(path=path, message=message, invalid_value=shown),))


def lanes_shown(lanes: Sequence[Sequence[int]]) -> JsonObject:
    """What a backfill would run, or runs: how many, and the business times of each lane."""
    return {"count": sum(map(len, lanes)), "lanes": lanes}
