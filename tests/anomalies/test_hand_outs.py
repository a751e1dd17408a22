"""Tasks and workers: who holds a task, what a lost answer costs, and what one step costs."""

from typing import Any

import pytest

from conductor_py.errors import Conflict, StoreUnavailable
from conductor_py.testing import MemoryEngine
from tests.anomalies.world import CLAIM_S, LEASE_S, Killed, World
from tests.builders import (
    Json,
    extend,
    fork,
    fork_inputs,
    join,
    policy,
    report,
    set_variable,
    simple,
    status_of,
    sub_workflow,
    task_of,
    tasks_of,
    typed,
    workflow,
)

# -- claims ----------------------------------------------------------------------------------------


@pytest.mark.anomaly("A-53")
def test_who_held_a_task_before_touches_nothing_of_who_holds_it_now(world: World) -> None:
    """Extend, call back and finish, each with the claim of the former holder."""
    first, second = world.servers
    started = first.start(workflow("w", policy("a", retryCount=0)))
    (before,) = first.poll("a")
    report(first, before, status="IN_PROGRESS", claim=before["claimToken"])
    (now,) = second.poll("a")
    assert (now["taskId"], now["claimToken"] > before["claimToken"]) == (before["taskId"], True)
    ends = second.engine.tasks.document(now["taskId"])["updateTime"]
    for status in ("IN_PROGRESS", "COMPLETED", "FAILED"):
        report(first, before, status=status, claim=before["claimToken"], output={"by": "former"})
    with pytest.raises(Conflict):
        extend(first, before)
    assert first.statuses(started) == {"a": "IN_PROGRESS"}
    assert second.engine.tasks.document(now["taskId"])["updateTime"] == ends
    assert second.poll("a") == []
    report(second, now, claim=now["claimToken"], output={"by": "holder"})
    assert second.workflow(started)["output"] == {"by": "holder"}


@pytest.mark.anomaly("A-54")
@pytest.mark.parametrize("after", [False, True], ids=["before the claim", "answer lost"])
def test_a_poll_whose_answer_is_lost_costs_its_claim_and_no_retry(
    world: World, after: bool
) -> None:
    first, second = world.servers
    started = first.start(workflow("w", policy("a", retryCount=0)))
    world.kill(0, 1, after=after)
    with pytest.raises(Killed):
        first.poll("a", lease_s=CLAIM_S)
    assert len(second.poll("a", lease_s=CLAIM_S)) == (0 if after else 1)
    if after:
        world.pass_time(1, seconds=CLAIM_S)
        second.poll("a")
    task = task_of(second, started, "a")
    assert (task["retryCount"], task["status"]) == (0, "IN_PROGRESS")
    second.complete(task)
    assert status_of(second, started) == "COMPLETED"


@pytest.mark.anomaly("A-54")
def test_paused_and_ended_executions_serve_no_tasks(world: World) -> None:
    engine = world.servers[0]
    paused = engine.start(workflow("w", simple("a")))
    ended = engine.start(workflow("w", simple("a")))
    engine.engine.steering.pause(paused)
    engine.engine.executions.terminate(ended, reason="over")
    assert engine.poll("a", 5) == []
    engine.engine.steering.resume(paused)
    assert [task["workflowInstanceId"] for task in engine.poll("a", 5)] == [paused]


@pytest.mark.anomaly("A-55")
@pytest.mark.parametrize("after", [False, True], ids=["not arrived", "answer lost"])
@pytest.mark.parametrize("status", ["COMPLETED", "IN_PROGRESS"])
def test_a_result_whose_answer_is_lost_is_stored_whole_or_not_at_all(
    world: World, after: bool, status: str
) -> None:
    """The worker sends it again, to another server."""
    first, second = world.servers
    started = first.start(workflow("w", policy("a", retryCount=0), simple("b")))
    (task,) = first.poll("a")
    facts: Json = {"status": status, "claim": task["claimToken"], "output": {"v": 1}}
    world.kill(0, 1, after=after)
    with pytest.raises(Killed):
        report(first, task, **facts)
    held = second.statuses(started)["a"]
    world.pass_time(1, seconds=LEASE_S)
    report(second, task, **facts)
    world.pass_time(1, seconds=LEASE_S)
    world.check()
    found = task_of(second, started, "a")
    assert found["outputData"] == {"v": 1}
    assert (held, found["status"]) == (
        "IN_PROGRESS",
        "COMPLETED" if status == "COMPLETED" else "SCHEDULED",
    )
    queued = "b" if status == "COMPLETED" else "a"
    assert world.entries() == [task_of(second, started, queued)["taskId"]]


@pytest.mark.anomaly("A-55")
@pytest.mark.parametrize(
    "task",
    [typed("HUMAN", "t"), sub_workflow("t", workflow("c", simple("x"))), set_variable("t", n=1)],
    ids=["HUMAN", "SUB_WORKFLOW", "SET_VARIABLE"],
)
def test_progress_of_what_no_worker_takes_makes_no_queue_entry(world: World, task: Json) -> None:
    engine = world.servers[0]
    started = engine.start(workflow("w", task, simple("z")))
    engine.settle()
    before = world.entries()
    report(engine, task_of(engine, started, "t"), status="IN_PROGRESS", output={"seen": 1})
    world.pass_time(0, seconds=LEASE_S)
    assert world.entries() == before
    world.check()


@pytest.mark.anomaly("A-57")
def test_a_larger_priority_goes_first_and_starves_nobody_of_the_same(
    engine: MemoryEngine,
) -> None:
    """One order for all: the larger number first, then who came first."""
    ids = []
    for priority in (0, 50, 1, 99, 50, 0):
        ids.append(engine.start(workflow("w", simple("a")), priority=priority))
        engine.clock.advance(milliseconds=1)
    found = [task["workflowInstanceId"] for task in engine.poll("a", 10)]
    assert found == [ids[n] for n in (3, 1, 4, 2, 0, 5)]


# -- what one step costs ---------------------------------------------------------------------------


class _Bill:
    """What a server reads and writes of the store, in calls and in fields."""

    def __init__(self, world: World) -> None:
        self.read = self.written = 0
        store = world.servers[0].ports.store
        for name in ("load", "report", "acquire", "commit"):
            setattr(store, name, self._counted(name, getattr(store, name)))
        self._world = world
        self._steps = world.steps(0)

    def _counted(self, name: str, real: Any) -> Any:
        def call(*given: Any) -> Any:
            if name == "commit":
                changes = given[0].changes
                self.written += len(changes.fields) + len(changes.deleted) + len(changes.offers)
            reply = real(*given)
            if name == "load":
                self.read += len(reply[1])
            else:
                loaded = getattr(reply, "loaded", None) or getattr(reply, "more", None)
                self.read += len(loaded.fields) if loaded is not None else 0
            return reply

        return call

    def total(self) -> tuple[int, int, int]:
        """Steps, fields read, fields written since the last time it was asked for."""
        total = self._world.steps(0) - self._steps, self.read, self.written
        self._steps, self.read, self.written = self._world.steps(0), 0, 0
        return total


def _price(branches: int, *, dynamic: bool) -> tuple[int, int, int]:
    """What the completion of one branch costs in an execution of so many."""
    world = World(servers=1)
    (engine,) = world.servers
    refs = [f"b{n}" for n in range(branches)]
    if dynamic:
        opened = fork_inputs("f", [{"n": n} for n in range(branches)], forkTaskName="b")
        engine.start(workflow("w", opened, join("j")))
    else:
        each = [[simple(ref, name="b")] for ref in refs]
        engine.start(workflow("w", fork("f", *each), join("j", *refs)))
    engine.settle()
    first, task = engine.poll("b", 2)
    engine.complete(first, {"v": 0})
    bill = _Bill(world)
    engine.complete(task, {"v": 1})
    return bill.total()


@pytest.mark.anomaly("A-64")
@pytest.mark.parametrize("dynamic", [False, True], ids=["static", "dynamic"])
def test_a_step_costs_the_same_in_an_execution_of_ten_and_of_ten_thousand_branches(
    dynamic: bool,
) -> None:
    few, many = _price(10, dynamic=dynamic), _price(10_000, dynamic=dynamic)
    assert few == many
    steps, read, written = few
    assert (steps, read < 20, written < 10) == (2, True, True)


@pytest.mark.anomaly("A-64")
def test_a_step_costs_the_same_at_the_end_of_a_long_history() -> None:
    prices = []
    world = World(servers=1)
    (engine,) = world.servers
    engine.start(workflow("w", *[simple(f"a{n}", name="a") for n in range(200)]))
    bill = _Bill(world)
    for n in range(200):
        (task,) = engine.poll("a")
        bill.total()
        engine.complete(task, {"v": n})
        prices.append(bill.total())
    assert len(set(prices[1:-1])) == 1


@pytest.mark.anomaly("A-54")
def test_a_store_that_is_away_while_polling_takes_no_task_with_it(world: World) -> None:
    first, second = world.servers
    first.start(workflow("w", simple("a")))
    world.away(0, 1, after=False)
    with pytest.raises(StoreUnavailable):
        first.poll("a")
    assert len(second.poll("a")) == 1
    assert tasks_of(second, world.stored[0].id, "a")[0]["pollCount"] == 1
