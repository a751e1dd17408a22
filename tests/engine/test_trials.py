"""A trial runs a workflow apart from all others, with mocks for workers and a clock that jumps."""

import itertools
import time
from types import SimpleNamespace
from typing import Any

import pytest

from conductor_py.codec.definitions import task_def_from_json, workflow_from_json
from conductor_py.engine.decisions.encoding import PayloadLimits
from conductor_py.errors import LimitExceeded, NotFound, PayloadTooLarge
from conductor_py.model.requests import StartRequest
from conductor_py.model.status import TaskStatus
from conductor_py.model.trial import Mock, Mocks, Trial
from conductor_py.testing import bench
from conductor_py.testing.bench import MemoryBench
from conductor_py.testing.engine import MemoryEngine, memory_engine
from tests.waiting import PATIENCE_S


@pytest.fixture
def engine(monkeypatch: pytest.MonkeyPatch) -> MemoryEngine:
    monkeypatch.setattr("conductor_py.engine.executions.trials.MAX_SECONDS", PATIENCE_S)
    return memory_engine(bench=MemoryBench)


def _task(ref: str, **more: Any) -> dict[str, Any]:
    return {"name": ref, "taskReferenceName": ref, **more}


def _workflow(*tasks: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"name": "w", "tasks": list(tasks), **more}


def _run(
    engine: MemoryEngine,
    definition: dict[str, Any],
    mocks: dict[str, list[Mock]] | None = None,
    inner: dict[str, Mocks] | None = None,
    **start: Any,
) -> dict[str, Any]:
    attempts = {ref: tuple(found) for ref, found in (mocks or {}).items()}
    request = StartRequest(name="w", definition=workflow_from_json(definition), **start)
    trial = Trial(start=request, mocks=Mocks(attempts=attempts, inner=inner or {}))
    return dict(engine.engine.trials.run(trial))


def _statuses(workflow: dict[str, Any]) -> list[tuple[str, str]]:
    return [(task["referenceTaskName"], task["status"]) for task in workflow["tasks"]]


def _span(task: dict[str, Any]) -> int:
    return int(task["endTime"]) - int(task["startTime"])


def test_mocks_answer_tasks_and_their_output_flows_on(engine: MemoryEngine) -> None:
    definition = _workflow(
        _task("first", inputParameters={"n": "${workflow.input.n}"}),
        _task("second", inputParameters={"n": "${first.output.n}"}),
        outputParameters={"sum": "${second.output.sum}"},
    )
    mocks = {"first": [Mock(output={"n": 2})], "second": [Mock(output={"sum": 3})]}
    done = _run(engine, definition, mocks, input={"n": 1})
    assert (done["status"], done["output"]) == ("COMPLETED", {"sum": 3})
    assert [task["inputData"] for task in done["tasks"]] == [{"n": 1}, {"n": 2}]


def test_a_trial_leaves_nothing_behind(engine: MemoryEngine) -> None:
    done = _run(engine, _workflow(_task("only")), {"only": [Mock()]})
    engine.clock.advance(seconds=120)
    engine.settle()
    with pytest.raises(NotFound):
        engine.workflow(done["workflowId"])
    found = engine.engine.executions.search(query="", free_text="*", sort="", start=0, size=10)
    assert found.total_hits == 0
    assert engine.poll("only") == []
    assert engine.engine.tasks.poll_data(None)[0]["queueName"] == "only"  # this test's own poll


def test_each_attempt_takes_the_next_mock_and_retries_do_not_really_wait(
    engine: MemoryEngine,
) -> None:
    retried: dict[str, Any] = {"name": "flaky", "retryCount": 2, "retryDelaySeconds": 3_600}
    engine.engine.definitions.register_tasks([task_def_from_json(retried)])
    failed = Mock(status=TaskStatus.FAILED)
    mocks = {"flaky": [failed, failed, Mock(output={"at": "last"})]}
    done = _run(engine, _workflow(_task("flaky")), mocks)
    assert (done["status"], done["output"]) == ("COMPLETED", {"at": "last"})
    assert [task["retryCount"] for task in done["tasks"]] == [0, 1, 2]
    assert done["endTime"] - done["startTime"] == 2 * 3_600_000


def test_without_a_mock_the_trial_ends_where_it_stands(engine: MemoryEngine) -> None:
    done = _run(engine, _workflow(_task("first"), _task("second")), {"first": [Mock()]})
    assert done["status"] == "RUNNING"
    assert _statuses(done) == [("first", "COMPLETED"), ("second", "SCHEDULED")]


def test_mocked_times_pass_on_the_clock_of_the_trial(engine: MemoryEngine) -> None:
    mock = Mock(queue_ms=5_000, work_ms=60_000)
    (task,) = _run(engine, _workflow(_task("slow")), {"slow": [mock]})["tasks"]
    assert (task["queueWaitTime"], _span(task)) == (5_000, 60_000)


def test_work_longer_than_its_timeout_times_out_and_is_retried(engine: MemoryEngine) -> None:
    slow: dict[str, Any] = {
        "name": "slow",
        "retryCount": 1,
        "retryDelaySeconds": 1,
        "responseTimeoutSeconds": 30,
    }
    engine.engine.definitions.register_tasks([task_def_from_json(slow)])
    mocks = {"slow": [Mock(work_ms=31_000), Mock(work_ms=29_000, output={"second": True})]}
    done = _run(engine, _workflow(_task("slow")), mocks)
    assert [status for _, status in _statuses(done)] == ["TIMED_OUT", "COMPLETED"]
    assert done["output"] == {"second": True}


def test_waits_pass_by_themselves_and_by_mocks(engine: MemoryEngine) -> None:
    week = _task("week", type="WAIT", inputParameters={"duration": "7 days"})
    signal = _task("signal", type="WAIT")
    done = _run(engine, _workflow(week, signal), {"signal": [Mock(output={"ok": True})]})
    assert done["status"] == "COMPLETED"
    assert done["output"] == {"ok": True}
    assert done["endTime"] - done["startTime"] == 7 * 86_400_000


def test_loops_forks_and_switches_are_the_real_ones(engine: MemoryEngine) -> None:
    body = _task("step")
    loop = _task(
        "loop",
        type="DO_WHILE",
        loopCondition="$.loop['iteration'] < 3",
        loopOver=[body],
    )
    fork = _task("fork", type="FORK_JOIN", forkTasks=[[_task("left")], [_task("right")]])
    join = _task("join", type="JOIN", joinOn=["left", "right"])
    switch = _task(
        "switch",
        type="SWITCH",
        evaluatorType="value-param",
        expression="way",
        inputParameters={"way": "${left.output.way}"},
        decisionCases={"a": [_task("inside")]},
    )
    mocks = {
        "step": [Mock(), Mock(), Mock(output={"n": 3})],
        "left": [Mock(output={"way": "a"}, work_ms=10)],
        "right": [Mock(work_ms=5)],
        "inside": [Mock()],
    }
    done = _run(engine, _workflow(loop, fork, join, switch), mocks)
    assert done["status"] == "COMPLETED"
    names = [ref for ref, _ in _statuses(done)]
    assert [name for name in names if name.startswith("step")] == ["step__1", "step__2", "step__3"]
    assert names[-1] == "inside"


def test_time_passes_for_the_sub_workflows_of_sub_workflows(engine: MemoryEngine) -> None:
    """Their timers stand apart from those of the others."""
    pause = _task("pause", type="WAIT", inputParameters={"duration": "90s"})
    below = {"name": "below", "tasks": [pause]}
    within = {"type": "SUB_WORKFLOW", "subWorkflowParam": {"workflowDefinition": below}}
    middle = {"name": "middle", "tasks": [_task("within", **within)]}
    outer = {"type": "SUB_WORKFLOW", "subWorkflowParam": {"workflowDefinition": middle}}
    done = _run(engine, _workflow(_task("outer", **outer)))
    assert done["status"] == "COMPLETED"
    assert 90_000 <= _span(done["tasks"][0]) < 91_000


def test_sub_workflows_run_with_mocks_of_their_own(engine: MemoryEngine) -> None:
    child = workflow_from_json({"name": "child", "tasks": [_task("deep")]})
    engine.engine.definitions.register(child, overwrite=False)
    sub = _task("sub", type="SUB_WORKFLOW", subWorkflowParam={"name": "child"})
    mocks = Mocks(attempts={"deep": (Mock(output={"deep": 1}),)})
    done = _run(engine, _workflow(sub), inner={"sub": mocks})
    assert done["status"] == "COMPLETED"
    assert done["output"]["deep"] == 1
    assert _run(engine, _workflow(sub))["status"] == "RUNNING"


def test_attempts_of_one_queue_go_to_the_mocks_of_their_reference(engine: MemoryEngine) -> None:
    one, two = (_task(ref) | {"name": "work"} for ref in ("one", "two"))
    fork = _task("fork", type="FORK_JOIN", forkTasks=[[one], [two]])
    join = _task("join", type="JOIN", joinOn=["one", "two"])
    mocks = {
        "one": [Mock(queue_ms=1_000, output={"of": "one"})],
        "two": [Mock(output={"of": "two"})],
    }
    done = _run(engine, _workflow(fork, join), mocks)
    outputs = {task["referenceTaskName"]: task["outputData"] for task in done["tasks"]}
    assert (outputs["one"], outputs["two"]) == ({"of": "one"}, {"of": "two"})


def test_an_endless_loop_ends_with_the_rounds(
    engine: MemoryEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("conductor_py.engine.executions.trials.MAX_ROUNDS", 20)
    pause = _task("pause", type="WAIT", inputParameters={"duration": "1 s"})
    loop = _task("loop", type="DO_WHILE", loopCondition="true", loopOver=[pause])
    assert _run(engine, _workflow(loop))["status"] == "RUNNING"


def test_limits_of_a_definition_hold_in_a_trial(engine: MemoryEngine) -> None:
    limited: dict[str, Any] = {"name": "work", "concurrentExecLimit": 1}
    engine.engine.definitions.register_tasks([task_def_from_json(limited)])
    one, two = (_task(ref) | {"name": "work"} for ref in ("one", "two"))
    fork = _task("fork", type="FORK_JOIN", forkTasks=[[one], [two]])
    join = _task("join", type="JOIN", joinOn=["one", "two"])
    mocks = {"one": [Mock(work_ms=10_000)], "two": [Mock(work_ms=10_000)]}
    done = _run(engine, _workflow(fork, join), mocks)
    assert done["status"] == "COMPLETED"
    assert done["endTime"] - done["startTime"] >= 20_000


@pytest.mark.parametrize(
    ("kind", "more"),
    [
        ("HTTP", {"inputParameters": {"http_request": {"uri": "http://x.test", "method": "GET"}}}),
        ("HUMAN", {}),
        ("WAIT", {"inputParameters": {"duration": "3 days"}}),
        ("KAFKA_PUBLISH", {"inputParameters": {"kafka_request": {"topic": "t"}}}),
    ],
)
def test_tasks_that_wait_on_the_outside_are_answered_by_mocks(
    engine: MemoryEngine, kind: str, more: dict[str, Any]
) -> None:
    outside = _task("outside", type=kind, **more)
    done = _run(engine, _workflow(outside), {"outside": [Mock(output={"mocked": True})]})
    assert (done["status"], done["output"]) == ("COMPLETED", {"mocked": True})
    assert done["endTime"] == done["startTime"]


def test_branches_of_a_dynamic_fork_take_mocks_by_their_references(engine: MemoryEngine) -> None:
    branches = [_task("x"), _task("y")]
    fork = _task(
        "fork",
        type="FORK_JOIN_DYNAMIC",
        dynamicForkTasksParam="tasks",
        dynamicForkTasksInputParamName="inputs",
        inputParameters={"tasks": branches, "inputs": {"x": {}, "y": {}}},
    )
    mocks = {"x": [Mock(output={"of": "x"})], "y": [Mock(output={"of": "y"})]}
    done = _run(engine, _workflow(fork, _task("join", type="JOIN")), mocks)
    assert done["status"] == "COMPLETED"
    outputs = {task["referenceTaskName"]: task["outputData"] for task in done["tasks"]}
    assert (outputs["x"], outputs["y"]) == ({"of": "x"}, {"of": "y"})


def test_a_failure_ends_the_execution_and_names_what_failed(engine: MemoryEngine) -> None:
    failed = Mock(status=TaskStatus.FAILED_WITH_TERMINAL_ERROR)
    done = _run(engine, _workflow(_task("first"), _task("second")), {"first": [failed]})
    assert (done["status"], done["failedReferenceTaskNames"]) == ("FAILED", ["first"])
    assert _statuses(done) == [("first", "FAILED_WITH_TERMINAL_ERROR")]


def test_progress_and_its_end_are_two_mocks_of_one_attempt(engine: MemoryEngine) -> None:
    mocks = {"long": [Mock(status=TaskStatus.IN_PROGRESS), Mock(output={"done": True})]}
    done = _run(engine, _workflow(_task("long")), mocks)
    (task,) = done["tasks"]
    assert (task["status"], task["pollCount"], done["output"]) == ("COMPLETED", 2, {"done": True})


def test_registered_definitions_are_read_as_they_are_and_never_changed(
    engine: MemoryEngine,
) -> None:
    for version in (1, 2):
        one = workflow_from_json(_workflow(_task(f"v{version}"), version=version))
        engine.engine.definitions.register(one, overwrite=False)
    before = engine.engine.definitions.workflows(dict)
    trial = Trial(start=StartRequest(name="w"), mocks=Mocks(attempts={"v2": (Mock(),)}))
    assert engine.engine.trials.run(trial)["status"] == "COMPLETED"
    with pytest.raises(NotFound):
        engine.engine.trials.run(Trial(start=StartRequest(name="missing"), mocks=Mocks()))
    assert engine.engine.definitions.workflows(dict) == before


def test_a_third_trial_at_once_is_refused(engine: MemoryEngine) -> None:
    trials = engine.engine.trials
    trial = Trial(start=StartRequest(name="missing"), mocks=Mocks())
    refused: list[object] = []

    class Busy(MemoryBench):
        def __init__(self, *ports: Any) -> None:
            super().__init__(*ports)
            if len(refused) < 2:
                refused.append(None)
                try:
                    trials.run(trial)
                except (LimitExceeded, NotFound) as error:
                    refused.append(error)

    again = memory_engine(bench=Busy)
    trials = again.engine.trials
    with pytest.raises(NotFound):
        trials.run(trial)
    assert any(isinstance(error, LimitExceeded) for error in refused)


def test_hundreds_of_tasks_are_tried_in_a_moment(engine: MemoryEngine) -> None:
    tasks = [_task(f"t{number}") for number in range(300)]
    mocks = {f"t{number}": [Mock(work_ms=1_000)] for number in range(300)}
    done = _run(engine, _workflow(*tasks), mocks)
    assert done["status"] == "COMPLETED"
    assert done["endTime"] - done["startTime"] == 300_000


def test_an_endless_loop_ends_its_trial_before_it_fills_the_memory(
    engine: MemoryEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bench, "_MOST_TASKS", 20)
    body = _task("s", type="SET_VARIABLE", inputParameters={"x": 1})
    loop = _task("l", type="DO_WHILE", loopCondition="true", loopOver=[body])
    done = _run(engine, _workflow(loop))
    assert done["status"] == "FAILED"
    assert "More than 20 tasks" in done["reasonForIncompletion"]


def test_a_trial_that_goes_on_by_itself_is_left_at_its_time_and_not_at_its_end(
    engine: MemoryEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks = itertools.count()
    clock = SimpleNamespace(monotonic=lambda: float(next(looks)), time_ns=time.time_ns)
    monkeypatch.setattr("conductor_py.engine.executions.trials.time", clock)
    monkeypatch.setattr("conductor_py.testing.bench.time", clock)
    monkeypatch.setattr("conductor_py.engine.executions.trials.MAX_SECONDS", 60.0)
    body = _task("s", type="SET_VARIABLE", inputParameters={"x": 1})
    loop = _task("l", type="DO_WHILE", loopCondition="$.l.iteration < 200", loopOver=[body])
    done = _run(engine, _workflow(loop))
    assert done["status"] == "RUNNING"
    assert 0 < len(done["tasks"]) < 200


def test_a_trial_that_has_not_begun_at_its_time_says_so(
    engine: MemoryEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("conductor_py.engine.executions.trials.MAX_SECONDS", -1.0)
    with pytest.raises(LimitExceeded, match="not begun"):
        _run(engine, _workflow(_task("a")))


@pytest.mark.parametrize("inside", [False, True], ids=["its own", "of a sub-workflow"])
def test_a_trial_that_makes_many_values_of_a_few_is_refused(*, inside: bool) -> None:
    engine = memory_engine(bench=MemoryBench, payload_limits=PayloadLimits(values=1_000))
    copies = [
        _task(f"s{number}", type="SET_VARIABLE", inputParameters={"x": "${workflow.input.x}"})
        for number in range(4)
    ]
    if inside:
        child = {"name": "c", "workflowDefinition": _workflow(*copies, name="c")}
        copies = [
            _task(
                "sub",
                type="SUB_WORKFLOW",
                subWorkflowParam=child,
                inputParameters={"x": "${workflow.input.x}"},
            )
        ]
    with pytest.raises(PayloadTooLarge, match="more values than a request"):
        _run(engine, _workflow(*copies), input={"x": [1] * 300})


def test_a_trial_is_about_a_day_of_the_zone_that_a_start_would_have() -> None:
    definition = _workflow(
        _task("a", type="SET_VARIABLE"), outputParameters={"z": "${workflow.zoneId}"}
    )
    engine = memory_engine(bench=MemoryBench, zone="Asia/Shanghai")
    assert _run(engine, definition)["output"] == {"z": "Asia/Shanghai"}
    assert _run(engine, definition, zone="UTC")["output"] == {"z": "UTC"}


def test_a_trial_knows_the_brokers_of_its_server_and_sends_them_nothing() -> None:
    sent: list[Any] = []
    broker = SimpleNamespace(publish=sent.append)
    engine = memory_engine(bench=MemoryBench, sinks={"kafka": broker})
    event = _task("e", type="EVENT", sink="kafka:topic")
    found = _run(engine, _workflow(event))
    assert _statuses(found) == [("e", "COMPLETED")]
    engine.settle()
    assert sent == []
