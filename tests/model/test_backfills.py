"""Backfills as definitions: a chain for each lane."""

from __future__ import annotations

import pytest

from conductor_py.model import schedules
from conductor_py.model.backfills import (
    MAX_RUNS,
    Backfill,
    BackfillRun,
    OnFailure,
    definition_of,
    lanes_in,
    runs_between,
    start_of,
)
from conductor_py.model.definitions import WorkflowDef
from conductor_py.model.requests import StartRequest
from conductor_py.model.schedules import CronSchedule, Schedule

_DAY = 86_400_000
_FIRST = 1_772_323_200_000
"""1 March 2026, UTC."""


def _backfill(count: int, **more: object) -> Backfill:
    runs = [BackfillRun(business_at=_FIRST + n * _DAY, zone="UTC") for n in range(count)]
    request = StartRequest(name="report", version=3, input={"scope": "all"}, priority=10)
    return Backfill(request=request, runs=tuple(runs), **more)  # type: ignore[arg-type]


def _edges(definition: WorkflowDef) -> set[tuple[str | None, str, str]]:
    days = {task.task_reference_name: task.task_reference_name[6:8] for task in definition.tasks}
    return {
        (days[each.pre_task] if each.pre_task else None, days[each.post_task], each.label)
        for each in definition.relations
    }


def _schedule(*crons: tuple[str, str]) -> Schedule:
    made = tuple(CronSchedule(cron_expression=cron, zone_id=zone) for cron, zone in crons)
    return Schedule(name="s", start_workflow_request={"name": "w"}, cron_schedules=made)


def test_runs_are_dealt_round_to_lanes_that_are_chains() -> None:
    assert _edges(definition_of(_backfill(5, lanes=2))) == {
        (None, "01", "ok"),
        ("01", "03", "ok"),
        ("03", "05", "ok"),
        (None, "02", "ok"),
        ("02", "04", "ok"),
    }


def test_where_a_lane_goes_on_nothing_depends_on_what_failed() -> None:
    goes_on = definition_of(_backfill(2, on_failure=OnFailure.CONTINUE))
    assert _edges(goes_on) == {(None, "01", "ok"), ("01", "02", "order")}
    assert goes_on.failure_strategy == "CONTINUE"
    ends = definition_of(_backfill(2, on_failure=OnFailure.STOP_ALL))
    assert (_edges(ends), ends.failure_strategy) == (_edges(goes_on), "END")


def test_there_are_no_more_lanes_than_runs() -> None:
    assert [len(lane) for lane in _backfill(2, lanes=50).dealt] == [1, 1]


def test_lanes_are_told_of_the_definition() -> None:
    backfill = _backfill(5, lanes=2)
    dealt = tuple(tuple(run.business_at for run in lane) for lane in backfill.dealt)
    assert lanes_in(definition_of(backfill)) == dealt


def test_each_run_is_the_workflow_with_its_time_and_what_it_is_started_with() -> None:
    backfill = _backfill(1, schedule="nightly")
    (task,) = definition_of(backfill).tasks
    params = task.sub_workflow_param
    assert params is not None
    assert (params.name, params.version, params.priority) == ("report", 3, 10)
    assert (params.business_time, params.zone_id) == (_FIRST, "UTC")
    assert task.input_parameters == {
        "scope": "${workflow.input.input['scope']}",
        "_startedByScheduler": "${workflow.input.schedule}",
        "_scheduledTime": _FIRST,
        "_schedulerCron": "",
    }
    assert start_of(backfill, definition_of(backfill)).input == {
        "input": {"scope": "all"},
        "schedule": "nightly",
    }


def test_references_tell_the_time_and_a_time_that_comes_twice_has_two() -> None:
    hour = 3_600_000
    put_back = 1_792_890_000_000
    """25 October 2026, 1:00 UTC: 2:00 in Berlin for the second time."""
    runs = tuple(
        BackfillRun(business_at=put_back + n * hour, zone="Europe/Berlin") for n in (-1, 0, 1)
    )
    backfill = Backfill(request=StartRequest(name="w"), runs=runs)
    assert [task.task_reference_name for task in definition_of(backfill).tasks] == [
        "20261025T020000",
        "20261025T020000_2",
        "20261025T030000",
    ]


def test_the_instants_of_all_expressions_are_found_each_once_with_its_zone() -> None:
    schedule = _schedule(
        ("0 0 0 * * ?", "UTC"), ("0 0 9 * * ?", "Asia/Tokyo"), ("0 0 6 * * ?", "UTC")
    )
    found = runs_between(schedule, _FIRST, _FIRST + _DAY)
    assert [(run.business_at - _FIRST, run.zone) for run in found] == [
        (0, "UTC"),
        (_DAY // 4, "UTC"),
        (_DAY, "UTC"),
    ]


def test_too_many_are_told_without_counting_them() -> None:
    assert len(runs_between(_schedule(("* * * * * ?", "UTC")), _FIRST, _FIRST * 2)) == MAX_RUNS + 1


def test_the_window_of_a_schedule_does_not_bound_what_it_is_made_up_for() -> None:
    schedule = Schedule(
        name="s",
        start_workflow_request={"name": "w"},
        cron_expression="0 0 0 * * ?",
        schedule_start_time=_FIRST + 30 * _DAY,
    )
    assert len(runs_between(schedule, _FIRST, _FIRST + _DAY)) == 2


def test_expressions_that_fire_seldom_are_not_asked_anew_for_each_run_of_a_backfill(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[str] = []
    next_ = schedules._next

    def counted(expression: str, zone: str, after_ms: int) -> int | None:
        asked.append(expression)
        assert len(asked) <= 2 * MAX_RUNS
        return next_(expression, zone, after_ms)

    monkeypatch.setattr(schedules, "_next", counted)
    seldom = [f"{second} 0 0 29 2 7#5" for second in range(60)]
    crons = tuple(CronSchedule(cron_expression=each) for each in (*seldom, "0 * * * * *"))
    schedule = Schedule(name="s", start_workflow_request={}, cron_schedules=crons)
    runs = runs_between(schedule, 60_000, 10 * 365 * 86_400_000)
    assert len(runs) == MAX_RUNS + 1
    assert {run.cron for run in runs} == {"0 * * * * * UTC"}
    assert runs[-1].business_at - runs[0].business_at == MAX_RUNS * 60_000
