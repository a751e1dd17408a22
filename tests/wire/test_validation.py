"""What definitions are refused for, and where."""

from collections.abc import Mapping
from typing import Any

import pytest

from conductor_py.decider.expressions.expressions import check as check_expressions
from conductor_py.errors import DefinitionError, InvalidInput
from conductor_py.model.definitions import TaskDef
from conductor_py.wire.definition_reader import DefinitionReader
from conductor_py.wire.validation import Limits, Rules, check_task_def


def _task(ref: str = "a", type: str = "SIMPLE", **more: Any) -> dict[str, Any]:
    return {"name": "t", "taskReferenceName": ref, "type": type} | more


def _paths(*tasks: dict[str, Any], rules: Rules | None = None, **more: Any) -> list[str]:
    reader = DefinitionReader(rules or Rules(check_expressions=check_expressions))
    try:
        reader.workflow({"name": "w", "tasks": list(tasks), **more})
    except DefinitionError as refused:
        return [found.path for found in refused.violations]
    return []


_JOIN = _task("j", "JOIN")
_FORK = _task("f", "FORK_JOIN", forkTasks=[[_task("b1")], [_task("b2")]])
_SWITCH: Mapping[str, Any] = {"evaluatorType": "javascript", "expression": "1"}


@pytest.mark.parametrize(
    "tasks",
    [
        [_task()],
        [_task("a", "UNHEARD_OF")],
        [_FORK],
        [_FORK, _task("j", "JOIN", joinOn=["b1", "b2"])],
        [_task("s", "SWITCH", decisionCases={"x": [_task()]}, **_SWITCH)],
        [_task("d", "DECISION", decisionCases={"x": []}, caseValueParam="c")],
        [_task("d", "DYNAMIC", dynamicTaskNameParam="p")],
        [_task("d", "FORK_JOIN_DYNAMIC", inputParameters={"forkTaskInputs": []}), _JOIN],
        [_task("d", "FORK_JOIN_DYNAMIC", dynamicForkJoinTasksParam="p"), _JOIN],
        [
            _task(
                "d",
                "FORK_JOIN_DYNAMIC",
                dynamicForkTasksParam="p",
                dynamicForkTasksInputParamName="i",
            ),
            _task("j", "JOIN", joinOn=["made_later"]),
        ],
        [_task("h", "HTTP", inputParameters={"uri": "u"})],
        [_task("h", "HTTP", taskDefinition={"inputTemplate": {"http_request": {}}})],
        [_task("e", "EVENT", sink="conductor")],
        [_task("t", "TERMINATE", inputParameters={"terminationStatus": "FAILED"})],
        [_task("l", "DO_WHILE", loopCondition="false", loopOver=[_task()])],
        [_task("l", "DO_WHILE", items="${workflow.input.l}", loopOver=[_task()])],
        [_task("s", "SUB_WORKFLOW", subWorkflowParam={"name": "child"})],
        [_task("s", "SUB_WORKFLOW", subWorkflowParam={"name": "c", "businessTime": "20260301"})],
        [_task("s", "SUB_WORKFLOW", subWorkflowParam={"name": "c", "businessTime": "${b.output}"})],
        [_task("q", "JSON_JQ_TRANSFORM", inputParameters={"queryExpression": "."})],
        [_task("w", "WAIT")],
        [_task("w", "WAIT", inputParameters={"duration": "2 days 3 hours 5 min 10s"})],
        [_task("w", "WAIT", inputParameters={"duration": "${workflow.input.d}"})],
        [_task("w", "WAIT", inputParameters={"until": "2030-12-31 23:59 Europe/Berlin"})],
        [_task("w", "WAIT", inputParameters={"until": "2030-12-31"})],
        [_task("a", inputParameters={"x": "${b.output.y} $${not.one}"}), _task("b")],
        [_task("a", inputParameters={"x": ["${workflow.input.y}", "${CPEWF_TASK_ID}"]})],
    ],
)
def test_good_definitions_are_taken(tasks: list[dict[str, Any]]) -> None:
    assert _paths(*tasks) == []


@pytest.mark.parametrize(
    ("tasks", "paths"),
    [
        ([], [".tasks"]),
        ([_task(""), {**_task(), "name": ""}], [".tasks[0].taskReferenceName", ".tasks[1].name"]),
        ([_task(), _task()], [".tasks[1].taskReferenceName"]),
        (
            [_task(), _task("l", "DO_WHILE", loopCondition="x", loopOver=[_task()])],
            [".tasks[1].loopOver[0].taskReferenceName"],
        ),
        (
            [_task(), _task("s", "SWITCH", decisionCases={"x": [_task()]}, **_SWITCH)],
            [".tasks[1].decisionCases['x'][0].taskReferenceName"],
        ),
        ([_FORK, _task("j", "JOIN", joinOn=["b1", "b3"])], [".tasks[1].joinOn[1]"]),
        ([_task("f", "FORK_JOIN"), _JOIN], [".tasks[0].forkTasks"]),
        ([_task("f", "FORK_JOIN", forkTasks=[[]]), _JOIN], [".tasks[0].forkTasks[0]"]),
        (
            [_task("s", "SWITCH")],
            [".tasks[0].decisionCases", ".tasks[0].evaluatorType", ".tasks[0].expression"],
        ),
        ([_task("d", "DECISION", decisionCases={"x": []})], [".tasks[0].caseValueParam"]),
        ([_task("d", "DYNAMIC")], [".tasks[0].dynamicTaskNameParam"]),
        (
            [_task("d", "FORK_JOIN_DYNAMIC"), _JOIN],
            [".tasks[0].dynamicForkTasksParam", ".tasks[0].dynamicForkTasksInputParamName"],
        ),
        (
            [
                _task(
                    "d",
                    "FORK_JOIN_DYNAMIC",
                    dynamicForkJoinTasksParam="p",
                    dynamicForkTasksParam="q",
                ),
                _JOIN,
            ],
            [".tasks[0].dynamicForkJoinTasksParam"],
        ),
        (
            [
                _task("a", "SIMPLE", name="TERMINATE"),
                _task("b", "SIMPLE", name="JOIN"),
                _task("c", "FORK"),
                _task("d", "SIMPLE", name="HTTP"),
            ],
            [".tasks[0].name", ".tasks[1].name", ".tasks[2].type"],
        ),
        ([_task("h", "HTTP")], [".tasks[0].inputParameters.http_request"]),
        ([_task("k", "KAFKA_PUBLISH")], [".tasks[0].inputParameters.kafka_request"]),
        ([_task("q", "JSON_JQ_TRANSFORM")], [".tasks[0].inputParameters.queryExpression"]),
        ([_task("e", "EVENT")], [".tasks[0].sink"]),
        (
            [_task("t", "TERMINATE", optional=True)],
            [".tasks[0].inputParameters.terminationStatus", ".tasks[0].optional"],
        ),
        ([_task("l", "DO_WHILE")], [".tasks[0].loopCondition", ".tasks[0].loopOver"]),
        ([_task("s", "SUB_WORKFLOW")], [".tasks[0].subWorkflowParam"]),
        (
            [_task("s", "SUB_WORKFLOW", subWorkflowParam={"name": "c", "businessTime": "soon"})],
            [".tasks[0].subWorkflowParam.businessTime"],
        ),
        (
            [_task("s", "SUB_WORKFLOW", subWorkflowParam={"name": "c", "zoneId": "Mars"})],
            [".tasks[0].subWorkflowParam.zoneId"],
        ),
        (
            [
                _task(
                    "s",
                    "SUB_WORKFLOW",
                    subWorkflowParam={"name": "c", "businessTime": "2026-13-45", "zoneId": "${z}"},
                )
            ],
            [".tasks[0].subWorkflowParam.businessTime"],
        ),
        (
            [_task("w", "WAIT", inputParameters={"duration": "1s", "until": "2030-01-01"})],
            [".tasks[0].inputParameters"],
        ),
        (
            [_task("w", "WAIT", inputParameters={"until": "2030-02-31"})],
            [".tasks[0].inputParameters.until"],
        ),
        (
            [_task("w", "WAIT", inputParameters={"until": 1_900_000_000_000})],
            [".tasks[0].inputParameters.until"],
        ),
        (
            [_task("w", "WAIT", inputParameters={"duration": True})],
            [".tasks[0].inputParameters.duration"],
        ),
        (
            [_task("a", inputParameters={"x": {"y z": ["${nobody.output.y}"]}})],
            [".tasks[0].inputParameters.x['y z'][0]"],
        ),
        (
            [_task("a", inputParameters={"x": "${workflow.input.y"})],
            [".tasks[0].inputParameters.x"],
        ),
        (
            [
                _task(
                    "s",
                    "SUB_WORKFLOW",
                    subWorkflowParam={"workflowDefinition": {"name": "c", "tasks": [_task("")]}},
                )
            ],
            [".tasks[0].subWorkflowParam.workflowDefinition.tasks[0].taskReferenceName"],
        ),
    ],
)
def test_bad_definitions_are_refused_with_paths(
    tasks: list[dict[str, Any]], paths: list[str]
) -> None:
    assert _paths(*tasks) == [f"${path}" for path in paths]


def test_http_task_without_a_request_is_told_both_forms() -> None:
    with pytest.raises(DefinitionError) as refused:
        DefinitionReader(Rules()).workflow({"name": "w", "tasks": [_task("h", "HTTP")]})
    (found,) = refused.value.violations
    assert found.message == "must be given, or uri and method in its place"


@pytest.mark.parametrize("duration", ["soon", "5", "3s 2m", "-1s", "1.5s"])
def test_durations_that_cannot_be_read_are_refused(duration: str) -> None:
    found = _paths(_task("w", "WAIT", inputParameters={"duration": duration}))
    assert found == ["$.tasks[0].inputParameters.duration"]


@pytest.mark.parametrize("keep", [0, -1, "3", "${workflow.input.n}", True, 1.5])
def test_keep_last_n_must_be_a_number(keep: Any) -> None:
    loop = _task(
        "l",
        "DO_WHILE",
        loopCondition="x",
        loopOver=[_task()],
        inputParameters={"keepLastN": keep},
    )
    assert _paths(loop) == ["$.tasks[0].inputParameters.keepLastN"]


def test_unknown_reference_below_the_top_may_come_from_a_dynamic_fork() -> None:
    inner = _task("a", inputParameters={"x": "${made_later.output.y}"})
    switch = _task("s", "SWITCH", decisionCases={"x": [inner]}, **_SWITCH)
    fork = _task("d", "FORK_JOIN_DYNAMIC", dynamicForkJoinTasksParam="p")
    assert _paths(fork, _JOIN, switch) == []
    assert _paths(switch) == ["$.tasks[0].decisionCases['x'][0].inputParameters.x"]


def test_names_that_are_no_task_are_refused_unless_they_are_allowed() -> None:
    task = _task("a", inputParameters={"x": "${REGION}"})
    assert _paths(task) == ["$.tasks[0].inputParameters.x"]
    assert _paths(task, rules=Rules(unknown_names=True)) == []


def test_definitions_are_bounded() -> None:
    rules = Rules(limits=Limits(max_tasks=3, max_depth=2))
    assert _paths(*(_task(f"t{n}") for n in range(3)), rules=rules) == []
    assert _paths(*(_task(f"t{n}") for n in range(5)), rules=rules) == ["$.tasks[3]"]
    deep = _task("c", "DO_WHILE", loopCondition="x", loopOver=[_task("d")])
    deeper = _task("b", "DO_WHILE", loopCondition="x", loopOver=[deep])
    assert _paths(deeper, rules=rules) == ["$.tasks[0].loopOver[0].loopOver[0]"]


def test_deployment_may_ask_for_more() -> None:
    rules = Rules(owner_email_mandatory=True, restrict_names=True)
    found = _paths(_task(), rules=rules, name="a/b")
    assert found == ["$.name", "$.ownerEmail"]
    assert _paths(_task(), rules=rules, name="a b-{c}#", ownerEmail="o@example.org") == []


def test_everything_is_found_at_once() -> None:
    found = _paths(_task("a", "EVENT"), _task("a", "HTTP"), schemaVersion=1)
    assert len(found) == 4


@pytest.mark.parametrize(
    ("definition", "path"),
    [
        (TaskDef(name=""), "$.name"),
        (TaskDef(name="a", response_timeout_seconds=0), "$.responseTimeoutSeconds"),
        (TaskDef(name="a", timeout_seconds=10), "$.responseTimeoutSeconds"),
        (TaskDef(name="a", backoff_scale_factor=0), "$.backoffScaleFactor"),
        (
            TaskDef(
                name="a", timeout_seconds=9, response_timeout_seconds=9, total_timeout_seconds=5
            ),
            "$.timeoutSeconds",
        ),
    ],
)
def test_bad_task_definitions_are_refused(definition: TaskDef, path: str) -> None:
    with pytest.raises(DefinitionError) as refused:
        check_task_def(definition, Rules())
    assert [found.path for found in refused.value.violations] == [path]


def test_timeouts_that_are_equal_are_fine() -> None:
    check_task_def(TaskDef(name="a", timeout_seconds=9, response_timeout_seconds=9), Rules())


@pytest.mark.parametrize(("count", "paths"), [(1_000, []), (1_001, ["$.maskedFields"])])
def test_masked_fields_by_the_thousand_are_refused(count: int, paths: list[str]) -> None:
    names = [f"name-{at}" for at in range(count)]
    assert _paths(_task(), maskedFields=names) == paths


@pytest.mark.parametrize(
    ("task", "path"),
    [
        (_task("s", "SWITCH", decisionCases={"x": [_task()]}, **_SWITCH), ".tasks[0].expression"),
        (
            _task("d", "DECISION", decisionCases={"x": [_task()]}, caseExpression="1"),
            ".tasks[0].caseExpression",
        ),
    ],
)
def test_program_that_does_not_parse_is_refused(task: dict[str, Any], path: str) -> None:
    refusing = Rules(check_script=lambda program: f"SyntaxError: {program}")
    assert _paths(task, rules=refusing) == ["$" + path]


def test_parameter_that_is_named_by_a_switch_is_no_program() -> None:
    named = {"evaluatorType": "value-param", "expression": "((("}
    switch = _task("s", "SWITCH", decisionCases={"x": [_task()]}, **named)
    assert _paths(switch, rules=Rules(check_script=lambda _: "SyntaxError")) == []


def test_what_is_wrong_with_the_form_and_with_what_it_says_is_told_at_once() -> None:
    body = {
        "name": "",
        "tasks": [
            {"name": "x", "taskReferenceName": "a", "type": "SWITCH", "expression": "x"},
            {"taskReferenceName": "a", "retryCount": "many"},
        ],
        "timeoutSeconds": -5,
    }
    with pytest.raises(InvalidInput) as refused:
        DefinitionReader().workflow(body, root="$.workflowDef")
    assert {found.path for found in refused.value.violations} == {
        "$.workflowDef.name",
        "$.workflowDef.tasks[0].decisionCases",
        "$.workflowDef.tasks[0].evaluatorType",
        "$.workflowDef.tasks[1].name",
        "$.workflowDef.tasks[1].retryCount",
        "$.workflowDef.tasks[1].taskReferenceName",
        "$.workflowDef.timeoutSeconds",
    }


def test_what_is_wrong_with_each_definition_of_a_list_is_told_at_once() -> None:
    good: dict[str, Any] = {"name": "g", "tasks": [{"name": "x", "taskReferenceName": "a"}]}
    with pytest.raises(InvalidInput) as refused:
        DefinitionReader().workflows([{}, good, {"name": "x"}, good | {"timeoutSeconds": "soon"}])
    assert [found.path for found in refused.value.violations] == [
        *("$[0].name", "$[0].tasks", "$[2].tasks", "$[3].timeoutSeconds")
    ]


def test_what_is_wrong_with_each_task_definition_is_told_at_once() -> None:
    late = {"name": "", "retryLogic": "SOMETIMES", "responseTimeoutSeconds": 20}
    with pytest.raises(InvalidInput) as refused:
        DefinitionReader().task_defs([late | {"timeoutSeconds": 10}, {"name": "t"}, {}])
    assert {found.path for found in refused.value.violations} == {
        *("$[0].name", "$[0].retryLogic", "$[0].responseTimeoutSeconds", "$[2].name")
    }


@pytest.mark.parametrize("tasks", [5, [5], [{"type": "DO_WHILE", "loopOver": [7]}], [[]]])
def test_what_is_no_definition_at_all_is_told_by_its_form_alone(tasks: object) -> None:
    with pytest.raises(InvalidInput) as refused:
        DefinitionReader().workflow({"name": "w", "tasks": tasks})
    assert all(found.path.startswith("$.tasks") for found in refused.value.violations)
