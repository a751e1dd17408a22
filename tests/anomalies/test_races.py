"""Two servers at work on one execution at once: what comes first counts, and nothing is lost."""

from collections.abc import Callable

import pytest

from conductor_py.errors import ConductorError, Conflict, NotFound
from conductor_py.model.status import TaskStatus
from tests.anomalies.world import LEASE_S, Killed, World, attempts_of, open_attempts
from tests.builders import (
    Json,
    extend,
    fail,
    fork,
    join,
    policy,
    report,
    run_failing,
    set_variable,
    simple,
    status_of,
    sub_workflow,
    task_of,
    tasks_of,
    typed,
    workflow,
)

_TIMES_OUT = [
    pytest.param({"timeoutSeconds": 20, "responseTimeoutSeconds": 20}, id="task"),
    pytest.param({"responseTimeoutSeconds": 20}, id="response"),
    pytest.param({"totalTimeoutSeconds": 20, "timeoutSeconds": 20}, id="total"),
]

_LIMIT = {"retryCount": 3, "timeoutPolicy": "RETRY", "timeoutSeconds": 20}
_ENDS_BY_TIME = [
    pytest.param(typed("HUMAN", "t", taskDefinition={"name": "t", **_LIMIT}), id="human"),
    pytest.param(typed("WAIT", "t", inputParameters={"duration": "20 seconds"}), id="wait"),
]


# -- a result and what else may end its attempt ----------------------------------------------------


@pytest.mark.anomaly("A-8")
@pytest.mark.parametrize("limit", _TIMES_OUT)
def test_a_result_that_arrives_while_its_timeout_is_decided_wins(world: World, limit: Json) -> None:
    first, second = world.servers
    started = first.start(workflow("w", policy("a", retryCount=3, timeoutPolicy="RETRY", **limit)))
    (task,) = first.poll("a")
    world.meanwhile(0, "store.commit", lambda: second.complete(task, {"by": "worker"}))
    world.pass_time(0, seconds=20)
    (only,) = tasks_of(first, started, "a")
    assert (only["status"], only["outputData"]) == ("COMPLETED", {"by": "worker"})
    assert status_of(first, started) == "COMPLETED"


@pytest.mark.anomaly("A-8")
@pytest.mark.parametrize("status", ["COMPLETED", "FAILED_WITH_TERMINAL_ERROR"])
@pytest.mark.parametrize("untaken", _ENDS_BY_TIME)
def test_a_result_wins_over_the_end_by_time_of_a_task_that_no_worker_takes(
    world: World, untaken: Json, status: str
) -> None:
    """I6: what was accepted is what the task ends with."""
    first, second = world.servers
    started = first.start(workflow("w", untaken))
    task = task_of(first, started, "t")

    def by_hand() -> None:
        report(second, task, status=status, output={"by": "hand"})

    world.meanwhile(0, "store.commit", by_hand)
    world.pass_time(0, seconds=20)
    (only,) = tasks_of(first, started, "t")
    assert (only["status"], only["outputData"]) == (status, {"by": "hand"})


@pytest.mark.parametrize("signal", [TaskStatus.IN_PROGRESS, TaskStatus.COMPLETED])
def test_a_result_wins_over_a_signal_that_is_being_decided(
    world: World, signal: TaskStatus
) -> None:
    """I6: the signal looks for another WAIT, as if it had come later."""
    first, second = world.servers
    started = first.start(workflow("w", typed("WAIT", "t"), typed("WAIT", "u")))
    task = task_of(first, started, "t")
    result = {"status": "COMPLETED", "output": {"by": "hand"}}
    world.meanwhile(0, "store.commit", lambda: report(second, task, **result))
    assert first.engine.awaiting.signal(started, signal, {"by": "signal"})
    assert task_of(first, started, "t")["outputData"] == {"by": "hand"}
    other = task_of(first, started, "u")
    assert (other["status"], other["outputData"]) == (signal.value, {"by": "signal"})


def test_a_result_that_was_accepted_before_the_execution_timed_out_counts(world: World) -> None:
    """I6: the server that accepted it died, and the time is over before another one looks."""
    first, second = world.servers
    limit = {"timeoutSeconds": 20, "timeoutPolicy": "TIME_OUT_WF"}
    started = first.start(workflow("w", simple("a"), simple("b"), **limit))
    (task,) = first.poll("a")
    world.kill(0, 1, after=True)
    with pytest.raises(Killed):
        first.complete(task, {"by": "worker"})
    world.pass_time(1, seconds=21)
    assert status_of(second, started) == "TIMED_OUT"
    (only,) = second.workflow(started)["tasks"]
    assert (only["status"], only["outputData"]) == ("COMPLETED", {"by": "worker"})


@pytest.mark.anomaly("A-8")
@pytest.mark.parametrize("limit", _TIMES_OUT)
def test_a_result_that_arrives_after_its_timeout_was_decided_is_ignored(
    world: World, limit: Json
) -> None:
    first, second = world.servers
    rule = {**limit, "totalTimeoutSeconds": 0}
    started = first.start(workflow("w", policy("a", retryCount=3, timeoutPolicy="RETRY", **rule)))
    (task,) = first.poll("a")
    world.pass_time(0, seconds=20)
    second.complete(task, {"by": "late"})
    with pytest.raises(Conflict):
        report(second, task, claim=task["claimToken"], output={"by": "late"})
    assert [t["status"] for t in tasks_of(first, started, "a")] == ["TIMED_OUT", "SCHEDULED"]
    second.run("a", {"by": "second"})
    assert first.workflow(started)["output"] == {"by": "second"}


@pytest.mark.anomaly("A-8")
@pytest.mark.parametrize("stopped", [False, True], ids=["lease held", "lease lost"])
def test_of_two_results_at_once_one_is_taken(world: World, stopped: bool) -> None:
    first, second = world.servers
    started = first.start(workflow("w", policy("a", retryCount=3), simple("b")))
    (task,) = first.poll("a")
    happens = world.held_up if stopped else world.meanwhile
    happens(0, "store.commit", lambda: second.complete(task, {"by": "second"}, status="FAILED"))
    first.complete(task, {"by": "first"})
    world.pass_time(1, seconds=LEASE_S)
    (only,) = tasks_of(second, started, "a")
    assert (only["status"], only["outputData"]) == ("COMPLETED", {"by": "first"})
    assert len(tasks_of(second, started, "b")) == 1
    world.check()


@pytest.mark.anomaly("A-9")
def test_a_poll_does_not_write_over_the_end_that_is_being_decided(world: World) -> None:
    first, second = world.servers
    started = first.start(workflow("w", simple("a"), simple("b")))
    polled: list[Json] = []
    world.meanwhile(0, "store.commit", lambda: polled.extend(second.poll("a")))
    first.engine.executions.terminate(started, reason="over")
    world.pass_time(0)
    (task,) = polled
    assert first.statuses(started) == {"a": "CANCELED"}
    with pytest.raises(Conflict):
        extend(second, task)
    second.complete(task, {"late": True})
    assert first.statuses(started) == {"a": "CANCELED"}
    assert (status_of(first, started), second.poll("a")) == ("TERMINATED", [])


@pytest.mark.anomaly("A-9")
def test_a_task_that_is_polled_while_its_poll_timeout_is_decided_is_the_workers(
    world: World,
) -> None:
    first, second = world.servers
    started = first.start(workflow("w", policy("a", pollTimeoutSeconds=5, retryCount=0)))
    polled: list[Json] = []
    world.meanwhile(0, "store.commit", lambda: polled.extend(second.poll("a")))
    world.pass_time(0, seconds=5)
    assert first.statuses(started) == {"a": "IN_PROGRESS"}
    second.complete(polled[0])
    assert status_of(first, started) == "COMPLETED"


# -- parents and children --------------------------------------------------------------------------


def _parent(**more: object) -> Json:
    child = sub_workflow("s", workflow("c", simple("x")), **more)
    return workflow("w", fork("f", [simple("a")], [child]), join("j", "a", "s"), simple("z"))


@pytest.mark.anomaly("A-10")
@pytest.mark.parametrize("stopped", [False, True], ids=["lease held", "lease lost"])
def test_the_end_of_a_child_is_taken_whatever_its_parent_is_deciding(
    world: World, stopped: bool
) -> None:
    first, second = world.servers
    started = first.start(_parent())
    first.settle()
    (task,) = first.poll("a")
    happens = world.held_up if stopped else world.meanwhile
    happens(0, "store.commit", lambda: second.run("x", {"by": "child"}))
    first.complete(task, {"by": "a"})
    world.pass_time(1, seconds=LEASE_S)
    found = first.workflow(started)
    child = task_of(first, started, "s")["subWorkflowId"]
    assert task_of(first, started, "j")["outputData"] == {
        "a": {"by": "a"},
        "s": {"subWorkflowId": child, "by": "child"},
    }
    assert [t["status"] for t in found["tasks"] if t["referenceTaskName"] == "z"] == ["SCHEDULED"]
    world.check()


@pytest.mark.anomaly("A-10")
@pytest.mark.anomaly("A-19")
def test_a_child_that_completes_while_its_parent_is_ended_stays_completed(world: World) -> None:
    first, second = world.servers
    started = first.start(_parent())
    first.settle()
    child = task_of(first, started, "s")["subWorkflowId"]
    world.meanwhile(0, "store.commit", lambda: second.run("x", {"by": "child"}))
    first.engine.executions.terminate(started, reason="over")
    for _ in range(3):
        world.pass_time(1, seconds=LEASE_S)
    assert (status_of(first, started), status_of(first, child)) == ("TERMINATED", "COMPLETED")
    assert first.workflow(child)["output"] == {"by": "child"}
    assert task_of(first, started, "s")["status"] == "CANCELED"


@pytest.mark.anomaly("A-46")
def test_the_end_of_a_child_outlives_the_server_that_decided_it(world: World) -> None:
    """The server dies with the child's last commit done and its parent not looked at."""
    first, second = world.servers
    started = first.start(workflow("w", sub_workflow("s", workflow("c", simple("x"))), simple("z")))
    first.settle()
    (task,) = first.poll("x")
    world.kill(0, 2, after=True)
    with pytest.raises(Killed):
        first.complete(task, {"by": "child"})
    child = task_of(second, started, "s")
    assert (status_of(second, child["subWorkflowId"]), child["status"]) == (
        "COMPLETED",
        "IN_PROGRESS",
    )
    world.pass_time(1, seconds=1)
    assert second.statuses(started) == {"s": "COMPLETED", "z": "SCHEDULED"}


@pytest.mark.anomaly("A-12")
def test_children_that_are_retried_at_once_take_up_what_was_canceled_once() -> None:
    world = World(servers=4)
    first, second, third, fourth = world.servers
    branches = [
        [sub_workflow("s1", workflow("c1", simple("x1")))],
        [sub_workflow("s2", workflow("c2", simple("x2")))],
        [simple("side")],
    ]
    refs = ("s1", "s2", "side")
    started = first.start(workflow("w", fork("f", *branches), join("j", *refs)))
    first.settle()
    children = [task_of(first, started, ref)["subWorkflowId"] for ref in ("s1", "s2")]
    (x1,) = first.poll("x1")
    (x2,) = first.poll("x2")
    for number, server, task in ((0, first, x1), (1, second, x2)):
        world.kill(number, 2, after=True)
        with pytest.raises(Killed):
            fail(server, task)
    world.pass_time(2, seconds=1)
    assert status_of(third, started) == "FAILED"
    ended = [third.statuses(child) for child in children]
    assert ended == [{"x1": "FAILED"}, {"x2": "FAILED"}]
    world.held_up(2, "store.commit", lambda: fourth.engine.recovery.retry(children[1]))
    third.engine.recovery.retry(children[0])
    for _ in range(3):
        world.pass_time(2, seconds=LEASE_S)
    assert [status_of(third, one) for one in (started, *children)] == ["RUNNING"] * 3
    world.check()
    for kind in ("side", "x1", "x2"):
        (task,) = third.poll(kind, 5)
        fourth.complete(task)
    for _ in range(3):
        world.pass_time(3, seconds=LEASE_S)
    assert status_of(third, started) == "COMPLETED"
    assert len(tasks_of(third, started, "side")) == 2


# -- operations ------------------------------------------------------------------------------------


@pytest.mark.anomaly("A-11")
def test_variables_that_are_set_on_both_sides_are_both_there(world: World) -> None:
    """A SET_VARIABLE is decided on one server while an operation sets others on another."""
    first, second = world.servers
    started = first.start(workflow("w", simple("a"), set_variable("v", n=1), simple("z")))
    (task,) = first.poll("a")
    world.held_up(
        0, "store.commit", lambda: second.engine.steering.set_variables(started, {"m": 2})
    )
    first.complete(task)
    world.pass_time(0, seconds=LEASE_S)
    assert first.workflow(started)["variables"] == {"n": 1, "m": 2}


@pytest.mark.anomaly("A-11")
def test_a_pause_while_a_result_is_decided_is_not_written_over(world: World) -> None:
    first, second = world.servers
    started = first.start(workflow("w", simple("a"), set_variable("v", n=1), simple("z")))
    (task,) = first.poll("a")
    world.held_up(0, "store.commit", lambda: second.engine.steering.pause(started))
    first.complete(task)
    assert (status_of(first, started), first.poll("z")) == ("PAUSED", [])
    first.engine.steering.resume(started)
    world.pass_time(1, seconds=LEASE_S)
    assert first.workflow(started)["variables"] == {"n": 1}
    assert first.statuses(started)["z"] == "SCHEDULED"


def _retry(world: World, server: int, started: str) -> None:
    world.servers[server].engine.recovery.retry(started)


def _restart(world: World, server: int, started: str) -> None:
    world.servers[server].engine.recovery.restart(started)


@pytest.mark.anomaly("A-13")
@pytest.mark.parametrize("verb", [_retry, _restart])
@pytest.mark.parametrize("other", [_retry, _restart])
def test_of_two_operations_at_once_one_is_carried_out_and_the_other_refused(
    world: World,
    verb: Callable[[World, int, str], None],
    other: Callable[[World, int, str], None],
) -> None:
    first, second = world.servers
    started = first.start(workflow("w", simple("a"), simple("b")))
    first.run("a")
    run_failing(first, "b")
    first.settle()
    refused: list[ConductorError] = []

    def at_once() -> None:
        try:
            other(world, 1, started)
        except (Conflict, NotFound) as why:
            refused.append(why)

    world.held_up(0, "store.commit", at_once)
    verb(world, 0, started)
    world.pass_time(1, seconds=LEASE_S)
    assert len(refused) == 1
    assert status_of(second, started) == "RUNNING"
    (stored,) = world.stored
    (open_,) = open_attempts(stored)
    assert (open_.ref, stored.generation) == ("a" if verb is _restart else "b", 2)
    world.check()


@pytest.mark.anomaly("A-13")
@pytest.mark.parametrize("after", [False, True], ids=["before the step", "after the step"])
@pytest.mark.parametrize("verb", [_retry, _restart])
def test_a_server_that_dies_in_an_operation_leaves_it_undone_or_done(
    verb: Callable[[World, int, str], None], after: bool
) -> None:
    for step in range(1, 4):
        world = World()
        first, second = world.servers
        started = first.start(workflow("w", simple("a"), simple("b")))
        first.run("a")
        run_failing(first, "b")
        first.settle()
        world.kill(0, step, after=after)
        try:
            verb(world, 0, started)
        except Killed:
            world.check()
        world.pass_time(1, seconds=LEASE_S)
        stored = next(one for one in world.stored if one.id == started)
        if stored.status == "FAILED":
            assert (step, after, stored.generation) == (1, False, 1), "only before it was taken"
            continue
        (open_,) = open_attempts(stored)
        assert (stored.status, stored.generation) == ("RUNNING", 2)
        if verb is _restart:
            second.run("a")
        else:
            assert open_.ref == "b"
        second.run("b")
        assert status_of(second, started) == "COMPLETED"


@pytest.mark.anomaly("A-15")
def test_what_a_decision_makes_while_its_execution_is_terminated_never_exists(
    world: World,
) -> None:
    """The decision that opens a child and a task is held up; the terminate comes in between."""
    first, second = world.servers
    child = sub_workflow("s", workflow("c", simple("x")))
    branches = fork("f", [child], [simple("b")])
    started = first.start(workflow("w", simple("a"), branches, join("j", "s", "b")))
    (task,) = first.poll("a")
    world.held_up(
        0, "store.commit", lambda: second.engine.executions.terminate(started, reason="over")
    )
    first.complete(task)
    world.pass_time(1, seconds=LEASE_S)
    assert status_of(first, started) == "TERMINATED"
    running = first.engine.executions.running("c")
    assert (running, world.entries()) == ((), [])
    assert all(status_of(first, one.id) == "TERMINATED" for one in world.stored)
    assert not any(open_attempts(one) for one in world.stored if not one.terminal)


@pytest.mark.anomaly("A-15")
def test_what_a_result_would_open_is_not_opened_by_a_terminate_that_is_decided(
    world: World,
) -> None:
    first, second = world.servers
    started = first.start(workflow("w", simple("a"), sub_workflow("s", workflow("c", simple("x")))))
    (task,) = first.poll("a")
    world.meanwhile(0, "store.commit", lambda: second.complete(task))
    first.engine.executions.terminate(started, reason="over")
    world.pass_time(1, seconds=LEASE_S)
    assert first.statuses(started) == {"a": "CANCELED"}
    assert [one.id for one in world.stored] == [started]
    assert all(attempt.ref == "a" for attempt in attempts_of(world.stored[0]))
