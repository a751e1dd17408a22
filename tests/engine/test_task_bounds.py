"""What one poll takes, what one report leaves in the log, and which worker counts as there."""

from typing import Any

from conductor_py.decider.workspace import Limits
from conductor_py.engine import Engine
from conductor_py.engine.assembly import assemble
from conductor_py.engine.decisions.encoding import PayloadLimits
from conductor_py.engine.tasks.bounds import TaskBounds
from conductor_py.model.requests import PollRequest, TaskLog, TaskResult
from conductor_py.model.status import TaskStatus
from conductor_py.ports.touched import GATHER_MS
from conductor_py.testing.engine import MemoryEngine, memory_engine
from tests.engine.test_collection import simple


def bounded(made: MemoryEngine, **more: Any) -> Engine:
    """An engine over the same stores with other bounds."""
    return assemble(
        made.ports,
        made.engine.shards,
        version="test",
        limits=Limits(),
        payload_limits=PayloadLimits(),
        monotonic=made.clock.monotonic,
        **more,
    )


def poll(engine: Engine, count: int = 10) -> int:
    request = PollRequest(task_type="task", worker="w", count=count, timeout_ms=0)
    return len(engine.tasks.poll(request))


def large() -> dict[str, Any]:
    definition = simple()
    definition["tasks"][0]["inputParameters"] = {"text": "x" * 10_000}
    return definition


def test_a_poll_takes_tasks_up_to_its_size_and_a_larger_one_alone() -> None:
    made = memory_engine()
    engine = bounded(made, task_bounds=TaskBounds(poll_bytes=25_000))
    for _ in range(4):
        made.start(large())

    assert poll(engine) == 2
    assert poll(bounded(made, task_bounds=TaskBounds(poll_bytes=1))) == 1
    assert poll(bounded(made)) == 1


def logged(made: MemoryEngine, engine: Engine) -> int:
    """Report three lines and add one; how many are kept."""
    execution = made.start(simple())
    (task,) = made.poll("task")
    task_id = task["taskId"]
    engine.tasks.update(
        TaskResult(
            workflow_id=execution,
            task_id=task_id,
            status=TaskStatus.IN_PROGRESS,
            output={},
            worker="worker",
            logs=tuple(TaskLog(line=str(number)) for number in range(3)),
        )
    )
    engine.tasks.log(task_id, "one more")
    return len(engine.tasks.logs(task_id))


def test_one_report_leaves_no_more_lines_than_configured() -> None:
    made = memory_engine()

    assert logged(made, bounded(made, task_bounds=TaskBounds(log_lines=2))) == 3


def test_logs_can_be_accepted_and_dropped() -> None:
    made = memory_engine()

    assert logged(made, bounded(made, task_bounds=TaskBounds(keep_logs=False))) == 0


def test_a_domain_is_served_for_as_long_as_configured_after_a_poll() -> None:
    made = memory_engine()
    request = PollRequest(task_type="task", worker="w", domain="fast", timeout_ms=0)
    engine = bounded(made, active_worker_ms=3_000)
    engine.tasks.poll(request)

    def domain_of_a_task() -> str:
        started = made.start(simple(), task_to_domain={"task": "fast,NO_DOMAIN"})
        return str(made.workflow(started)["tasks"][0].get("domain") or "")

    made.clock.advance(milliseconds=4_000)
    assert domain_of_a_task() == "fast"
    made = MemoryEngine(engine, made.clock, made.ports)
    assert domain_of_a_task() == ""


def test_tasks_can_be_left_out_of_the_index() -> None:
    found = {}
    for gather_tasks_ms in (GATHER_MS, None):
        made = memory_engine()
        made = MemoryEngine(bounded(made, gather_tasks_ms=gather_tasks_ms), made.clock, made.ports)
        execution = made.start(simple())
        made.run("task")
        made.settle()
        tasks = made.engine.executions.search_tasks(
            query="", free_text="*", sort="", start=0, size=9
        )
        found[gather_tasks_ms] = (tasks.total_hits, len(made.workflow(execution)["tasks"]))

    assert found == {GATHER_MS: (1, 1), None: (0, 1)}
