"""What parameters are refused for, and where."""

from __future__ import annotations

import tracemalloc
from dataclasses import replace
from typing import Any

import pytest

from conductor_py.decider.expressions import expressions
from conductor_py.errors import DefinitionError
from conductor_py.model.definition_form import workflow_from_json
from conductor_py.testing.definitions import (
    Json,
    dag,
    dynamic_fork,
    fork,
    join,
    simple,
    sub_workflow,
    times,
    workflow,
)
from conductor_py.wire.definition_reader import DefinitionReader
from conductor_py.wire.parameter_rules import parameter_findings
from conductor_py.wire.validation import Rules, findings


def _refused(definition: Json) -> dict[str, str]:
    try:
        DefinitionReader().workflow(definition)
    except DefinitionError as refused:
        return {found.path: found.message for found in refused.violations}
    return {}


def _reading(ref: str, *names: str, **more: Any) -> Json:
    read = {f"p{n}": f"<${{param.{name}}}>" for n, name in enumerate(names)}
    return simple(ref, inputParameters=read, **more)


def _giving(ref: str) -> Json:
    return simple(ref, outParameters=["n"])


@pytest.mark.parametrize(
    "definition",
    [
        workflow("w", _reading("a", "dt"), parameters={"dt": "$[yyyyMMdd-1]"}),
        workflow("w", _reading("a", "dt"), inputParameters=["dt"]),
        workflow("w", _reading("a", "dt"), inputTemplate={"dt": 1}),
        workflow("w", _reading("a", "dt", parameters={"dt": "$[HH]"})),
        workflow("w", _reading("a", "system.biz.date", "system.workflow.instance.id")),
        workflow("w", _reading("a", "system['biz']['date']")),
        workflow("w", _giving("a"), _reading("b", "n")),
        workflow("w", _reading("a", "o['n']"), parameters={"o": {"n": [1]}}),
        workflow("w", simple("a", inputParameters={"x": "${param.x}"}), parameters={"x": 1}),
        workflow("w", simple("a", inputParameters={"x": "${ param['x'] }"}), parameters={"x": 1}),
        workflow("w", simple("a", inputParameters={"x": "$${param.x}"})),
        workflow("w", simple("param"), simple("b", inputParameters={"x": "${param.output.x}"})),
        workflow(
            "w", _reading("a", "b"), parameters={"a": "${workflow.input.a}", "b": "${param.a}"}
        ),
        # A parameter that reads its own name finds the next one of that name.
        workflow("w", _reading("a", "x", parameters={"x": "${param.x}!"}), parameters={"x": 1}),
        dag(
            "w",
            [_giving("a"), simple("b"), _reading("c", "n")],
            "a > b",
            "b > c",
        ),
        workflow(
            "w",
            fork("f", [_giving("a")], [simple("b")]),
            join("j", "a", "b"),
            _reading("c", "n"),
        ),
        # A script is no text with expressions.
        workflow("w", times("l", 1, simple("a")) | {"loopCondition": "`${param.x}` && false"}),
    ],
)
def test_what_can_be_found_is_taken(definition: Json) -> None:
    assert _refused(definition) == {}


_NOWHERE = "which nothing gives"


@pytest.mark.parametrize(
    ("definition", "path", "says"),
    [
        (workflow("w", _reading("a", "dt")), "$.tasks[0].inputParameters.p0", _NOWHERE),
        (
            workflow("w", _reading("a", "n"), simple("b", outParameters=["n"])),
            "$.tasks[0].inputParameters.p0",
            _NOWHERE,
        ),
        (
            dag("w", [_giving("a"), _reading("b", "n")]),
            "$.tasks[1].inputParameters.p0",
            _NOWHERE,
        ),
        (
            workflow(
                "w",
                fork("f", [_giving("a")], [_reading("b", "n")]),
                join("j", "a", "b"),
            ),
            "$.tasks[0].forkTasks[1][0].inputParameters.p0",
            _NOWHERE,
        ),
        (
            workflow("w", simple("a", parameters={"x": 1}), _reading("b", "x")),
            "$.tasks[1].inputParameters.p0",
            _NOWHERE,
        ),
        (
            workflow("w", simple("a"), outputParameters={"x": ["${param.x}"]}),
            "$.outputParameters.x[0]",
            _NOWHERE,
        ),
        (
            workflow("w", simple("a", parameters={"x": "${param.x}"})),
            "$.tasks[0].parameters.x",
            _NOWHERE,
        ),
        (
            workflow("w", sub_workflow("s", "child-${param.x}")),
            "$.tasks[0].subWorkflowParam.name",
            _NOWHERE,
        ),
        (
            workflow("w", _reading("a", "system.biz.tomorrow")),
            "$.tasks[0].inputParameters.p0",
            "must read one of these of system",
        ),
        (
            workflow("w", simple("a"), parameters={"x": "${param.system.task.instance.id}"}),
            "$.parameters.x",
            "must read one of these of system",
        ),
        (
            workflow("w", simple("a"), outputParameters={"x": "${param.system.task.instance.id}"}),
            "$.outputParameters.x",
            "must read one of these of system",
        ),
        (
            workflow("w", simple("a"), rateLimitConfig={"rateLimitKey": "k-${param.x}"}),
            "$.rateLimitConfig.rateLimitKey",
            _NOWHERE,
        ),
        (
            workflow("w", simple("a", inputParameters={"x": "${param}"})),
            "$.tasks[0].inputParameters.x",
            "must name one parameter",
        ),
        (
            workflow("w", simple("a", inputParameters={"x": "${param.${workflow.input.x}}"})),
            "$.tasks[0].inputParameters.x",
            "must name one parameter",
        ),
        (
            workflow("w", simple("a"), parameters={"x": {"y": ["$[yyyy-QQ]"]}}),
            "$.parameters.x.y[0]",
            "has 'QQ', which is no part of a date",
        ),
        (
            workflow("w", simple("a", parameters={"x": "$[yyyyMMdd"})),
            "$.tasks[0].parameters.x",
            "has no closing bracket",
        ),
        (
            workflow("w", simple("a"), parameters={"x": "${a.output.n}"}),
            "$.parameters.x",
            "is there before any task",
        ),
        (
            workflow("w", simple("a", parameters={"x": ["u:${workflow.secrets.DB}"]})),
            "$.tasks[0].parameters.x[0]",
            "must not read secrets",
        ),
        (
            workflow("w", simple("a"), parameters={"x": "${workflow.env.REGION}"}),
            "$.parameters.x",
            "must not read secrets",
        ),
        (
            workflow("w", simple("a", parameters={"x": "${b.output.n}"})),
            "$.tasks[0].parameters.x",
            "refers to 'b', which is no task of this workflow",
        ),
        (
            workflow("w", simple("a"), parameters={"two words": 1}),
            "$.parameters['two words']",
            "must begin with a letter",
        ),
        (
            workflow("w", simple("a", parameters={"system": 1})),
            "$.tasks[0].parameters['system']",
            "system is taken",
        ),
        (
            workflow("w", simple("a", outParameters=["n", "n"])),
            "$.tasks[0].outParameters[1]",
            "there once",
        ),
        (
            workflow("w", simple("param"), parameters={"x": 1}),
            "$.tasks[0].taskReferenceName",
            "must not be param",
        ),
    ],
)
def test_what_cannot_is_refused_with_its_place(definition: Json, path: str, says: str) -> None:
    found = _refused(definition)
    assert list(found) == [path]
    assert says in found[path]


def test_their_expressions_are_checked_as_those_of_inputs() -> None:
    own = simple("a", parameters={"x": ["${unclosed"]})
    definition = workflow_from_json(workflow("w", own, parameters={"y": "${open"}))
    found = findings(definition, Rules(check_expressions=expressions.check))
    assert {each.path for each in found} == {"$.tasks[0].parameters.x[0]", "$.parameters.y"}


def test_a_cycle_is_named() -> None:
    own = {"a": "${param.b}", "b": "${param.c}", "c": "${param.a}", "d": "${param.a}"}
    (message,) = _refused(workflow("w", simple("t", parameters=own))).values()
    assert "must not form a cycle: " in message
    assert message.count("→") == 3


def test_a_long_chain_of_parameters_is_refused() -> None:
    own = {f"x{n}": f"${{param.x{n + 1}}}" for n in range(60)} | {"x60": 1}
    (message,) = _refused(workflow("w", simple("t", parameters=own))).values()
    assert "one within another" in message


def test_a_task_that_data_brings_may_be_named_like_the_root() -> None:
    forked = [dynamic_fork("f"), join("j")]
    read = {"o": "${param.output.x}"}
    assert _refused(workflow("w", *forked, outputParameters=read)) == {}
    (path,) = _refused(workflow("w", *forked, outputParameters=read, parameters={"y": 1}))
    assert path == "$.outputParameters.o"


def test_an_open_brace_before_much_text_costs_little() -> None:
    text = "${" + "a" * 200_000
    (message,) = _refused(workflow("w", simple("t", inputParameters={"x": text}))).values()
    assert message.endswith("which is no task of this workflow")


def test_everything_wrong_is_told_at_once() -> None:
    tasks = [_reading("a", "x", "y"), simple("b", parameters={"z": "$[]"})]
    assert len(_refused(workflow("w", *tasks, parameters={"1": 1}))) == 4


def test_thousands_of_tasks_that_hand_on_as_many_names_are_checked() -> None:
    tasks = [_reading(f"t{n}", f"n{n // 2}", outParameters=[f"n{n}"]) for n in range(1, 3000)]
    assert _refused(workflow("w", simple("t0", outParameters=["n0"]), *tasks)) == {}
    late = _reading("late", "n2999")
    assert list(_refused(workflow("w", simple("t0"), late, *tasks))) == [
        "$.tasks[1].inputParameters.p0",
        "$.tasks[2].inputParameters.p0",
    ]


def test_names_that_are_handed_on_without_end_are_refused_before_they_are_weighed() -> None:
    tasks = [
        simple(f"t{n}", outParameters=[f"p{n}_{each}" for each in range(100)]) for n in range(300)
    ]
    definition = workflow_from_json(workflow("w", *tasks))
    tracemalloc.start()
    found = list(parameter_findings(definition))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert [(path, "10,000 different names" in message) for path, message, _ in found] == [
        (".tasks[100].outParameters", True)
    ]
    assert peak < 4_000_000


def test_as_many_names_as_may_be_handed_on_take_little_memory() -> None:
    tasks = [
        simple(f"t{n}", outParameters=[f"p{n}_{each}" for each in range(100)]) for n in range(100)
    ]
    definition = workflow_from_json(workflow("w", *tasks, _reading("last", "p0_0", "p99_99")))
    tracemalloc.start()
    assert list(parameter_findings(definition)) == []
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 4_000_000


def test_names_of_one_task_are_not_compared_each_with_all_before_it() -> None:
    class Counted(str):
        compared = 0
        __slots__ = ()

        def __eq__(self, other: object) -> bool:
            Counted.compared += 1
            return str.__eq__(self, other)

        __hash__ = str.__hash__

    names = tuple(Counted(f"n{each}") for each in range(2_000))
    task = replace(workflow_from_json(workflow("w", simple("t"))).tasks[0], out_parameters=names)
    definition = replace(workflow_from_json(workflow("w", simple("t"))), tasks=(task,))
    assert list(parameter_findings(definition)) == []
    assert Counted.compared < 20 * len(names)
