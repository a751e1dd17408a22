"""Why is it not moving? Every kind of standstill is planted, and named rightly."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import Any

import orjson
import pytest

from conductor_py.adapters.memory.space import Execution as Stored
from conductor_py.adapters.memory.space import MemorySpace
from conductor_py.codec.definitions import workflow_from_json
from conductor_py.decider.workspace import Limits
from conductor_py.engine.explaining.causes import CAUSES
from conductor_py.errors import NotFound
from conductor_py.model.ids import ExecutionId
from conductor_py.model.priorities import QueueOrder
from conductor_py.model.requests import PollRequest
from conductor_py.model.workers import TaskTypeLoad, WorkerSign
from conductor_py.testing import FakeClock, MemoryEngine, memory_engine
from tests.builders import (
    Json,
    do_while,
    fork,
    join,
    policy,
    report,
    run_failing,
    simple,
    sub_workflow,
    typed,
    wait,
    workflow,
)
from tests.decider.chaos import Chaos, Weather, timeless


@pytest.fixture
def space(clock: FakeClock) -> MemorySpace:
    return MemorySpace(clock=clock)


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def engine(clock: FakeClock, space: MemorySpace) -> MemoryEngine:
    return memory_engine(clock=clock, space=space)


def explained(engine: MemoryEngine, started: str, *, keep: bool = True) -> Json:
    if keep:
        engine.engine.shards.keep(force=True)
    found: Json = dict(engine.engine.why.explain(started))
    assert found["workflowId"] == started
    for cause in (found["cause"], *found["causes"]):
        assert cause["code"] in CAUSES
        assert cause["sentence"].endswith(".")
        assert cause["advice"]
    return found


def why(engine: MemoryEngine, started: str, code: str) -> Json:
    """The headline, which is of this code."""
    found: Json = explained(engine, started)["cause"]
    assert found["code"] == code, found
    return found


def stored(space: MemorySpace, started: str) -> Stored:
    return space.partition(0).executions[started]


def change_header(space: MemorySpace, started: str, **facts: Any) -> None:
    execution = stored(space, started)
    execution.fields["h"] = orjson.dumps({**execution.header(), **facts})


# -- workers ---------------------------------------------------------------------------------------


def test_no_worker_has_ever_asked(engine: MemoryEngine, clock: FakeClock) -> None:
    started = engine.start(workflow("w", simple("a")))
    began = clock.now_ms
    clock.advance(seconds=60)
    found = why(engine, started, "no-worker-ever")
    assert found["referenceTaskName"] == "a"
    assert found["taskId"] == f"{started}-1"
    assert found["since"] == began
    assert found["evidence"]["queue"] == "a"
    assert "Start a worker" in found["advice"]


@pytest.mark.parametrize("instance_first", [False, True])
@pytest.mark.parametrize("ageing_ms", [0, 1_000])
def test_since_when_a_task_waits_is_known_in_every_order_of_queues(
    clock: FakeClock, instance_first: bool, ageing_ms: int
) -> None:
    order = QueueOrder(instance_first=instance_first, ageing_ms=ageing_ms)
    engine = memory_engine(clock=clock, limits=Limits(order=order))
    task = simple("a", startDelay=30, taskPriority="LOW")
    started = engine.start(workflow("w", task), priority=70)
    ready = clock.now_ms + 30_000
    clock.advance(seconds=300)
    assert why(engine, started, "no-worker-ever")["since"] == ready


def test_the_workers_have_stopped_asking(engine: MemoryEngine, clock: FakeClock) -> None:
    engine.poll("a")
    last = clock.now_ms
    clock.advance(seconds=1)
    started = engine.start(workflow("w", simple("a")))
    clock.advance(seconds=120)
    found = why(engine, started, "no-worker-since")
    assert (found["since"], found["evidence"]["lastPoll"]) == (last, last)
    assert "2 min ago" in found["sentence"]


def test_workers_ask_and_it_waits_for_its_turn(engine: MemoryEngine) -> None:
    engine.poll("a")
    started = engine.start(workflow("w", simple("a")))
    found = why(engine, started, "queued")
    assert found["evidence"]["workers"] == ["worker"]
    assert found["evidence"]["entries"] == 1


def test_workers_ask_in_another_domain(engine: MemoryEngine) -> None:
    started = engine.start(workflow("w", simple("a")), task_to_domain={"a": "gpu"})
    engine.poll("a")
    engine.poll("a", domain="cpu")
    found = why(engine, started, "worker-in-other-domain")
    assert found["evidence"]["domains"] == ["", "cpu"]
    assert found["evidence"]["queue"] == "gpu:a"
    assert "taskToDomain" in found["advice"]


def http(ref: str, **definition: Any) -> Json:
    given = {"http_request": {"uri": "http://example.com", "method": "GET"}}
    task = typed("HTTP", ref, inputParameters=given)
    return {**task, "taskDefinition": {"name": ref, **definition}} if definition else task


def test_no_system_task_worker_runs(engine: MemoryEngine) -> None:
    started = engine.start(workflow("w", http("h")))
    found = why(engine, started, "no-system-worker")
    assert found["evidence"]["queue"] == "HTTP"
    assert "conductor-py system-worker" in found["advice"]


def test_the_system_task_worker_serves_other_groups(engine: MemoryEngine) -> None:
    started = engine.start(workflow("w", http("h", isolationGroupId="slow")))
    request = PollRequest(task_type="HTTP", count=1, timeout_ms=0, worker="s")
    engine.engine.tasks.take(request)
    found = why(engine, started, "worker-in-other-group")
    assert found["evidence"]["queue"] == "HTTP-slow"
    assert found["evidence"]["queues"] == ["HTTP"]
    assert "isolationGroups" in found["advice"]


def share_shards(first: MemoryEngine, second: MemoryEngine) -> None:
    """The first serves s0, the second s1."""
    second.engine.shards._registry = first.engine.shards._registry
    for server in (first, second):
        server.engine.shards.keep(force=True)


def test_no_server_serves_the_shard(
    engine: MemoryEngine, clock: FakeClock, space: MemorySpace
) -> None:
    other = memory_engine(clock=clock, space=space, server="server-2", strategy="localOnly")
    share_shards(engine, other)
    started = other.start(workflow("w", simple("a")))
    other.engine.shards.release()
    found = explained(engine, started, keep=False)["cause"]
    assert found["code"] == "shard-unserved"
    assert found["evidence"]["shard"] == "s1"
    assert "conductor.redis.shardLease" in found["advice"]


def test_workers_ask_at_a_server_that_does_not_serve_the_shard(
    clock: FakeClock, space: MemorySpace
) -> None:
    here, there = (
        memory_engine(clock=clock, space=space, server=name, strategy="localOnly")
        for name in ("server-1", "server-2")
    )
    share_shards(here, there)
    started = there.start(workflow("w", simple("a")))
    clock.advance(seconds=20)
    for server in (here, there):
        server.engine.shards.keep(force=True)
    assert here.poll("a") == []
    found = why(here, started, "worker-elsewhere")
    assert (found["evidence"]["shard"], found["evidence"]["lastPollOfShard"]) == ("s1", 0)
    assert "roundRobin" in found["advice"]


def test_a_queue_is_no_stall_elsewhere_when_its_own_server_is_asked(
    clock: FakeClock, space: MemorySpace
) -> None:
    here, there = (
        memory_engine(clock=clock, space=space, server=name, strategy="localOnly")
        for name in ("server-1", "server-2")
    )
    share_shards(here, there)
    started = {there.start(workflow("w", simple("a"))) for _ in range(2)}
    clock.advance(seconds=20)
    for server in (here, there):
        server.engine.shards.keep(force=True)
    (task,) = there.poll("a")
    (left,) = started - {task["workflowInstanceId"]}
    clock.advance(seconds=1)
    assert here.poll("a") == []
    assert why(here, left, "queued")["evidence"]["entries"] == 1


def test_a_worker_has_the_task(engine: MemoryEngine, clock: FakeClock) -> None:
    started = engine.start(workflow("w", policy("a", responseTimeoutSeconds=60)))
    (task,) = engine.poll("a")
    clock.advance(seconds=20)
    found = why(engine, started, "running")
    assert found["evidence"] == {"worker": "worker", "claim": task["claimToken"]}
    assert found["until"] == clock.now_ms + 40_000


def test_a_worker_has_gone_silent(engine: MemoryEngine, clock: FakeClock) -> None:
    started = engine.start(workflow("w", simple("a")))
    engine.poll("a", lease_s=8)
    clock.advance(seconds=7)
    found = why(engine, started, "worker-silent")
    assert found["until"] == clock.now_ms + 1_000
    assert "7 s" in found["sentence"]


def test_a_workers_claim_has_ended(engine: MemoryEngine, clock: FakeClock) -> None:
    started = engine.start(workflow("w", simple("a")))
    engine.poll("a", lease_s=8)
    clock.advance(seconds=10)
    assert why(engine, started, "worker-lost")["until"] == clock.now_ms - 2_000


@pytest.mark.parametrize(
    ("running", "code"), [([4, 4], "workers-busy"), ([4, 3], "no-worker-since")]
)
def test_workers_that_do_not_ask_are_busy_when_every_slot_is_taken(
    engine: MemoryEngine, clock: FakeClock, running: list[int], code: str
) -> None:
    engine.poll("a")
    started = engine.start(workflow("w", simple("a")))
    clock.advance(seconds=11)
    for number, taken in enumerate(running):
        load = TaskTypeLoad(task_type="a", running=taken, capacity=4)
        worker = f"w{number}"
        sign = WorkerSign(worker=worker, host="h", version="", sdk="", task_types=(load,))
        engine.engine.workers.report(sign)
    found = why(engine, started, code)
    if code == "workers-busy":
        assert found["evidence"] == {"workers": ["w0", "w1"], "slots": 8, "entries": 1}
        assert "2 workers there with 8 slots, all taken" in found["sentence"]
    clock.advance(seconds=31)
    assert why(engine, started, "no-worker-since"), "a worker that is gone is not busy"


def test_workers_of_another_domain_or_type_are_not_those_that_are_busy(
    engine: MemoryEngine,
) -> None:
    started = engine.start(workflow("w", simple("a")))
    loads = (
        TaskTypeLoad(task_type="a", domain="gpu", running=1, capacity=1),
        TaskTypeLoad(task_type="b", running=1, capacity=1),
    )
    sign = WorkerSign(worker="w", host="h", version="", sdk="", task_types=loads)
    engine.engine.workers.report(sign)
    why(engine, started, "no-worker-ever")


# -- limits ----------------------------------------------------------------------------------------


def test_the_concurrency_limit_is_held_by_others(engine: MemoryEngine) -> None:
    definition = workflow("w", policy("a", concurrentExecLimit=1))
    both = {engine.start(definition) for _ in range(2)}
    (task,) = engine.poll("a")
    (other,) = both - {task["workflowInstanceId"]}
    found = why(engine, other, "concurrency-limit")
    assert found["evidence"] == {"limit": 1, "heldBy": [task["taskId"]]}
    assert found["until"]


def test_the_rate_limit_is_used_up(engine: MemoryEngine, clock: FakeClock) -> None:
    limits = {"rateLimitPerFrequency": 1, "rateLimitFrequencyInSeconds": 30}
    definition = workflow("w", policy("a", **limits))
    both = {engine.start(definition) for _ in range(2)}
    (task,) = engine.poll("a")
    (second,) = both - {task["workflowInstanceId"]}
    found = why(engine, second, "rate-limit")
    assert found["until"] == clock.now_ms + 30_000
    clock.advance(seconds=31)
    assert explained(engine, second)["cause"]["code"] == "no-worker-since"


def test_the_workflows_rate_limit_lets_others_go_first(engine: MemoryEngine) -> None:
    definition = {
        **workflow("w", simple("a")),
        "rateLimitConfig": {"rateLimitKey": "k", "concurrentExecLimit": 1},
    }
    first, *_, last = (engine.start(definition) for _ in range(3))
    found = why(engine, last, "workflow-rate-limit")
    assert found["evidence"] == {"key": "w:k", "limit": 1, "ahead": 1, "heldBy": [first]}


# -- time ------------------------------------------------------------------------------------------


def test_a_failed_task_waits_for_its_retry(engine: MemoryEngine, clock: FakeClock) -> None:
    started = engine.start(workflow("w", policy("a", retryCount=2, retryDelaySeconds=60)))
    run_failing(engine, "a")
    found = why(engine, started, "retry-delay")
    assert found["until"] == clock.now_ms + 60_000
    assert "try 2 begins at 2027-01-15 08:01:00Z" in found["sentence"]


def test_a_worker_put_the_task_off(engine: MemoryEngine, clock: FakeClock) -> None:
    started = engine.start(workflow("w", simple("a")))
    (task,) = engine.poll("a")
    report(engine, task, status="IN_PROGRESS", callback_after_s=90)
    found = why(engine, started, "callback")
    assert found["until"] == clock.now_ms + 90_000
    assert "resetcallbacks" in found["advice"]


def test_a_task_waits_for_its_start_delay(engine: MemoryEngine, clock: FakeClock) -> None:
    started = engine.start(workflow("w", {**simple("a"), "startDelay": 45}))
    assert why(engine, started, "start-delay")["until"] == clock.now_ms + 45_000


def test_a_wait_has_an_end(engine: MemoryEngine, clock: FakeClock) -> None:
    started = engine.start(workflow("w", wait("t", duration="5 minutes")))
    assert why(engine, started, "wait-timer")["until"] == clock.now_ms + 300_000


# -- somebody outside ------------------------------------------------------------------------------


def test_a_wait_without_end_waits_for_a_signal(engine: MemoryEngine) -> None:
    started = engine.start(workflow("w", typed("WAIT", "t")))
    assert f"workflow signal {started}" in why(engine, started, "wait-signal")["advice"]


def test_a_human_task_waits_for_somebody(engine: MemoryEngine) -> None:
    started = engine.start(workflow("w", typed("HUMAN", "h")))
    assert f"task report {started} h" in why(engine, started, "human")["advice"]


def test_an_asynchronous_task_waits_for_its_result(engine: MemoryEngine) -> None:
    event = typed("EVENT", "e", sink="conductor", asyncComplete=True)
    started = engine.start(workflow("w", event))
    engine.settle()
    why(engine, started, "external")


def test_a_message_of_an_event_is_not_delivered(engine: MemoryEngine, clock: FakeClock) -> None:
    event = typed("EVENT", "e", sink="conductor", asyncComplete=True)
    started = engine.start(workflow("w", event))
    clock.advance(seconds=90)
    found = why(engine, started, "effect-stuck")
    assert found["evidence"] == {"effect": "publish"}
    assert "conductor-py effects" in found["advice"]


def test_a_task_waits_for_messages(engine: MemoryEngine) -> None:
    started = engine.start(workflow("w", typed("PULL_WORKFLOW_MESSAGES", "p")))
    assert f"message {started}" in why(engine, started, "messages")["advice"]


# -- others ----------------------------------------------------------------------------------------


def test_the_cause_of_a_sub_workflow_is_the_cause(engine: MemoryEngine) -> None:
    inner = workflow("inner", typed("HUMAN", "h"))
    middle = workflow("middle", sub_workflow("m", inner))
    started = engine.start(workflow("w", sub_workflow("s", middle)))
    engine.settle()
    found = explained(engine, started)
    child = engine.workflow(started)["tasks"][0]["subWorkflowId"]
    grandchild = engine.workflow(child)["tasks"][0]["subWorkflowId"]
    assert found["cause"]["code"] == "human"
    assert found["cause"]["workflowId"] == grandchild
    assert found["path"] == [child, grandchild]
    assert [cause["code"] for cause in found["causes"]] == ["sub-workflow"]


def test_a_start_under_a_key_is_ordered_and_then_stuck(
    engine: MemoryEngine, clock: FakeClock
) -> None:
    engine.engine.definitions.register(
        workflow_from_json(workflow("child", simple("a"))), overwrite=True
    )
    task = typed("SUB_WORKFLOW", "s")
    task["subWorkflowParam"] = {"name": "child", "version": 1, "idempotencyKey": "k"}
    started = engine.start(workflow("w", task))
    why(engine, started, "start-order")
    clock.advance(seconds=90)
    assert why(engine, started, "effect-stuck")["evidence"] == {"effect": "start"}
    engine.settle()
    assert explained(engine, started)["cause"]["code"] == "no-worker-ever"


def test_a_join_says_what_it_waits_for(engine: MemoryEngine) -> None:
    tasks = (fork("f", [simple("a")], [simple("b")]), join("j", "a", "b"))
    started = engine.start(workflow("w", *tasks))
    engine.run("a")
    found = {cause["code"]: cause for cause in explained(engine, started)["causes"]}
    assert found["join"]["evidence"] == {"settled": 1, "open": ["b"]}
    assert "1 of 2 tasks, b among them" in found["join"]["sentence"]
    assert found["no-worker-ever"]["referenceTaskName"] == "b"


def test_a_loop_is_not_the_headline(engine: MemoryEngine) -> None:
    started = engine.start(workflow("w", do_while("l", "$.l['iteration'] < 2", simple("a"))))
    found = explained(engine, started)
    assert found["cause"]["referenceTaskName"] == "a__1"
    assert {cause["code"] for cause in found["causes"]} == {"no-worker-ever", "loop"}


def test_of_several_tasks_the_one_that_somebody_must_act_on_is_named(
    engine: MemoryEngine,
) -> None:
    tasks = (
        fork("f", [wait("t", duration="1 hour")], [simple("a")], [simple("b")]),
        join("j", "t", "a", "b"),
    )
    started = engine.start(workflow("w", *tasks))
    engine.poll("a")
    found = explained(engine, started)
    assert (found["cause"]["code"], found["cause"]["referenceTaskName"]) == ("no-worker-ever", "b")
    codes = [cause["code"] for cause in found["causes"]]
    assert codes == ["no-worker-ever", "wait-timer", "running", "join"]


# -- the engine ------------------------------------------------------------------------------------


def test_it_is_paused(engine: MemoryEngine, clock: FakeClock) -> None:
    started = engine.start(workflow("w", simple("a")))
    clock.advance(seconds=5)
    engine.engine.steering.pause(started)
    found = why(engine, started, "paused")
    assert found["since"] == clock.now_ms
    assert found["advice"] == f"conductor-py workflow resume {started}"


def test_what_a_pause_holds_is_not_said_to_go_on_by_itself(engine: MemoryEngine) -> None:
    started = engine.start(workflow("w", simple("a")))
    engine.engine.steering.pause(started)
    assert engine.poll("a") == [], "its entry is parked"
    assert [cause["code"] for cause in explained(engine, started)["causes"]] == ["paused"]


def send(engine: MemoryEngine, started: str) -> None:
    event = b'0 {"t":"op","id":"x","n":"watch","a":{}}'
    engine.ports.store.send(ExecutionId(started), "op", event, "somebody", 3_000)


def test_somebody_is_deciding(engine: MemoryEngine, clock: FakeClock) -> None:
    started = engine.start(workflow("w", simple("a")))
    send(engine, started)
    causes = {cause["code"]: cause for cause in explained(engine, started)["causes"]}
    assert causes["deciding"]["until"] == clock.now_ms + 3_000
    assert "somebody" in causes["deciding"]["sentence"]


def test_events_are_about_to_be_decided(engine: MemoryEngine, clock: FakeClock) -> None:
    started = engine.start(workflow("w", typed("HUMAN", "h")))
    send(engine, started)
    clock.advance(seconds=4)
    causes = {cause["code"]: cause for cause in explained(engine, started)["causes"]}
    assert causes["inbox"]["until"] == clock.now_ms - 1_000


def test_what_adds_to_a_store_that_is_full_waits(engine: MemoryEngine, clock: FakeClock) -> None:
    started = engine.start(workflow("w", typed("HUMAN", "h")))
    send(engine, started)
    clock.advance(seconds=4)
    engine_space(engine).percent_full = 81
    found = why(engine, started, "store-full")
    assert "81 %" in found["sentence"]
    assert "CONFIG SET maxmemory" in found["advice"]


def test_nobody_sweeps(engine: MemoryEngine, clock: FakeClock) -> None:
    started = engine.start(workflow("w", wait("t", duration="5 seconds")))
    clock.advance(seconds=60)
    found = why(engine, started, "no-sweeper")
    assert found["evidence"] == {"overdueMs": 55_000, "shard": "s0", "shardIsServed": True}
    assert "conductor-py sweeper" in found["advice"]
    engine.settle()
    assert why(engine, started, "finished")["evidence"]["status"] == "COMPLETED"


def test_a_script_takes_long(engine: MemoryEngine, clock: FakeClock) -> None:
    started = engine.start(workflow("w", typed("WAIT", "t")))
    send(engine, started)
    loaded = stored(engine_space(engine), started)
    assert engine.ports.store.postpone(
        ExecutionId(started), "somebody", loaded.base, 10_000, for_script=True
    )
    causes = {cause["code"]: cause for cause in explained(engine, started)["causes"]}
    assert causes["script"]["until"] == clock.now_ms + 10_000


def engine_space(engine: MemoryEngine) -> MemorySpace:
    space: Any = engine.ports.inspector
    found: MemorySpace = space._space
    return found


def test_deciding_fails_and_then_it_is_in_quarantine(
    engine: MemoryEngine, clock: FakeClock
) -> None:
    started = engine.start(workflow("w", typed("HUMAN", "h")))
    send(engine, started)
    version = stored(engine_space(engine), started).version

    def fail() -> None:
        engine.ports.quarantine.set_back(ExecutionId(started), "somebody", version, "it is broken")

    fail()
    found = why(engine, started, "failing")
    assert found["evidence"] == {"tries": 1, "reason": "it is broken"}
    assert found["until"] == clock.now_ms + 1_000
    for _ in range(4):
        fail()
    found = why(engine, started, "quarantined")
    assert found["evidence"] == {"tries": 5, "reason": "it is broken"}
    assert found["until"] == clock.now_ms + 600_000
    assert f"quarantine retry {started}" in found["advice"]


def test_another_version_has_stored_it(engine: MemoryEngine, space: MemorySpace) -> None:
    started = engine.start(workflow("w", simple("a")))
    change_header(space, started, f=99)
    why(engine, started, "unknown-format")


def test_its_definition_is_lost(engine: MemoryEngine, space: MemorySpace) -> None:
    started = engine.start(workflow("w", simple("a")))
    plan = str(stored(space, started).header()["plan"])
    del space.partition(0).plans[plan]
    assert why(engine, started, "plan-lost")["evidence"] == {"plan": plan}


def test_the_clock_of_the_store_was_set_back(engine: MemoryEngine, clock: FakeClock) -> None:
    started = engine.start(workflow("w", wait("t", duration="1 minute")))
    clock.advance(seconds=-600)
    found = why(engine, started, "store-clock")
    assert found["evidence"] == {"behindMs": 600_000}
    assert "10 min" in found["sentence"]


def test_an_invariant_is_broken(engine: MemoryEngine, space: MemorySpace) -> None:
    started = engine.start(workflow("w", simple("a")))
    space.partition(0).ready["a", "s0"].drop(f"{started}-1")
    found = why(engine, started, "broken")
    assert "in no queue" in found["sentence"]
    assert f"audit --execution {started}" in found["advice"]


def test_an_entry_is_on_its_way_back_into_its_queue(
    engine: MemoryEngine, space: MemorySpace
) -> None:
    started = engine.start(workflow("w", simple("a")))
    engine.engine.steering.pause(started)
    engine.poll("a")
    stored(space, started).status = "RUNNING"
    change_header(space, started, st="RUNNING")
    why(engine, started, "resuming")


# -- the end ---------------------------------------------------------------------------------------


def test_it_has_ended_and_is_being_cleaned_up(engine: MemoryEngine, space: MemorySpace) -> None:
    started = engine.start(workflow("w", simple("a")))
    engine.engine.executions.terminate(started, reason="enough")
    change_header(space, started, drain=1)
    why(engine, started, "draining")


def test_it_has_ended(engine: MemoryEngine) -> None:
    started = engine.start(workflow("w", policy("a", retryCount=0)))
    run_failing(engine, "a", "no more")
    found = why(engine, started, "finished")
    assert found["evidence"] == {"status": "FAILED", "reason": "Task a (a) failed: no more"}


def test_a_definition_that_is_not_registered_is_named(engine: MemoryEngine) -> None:
    task = typed("SUB_WORKFLOW", "s", inputParameters={"which": "nowhere"})
    task["subWorkflowParam"] = {"name": "${workflow.input.which}", "version": 1}
    started = engine.start(workflow("w", task), input={"which": "nowhere"})
    found = why(engine, started, "finished")
    assert found["evidence"]["status"] == "FAILED"
    assert "nowhere" in found["evidence"]["reason"]


def test_a_dynamic_task_that_leads_to_nobody_says_which_queue(engine: MemoryEngine) -> None:
    dynamic = typed("DYNAMIC", "d", dynamicTaskNameParam="x", inputParameters={"x": "nobody"})
    started = engine.start(workflow("w", dynamic))
    assert why(engine, started, "no-worker-ever")["evidence"]["queue"] == "nobody"


def test_it_waits_to_be_archived(engine: MemoryEngine, clock: FakeClock) -> None:
    started = engine.start(workflow("w", simple("a")))
    engine.run("a")
    ended = clock.now_ms
    clock.advance(seconds=90)
    found = why(engine, started, "archive-pending")
    assert found["since"] == ended
    assert "conductor-py effects" in found["advice"]


def test_it_is_in_the_archive(engine: MemoryEngine, clock: FakeClock) -> None:
    started = engine.start(workflow("w", simple("a")))
    engine.run("a")
    for _ in range(3):
        clock.advance(seconds=61)
        engine.settle()
    assert engine.engine.executions.view(started) is None
    why(engine, started, "archived")


@pytest.mark.parametrize("name", ["x", "00000000-0000-0000-0000-000000000000", "fff" + "0" * 33])
def test_what_is_not_there_is_not_found(engine: MemoryEngine, name: str) -> None:
    with pytest.raises(NotFound):
        engine.engine.why.explain(name)


def test_deeply_nested_sub_workflows_have_one_cause(engine: MemoryEngine) -> None:
    deep = 150
    register(engine, workflow("w0", typed("HUMAN", "h")))
    for level in range(1, deep + 1):
        task = typed("SUB_WORKFLOW", "s")
        task["subWorkflowParam"] = {"name": f"w{level - 1}", "version": 1}
        register(engine, workflow(f"w{level}", task))
    started = engine.start(f"w{deep}")
    for _ in range(10):
        engine.clock.advance(seconds=2)
        engine.settle()
    found = explained(engine, started)
    assert found["cause"]["code"] == "human"
    assert len(found["path"]) == deep


def register(engine: MemoryEngine, definition: Json) -> None:
    engine.engine.definitions.register(workflow_from_json(definition), overwrite=True)


# -- whatever happens ------------------------------------------------------------------------------


@pytest.fixture
def quiet() -> Iterator[None]:
    logging.disable(logging.CRITICAL)
    with timeless():
        yield
    logging.disable(logging.NOTSET)


@pytest.mark.usefixtures("quiet")
@pytest.mark.parametrize("seed", range(12))
def test_in_any_world_every_execution_has_a_cause_and_a_sound_one_is_not_broken(seed: int) -> None:
    world = Chaos(seed, Limits(), Weather(unavailable=0.02, crash=0.03))
    for _ in range(40):
        world.step()
        for one in world.stored:
            found = explained(world.engine, one.id)
            assert found["causes"]
            assert found["cause"]["code"] != "broken", (seed, found, world.log[-5:])
