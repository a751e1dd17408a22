"""The page of expressions shows what an execution makes of them, and names all that they know."""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pytest

from conductor_py.decider.compile import WITHOUT_TEMPLATE
from conductor_py.decider.expressions import jsonpath_syntax
from conductor_py.decider.expressions.expressions import MAX_DEPTH, MAX_INNER
from conductor_py.decider.expressions.jsonpath_operators import _NEGATED, _ORDERED, _TESTS
from conductor_py.decider.expressions.jsonpath_syntax import _WORD_OPERATORS, FUNCTIONS, MAX_PATH
from conductor_py.decider.expressions.linear_regex import MAX_PATTERN, MAX_STATES
from conductor_py.decider.references import _TASK_MEMBERS, _WORKFLOW_MEMBERS
from conductor_py.errors import DefinitionError
from conductor_py.testing import MemoryEngine, memory_engine
from conductor_py.wire.event_handlers import read_event_handler
from tests.builders import (
    Json,
    do_while,
    dynamic_fork,
    for_each,
    fork,
    fork_inputs,
    inline,
    join,
    policy,
    run_failing,
    set_variable,
    simple,
    sub_workflow,
    switch,
    task_of,
    terminate,
    times,
    typed,
    workflow,
)
from tests.decider.conftest import _shared_scripts, scripts
from tests.docs.pages import Page, page

__all__ = ["_shared_scripts", "scripts"]

_PAGE = page("docs/reference/expressions.md")
_WHO = "${workflow.input.who}"


def _data() -> Json:
    shown = re.search(r"(?:^    .*\n)+", _PAGE.text, re.MULTILINE)
    assert shown is not None
    found: Json = json.loads(shown[0])
    return found


def _tables() -> Iterator[tuple[list[str], list[tuple[str, ...]]]]:
    """The head and the rows of each table of the page."""
    for found in re.findall(r"(?:^\|.*\n)+", _PAGE.text, re.MULTILINE):
        head = found.splitlines()[0].strip("|").split("|")
        rows = Page(path=_PAGE.path, text=found).rows()
        yield [cell.strip().strip("`") for cell in head], list(rows)


def _rows(name: str) -> list[tuple[str, ...]]:
    """The rows of the table that begins with a column of that name."""
    (rows,) = (rows for head, rows in _tables() if head[0] == name)
    return rows


def _examples() -> list[tuple[str, str]]:
    return [
        (row[head.index("written")], row[head.index("value")])
        for head, rows in _tables()
        if "written" in head
        for row in rows
    ]


def _read_behind_cart(written: str, *, checked: bool = True) -> Any:
    """What the input of a task becomes that follows the task ``cart`` of the page."""
    engine, data = memory_engine(), _data()
    reader = simple("reader", inputParameters={"found": written})
    definition = workflow("w", simple("cart"), reader)
    if checked:
        engine.register(definition)
    engine.start(definition, input=data["workflow"]["input"])
    engine.run("cart", data["cart"]["output"])
    return engine.run("reader")["inputData"]["found"]


def _read(engine: MemoryEngine, written: Any, **values: Any) -> Any:
    """What a text becomes in the first task of a workflow."""
    engine.start(workflow("w", simple("a", inputParameters={"v": written})), input=values)
    return engine.run("a")["inputData"]["v"]


@pytest.mark.parametrize(("written", "value"), _examples())
def test_an_example_becomes_what_the_page_says(written: str, value: str) -> None:
    assert json.dumps(_read_behind_cart(written)) == json.dumps(json.loads(value))


def test_there_are_examples_of_each_kind() -> None:
    tables = [head for head, _ in _tables() if "written" in head]
    assert len(tables) == 5
    assert len(_examples()) > 60


def test_a_reference_in_a_loop_is_what_the_page_says_within_and_behind_it() -> None:
    rows = _rows("in a loop")
    reads = {str(place): row[0] for place, row in enumerate(rows)}
    body = simple("a"), simple("b", inputParameters=reads), simple("c")
    engine = memory_engine()
    engine.start(workflow("w", times("l", 2, *body), simple("z", inputParameters=reads)))
    within = []
    for turn in (1, 2):
        engine.run("a", {"n": turn})
        within.append(engine.run("b", {"n": turn})["inputData"])
        engine.run("c", {"n": turn})
    behind = engine.run("z")["inputData"]
    shown = [[json.loads(value) for value in values] for _, *values in rows]
    assert [[within[1][place], behind[place]] for place in reads] == shown


@pytest.mark.parametrize(("wrong", "since", "value"), _rows("wrong"))
def test_a_wrong_one_is_refused_and_where_it_is_not_has_a_value(
    wrong: str, since: str, value: str
) -> None:
    with pytest.raises(DefinitionError) as refused:
        _read_behind_cart(wrong)
    assert since in " ".join(each.message for each in refused.value.violations)
    assert _read_behind_cart(wrong, checked=False) == json.loads(value)


# -- nothing is left out ---------------------------------------------------------------------------


def test_every_member_of_the_roots_is_named() -> None:
    known = {
        "${workflow.…}": sorted(_WORKFLOW_MEMBERS),
        "${<reference>.…}": sorted(_TASK_MEMBERS),
    }
    for root, members in known.items():
        named = [name for row in _rows(root) for name in re.findall(r"\w+", row[0])]
        assert sorted(named) == members


def test_every_function_is_named() -> None:
    named = [name for row in _rows("function") for name in re.findall(r"(\w+)\(", row[0])]
    assert sorted(named) == sorted(FUNCTIONS)


def test_every_operator_of_filters_is_named() -> None:
    known = {*_TESTS, *_NEGATED, *_ORDERED, *_WORD_OPERATORS, "=~", "!", "&&", "||", "none"}
    named = [name.strip("`") for row in _rows("operator") for name in row[0].split(", ")]
    assert sorted(named) == sorted(known)


def test_every_type_without_a_template_is_named() -> None:
    said = _PAGE.text.partition("## Defaults\n")[2].partition("## ")[0]
    assert set(re.findall(r"\b[A-Z]{3,}(?:_[A-Z]+)*\b", said)) == WITHOUT_TEMPLATE


def test_bounds_are_those_of_the_code() -> None:
    numbers = [re.findall(r"[\d,]*\d", row[1]) for row in _rows("what")]
    nested = jsonpath_syntax._MAX_DEPTH
    bounds = [[MAX_DEPTH], [MAX_INNER], [MAX_PATH, nested], [MAX_PATTERN, MAX_STATES]]
    assert numbers == [[f"{each:,}" for each in row] for row in bounds]


# -- where they are read ---------------------------------------------------------------------------


def _in_an_input(engine: MemoryEngine) -> Any:
    return _read(engine, _WHO, who="Ada")


def _in_a_template(engine: MemoryEngine) -> Any:
    engine.start(workflow("w", policy("a", inputTemplate={"v": _WHO})), input={"who": "Ada"})
    return engine.run("a")["inputData"]["v"]


def _in_an_output(engine: MemoryEngine) -> Any:
    started = engine.start(workflow("w", outputParameters={"v": _WHO}), input={"who": "Ada"})
    return engine.workflow(started)["output"]["v"]


def _in_the_name_of_a_child(engine: MemoryEngine) -> Any:
    engine.register(workflow("Ada", simple("a")))
    started = engine.start(workflow("w", sub_workflow("s", _WHO)), input={"who": "Ada"})
    return engine.workflow(task_of(engine, started, "s")["subWorkflowId"])["workflowName"]


def _in_a_sink(engine: MemoryEngine) -> Any:
    event = typed("EVENT", "e", sink=f"conductor:{_WHO}")
    started = engine.start(workflow("w", event), input={"who": "Ada"})
    return task_of(engine, started, "e")["outputData"]["event_produced"].rpartition(":")[2]


def _in_items(engine: MemoryEngine) -> Any:
    """They have changed by the second iteration."""
    body = simple("a", inputParameters={"v": "${l.output.loopItem}"}), set_variable("s", v=_WHO)
    loop = do_while("l", "", *body, items="${workflow.variables.v}")
    given = {"who": ["Bob", "Ada"]}
    started = engine.start(workflow("w", loop, variables={"v": ["Cy", "Di"]}), input=given)
    assert engine.run("a")["inputData"] == {"v": "Cy"}
    found = engine.run("a")["inputData"]["v"]
    assert engine.workflow(started)["status"] == "COMPLETED"
    return found


def _in_the_key_of_a_cache(engine: MemoryEngine) -> Any:
    task = simple("a", cacheConfig={"key": _WHO, "ttlInSecond": 60})
    for who in ("Ada", "Bob"):
        engine.start(workflow("w", task), input={"who": who})
        engine.run("a", {"v": who})
    started = engine.start(workflow("w", task), input={"who": "Ada"})
    return task_of(engine, started, "a")["outputData"]["v"]


def _in_a_payload(engine: MemoryEngine) -> Any:
    told = {"onScheduled": [{"type": "changes", "payload": {"v": _WHO}}]}
    engine.start(workflow("w", simple("a", onStateChange=told)), input={"who": "Ada"})
    engine.settle()
    (held,) = engine.ports.events.held("conductor:w:changes", 10)
    return json.loads(held)["payload"]["v"]


def _in_the_key_of_a_limit(engine: MemoryEngine) -> Any:
    limit = {"rateLimitKey": _WHO, "concurrentExecLimit": 1}
    started = engine.start(workflow("w", simple("a"), rateLimitConfig=limit), input={"who": "Ada"})
    return engine.workflow(started)["rateLimitKey"]


def _in_the_name_of_a_failure_workflow(engine: MemoryEngine) -> Any:
    engine.register(workflow("Ada", simple("b")))
    for name in (_WHO, "$workflow.input.who"):
        engine.start(workflow("w", simple("a"), failureWorkflow=name), input={"who": "Ada"})
        run_failing(engine, "a")
    first, second = engine.poll("b", 2)
    assert first["workflowType"] == second["workflowType"]
    return first["workflowType"]


def _in_a_parameter(engine: MemoryEngine) -> Any:
    reader = simple("a", inputParameters={"v": "${param.p}"})
    engine.start(workflow("w", reader, parameters={"p": _WHO}), input={"who": "Ada"})
    return engine.run("a")["inputData"]["v"]


def _in_an_action(engine: MemoryEngine) -> Any:
    engine.register(workflow("target", simple("a")))
    start = {"name": "target", "input": {"v": "${person.name}"}}
    action = {"action": "start_workflow", "start_workflow": start}
    handler = {"name": "h", "event": "conductor:w:q", "actions": [action], "active": True}
    engine.engine.events.register(read_event_handler(handler))
    event = typed("EVENT", "e", sink="conductor:q", inputParameters={"person": {"name": _WHO}})
    engine.start(workflow("w", event), input={"who": "Ada"})
    engine.settle()
    return engine.workflow(engine.run("a")["workflowInstanceId"])["input"]["v"]


_PLACES: Mapping[str, Callable[[MemoryEngine], Any]] = {
    "inputParameters": _in_an_input,
    "inputTemplate": _in_a_template,
    "outputParameters": _in_an_output,
    "subWorkflowParam": _in_the_name_of_a_child,
    "sink": _in_a_sink,
    "items": _in_items,
    "key": _in_the_key_of_a_cache,
    "payload": _in_a_payload,
    "rateLimitKey": _in_the_key_of_a_limit,
    "failureWorkflow": _in_the_name_of_a_failure_workflow,
    "parameters": _in_a_parameter,
    "actions": _in_an_action,
}


@pytest.mark.parametrize("found", _PLACES.values(), ids=_PLACES)
def test_an_expression_is_read_where_the_page_says(found: Callable[[MemoryEngine], Any]) -> None:
    assert found(memory_engine()) == "Ada"


def test_each_place_of_the_page_is_tried() -> None:
    assert [re.split(r"\W", row[0])[0] for row in _rows("where")] == list(_PLACES)


def test_what_a_child_is_told_may_hold_expressions() -> None:
    engine = memory_engine()
    reads = {"at": "${workflow.businessTime}", "zone": "${workflow.zoneId}"}
    engine.register(workflow("child", simple("c", inputParameters=reads)) | {"version": 7})
    given = {"name": "child", "version": 7, "priority": 9, "domain": "eu", "key": "k"}
    given |= {"at": 1_700_000_000_000, "zone": "Europe/Berlin"}
    told = {name: f"${{workflow.input.{name}}}" for name in ("name", "version", "priority")}
    told |= {"idempotencyKey": "${workflow.input.key}", "businessTime": "${workflow.input.at}"}
    told |= {"zoneId": "${workflow.input.zone}"}
    domains = {"taskToDomain": {"c": "${workflow.input.domain}"}}
    task = typed("SUB_WORKFLOW", "s", subWorkflowParam=told | domains)
    started = engine.start(workflow("w", task), input=given)
    engine.settle()
    shown = task_of(engine, started, "s")
    child = engine.workflow(shown["subWorkflowId"])
    assert (child["workflowName"], child["workflowVersion"]) == ("child", 7)
    assert shown["inputData"]["priority"] == 9
    assert shown["inputData"]["idempotencyKey"] == "k"
    assert shown["inputData"]["subWorkflowTaskToDomain"] == {"c": "eu"}
    assert child["tasks"][0]["inputData"] == {"at": given["at"], "zone": "Europe/Berlin"}


def test_a_definition_of_a_child_may_come_from_a_text() -> None:
    engine = memory_engine()
    told = {"name": "x", "workflowDefinition": "${workflow.input.child}"}
    task = typed("SUB_WORKFLOW", "s", subWorkflowParam=told)
    engine.start(workflow("w", task), input={"child": workflow("other", simple("c"))})
    assert engine.workflow(engine.run("c")["workflowInstanceId"])["workflowName"] == "other"


def test_everywhere_else_it_stays_a_text() -> None:
    engine = memory_engine()
    choice = switch("s", 1, {"a": []}) | {"evaluatorType": "javascript", "expression": f"'{_WHO}'"}
    given = {"inputParameters": {"v": _WHO}}
    told = {"onScheduled": [{"type": f"conductor:{_WHO}"}]}
    definition = workflow(
        "w",
        choice,
        typed("NOOP", "n") | given,
        fork("f", [simple("a")]),
        join("j", "a") | given,
        simple("b", inputParameters={_WHO: 1}, onStateChange=told),
        variables={"v": _WHO},
        inputTemplate={"more": _WHO},
    )
    started = engine.start(definition, input={"who": "Ada", "text": _WHO})
    engine.run("a")
    assert engine.run("b")["inputData"] == {_WHO: 1}
    engine.settle()
    assert engine.ports.events.held(f"conductor:w:{_WHO}", 10)
    assert task_of(engine, started, "s")["outputData"]["selectedCase"] == _WHO
    assert task_of(engine, started, "n")["inputData"] == {}
    assert task_of(engine, started, "j")["inputData"] == {"joinOn": ["a"]}
    found = engine.workflow(started)
    assert found["variables"] == {"v": _WHO}
    assert found["input"] == {"who": "Ada", "text": _WHO, "more": _WHO}


def test_the_input_of_a_schedule_stays_as_it_is() -> None:
    engine = memory_engine()
    engine.register(workflow("w", simple("a")))
    request = {"name": "w", "input": {"who": _WHO}}
    engine.schedule({"name": "s", "cronExpression": "0 0 * * * *", "startWorkflowRequest": request})
    engine.advance(seconds=3_600)
    (started,) = engine.started("w")
    assert engine.workflow(started)["input"]["who"] == _WHO


def test_a_script_of_an_input_is_read_like_the_rest_of_it() -> None:
    engine = memory_engine()
    script = "`${workflow.input.n} $${$.x}`"
    started = engine.start(workflow("w", inline("i", script, x=7)), input={"n": 5})
    assert task_of(engine, started, "i")["outputData"] == {"result": "5 7"}


# -- roots -----------------------------------------------------------------------------------------

_ENDS = {"how": "${workflow.status}", "why": "${workflow.reasonForIncompletion}"}


def test_the_output_of_a_workflow_tells_of_its_end_unless_it_completes() -> None:
    engine = memory_engine()
    definition = workflow("w", simple("a"), outputParameters=_ENDS)
    started = engine.start(definition)
    run_failing(engine, "a", "sand")
    found = engine.workflow(started)
    assert found["output"] == {"how": "FAILED", "why": found["reasonForIncompletion"]}
    started = engine.start(definition)
    engine.engine.executions.terminate(started, reason="enough")
    assert engine.workflow(started)["output"] == {"how": "TERMINATED", "why": "enough"}
    started = engine.start(definition)
    engine.run("a")
    assert engine.workflow(started)["output"] == {"how": "RUNNING", "why": None}
    ends = terminate("t", "FAILED", workflowOutput={"own": 1})
    started = engine.start(workflow("w", ends, outputParameters=_ENDS))
    assert engine.workflow(started)["output"] == {"own": 1}


def test_a_task_finds_the_attempt_before_it_under_its_own_reference() -> None:
    engine = memory_engine()
    reads = {"was": "${a.output.n}", "how": "${a.status}", "tries": "${a.retryCount}"}
    engine.start(workflow("w", policy("a", retryCount=1) | {"inputParameters": reads}))
    first = engine.run("a", {"n": 7}, status="FAILED")
    again = engine.run("a")
    assert first["inputData"] == {"was": None, "how": None, "tries": None}
    assert again["inputData"] == {"was": 7, "how": "FAILED", "tries": 0}


def test_a_task_that_has_not_been_scheduled_is_null_and_one_beside_it_is_as_it_stands() -> None:
    engine = memory_engine()
    reads = {"x": "${x}", "how": "${x.status}", "later": "${z}", "below": "${z.output.n}"}
    reader = simple("a", inputParameters=reads)
    engine.start(workflow("w", fork("f", [simple("x")], [reader]), join("j"), simple("z")))
    found = engine.run("a")["inputData"]
    assert (found["how"], found["later"], found["below"]) == ("SCHEDULED", None, None)
    assert found["x"].keys() == _TASK_MEMBERS.keys()
    assert (found["x"]["output"], found["x"]["startTime"], found["x"]["workerId"]) == ({}, 0, None)


def test_a_root_alone_has_all_its_members_and_no_others() -> None:
    engine = memory_engine()
    assert _read(engine, "${workflow}").keys() == _WORKFLOW_MEMBERS.keys()
    assert _read(engine, ["${workflow.priority}", "${workflow.output}"]) == [None, {}]


def test_names_of_the_engine_stay_texts_where_there_is_nothing_for_them() -> None:
    engine = memory_engine()
    stays = ["${workflow.secrets.S}", "${workflow.env.E}", "${NETFLIX_ENV}", "${NETFLIX_STACK}"]
    started = engine.start(
        workflow(
            "w",
            set_variable("s", v="${CPEWF_TASK_ID}"),
            simple("a", inputParameters={"id": "${CPEWF_TASK_ID}", "stays": stays}),
            outputParameters={"id": "${CPEWF_TASK_ID}"},
        )
    )
    task = task_of(engine, started, "a")
    assert task["inputData"] == {"id": task["taskId"], "stays": stays}
    engine.run("a")
    found = engine.workflow(started)
    assert found["variables"]["v"] == found["output"]["id"] == "${CPEWF_TASK_ID}"


# -- loops and forks -------------------------------------------------------------------------------


def test_the_body_of_a_loop_over_items_reads_its_item() -> None:
    engine = memory_engine()
    reads = {"item": "${l.output.loopItem}", "at": "${l.output.loopIndex}"}
    engine.start(workflow("w", for_each("l", ["p", "q"], simple("a", inputParameters=reads))))
    found = [engine.run("a")["inputData"] for _ in range(2)]
    assert found == [{"item": "p", "at": 0}, {"item": "q", "at": 1}]


def test_a_join_in_a_loop_has_keys_with_the_number_of_the_iteration() -> None:
    engine = memory_engine()
    reads = {"v": "${j.output.a__2.n}", "plain": "${j.output.a.n}"}
    body = fork("f", [simple("a")]), join("j", "a"), simple("b", inputParameters=reads)
    engine.start(workflow("w", times("l", 2, *body)))
    found = []
    for turn in (1, 2):
        engine.run("a", {"n": turn})
        found.append(engine.run("b")["inputData"])
    assert found == [{"v": None, "plain": None}, {"v": 2, "plain": None}]


def test_a_case_that_was_not_taken_is_that_of_an_earlier_iteration() -> None:
    engine = memory_engine()
    reader = simple("y", inputParameters={"x": "${x.output.n}"})
    choice = switch("s", "${l.output.iteration}", {"1": [simple("x")]}, [reader])
    engine.start(workflow("w", times("l", 2, choice)))
    engine.run("x", {"n": 7})
    assert engine.run("y")["inputData"] == {"x": 7}


def test_a_branch_that_comes_as_data_reads_the_execution_and_its_inputs_are_data() -> None:
    engine = memory_engine()
    branch = simple("p", inputParameters={"read": "${workflow.input.n}", "given": 1})
    reads = {"branch": "${p.output.n}", "joined": "${j.output.p.n}"}
    behind = simple("z", inputParameters=reads)
    definition = workflow("w", dynamic_fork("f"), join("j"), behind)
    given = {"n": 5, "branches": [branch], "inputs": {"p": {"given": "${workflow.input.n}"}}}
    engine.start(definition, input=given)
    assert engine.run("p", {"n": 1})["inputData"] == {"read": 5, "given": "${workflow.input.n}"}
    assert engine.run("z")["inputData"] == {"branch": 1, "joined": 1}
    with pytest.raises(DefinitionError, match="no task of this workflow"):
        engine.register(definition)
    del reads["branch"]
    engine.register(definition)


def test_items_of_a_dynamic_fork_are_data() -> None:
    engine = memory_engine()
    branches = fork_inputs("f", "${workflow.input.items}", forkTaskName="work")
    behind = simple("z", inputParameters={"v": "${_f_work_0.output.n}"})
    engine.start(workflow("w", branches, join("j"), behind), input={"items": [{"v": _WHO}]})
    assert engine.run("work", {"n": 1})["inputData"]["v"] == _WHO
    assert engine.run("z")["inputData"] == {"v": 1}


def test_tasks_in_the_input_of_a_fork_are_read_with_it_and_with_the_branch() -> None:
    engine = memory_engine()
    reads = {"fork": "${f.status}", "branch": "$${f.status}"}
    spread = fork_inputs("f", None) | {
        "dynamicForkTasksParam": "tasks",
        "dynamicForkTasksInputParamName": "inputs",
        "inputParameters": {"tasks": [simple("p", inputParameters=reads)], "inputs": {}},
    }
    engine.start(workflow("w", spread, join("j")))
    assert engine.run("p")["inputData"] == {"fork": None, "branch": "COMPLETED"}


def test_a_dynamic_task_is_read_under_its_own_reference() -> None:
    engine = memory_engine()
    named = typed("DYNAMIC", "d", dynamicTaskNameParam="which")
    named["inputParameters"] = {"which": "${workflow.input.name}"}
    reads = {"n": "${d.output.n}", "type": "${d.taskType}"}
    engine.start(workflow("w", named, simple("z", inputParameters=reads)), input={"name": "work"})
    engine.run("work", {"n": 1})
    assert engine.run("z")["inputData"] == {"n": 1, "type": "work"}


# -- defaults and bounds ---------------------------------------------------------------------------


def test_a_default_is_read_where_nothing_is_given_and_stands_where_null_is_found() -> None:
    engine = memory_engine()
    template = dict.fromkeys(("absent", "null", "found"), "${workflow.input.n}") | {"in": {"k": 1}}
    nothing = "${workflow.input.nothing}"
    given = {"null": None, "found": nothing, "in": {"k": nothing}}
    task = policy("a", inputTemplate=template) | {"inputParameters": given}
    engine.start(workflow("w", task), input={"n": 5})
    found = engine.run("a")["inputData"]
    assert found == {"absent": 5, "null": 5, "found": "${workflow.input.n}", "in": {"k": None}}


def test_beyond_the_bounds_an_expression_stays_a_text_or_is_null() -> None:
    engine = memory_engine()
    value: Any = "${workflow.input.n}"
    for _ in range(MAX_DEPTH - 1):  # the input is an object, too
        value = [value]
    assert "${" not in json.dumps(_read(engine, value, n=5))
    assert "${" in json.dumps(_read(engine, [value], n=5))
    inner = "n"
    for _ in range(MAX_INNER):
        inner = f"${{workflow.input.{inner}}}"
    assert _read(engine, inner, n="n") == "n"
    assert _read(engine, f"${{workflow.input.{inner}}}", n="n") is None
