"""A recovery that an end cuts off before it has made anew all that it was to: the next one does."""

from collections.abc import Callable
from functools import partial

import pytest

from conductor_py.adapters.memory.space import MemorySpace
from conductor_py.decider.workspace import Limits
from conductor_py.engine.snapshots import snapshots_of
from conductor_py.model.requests import RerunRequest
from conductor_py.testing import MemoryEngine, memory_engine
from conductor_py.testing.clock import FakeClock
from conductor_py.testing.recount import complaints
from tests.builders import Json, dag, simple, status_of, workflow
from tests.decider.cutting import cut_off

_NAMES = "abc"


def _graph() -> Json:
    return dag("w", [simple(name) for name in _NAMES], "a > b", "b > c")


def _list() -> Json:
    return workflow("w", *(simple(name) for name in _NAMES))


def _completed(engine: MemoryEngine, definition: Json) -> str:
    started = engine.start(definition)
    engine.settle()
    for name in _NAMES:
        engine.run(name)
        engine.settle()
    assert status_of(engine, started) == "COMPLETED"
    return started


def _sound(space: MemorySpace, engine: MemoryEngine) -> None:
    find_plan = partial(snapshots_of(engine.ports).plan, 0)
    assert complaints(space.partition(0), find_plan, engine.clock.now_ms) == []


@pytest.mark.parametrize(
    ("make", "commits"),
    [*((_graph, commits) for commits in range(1, 5)), *((_list, n) for n in range(1, 6))],
)
def test_a_retry_goes_on_with_a_rerun_wherever_it_wascut_off(
    make: Callable[[], Json], commits: int
) -> None:
    clock = FakeClock()
    space = MemorySpace(clock=clock)
    engine = memory_engine(limits=Limits(attempts=1, rounds=1), space=space, clock=clock)
    started = _completed(engine, make())
    rerun = partial(
        engine.engine.recovery.rerun, started, RerunRequest(from_ref="b", task_input={"n": 1})
    )
    cut_off(engine, commits, rerun)
    assert not engine.poll("b")
    engine.engine.executions.terminate(started, reason="enough")
    engine.settle()
    _sound(space, engine)
    cut_off(engine, 1, partial(engine.engine.recovery.retry, started))
    _sound(space, engine)
    engine.settle()
    assert engine.run("b")["inputData"] == {"n": 1}
    engine.settle()
    _sound(space, engine)
    engine.run("c")
    engine.settle()
    _sound(space, engine)
    assert status_of(engine, started) == "COMPLETED"
    assert not engine.poll("a")
