"""The page on compatibility names what a definition is refused for and Conductor takes."""

import ast
import inspect
import re
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

import pytest

from conductor_py.decider.expressions.expressions import check as check_expressions
from conductor_py.errors import InvalidInput
from conductor_py.wire import dag_rules, parameter_rules, task_rules, validation
from conductor_py.wire.definition_reader import DefinitionReader
from conductor_py.wire.definitions import (
    TASK_DEF,
    WORKFLOW_DEF,
    WORKFLOW_TASK,
    CacheConfigForm,
    RateLimitConfigForm,
)
from conductor_py.wire.fields import Whole
from conductor_py.wire.validation import Limits, Rules
from tests.docs.pages import page

Json = dict[str, Any]

_SECTION = page("docs/reference/compatibility.md").section("Definitions that are refused")
_ROWS = [line.split("|") for line in _SECTION.splitlines() if line.startswith("| `")]
_NAMED = {name for cells in _ROWS for name in re.findall(r"`([^`]+)`", cells[1])}

#: What Conductor's own validators refuse, too, when a definition is registered.
_REFUSED_THERE = frozenset(
    {
        *("name", "tasks", "schemaVersion", "ownerEmail", "taskReferenceName"),
        *("decisionCases", "evaluatorType", "expression", "caseValueParam", "caseExpression"),
        *("sink", "dynamicTaskNameParam", "forkTasks", "loopCondition", "loopOver", "optional"),
        *("dynamicForkJoinTasksParam", "dynamicForkTasksParam", "dynamicForkTasksInputParamName"),
        *("subWorkflowParam", "inputParameters", "inputParameters.terminationStatus"),
        *("inputParameters.http_request", "inputParameters.kafka_request"),
        "inputParameters.queryExpression",
        *("backoffScaleFactor", "responseTimeoutSeconds", "timeoutSeconds"),
    }
)
_LOOKED_AT_WHEN_REGISTERED = frozenset(
    {"retryCount", "pollTimeoutSeconds", "responseTimeoutSeconds", "backoffScaleFactor"}
)
_NUMBERS_REFUSED_THERE = frozenset(
    {
        *(f"TaskDefForm.{name}" for name in _LOOKED_AT_WHEN_REGISTERED),
        "WorkflowTaskForm.startDelay",
    }
)


def _literals(node: ast.expr) -> Iterator[str]:
    """A path as it is written in the code; what is inserted into it is a place, ``n``."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.value
    elif isinstance(node, ast.JoinedStr):
        parts = [each.value if isinstance(each, ast.Constant) else "n" for each in node.values]
        yield "".join(map(str, parts))


def _paths(module: ModuleType) -> Iterator[str]:
    """The places that the rules of a module complain about."""
    for node in ast.walk(ast.parse(inspect.getsource(module))):
        match node:
            case ast.Yield(value=ast.Tuple(elts=[first, _, *_])):
                yield from _literals(first)
            case ast.Call(func=ast.Name(id="_evaluator"), args=[first, *_]):
                yield from _literals(first)
            case ast.Call(
                func=ast.Name(id="_needs_input"), args=[ast.Constant(value=str(name)), *_]
            ):
                yield f".inputParameters.{name}"
            case ast.Call(func=ast.Name(id="Violation"), keywords=keywords):
                for each in keywords:
                    if each.arg == "path":
                        yield from _literals(each.value)


def _places(*modules: ModuleType) -> set[str]:
    found = {path for module in modules for path in _paths(module)}
    return {path.removeprefix("n").removeprefix(".") for path in found if path.strip("n.")}


def test_every_place_that_the_rules_complain_about_is_named() -> None:
    places = _places(validation, task_rules)
    assert {"joinOn[n]", "forkTasks[n]", "inputParameters.keepLastN"} <= places
    places -= {"inputParameters.n", "inputParameters.jobn"}  # whatever stands below
    assert places - _REFUSED_THERE - _NAMED == set()


def test_members_that_conductor_does_not_have_are_named() -> None:
    ends = {place.rpartition(".")[2] for place in _places(dag_rules, parameter_rules)}
    members = {
        f"{field.data_key}"
        for form in (WORKFLOW_DEF, WORKFLOW_TASK)
        for field in form.fields.values()
    }
    about = {re.sub(r"\W.*", "", end) for end in ends} & members
    about -= {"items"}  # of a condition
    assert {"relations", "triggerRule", "prohibited", "outParameters"} <= about
    assert about - _REFUSED_THERE - _NAMED == set()


def _numbers(least: bool) -> set[str]:
    forms = (TASK_DEF, WORKFLOW_TASK, WORKFLOW_DEF, RateLimitConfigForm(), CacheConfigForm())
    return {
        f"{type(form).__name__}.{field.data_key}"
        for form in forms
        for field in form.fields.values()
        if isinstance(field, Whole) and (field.least if least else field.most) is not None
    }


def _row(sentence: str) -> set[str]:
    (cells,) = (cells for cells in _ROWS if cells[2].strip() == sentence)
    return set(re.findall(r"`([^`]+)`", cells[1]))


def test_numbers_that_are_bounded_are_named() -> None:
    below = {name.partition(".")[2] for name in _numbers(least=True) - _NUMBERS_REFUSED_THERE}
    assert _row("a number below 0") == below
    above = {name.partition(".")[2] for name in _numbers(least=False)}
    assert _row("more than ten years") == above


def _task(ref: str = "a", kind: str = "SIMPLE", **more: Any) -> Json:
    return {"name": "t", "taskReferenceName": ref, "type": kind, **more}


def _switch(**more: Any) -> Json:
    return _task("s", "SWITCH", decisionCases={"x": [_task()]}, **more)


def _loop(*tasks: Json, **more: Any) -> Json:
    return _task("l", "DO_WHILE", loopCondition="false", loopOver=list(tasks), **more)


def _child(**params: Any) -> Json:
    return _task("c", "SUB_WORKFLOW", subWorkflowParam=params)


def _wait(**given: Any) -> Json:
    return _task("w", "WAIT", inputParameters=given)


def _forks(**more: Any) -> Json:
    names = {"dynamicForkTasksParam": "x", "dynamicForkTasksInputParamName": "y"}
    return _task("f", "FORK_JOIN_DYNAMIC", **{**names, **more})


def _giving(value: Any) -> Json:
    return {"tasks": [_task()], "outputParameters": {"x": value}}


def _bounded(name: str, value: int, *, of_workflow: bool = False) -> Json:
    """A definition that has that number where it belongs."""
    if of_workflow and name == "timeoutSeconds":
        return {"tasks": [_task()], name: value}
    if name == "ttlInSecond":
        return _task(cacheConfig={"key": "k", name: value})
    if name in {"retryCount", "startDelay"}:
        return {**_task(), name: value}
    return _task(taskDefinition={"name": "t", name: value})


_DEEP: Any = "${workflow.input.x}"
for _ in range(101):
    _DEEP = [_DEEP]

#: The row by its place and a piece of its sentence, and one definition that it is about.
#: Where an expression may stand but in the input and the output, and what has it there.
_READ_BESIDE_INPUT: dict[str, Callable[[str], Json]] = {
    "sink": lambda text: _task("e", "EVENT", sink=f"conductor:{text}"),
    "items": lambda text: _loop(_task("in"), items=text),
    "onStateChange": lambda text: _task(
        onStateChange={"onStart": [{"type": "e", "payload": {"x": text}}]}
    ),
    "cacheConfig": lambda text: _task(cacheConfig={"key": text, "ttlInSecond": 1}),
    "subWorkflowParam.name": lambda text: _child(name=text),
    "subWorkflowParam.taskToDomain": lambda text: _child(name="c", taskToDomain={"t": text}),
    "failureWorkflow": lambda text: {"tasks": [_task()], "failureWorkflow": text},
    "inputTemplate": lambda text: _task(taskDefinition={"inputTemplate": {"x": text}}),
}

_CASES: list[tuple[str, str, Json]] = [
    ("name", "blanks only", {"name": " ", "tasks": [_task()]}),
    ("taskReferenceName", "blanks only", _task(" ")),
    ("name", "more than 1,000", {"name": "x" * 1_001, "tasks": [_task()]}),
    ("taskReferenceName", "more than 1,000", _task("x" * 1_001)),
    ("type", "more than 1,000", _task("a", "X" * 1_001)),
    ("taskReferenceName", "`param`", {"parameters": {"x": 1}, "tasks": [_task("param")]}),
    ("name", "of a SIMPLE task", {**_task(), "name": "JOIN"}),
    ("type", "shown as", _task("a", "FORK")),
    ("tasks", "more tasks than", {"tasks": [_task(f"t{n}") for n in range(6)]}),
    ("loopOver[n]", "outside a loop", _loop(_task("h", "HTTP"))),
    ("loopOver[n]", "outside a loop", _loop({})),
    (
        "subWorkflowParam.workflowDefinition",
        "everything that is refused",
        _child(workflowDefinition={"name": "c", "tasks": []}),
    ),
    ("subWorkflowParam.version", "neither a number", _child(name="c", version="newest")),
    ("subWorkflowParam.priority", "neither a number", _child(name="c", priority="soon")),
    ("inputParameters", "names no task", _loop(_task(inputParameters={"x": "${no.output}"}))),
    ("inputParameters", "malformed", _loop(_task(inputParameters={"x": "${workflow..}"}))),
    ("inputParameters", "closes", _task(inputParameters={"x": "${workflow.input"})),
    (
        "inputParameters",
        "look-around",
        _task(inputParameters={"x": "${workflow.input.a[?(@.b =~ /(?=x)y/)]}"}),
    ),
    ("inputParameters", "nested more than", _task(inputParameters={"x": _DEEP})),
    (
        "inputParameters",
        "nested more than",
        _task(inputParameters={"x": "${" * 18 + "workflow.input.x" + "}" * 18}),
    ),
    (
        "outputParameters",
        "malformed",
        {"tasks": [_task()], "outputParameters": {"x": "${workflow..}"}},
    ),
    ("outputParameters", "closes", _giving("${workflow.input")),
    ("outputParameters", "look-around", _giving("${workflow.input.a[?(@.b =~ /(?=x)y/)]}")),
    *(
        (place, piece, reads(text))
        for piece, text in (("is malformed", "${a..}"), ("has no end", "${a"))
        for place, reads in _READ_BESIDE_INPUT.items()
    ),
    ("outputParameters", "nested more than", _giving(_DEEP)),
    (
        "rateLimitConfig",
        "`rateLimitKey`",
        {"tasks": [_task()], "rateLimitConfig": {"rateLimitKey": "${workflow..}"}},
    ),
    (
        "rateLimitConfig",
        "`rateLimitKey`",
        {"tasks": [_task()], "rateLimitConfig": {"rateLimitKey": "${workflow"}},
    ),
    ("joinOn[n]", "no task", _task("j", "JOIN", joinOn=["nobody"])),
    ("forkTasks[n]", "without a task", _task("f", "FORK_JOIN", forkTasks=[[]])),
    *(
        ("evaluatorType", "of a SWITCH", _switch(evaluatorType=name, expression="1"))
        for name in ("python", " ", "")
    ),
    ("expression", "`graaljs`", _switch(evaluatorType="graaljs", expression="(((")),
    ("expression", "empty text", _switch(evaluatorType="javascript", expression="")),
    ("sink", "empty text", _task("e", "EVENT", sink="")),
    ("dynamicTaskNameParam", "empty text", _task("d", "DYNAMIC", dynamicTaskNameParam="")),
    ("caseValueParam", "empty text", {**_switch(caseValueParam=""), "type": "DECISION"}),
    ("loopCondition", "empty text", {**_loop(_task()), "loopCondition": ""}),
    ("dynamicForkTasksParam", "empty text", _forks(dynamicForkTasksParam="")),
    ("dynamicForkTasksInputParamName", "empty text", _forks(dynamicForkTasksInputParamName="")),
    ("inputParameters.expression", "INLINE", _task("i", "INLINE")),
    *(
        (
            "inputParameters.evaluatorType",
            "INLINE",
            _task("i", "INLINE", inputParameters={"expression": "1", "evaluatorType": name}),
        )
        for name in ("python", "")
    ),
    ("inputParameters.scriptExpression", "LAMBDA", _task("l", "LAMBDA")),
    ("inputParameters.startWorkflow", "START_WORKFLOW", _task("s", "START_WORKFLOW")),
    (
        "inputParameters.keepLastN",
        "whole number",
        _loop(_task(), inputParameters={"keepLastN": "${workflow.input.n}"}),
    ),
    ("inputParameters.duration", "blanks", _wait(duration=" ")),
    ("inputParameters.until", "blanks", _wait(until=" ")),
    ("inputParameters.until", "does not exist", _wait(until="2026-02-30")),
    ("inputParameters.until", "24:00", _wait(until="2026-02-28 24:00")),
    ("inputParameters.until", "two digits", _wait(until="26-02-28")),
    ("taskDefinition", "a text", _task(taskDefinition="t")),
    *(
        ("taskDefinition", f"`{name}`", _task(taskDefinition={"name": "t", name: -1}))
        for name in sorted(_LOOKED_AT_WHEN_REGISTERED)
    ),
    ("inputParameters[n]", "`null`", {"tasks": [_task()], "inputParameters": ["a", None]}),
    ("maskedFields[n]", "`null`", {"tasks": [_task()], "maskedFields": [None]}),
    ("joinOn[n]", "`null`", _task("j", "JOIN", joinOn=[None])),
    (
        "defaultExclusiveJoinTask[n]",
        "`null`",
        _task("j", "EXCLUSIVE_JOIN", joinOn=["a"], defaultExclusiveJoinTask=[None]),
    ),
    *(
        (f"{name}[n]", "`null`", _task(taskDefinition={"name": "t", name: [None]}))
        for name in ("inputKeys", "outputKeys", "runtimeMetadata")
    ),
    ("taskToDomain", "`null`", _child(name="c", taskToDomain={"a": None})),
    ("onStateChange", "`null`", _task(onStateChange={"onStart": None})),
    ("onStateChange", "`null`", _task(onStateChange={"onStart": [None]})),
    ("onStateChange", "without a `type`", _task(onStateChange={"onStart": [{"payload": {}}]})),
    *(
        (name, "below 0", _bounded(name, -1, of_workflow=True))
        for name in sorted(_row("a number below 0"))
    ),
    *(
        (name, "ten years", _bounded(name, 10**9 * (1000 if name.endswith("Ms") else 1)))
        for name in sorted(_row("more than ten years"))
    ),
    (
        "maskedFields",
        "more than 1,000",
        {"tasks": [_task()], "maskedFields": [f"f{n}" for n in range(1_001)]},
    ),
    ("type", "CONDITIONS", _task("c", "CONDITIONS")),
    ("triggerRule", "refuse", _task(triggerRule="ALL_DONE")),
    ("relations", "refuse", {"tasks": [_task()], "relations": [{"postTask": "nobody"}]}),
    ("prohibited", "refuse", _task(prohibited="often")),
    ("failureStrategy", "refuse", {"tasks": [_task()], "failureStrategy": "PRAY"}),
    ("parameters", "refuse", {"tasks": [_task()], "parameters": {" ": 1}}),
    ("outParameters", "refuse", _task(outParameters={"x": {"from": "nowhere"}})),
    ("taskPriority", "refuse", _task(taskPriority="soon")),
    ("businessTime", "refuse", _child(name="c", businessTime="one day")),
    ("zoneId", "refuse", _child(name="c", zoneId="Mars/Olympus")),
    ("inputParameters.job", "refuse", _task("p", "SPARK_PIPELINE", inputParameters={"job": 1})),
]


@pytest.mark.parametrize(
    ("place", "piece", "sent"), _CASES, ids=[f"{place} {piece}" for place, piece, _ in _CASES]
)
def test_what_a_row_says_is_refused_at_the_place_that_it_names(
    place: str, piece: str, sent: Json
) -> None:
    assert any(f"`{place}`" in cells[1] and piece in cells[2] for cells in _ROWS)
    rules = Rules(
        limits=Limits(max_tasks=5),
        check_expressions=check_expressions,
        check_script=lambda script: "does not parse" if script == "(((" else None,
    )
    body = {"name": "w"} | (sent if "tasks" in sent else {"tasks": [sent]})
    with pytest.raises(InvalidInput) as refused:
        DefinitionReader(rules).workflow(body)
    found = [re.sub(r"\[\d+\]", "[n]", each.path) for each in refused.value.violations]
    assert any(place in path for path in found), found


def test_a_list_of_more_than_a_thousand_definitions_is_refused() -> None:
    assert "| a list of definitions | more than 1,000 |" in _SECTION
    reader = DefinitionReader(Rules(limits=Limits(max_tasks=5)))
    listed = [{"name": f"t{number}"} for number in range(1_001)]
    assert len(reader.task_defs(listed[:1_000])) == 1_000
    with pytest.raises(InvalidInput) as refused:
        reader.task_defs(listed)
    assert [each.path for each in refused.value.violations] == ["$"]


def test_every_place_of_a_row_about_one_definition_has_its_case() -> None:
    without = [
        (place, cells[2].strip())
        for cells in _ROWS
        for place in re.findall(r"`([^`]+)`", cells[1])
        if not any(place == shown and piece in cells[2] for shown, piece, _ in _CASES)
    ]
    assert without == [
        ("subWorkflowParam", "a workflow that includes itself on every path"),  # which takes two
        # Read beside the definition: api/test_policies.
        ("tags", "a text of more than 1,000 characters, or more than 100 tags"),
    ]
