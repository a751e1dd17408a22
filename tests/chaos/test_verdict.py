"""The judges of the chaos program see what they are there for: each planted wrong is named."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import pytest

from tests.chaos.kinds import KINDS, TICK, Json, draw
from tests.chaos.load import Started
from tests.chaos.memory import Sample, growth_mb_a_minute, together
from tests.chaos.soak import Soaked, table
from tests.chaos.store import Restart
from tests.chaos.verdict import Evidence, StoredAttempt, chains, judge

_ID = "00000000-0000-0000-0000-000000000001"


def _task(ref: str, seq: int, status: str = "COMPLETED", **members: Any) -> Json:
    return {
        "taskId": f"{_ID}-{seq}",
        "referenceTaskName": ref,
        "taskType": "SIMPLE",
        "seq": seq,
        "status": status,
        "scheduledTime": 1_000,
        "startTime": 1_000,
        "endTime": 1_000,
        "outputData": {},
        **members,
    }


def _document(name: str = "chaos_steps", **given: Any) -> Json:
    """An execution as it should be."""
    asked = {"number": 5, **given}
    expected = KINDS[name].expect(asked)
    tasks: list[Json] = []
    for ref in sorted(expected.done):
        earlier = ["FAILED"] * expected.failed.get(ref, 0)
        earlier += ["TIMED_OUT"] * (ref in expected.late)
        chain: str | None = None
        for status in (*earlier, "COMPLETED"):
            task = _task(ref, len(tasks) + 1, status)
            if chain:
                task["retriedTaskId"] = chain
            chain = task["taskId"]
            tasks.append(task)
    return {
        "workflowId": _ID,
        "workflowName": name,
        "status": expected.status,
        "startTime": 500,
        "endTime": 1_500,
        "input": asked,
        "output": dict(expected.output),
        "tasks": tasks,
    }


def _started(sent_ms: int = 500, at_ms: int = 600) -> Started:
    given = {"number": 5}
    return Started(id=_ID, kind="chaos_steps", input=given, key="", sent_ms=sent_ms, at_ms=at_ms)


def _evidence(document: Json | None = None, **members: Any) -> Evidence:
    found = {} if document is None else {_ID: document}
    members = {"started": [_started()], "attempts": {}, "found": found, **members}
    return Evidence(documents=found, **members)


def _kinds(evidence: Evidence) -> list[str]:
    return [violation.kind for violation in evidence.violations()]


@pytest.mark.parametrize("seed", range(40))
def test_an_execution_as_it_should_be_is_in_order(seed: int) -> None:
    kind, given = draw(random.Random(seed))
    document = _document(kind.name, **given)

    assert judge(document) == []
    assert chains(document) == []


def test_a_rerun_that_nobody_answered_may_be_carried_out_beside_the_one_that_is_sent_again() -> (
    None
):
    document = _document("chaos_broken", by="rerun")
    document["tasks"] += [_task(ref, seq) for seq, ref in enumerate(("breaks", "after"), 4)]
    assert judge(document, unanswered=1) == []
    assert len(judge(document)) == 2
    document["tasks"].append(_task("before", 6))
    assert len(judge(document, unanswered=9)) == 1, "no rerun runs what stands before its task"
    restarted = {**document, "input": {**document["input"], "by": "restart"}}
    assert len(judge(restarted, unanswered=9)) == 3


def test_everything_in_order_is_no_violation() -> None:
    assert _kinds(_evidence(_document())) == []


def test_an_acknowledged_start_that_is_gone_is_lost() -> None:
    assert _kinds(_evidence()) == ["lost"]


def test_what_has_not_ended_is_stuck() -> None:
    assert _kinds(_evidence(open={_ID})) == ["stuck"]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"status": "FAILED"}, "FAILED (no reason) instead of COMPLETED"),
        ({"output": {"value": 7}}, "output {'value': 7} instead of {'value': 8}"),
        ({"tasks": []}, "a completed 0 times"),
    ],
)
def test_an_end_that_does_not_follow_from_the_input_is_wrong(change: Json, said: str) -> None:
    (first, *_) = judge(_document() | change)

    assert first.startswith(said)


@pytest.mark.parametrize(
    ("status", "said"),
    [
        ("COMPLETED", "a completed 2 times"),
        ("FAILED", "a failed 1 times"),
        ("TIMED_OUT", "a timed out 1 times"),
        ("CANCELED", "a was cancelled"),
        ("SCHEDULED", "a is SCHEDULED although"),
    ],
)
def test_an_attempt_too_many_is_wrong(status: str, said: str) -> None:
    document = _document()
    document["tasks"].append(_task("a", 9, status))

    (found,) = judge(document)
    assert found.startswith(said)
    assert chains(document) == ["a has 2 attempts that are no chain"]


def test_a_task_that_no_one_asked_for_is_wrong() -> None:
    document = _document()
    document["tasks"].append(_task("d", 9))

    assert judge(document) == ["d should not be there"]


def test_an_attempt_whose_worker_was_lost_is_in_order_when_it_has_a_successor() -> None:
    document = _document()
    first = document["tasks"][0]
    lost = _task(
        "a",
        0,
        "CANCELED",
        reasonForIncompletion="worker w is lost: its lease ended, 5 s after it was last heard of",
    )
    first["retriedTaskId"] = lost["taskId"]
    document["tasks"].append(lost)

    assert judge(document) == []
    assert chains(document) == []


def test_one_stored_attempt_twice_is_scheduled_twice() -> None:
    attempt = StoredAttempt(generation=1, ref="a", vector="", retry_count=0, lost=0)

    assert _kinds(_evidence(_document(), attempts={_ID: [attempt, attempt]})) == ["scheduled twice"]


def _report(**members: Any) -> Json:
    given: Json = {"task": f"{_ID}-1", "status": "COMPLETED", "output": {"value": 6}}
    given = {**given, "sent": 700, "at": 900}
    return given | members


def test_an_accepted_result_that_is_not_there_is_lost() -> None:
    document = _document()
    document["tasks"][0]["outputData"] = {"value": 6}

    assert _kinds(_evidence(document, reports=[_report()])) == []
    assert _kinds(_evidence(document, reports=[_report(output={"value": 1})])) == ["lost"]
    assert _kinds(_evidence(document, reports=[_report(task=f"{_ID}-77")])) == ["lost"]


def test_a_result_that_came_after_the_end_of_its_attempt_may_be_ignored() -> None:
    document = _document("chaos_late")

    assert _kinds(_evidence(document, reports=[_report(at=1_200)])) == []
    assert _kinds(_evidence(document, reports=[_report(at=800)])) == ["lost"]


def test_a_result_that_came_after_its_execution_was_to_be_terminated_may_be_ignored() -> None:
    document = _document("chaos_late")
    for task in document["tasks"]:
        task["status"] = "CANCELED"

    def kinds(asked: int) -> list[str]:
        return _kinds(_evidence(document, reports=[_report(at=800)], terminations={_ID: asked}))

    assert "lost" not in kinds(asked=800)
    assert "lost" in kinds(asked=801)


def test_a_child_without_its_task_and_a_task_without_its_child_are_named() -> None:
    orphan = _document() | {"parentWorkflowTaskId": "x-1"}
    parent = _document("chaos_nested")
    for task in parent["tasks"]:
        if task["referenceTaskName"] == "middle":
            task |= {"taskType": "SUB_WORKFLOW", "subWorkflowId": "c"}

    assert _kinds(_evidence(orphan)) == ["children"]
    assert _kinds(_evidence(parent)) == ["children"]


def test_an_event_has_exactly_one_consequence() -> None:
    cause = _document("chaos_events")
    twice = {each: _document("chaos_handled", by=_ID) | {"workflowId": each} for each in ("x", "y")}
    documents = {_ID: cause, **twice}

    assert _kinds(_evidence(cause)) == ["effects"]
    evidence = Evidence(started=[], documents=documents, attempts={}, found=documents)
    assert _kinds(evidence) == ["effects"]
    one = {_ID: cause, "x": twice["x"]}
    assert _kinds(Evidence(started=[], documents=one, attempts={}, found=one)) == []


def test_a_key_belongs_to_one_execution() -> None:
    documents = {each: _document() | {"idempotencyKey": "k"} for each in ("x", "y")}

    evidence = Evidence(started=[], documents=documents, attempts={}, found=documents)
    assert _kinds(evidence) == ["keys"]


@pytest.mark.parametrize(("instants", "wrong"), [((0, 2, 4), 0), ((0, 4), 1), ((0, 2, 2), 1)])
def test_an_instant_of_the_schedule_that_is_missed_or_doubled_is_named(
    instants: tuple[int, ...], wrong: int
) -> None:
    documents = {
        f"{_ID[:-1]}{number}": _document(TICK, _scheduledTime=1000 * at)
        for number, at in enumerate(instants)
    }

    evidence = Evidence(started=[], documents=documents, attempts={}, found=documents)
    assert _kinds(evidence) == ["schedule"] * wrong


def test_what_no_search_finds_and_what_is_left_in_redis_is_named() -> None:
    evidence = _evidence(_document(), found=(), rest={"queue:": 1, "timers:": 0})

    assert Counter(_kinds(evidence)) == {"search": 1, "left over": 1}


def test_a_forgetful_redis_may_forget_its_last_moment_and_nothing_older() -> None:
    restart = Restart(killed_ms=10_000, kept_until_ms=9_300, lost_bytes=1)

    def evidence(sent_ms: int, at_ms: int, *, forgetful: bool = True) -> Evidence:
        return Evidence(
            started=[_started(sent_ms, at_ms)],
            documents={},
            attempts={},
            restarts=[restart],
            forgetful=forgetful,
        )

    for recent in (evidence(9_700, 9_800), evidence(9_000, 9_400), evidence(9_900, 13_000)):
        assert _kinds(recent) == []
        assert recent.forgotten == {"starts": 1}
    assert _kinds(evidence(8_900, 9_000)) == ["lost"]
    assert _kinds(evidence(10_050, 13_000)) == ["lost"]
    assert _kinds(evidence(9_700, 9_800, forgetful=False)) == ["lost"]


def test_growth_is_the_slope_of_memory_over_time() -> None:
    samples = [Sample(at_s=10.0 * n, mb={"api": 100 + n, "sweeper": 50}) for n in range(30)]

    assert growth_mb_a_minute(samples, "api") == pytest.approx(6.0)
    assert growth_mb_a_minute(samples, "sweeper") == pytest.approx(0.0)
    assert growth_mb_a_minute(together(samples, ("api", "sweeper"), "all"), "all") == (
        pytest.approx(6.0)
    )


def test_every_process_but_redis_counts_as_memory_of_the_soak() -> None:
    samples = [
        Sample(at_s=60.0 * n, mb={"server": 100 + n, "scheduler": 20 + 2 * n, "redis": 50 + 9 * n})
        for n in range(10)
    ]
    soaked = Soaked(minutes=9, samples=samples)
    assert soaked.roles == ["scheduler", "server"]
    assert soaked.growth("all but Redis") == pytest.approx(3.0)
    assert "| **all but Redis** | 120 MB | 147 MB | **+3.00 MB** |" in table(soaked)
    assert not soaked.is_good
