"""Servers that die between any two steps: what was begun is whole or absent, and goes on once."""

import pytest

from conductor_py.codec.definitions import workflow_from_json
from conductor_py.model.ids import ExecutionId
from conductor_py.ports.store import Commit, CommitReply, Outcome
from conductor_py.testing import MemoryEngine
from conductor_py.wire.event_handlers import read_event_handler
from tests.anomalies.world import CLAIM_S, LEASE_S, Killed, World, attempts_of, newest
from tests.builders import (
    Json,
    fork,
    join,
    pass_time,
    policy,
    set_variable,
    simple,
    status_of,
    sub_workflow,
    task_of,
    tasks_of,
    times,
    typed,
    workflow,
)

_TYPES = ("a", "b", "x", "l", "z")
_ROUNDS = 60
_STORY = workflow(
    "w",
    set_variable("v", n=1),
    typed("EVENT", "e", sink="conductor:told"),
    fork(
        "f",
        [policy("a", retryCount=1), simple("b")],
        [sub_workflow("s", workflow("c", simple("x")))],
    ),
    join("j", "b", "s"),
    times("l", 2, simple("l_body", name="l")),
    simple("z"),
    outputParameters={"joined": "${j.output}", "n": "${workflow.variables.n}"},
)


def told_once(engine: MemoryEngine) -> None:
    """Let each message of the story start a workflow, to count what was published."""
    definition = workflow_from_json(workflow("told", simple("t")))
    engine.engine.definitions.register(definition, overwrite=True)
    start: Json = {"action": "start_workflow", "start_workflow": {"name": "told"}}
    body = {"name": "h", "event": "conductor:w:told", "active": True, "actions": [start]}
    engine.engine.events.register(read_event_handler(body))


def _begun(engine: MemoryEngine) -> list[str]:
    return list(engine.engine.executions.running("w"))


def play(world: World, server: int) -> None:
    """Start unless that has happened, and work until the execution has ended and was told of."""
    engine = world.servers[server]
    if not any(stored.header()["name"] == "w" for stored in world.stored):
        engine.start(_STORY)
    for _ in range(_ROUNDS):
        for kind in _TYPES:
            for task in engine.poll(kind, 5, lease_s=CLAIM_S):
                engine.complete(task, {"by": kind})
        engine.settle()
        if not _begun(engine):
            return
    raise AssertionError("the execution does not end")


def goes_on(world: World) -> None:
    """The other server takes over once leases and claims of the dead one are over."""
    for _ in range(_ROUNDS):
        world.pass_time(1, seconds=LEASE_S + CLAIM_S)
        play(world, 1)
        if not _begun(world.servers[1]):
            break
    world.pass_time(1, seconds=31)


def outcome(world: World) -> Json:
    engine = world.servers[1]
    (root,) = (stored.id for stored in world.stored if stored.header()["name"] == "w")
    found = newest(engine.workflow(root))
    child = engine.workflow(task_of(engine, root, "s")["subWorkflowId"])
    return {
        "root": found,
        "child": newest(child),
        "children": sum(stored.header()["name"] == "c" for stored in world.stored),
        "told": len(engine.engine.executions.running("told")),
        "entries": len(world.entries()),
    }


def _undisturbed() -> tuple[Json, int]:
    world = World()
    told_once(world.servers[0])
    before = world.steps(0)
    play(world, 0)
    world.pass_time(1, seconds=31)
    return outcome(world), world.steps(0) - before


@pytest.mark.anomaly("A-1")
@pytest.mark.anomaly("A-2")
@pytest.mark.anomaly("A-3")
@pytest.mark.anomaly("A-6")
@pytest.mark.parametrize("after", [False, True], ids=["before the step", "after the step"])
def test_a_server_that_dies_at_any_step_leaves_what_another_finishes_once(after: bool) -> None:
    expected, steps = _undisturbed()
    assert expected["root"]["status"] == "COMPLETED"
    assert (expected["children"], expected["told"]) == (1, 1)
    assert steps > 30
    for step in range(1, steps + 1):
        world = World()
        told_once(world.servers[0])
        world.kill(0, step, after=after)
        with pytest.raises(Killed):
            play(world, 0)
        world.check()
        goes_on(world)
        assert outcome(world) == expected, f"killed at step {step}"


@pytest.mark.anomaly("A-4")
def test_successors_that_a_losing_server_made_are_in_no_queue(world: World) -> None:
    """Both decide on the same result; the one that comes late names the same numbers."""
    first, second = world.servers
    started = first.start(workflow("w", simple("a"), simple("b"), simple("c")))
    (task,) = first.poll("a")

    def meanwhile() -> None:
        second.settle()
        second.run("b", {"by": "second"})

    world.held_up(0, "store.commit", meanwhile)
    first.complete(task)
    tasks = first.workflow(started)["tasks"]
    assert [(t["referenceTaskName"], t["status"], t["seq"]) for t in tasks] == [
        ("a", "COMPLETED", 1),
        ("b", "COMPLETED", 2),
        ("c", "SCHEDULED", 3),
    ]
    assert world.entries() == [tasks[2]["taskId"]]


@pytest.mark.anomaly("A-5")
def test_a_name_that_ends_in_a_digit_is_no_later_attempt_of_another(engine: MemoryEngine) -> None:
    """`a1` tried for the first time, `a` tried for the eleventh."""
    branches = fork("f", [policy("a", retryCount=10)], [simple("first"), simple("a1")])
    started = engine.start(workflow("w", branches, join("j", "a", "a1")))
    for _ in range(10):
        (task,) = engine.poll("a")
        engine.complete(task, status="FAILED")
        pass_time(engine, seconds=1)
    assert task_of(engine, started, "a")["retryCount"] == 10
    engine.run("first")
    engine.run("a1", {"by": "a1"})
    engine.run("a", {"by": "a"})
    joined = task_of(engine, started, "j")
    assert joined["outputData"] == {"a": {"by": "a"}, "a1": {"by": "a1"}}
    assert status_of(engine, started) == "COMPLETED"
    assert [len(tasks_of(engine, started, ref)) for ref in ("a", "a1")] == [11, 1]


@pytest.mark.anomaly("A-6")
def test_a_commit_that_is_sent_twice_has_its_effects_once(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The answer was lost: children, messages and iterations are not made again."""
    first, second = world.servers
    told_once(first)
    commit = first.ports.store.commit

    def twice(order: Commit) -> CommitReply:
        commit(order)
        reply = commit(order)
        assert reply.outcome is Outcome.OK
        return reply

    monkeypatch.setattr(first.ports.store, "commit", twice)
    play(world, 0)
    expected, _ = _undisturbed()
    world.pass_time(1, seconds=31)
    assert outcome(world) == expected
    assert len(second.engine.executions.running("told")) == 1


@pytest.mark.anomaly("A-3")
@pytest.mark.anomaly("A-6")
def test_one_place_has_one_open_attempt_however_often_a_result_is_decided(world: World) -> None:
    """Server after server takes up the same result and is stopped before its commit."""
    world = World(servers=4)
    started = world.servers[0].start(workflow("w", simple("a"), simple("b")))
    (task,) = world.servers[0].poll("a")
    last = world.servers[3]
    world.held_up(2, "store.commit", last.settle)
    world.held_up(1, "store.commit", world.servers[2].settle)
    world.held_up(0, "store.commit", world.servers[1].settle)
    world.servers[0].complete(task)
    (stored,) = world.stored
    assert [attempt.ref for attempt in attempts_of(stored)] == ["a", "b"]
    assert world.entries() == [task_of(last, started, "b")["taskId"]]
    assert last.ports.reader.snapshot(ExecutionId(started)) is not None
