"""Idempotency keys: a start that is repeated. Oracle row 46, extended: the key is honoured."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from conductor_py.errors import Conflict
from conductor_py.model.ids import ExecutionId
from conductor_py.testing import MemoryEngine
from tests.builders import pass_time, simple, workflow

_KEY = {"idempotency_key": "k"}


def _start(engine: MemoryEngine, strategy: str = "FAIL", name: str = "w", **more: str) -> str:
    return engine.start(
        workflow(name, simple("a")), **{**_KEY, **more}, idempotency_strategy=strategy
    )


@pytest.mark.oracle(46)
def test_key_that_is_in_use_fails_the_start(engine: MemoryEngine) -> None:
    first = _start(engine)
    with pytest.raises(Conflict, match=first):
        _start(engine)
    assert len(engine.poll("a", 5)) == 1


@pytest.mark.oracle(46)
def test_existing_execution_is_returned(engine: MemoryEngine) -> None:
    first = _start(engine, "RETURN_EXISTING")
    assert _start(engine, "RETURN_EXISTING") == first
    engine.run("a")
    assert _start(engine, "RETURN_EXISTING") == first
    assert not engine.poll("a")


def test_fail_on_running_starts_anew_when_the_first_has_ended(engine: MemoryEngine) -> None:
    first = _start(engine, "FAIL_ON_RUNNING")
    with pytest.raises(Conflict):
        _start(engine, "FAIL_ON_RUNNING")
    engine.run("a")
    second = _start(engine, "FAIL_ON_RUNNING")
    assert second != first
    with pytest.raises(Conflict, match=second):
        _start(engine, "FAIL_ON_RUNNING")


def test_fail_refuses_even_when_the_first_has_ended(engine: MemoryEngine) -> None:
    _start(engine)
    engine.run("a")
    with pytest.raises(Conflict):
        _start(engine)


def test_keys_of_other_workflows_and_other_keys_do_not_matter(engine: MemoryEngine) -> None:
    started = {
        _start(engine),
        _start(engine, name="v"),
        _start(engine, idempotency_key="other"),
        engine.start(workflow("w", simple("a"))),
        engine.start(workflow("w", simple("a"))),
    }
    assert len(started) == 5


def test_key_is_free_again_after_its_time(engine: MemoryEngine) -> None:
    first = _start(engine)
    engine.clock.advance(seconds=7 * 24 * 3600 + 1)
    assert _start(engine) != first


def test_key_is_shown(engine: MemoryEngine) -> None:
    assert engine.workflow(_start(engine))["idempotencyKey"] == "k"


def test_key_outlives_the_execution_in_the_store(engine: MemoryEngine) -> None:
    first = _start(engine)
    engine.run("a")
    pass_time(engine, seconds=600)
    assert engine.ports.reader.snapshot(ExecutionId(first)) is None
    assert _start(engine, "RETURN_EXISTING") == first
    with pytest.raises(Conflict, match=first):
        _start(engine)
    assert _start(engine, "FAIL_ON_RUNNING") != first


@pytest.mark.oracle(46)
def test_one_of_many_starts_at_once_wins(engine: MemoryEngine) -> None:
    with ThreadPoolExecutor(8) as pool:
        started = set(pool.map(lambda _: _start(engine, "RETURN_EXISTING"), range(32)))
    assert len(started) == 1
    assert len(engine.poll("a", 50)) == 1


@pytest.mark.parametrize("strategy", ["FAIL", "RETURN_EXISTING", "FAIL_ON_RUNNING"])
def test_strategy_without_a_key_means_nothing(engine: MemoryEngine, strategy: str) -> None:
    started = {_start(engine, strategy, idempotency_key="") for _ in range(3)}
    assert len(started) == 3
