"""What a user of the official Python SDK does, told once for its 1.x and its 2.x.

Runs in an environment of its own that holds nothing but the SDK: `story.py <url of the API>`. Each
step writes its name when what it saw was right; anything else ends the program.
"""

import sys
import time
from collections.abc import Callable
from threading import Event
from typing import Any

from conductor.client.automator.task_runner import TaskRunner
from conductor.client.configuration.configuration import Configuration
from conductor.client.http.models import (
    RerunWorkflowRequest,
    SkipTaskRequest,
    StartWorkflowRequest,
    TaskDef,
    TaskResult,
)
from conductor.client.http.models.correlation_ids_search_request import (
    CorrelationIdsSearchRequest,
)
from conductor.client.http.models.save_schedule_request import SaveScheduleRequest
from conductor.client.http.models.workflow_state_update import WorkflowStateUpdate
from conductor.client.http.models.workflow_test_request import WorkflowTestRequest
from conductor.client.orkes_clients import OrkesClients
from conductor.client.worker.worker import Worker
from conductor.client.workflow.conductor_workflow import ConductorWorkflow
from conductor.client.workflow.task.fork_task import ForkTask
from conductor.client.workflow.task.inline import InlineTask
from conductor.client.workflow.task.set_variable_task import SetVariableTask
from conductor.client.workflow.task.simple_task import SimpleTask
from conductor.client.workflow.task.switch_task import SwitchTask
from conductor.client.workflow.task.wait_task import WaitTask

_DEADLINE_S = 60

settings = Configuration(server_api_url=sys.argv[1])
clients = OrkesClients(settings)
workflows = clients.get_workflow_client()
executor = clients.get_workflow_executor()
tasks = clients.get_task_client()
metadata = clients.get_metadata_client()
scheduler = clients.get_scheduler_client()


def step(action: Callable[[], None]) -> None:
    """Tell a step of the story."""
    action()
    sys.stdout.write(f"{action.__name__}\n")
    sys.stdout.flush()


def until(found: Callable[[], Any], what: str) -> Any:
    """Ask until there is an answer."""
    deadline = time.monotonic() + _DEADLINE_S
    while time.monotonic() < deadline:
        value = found()
        if value:
            return value
        Event().wait(0.05)
    raise AssertionError(f"waited in vain for {what}")


def status_of(workflow_id: str) -> str:
    return str(workflows.get_workflow(workflow_id, include_tasks=False).status)


def ended(workflow_id: str, status: str) -> Any:
    """The execution, once it has that status."""
    until(lambda: status_of(workflow_id) == status, f"{workflow_id} {status}")
    return workflows.get_workflow(workflow_id, include_tasks=True)


def take(task_type: str) -> Any:
    """Poll one task."""
    return until(lambda: _polled(task_type), f"a task {task_type}")


def _polled(task_type: str) -> Any:
    """A task, or nothing: the SDK makes an empty task of an empty answer."""
    task = tasks.poll_task(task_type, worker_id="story")
    return task if task is not None and task.task_id else None


def report(task: Any, status: str, **output: Any) -> None:
    tasks.update_task(
        TaskResult(
            workflow_instance_id=task.workflow_instance_id,
            task_id=task.task_id,
            worker_id="story",
            status=status,
            output_data=output,
        )
    )


def work(name: str, function: Callable[..., Any], rounds: int) -> None:
    """Let the SDK's own runner poll, execute and report."""
    runner = TaskRunner(Worker(name, function, poll_interval=10), settings)
    for _ in range(rounds):
        runner.run_once()


# -- the steps -------------------------------------------------------------------------------------


def registers_task_definitions() -> None:
    for name in ("py_greet", "py_close", "py_flaky"):
        definition = TaskDef(name=name, retry_count=0, response_timeout_seconds=60)
        definition.timeout_seconds = 120
        metadata.register_task_def(definition)
    assert metadata.get_task_def("py_greet").name == "py_greet"
    names = {definition.name for definition in metadata.get_all_task_defs()}
    assert {"py_greet", "py_close", "py_flaky"} <= names


def registers_a_workflow_made_with_the_builder() -> None:
    greet = SimpleTask("py_greet", "greet")
    greet.input_parameter("who", "${workflow.input.who}")
    shout = InlineTask("shout", "$.text.toUpperCase()", {"text": "${greet.output.text}"})
    keep = SetVariableTask("keep")
    keep.input_parameter("said", "${shout.output.result}")
    choose = SwitchTask("choose", "${workflow.input.pause}")
    choose.switch_case("yes", [WaitTask("gate")])
    built = ConductorWorkflow(executor=executor, name="py_story", version=1)
    built >> greet >> shout >> keep >> choose >> SimpleTask("py_close", "close")
    built.output_parameters({"said": "${shout.output.result}", "by": "${close.output.by}"})
    built.timeout_seconds(600)
    built.owner_email("team@example.com")
    built.register(overwrite=True)
    found = metadata.get_workflow_def("py_story", version=1)
    assert found.tasks[0].task_reference_name == "greet"


def starts_and_its_workers_finish_it() -> None:
    request = StartWorkflowRequest(
        name="py_story", version=1, input={"who": "Ada", "pause": "no"}, correlation_id="py-1"
    )
    workflow_id = executor.start_workflow(request)
    until(lambda: _worked("py_greet", _greet, workflow_id, "greet"), "greet")
    until(lambda: _worked("py_close", _close, workflow_id, "close"), "close")
    found = ended(workflow_id, "COMPLETED")
    assert found.output == {"said": "HELLO ADA", "by": "worker"}, found.output
    assert found.variables == {"said": "HELLO ADA"}
    assert [task.status for task in found.tasks] == ["COMPLETED"] * len(found.tasks)


def _worked(name: str, function: Callable[..., Any], workflow_id: str, ref: str) -> bool:
    work(name, function, 1)
    found = workflows.get_workflow(workflow_id, include_tasks=True)
    return any(
        task.reference_task_name == ref and task.status == "COMPLETED" for task in found.tasks
    )


def _greet(who: str) -> dict[str, Any]:
    return {"text": f"hello {who}"}


def _close() -> dict[str, Any]:
    return {"by": "worker"}


def waits_for_an_execution() -> None:
    inline = ConductorWorkflow(executor=executor, name="py_sync", version=1)
    inline >> InlineTask("sum", "$.a + $.b", {"a": "${workflow.input.a}", "b": 2})
    inline.output_parameters({"sum": "${sum.output.result}"})
    inline.register(overwrite=True)
    run = executor.execute("py_sync", version=1, workflow_input={"a": 40}, wait_for_seconds=10)
    assert run.status == "COMPLETED", run
    assert run.output == {"sum": 42}, run.output


def waits_until_blocked_and_signals() -> None:
    gates = ConductorWorkflow(executor=executor, name="py_gates", version=1)
    gates >> WaitTask("first") >> WaitTask("second")
    gates.output_parameters({"first": "${first.output.v}", "second": "${second.output.v}"})
    gates.register(overwrite=True)
    answer = executor.execute_workflow_with_return_strategy(
        StartWorkflowRequest(name="py_gates", version=1, input={}),
        wait_for_seconds=10,
        return_strategy="BLOCKING_TASK",
    )
    assert answer.reference_task_name == "first", answer
    workflow_id = answer.target_workflow_id
    answer = executor.signal(workflow_id, "COMPLETED", {"v": 1}, "BLOCKING_TASK")
    assert answer.reference_task_name == "second", answer
    executor.signal_async(workflow_id, "COMPLETED", {"v": 2})
    assert ended(workflow_id, "COMPLETED").output == {"first": 1, "second": 2}


def pauses_and_resumes() -> None:
    workflow_id = _started("py_story", who="Bo", pause="no")
    workflows.pause_workflow(workflow_id)
    assert status_of(workflow_id) == "PAUSED"
    assert _polled("py_greet") is None
    workflows.resume_workflow(workflow_id)
    report(take("py_greet"), "COMPLETED", text="hello Bo")
    report(take("py_close"), "COMPLETED", by="hand")
    ended(workflow_id, "COMPLETED")


def retries_reruns_and_restarts() -> None:
    workflow_id = _started("py_story", who="Cy", pause="no")
    report(take("py_greet"), "FAILED")
    assert ended(workflow_id, "FAILED").tasks[0].status == "FAILED"
    workflows.retry_workflow(workflow_id)
    report(take("py_greet"), "COMPLETED", text="hello Cy")
    report(take("py_close"), "COMPLETED", by="hand")
    done = ended(workflow_id, "COMPLETED")
    close = next(task for task in done.tasks if task.reference_task_name == "close")
    workflows.rerun_workflow(workflow_id, RerunWorkflowRequest(re_run_from_task_id=close.task_id))
    report(take("py_close"), "COMPLETED", by="second hand")
    assert ended(workflow_id, "COMPLETED").output["by"] == "second hand"
    workflows.restart_workflow(workflow_id)
    report(take("py_greet"), "COMPLETED", text="hello again")
    report(take("py_close"), "COMPLETED", by="third hand")
    assert ended(workflow_id, "COMPLETED").output == {"said": "HELLO AGAIN", "by": "third hand"}


def skips_and_terminates() -> None:
    workflow_id = _started("py_story", who="Di", pause="no")
    workflows.skip_task_from_workflow(workflow_id, "close", SkipTaskRequest())
    report(take("py_greet"), "COMPLETED", text="hello Di")
    ended(workflow_id, "COMPLETED")
    workflow_id = _started("py_story", who="Ed", pause="yes")
    workflows.terminate_workflow(workflow_id, reason="enough")
    assert ended(workflow_id, "TERMINATED").reason_for_incompletion == "enough"


def updates_variables_and_state() -> None:
    workflow_id = _started("py_story", who="Flo", pause="yes")
    workflows.update_variables(workflow_id, {"colour": "red"})
    report(take("py_greet"), "COMPLETED", text="hello Flo")
    until(lambda: _open(workflow_id, "gate"), "gate")
    run = workflows.update_state(
        workflow_id,
        WorkflowStateUpdate(
            task_reference_name="gate",
            task_result=TaskResult(
                workflow_instance_id=workflow_id, task_id="", status="COMPLETED", output_data={}
            ),
            variables={"size": 3},
        ),
        wait_until_task_ref_names=["gate"],
        wait_for_seconds=5,
    )
    assert run.variables == {"colour": "red", "size": 3, "said": "HELLO FLO"}, run.variables
    report(take("py_close"), "COMPLETED", by="hand")
    ended(workflow_id, "COMPLETED")


def _open(workflow_id: str, ref: str) -> bool:
    found = workflows.get_workflow(workflow_id, include_tasks=True)
    return any(
        task.reference_task_name == ref and task.status == "IN_PROGRESS" for task in found.tasks
    )


def logs_and_looks_at_tasks() -> None:
    workflow_id = _started("py_story", who="Gil", pause="no")
    task = take("py_greet")
    tasks.add_task_log(task.task_id, "half way")
    assert [line.log for line in tasks.get_task_logs(task.task_id)] == ["half way"]
    assert tasks.get_task(task.task_id).status == "IN_PROGRESS"
    tasks.update_task_sync(workflow_id, "greet", "COMPLETED", {"text": "hello Gil"})
    assert tasks.get_queue_size_for_task("py_close") == 1
    assert any(seen.worker_id == "story" for seen in tasks.get_task_poll_data("py_greet"))
    report(take("py_close"), "COMPLETED", by="hand")
    ended(workflow_id, "COMPLETED")


def runs_branches() -> None:
    fork = ForkTask(
        "split",
        [[InlineTask(f"b{n}", "$.n * 2", {"n": n})] for n in range(3)],
        join_on=["b0", "b1", "b2"],
    )
    built = ConductorWorkflow(executor=executor, name="py_fork", version=1)
    built >> fork
    definition = built.to_workflow_def()
    request = StartWorkflowRequest(name="py_fork", version=1, input={}, workflow_def=definition)
    run = executor.execute_workflow(request, wait_for_seconds=10)
    assert run.status == "COMPLETED", run


def runs_branches_that_nothing_joins() -> None:
    built = ConductorWorkflow(executor=executor, name="py_lonely", version=1)
    built >> [InlineTask("left", "1"), InlineTask("right", "2")]
    assert [task.type for task in built.to_workflow_def().tasks] == ["FORK_JOIN"]
    built.register(overwrite=True)
    run = ended(built.start_workflow_with_input({}), "FAILED")
    assert "has no JOIN right behind it" in run.reason_for_incompletion


def keeps_schedules() -> None:
    scheduler.save_schedule(
        SaveScheduleRequest(
            name="py_nightly",
            cron_expression="0 0 3 * * ?",
            start_workflow_request=StartWorkflowRequest(name="py_sync", version=1, input={"a": 1}),
            zone_id="Europe/Berlin",
        )
    )
    assert _schedule("py_nightly")["cronExpression"] == "0 0 3 * * ?"
    assert len(scheduler.get_next_few_schedule_execution_times("0 0 3 * * ?", limit=3)) == 3
    scheduler.pause_schedule("py_nightly")
    assert _schedule("py_nightly")["paused"]
    scheduler.resume_schedule("py_nightly")
    assert not _schedule("py_nightly")["paused"]
    assert [each.name for each in scheduler.get_all_schedules("py_sync")] == ["py_nightly"]
    scheduler.delete_schedule("py_nightly")
    assert scheduler.get_all_schedules("py_sync") == []


def _schedule(name: str) -> dict[str, Any]:
    """The schedule in wire form; 1.x answers with that, 2.x with a model of it."""
    found = scheduler.get_schedule(name)
    if isinstance(found, dict):
        return found
    return {"cronExpression": found.cron_expression, "paused": found.paused}


def a_schedule_starts_workflows() -> None:
    scheduler.save_schedule(
        SaveScheduleRequest(
            name="py_often",
            cron_expression="* * * * * ?",
            start_workflow_request=StartWorkflowRequest(name="py_sync", version=1, input={"a": 5}),
        )
    )
    found = until(
        lambda: (
            scheduler.search_schedule_executions(
                start=0, size=10, query="scheduleName IN (py_often) AND state IN (EXECUTED)"
            ).results
        ),
        "an execution of the schedule",
    )
    scheduler.delete_schedule("py_often")
    assert ended(found[0].workflow_id, "COMPLETED").output == {"sum": 7}


def searches() -> None:
    query = "workflowType = 'py_story' AND correlationId = 'py-1' AND status = 'COMPLETED'"
    page = until(lambda: _searched(query), "the first execution in the index")
    assert len(page.results) == 1
    found = workflows.get_by_correlation_ids(
        "py_story", ["py-1"], include_completed=True, include_tasks=False
    )
    assert [each.correlation_id for each in found["py-1"]] == ["py-1"]
    batch = CorrelationIdsSearchRequest(correlation_ids=["py-1"], workflow_names=["py_story"])
    found = workflows.get_by_correlation_ids_in_batch(batch, include_completed=True)
    assert [each.correlation_id for each in found["py-1"]] == ["py-1"]


def _searched(query: str) -> Any:
    page = workflows.search(start=0, size=10, query=query)
    return page if page.results else None


def tests_a_workflow_with_mocks() -> None:
    request = WorkflowTestRequest(
        name="py_story",
        version=1,
        input={"who": "Mo", "pause": "no"},
        task_ref_to_mock_output={
            "greet": [{"status": "COMPLETED", "output": {"text": "mocked"}}],
            "close": [{"status": "COMPLETED", "output": {"by": "mock"}}],
        },
    )
    run = workflows.test_workflow(request)
    assert run.status == "COMPLETED", run
    assert run.output == {"said": "MOCKED", "by": "mock"}


def deletes() -> None:
    workflow_id = _started("py_gates")
    workflows.terminate_workflow(workflow_id)
    ended(workflow_id, "TERMINATED")
    workflows.delete_workflow(workflow_id, archive_workflow=False)
    until(lambda: _gone(workflow_id), "removal")
    metadata.unregister_workflow_def("py_gates", 1)
    metadata.unregister_task_def("py_flaky")
    names = {definition.name for definition in metadata.get_all_task_defs()}
    assert "py_flaky" not in names


def _gone(workflow_id: str) -> bool:
    try:
        workflows.get_workflow(workflow_id)
    except Exception as error:  # noqa: BLE001 - the two versions raise different ones
        return getattr(error, "status", getattr(error, "code", 0)) == 404
    return False


def _started(name: str, **given: Any) -> str:
    return str(executor.start_workflow(StartWorkflowRequest(name=name, version=1, input=given)))


STEPS = (
    registers_task_definitions,
    registers_a_workflow_made_with_the_builder,
    starts_and_its_workers_finish_it,
    waits_for_an_execution,
    waits_until_blocked_and_signals,
    pauses_and_resumes,
    retries_reruns_and_restarts,
    skips_and_terminates,
    updates_variables_and_state,
    logs_and_looks_at_tasks,
    runs_branches,
    runs_branches_that_nothing_joins,
    keeps_schedules,
    a_schedule_starts_workflows,
    searches,
    tests_a_workflow_with_mocks,
    deletes,
)

if __name__ == "__main__":
    for each in STEPS:
        step(each)
