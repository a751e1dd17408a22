"""The system-task worker over an engine in memory: what it claims, keeps, reports and leaves."""

import logging
import math
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest

from conductor_py.engine.decisions.encoding import PayloadLimits
from conductor_py.engine.system_worker.lanes import Served, Slots
from conductor_py.engine.system_worker.worker import SystemWorker, SystemWorkerOptions
from conductor_py.errors import StoreUnavailable
from conductor_py.model.requests import PollRequest
from conductor_py.model.status import TaskStatus
from conductor_py.ports.store import Outcome, Report, ReportReply
from conductor_py.ports.system_tasks import SystemCall, SystemResult
from conductor_py.testing import MemoryEngine, memory_engine
from conductor_py.wire.outside import PLACE
from tests.builders import pass_time, status_of, task_of, tasks_of, typed, workflow
from tests.waiting import PATIENCE_S, until

Json = dict[str, Any]


@dataclass
class Calls:
    """A system task of the test: ``behave`` says what comes of a call."""

    task_type: str = "HTTP"
    behave: Callable[[SystemCall], SystemResult] = lambda _: SystemResult()
    seen: list[SystemCall] = field(default_factory=list)

    def execute(self, call: SystemCall) -> SystemResult:
        self.seen.append(call)
        return self.behave(call)

    def close(self) -> None:
        """Nothing is kept."""


def after(event: threading.Event, **output: Any) -> Callable[[SystemCall], SystemResult]:
    """Complete once ``event`` is set."""

    def behave(_: SystemCall) -> SystemResult:
        event.wait(PATIENCE_S)
        return SystemResult(output=output)

    return behave


def worker_of(
    engine: MemoryEngine, *tasks: Calls, served: Served | None = None, **options: Any
) -> SystemWorker:
    wanted = SystemWorkerOptions(worker="host-1", served=served or Served(slots=4), **options)
    return engine.engine.system_workers.worker(tasks, wanted)


@contextmanager
def running(worker: SystemWorker) -> Iterator[threading.Event]:
    stop, ended = threading.Event(), threading.Event()

    def run() -> None:
        worker.run(stop)
        ended.set()

    threading.Thread(target=run, daemon=True).start()
    try:
        yield stop
    finally:
        stop.set()
    assert ended.wait(PATIENCE_S)


@pytest.fixture
def only_wakeups(engine: MemoryEngine, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let no worker look again because of the time that has passed."""
    wait_any = engine.ports.wakeups.wait_any
    monkeypatch.setattr(engine.ports.wakeups, "wait_any", lambda seen, _: wait_any(seen, 600))


def http(ref: str = "call", **more: Any) -> Json:
    return typed("HTTP", ref, **{"inputParameters": {"uri": "u"}, **more})


def start(engine: MemoryEngine, *tasks: Json) -> str:
    return engine.start(workflow("w", *(tasks or (http(),))))


def completed(engine: MemoryEngine, *started: str) -> Any:
    return until(lambda: all(status_of(engine, each) == "COMPLETED" for each in started))


def test_sixteen_silent_peers_do_not_stop_the_others(
    engine: MemoryEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    release, silent = threading.Event(), Calls()

    def behave(call: SystemCall) -> SystemResult:
        if call.ref == "silent":
            release.wait(PATIENCE_S)
        return SystemResult()

    silent.behave = behave
    worker = worker_of(engine, silent, served=Served(slots=16, slots_beside=20))
    passed = [0.0]
    monkeypatch.setattr(worker, "_monotonic", lambda: passed[0])
    held = [start(engine, http("silent")) for _ in range(16)]
    assert worker.look() == 16
    other = start(engine)
    assert worker.look() == 0, "no slot is free yet"
    assert worker._until_next_look() == 2
    passed[0] = 2.0
    assert worker.look() == 1
    completed(engine, other)
    assert [status_of(engine, each) for each in held] == ["RUNNING"] * 16
    release.set()
    completed(engine, *held)


def test_a_task_that_comes_again_before_its_former_call_has_left_has_a_slot_of_its_own(
    engine: MemoryEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    leaving, leave_now = threading.Event(), threading.Event()
    results = iter([SystemResult(status=TaskStatus.IN_PROGRESS), SystemResult()])
    worker = worker_of(engine, Calls(behave=lambda _: next(results)), served=Served(slots=2))
    leave = worker._leave

    def slowly(*left: Any) -> None:
        leaving.set()
        leave_now.wait(PATIENCE_S)
        leave(*left)

    monkeypatch.setattr(worker, "_leave", slowly)
    started = start(engine)
    assert worker.look() == 1
    assert leaving.wait(PATIENCE_S)
    engine.clock.advance(seconds=60)
    assert worker.look() == 1
    assert worker._lanes.shared.used == 2
    leave_now.set()
    completed(engine, started)
    until(lambda: worker._lanes.shared.used == 0)


def test_calls_that_last_are_bounded() -> None:
    slots = Slots(2, beside=3)
    first, *_ = [slots.begin(0.0) for _ in range(5)]
    assert (slots.free(1.9), slots.frees_at(1.9)) == (-3, 2.0)
    assert (slots.free(2.0), slots.frees_at(2.0)) == (0, math.inf)
    slots.end(first)
    assert slots.free(2.0) == 1


def test_without_room_beside_a_call_keeps_its_slot() -> None:
    slots = Slots(1)
    slots.begin(0.0)
    assert (slots.free(1_000.0), slots.frees_at(0.0)) == (0, math.inf)


def test_task_is_carried_out_and_reported(engine: MemoryEngine) -> None:
    calls = Calls(behave=lambda _: SystemResult(output={"response": 1}))
    started = start(engine)
    with running(worker_of(engine, calls)):
        completed(engine, started)
    (call,) = calls.seen
    assert (call.workflow_id, call.ref, call.task_type) == (started, "call", "HTTP")
    assert call.input == {"uri": "u"}
    task = task_of(engine, started, "call")
    assert (task["outputData"], task["workerId"]) == ({"response": 1}, "host-1")


@pytest.mark.usefixtures("only_wakeups")
def test_what_is_offered_while_it_waits_wakes_it(engine: MemoryEngine) -> None:
    with running(worker_of(engine, Calls(), idle_s=60, find_s=60)):
        for _ in range(3):
            completed(engine, start(engine))


@pytest.mark.usefixtures("only_wakeups")
def test_queue_of_a_definition_with_a_limit_is_found_at_once(engine: MemoryEngine) -> None:
    with running(worker_of(engine, Calls(), idle_s=60, find_s=60)):
        completed(engine, start(engine))
        limited = http("slow", taskDefinition={"name": "slow", "concurrentExecLimit": 1})
        completed(engine, start(engine, limited), start(engine, limited))


def test_no_more_is_claimed_than_can_begin(engine: MemoryEngine) -> None:
    release = threading.Event()
    calls = Calls(behave=after(release))
    started = [start(engine) for _ in range(7)]
    worker = worker_of(engine, calls, served=Served(slots=3))
    assert (worker.look(), worker.look()) == (3, 0)
    assert engine.engine.tasks.queue_sizes(["HTTP"]) == {"HTTP": 4}
    until(lambda: len(calls.seen) == 3)
    release.set()
    with running(worker):
        completed(engine, *started)
    assert len(calls.seen) == 7


def test_full_limit_leaves_the_slots_to_others(engine: MemoryEngine) -> None:
    release = threading.Event()

    def behave(call: SystemCall) -> SystemResult:
        if call.ref == "slow":
            release.wait(PATIENCE_S)
        return SystemResult()

    limited = http("slow", taskDefinition={"name": "slow", "concurrentExecLimit": 1})
    slow = [start(engine, limited) for _ in range(3)]
    calls = Calls(behave=behave)
    with running(worker_of(engine, calls, served=Served(slots=2))):
        until(lambda: calls.seen)
        completed(engine, start(engine), start(engine))
        release.set()
        completed(engine, *slow)


@pytest.mark.parametrize(
    ("served", "queue"),
    [
        (Served(), "HTTP"),
        (Served(namespace="east"), "HTTP@east"),
        (Served(groups=("slow",)), "HTTP-slow"),
        (Served(namespace="east", groups=("slow",)), "HTTP@east-slow"),
        (Served(every_group=True), "HTTP@east-slow"),
        (Served(every_group=True), "HTTP-slow"),
    ],
)
def test_namespaces_and_groups_that_it_serves(
    engine: MemoryEngine, served: Served, queue: str
) -> None:
    _, _, rest = queue.partition("@")
    namespace, _, group = (rest or f"-{queue.partition('-')[2]}").partition("-")
    facts = {"executionNameSpace": namespace or None, "isolationGroupId": group or None}
    started = start(engine, http(taskDefinition={"name": "call", **facts}))
    assert engine.engine.tasks.queue_sizes(None) == {queue: 1}
    worker = worker_of(engine, Calls(), served=served)
    assert worker.look() == 1
    completed(engine, started)


@pytest.mark.parametrize(
    ("definition", "queue"),
    [
        ({"isolationGroupId": "x"}, "HTTP-x"),
        ({"executionNameSpace": "ns"}, "HTTP@ns"),
        ({"executionNameSpace": "ns", "isolationGroupId": "x"}, "HTTP@ns-x"),
        ({"concurrentExecLimit": 3}, "HTTP#call"),
    ],
)
def test_poll_that_spells_a_queue_of_a_system_task_gets_no_task_with_its_authorization(
    engine: MemoryEngine, definition: Json, queue: str
) -> None:
    start(engine, http(taskDefinition={"name": "call", **definition}))
    assert engine.engine.tasks.queue_sizes(None) == {queue: 1}
    asked = PollRequest(task_type=queue, worker="thief", timeout_ms=0)
    assert engine.engine.tasks.poll(asked) == ()
    assert engine.engine.tasks.queue_sizes(None) == {queue: 1}


def test_group_that_it_does_not_serve_is_left_to_others(engine: MemoryEngine) -> None:
    start(engine, http(taskDefinition={"name": "call", "isolationGroupId": "slow"}))
    assert worker_of(engine, Calls(), served=Served(groups=("other",))).look() == 0


def test_slow_group_holds_up_no_other(engine: MemoryEngine) -> None:
    release = threading.Event()

    def behave(call: SystemCall) -> SystemResult:
        if call.ref == "slow":
            release.wait(PATIENCE_S)
        return SystemResult()

    grouped = http("slow", taskDefinition={"name": "slow", "isolationGroupId": "g"})
    slow = [start(engine, grouped) for _ in range(5)]
    with running(worker_of(engine, Calls(behave=behave), served=Served(slots=1, groups=("g",)))):
        completed(engine, start(engine), start(engine))
        release.set()
        completed(engine, *slow)


def test_claim_is_extended_while_the_call_goes_on(engine: MemoryEngine) -> None:
    release = threading.Event()
    calls = Calls(behave=after(release))
    started = start(engine)
    worker = worker_of(engine, calls, lease_s=15)
    worker.look()
    until(lambda: calls.seen)
    for _ in range(10):
        engine.clock.advance(seconds=6)
        assert worker.keeper.tick() == 1
        engine.settle()
    release.set()
    completed(engine, started)
    assert len(engine.workflow(started)["tasks"]) == 1


@pytest.mark.anomaly("A-31")
def test_worker_that_dies_costs_no_retry(engine: MemoryEngine) -> None:
    """Nothing extends the claim: the call goes on in vain, and another worker does it again."""
    release = threading.Event()
    dead = Calls(behave=after(release, by="dead"))
    started = start(engine)
    worker = worker_of(engine, dead, lease_s=15)
    worker.look()
    until(lambda: dead.seen)
    engine.clock.advance(seconds=16)
    engine.settle()
    alive = Calls(behave=lambda _: SystemResult(output={"by": "alive"}))
    assert worker_of(engine, alive).look() == 1
    completed(engine, started)
    release.set()
    until(lambda: not worker._lanes.in_use(), what="what the dead worker says comes too late")
    assert worker.keeper.tick() == 0
    first, second = engine.workflow(started)["tasks"]
    assert (first["status"], second["status"]) == ("CANCELED", "COMPLETED")
    assert second["retryCount"] == 0
    assert second["outputData"] == {"by": "alive"}


def test_call_whose_claim_is_lost_is_told(engine: MemoryEngine) -> None:
    calls = Calls(behave=lambda call: after(call.cancelled)(call))
    started = start(engine)
    worker = worker_of(engine, calls)
    worker.look()
    until(lambda: calls.seen)
    engine.engine.executions.terminate(started, reason="enough")
    engine.clock.advance(seconds=6)
    worker.keeper.tick()
    assert calls.seen[0].cancelled.is_set()


def test_call_that_fails_as_its_claim_could_not_be_extended_costs_no_retry(
    engine: MemoryEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The store was away for as long as a claim holds, and nobody has taken the task since."""

    def away(_: Any) -> None:
        raise StoreUnavailable("away")

    def broken_off(call: SystemCall) -> SystemResult:
        call.cancelled.wait(PATIENCE_S)
        return SystemResult(status=TaskStatus.FAILED, reason="broken off")

    calls = Calls(behave=broken_off)
    started = start(engine, http(taskDefinition={"name": "call", "retryCount": 0}))
    worker = worker_of(engine, calls)
    worker.look()
    until(lambda: calls.seen)
    with monkeypatch.context() as patched:
        patched.setattr(engine.engine.tasks, "extend", away)
        engine.clock.advance(seconds=16)
        worker.keeper.tick()
    until(lambda: not any(lane.slots.used for lane in worker._lanes.by_queue.values()))
    calls.behave = lambda _: SystemResult(output={"by": "another try"})
    pass_time(engine, seconds=1)
    until(worker.look)
    completed(engine, started)
    first, second = tasks_of(engine, started, "call")
    assert (first["status"], second["status"]) == ("CANCELED", "COMPLETED")


def test_end_waits_for_the_calls_under_way(
    engine: MemoryEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    release, begun, ending = threading.Event(), threading.Event(), threading.Event()

    def behave(_call: SystemCall) -> SystemResult:
        begun.set()
        release.wait(PATIENCE_S)
        return SystemResult()

    started = start(engine)
    worker = worker_of(engine, Calls(behave=behave), drain_s=PATIENCE_S)
    drain = worker._drain

    def drain_at_the_end() -> bool:
        ending.set()
        return drain()

    monkeypatch.setattr(worker, "_drain", drain_at_the_end)
    with running(worker) as stop:
        assert begun.wait(PATIENCE_S)
        stop.set()
        assert ending.wait(PATIENCE_S)
        later = start(engine)
        release.set()
    assert status_of(engine, started) == "COMPLETED"
    assert status_of(engine, later) == "RUNNING"


def test_end_does_not_wait_for_ever(engine: MemoryEngine) -> None:
    hold = threading.Event()
    calls = Calls(behave=after(hold))
    start(engine)
    worker = worker_of(engine, calls, drain_s=0)
    stop = threading.Event()
    worker.look()
    stop.set()
    assert worker.run(stop) is False
    hold.set()


@pytest.mark.anomaly("A-31")
def test_error_of_a_system_task_fails_its_task_and_tells_no_secrets(
    engine: MemoryEngine, caplog: pytest.LogCaptureFixture
) -> None:
    def behave(call: SystemCall) -> SystemResult:
        if call.ref == "bad":
            raise ValueError("password=hidden")
        return SystemResult()

    bad = start(engine, http("bad"))
    with caplog.at_level(logging.DEBUG), running(worker_of(engine, Calls(behave=behave))):
        until(lambda: status_of(engine, bad) == "FAILED")
        completed(engine, start(engine))
    task = task_of(engine, bad, "bad")
    assert task["reasonForIncompletion"] == "HTTP raised ValueError"
    assert "hidden" not in caplog.text
    assert all("hidden" not in str(record.__dict__) for record in caplog.records)


def test_task_that_is_not_done_yet_is_carried_out_again_later(engine: MemoryEngine) -> None:
    calls = Calls(
        "POLLING",
        behave=lambda _: (
            SystemResult(status=TaskStatus.IN_PROGRESS, callback_after_s=5)
            if len(calls.seen) == 1
            else SystemResult(output={"done": True})
        ),
    )
    started = start(engine, typed("POLLING", "ask"))
    worker = worker_of(engine, calls)
    worker.look()
    until(lambda: engine.engine.tasks.queue_sizes(["POLLING"]) == {"POLLING": 1})
    engine.clock.advance(seconds=6)
    until(worker.look)
    completed(engine, started)
    assert task_of(engine, started, "ask")["outputData"] == {"done": True}


def test_task_that_others_complete_is_left_open(engine: MemoryEngine) -> None:
    calls = Calls(
        behave=lambda call: SystemResult(
            status=TaskStatus.IN_PROGRESS if call.async_complete else TaskStatus.COMPLETED,
            output={"response": 1},
        )
    )
    started = start(engine, http(asyncComplete=True))
    with running(worker_of(engine, calls)):
        until(lambda: task_of(engine, started, "call")["outputData"] == {"response": 1})
    assert engine.engine.tasks.queue_sizes(["HTTP"]) == {"HTTP": 0}
    engine.complete(task_of(engine, started, "call"), {"by": "other"}, worker="other")
    assert status_of(engine, started) == "COMPLETED"


def test_input_in_payload_storage_is_fetched() -> None:
    engine = memory_engine(payload_limits=PayloadLimits(task_input_soft=10))
    calls = Calls()
    started = start(engine, http(inputParameters={"uri": "u" * 2_000}))
    assert "externalInputPayloadStoragePath" in task_of(engine, started, "call")
    with running(worker_of(engine, calls)):
        completed(engine, started)
    assert calls.seen[0].input == {"uri": "u" * 2_000}


def test_result_is_reported_when_the_store_is_back(
    engine: MemoryEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    tasks = engine.engine.tasks
    update, away = tasks.update, [StoreUnavailable("away"), StoreUnavailable("away")]

    def sometimes(result: Any) -> None:
        if away:
            raise away.pop()
        update(result)

    monkeypatch.setattr(tasks, "update", sometimes)
    calls = Calls()
    started = start(engine)
    with running(worker_of(engine, calls)):
        completed(engine, started)
    assert len(calls.seen) == 1


def test_heavy_answer_has_the_place_until_it_is_reported_and_not_while_that_is_refused(
    engine: MemoryEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    tasks, had = engine.engine.tasks, []
    update, away = tasks.update, [StoreUnavailable("away")]

    def noting(result: Any) -> None:
        had.append(PLACE.is_own)
        if away:
            raise away.pop()
        update(result)

    def heavy(_: SystemCall) -> SystemResult:
        assert PLACE.take(PATIENCE_S)
        return SystemResult()

    monkeypatch.setattr(tasks, "update", noting)
    first = start(engine)
    with running(worker_of(engine, Calls(behave=heavy))):
        completed(engine, first)
        second = start(engine)
        completed(engine, second)
    assert had == [True, False, True]
    with PLACE.scope():
        assert PLACE.take(PATIENCE_S), "nobody has kept it"


def test_result_that_is_sent_again_after_its_answer_was_lost_counts_once(
    engine: MemoryEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """I6: by then the task is offered again, and open to a result."""
    tasks, store = engine.engine.tasks, engine.ports.store
    update, report, lost = tasks.update, store.report, [StoreUnavailable("lost")]
    outcomes: list[Outcome] = []

    def losing(result: Any) -> None:
        update(result)
        if lost:
            raise lost.pop()

    def noting(given: Report) -> ReportReply:
        reply = report(given)
        outcomes.append(reply.outcome)
        return reply

    monkeypatch.setattr(tasks, "update", losing)
    monkeypatch.setattr(store, "report", noting)
    unfinished = SystemResult(status=TaskStatus.IN_PROGRESS, callback_after_s=5)
    start(engine, typed("POLLING", "ask"))
    worker = worker_of(engine, Calls("POLLING", behave=lambda _: unfinished))
    worker.look()
    until(lambda: len(outcomes) == 2)
    assert outcomes == [Outcome.OK, Outcome.IGNORED]


def test_input_that_cannot_be_read_just_now_costs_no_retry(monkeypatch: pytest.MonkeyPatch) -> None:
    engine = memory_engine(payload_limits=PayloadLimits(task_input_soft=10))
    get, away = engine.ports.payloads.get, [StoreUnavailable("away")]

    def sometimes(path: str, **bounds: int) -> bytes:
        if away:
            raise away.pop()
        return get(path, **bounds)

    calls = Calls()
    started = start(engine, http(inputParameters={"uri": "u" * 2_000}))
    monkeypatch.setattr(engine.ports.payloads, "get", sometimes)
    worker = worker_of(engine, calls)
    worker.look()
    until(lambda: not (away or worker.keeper._held))
    assert status_of(engine, started) == "RUNNING"
    pass_time(engine, seconds=16)
    until(worker.look)
    completed(engine, started)
    assert [task["retryCount"] for task in tasks_of(engine, started, "call")] == [0, 0]
    assert len(calls.seen) == 1


def test_input_that_was_exchanged_for_one_of_too_many_values_fails_the_task_for_good(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    engine = memory_engine(payload_limits=PayloadLimits(task_input_soft=10))
    calls = Calls()
    started = start(engine, http(inputParameters={"uri": "u" * 2_000}))
    lists = b'{"x":[' + b"[]," * 1_100_000 + b"[]]}"
    monkeypatch.setattr(engine.ports.payloads, "get", lambda *_, **__: lists)
    with running(worker_of(engine, calls)):
        until(lambda: status_of(engine, started) == "FAILED")
    task = task_of(engine, started, "call")
    assert task["status"] == "FAILED_WITH_TERMINAL_ERROR"
    assert "has more than 2000000 JSON values" in task["reasonForIncompletion"]
    assert not calls.seen


def test_store_that_is_away_does_not_end_the_worker(
    engine: MemoryEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    tasks = engine.engine.tasks
    take, away = tasks.take, [StoreUnavailable("away")]

    def sometimes(*asked: Any) -> Any:
        if away:
            raise away.pop()
        return take(*asked)

    monkeypatch.setattr(tasks, "take", sometimes)
    started = start(engine)
    with running(worker_of(engine, Calls())):
        completed(engine, started)


@pytest.mark.parametrize("output", [{"a": {1}}, {"a": "\ud800"}, {"a": 2**70}])
def test_output_that_cannot_be_stored_fails_its_task(engine: MemoryEngine, output: Any) -> None:
    started = start(engine)
    with running(worker_of(engine, Calls(behave=lambda _: SystemResult(output=output)))):
        until(lambda: status_of(engine, started) == "FAILED")
    assert task_of(engine, started, "call")["reasonForIncompletion"].startswith("HTTP raised ")


def test_call_whose_thread_cannot_start_costs_no_slot_and_the_others_begin(
    engine: MemoryEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = Calls()
    begun, refusals = threading.Thread.start, [RuntimeError("can't start new thread")]

    def begin(thread: threading.Thread) -> None:
        if refusals:
            raise refusals.pop()
        begun(thread)

    started = [start(engine) for _ in range(2)]
    worker = worker_of(engine, calls, served=Served(slots=2))
    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", begin)
        with pytest.raises(RuntimeError, match="start new thread"):
            worker.look()
    until(lambda: len(calls.seen) == 1)
    until(lambda: [lane.slots.used for lane in worker._lanes.by_queue.values()] == [0])
    pass_time(engine, seconds=16)
    until(worker.look)
    completed(engine, *started)


def test_call_that_cannot_even_be_kept_costs_no_slot(
    engine: MemoryEngine, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    worker = worker_of(engine, Calls(), served=Served(slots=1))
    hold, errors = worker.keeper.hold, [MemoryError()]

    def sometimes(*arguments: Any) -> Any:
        if errors:
            raise errors.pop()
        return hold(*arguments)

    monkeypatch.setattr(worker.keeper, "hold", sometimes)
    started = start(engine)
    assert worker.look() == 1
    until(lambda: not errors)
    pass_time(engine, seconds=16)
    until(worker.look)
    completed(engine, started)
    assert "a call ended without a result" in caplog.text
