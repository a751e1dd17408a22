"""Payloads leave their storage with the last that needs them."""

import zlib
from typing import Any

import pytest

from conductor_py.codec.event import load_event
from conductor_py.engine.clock import StoreClock
from conductor_py.engine.decisions.encoding import PayloadLimits
from conductor_py.engine.payloads.holding import GRACE_MS, PayloadHolding
from conductor_py.engine.payloads.retention import LOOK_MS, MISSED_MS, PayloadRetention
from conductor_py.errors import ConductorError, Conflict, NotFound, StoreUnavailable
from conductor_py.model.event import ChildEnded
from conductor_py.model.execution import External
from conductor_py.model.ids import ExecutionId
from conductor_py.model.requests import TaskResult
from conductor_py.model.schedules import Schedule
from conductor_py.model.status import TaskStatus
from conductor_py.ports.events import Undelivered
from conductor_py.ports.payload_holders import PRESENT
from conductor_py.testing import MemoryEngine, memory_engine
from tests.builders import fork, join, simple, sub_workflow, typed, workflow

_SMALL = PayloadLimits(workflow_input_soft=3_000, task_output_soft=3_000, task_input_soft=3_000)
_LARGE = {"text": "l" * 4_000}
_HOUR_MS = 3_600_000


@pytest.fixture
def engine() -> MemoryEngine:
    return memory_engine(payload_limits=_SMALL)


def passes(engine: MemoryEngine, ms: int) -> None:
    """Let time go by, with a look at what is due before and after."""
    collect(engine)
    engine.clock.advance(milliseconds=ms)
    collect(engine)


def collect(engine: MemoryEngine) -> None:
    engine.settle()
    retention = engine.engine.payload_retention
    while retention.tick():
        pass


def is_kept(engine: MemoryEngine, path: str) -> bool:
    try:
        engine.ports.payloads.get(path)
    except NotFound:
        return False
    return True


def ended(engine: MemoryEngine) -> tuple[str, str]:
    """An execution with one payload, its task's output, that has ended and left the store."""
    execution = engine.start(workflow("w", simple("a")))
    engine.run("a", _LARGE)
    engine.settle()
    path = output_path(engine, execution)
    passes(engine, 61_000)
    assert engine.ports.store.load(ExecutionId(execution), ["h"]) is None
    return execution, path


def output_path(engine: MemoryEngine, execution: str) -> str:
    tasks: Any = engine.engine.executions.document(execution)["tasks"]
    return str(tasks[0]["externalOutputPayloadStoragePath"])


def remove(engine: MemoryEngine, execution: str) -> None:
    engine.engine.steering.remove(execution, archive=False)


def uploaded(
    engine: MemoryEngine, kind: str = "WORKFLOW_INPUT", document: bytes = b'{"x": 1}'
) -> str:
    """What a client has sent to a URL."""
    url, path = engine.engine.payloads.location("WRITE", kind, "")
    token = str(url).rpartition("/")[2]
    with engine.ports.payloads.open_upload(token) as upload:  # type: ignore[attr-defined]
        upload.write(document)
    return path


# -- with an execution -----------------------------------------------------------------------------


def test_an_upload_with_a_secret_goes_and_its_masked_copy_stays() -> None:
    engine = memory_engine(payload_limits=_SMALL, values={"SECRET_TOKEN": "s3cr3t-token"})
    execution = engine.start(workflow("w", simple("a")))
    (task,) = engine.poll("a")
    sent = uploaded(engine, "TASK_OUTPUT", b'{"x": "s3cr3t-token"}')
    engine.complete(task, external_output=sent)
    kept = engine.workflow(execution)["tasks"][0]["externalOutputPayloadStoragePath"]
    for _ in range(4):
        passes(engine, GRACE_MS)
    assert (is_kept(engine, sent), is_kept(engine, kept)) == (False, True)
    assert engine.ports.payloads.get(kept) == b'{"x":"***"}'


def test_a_payload_stays_while_the_archive_has_its_execution(engine: MemoryEngine) -> None:
    _, path = ended(engine)
    for _ in range(4):
        passes(engine, LOOK_MS)
    assert is_kept(engine, path)


def test_a_payload_leaves_a_grace_period_after_its_execution_was_removed(
    engine: MemoryEngine,
) -> None:
    execution, path = ended(engine)
    passes(engine, GRACE_MS)
    remove(engine, execution)
    passes(engine, GRACE_MS - 1)
    assert is_kept(engine, path)
    passes(engine, 1)
    assert not is_kept(engine, path)
    assert engine.ports.payload_holders.read(path) is None


def test_a_payload_leaves_with_an_execution_that_is_removed_while_it_runs(
    engine: MemoryEngine,
) -> None:
    execution = engine.start(workflow("w", simple("a"), simple("b")))
    engine.run("a", _LARGE)
    path = output_path(engine, execution)
    remove(engine, execution)
    passes(engine, GRACE_MS - 1)
    assert is_kept(engine, path)
    passes(engine, 1)
    assert not is_kept(engine, path)


def test_payloads_of_forgotten_attempts_leave_with_the_execution(engine: MemoryEngine) -> None:
    execution = engine.start(workflow("w", simple("a")))
    engine.run("a", _LARGE)
    before = output_path(engine, execution)
    engine.engine.recovery.restart(execution)
    engine.run("a", _LARGE)
    assert output_path(engine, execution) != before
    passes(engine, 2 * GRACE_MS)
    assert is_kept(engine, before)
    remove(engine, execution)
    passes(engine, GRACE_MS)
    assert not is_kept(engine, before)


def test_a_payload_leaves_when_the_archive_lets_its_execution_go() -> None:
    engine = memory_engine(payload_limits=_SMALL, retention_ms=5 * GRACE_MS)
    _, path = ended(engine)
    passes(engine, 5 * GRACE_MS)
    assert engine.engine.retention.tick() == 1
    passes(engine, GRACE_MS - 1)
    assert is_kept(engine, path)
    passes(engine, 1)
    assert not is_kept(engine, path)


def test_an_execution_that_nobody_called_gone_is_found_out(engine: MemoryEngine) -> None:
    """Whoever deletes documents in the index tells nobody."""
    execution, path = ended(engine)
    passes(engine, GRACE_MS)
    archived = engine.ports.search.archived(execution)
    assert archived is not None
    assert engine.ports.search.delete(execution, archived.version)
    passes(engine, LOOK_MS)
    passes(engine, MISSED_MS - 1)
    assert is_kept(engine, path)
    passes(engine, 1)
    assert not is_kept(engine, path)


def test_an_index_that_is_away_for_weeks_costs_no_payload(
    engine: MemoryEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, path = ended(engine)
    with monkeypatch.context() as lost:
        lost.setattr(type(engine.ports.search), "archived_version", lambda *_: None)
        passes(engine, LOOK_MS)
        assert set(holders_of(engine, path).values()) != {PRESENT}
        passes(engine, 3 * LOOK_MS)
        passes(engine, LOOK_MS)
    for _ in range(8):
        passes(engine, LOOK_MS)
    assert is_kept(engine, path)


def test_what_the_index_still_names_stays_though_no_holder_is_known(
    engine: MemoryEngine,
) -> None:
    """A store that lost its last writes has lost a holder, and not the execution in another
    partition; a server of an older version has written none.
    """
    path = uploaded(engine)
    started = engine.start(workflow("w", simple("a")), external_input=path)
    engine.clock.advance(seconds=2)
    engine.settle()
    engine.ports.payload_holders.forget([path])
    engine.ports.payload_holders.begin(path, 0)
    for _ in range(4):
        passes(engine, LOOK_MS)
    assert is_kept(engine, path)
    assert holders_of(engine, path) == {started: PRESENT}
    remove(engine, started)
    passes(engine, GRACE_MS)
    assert not is_kept(engine, path)


def test_the_index_is_asked_for_tasks_too(engine: MemoryEngine) -> None:
    started = engine.start(workflow("w", simple("a"), simple("b")))
    engine.run("a", _LARGE)
    path = output_path(engine, started)
    engine.clock.advance(seconds=2)
    engine.settle()
    engine.ports.payload_holders.forget([path])
    engine.ports.payload_holders.begin(path, 0)
    passes(engine, LOOK_MS)
    assert is_kept(engine, path)


def test_an_index_that_does_not_answer_decides_nothing(
    engine: MemoryEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    def away(*_: Any) -> None:
        raise StoreUnavailable("the index is away")

    _, path = ended(engine)
    passes(engine, LOOK_MS)
    with monkeypatch.context() as broken:
        broken.setattr(type(engine.ports.search), "archived_version", away)
        engine.clock.advance(milliseconds=LOOK_MS)
        for _ in range(3):
            with pytest.raises(StoreUnavailable):
                engine.engine.payload_retention.tick()
            engine.clock.advance(milliseconds=GRACE_MS)
    assert is_kept(engine, path)


# -- what nobody wrote down ------------------------------------------------------------------------


def unknown(engine: MemoryEngine, path: str) -> None:
    """As after an upgrade: bytes and executions are there, and no record."""
    engine.ports.payload_holders.forget([path])


@pytest.mark.parametrize("ends", [True, False], ids=["archived", "running"])
def test_a_payload_without_a_record_stays_whoever_has_it_later(
    engine: MemoryEngine, ends: bool
) -> None:
    path = uploaded(engine)
    older = engine.start(workflow("w", simple("a")), external_input=path)
    if ends:
        engine.run("a")
        engine.settle()
    unknown(engine, path)
    later = engine.start(workflow("w", simple("b")), external_input=path)
    engine.run("b")
    engine.settle()
    remove(engine, later)
    for _ in range(10):
        passes(engine, LOOK_MS)
    assert is_kept(engine, path)
    assert engine.engine.executions.document(older)["externalInputPayloadStoragePath"] == path


def test_a_result_that_is_refused_removes_nothing(engine: MemoryEngine) -> None:
    path = uploaded(engine)
    engine.start(workflow("w", simple("long")), external_input=path)
    other = "00000000-0000-0000-0000-000000000000"
    for without_record in (False, True):
        if without_record:
            unknown(engine, path)
        before = engine.ports.payload_holders.read(path)
        with pytest.raises(NotFound):
            engine.engine.tasks.update(
                TaskResult(
                    workflow_id=other,
                    task_id=f"{other}-1",
                    status=TaskStatus.COMPLETED,
                    external_output=path,
                )
            )
        assert engine.ports.payload_holders.read(path) == before
    for _ in range(10):
        passes(engine, LOOK_MS)
    assert is_kept(engine, path)


def test_a_process_that_does_not_collect_keeps_others_from_it() -> None:
    """A switch that is off in the API nodes, and on in the sweeper."""
    engine = memory_engine(payload_limits=_SMALL)
    path = uploaded(engine)
    off = PayloadHolding(
        engine.ports.payload_holders,
        StoreClock(engine.ports.store.now_ms, engine.clock.monotonic),
        collects=False,
    )
    off.hold("00000000-0000-0000-0000-000000000000", [path])
    for _ in range(10):
        passes(engine, LOOK_MS)
    assert is_kept(engine, path)


# -- shared ----------------------------------------------------------------------------------------


def test_a_payload_that_two_executions_start_with_leaves_with_the_second(
    engine: MemoryEngine,
) -> None:
    path = uploaded(engine)
    first, second = (
        engine.start(workflow("w", simple("a")), external_input=path) for _ in range(2)
    )
    passes(engine, GRACE_MS)
    remove(engine, first)
    passes(engine, 3 * GRACE_MS)
    assert is_kept(engine, path)
    remove(engine, second)
    passes(engine, GRACE_MS)
    assert not is_kept(engine, path)


def test_a_child_that_is_removed_leaves_its_parent_the_output(engine: MemoryEngine) -> None:
    path = uploaded(engine, "TASK_OUTPUT")
    child = workflow("c", simple("x"), outputParameters={"all": "${x.output}"})
    parent = engine.start(workflow("p", sub_workflow("s", child), simple("z")))
    (task,) = engine.poll("x")
    engine.complete(task, external_output=path)
    engine.settle()
    remove(engine, str(task["workflowInstanceId"]))
    passes(engine, 2 * GRACE_MS)
    held_everywhere(engine)
    remove(engine, parent)
    passes(engine, 2 * GRACE_MS)
    assert not is_kept(engine, path)
    assert engine.ports.payload_holders.due(1 << 60, 10) == ()


def test_a_parent_that_is_terminated_and_removed_leaves_its_children_what_they_share(
    engine: MemoryEngine,
) -> None:
    """A child outlives its parent, ended and in the archive: it is removed by itself."""
    child = workflow("c", simple("x", inputParameters={"in": "${workflow.input.all}"}))
    called = sub_workflow("s", child, inputParameters={"all": "${workflow.input}"})
    parent = engine.start(workflow("p", called), input=_LARGE)
    engine.settle()
    (task,) = engine.poll("x")
    child_id = str(task["workflowInstanceId"])
    shared = {path for path, holders in held(engine).items() if child_id in holders}
    assert shared
    engine.engine.executions.terminate(parent, reason=None)
    remove(engine, parent)
    passes(engine, 3 * GRACE_MS)
    assert engine.workflow(child_id)["status"] == "TERMINATED"
    assert held(engine).keys() == shared
    assert all(is_kept(engine, path) for path in shared)
    remove(engine, child_id)
    passes(engine, 2 * GRACE_MS)
    assert held(engine) == {}
    assert not any(is_kept(engine, path) for path in shared)


def test_every_payload_that_is_named_anywhere_is_held_there(engine: MemoryEngine) -> None:
    def step() -> None:
        engine.settle()
        held_everywhere(engine)

    child = workflow(
        "c",
        simple("x", inputParameters={"in": "${workflow.input.all}"}),
        outputParameters={"out": "${x.output.text}"},
    )
    called = sub_workflow("s", child, inputParameters={"all": "${a.output.text}"})
    branches = fork("f", [called], [simple("b", inputParameters={"in": "${a.output.text}"})])
    started = engine.start(
        workflow(
            "w",
            simple("a"),
            branches,
            join("j", "s", "b"),
            simple("z"),
            outputParameters={"text": "${s.output.out}"},
        ),
        input={"text": "l" * 4_000},
    )
    step()
    for name in ("a", "x", "b", "z"):
        engine.run(name, _LARGE)
        step()
    engine.engine.recovery.restart(started)
    step()
    for name in ("a", "x"):
        engine.run(name, _LARGE)
        step()
    assert len(engine.ports.payload_holders.due(1 << 60, 1_000)) > 8


def held_everywhere(engine: MemoryEngine) -> None:
    """Each execution that names a payload, or is being told of one, holds it."""
    for execution in engine.ports.store._space.partition(0).executions.values():  # type: ignore[attr-defined]
        named = [stored[1:].decode() for stored in execution.fields.values() if stored[:1] == b"@"]
        told = (e for e in map(load_event, execution.inbox) if isinstance(e, ChildEnded))
        named += (each.output.path for each in told if isinstance(each.output, External))
        for path in named:
            assert holders_of(engine, path).get(execution.id) == PRESENT, (execution.id, path)


def held(engine: MemoryEngine) -> dict[str, dict[str, int]]:
    """Every payload there is, with its holders."""
    paths = engine.ports.payload_holders.due(1 << 60, 100)
    return {path: holders_of(engine, path) for path in paths}


def holders_of(engine: MemoryEngine, path: str) -> dict[str, int]:
    found = engine.ports.payload_holders.read(path)
    assert found is not None
    return dict(found.holders)


# -- not an execution's ----------------------------------------------------------------------------


def test_what_was_sent_and_never_used_leaves(engine: MemoryEngine) -> None:
    path = uploaded(engine)
    passes(engine, GRACE_MS - 1)
    assert is_kept(engine, path)
    passes(engine, 1)
    assert not is_kept(engine, path)


def test_what_was_stored_for_a_start_that_was_refused_leaves(engine: MemoryEngine) -> None:
    engine.start(workflow("w", simple("a")), input=_LARGE, idempotency_key="one")
    (kept,) = engine.ports.payload_holders.due(1 << 60, 10)
    with pytest.raises(Conflict):
        engine.start(workflow("w", simple("a")), input={**_LARGE, "n": 2}, idempotency_key="one")
    (path,) = {*engine.ports.payload_holders.due(1 << 60, 10)} - {kept}
    passes(engine, GRACE_MS)
    passes(engine, MISSED_MS)
    assert is_kept(engine, kept)
    assert not is_kept(engine, path)


def test_a_notice_that_is_not_delivered_yet_keeps_its_payload() -> None:
    topic = Topic()
    engine = memory_engine(sinks={"kafka": topic}, payload_grace_ms=_HOUR_MS)
    task = typed("EVENT", "e", sink="kafka:orders", inputParameters={"text": "x" * 200_000})
    engine.start(workflow("w", task))
    (path,) = engine.ports.payload_holders.due(1 << 60, 10)
    for _ in range(8):
        passes(engine, _HOUR_MS)
    assert is_kept(engine, path)
    topic.away = False
    for _ in range(8):
        passes(engine, _HOUR_MS)
    assert topic.got == ["x" * 200_000]
    assert not is_kept(engine, path)
    assert engine.ports.payload_holders.read(path) is None


class Topic:
    """A broker that is away."""

    def __init__(self) -> None:
        self.away = True
        self.got: list[Any] = []

    def publish(self, messages: Any) -> None:
        if self.away:
            raise Undelivered("away")
        self.got += [message.payload["text"] for message in messages]


def test_a_schedule_keeps_what_it_starts_with_until_it_starts_with_another(
    engine: MemoryEngine,
) -> None:
    first, second = uploaded(engine), uploaded(engine)
    engine.engine.schedules.save(schedule(first))
    passes(engine, LOOK_MS)
    assert is_kept(engine, first)
    assert not is_kept(engine, second)

    second = uploaded(engine)
    engine.engine.schedules.save(schedule(second))
    passes(engine, LOOK_MS)
    passes(engine, GRACE_MS)
    assert not is_kept(engine, first)
    assert is_kept(engine, second)

    engine.engine.schedules.delete("s")
    passes(engine, GRACE_MS)
    assert not is_kept(engine, second)


def schedule(path: str) -> Schedule:
    request = {"name": "w", "externalInputPayloadStoragePath": path}
    return Schedule(
        name="s", cron_expression="0 0 0 1 1 *", start_workflow_request=request, paused=True
    )


# -- the collector ---------------------------------------------------------------------------------


def test_a_payload_that_cannot_be_deleted_is_tried_again(
    engine: MemoryEngine, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def refused(*_: Any) -> None:
        raise StoreUnavailable("the bucket takes nothing away")

    stuck, other = uploaded(engine), uploaded(engine)
    del other
    with monkeypatch.context() as broken:
        broken.setattr(type(engine.ports.payloads), "delete", refused)
        passes(engine, GRACE_MS)
    assert is_kept(engine, stuck)
    assert caplog.text.count("cannot be removed now") == 2
    passes(engine, _HOUR_MS)
    assert not is_kept(engine, stuck)


def test_a_tick_looks_at_so_many_and_the_next_goes_on(engine: MemoryEngine) -> None:
    paths = [uploaded(engine) for _ in range(250)]
    engine.clock.advance(milliseconds=GRACE_MS)
    looked = [engine.engine.payload_retention.tick() for _ in range(4)]
    assert looked == [100, 100, 50, 0]
    assert not any(is_kept(engine, path) for path in paths)


def test_a_tick_looks_at_as_many_payloads_as_it_may(engine: MemoryEngine) -> None:
    paths = [uploaded(engine) for _ in range(5)]
    retention = PayloadRetention(
        engine.ports.payload_holders,
        engine.ports.payloads,
        StoreClock(engine.clock, engine.clock.monotonic),
        is_there=lambda *_: False,
        named_by=lambda _: None,
        batch=2,
    )
    engine.clock.advance(milliseconds=GRACE_MS)
    assert [retention.tick() for _ in range(4)] == [2, 2, 1, 0]
    assert not any(is_kept(engine, path) for path in paths)


@pytest.mark.parametrize("named", ["#", "nobody", "effect 0 x", "00000000-0000", "e" * 300])
def test_a_result_for_no_execution_holds_nothing(engine: MemoryEngine, named: str) -> None:
    path = uploaded(engine, "TASK_OUTPUT")
    before = engine.ports.payload_holders.read(path)
    with pytest.raises(ConductorError):
        engine.engine.tasks.update(
            TaskResult(
                workflow_id=named,
                task_id=f"{named}-1",
                status=TaskStatus.COMPLETED,
                external_output=path,
            )
        )
    assert engine.ports.payload_holders.read(path) == before


def test_a_holder_that_cannot_be_read_keeps_its_payload_and_no_other(
    engine: MemoryEngine, caplog: pytest.LogCaptureFixture
) -> None:
    odd, other = uploaded(engine), uploaded(engine)
    engine.ports.payload_holders.hold("effect none x", [odd])
    passes(engine, GRACE_MS)
    assert is_kept(engine, odd)
    assert not is_kept(engine, other)
    assert "cannot be looked at" in caplog.text


def test_who_comes_while_a_payload_is_looked_at_keeps_it(
    engine: MemoryEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = uploaded(engine)
    search = type(engine.ports.search).search

    def meanwhile(index: Any, asked: Any) -> Any:
        engine.start(workflow("w", simple("a")), external_input=path)
        return search(index, asked)

    engine.clock.advance(milliseconds=GRACE_MS)
    with monkeypatch.context() as racing:
        racing.setattr(type(engine.ports.search), "search", meanwhile)
        engine.engine.payload_retention.tick()
    collect(engine)
    assert is_kept(engine, path)


def test_a_start_with_a_payload_that_is_just_leaving_is_refused(
    engine: MemoryEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = uploaded(engine)
    delete, refused = engine.ports.payloads.delete, []

    def meanwhile(_: Any, gone: str) -> None:
        with pytest.raises(StoreUnavailable, match="try again"):
            engine.start(workflow("w", simple("a")), external_input=gone)
        refused.append(gone)
        delete(gone)

    monkeypatch.setattr(type(engine.ports.payloads), "delete", meanwhile)
    engine.clock.advance(milliseconds=GRACE_MS)
    engine.engine.payload_retention.tick()
    assert refused == [path]
    with pytest.raises(NotFound):
        engine.start(workflow("w", simple("a")), external_input=path)


def test_a_server_that_died_while_it_removed_a_payload_is_followed_up(
    engine: MemoryEngine,
) -> None:
    path = uploaded(engine)
    found = engine.ports.payload_holders.read(path)
    assert found is not None
    engine.ports.payload_holders.settle(
        path, found.version, found={}, forgotten=(), check_ms=0, leaving=True
    )
    collect(engine)
    assert not is_kept(engine, path)
    assert engine.ports.payload_holders.read(path) is None


def test_those_that_are_gone_are_forgotten_while_one_is_there(engine: MemoryEngine) -> None:
    path = uploaded(engine)
    executions = [engine.start(workflow("w", simple("a")), external_input=path) for _ in range(30)]
    for execution in executions[:-1]:
        remove(engine, execution)
    for _ in range(3):
        passes(engine, LOOK_MS)
    assert holders_of(engine, path) == {executions[-1]: PRESENT}


def test_a_look_asks_for_so_many_holders_and_the_next_for_the_others(
    engine: MemoryEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, asked = uploaded(engine), []
    archived = type(engine.ports.search).archived_version
    for number in range(450):
        engine.ports.payload_holders.hold(f"{number:08d}-0000-0000-0000-000000000000", [path])

    def counted(search: Any, execution: str) -> Any:
        asked.append(execution)
        return archived(search, execution)

    monkeypatch.setattr(type(engine.ports.search), "archived_version", counted)
    engine.clock.advance(milliseconds=GRACE_MS)
    counts = []
    for _ in range(4):
        engine.engine.payload_retention.tick()
        counts.append(len(asked))
    assert counts == [200, 400, 450, 450]
    assert is_kept(engine, path)


def test_whatever_a_damaged_archive_raises_costs_its_own_payload_alone(
    engine: MemoryEngine, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def damaged(*_: Any) -> None:
        raise zlib.error("incorrect header check")

    _, first = ended(engine)
    passes(engine, GRACE_MS)
    other = uploaded(engine)
    with monkeypatch.context() as broken:
        broken.setattr(type(engine.ports.search), "archived_version", damaged)
        passes(engine, LOOK_MS)
    assert "cannot be looked at" in caplog.text
    assert is_kept(engine, first)
    assert not is_kept(engine, other)


def test_a_path_that_a_task_hands_on_is_held_by_who_hands_it_on(engine: MemoryEngine) -> None:
    path = uploaded(engine)
    request = {"name": "later", "externalInputPayloadStoragePath": "${workflow.input.p}"}
    later = typed("START_WORKFLOW", "s", inputParameters={"startWorkflow": request})
    started = engine.start(workflow("w", simple("long"), later), input={"p": path})
    for _ in range(5):
        passes(engine, LOOK_MS)
    assert is_kept(engine, path)
    remove(engine, started)
    passes(engine, GRACE_MS)
    assert not is_kept(engine, path)


def test_nothing_is_noted_where_payloads_are_not_collected() -> None:
    engine = memory_engine(payload_limits=_SMALL, payload_grace_ms=None)
    path = uploaded(engine)
    execution, output = ended(engine)
    remove(engine, execution)
    passes(engine, 3 * LOOK_MS)
    assert is_kept(engine, path)
    assert is_kept(engine, output)
    assert engine.ports.payload_holders.due(1 << 60, 10) == ()


# -- holders that were looked for before they were there -------------------------------------------


def scheduled(path: str) -> Schedule:
    return Schedule(
        name="s",
        cron_expression="0 0 3 * * *",
        start_workflow_request={"name": "w", "externalInputPayloadStoragePath": path},
        paused=True,
    )


def test_a_schedule_that_is_stored_after_a_look_for_it_keeps_its_payload(
    engine: MemoryEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, put = uploaded(engine), engine.ports.schedules.put

    def late(*given: Any, **more: Any) -> Any:
        engine.clock.advance(milliseconds=2)
        collect(engine)
        return put(*given, **more)

    engine.clock.advance(milliseconds=GRACE_MS - 1)
    with monkeypatch.context() as patched:
        patched.setattr(engine.ports.schedules, "put", late)
        engine.engine.schedules.save(scheduled(path))
    for _ in range(45):
        passes(engine, GRACE_MS)
    assert is_kept(engine, path)
    engine.engine.schedules.delete("s")
    passes(engine, GRACE_MS)
    assert not is_kept(engine, path)


def test_a_schedule_that_is_saved_while_its_former_one_is_deleted_keeps_its_payload(
    engine: MemoryEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, delete = uploaded(engine), engine.ports.schedules.delete
    engine.engine.schedules.save(scheduled(path))

    def deleted(name: str) -> bool:
        gone = delete(name)
        engine.engine.schedules.save(scheduled(path))
        return gone

    with monkeypatch.context() as patched:
        patched.setattr(engine.ports.schedules, "delete", deleted)
        engine.engine.schedules.delete("s")
    for _ in range(45):
        passes(engine, GRACE_MS)
    assert is_kept(engine, path)


def test_a_payload_with_many_former_holders_leaves_all_the_same(engine: MemoryEngine) -> None:
    path = uploaded(engine)
    for number in range(450):
        engine.ports.payload_holders.hold(f"schedule s{number}", [path])
    for _ in range(4):
        passes(engine, GRACE_MS)
    assert not is_kept(engine, path)
