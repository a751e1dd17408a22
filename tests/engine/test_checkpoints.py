"""What long tasks keep over retries, lost workers, generations and the archive."""

from collections.abc import Callable
from typing import Any

import pytest

from conductor_py.codec.definitions import workflow_from_json
from conductor_py.errors import ClaimLost, Conflict, EpochConflict, NotFound, PayloadTooLarge
from conductor_py.model.checkpoints import KeptPart, KeptPlace
from conductor_py.model.requests import RerunRequest, StartRequest, UpgradeRequest
from conductor_py.pipelines.cutting import cut
from conductor_py.pipelines.record import Record
from conductor_py.pipelines.record_form import record_to_json
from conductor_py.testing.engine import MemoryEngine, memory_engine
from conductor_py.wire.pipelines import read_job
from tests.builders import pass_time


@pytest.fixture
def memory() -> MemoryEngine:
    return memory_engine()


def _workflow(**task: Any) -> dict[str, Any]:
    long = {"name": "long", "taskReferenceName": "copy", "type": "SIMPLE", **task}
    after = {"name": "after", "taskReferenceName": "after", "type": "SIMPLE"}
    return {"name": "copying", "version": 1, "tasks": [long, after]}


def _retrying(count: int) -> dict[str, Any]:
    return _workflow(taskDefinition={"name": "long", "retryCount": count, "retryDelaySeconds": 0})


def _acquire(memory: MemoryEngine, task: dict[str, Any]) -> KeptPlace:
    return memory.engine.checkpoints.acquire(task["taskId"], task["claimToken"])


def _put(
    memory: MemoryEngine, task: dict[str, Any], expected: int, *, part: str = "p", **record: Any
) -> str:
    kept = record or {"at": expected + 1}
    return memory.engine.checkpoints.put(
        task["taskId"],
        task["claimToken"],
        part,
        kept,
        expected=expected,
        epoch=expected + 1,
        retain=5,
    )


def _taken(memory: MemoryEngine) -> tuple[dict[str, Any], KeptPart]:
    """The task, polled, and its part p."""
    (task,) = memory.poll("long")
    return task, _acquire(memory, task).part("p")


def test_a_retry_finds_what_the_failed_attempt_kept(memory: MemoryEngine) -> None:
    memory.start(_retrying(1))
    task, part = _taken(memory)
    assert part.record is None
    _put(memory, task, 0)
    memory.engine.checkpoints.append(task["taskId"], task["claimToken"], "p", [{"n": 1}])
    memory.complete(task, status="FAILED")
    again, part = _taken(memory)
    assert again["taskId"] != task["taskId"]
    assert (part.epoch, part.record, part.notes) == (1, {"at": 1}, ({"n": 1},))


def test_whoever_takes_over_refuses_the_lost_worker_at_every_verb(memory: MemoryEngine) -> None:
    memory.start(_workflow())
    (lost,) = memory.poll("long", lease_s=5)
    _acquire(memory, lost)
    _put(memory, lost, 0)
    memory.clock.advance(seconds=6)
    memory.settle()
    task, part = _taken(memory)
    assert part.record == {"at": 1}
    verbs = memory.engine.checkpoints
    for call in (
        lambda: _acquire(memory, lost),
        lambda: _put(memory, lost, 1),
        lambda: verbs.append(lost["taskId"], lost["claimToken"], "p", [{}]),
    ):
        with pytest.raises(ClaimLost):
            call()
    _put(memory, task, 1)


@pytest.mark.parametrize("calls", range(8))
def test_a_crash_between_any_two_calls_leaves_what_the_next_one_goes_on_from(
    memory: MemoryEngine, calls: int
) -> None:
    memory.start(_workflow())
    (task,) = memory.poll("long", lease_s=5)
    verbs = memory.engine.checkpoints
    steps: list[Callable[[], object]] = [lambda: _acquire(memory, task)]
    for epoch in range(3):
        steps += [
            lambda at=epoch: verbs.append(  # type: ignore[misc]
                task["taskId"], task["claimToken"], "p", [{"at": at}], epoch=at, position=0
            ),
            lambda at=epoch: _put(memory, task, at),  # type: ignore[misc]
        ]
    for step in steps[:calls]:
        step()
    memory.clock.advance(seconds=6)
    memory.settle()
    following, part = _taken(memory)
    decided = max(calls - 1, 0) // 2
    assert part.epoch == decided
    assert part.record == ({"at": decided} if decided else None)
    assert part.notes == (({"at": decided},) if calls and calls % 2 == 0 else ())
    for epoch in range(decided, 3):
        _put(memory, following, epoch)
    assert _acquire(memory, following).part("p").epoch == 3


def test_a_later_generation_that_tries_again_finds_it_too(memory: MemoryEngine) -> None:
    execution = memory.start(_workflow())
    task, _ = _taken(memory)
    _put(memory, task, 0)
    memory.complete(task, status="FAILED_WITH_TERMINAL_ERROR")
    memory.engine.recovery.retry(execution)
    _, part = _taken(memory)
    assert part.record == {"at": 1}


def test_a_restart_drops_it(memory: MemoryEngine) -> None:
    execution = memory.start(_workflow())
    task, _ = _taken(memory)
    _put(memory, task, 0)
    first = _acquire(memory, task).root
    memory.complete(task, status="FAILED_WITH_TERMINAL_ERROR")
    memory.settle()
    memory.engine.recovery.restart(execution)
    memory.settle()
    assert memory.engine.checkpoints.listed(execution) == {}
    task, part = _taken(memory)
    assert part == KeptPart(name="p")
    _put(memory, task, 0)
    assert _acquire(memory, task).root > first


def test_attempts_that_go_on_from_one_another_are_one_line(memory: MemoryEngine) -> None:
    memory.start(_retrying(1))
    (lost,) = memory.poll("long", lease_s=5)
    line = _acquire(memory, lost).root
    memory.clock.advance(seconds=6)
    memory.settle()
    (failed,) = memory.poll("long")
    assert _acquire(memory, failed).root == line
    memory.complete(failed, status="FAILED")
    (retried,) = memory.poll("long")
    assert _acquire(memory, retried).root == line


def test_a_rerun_of_the_task_drops_it_and_a_retry_after_that_does_not(
    memory: MemoryEngine,
) -> None:
    execution = memory.start(_workflow())
    task, _ = _taken(memory)
    _put(memory, task, 0)
    memory.complete(task, status="FAILED_WITH_TERMINAL_ERROR")
    memory.settle()
    memory.engine.recovery.rerun(execution, RerunRequest(from_task=task["taskId"]))
    task, part = _taken(memory)
    assert part.record is None
    _put(memory, task, 0, of="rerun")
    memory.complete(task, status="FAILED_WITH_TERMINAL_ERROR")
    memory.settle()
    memory.engine.recovery.retry(execution)
    _, part = _taken(memory)
    assert part.record == {"of": "rerun"}


def test_a_rerun_of_a_task_before_it_drops_it(memory: MemoryEngine) -> None:
    first = {"name": "first", "taskReferenceName": "first", "type": "SIMPLE"}
    definition = _workflow()
    execution = memory.start({**definition, "tasks": [first, *definition["tasks"]]})
    before = memory.run("first")
    task, _ = _taken(memory)
    _put(memory, task, 0)
    memory.complete(task, status="FAILED_WITH_TERMINAL_ERROR")
    memory.settle()
    memory.engine.recovery.rerun(execution, RerunRequest(from_task=before["taskId"]))
    memory.run("first")
    _, part = _taken(memory)
    assert part.record is None


def test_each_iteration_keeps_its_own(memory: MemoryEngine) -> None:
    loop = {
        "name": "loop",
        "taskReferenceName": "loop",
        "type": "DO_WHILE",
        "loopCondition": "$.loop['iteration'] < 2",
        "loopOver": _workflow()["tasks"][:1],
    }
    execution = memory.start({"name": "looping", "version": 1, "tasks": [loop]})
    task, _ = _taken(memory)
    _put(memory, task, 0, of="first")
    memory.complete(task)
    task, part = _taken(memory)
    assert part.record is None
    _put(memory, task, 0, of="second")
    listed = memory.engine.checkpoints.listed(execution)
    assert {ref: place.part("p").epoch for ref, place in listed.items()} == {
        "copy__1": 1,
        "copy__2": 1,
    }
    assert memory.engine.checkpoints.ask(execution, "copy__2", "STOP") == 1
    assert memory.engine.checkpoints.wanted(task["taskId"]) is not None


def test_the_archive_shows_it_and_brings_it_back(memory: MemoryEngine) -> None:
    execution = memory.start(_workflow())
    task, _ = _taken(memory)
    _put(memory, task, 0)
    memory.complete(task, status="FAILED_WITH_TERMINAL_ERROR")
    memory.settle()
    memory.clock.advance(seconds=120)
    memory.settle()
    assert memory.ports.reader.snapshot(execution) is None  # type: ignore[arg-type]
    assert memory.engine.checkpoints.listed(execution)["copy"].part("p").epoch == 1
    with pytest.raises(Conflict):
        memory.engine.checkpoints.ask(execution, "copy", "STOP")
    memory.engine.recovery.retry(execution)
    _, part = _taken(memory)
    assert part.record == {"at": 1}


def test_what_is_forgotten_leaves_nothing(memory: MemoryEngine) -> None:
    execution = memory.start(_workflow())
    task, _ = _taken(memory)
    _put(memory, task, 0)
    memory.engine.steering.remove(execution, archive=False)
    memory.settle()
    with pytest.raises(NotFound):
        memory.engine.checkpoints.listed(execution)
    with pytest.raises(NotFound):
        _put(memory, task, 1)
    assert not memory.ports.reader.beside(execution).checkpoints  # type: ignore[arg-type]


def test_a_paused_workflow_asks_its_long_tasks_to_pause(memory: MemoryEngine) -> None:
    execution = memory.start(_workflow())
    task, _ = _taken(memory)
    checkpoints, steering = memory.engine.checkpoints, memory.engine.steering
    steering.pause(execution)
    wanted = checkpoints.wanted(task["taskId"])
    assert wanted is not None
    assert wanted.action == "PAUSE"
    steering.resume(execution)
    assert checkpoints.wanted(task["taskId"]) is None
    steering.pause(execution)
    checkpoints.ask(execution, "copy", "STOP")
    wanted = checkpoints.wanted(task["taskId"])
    assert wanted is not None
    assert wanted.action == "STOP"
    checkpoints.ask(execution, "copy", "RUN")
    wanted = checkpoints.wanted(task["taskId"])
    assert wanted is not None
    assert wanted.action == "PAUSE"


def test_a_stopped_task_goes_on_at_once_when_it_is_resumed(memory: MemoryEngine) -> None:
    execution = memory.start(_workflow())
    task, _ = _taken(memory)
    memory.engine.checkpoints.ask(execution, "copy", "STOP", savepoint="evening")
    _put(memory, task, 0)
    memory.complete(task, status="IN_PROGRESS", callback_after_s=300)
    memory.settle()
    assert memory.poll("long") == []
    assert memory.workflow(execution)["status"] == "RUNNING"
    memory.engine.checkpoints.ask(execution, "copy", "RUN", savepoint="evening")
    again, part = _taken(memory)
    assert again["taskId"] == task["taskId"]
    assert again["claimToken"] > task["claimToken"]
    assert part.start is not None
    assert (part.start.savepoint, part.start.record) == ("evening", {"at": 1})
    assert memory.engine.checkpoints.wanted(again["taskId"]) is None


def test_a_stop_that_crosses_a_resume_does_not_keep_the_task(memory: MemoryEngine) -> None:
    """Its worker has put the last record, and not said yet that it has stopped."""
    execution = memory.start(_workflow())
    task, _ = _taken(memory)
    memory.engine.checkpoints.ask(execution, "copy", "STOP")
    memory.engine.checkpoints.ask(execution, "copy", "RUN")
    memory.complete(task, status="IN_PROGRESS", callback_after_s=300)
    memory.settle()
    again, _ = _taken(memory)
    assert memory.engine.checkpoints.wanted(again["taskId"]) is None
    memory.complete(again, status="IN_PROGRESS", callback_after_s=300)
    memory.settle()
    assert memory.poll("long") == []


@pytest.mark.parametrize("crosses", [False, True])
def test_a_resumed_task_has_the_input_that_its_definition_gives_it_by_then(
    memory: MemoryEngine, crosses: bool
) -> None:
    for version, job in ((1, "as it was"), (2, "edited")):
        definition = _workflow(inputParameters={"job": job, "n": "${workflow.input.n}"})
        known = workflow_from_json({**definition, "version": version})
        memory.engine.definitions.register(known, overwrite=False)
    execution = memory.engine.executions.start(
        StartRequest(name="copying", version=1, input={"n": 7})
    )
    task, _ = _taken(memory)
    assert task["inputData"] == {"job": "as it was", "n": 7}
    memory.engine.checkpoints.ask(execution, "copy", "STOP")
    memory.engine.recovery.upgrade(execution, UpgradeRequest(version=2))
    if crosses:
        memory.engine.checkpoints.ask(execution, "copy", "RUN")
    memory.complete(task, status="IN_PROGRESS", callback_after_s=300)
    memory.settle()
    if not crosses:
        memory.engine.checkpoints.ask(execution, "copy", "RUN")

    again, _ = _taken(memory)

    assert again["taskId"] == task["taskId"]
    assert again["inputData"] == {"job": "edited", "n": 7}


def test_who_holds_the_task_after_it_was_resumed_may_put_it_off(memory: MemoryEngine) -> None:
    definition = {"name": "long", "responseTimeoutSeconds": 60, "retryDelaySeconds": 0}
    execution = memory.start(_workflow(taskDefinition=definition))
    _taken(memory)
    memory.engine.checkpoints.ask(execution, "copy", "RUN")
    pass_time(memory, seconds=61)
    again, _ = _taken(memory)
    memory.complete(again, status="IN_PROGRESS", callback_after_s=300)
    memory.settle()
    assert memory.poll("long") == []


def test_after_the_store_lost_its_tail_the_epoch_that_is_there_is_told(
    memory: MemoryEngine,
) -> None:
    execution = memory.start(_workflow())
    task, _ = _taken(memory)
    _put(memory, task, 0)
    space = memory.ports.checkpoints._space  # type: ignore[attr-defined]
    before = memory.ports.reader.beside(execution).checkpoints  # type: ignore[arg-type]
    _put(memory, task, 1)
    space.of(execution).executions[execution].checkpoints = dict(before)
    with pytest.raises(EpochConflict) as refused:
        _put(memory, task, 2)
    assert refused.value.epoch == 1
    _put(memory, task, 1, adopted=True)


def test_a_record_that_is_too_large_is_refused(memory: MemoryEngine) -> None:
    execution = memory.start(_workflow())
    task, _ = _taken(memory)
    with pytest.raises(PayloadTooLarge, match="262144"):
        _put(memory, task, 0, text="x" * (256 << 10))
    assert memory.engine.checkpoints.listed(execution)["copy"].parts == ()


def test_an_audit_of_what_is_kept_finds_nothing(memory: MemoryEngine) -> None:
    execution = memory.start(_workflow())
    task, _ = _taken(memory)
    _put(memory, task, 0)
    assert list(memory.engine.auditor.execution(execution)) == []


def _pipeline(visibility: str) -> dict[str, Any]:
    source = {"id": "a", "kind": "generator", "output": "rows", "rows": 9}
    sink = {"id": "out", "kind": "file", "input": "rows", "path": "/out", "format": "json"}
    job = {"version": 1, "name": "j", "sources": [source]}
    job["sinks"] = [{**sink, "visibility": visibility}]
    task = {
        "name": "long",
        "taskReferenceName": "copy",
        "type": "SPARK_PIPELINE",
        "inputParameters": {"job": job},
    }
    return {"name": "copying", "version": 1, "tasks": [task]}


@pytest.mark.parametrize(
    ("visibility", "rewind", "says"),
    [
        ("manifest", False, "epoch 2 is published already; --rewind would take it back"),
        ("publish", True, "these sinks cannot take back what is published: out"),
        ("manifest", True, ""),
    ],
)
def test_whoever_asks_a_pipeline_back_is_told_at_once_what_stands_against_it(
    memory: MemoryEngine, visibility: str, rewind: bool, says: str
) -> None:
    definition = _pipeline(visibility)
    (part,) = (each.id for each in cut(read_job(_job_of(definition))).pipelines)
    execution = memory.start(definition)
    (task,) = memory.poll("SPARK_PIPELINE", lease_s=5)
    for epoch in (1, 2):
        record = record_to_json(Record(pipeline=part, plan_hash="h", epoch=epoch, published=epoch))
        _put(memory, task, epoch - 1, part=part, **record)
    memory.clock.advance(seconds=6)
    memory.settle()
    ask = memory.engine.checkpoints.ask
    ask(execution, "copy", "RUN", epoch=2)
    if says:
        with pytest.raises(Conflict, match=says):
            ask(execution, "copy", "RUN", epoch=1, rewind=rewind)
        return
    ask(execution, "copy", "RUN", epoch=1, rewind=rewind)
    (task,) = memory.poll("SPARK_PIPELINE")
    start = _acquire(memory, task).part(part).start
    assert start is not None
    assert (start.epoch, start.rewind) == (1, True)


def _job_of(definition: dict[str, Any]) -> Any:
    return definition["tasks"][0]["inputParameters"]["job"]
