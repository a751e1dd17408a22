"""Whole workers over real HTTP: poll, run, report, and an orderly end."""

from __future__ import annotations

import logging
import os
import signal
import subprocess
import sys
import textwrap
import threading

import pytest

from conductor_py.sdk import (
    Client,
    ConfigurationError,
    InvalidInput,
    Worker,
    definition_names,
    task_context,
    worker_task,
)
from conductor_py.wire.definitions import TaskDefForm
from conductor_py.wire.policies import CarriedTags, carried_tags, read_tags
from tests.sdk.clock import StandingClock
from tests.sdk.stub import DROP, Reply, TaskQueue
from tests.sdk.tasks import polled
from tests.waiting import PATIENCE_S, until


@pytest.fixture
def client(stub):
    with Client(stub.url, timeout_s=PATIENCE_S) as connected:
        yield connected


@pytest.fixture
def tasks(stub) -> TaskQueue:
    return TaskQueue(stub)


@pytest.fixture
def standing() -> StandingClock:
    return StandingClock()


def let_a_third_of_a_lease_pass(clock: StandingClock) -> None:
    """Let the time come at which the one lease of 150 s that is held must be extended."""
    until(lambda: 50_000 in clock.waits, what="the keeper waits for it")
    clock.advance(50_000)


def greet(**options):
    """A quick task type: short polls, so that a stop is noticed at once."""
    return worker_task("greet", **({"poll_timeout_ms": 50} | options))


def test_a_polled_task_runs_and_its_result_comes_back(client, tasks):
    @greet()
    def say(name: str) -> dict[str, str]:
        return {"text": f"hello {name}"}

    tasks.put(polled(inputData={"name": "world"}))
    with Worker(client, [say], worker_id="me"):
        report = tasks.next_report()

    assert report["status"] == "COMPLETED"
    assert report["outputData"] == {"text": "hello world"}
    assert (report["workerId"], report["claimToken"]) == ("me", 17)


def test_a_poll_asks_for_the_free_slots_only_and_for_a_lease(stub, client, tasks):
    running, release = threading.Semaphore(0), threading.Event()

    @greet(concurrency=3, lease_s=9, domain="blue")
    def hold() -> None:
        running.release()
        release.wait(PATIENCE_S)

    tasks.put(polled(taskId="t-1"), polled(taskId="t-2"))
    with Worker(client, [hold], worker_id="me"):
        for _ in range(2):
            assert running.acquire(timeout=PATIENCE_S)
        before = len(stub.seen("GET"))
        until(lambda: len(stub.seen("GET")) > before + 1, what="another poll")
        first, last = stub.seen("GET")[0], stub.seen("GET")[-1]
        release.set()

    assert first.query["count"] == ["3"]
    assert last.query["count"] == ["1"]
    assert first.query["leaseSeconds"] == ["9"]
    assert first.query["domain"] == ["blue"]
    assert first.query["workerid"] == ["me"]


def test_a_worker_with_no_free_slot_does_not_poll(stub, client, tasks, monkeypatch):
    running, release = threading.Event(), threading.Event()

    @greet()
    def hold() -> None:
        running.set()
        release.wait(PATIENCE_S)

    tasks.put(polled())
    worker, free = Worker(client, [hold]), []
    slots = worker._loops[0].slots
    wait_free = slots.wait_free

    def count_free(_: float) -> int:
        free.append(wait_free(0.01))
        return free[-1]

    monkeypatch.setattr(slots, "wait_free", count_free)
    with worker:
        assert running.wait(PATIENCE_S)
        polls, rounds = len(stub.seen("GET")), len(free)
        until(lambda: len(free) > rounds + 2, what="the loop has gone round")
        assert free[-2:] == [0, 0]
        assert len(stub.seen("GET")) == polls
        release.set()


def test_tasks_run_side_by_side_up_to_the_concurrency(client, tasks):
    together = threading.Barrier(3)

    @greet(concurrency=3)
    def meet() -> None:
        together.wait(PATIENCE_S)

    tasks.put(*(polled(taskId=f"t-{number}") for number in range(3)))
    with Worker(client, [meet]):
        reports = [tasks.next_report() for _ in range(3)]

    assert {report["status"] for report in reports} == {"COMPLETED"}


def test_a_task_whose_lease_is_refused_is_cancelled_and_not_reported(stub, client, tasks, standing):
    stub.on("POST", "/api/tasks/t-1/extend", Reply(409, {"message": "claim moved"}))
    cancelled = threading.Event()

    @greet(lease_s=150)
    def work() -> dict[str, int]:
        if task_context().task.task_id == "t-1" and task_context().cancelled.wait(PATIENCE_S):
            cancelled.set()
        return {"a": 1}

    tasks.put(polled(taskId="t-1"), polled(taskId="t-2"))
    with Worker(client, [work], clock=standing):
        let_a_third_of_a_lease_pass(standing)
        assert cancelled.wait(PATIENCE_S)
        assert tasks.next_report()["taskId"] == "t-2"
    assert len(stub.seen("POST", "/api/tasks/t-1/extend")) == 1
    assert tasks.reports.empty()


def test_a_running_task_is_extended_with_its_progress(stub, client, tasks, standing):
    running, extended = threading.Event(), threading.Event()

    def extend(_request):
        extended.set()
        return Reply(200, {"leaseUntil": 1})

    stub.on("POST", "/api/tasks/t-1/extend", extend)

    @greet(lease_s=150)
    def work() -> None:
        task_context().progress({"done": 1})
        running.set()
        extended.wait(PATIENCE_S)

    tasks.put(polled())
    with Worker(client, [work], clock=standing):
        assert running.wait(PATIENCE_S)
        let_a_third_of_a_lease_pass(standing)
        assert tasks.next_report()["status"] == "COMPLETED"
    (sent,) = stub.seen("POST", ".*/extend")
    assert sent.json() == {"claimToken": 17, "leaseSeconds": 150, "progress": {"done": 1}}


def test_a_stop_lets_a_running_task_finish_and_polls_no_more(stub, client, tasks):
    running, release = threading.Event(), threading.Event()

    @greet()
    def work() -> None:
        running.set()
        release.wait(PATIENCE_S)

    tasks.put(polled())
    worker = Worker(client, [work])
    worker.start()
    assert running.wait(PATIENCE_S)
    drained: list[bool] = []
    polls, (loop,) = len(stub.seen("GET")), worker._loops
    stopping = threading.Thread(target=lambda: drained.append(worker.stop(PATIENCE_S)))
    stopping.start()
    until(lambda: loop.slots._closed, what="the stop has begun")
    tasks.put(polled(taskId="t-2"))
    release.set()
    stopping.join(PATIENCE_S)

    assert drained == [True]
    assert tasks.next_report()["taskId"] == "t-1"
    assert loop.join(0), "nobody is left to poll"
    assert len(stub.seen("GET")) == polls
    assert tasks.reports.empty()


def test_a_task_still_running_after_the_grace_is_cancelled_and_not_reported(client, tasks):
    running, ended = threading.Event(), threading.Event()

    @greet()
    def work() -> dict[str, int]:
        running.set()
        if task_context().cancelled.wait(PATIENCE_S):
            ended.set()
        return {"a": 1}

    tasks.put(polled())
    worker = Worker(client, [work])
    worker.start()
    assert running.wait(PATIENCE_S)

    assert not worker.stop(0.05)

    assert ended.wait(PATIENCE_S)
    assert worker._loops[0].slots.wait_idle(PATIENCE_S)
    assert tasks.reports.empty()


def test_a_task_that_arrives_during_the_stop_is_handed_back_as_it_was(stub, client, tasks):
    arrived, answer = threading.Event(), threading.Event()

    def late(request):
        arrived.set()
        answer.wait(PATIENCE_S)
        return Reply(200, [polled(outputData={"page": 2})])

    stub.on("GET", "/api/tasks/poll/batch/greet", late)
    called: list[str] = []

    @greet()
    def work() -> None:
        called.append("work")

    worker = Worker(client, [work])
    worker.start()
    assert arrived.wait(PATIENCE_S)
    stopping = threading.Thread(target=worker.stop)
    stopping.start()
    until(worker._stopping.is_set, what="the stop was asked for")
    answer.set()
    stopping.join(PATIENCE_S)

    report = tasks.next_report()
    assert (report["status"], report["outputData"]) == ("IN_PROGRESS", {"page": 2})
    assert report.get("callbackAfterSeconds", 0) == 0
    assert called == []


def test_a_poll_loop_survives_what_a_server_may_answer(stub, client, tasks):
    stub.on(
        "GET",
        "/api/tasks/poll/batch/greet",
        DROP,
        Reply(500, {"message": "oops"}),
        Reply(200, "<html>"),
        Reply(200, [{"no": "id"}]),
        tasks._poll,
    )

    @greet()
    def work() -> None: ...

    tasks.put(polled())
    with Worker(client, [work]):
        assert tasks.next_report()["status"] == "COMPLETED"


def test_an_external_input_is_downloaded_for_the_function(stub, client, tasks):
    place = {"uri": f"{stub.origin}/store/in.json", "path": "in.json"}
    stub.on("GET", "/api/tasks/externalstoragelocation", Reply(200, place))
    stub.on("GET", "/store/in.json", Reply(200, {"n": 20}))

    @greet()
    def double(n: int) -> int:
        return 2 * n

    tasks.put(polled(externalInputPayloadStoragePath="in.json"))
    with Worker(client, [double]):
        assert tasks.next_report()["outputData"] == {"result": 40}


def test_an_input_that_cannot_be_downloaded_fails_the_task(stub, client, tasks):
    place = {"uri": f"{stub.origin}/store/in.json", "path": "in.json"}
    stub.on("GET", "/api/tasks/externalstoragelocation", Reply(200, place))

    @greet()
    def work() -> None: ...

    tasks.put(polled(externalInputPayloadStoragePath="in.json"))
    with Worker(client, [work]):
        report = tasks.next_report()
    assert report["status"] == "FAILED"
    assert "could not be downloaded" in report["reasonForIncompletion"]


@pytest.mark.parametrize(
    ("known", "registered"),
    [
        (Reply(404, {"message": "none"}), True),
        (Reply(200, {"name": "greet", "retryCount": 3}), True),
        (Reply(200, {"name": "greet", "retryCount": 1, "timeoutSeconds": 60}), False),
    ],
)
def test_a_task_definition_is_registered_only_when_it_says_something_new(
    stub, client, tasks, known, registered
):
    stub.on("GET", "/api/metadata/taskdefs/greet", known)
    stub.on("POST", "/api/metadata/taskdefs", Reply(200))

    @greet(task_definition={"retryCount": 1})
    def work() -> None: ...

    with Worker(client, [work]):
        pass

    sent = [request.json() for request in stub.seen("POST", "/api/metadata/taskdefs")]
    assert sent == ([[{"name": "greet", "retryCount": 1}]] if registered else [])


@pytest.mark.parametrize(
    ("member", "hint"),
    [
        ("retries", "did you mean retryCount?"),
        ("retry_count", "did you mean retryCount?"),
        ("timeoutSecond", "did you mean timeoutSeconds?"),
        ("colour", "it has no effect"),
    ],
)
def test_a_member_that_no_task_definition_has_is_warned_of(stub, client, caplog, member, hint):
    stub.on("POST", "/api/metadata/taskdefs", Reply(200))

    @greet(task_definition={member: 1, "retryDelaySeconds": 5})
    def work() -> None: ...

    with Worker(client, [work]):
        pass

    warned = [each.getMessage() for each in caplog.records if "known member" in each.getMessage()]
    assert warned == [f"task_definition of greet: {member} is not a known member; {hint}"]


def test_what_a_server_reads_beside_the_definition_is_not_warned_of(stub, client, caplog):
    stub.on("POST", "/api/metadata/taskdefs", Reply(200))
    tags = [{"key": "team", "value": "a"}]

    @greet(task_definition={"retryCount": 1, "tags": tags, "overwriteTags": True})
    def work() -> None: ...

    with Worker(client, [work]):
        pass

    (sent,) = [request.json() for request in stub.seen("POST", "/api/metadata/taskdefs")]
    assert carried_tags(sent) == (CarriedTags("greet", read_tags(tags), replaces=True),)
    assert not [each for each in caplog.records if each.__dict__.get("action") == "unknown_member"]


@pytest.mark.parametrize("member", ["accessPolicy", "version"])
def test_of_a_member_for_other_servers_nothing_wrong_is_said(stub, client, caplog, member):
    stub.on("POST", "/api/metadata/taskdefs", Reply(200))

    @greet(task_definition={member: {}})
    def work() -> None: ...

    with Worker(client, [work]):
        pass

    (warned,) = [
        each.getMessage()
        for each in caplog.records
        if each.__dict__.get("action") == "unknown_member"
    ]
    assert warned == (
        f"task_definition of greet: {member} is for other servers;"
        " conductor-py does nothing with it"
    )


def test_all_members_of_a_task_definition_are_known() -> None:
    written = {str(each.data_key) for each in TaskDefForm().fields.values()}
    assert written <= definition_names._known()
    assert set(definition_names._OTHER_WORDS.values()) <= written


def test_a_refused_task_definition_stops_the_start(stub, client, tasks):
    stub.on("POST", "/api/metadata/taskdefs", Reply(400, {"message": "retryCount"}))

    @greet(task_definition={"retryCount": -1})
    def work() -> None: ...

    with pytest.raises(InvalidInput):
        Worker(client, [work]).start()


def test_workers_that_cannot_work_are_refused_before_anything_is_sent(stub, client):
    @greet()
    def work(*names) -> None: ...

    @greet()
    def fine() -> None: ...

    for functions in ([], [work], [fine, fine]):
        with pytest.raises(ConfigurationError):
            Worker(client, functions)
    assert stub.requests == []


def test_the_worker_logs_its_start_and_its_end(client, tasks, caplog):
    caplog.set_level(logging.INFO, "conductor_py.sdk")

    @greet()
    def work() -> None: ...

    with Worker(client, [work]):
        pass

    own = [record for record in caplog.records if record.name.startswith("conductor_py.sdk")]
    actions = [getattr(record, "action", None) for record in own]
    assert actions == ["worker_started", "worker_stopped"]


PROGRAM = """
    import signal
    import sys
    import threading
    from conductor_py.sdk import Client, Worker, task_context, worker_task

    @worker_task("greet", poll_timeout_ms=50)
    def work(wait_for_cancel: bool = False, to_this_thread: bool = False) -> dict[str, str]:
        if to_this_thread:
            signal.pthread_kill(threading.get_ident(), signal.SIGTERM)
        if wait_for_cancel:
            print("running", flush=True)
            task_context().cancelled.wait()
        return {"a": "b"}

    signal.signal(signal.SIGTERM, signal.SIG_IGN)  # what comes after the end means nothing
    drained = Worker(Client(sys.argv[1]), [work], grace_s=3_600).run()
    print("drained" if drained else "cut")
"""


REGISTERS = """
    import sys
    from conductor_py.sdk import Client, Worker, worker_task

    @worker_task("greet", task_definition={"retryCount": 1})
    def work() -> None: ...

    drained = Worker(Client(sys.argv[1]), [work]).run()
    print("drained" if drained else "cut")
"""


@pytest.fixture
def process(stub):
    """A worker process as its author would start it."""
    started = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(PROGRAM), stub.url],
        env={"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        stdout=subprocess.PIPE,
        text=True,
    )
    yield started
    started.kill()
    started.communicate()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_the_process_in_order(process, tasks, number):
    tasks.put(polled())
    assert tasks.next_report()["status"] == "COMPLETED"
    process.send_signal(number)
    assert process.communicate(timeout=PATIENCE_S)[0] == "drained\n"
    assert process.returncode == 0


def test_a_signal_that_another_thread_gets_is_heard(process, tasks):
    """As one is that comes while the main thread has yet to wake from a SIGSTOP."""
    tasks.put(polled(inputData={"to_this_thread": True}))
    assert process.communicate(timeout=PATIENCE_S)[0] == "drained\n"
    assert tasks.next_report()["status"] == "COMPLETED"


@pytest.mark.thorough(target="stories")
def test_a_worker_that_waits_to_register_its_tasks_can_be_stopped(stub, tmp_path):
    stub.on("GET", "/api/metadata/taskdefs/greet", *[Reply(503, {})] * 1000)
    started = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(REGISTERS), stub.url],
        env={"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        until(lambda: stub.seen("GET", "/api/metadata/taskdefs/greet"), what="it asks")
        started.send_signal(signal.SIGTERM)
        assert started.communicate(timeout=PATIENCE_S)[0] == "drained\n"
    finally:
        started.kill()
        started.communicate()


def test_a_second_signal_ends_the_grace(process, tasks):
    tasks.put(polled(inputData={"wait_for_cancel": True}))
    assert process.stdout.readline() == "running\n"
    process.send_signal(signal.SIGTERM)
    # the second counts only once the first was noticed: it may be sent more than once
    until(lambda: process.send_signal(signal.SIGTERM) or process.poll() is not None)
    assert process.communicate(timeout=PATIENCE_S)[0] == "cut\n"
    assert tasks.reports.empty()


def test_polls_wait_longer_the_longer_there_is_nothing_to_do(stub, client, tasks):
    @worker_task("greet", poll_timeout_ms=400)
    def say(name: str) -> None: ...

    def waits():
        polls = stub.seen("GET", "/api/tasks/poll/batch/greet")
        return [int(poll.query["timeout"][0]) for poll in polls]

    with Worker(client, [say]):
        until(lambda: len(waits()) >= 5)
        before = len(waits())
        tasks.put(polled(inputData={"name": "world"}))
        tasks.next_report()
        until(lambda: 100 in waits()[before:], what="a short poll after work")

    assert waits()[:4] == [100, 200, 400, 400]
    assert 100 in waits()[before:]
