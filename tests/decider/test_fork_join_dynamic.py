"""FORK_JOIN_DYNAMIC: branches that come from data."""

from typing import Any

import pytest

from conductor_py.codec.definitions import workflow_from_json
from conductor_py.decider.workspace import Limits
from conductor_py.model.requests import RerunRequest
from conductor_py.testing import MemoryEngine, memory_engine
from tests.builders import (
    dynamic_fork,
    for_each,
    fork,
    fork_inputs,
    inline,
    join,
    pass_time,
    run_failing,
    set_variable,
    simple,
    status_of,
    switch,
    task_of,
    times,
    typed,
    workflow,
)


def _started(engine: MemoryEngine, branches: Any, inputs: Any = None) -> str:
    definition = workflow("w", dynamic_fork("f"), join("j"), simple("z"))
    given = {"branches": branches, "inputs": {} if inputs is None else inputs}
    return engine.start(definition, input=given)


# -- the three variants ----------------------------------------------------------------------------


def test_list_of_tasks_with_a_map_of_inputs(engine: MemoryEngine) -> None:
    branches = [simple("a"), {**simple("b", inputParameters={"x": 0, "y": 0}), "name": "a"}]
    started = _started(engine, branches, {"a": {"x": 1}, "b": {"x": 2}})
    assert engine.run("a", {"v": 1})["inputData"] == {"x": 1}
    assert engine.run("a", {"v": 2})["inputData"] == {"x": 2, "y": 0}
    assert task_of(engine, started, "j")["outputData"] == {"a": {"v": 1}, "b": {"v": 2}}
    assert engine.statuses(started)["z"] == "SCHEDULED"


def test_list_of_inputs_for_one_task(engine: MemoryEngine) -> None:
    definition = workflow("w", fork_inputs("f", [{"x": 1}, 7], forkTaskName="t"), join("j"))
    started = engine.start(definition)
    assert engine.run("t")["inputData"] == {"x": 1, "__index": 0}
    assert engine.run("t")["inputData"] == {"input": 7, "__index": 1}
    assert status_of(engine, started) == "COMPLETED"


@pytest.mark.parametrize("text", ["${workflow.input.x}", "$${x}", "cost: $5 ${y}", "${z"])
def test_text_that_data_brings_in_is_no_expression(engine: MemoryEngine, text: str) -> None:
    data = {"t": text, "deep": [{"t": text}]}
    by_list = fork_inputs("f", "${workflow.input.list}", forkTaskName="t")
    by_map, legacy = dynamic_fork("g"), dynamic_fork("h")
    for name in ("dynamicForkTasksParam", "dynamicForkTasksInputParamName"):
        legacy.pop(name)
    legacy |= {
        "dynamicForkJoinTasksParam": "old",
        "inputParameters": {"old": "${workflow.input.o}"},
    }
    definition = workflow("w", by_list, join("i"), by_map, join("j"), legacy, join("k"))
    old = {"dynamicTasks": [{"taskName": "t", "referenceName": "c", "input": data}]}
    given = {"x": 1, "list": [data], "branches": [{**simple("b"), "name": "t"}], "o": old}
    started = engine.start(definition, input=given | {"inputs": {"b": data}})
    for _ in range(3):
        found = engine.run("t")["inputData"]
        assert {name: found[name] for name in data} == data
    assert status_of(engine, started) == "COMPLETED"


def test_domains_and_workflow_that_data_brings_in_are_no_expressions(engine: MemoryEngine) -> None:
    child = workflow("${workflow.input.x}", simple("a"))
    engine.register(child)
    item = {"taskToDomain": {"a": "${workflow.input.x}"}}
    fork = fork_inputs("f", [], forkTaskWorkflow="${workflow.input.name}")
    fork["inputParameters"]["forkTaskInputs"] = "${workflow.input.items}"
    given = {"x": "other", "name": child["name"], "items": [item]}
    started = engine.start(workflow("w", fork, join("j")), input=given)
    branch = task_of(engine, started, "_f_f_0")
    found = engine.workflow(str(branch["subWorkflowId"]))
    assert found["workflowName"] == child["name"]
    assert found["taskToDomain"] == {"a": "${workflow.input.x}"}


@pytest.mark.parametrize("items", [None, "x", {"n": 1}])
def test_inputs_that_are_no_list_are_named(engine: MemoryEngine, items: Any) -> None:
    fork = fork_inputs("f", [], forkTaskName="t")
    fork["inputParameters"]["forkTaskInputs"] = "${workflow.input.items}"
    started = engine.start(workflow("w", fork, join("j")), input={"items": items})
    reason = task_of(engine, started, "f")["reasonForIncompletion"]
    assert reason == "forkTaskInputs of the dynamic fork is no list"


def test_text_that_data_brought_in_stays_as_it_is_when_its_task_is_done_again(
    engine: MemoryEngine,
) -> None:
    data = {"t": "${workflow.input.x}"}
    branch = {**simple("b"), "name": "t", "retryCount": 1}
    definition = workflow("w", dynamic_fork("f"), join("j"))
    given = {"x": 1, "branches": [branch], "inputs": {"b": data}}
    started = engine.start(definition, input=given)
    recovery = engine.engine.recovery
    for again in (
        lambda: pass_time(engine, seconds=61),
        lambda: recovery.retry(started),
        lambda: recovery.rerun(
            started, RerunRequest(from_task=task_of(engine, started, "b")["taskId"])
        ),
    ):
        assert run_failing(engine, "t")["inputData"]["t"] == data["t"]
        again()
        engine.settle()
    assert engine.run("t")["inputData"]["t"] == data["t"]
    assert status_of(engine, started) == "COMPLETED"


def test_own_input_of_a_branch_from_data_is_still_resolved(engine: MemoryEngine) -> None:
    branch = simple("a", inputParameters={"x": "${workflow.input.v}", "y": "${workflow.input.v}"})
    definition = workflow("w", dynamic_fork("f"), join("j"))
    given = {"v": 5, "branches": [branch], "inputs": {"a": {"y": "${workflow.input.v}"}}}
    engine.start(definition, input=given)
    assert engine.run("a")["inputData"] == {"x": 5, "y": "${workflow.input.v}"}


def test_list_of_inputs_for_a_system_type(engine: MemoryEngine) -> None:
    inputs = [{"expression": "1 + 1"}, {"expression": "2 + 2"}]
    definition = workflow("w", fork_inputs("f", inputs, forkTaskType="INLINE"), join("j"))
    started = engine.start(definition)
    outputs = task_of(engine, started, "j")["outputData"]
    assert [output["result"] for output in outputs.values()] == [2, 4]


def test_list_of_inputs_for_a_sub_workflow(engine: MemoryEngine) -> None:
    from conductor_py.codec.definitions import workflow_from_json

    child = simple("t", inputParameters={"seen": "${workflow.input.x}"})
    engine.engine.definitions.register(
        workflow_from_json(workflow("child", child)), overwrite=False
    )
    spread = fork_inputs("f", [{"x": 1}, {"x": 2}], forkTaskWorkflow="child")
    started = engine.start(workflow("w", spread, join("j")))
    engine.settle()
    seen = [engine.run("t")["inputData"]["seen"] for _ in range(2)]
    engine.settle()
    assert sorted(seen) == [1, 2]
    assert status_of(engine, started) == "COMPLETED"


def test_legacy_parameter(engine: MemoryEngine) -> None:
    given = {"dynamicTasks": [{"taskName": "t", "referenceName": "r", "input": {"x": 3}}]}
    legacy = typed("FORK_JOIN_DYNAMIC", "f", dynamicForkJoinTasksParam="p")
    legacy["inputParameters"] = {"p": "${workflow.input.p}"}
    started = engine.start(workflow("w", legacy, join("j")), input={"p": given})
    assert engine.run("t", {"v": 1})["inputData"] == {"x": 3}
    assert engine.workflow(started)["output"] == {"r": {"v": 1}}


# -- edges -----------------------------------------------------------------------------------------


def test_zero_branches_complete_the_join_with_an_empty_output(engine: MemoryEngine) -> None:
    """Oracle row 20."""
    started = _started(engine, [])
    joined = task_of(engine, started, "j")
    assert (joined["status"], joined["outputData"]) == ("COMPLETED", {})
    assert engine.statuses(started)["z"] == "SCHEDULED"


@pytest.mark.parametrize(
    ("branches", "inputs"),
    [
        pytest.param([simple("a"), simple("a")], {}, id="twice in the fork"),
        pytest.param([simple("z")], {}, id="row 21: a task of the definition"),
        pytest.param("text", {}, id="no list"),
        pytest.param(None, {}, id="no tasks"),
        pytest.param([simple("a")], "text", id="inputs that are no map"),
        pytest.param([{"name": "a"}], {}, id="no reference name"),
        pytest.param([7], {}, id="no object"),
        pytest.param([{"taskReferenceName": "a", "loopOver": 3}], {}, id="no definition"),
    ],
)
def test_unusable_branches_fail_the_workflow(
    engine: MemoryEngine, branches: Any, inputs: Any
) -> None:
    started = _started(engine, branches, inputs)
    found = engine.workflow(started)
    assert found["status"] == "FAILED"
    assert found["reasonForIncompletion"]
    assert engine.statuses(started)["f"] == "FAILED_WITH_TERMINAL_ERROR"


def test_reference_of_an_earlier_dynamic_fork_is_a_duplicate(engine: MemoryEngine) -> None:
    """Oracle row 21."""
    spread = dynamic_fork("g")
    definition = workflow("w", dynamic_fork("f"), join("j"), spread, join("k"))
    started = engine.start(definition, input={"branches": [simple("a")], "inputs": {}})
    engine.run("a")
    assert engine.statuses(started)["g"] == "FAILED_WITH_TERMINAL_ERROR"
    assert status_of(engine, started) == "FAILED"


def test_branches_are_found_by_expressions_of_later_tasks(engine: MemoryEngine) -> None:
    after = simple("y", inputParameters={"v": "${a.output.v}"})
    definition = workflow("w", dynamic_fork("f"), join("j"), after)
    engine.start(definition, input={"branches": [simple("a")], "inputs": {}})
    engine.run("a", {"v": 9})
    (task,) = engine.poll("y")
    assert task["inputData"] == {"v": 9}


def test_expressions_in_a_branchs_input_are_resolved(engine: MemoryEngine) -> None:
    branch = simple("a", inputParameters={"v": "${workflow.input.n}"})
    definition = workflow("w", dynamic_fork("f"), join("j"))
    engine.start(definition, input={"branches": [branch], "inputs": {}, "n": 5})
    (task,) = engine.poll("a")
    assert task["inputData"] == {"v": 5}


def test_failing_branch_fails_the_workflow(engine: MemoryEngine) -> None:
    started = _started(engine, [simple("a"), simple("b")])
    run_failing(engine, "a")
    engine.settle()
    assert status_of(engine, started) == "FAILED"
    assert engine.statuses(started)["b"] == "CANCELED"


def test_optional_branch_may_fail(engine: MemoryEngine) -> None:
    started = _started(engine, [simple("a", optional=True), simple("b")])
    run_failing(engine, "a")
    engine.run("b")
    assert engine.statuses(started)["j"] == "COMPLETED_WITH_ERRORS"


def test_branch_that_is_a_loop_counts_when_the_loop_ends(engine: MemoryEngine) -> None:
    started = _started(engine, [times("l", 2, simple("x")), simple("b")])
    engine.run("b")
    engine.run("x")
    assert engine.statuses(started)["j"] == "IN_PROGRESS"
    engine.run("x")
    assert engine.statuses(started)["j"] == "COMPLETED"


def test_branch_that_is_a_switch_counts_when_its_case_has_ended(engine: MemoryEngine) -> None:
    choice = switch("s", "a", {"a": [simple("x"), simple("y")]})
    started = _started(engine, [choice])
    assert engine.statuses(started)["j"] == "IN_PROGRESS"
    engine.run("x")
    assert engine.statuses(started)["j"] == "IN_PROGRESS"
    engine.run("y")
    assert engine.statuses(started)["j"] == "COMPLETED"


def test_dynamic_forks_side_by_side(engine: MemoryEngine) -> None:
    left = [fork_inputs("f", [1, 2], forkTaskName="x"), join("j")]
    right = [fork_inputs("g", [3], forkTaskName="y"), join("k")]
    started = engine.start(workflow("w", fork("o", left, right), join("q", "j", "k")))
    for name in ("x", "y", "x"):
        engine.run(name)
    assert status_of(engine, started) == "COMPLETED"


def test_same_dynamic_fork_in_each_iteration(engine: MemoryEngine) -> None:
    body = [fork_inputs("f", "${l.output.loopItem}", forkTaskName="x"), join("j")]
    started = engine.start(workflow("w", for_each("l", [[1, 2], [], [3]], *body)))
    refs = [engine.run("x")["referenceTaskName"] for _ in range(3)]
    assert refs == ["_f_x_0__1", "_f_x_1__1", "_f_x_0__3"]
    assert status_of(engine, started) == "COMPLETED"


def test_branch_without_a_worker_ends_at_once(engine: MemoryEngine) -> None:
    started = _started(engine, [set_variable("v", n=1), inline("i", "2")])
    assert engine.statuses(started)["z"] == "SCHEDULED"
    assert engine.workflow(started)["variables"] == {"n": 1}


def test_timed_wait_as_a_branch(engine: MemoryEngine) -> None:
    started = _started(engine, [typed("WAIT", "t", inputParameters={"duration": "5s"})])
    pass_time(engine, seconds=5)
    assert engine.statuses(started)["z"] == "SCHEDULED"


def test_dynamic_fork_inside_a_branch_of_a_dynamic_fork(engine: MemoryEngine) -> None:
    inner = [fork_inputs("g", [1, 2], forkTaskName="x"), join("k")]
    started = _started(engine, [for_each("l", ["p", "q"], *inner), simple("b")])
    engine.run("b")
    for _ in range(4):
        assert engine.statuses(started)["j"] == "IN_PROGRESS"
        engine.run("x")
    assert engine.statuses(started)["j"] == "COMPLETED"


def test_dynamic_task_inside_a_switch_that_is_a_branch(engine: MemoryEngine) -> None:
    named = typed("DYNAMIC", "d", dynamicTaskNameParam="n", inputParameters={"n": "x"})
    started = _started(engine, [switch("s", "a", {"a": [named, simple("y")]})])
    engine.run("x")
    assert engine.statuses(started)["j"] == "IN_PROGRESS"
    engine.run("y")
    assert engine.statuses(started)["j"] == "COMPLETED"


@pytest.mark.parametrize("more", [{"permissive": True}, {"optional": True}], ids=str)
def test_reasons_of_branches_that_are_switches_stand_in_the_order_of_the_branches(
    engine: MemoryEngine, more: dict[str, bool]
) -> None:
    branches = [
        switch("s1", "a", {"a": [simple("x", **more)]}),
        simple("b", **more),
        switch("s2", "a", {"a": [switch("deep", "a", {"a": [simple("y", **more)]})]}),
    ]
    started = _started(engine, branches)
    for ref in "ybx":
        run_failing(engine, ref, f"{ref} is sour")
    reason = task_of(engine, started, "j")["reasonForIncompletion"]
    places = [reason.index(f"{ref} is sour") for ref in "xby"]
    assert places == sorted(places)


@pytest.mark.parametrize("value", ["text", -1, 2.5, [1], {"a": 1}, [[]]], ids=str)
@pytest.mark.parametrize(
    ("type_", "key"),
    [
        ("SIMPLE", "startDelay"),
        ("SIMPLE", "retryCount"),
        ("SIMPLE", "taskDefinition"),
        ("SIMPLE", "inputParameters"),
        ("SWITCH", "decisionCases"),
        ("SWITCH", "defaultCase"),
        ("DO_WHILE", "loopOver"),
        ("SUB_WORKFLOW", "subWorkflowParam"),
        ("JOIN", "joinOn"),
        ("FORK_JOIN", "forkTasks"),
        ("DYNAMIC", "dynamicTaskNameParam"),
        ("INLINE", "expression"),
    ],
)
def test_branch_that_is_nonsense_ends_the_workflow_in_order(
    engine: MemoryEngine, type_: str, key: str, value: Any
) -> None:
    started = _started(engine, [{**typed(type_, "b"), key: value}])
    for _ in range(4):
        for task in engine.poll("b", 5):
            engine.complete(task, status="FAILED_WITH_TERMINAL_ERROR")
        for task in engine.poll("z", 5):
            engine.complete(task)
        pass_time(engine, seconds=1)
    assert status_of(engine, started) in {"COMPLETED", "FAILED"}


# -- many ------------------------------------------------------------------------------------------


def _fan(engine: MemoryEngine, width: int) -> str:
    spread = fork_inputs("f", "${workflow.input.items}", forkTaskName="x")
    definition = workflow("w", spread, join("j"), simple("z"))
    started = engine.start(definition, input={"items": list(range(width))})
    engine.settle()
    return started


@pytest.mark.thorough(target="histories")
def test_five_thousand_branches_are_made_in_pieces() -> None:
    engine = memory_engine(limits=Limits(attempts=300))
    started = _fan(engine, 5000)
    done = 0
    while tasks := engine.poll("x", 200):
        for task in tasks:
            engine.complete(task)
        done += len(tasks)
    engine.settle()
    assert done == 5000
    assert engine.statuses(started)["z"] == "SCHEDULED"
    assert len(engine.workflow(started)["tasks"]) == 5003


def test_join_counts_all_branches_from_the_first_piece_on() -> None:
    """Results come in while branches are still being made: the join must not close early."""
    engine = memory_engine(limits=Limits(attempts=5))
    inline_branches = [inline(f"i{n}", "1") for n in range(23)]
    definition = workflow("w", dynamic_fork("f"), join("j"), simple("z"))
    given = {"branches": inline_branches, "inputs": {}}
    started = engine.start(definition, input=given)
    engine.settle()
    assert engine.statuses(started)["z"] == "SCHEDULED"
    assert len(engine.workflow(started)["tasks"]) == 26


def test_failure_while_branches_are_still_being_made_ends_them_all() -> None:
    engine = memory_engine(limits=Limits(attempts=50))
    spread = fork_inputs("f", "${workflow.input.items}", forkTaskType="INLINE")
    items: list[Any] = [{"expression": "1"}] * 700
    items[120] = {"expression": "throw 1"}
    started = engine.start(workflow("w", spread, join("j")), input={"items": items})
    engine.settle()
    found = engine.workflow(started)
    assert found["status"] == "FAILED"
    open_left = [t for t in found["tasks"] if t["status"] in {"SCHEDULED", "IN_PROGRESS"}]
    assert open_left == []
    assert len(found["tasks"]) < 700


def test_an_item_may_say_how_its_branch_is_treated(engine: MemoryEngine) -> None:
    items: list[dict[str, Any]] = [
        {"optional": True, "retryCount": 0, "v": 1},
        {"optional": "perhaps", "retryCount": "many", "v": 2},
    ]
    started = engine.start(workflow("w", fork_inputs("f", items, forkTaskName="a"), join("j")))
    one, two = sorted(engine.poll("a", 5), key=lambda task: task["inputData"]["__index"])
    assert one["inputData"] == {**items[0], "__index": 0}
    engine.complete(one, status="FAILED")
    engine.complete(two)
    assert engine.statuses(started)["j"] == "COMPLETED_WITH_ERRORS"
    assert status_of(engine, started) == "COMPLETED"


@pytest.mark.anomaly("A-36")
@pytest.mark.parametrize("version", ["1", 1, 1.0, "one", None, [1]])
def test_sub_workflow_branches_take_a_version_in_any_form(
    engine: MemoryEngine, version: Any
) -> None:
    child = workflow_from_json(workflow("c", simple("x")))
    engine.engine.definitions.register(child, overwrite=False)
    items = [{"v": 1, "taskToDomain": {"x": "d"}}, 5]
    spread = fork_inputs("f", items, forkTaskWorkflow="c", forkTaskWorkflowVersion=version)
    started = engine.start(workflow("w", spread, join("j")))
    engine.settle()
    assert len(engine.poll("x", domain="d")) == 1
    (other,) = engine.poll("x")
    found = engine.workflow(other["workflowInstanceId"])
    assert found["input"] == {"input": 5, "__index": 1}
    assert status_of(engine, started) == "RUNNING"


def test_the_fork_shows_what_it_brought_up_to_a_bound(engine: MemoryEngine) -> None:
    few = engine.start(workflow("w", fork_inputs("f", [1], forkTaskType="NOOP"), join("j")))
    shown = task_of(engine, few, "f")["inputData"]
    assert shown["forkedTasks"] == ["_f_NOOP_0"]
    assert shown["forkedTaskDefs"][0]["inputParameters"] == {"input": 1, "__index": 0}
    many = engine.start(
        workflow("w", fork_inputs("f", list(range(101)), forkTaskType="NOOP"), join("j"))
    )
    assert "forkedTaskDefs" not in task_of(engine, many, "f")["inputData"]
