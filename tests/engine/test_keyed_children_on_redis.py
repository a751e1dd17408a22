"""Children under an idempotency key, over the partitions of a real Redis."""

from pathlib import Path

import pytest

from conductor_py.adapters.redis.reader import RedisExecutionReader
from conductor_py.codec.definitions import workflow_from_json
from conductor_py.config import load
from conductor_py.engine import Engine
from conductor_py.errors import StoreFull
from conductor_py.model.ids import ExecutionId, partition_of
from conductor_py.model.requests import PollRequest, StartRequest, TaskResult
from conductor_py.model.status import TaskStatus
from conductor_py.wiring import build_engine
from tests.builders import simple, sub_workflow, workflow
from tests.conftest import RealRedis

_CHILD = workflow("child", simple("c"), outputParameters={"by": "${c.output.by}"})


@pytest.fixture
def engine(newest_redis: RealRedis, tmp_path: Path) -> Engine:
    """An engine whose executions live in 8 partitions."""
    settings = {
        "redis.socket": newest_redis.url.removeprefix("unix://"),
        "redis.partitions": "8",
        "data.directory": str(tmp_path),
    }
    return build_engine(
        load(flags={f"conductor.{key}": value for key, value in settings.items()}), server="s"
    )


def _start(engine: Engine, key: str) -> ExecutionId:
    """A parent whose child holds the key, with the effect that starts the child carried out."""
    task = sub_workflow("s", _CHILD)
    task["subWorkflowParam"]["idempotencyKey"] = key
    definition = workflow_from_json(workflow("w", task))
    parent = engine.executions.start(StartRequest(name="w", definition=definition))
    assert engine.effects.run(partition_of(parent), [f"{parent}:start:1"]) == 1
    return parent


def _child_of(engine: Engine, parent: ExecutionId) -> ExecutionId:
    return ExecutionId(engine.executions.document(parent)["tasks"][0]["subWorkflowId"])  # type: ignore[index, call-overload, arg-type]


def _abroad(engine: Engine) -> tuple[ExecutionId, ExecutionId]:
    """A parent and its child in another partition."""
    for number in range(50):
        parent = _start(engine, f"k{number}")
        child = _child_of(engine, parent)
        if partition_of(child) != partition_of(parent):
            return parent, child
        engine.executions.terminate(parent, reason="not this one")
    raise AssertionError("no key leads to another partition")


def test_the_end_of_a_child_reaches_its_parent_in_another_partition(engine: Engine) -> None:
    parent, child = _abroad(engine)
    wanted = PollRequest(task_type="c", count=1, timeout_ms=5_000, worker="w")
    (task,) = engine.tasks.poll(wanted)
    assert task["workflowInstanceId"] == child
    engine.tasks.update(
        TaskResult(
            workflow_id=child,
            task_id=str(task["taskId"]),
            status=TaskStatus.COMPLETED,
            output={"by": "me"},
            worker="w",
        )
    )
    assert engine.executions.document(parent)["status"] == "RUNNING"
    post = [f"{child}:post:ended:1"]
    assert engine.effects.run(partition_of(child), post) == 1
    found = engine.executions.document(parent)
    assert found["status"] == "COMPLETED"
    assert engine.effects.run(partition_of(child), post) == 0


def test_a_child_in_another_partition_ends_with_its_parent(engine: Engine) -> None:
    parent, child = _abroad(engine)
    engine.executions.terminate(parent, reason="enough")
    engine.executor.go_on(None, "h", [parent])  # cleans up
    post = f"{parent}:post:cancel:{parent}-1"
    assert engine.effects.run(partition_of(parent), [post]) == 1
    assert engine.executions.document(child)["status"] == "TERMINATED"


def _terminated_and_retried(engine: Engine) -> tuple[ExecutionId, ExecutionId]:
    """A parent and its child in another partition, whom neither has reached yet."""
    parent, child = _abroad(engine)
    engine.executions.terminate(parent, reason="enough")
    engine.executor.go_on(None, "h", [parent])  # cleans up
    engine.recovery.retry(parent, resume_subworkflows=True)
    engine.executor.go_on(None, "h", [parent])
    return parent, child


def test_a_termination_that_a_retry_has_overtaken_does_not_end_the_child(engine: Engine) -> None:
    parent, child = _terminated_and_retried(engine)
    for late in (f"revive:{parent}-2", f"cancel:{parent}-1"):
        assert engine.effects.run(partition_of(parent), [f"{parent}:post:{late}"]) == 1
    assert engine.executions.document(child)["status"] == "RUNNING"
    assert engine.executions.document(parent)["status"] == "RUNNING"


def test_a_retry_that_a_termination_has_overtaken_does_not_wake_the_child(engine: Engine) -> None:
    parent, child = _terminated_and_retried(engine)
    engine.executions.terminate(parent, reason="enough after all")
    engine.executor.go_on(None, "h", [parent])
    for late in (f"cancel:{parent}-1", f"cancel:{parent}-2", f"revive:{parent}-2"):
        assert engine.effects.run(partition_of(parent), [f"{parent}:post:{late}"]) == 1
    assert engine.executions.document(child)["status"] == "TERMINATED"


def test_a_termination_does_not_end_a_child_that_was_taken_over_since(engine: Engine) -> None:
    parent, child = _abroad(engine)
    engine.executions.terminate(parent, reason="enough")
    engine.executor.go_on(None, "h", [parent])  # cleans up
    engine.executions.terminate(child, reason="this, too")
    engine.executor.go_on(None, "h", [child])
    engine.recovery.retry(child)
    engine.executor.go_on(None, "h", [child])
    assert engine.effects.run(partition_of(child), [f"{child}:post:revived:2"]) == 1
    assert engine.executions.document(parent)["status"] == "RUNNING"
    for late in (f"adopt:{parent}-2", f"cancel:{parent}-1"):
        assert engine.effects.run(partition_of(parent), [f"{parent}:post:{late}"]) == 1
    assert engine.executions.document(child)["status"] == "RUNNING"


@pytest.mark.parametrize("archived", [True, False])
def test_a_child_that_left_before_its_retry_came_is_brought_back_or_ends_its_task(
    engine: Engine, archived: bool
) -> None:
    parent, child = _abroad(engine)
    engine.executions.terminate(parent, reason="enough")
    engine.executor.go_on(None, "h", [parent])
    assert engine.effects.run(partition_of(parent), [f"{parent}:post:cancel:{parent}-1"]) == 1
    engine.executor.go_on(None, "h", [child])
    engine.recovery.retry(parent, resume_subworkflows=True)
    engine.executor.go_on(None, "h", [parent])
    engine.steering.remove(child, archive=archived)
    assert engine.executions.view(child) is None

    assert engine.effects.run(partition_of(parent), [f"{parent}:post:revive:{parent}-2"]) == 1

    if archived:
        assert engine.executions.document(child)["status"] == "RUNNING"
        assert engine.executions.document(parent)["status"] == "RUNNING"
    else:
        ended = engine.executions.document(parent)
        assert ended["status"] == "FAILED"
        assert f"Sub workflow {child} cannot be found" in str(ended["reasonForIncompletion"])


def test_a_termination_reaches_a_child_that_left_before_the_retry_that_it_overtakes(
    engine: Engine,
) -> None:
    parent, child = _terminated_and_retried(engine)
    assert engine.effects.run(partition_of(parent), [f"{parent}:post:cancel:{parent}-1"]) == 1
    engine.executor.go_on(None, "h", [child])
    engine.steering.remove(child, archive=True)
    engine.executions.terminate(parent, reason="enough after all")
    engine.executor.go_on(None, "h", [parent])
    for late in (f"cancel:{parent}-2", f"revive:{parent}-2"):
        assert engine.effects.run(partition_of(parent), [f"{parent}:post:{late}"]) == 1
    assert engine.executions.document(child)["status"] == "TERMINATED"


def _ended(engine: Engine, child: ExecutionId, status: TaskStatus) -> None:
    """The child ends by a result of this status, and its parent hears of it."""
    (task,) = engine.tasks.poll(PollRequest(task_type="c", count=1, timeout_ms=5_000, worker="w"))
    assert task["workflowInstanceId"] == child
    result = TaskResult(
        workflow_id=child, task_id=str(task["taskId"]), status=status, output={}, worker="w"
    )
    engine.tasks.update(result)
    assert engine.effects.run(partition_of(child), [f"{child}:post:ended:1"]) == 1


def test_a_parent_that_left_before_its_child_told_of_its_retry_is_brought_back(
    engine: Engine,
) -> None:
    parent, child = _abroad(engine)
    _ended(engine, child, TaskStatus.FAILED_WITH_TERMINAL_ERROR)
    assert engine.executions.document(parent)["status"] == "FAILED"
    engine.recovery.retry(child)
    engine.steering.remove(parent, archive=True)
    assert engine.executions.view(parent) is None
    assert engine.effects.run(partition_of(child), [f"{child}:post:revived:2"]) == 1
    assert engine.executions.document(parent)["status"] == "RUNNING"


def test_a_child_that_cannot_be_retried_tells_its_end_as_often_as_it_is_asked(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second time comes within the minute in which the store knows the first."""
    over = {"terminationStatus": "FAILED", "terminationReason": "over"}
    end = {"name": "e", "taskReferenceName": "e", "type": "TERMINATE", "inputParameters": over}
    monkeypatch.setattr(f"{__name__}._CHILD", workflow("child", simple("c"), end))
    parent, child = _abroad(engine)
    _ended(engine, child, TaskStatus.COMPLETED)
    assert engine.executions.document(parent)["status"] == "FAILED"
    engine.recovery.retry(parent, resume_subworkflows=True)
    engine.executor.go_on(None, "h", [parent])
    assert engine.executions.document(parent)["status"] == "RUNNING"
    assert engine.effects.run(partition_of(parent), [f"{parent}:post:revive:{parent}-2"]) == 1
    engine.executor.go_on(None, "h", [child])
    assert engine.effects.run(partition_of(child), [f"{child}:post:ended:1"]) == 1
    assert engine.executions.document(parent)["status"] == "FAILED"


def test_a_termination_brings_no_child_back(engine: Engine) -> None:
    parent, child = _abroad(engine)
    engine.executions.terminate(child, reason="enough")
    engine.executor.go_on(None, "h", [child])
    engine.steering.remove(child, archive=True)
    engine.executions.terminate(parent, reason="enough")
    engine.executor.go_on(None, "h", [parent])
    assert engine.effects.run(partition_of(parent), [f"{parent}:post:cancel:{parent}-1"]) == 1
    assert engine.executions.view(child) is None


def test_a_child_that_cannot_be_brought_back_just_now_holds_no_other_post(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    parent, child = _terminated_and_retried(engine)
    assert engine.effects.run(partition_of(parent), [f"{parent}:post:cancel:{parent}-1"]) == 1
    engine.executor.go_on(None, "h", [child])
    engine.steering.remove(child, archive=True)
    begin = RedisExecutionReader.begin_restore

    def full(self: RedisExecutionReader, execution: ExecutionId, token: str) -> str | None:
        raise StoreFull("no room")

    monkeypatch.setattr(RedisExecutionReader, "begin_restore", full)
    retry = f"{parent}:post:revive:{parent}-2"
    assert engine.effects.run(partition_of(parent), [retry]) == 0
    assert engine.executions.document(parent)["status"] == "RUNNING"
    monkeypatch.setattr(RedisExecutionReader, "begin_restore", begin)
    assert engine.effects.run(partition_of(parent), [retry]) == 1
    assert engine.executions.document(child)["status"] == "RUNNING"
