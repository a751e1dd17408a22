"""Decisions cut into bounded pieces: the same end, whatever the bound."""

from typing import Any

import pytest

from conductor_py.codec.event import dump_event
from conductor_py.decider.workspace import Limits
from conductor_py.model.event import Operation
from conductor_py.testing import MemoryEngine, memory_engine
from tests.builders import (
    dynamic_fork,
    for_each,
    fork,
    fork_inputs,
    inline,
    join,
    pass_time,
    set_variable,
    simple,
    status_of,
    sub_workflow,
    switch,
    times,
    workflow,
)


def test_three_thousand_tasks_in_sequence_end_within_the_start() -> None:
    engine = memory_engine()
    steps = [set_variable(f"s{n}", n=n) for n in range(3000)]
    started = engine.start(workflow("w", *steps))
    engine.settle()
    found = engine.workflow(started)
    assert (found["status"], found["variables"]) == ("COMPLETED", {"n": 2999})
    assert len(found["tasks"]) == 3000
    assert [task["seq"] for task in found["tasks"]] == list(range(1, 3001))


def _everything() -> dict[str, Any]:
    def counted(ref: str) -> dict[str, Any]:
        return set_variable(ref, n="${workflow.variables.n}x")

    choice = switch("s", "a", {"a": [counted("s1"), counted("s2")]})
    branches = (
        [counted("f1"), counted("f2")],
        [choice],
        [times("l", 3, counted("l1"), counted("l2"))],
    )
    spread = fork_inputs("g", [{"expression": "1"}, {"expression": "2"}], forkTaskType="INLINE")
    nested = for_each(
        "m", [1, 2], fork("h", [counted("h1")], [counted("h2")]), join("k", "h1", "h2")
    )
    return workflow(
        "w",
        counted("a"),
        fork("f", *branches),
        join("j", "f2", "s2", "l"),
        spread,
        join("q"),
        nested,
        inline("i", "$.v.length", v="${workflow.variables.n}"),
        variables={"n": ""},
    )


@pytest.mark.parametrize(
    "limits",
    [
        Limits(attempts=1),
        Limits(attempts=2),
        Limits(attempts=3),
        Limits(rounds=1),
        Limits(rounds=2),
        Limits(attempts=2, rounds=3),
        Limits(),
    ],
    ids=str,
)
def test_bounds_change_nothing_in_the_outcome(limits: Limits) -> None:
    engine = memory_engine(limits=limits)
    started = engine.start(_everything())
    engine.settle()
    found = engine.workflow(started)
    assert (found["status"], found["output"]) == ("COMPLETED", {"result": 15})
    assert len(found["tasks"]) == 29
    assert {task["status"] for task in found["tasks"]} == {"COMPLETED"}
    assert len({task["referenceTaskName"] for task in found["tasks"]}) == 29


def test_each_commit_stays_within_its_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    engine = memory_engine(limits=Limits(attempts=10))
    sizes: list[int] = []
    store = type(engine.ports.store)
    commit = store.commit

    def measured(self: Any, order: Any) -> Any:
        sizes.append(sum(name.startswith("a:") for name in order.changes.fields))
        return commit(self, order)

    monkeypatch.setattr(store, "commit", measured)
    engine.start(workflow("w", *[set_variable(f"s{n}", n=n) for n in range(95)]))
    engine.settle()
    assert len(sizes) == 9
    assert max(sizes) <= 10


def test_other_events_are_taken_between_two_pieces() -> None:
    """A termination that comes while pieces are left ends the execution between them."""
    engine = memory_engine(limits=Limits(attempts=50))
    definition = workflow("w", simple("a"), dynamic_fork("f"), join("j"))
    given = {"branches": [{**simple(f"b{n}"), "name": "b"} for n in range(700)], "inputs": {}}
    started = engine.start(definition, input=given)
    store = type(engine.ports.store)
    commit = store.commit
    done: list[int] = []

    def terminated_after_three(self: Any, order: Any) -> Any:
        reply = commit(self, order)
        done.append(1)
        if len(done) == 3:
            event = dump_event(Operation(id="o", name="terminate", arguments={"reason": "stop"}))
            self.send(order.execution, "o", event, "other", 3000)
        return reply

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(store, "commit", terminated_after_three)
        engine.run("a")
        pass_time(engine, seconds=4)
    found = engine.workflow(started)
    assert found["status"] == "TERMINATED"
    assert len(found["tasks"]) < 703
    assert not engine.poll("b")


def test_parent_with_many_children_is_made_in_pieces() -> None:
    engine = memory_engine(limits=Limits(attempts=7))
    child = workflow("c", set_variable("v", n=1))
    branches = [[sub_workflow(f"s{n}", child)] for n in range(40)]
    refs = [f"s{n}" for n in range(40)]
    started = engine.start(workflow("w", fork("f", *branches), join("j", *refs)))
    for _ in range(5):
        pass_time(engine, seconds=1)
    assert status_of(engine, started) == "COMPLETED"


def test_pieces_survive_a_server_that_dies_between_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first server's every commit after the start is lost; the timers bring in another."""
    engine = memory_engine(limits=Limits(attempts=10))
    dead = [True]
    store = type(engine.ports.store)
    commit = store.commit

    def lost(self: Any, order: Any) -> Any:
        if dead[0]:
            raise KeyboardInterrupt
        return commit(self, order)

    monkeypatch.setattr(store, "commit", lost)
    with pytest.raises(KeyboardInterrupt):
        engine.start(workflow("w", *[set_variable(f"s{n}", n=n) for n in range(95)], simple("z")))
    dead[0] = False
    (started,) = engine.engine.executions.running("w")
    pass_time(engine, seconds=4)
    assert engine.statuses(started)["z"] == "SCHEDULED"
    assert len(engine.workflow(started)["tasks"]) == 96


def test_hundred_iterations_of_a_fork_in_a_loop() -> None:
    engine: MemoryEngine = memory_engine()
    loop = for_each(
        "l",
        list(range(100)),
        fork("f", [set_variable("a", n=1)], [set_variable("b", m=1)]),
        join("j", "a", "b"),
    )
    started = engine.start(workflow("w", loop))
    engine.settle()
    assert status_of(engine, started) == "COMPLETED"
    assert len(engine.workflow(started)["tasks"]) == 401
