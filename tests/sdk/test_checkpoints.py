"""What a long task keeps, through the SDK: lost replies, lost claims, and what is asked of it."""

from __future__ import annotations

import pytest

from conductor_py.sdk import (
    Checkpoint,
    Checkpoints,
    ClaimLost,
    Client,
    EpochConflict,
    NotesConflict,
    ResultStatus,
    StopRequested,
    StoreUnavailable,
    TaskContext,
    TaskRequest,
    WorkerOptions,
    WorkerTask,
    task_context,
)
from conductor_py.sdk.lease import Lease, LeaseKeeper
from tests.sdk.bridge import Bridge
from tests.sdk.clock import FakeClock
from tests.sdk.stub import StubServer
from tests.sdk.tasks import task


@pytest.fixture
def bridge(stub: StubServer) -> Bridge:
    return Bridge(stub)


def context(bridge: Bridge, client: Client, clock: FakeClock) -> TaskContext:
    return TaskContext(bridge.poll(), clock, client)


def test_what_one_attempt_keeps_the_next_one_finds(bridge, client, clock):
    bridge.start()
    first = context(bridge, client, clock).checkpoints
    assert first.acquire() == {}
    first.put("files", {"done": 3}, expected=0, epoch=1)
    first.append("files", [{"begun": "a"}])
    first.append("files", [{"begun": "b"}, {"begun": "c"}])
    bridge.lose_the_worker()

    second = context(bridge, client, clock).checkpoints
    assert second.token > first.token
    assert second.acquire() == {
        "files": Checkpoint(
            epoch=1, record={"done": 3}, notes=({"begun": "a"}, {"begun": "b"}, {"begun": "c"})
        )
    }
    assert second.get("other") == Checkpoint()


def test_a_lost_reply_of_any_verb_changes_nothing_more(bridge, client, clock):
    bridge.start()
    kept = context(bridge, client, clock).checkpoints
    bridge.losing = 1
    assert kept.acquire() == {}
    bridge.losing = 1
    kept.append("files", [{"n": 1}, {"n": 2}])
    bridge.losing = 1
    kept.append("files", [{"n": 3}])
    assert [note["n"] for note in kept.get("files").notes] == [1, 2, 3]
    bridge.losing = 1
    kept.put("files", {"done": 1}, expected=0, epoch=1)
    bridge.losing = 1
    assert kept.get("files") == Checkpoint(epoch=1, record={"done": 1})


def test_what_is_never_answered_may_be_there(bridge, client, clock):
    bridge.start()
    kept = context(bridge, client, clock).checkpoints
    bridge.losing = 100
    with pytest.raises(StoreUnavailable):
        kept.put("files", {"done": 1}, expected=0, epoch=1)
    bridge.losing = 0
    assert kept.get("files").epoch == 1
    kept.append("files", [{"n": 1}])  # it counts on from what it read


def test_an_older_attempt_is_told_so_at_every_verb(bridge, client, clock):
    bridge.start()
    lost = context(bridge, client, clock).checkpoints
    lost.acquire()
    bridge.lose_the_worker()
    context(bridge, client, clock).checkpoints.acquire()
    for verb in (
        lost.acquire,
        lambda: lost.append("files", [{}]),
        lambda: lost.put("files", {}, expected=0, epoch=1),
    ):
        with pytest.raises(ClaimLost):
            verb()


def test_a_refusal_carries_what_is_there(bridge, client, clock):
    bridge.start()
    running = context(bridge, client, clock)
    kept = running.checkpoints
    kept.put("files", {}, expected=0, epoch=1)
    with pytest.raises(EpochConflict) as refused:
        kept.put("files", {}, expected=4, epoch=5)
    assert refused.value.epoch == 1
    twin = Checkpoints(client, running.task, asked=lambda _: None)
    twin.get("files")
    kept.append("files", [{"n": 1}])
    with pytest.raises(NotesConflict) as noted:
        twin.append("files", [{"n": 2}])
    assert noted.value.notes == 1


def test_a_point_to_go_on_from_is_there_until_the_next_record(bridge, client, clock):
    workflow = bridge.start()
    first = context(bridge, client, clock).checkpoints
    first.put("files", {"done": 1}, expected=0, epoch=1)
    client.take_savepoint(workflow, "copy", "noon")
    first.put("files", {"done": 2}, expected=1, epoch=2)
    bridge.lose_the_worker()
    client.resume_task(workflow, "copy", savepoint="noon")
    second = context(bridge, client, clock).checkpoints
    found = second.acquire()["files"]
    assert (found.epoch, found.record) == (2, {"done": 2})
    assert found.resume_from is not None
    assert (found.resume_from.savepoint, found.resume_from.record) == ("noon", {"done": 1})
    second.put("files", {"done": 1}, expected=2, epoch=3)
    assert second.get("files").resume_from is None
    client.delete_savepoint(workflow, "copy", "noon")
    assert client.workflow_checkpoints(workflow)["copy"]["savepoints"] == []


def test_what_is_asked_comes_with_the_extension_of_the_lease(bridge, client, clock):
    workflow = bridge.start()
    running = context(bridge, client, clock)
    keeper = LeaseKeeper(client, clock)
    keeper.hold(Lease(running, lease_s=5, clock=clock))
    for ask, expected in (
        (lambda: client.stop_task(workflow, "copy", now=True), ("STOP", True)),
        (lambda: client.pause_task(workflow, "copy"), ("PAUSE", False)),
        (lambda: client.cancel_task(workflow, "copy"), ("CANCEL", False)),
    ):
        ask()
        clock.advance(2_000)
        keeper.tick()
        assert running.request is not None
        assert (running.request.action, running.request.now) == expected
    client.resume_task(workflow, "copy")
    clock.advance(2_000)
    keeper.tick()
    assert running.request is None


@pytest.mark.parametrize(
    ("action", "ends"),
    [
        ("STOP", (ResultStatus.IN_PROGRESS, 300)),
        ("CANCEL", (ResultStatus.FAILED_WITH_TERMINAL_ERROR, 0)),
    ],
)
def test_a_function_that_heeds_requests_ends_as_asked(bridge, client, clock, action, ends):
    bridge.start()
    running = context(bridge, client, clock)
    running.asked(TaskRequest(action=action, number=1))
    worker = WorkerTask(lambda: task_context().heed_requests(), WorkerOptions(name="long"))
    result = worker.run(running, {})
    assert result is not None
    assert (result.status, result.callback_after_s) == ends


def test_why_a_function_stops_becomes_the_reason(bridge, client, clock):
    def function():
        raise StopRequested("epoch 3 is published already")

    bridge.start()
    running = context(bridge, client, clock)
    result = WorkerTask(function, WorkerOptions(name="long")).run(running, {})
    assert result is not None
    assert (result.status, result.callback_after_s, result.reason) == (
        ResultStatus.IN_PROGRESS,
        300,
        "epoch 3 is published already",
    )


def test_a_function_that_is_to_pause_waits_until_it_may_go_on(bridge, client):
    class ResumingClock(FakeClock):
        def wait(self, event, timeout_ms):
            if len(self.waits) == 2:
                running.asked(None)
            return super().wait(event, timeout_ms)

    clock = ResumingClock()
    bridge.start()
    running = context(bridge, client, clock)
    running.asked(TaskRequest(action="PAUSE", number=1))
    running.heed_requests()
    assert len(clock.waits) == 3


def test_a_worker_that_comes_after_the_request_finds_it(bridge, client, clock):
    workflow = bridge.start()
    client.stop_task(workflow, "copy", savepoint="evening")
    running = context(bridge, client, clock)
    running.checkpoints.acquire()
    assert running.request == TaskRequest(action="STOP", number=1, savepoint="evening")


def test_without_a_server_nothing_can_be_kept(clock):
    with pytest.raises(LookupError):
        _ = TaskContext(task(), clock).checkpoints
