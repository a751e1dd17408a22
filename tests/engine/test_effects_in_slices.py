"""A worker of effects that dies in the middle of a batch has not worked in vain."""

from __future__ import annotations

from typing import Any

import pytest

from conductor_py.engine.effects import effects as module
from conductor_py.errors import StoreUnavailable
from conductor_py.testing import MemoryEngine, memory_engine
from tests.builders import simple, sub_workflow, typed, workflow


class _Killed(BaseException):
    """The process dies here."""


def test_what_a_worker_has_done_is_confirmed_before_it_dies_of_the_rest(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    engine = memory_engine()
    count = 2 * module._SLICE + 5
    for _ in range(count):
        engine.start(workflow("w", typed("NOOP", "n")))
    put = engine.ports.search.put
    puts: list[object] = []

    def dying(documents: object) -> None:
        if puts:
            raise _Killed
        puts.append(documents)
        put(documents)  # type: ignore[arg-type]

    monkeypatch.setattr(engine.ports.search, "put", dying)
    ids = [effect.id for effect in engine.ports.outbox.take(0, 500, 30_000)]
    assert len(ids) == count

    with pytest.raises(_Killed):
        engine.engine.effects.run(0, ids)

    assert len(engine.ports.outbox.read(0, ids)) == count - module._SLICE


def _keyed(key: str) -> dict[str, Any]:
    """A workflow whose only task waits for a child under a key."""
    task = sub_workflow("s", workflow("child", simple("c")))
    task["subWorkflowParam"] |= {"idempotencyKey": key}
    return workflow("w", task)


def _ordered(engine: MemoryEngine) -> list[str]:
    """What is ordered by now, and carried out by nobody."""
    return [effect.id for effect in engine.ports.outbox.take(0, 500, 30_000)]


def _begun(engine: MemoryEngine, execution: str) -> bool:
    return bool(engine.workflow(execution)["tasks"][0].get("subWorkflowId"))


def test_a_start_that_somebody_waits_for_is_not_behind_the_index(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    engine = memory_engine()
    others = [engine.start(workflow("v", typed("NOOP", "n"))) for _ in range(5)]
    parent = engine.start(_keyed("k"))
    ids = _ordered(engine)
    assert len(ids) > len(others)

    def dying(_: object) -> None:
        raise _Killed

    monkeypatch.setattr(engine.ports.search, "put", dying)
    with pytest.raises(_Killed):
        engine.engine.effects.run(0, ids)

    assert _begun(engine, parent)
    assert not any(effect.endswith(":start:1") for effect in _left(engine, ids))


def test_a_worker_that_dies_of_one_start_has_confirmed_those_before(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    engine = memory_engine()
    parents = [engine.start(_keyed(f"k{number}")) for number in range(3)]
    ids = _ordered(engine)
    start = engine.engine.executions.start
    begun: list[str] = []

    def dying(*given: Any, **named: Any) -> Any:
        if len(begun) == 2:
            raise _Killed
        begun.append(start(*given, **named))
        return begun[-1]

    monkeypatch.setattr(engine.engine.executions, "start", dying)
    with pytest.raises(_Killed):
        engine.engine.effects.run(0, ids)

    left = [effect for effect in _left(engine, ids) if effect.endswith(":start:1")]
    assert len(left) == 1
    assert sum(_begun(engine, parent) for parent in parents) == 2


def test_a_start_that_finds_something_away_comes_again_before_the_lease_of_its_effect_ends(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    engine = memory_engine()
    parent = engine.start(_keyed("k"))
    ids = _ordered(engine)

    def away(*_: Any, **__: Any) -> Any:
        raise StoreUnavailable

    with monkeypatch.context() as patch:
        patch.setattr(engine.engine.executions, "start", away)
        engine.engine.effects.run(0, ids)
    engine.clock.advance(seconds=1)
    again = [effect for effect in _ordered(engine) if effect == f"{parent}:start:1"]
    assert again, "a lease would have been 30 s"
    engine.engine.effects.run(0, again)
    assert _begun(engine, parent)


def test_a_start_is_put_off_for_as_long_as_it_has_waited_but_never_for_long(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    engine = memory_engine()
    engine.start(_keyed("k"))
    wanted = [effect for effect in _ordered(engine) if effect.endswith(":start:1")]

    def away(*_: Any, **__: Any) -> Any:
        raise StoreUnavailable

    monkeypatch.setattr(engine.engine.executions, "start", away)
    waits: list[int] = []
    for _ in range(8):
        engine.engine.effects.run(0, wanted)
        waits.append(0)
        while not any(effect in wanted for effect in _ordered(engine)):
            engine.clock.advance(seconds=1)
            waits[-1] += 1
    assert waits == [1, 1, 2, 4, 8, 10, 10, 10]


def test_starts_that_take_long_leave_the_worker_to_others_after_a_while(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    engine = memory_engine()
    parents = [engine.start(_keyed(f"k{number}")) for number in range(10)]
    ids = _ordered(engine)
    start = engine.engine.executions.start

    def slow(*given: Any, **named: Any) -> Any:
        engine.clock.advance(seconds=2)
        return start(*given, **named)

    monkeypatch.setattr(engine.engine.executions, "start", slow)
    engine.engine.effects.run(0, ids)

    assert sum(_begun(engine, parent) for parent in parents) == 3
    left = _left(engine, ids)
    assert left, "the other starts come again"
    assert all(effect.endswith(":start:1") for effect in left), "the index is up to date"


def _left(engine: MemoryEngine, ids: list[str]) -> list[str]:
    return [effect.id for effect in engine.ports.outbox.read(0, ids)]
