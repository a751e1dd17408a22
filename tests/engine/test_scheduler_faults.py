"""Schedulers that are killed, held up or cut off at any point: each instant fires, and once."""

from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from hypothesis import example, given, settings
from hypothesis import strategies as st

from conductor_py.adapters.memory.space import MemorySpace
from conductor_py.codec.definitions import workflow_from_json
from conductor_py.errors import StoreUnavailable
from conductor_py.model.schedules import RunFilter, Schedule
from conductor_py.ports.store import Outcome
from conductor_py.testing import FakeClock, MemoryEngine, memory_engine

_BEGIN = 1_800_000_000_000
_MINUTE = 60_000
_LEASE_S = 30
_WORKFLOW: dict[str, Any] = {
    "name": "report",
    "tasks": [
        {
            "name": "note",
            "taskReferenceName": "note",
            "type": "SET_VARIABLE",
            "inputParameters": {"a": 1},
        }
    ],
}


class Killed(BaseException):
    """The process is gone: nothing in it runs on."""


class World:
    """Two schedulers over one store, the steps of which can be cut short."""

    def __init__(self) -> None:
        self.clock = FakeClock(_BEGIN)
        space = MemorySpace(clock=self.clock)
        self.engines = [
            memory_engine(clock=self.clock, space=space, server=f"server-{n}") for n in (1, 2)
        ]
        first, second = self.engines
        second.engine.executions._search = first.ports.search  # one archive, too
        self.created: Counter[str] = Counter()
        self.fault: tuple[str, str] | None = None
        self.first.engine.definitions.register(workflow_from_json(_WORKFLOW), overwrite=True)
        for engine in self.engines:
            engine.ports.store.start = self._counted(engine)  # type: ignore[assignment, method-assign]
            for owner, step in (
                (engine.ports.schedules, "claim_due"),
                (engine.ports.store, "start"),
                (engine.ports.schedules, "settle"),
            ):
                setattr(owner, step, self._cut(step, getattr(owner, step)))

    @property
    def first(self) -> MemoryEngine:
        return self.engines[0]

    def _counted(self, engine: MemoryEngine) -> Callable[[Any], Any]:
        real = engine.ports.store.start

        def start(asked: Any) -> Any:
            was_there = engine.ports.reader.snapshot(asked.execution) is not None
            reply = real(asked)
            if reply.outcome is Outcome.OK and not was_there:
                self.created[asked.execution] += 1
            return reply

        return start

    def _cut(self, step: str, real: Callable[..., Any]) -> Callable[..., Any]:
        def run(*given_: Any, **named: Any) -> Any:
            where, how = self.fault or ("", "")
            if where != step:
                return real(*given_, **named)
            self.fault = None
            if how in {"killed before", "away"}:
                raise Killed if how == "killed before" else StoreUnavailable
            reply = real(*given_, **named)
            if how == "held up":
                self.clock.advance(seconds=_LEASE_S + 1)
                return reply
            raise Killed if how == "killed after" else StoreUnavailable

        return run

    def tick(self, number: int) -> None:
        with suppress(Killed, StoreUnavailable):
            self.engines[number].engine.scheduler.tick()

    def clean_up(self) -> None:
        """Index, archive and remove what has ended."""
        for _ in range(3):
            while self.first.engine.sweeper.tick() + self.first.engine.relay.tick():
                pass
            self.clock.advance(seconds=61)


_STEPS = st.sampled_from(["claim_due", "start", "settle"])
_FAULTS = st.sampled_from(["killed before", "killed after", "away", "answer lost", "held up"])
_ACTIONS = st.lists(
    st.one_of(
        st.tuples(st.just("tick"), st.integers(0, 1)),
        st.tuples(st.just("wait"), st.sampled_from([1, 20, 31, 60, 150])),
        st.tuples(st.just("fault"), st.tuples(_STEPS, _FAULTS)),
        st.tuples(st.just("clean"), st.none()),
    ),
    min_size=5,
    max_size=40,
)


@settings(deadline=None, max_examples=150)
@given(actions=_ACTIONS)
@example(
    actions=[("wait", 60), ("fault", ("settle", "killed before")), ("tick", 0), ("clean", None)]
)
def test_every_instant_is_fired_once_whatever_happens(actions: list[tuple[str, Any]]) -> None:
    world = World()
    world.first.engine.schedules.save(
        Schedule(
            name="s",
            cron_expression="0 * * * * *",
            run_catchup_schedule_instances=True,
            start_workflow_request={"name": "report"},
        )
    )
    for action, argument in actions:
        match action:
            case "tick":
                world.tick(argument)
            case "wait":
                world.clock.advance(seconds=argument)
            case "fault":
                world.fault = argument
            case _:
                world.clean_up()
    world.fault = None
    world.clock.advance(seconds=_LEASE_S + _MINUTE // 1_000)
    while world.first.engine.scheduler.tick():
        pass
    expected = list(range(_BEGIN + _MINUTE, world.clock.now_ms + 1, _MINUTE))
    runs = world.first.engine.schedules.runs(
        RunFilter(), start=0, size=5_000, sort=(("scheduledTime", True),)
    ).results
    assert [run["scheduledTime"] for run in runs] == expected[-len(runs) :]
    assert {run["state"] for run in runs} == {"EXECUTED"}
    assert set(world.created.values()) == {1}
    assert len(world.created) == len(expected)
