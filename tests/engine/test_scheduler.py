"""Schedules over a whole engine: what fires, when, once, and what is kept of it."""

from datetime import UTC, datetime
from typing import Any

import orjson
import pytest

from conductor_py.adapters.memory.space import MemorySpace
from conductor_py.errors import InvalidInput, NotFound, PayloadTooLarge, StoreUnavailable
from conductor_py.model.event_handlers import ALERT
from conductor_py.model.schedules import CronSchedule, Overlap, RunFilter, RunState, Schedule
from conductor_py.testing import FakeClock, MemoryEngine, memory_engine
from conductor_py.testing.definitions import dag, simple

_MINUTE = 60_000
_BEGIN = int(datetime(2027, 3, 1, 12, 0, 30, tzinfo=UTC).timestamp() * 1000)
_FIRST = _BEGIN + 30_000
_WORKFLOW: dict[str, Any] = {
    "name": "report",
    "tasks": [{"name": "write", "taskReferenceName": "write", "type": "SIMPLE"}],
}


@pytest.fixture
def engine() -> MemoryEngine:
    return registered(memory_engine(clock=FakeClock(_BEGIN)))


def registered(engine: MemoryEngine) -> MemoryEngine:
    from conductor_py.codec.definitions import workflow_from_json

    engine.engine.definitions.register(workflow_from_json(_WORKFLOW), overwrite=True)
    return engine


def every_minute(**more: Any) -> Schedule:
    given: dict[str, Any] = {
        "name": "nightly",
        "cron_expression": "0 * * * * *",
        "start_workflow_request": {"name": "report", "input": {"for": "you"}},
    }
    return Schedule(**given | more)


def runs(engine: MemoryEngine, **wanted: Any) -> list[dict[str, Any]]:
    found = engine.engine.schedules.runs(
        RunFilter(**wanted), start=0, size=1_000, sort=(("scheduledTime", True),)
    )
    return [dict(run) for run in found.results]


def started(engine: MemoryEngine) -> list[int]:
    """The scheduled times of all executions, oldest first."""
    ids = engine.engine.executions.running("report")
    return sorted(int(engine.workflow(one)["input"]["_scheduledTime"]) for one in ids)


def pass_minutes(engine: MemoryEngine, count: int) -> None:
    for _ in range(count):
        engine.clock.advance(seconds=60)
        engine.settle()


def test_schedule_starts_its_workflow_and_tells_it_who_asked(engine: MemoryEngine) -> None:
    saved = engine.engine.schedules.save(every_minute())
    assert saved["nextRunTime"] == _FIRST
    engine.settle()
    assert started(engine) == []
    engine.clock.advance(seconds=31)
    engine.settle()
    (run,) = runs(engine)
    assert (run["state"], run["scheduledTime"]) == ("EXECUTED", _FIRST)
    execution = engine.workflow(run["workflowId"])
    assert execution["input"] == {
        "for": "you",
        "_startedByScheduler": "nightly",
        "_scheduledTime": _FIRST,
        "_executedTime": _FIRST + 1_000,
        "_executionId": run["executionId"],
        "_schedulerCron": "0 * * * * * UTC",
    }
    assert engine.engine.schedules.document("nightly")["nextRunTime"] == _FIRST + _MINUTE


@pytest.mark.parametrize(("asked", "zone"), [(None, "Asia/Shanghai"), ("UTC", "UTC")])
def test_an_execution_is_about_the_instant_that_was_planned(
    engine: MemoryEngine, asked: str | None, zone: str
) -> None:
    """However late it fires; by the clock of the expression unless the request names a zone."""
    request = {"name": "report", "zoneId": asked}
    engine.engine.schedules.save(
        every_minute(zone_id="Asia/Shanghai", start_workflow_request=request)
    )
    engine.clock.advance(seconds=50)
    engine.settle()
    (run,) = runs(engine)
    execution = engine.workflow(run["workflowId"])
    assert (execution["businessTime"], execution["zoneId"]) == (_FIRST, zone)


def test_each_instant_fires_once_however_many_schedulers_run() -> None:
    space, clock = MemorySpace(clock=FakeClock(_BEGIN)), FakeClock(_BEGIN)
    space.clock = clock
    one = registered(memory_engine(clock=clock, space=space))
    two = memory_engine(clock=clock, space=space, server="server-2")
    one.engine.schedules.save(every_minute())
    for _ in range(5):
        clock.advance(seconds=60)
        one.engine.scheduler.tick()
        two.engine.scheduler.tick()
    assert started(one) == [_FIRST + n * _MINUTE for n in range(5)]
    assert [run["state"] for run in runs(one)] == ["EXECUTED"] * 5


class Crash(BaseException):
    """The process is gone: nothing in it runs on."""


@pytest.mark.parametrize("step", ["start", "settle"])
@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
def test_killed_scheduler_loses_nothing_and_doubles_nothing(
    engine: MemoryEngine, monkeypatch: pytest.MonkeyPatch, step: str, after: bool
) -> None:
    store = engine.ports.store if step == "start" else engine.ports.schedules
    real = getattr(store, step)

    def killed(*given: Any, **named: Any) -> Any:
        if after:
            real(*given, **named)
        raise Crash

    engine.engine.schedules.save(every_minute())
    engine.clock.advance(seconds=31)
    with monkeypatch.context() as patched:
        patched.setattr(store, step, killed)
        with pytest.raises(Crash):
            engine.engine.scheduler.tick()
    assert engine.engine.scheduler.tick() == 0
    engine.clock.advance(seconds=30)
    engine.settle()
    times = started(engine)
    assert times[0] == _FIRST
    assert times == sorted(set(times))
    assert [run["scheduledTime"] for run in runs(engine)] == times


def test_execution_that_was_archived_meanwhile_is_not_started_again(
    engine: MemoryEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine.engine.schedules.save(every_minute(cron_expression="0 0 13 * * *"))
    engine.clock.advance(seconds=3_600)
    with monkeypatch.context() as patched:
        patched.setattr(engine.ports.schedules, "settle", lambda _: 1 / 0)
        engine.engine.scheduler.tick()
    (execution,) = engine.engine.executions.running("report")
    engine.run("write")
    for _ in range(3):
        engine.clock.advance(seconds=61)
        engine.engine.sweeper.tick()
        engine.engine.relay.tick()
    assert engine.engine.executions.view(execution) is None
    engine.settle()
    (run,) = runs(engine)
    assert run["workflowId"] == execution
    assert engine.engine.executions.running("report") == ()


def test_scheduler_that_was_held_up_past_its_claim_starts_nothing(
    engine: MemoryEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine.engine.schedules.save(every_minute())
    engine.clock.advance(seconds=31)
    real = engine.ports.schedules.claim_due

    def slow(limit: int, lease_ms: int) -> Any:
        claimed = real(limit, lease_ms)
        engine.clock.advance(seconds=29)
        return claimed

    with monkeypatch.context() as patched:
        patched.setattr(engine.ports.schedules, "claim_due", slow)
        patched.setattr(engine.engine.scheduler._clock, "correct", lambda _: None)
        with pytest.raises(StoreUnavailable, match="claim ended"):
            engine.engine.scheduler.tick()
    assert started(engine) == []


def test_store_that_is_away_costs_no_instant(
    engine: MemoryEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    def away(_: object) -> Any:
        raise StoreUnavailable

    engine.engine.schedules.save(every_minute())
    engine.clock.advance(seconds=31)
    with monkeypatch.context() as patched:
        patched.setattr(engine.ports.store, "start", away)
        with pytest.raises(StoreUnavailable):
            engine.engine.scheduler.tick()
    engine.clock.advance(seconds=30)
    engine.settle()
    assert started(engine) == [_FIRST, _FIRST + _MINUTE][: len(started(engine))]
    assert started(engine)[0] == _FIRST


# ------------------------------------------------------------------------------------- catching up


def test_without_catch_up_missed_instants_fire_once_and_the_plan_goes_on_from_now(
    engine: MemoryEngine,
) -> None:
    engine.engine.schedules.save(every_minute())
    engine.clock.advance(seconds=600)
    engine.settle()
    assert started(engine) == [_FIRST]
    pass_minutes(engine, 2)
    assert started(engine) == [_FIRST, _FIRST + 10 * _MINUTE, _FIRST + 11 * _MINUTE]


def test_with_catch_up_every_missed_instant_fires_in_order(engine: MemoryEngine) -> None:
    engine.engine.schedules.save(every_minute(run_catchup_schedule_instances=True))
    engine.clock.advance(seconds=600)
    fired = []
    while engine.engine.scheduler.tick():
        fired.append(max(started(engine)))
    assert fired == [_FIRST + n * _MINUTE for n in range(10)]


def test_catching_up_does_not_hold_up_others(engine: MemoryEngine) -> None:
    engine.engine.schedules.save(every_minute(run_catchup_schedule_instances=True))
    engine.clock.advance(seconds=3_600)
    engine.engine.schedules.save(every_minute(name="other"))
    engine.clock.advance(seconds=60)
    engine.engine.scheduler.tick()
    assert {run["scheduleName"] for run in runs(engine)} == {"nightly", "other"}


def test_paused_schedule_fires_nothing_and_does_not_make_up_for_it(engine: MemoryEngine) -> None:
    schedules = engine.engine.schedules
    schedules.save(every_minute(run_catchup_schedule_instances=True))
    schedules.pause("nightly", "holidays")
    assert schedules.document("nightly")["pausedReason"] == "holidays"
    assert "nextRunTime" not in schedules.document("nightly")
    pass_minutes(engine, 3)
    assert started(engine) == []
    schedules.resume("nightly")
    assert "pausedReason" not in schedules.document("nightly")
    engine.settle()
    assert started(engine) == []
    pass_minutes(engine, 1)
    assert started(engine) == [_FIRST + 3 * _MINUTE]


def test_resumed_schedule_makes_up_for_its_pause_when_asked(engine: MemoryEngine) -> None:
    schedules = engine.engine.schedules
    schedules.save(every_minute(run_catchup_schedule_instances=True))
    schedules.pause("nightly", None)
    pass_minutes(engine, 3)
    schedules.resume("nightly", catch_up=True)
    engine.settle()
    assert started(engine) == [_FIRST + n * _MINUTE for n in range(3)]


def test_instant_that_was_fired_while_it_was_paused_is_not_made_up_for(
    engine: MemoryEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    schedules = engine.engine.schedules
    schedules.save(every_minute(run_catchup_schedule_instances=True))
    engine.clock.advance(seconds=31)
    real = engine.ports.store.start

    def meanwhile(start: Any) -> Any:
        schedules.pause("nightly", None)
        return real(start)

    with monkeypatch.context() as patched:
        patched.setattr(engine.ports.store, "start", meanwhile)
        engine.engine.scheduler.tick()
    (run,) = runs(engine)
    engine.run("write")
    pass_minutes(engine, 5)
    assert engine.engine.executions.view(run["workflowId"]) is None
    schedules.resume("nightly", catch_up=True)
    engine.settle()
    assert runs(engine)[0]["workflowId"] == run["workflowId"]
    assert started(engine) == [_FIRST + n * _MINUTE for n in range(1, 6)]


def test_only_a_schedule_that_catches_up_can_make_up_for_a_pause(engine: MemoryEngine) -> None:
    engine.engine.schedules.save(every_minute(paused=True))
    with pytest.raises(InvalidInput, match="runCatchupScheduleInstances"):
        engine.engine.schedules.resume("nightly", catch_up=True)


def test_only_a_paused_schedule_can_be_resumed(engine: MemoryEngine) -> None:
    with pytest.raises(NotFound):
        engine.engine.schedules.resume("nightly")
    engine.engine.schedules.save(every_minute())
    with pytest.raises(NotFound, match="not paused"):
        engine.engine.schedules.resume("nightly")


def test_window_is_inclusive_and_ends_the_schedule(engine: MemoryEngine) -> None:
    first, last = _FIRST + _MINUTE, _FIRST + 2 * _MINUTE
    engine.engine.schedules.save(every_minute(schedule_start_time=first, schedule_end_time=last))
    pass_minutes(engine, 5)
    assert started(engine) == [first, last]
    assert "nextRunTime" not in engine.engine.schedules.document("nightly")


def test_several_expressions_fire_an_instant_of_both_once(engine: MemoryEngine) -> None:
    listed = (
        CronSchedule(cron_expression="0 1 * * * *"),
        CronSchedule(cron_expression="0 */2 13 * * *", zone_id="Europe/Berlin"),
        CronSchedule(cron_expression="0 2 12 * * *"),
    )
    engine.engine.schedules.save(every_minute(cron_schedules=listed))
    pass_minutes(engine, 4)
    crons = [engine.workflow(run["workflowId"])["input"]["_schedulerCron"] for run in runs(engine)]
    assert started(engine) == [_FIRST + n * _MINUTE for n in (0, 1, 3)]
    assert crons == [listed[0].text, listed[1].text, listed[1].text]
    assert runs(engine)[1]["zoneId"] == "Europe/Berlin"


# ------------------------------------------------------------------------------------- changes


def test_save_keeps_the_planned_instant_while_the_timing_stays(engine: MemoryEngine) -> None:
    engine.engine.schedules.save(every_minute())
    engine.clock.advance(seconds=45)
    saved = engine.engine.schedules.save(every_minute(description="said again"))
    assert saved["nextRunTime"] == _FIRST
    assert saved["createTime"] == _BEGIN
    assert saved["updatedTime"] == _BEGIN + 45_000
    engine.settle()
    assert started(engine) == [_FIRST]


def test_save_with_another_timing_plans_from_now(engine: MemoryEngine) -> None:
    engine.engine.schedules.save(every_minute())
    engine.clock.advance(seconds=45)
    saved = engine.engine.schedules.save(every_minute(cron_expression="0 0 * * * *"))
    assert saved["nextRunTime"] == _FIRST + 59 * _MINUTE
    engine.settle()
    assert started(engine) == []


def test_schedule_changed_while_it_fires_keeps_the_change_and_the_record(
    engine: MemoryEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine.engine.schedules.save(every_minute())
    engine.clock.advance(seconds=31)
    real = engine.ports.store.start

    def meanwhile(start: Any) -> Any:
        engine.engine.schedules.save(every_minute(cron_expression="0 0 * * * *"))
        return real(start)

    monkeypatch.setattr(engine.ports.store, "start", meanwhile)
    engine.engine.scheduler.tick()
    assert [run["scheduledTime"] for run in runs(engine)] == [_FIRST]
    hour = _FIRST + 59 * _MINUTE
    assert engine.engine.schedules.document("nightly")["nextRunTime"] == hour
    engine.clock.advance(seconds=60)
    engine.settle()
    assert started(engine) == [_FIRST]


def test_schedule_that_was_removed_and_made_again_fires_again(engine: MemoryEngine) -> None:
    engine.engine.schedules.save(every_minute(schedule_start_time=_FIRST))
    engine.clock.advance(seconds=30)
    engine.settle()
    engine.engine.schedules.delete("nightly")
    engine.engine.schedules.delete("nightly")
    assert runs(engine) == []
    engine.clock.now_ms = _FIRST - 1
    engine.engine.schedules.save(every_minute())
    engine.clock.advance(milliseconds=1)
    engine.settle()
    assert started(engine) == [_FIRST, _FIRST]


def test_schedule_is_bounded_in_size(engine: MemoryEngine) -> None:
    large = {"name": "report", "input": {"x": "y" * 300_000}}
    with pytest.raises(PayloadTooLarge):
        engine.engine.schedules.save(every_minute(start_workflow_request=large))
    assert engine.engine.schedules.all("", dict) == ()


def test_halted_schedules_wait_until_they_may_go_on(engine: MemoryEngine) -> None:
    engine.engine.schedules.save(every_minute())
    engine.engine.schedules.halt(halted=True)
    pass_minutes(engine, 2)
    assert started(engine) == []
    engine.engine.schedules.halt(halted=False)
    engine.settle()
    assert started(engine) == [_FIRST]


def test_schedules_are_counted_by_state(engine: MemoryEngine) -> None:
    for name, more in (("a", {}), ("b", {"paused": True}), ("c", {"schedule_end_time": 1})):
        engine.engine.schedules.save(every_minute(name=name, **more))
    assert engine.engine.schedules.counts() == {"active": 1, "late": 0, "paused": 1, "over": 1}
    engine.clock.advance(seconds=91)
    assert engine.engine.schedules.counts()["late"] == 1


def test_nothing_is_ever_to_be_put_back(engine: MemoryEngine) -> None:
    engine.engine.schedules.save(every_minute())
    pass_minutes(engine, 1)
    assert engine.engine.schedules.requeue() == {"recordIds.size": 0, "sampleIds": []}
    engine.ports.schedules._state.due.drop("nightly")  # type: ignore[attr-defined]
    assert engine.engine.schedules.requeue() == {"recordIds.size": 1, "sampleIds": ["nightly"]}


# ------------------------------------------------------------------------------------- failures


def test_a_schedule_may_name_the_priority_of_what_it_starts(engine: MemoryEngine) -> None:
    request = {"name": "report", "priority": "HIGHEST"}
    engine.engine.schedules.save(every_minute(start_workflow_request=request))
    pass_minutes(engine, 1)
    (run,) = runs(engine)
    assert engine.workflow(run["workflowId"])["priority"] == 90


def test_a_schedule_may_start_a_part_of_a_dag(engine: MemoryEngine) -> None:
    graph = dag("graph", [simple("a"), simple("b")], "a > b")
    request = {"name": "graph", "workflowDef": graph, "startNodes": ["b"]}
    engine.engine.schedules.save(every_minute(start_workflow_request=request))
    pass_minutes(engine, 1)
    (run,) = runs(engine)
    assert engine.statuses(run["workflowId"]) == {"b": "SCHEDULED"}


@pytest.mark.parametrize(
    ("request_", "reason"),
    [
        ({"name": "unknown"}, "No such workflow"),
        ({"name": "report", "version": 7}, "No such workflow"),
        ({"name": "report", "priority": 200}, "priority"),
    ],
)
def test_failing_start_is_recorded_and_the_schedule_goes_on(
    engine: MemoryEngine, request_: dict[str, Any], reason: str
) -> None:
    engine.engine.schedules.save(every_minute(start_workflow_request=request_))
    pass_minutes(engine, 2)
    found = runs(engine)
    assert [run["state"] for run in found] == ["FAILED", "FAILED"]
    assert reason in found[0]["reason"]
    assert "workflowId" not in found[0]
    alerts = [orjson.loads(each)["payload"] for each in engine.ports.events.held(ALERT, 10)]
    assert [each["scheduledTime"] for each in alerts] == [_FIRST, _FIRST + _MINUTE]
    assert all(each["reason"] == f"Schedule nightly: {found[0]['reason']}" for each in alerts)


def test_fault_of_the_server_is_tried_again_and_then_recorded(
    engine: MemoryEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine.engine.schedules.save(every_minute(cron_expression="0 0 13 * * *"))
    engine.clock.advance(seconds=3_600)
    monkeypatch.setattr(engine.engine.executions, "start", lambda *_, **__: 1 / 0, raising=False)
    for _ in range(4):
        engine.engine.scheduler.tick()
        engine.clock.advance(seconds=30)
    (run,) = runs(engine)
    assert run["state"] == "FAILED"
    assert "ZeroDivisionError" in run["stackTrace"]


def test_skip_starts_nothing_while_the_last_execution_runs(engine: MemoryEngine) -> None:
    engine.engine.schedules.save(every_minute(overlap_policy=Overlap.SKIP))
    pass_minutes(engine, 2)
    engine.run("write")
    pass_minutes(engine, 1)
    found = runs(engine)
    assert [run["state"] for run in found] == ["EXECUTED", "FAILED", "EXECUTED"]
    assert "has not ended" in found[1]["reason"]
    assert engine.ports.events.held(ALERT, 10) == ()


def test_skip_does_not_forget_an_execution_over_many_instants_that_were_left_out(
    engine: MemoryEngine,
) -> None:
    engine.engine.schedules.save(every_minute(overlap_policy=Overlap.SKIP))
    pass_minutes(engine, 120)
    assert started(engine) == [_FIRST]


def test_skip_knows_what_runs_though_a_run_that_was_asked_for_has_ended(
    engine: MemoryEngine,
) -> None:
    engine.engine.schedules.save(every_minute(overlap_policy=Overlap.SKIP))
    pass_minutes(engine, 1)
    asked = engine.engine.schedules.run("nightly")
    engine.engine.executions.terminate(asked, reason="enough")
    pass_minutes(engine, 1)
    assert started(engine) == [_FIRST]


def test_skip_knows_an_execution_that_is_tried_again(engine: MemoryEngine) -> None:
    engine.engine.schedules.save(every_minute(overlap_policy=Overlap.SKIP))
    pass_minutes(engine, 1)
    (execution,) = engine.engine.executions.running("report")
    engine.engine.executions.terminate(execution, reason="enough")
    engine.engine.schedules.save(every_minute(overlap_policy=Overlap.SKIP, paused=True))
    pass_minutes(engine, 1)
    engine.engine.recovery.retry(execution)
    engine.engine.schedules.save(every_minute(overlap_policy=Overlap.SKIP))
    pass_minutes(engine, 1)
    assert started(engine) == [_FIRST]


@pytest.mark.parametrize("overlap", Overlap)
def test_change_while_an_instant_is_fired_leaves_what_it_started(
    engine: MemoryEngine, monkeypatch: pytest.MonkeyPatch, overlap: Overlap
) -> None:
    engine.engine.schedules.save(every_minute(overlap_policy=overlap))
    engine.clock.advance(seconds=40)
    real = engine.ports.schedules.settle

    def changed(settlement: Any) -> bool:
        engine.engine.schedules.tag("nightly", [{"key": "a", "value": "b"}], remove=False)
        return real(settlement)

    with monkeypatch.context() as patched:
        patched.setattr(engine.ports.schedules, "settle", changed)
        engine.engine.scheduler.tick()
    engine.clock.advance(seconds=31)
    engine.settle()
    (run,) = runs(engine)
    assert (run["state"], started(engine)) == ("EXECUTED", [_FIRST])
    assert engine.engine.schedules.get("nightly").tags


@pytest.mark.parametrize("overlap", Overlap)
@pytest.mark.parametrize("paused", [False, True])
def test_instant_whose_scheduler_died_is_found_though_the_request_is_another_by_then(
    monkeypatch: pytest.MonkeyPatch, overlap: Overlap, *, paused: bool
) -> None:
    clock = FakeClock(_BEGIN)
    engine = registered(memory_engine(clock=clock, space=MemorySpace(clock=clock, partitions=16)))
    given: dict[str, Any] = {
        "overlap_policy": overlap,
        "cron_expression": "0 1 12 * * *",
        "run_catchup_schedule_instances": True,
    }
    engine.engine.schedules.save(every_minute(**given))
    clock.advance(seconds=40)
    with monkeypatch.context() as patched:
        patched.setattr(engine.ports.schedules, "settle", lambda _: 1 / 0)
        engine.engine.scheduler.tick()
    request = {"name": "report", "idempotencyKey": "a key", "input": {"for": "them"}}
    if paused:
        engine.engine.schedules.pause("nightly", None)
    engine.engine.schedules.save(
        every_minute(**given, start_workflow_request=request, paused=paused)
    )
    if paused:
        engine.engine.schedules.resume("nightly", catch_up=True)
    clock.advance(seconds=31)
    engine.settle()
    (run,) = runs(engine)
    assert (run["state"], started(engine)) == ("EXECUTED", [_FIRST])


def test_idempotency_key_of_the_request_keeps_its_meaning(engine: MemoryEngine) -> None:
    request = {
        "name": "report",
        "idempotencyKey": "one",
        "idempotencyStrategy": "FAIL_ON_RUNNING",
    }
    engine.engine.schedules.save(every_minute(start_workflow_request=request))
    pass_minutes(engine, 2)
    engine.run("write")
    pass_minutes(engine, 1)
    assert [run["state"] for run in runs(engine)] == ["EXECUTED", "FAILED", "EXECUTED"]


# ------------------------------------------------------------------------------------- records


def test_run_asked_for_starts_at_once_and_leaves_the_plan_alone(engine: MemoryEngine) -> None:
    engine.engine.schedules.save(every_minute(paused=True))
    execution = engine.engine.schedules.run("nightly")
    assert engine.workflow(execution)["input"]["_startedByScheduler"] == "nightly"
    (run,) = runs(engine)
    assert (run["workflowId"], run["scheduledTime"]) == (execution, _BEGIN)
    engine.engine.schedules.save(every_minute())
    engine.engine.schedules.run("nightly")
    assert engine.engine.schedules.document("nightly")["nextRunTime"] == _FIRST


def test_run_asked_for_that_cannot_start_says_why(engine: MemoryEngine) -> None:
    with pytest.raises(NotFound, match="nightly"):
        engine.engine.schedules.run("nightly")
    engine.engine.schedules.save(every_minute(start_workflow_request={"name": "unknown"}))
    with pytest.raises(NotFound, match="unknown"):
        engine.engine.schedules.run("nightly")
    assert [run["state"] for run in runs(engine)] == ["FAILED"]


def test_records_are_bounded(engine: MemoryEngine) -> None:
    engine.engine.schedules.save(every_minute())
    pass_minutes(engine, 101)
    times = [run["scheduledTime"] for run in runs(engine)]
    assert times == [_FIRST + n * _MINUTE for n in range(51, 101)]


def test_scheduler_rests_until_the_next_instant_and_never_longer_than_it_is_told(
    engine: MemoryEngine,
) -> None:
    scheduler = engine.engine.scheduler
    assert (scheduler.tick(), scheduler.rest_s(1.0)) == (0, 1.0)
    engine.engine.schedules.save(every_minute())
    assert (scheduler.tick(), scheduler.rest_s(1.0)) == (0, 1.0)
    assert scheduler.rest_s(60.0) == pytest.approx(30.0)
    engine.clock.advance(milliseconds=29_700)
    assert scheduler.rest_s(1.0) == pytest.approx(0.3)
    engine.clock.advance(milliseconds=301)
    assert 0 < scheduler.rest_s(1.0) < 0.1
    assert scheduler.tick() == 1


def test_firing_under_way_is_shown_as_polled(engine: MemoryEngine) -> None:
    engine.engine.schedules.save(every_minute())
    engine.clock.advance(seconds=31)
    engine.ports.schedules.claim_due(5, 30_000)
    (run,) = runs(engine)
    assert (run["state"], run["scheduledTime"]) == ("POLLED", _FIRST)
    engine.clock.advance(seconds=30)
    engine.settle()
    assert runs(engine)[0]["executionId"] == run["executionId"]


def test_records_are_found_by_what_they_hold(engine: MemoryEngine) -> None:
    engine.engine.schedules.save(every_minute())
    engine.engine.schedules.save(
        every_minute(name="broken", start_workflow_request={"name": "unknown"})
    )
    pass_minutes(engine, 3)
    assert len(runs(engine)) == 6
    assert len(runs(engine, names=frozenset({"broken", "missing"}))) == 3
    assert len(runs(engine, states=frozenset({RunState.EXECUTED}))) == 3
    between = runs(engine, after_ms=_FIRST, before_ms=_FIRST + 2 * _MINUTE)
    assert {run["scheduledTime"] for run in between} == {_FIRST + _MINUTE}
    assert len(runs(engine, workflow_parts=frozenset({"know"}))) == 3
    one = runs(engine)[0]
    assert runs(engine, execution=one["executionId"]) == [one]
    assert engine.engine.schedules.runs(RunFilter(), start=0, size=1, sort=()).total_hits == 6
