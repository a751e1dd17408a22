"""The records of a job in the engine: what its coordinator is told of an error."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from conductor_py.sdk import Client, TaskContext
from conductor_workers.pipelines.connectors import Owner
from conductor_workers.pipelines.engine_store import EngineStore
from conductor_workers.pipelines.store import (
    EpochConflict,
    Fenced,
    JobStore,
    Kept,
    Resume,
    Unanswered,
)
from tests.sdk.bridge import Bridge
from tests.sdk.clock import FakeClock
from tests.sdk.stub import StubServer
from tests.waiting import PATIENCE_S


@pytest.fixture
def stub() -> Iterator[StubServer]:
    server = StubServer()
    yield server
    server.close()


@pytest.fixture
def bridge(stub: StubServer) -> Bridge:
    return Bridge(stub)


@pytest.fixture
def client(stub: StubServer) -> Iterator[Client]:
    with Client(stub.url, timeout_s=PATIENCE_S, clock=FakeClock()) as connected:
        yield connected


def a_store(bridge: Bridge, client: Client) -> EngineStore:
    return EngineStore(client, TaskContext(bridge.poll(), FakeClock(), client))


def test_a_job_finds_its_records_again(bridge: Bridge, client: Client) -> None:
    execution = bridge.start()
    first: JobStore = a_store(bridge, client)
    assert first.acquire() == {}
    assert first.owner == Owner(task=f"{execution}/copy", line=1)
    first.put("p-1", {"epoch": 1}, expected=0, epoch=1, retain=20)
    first.append("p-1", [{"n": n} for n in range(250)])
    bridge.lose_the_worker()
    second = a_store(bridge, client)
    kept = second.acquire()["p-1"]
    assert (second.owner, second.token > first.token) == (first.owner, True)
    assert kept == Kept(epoch=1, record={"epoch": 1}, notes=tuple({"n": n} for n in range(250)))
    assert second.get("p-1") == kept


def test_a_restarted_task_has_another_line_and_a_retried_one_has_not(
    bridge: Bridge, client: Client
) -> None:
    execution = bridge.start()
    owners = []
    for begin_again in (bridge.engine.engine.recovery.retry, bridge.engine.engine.recovery.restart):
        polled = bridge.poll()
        store = EngineStore(client, TaskContext(polled, FakeClock(), client))
        store.acquire()
        owners.append(store.owner)
        bridge.engine.complete(dict(polled.json), status="FAILED_WITH_TERMINAL_ERROR")
        bridge.engine.settle()
        begin_again(execution)
        bridge.engine.settle()
    restarted = a_store(bridge, client)
    assert restarted.acquire() == {}
    assert owners[0] == owners[1]
    assert restarted.owner.task == owners[1].task
    assert restarted.owner.line > owners[1].line


def test_a_former_attempt_is_fenced(bridge: Bridge, client: Client) -> None:
    bridge.start()
    lost = a_store(bridge, client)
    lost.acquire()
    bridge.lose_the_worker()
    a_store(bridge, client).acquire()
    for verb in (
        lost.acquire,
        lambda: lost.append("p-1", [{}]),
        lambda: lost.put("p-1", {}, expected=0, epoch=1, retain=20),
    ):
        with pytest.raises(Fenced):
            verb()


def test_a_task_that_is_gone_is_fenced(bridge: Bridge, client: Client) -> None:
    execution = bridge.start()
    store = a_store(bridge, client)
    bridge.engine.engine.steering.remove(execution, archive=False)
    bridge.engine.settle()
    with pytest.raises(Fenced):
        store.put("p-1", {}, expected=0, epoch=1, retain=20)


def test_another_epoch_is_told(bridge: Bridge, client: Client) -> None:
    bridge.start()
    store = a_store(bridge, client)
    store.put("p-1", {}, expected=0, epoch=1, retain=20)
    with pytest.raises(EpochConflict) as refused:
        store.put("p-1", {"other": 1}, expected=0, epoch=1, retain=20)
    assert refused.value.epoch == 1


def test_no_answer_is_not_known_and_can_be_looked_up(bridge: Bridge, client: Client) -> None:
    bridge.start()
    store = a_store(bridge, client)
    bridge.losing = 100
    with pytest.raises(Unanswered):
        store.put("p-1", {"a": 1}, expected=0, epoch=1, retain=20)
    bridge.losing = 0
    assert store.get("p-1").record == {"a": 1}


def test_a_record_is_sent_once_since_a_refusal_must_be_certain(
    bridge: Bridge, client: Client
) -> None:
    bridge.start()
    store = a_store(bridge, client)
    bridge.losing = 1
    with pytest.raises(Unanswered):
        store.put("p-1", {"a": 1}, expected=0, epoch=1, retain=20)
    assert bridge.losing == 0


def test_a_savepoint_that_is_dropped_meanwhile_pins_nothing(
    bridge: Bridge, client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    execution = bridge.start()
    store = a_store(bridge, client)
    store.put("p-1", {"a": 1}, expected=0, epoch=1, retain=20)
    client.take_savepoint(execution, "copy", "noon")
    listed = client.get_checkpoints

    def dropped_after(task_id: str) -> dict[str, Any]:
        found = dict(listed(task_id))
        client.delete_savepoint(execution, "copy", "noon")
        return found

    monkeypatch.setattr(client, "get_checkpoints", dropped_after)
    assert store.pinned("p-1") == ()


def test_as_many_records_stay_as_the_job_wants(bridge: Bridge, client: Client) -> None:
    bridge.start()
    store = a_store(bridge, client)
    for epoch in range(1, 6):
        store.put("p-1", {"a": epoch}, expected=epoch - 1, epoch=epoch, retain=2)
    part: Any = client.get_checkpoints(store._task_id)
    part = part["parts"]["p-1"]
    assert [each["epoch"] for each in part["history"]] == [5, 4]
    store.put("p-1", {"a": 6}, expected=5, epoch=6, retain=1000)  # more than the engine keeps
    assert store.get("p-1").epoch == 6


def test_what_savepoints_hold_and_where_to_go_on_from(bridge: Bridge, client: Client) -> None:
    execution = bridge.start()
    store = a_store(bridge, client)
    store.put("p-1", {"a": 1}, expected=0, epoch=1, retain=1)
    client.take_savepoint(execution, "copy", "noon")
    store.put("p-1", {"a": 2}, expected=1, epoch=2, retain=1)
    assert store.pinned("p-1") == ({"a": 1},)
    bridge.lose_the_worker()
    client.resume_task(execution, "copy", savepoint="noon", rewind=True)
    kept = a_store(bridge, client).acquire()["p-1"]
    assert (kept.epoch, kept.record) == (2, {"a": 2})
    assert kept.resume == Resume(record={"a": 1}, savepoint="noon", rewind=True)
