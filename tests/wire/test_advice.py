"""What definitions are taken with, and warned about."""

from typing import Any

import pytest

from conductor_py.decider import references
from conductor_py.decider.operators import OPERATORS
from conductor_py.model.parameters import TASK_MEMBERS, WORKFLOW_MEMBERS
from conductor_py.wire.advice import BUILT_IN, advice, task_advice, versioned_advice
from conductor_py.wire.definition_reader import DefinitionReader


def _task(ref: str = "a", type: str = "SIMPLE", **more: Any) -> dict[str, Any]:
    return {"name": "t", "taskReferenceName": ref, "type": type, **more}


def _advice(*tasks: dict[str, Any], **more: Any) -> list[tuple[str, str]]:
    body = {"name": "w", "tasks": list(tasks), **more}
    definition = DefinitionReader().workflow(body)
    return [(found.path, found.message) for found in advice(definition, body)]


_FORK = _task("f", "FORK_JOIN", forkTasks=[[_task("b1")], [_task("b2")]])
_DYNAMIC = _task("d", "FORK_JOIN_DYNAMIC", dynamicForkJoinTasksParam="p")


@pytest.mark.parametrize(
    ("tasks", "path"),
    [
        ([_FORK], "$.tasks[0]"),
        ([_FORK, _task("x"), _task("j", "JOIN")], "$.tasks[0]"),
        ([_DYNAMIC], "$.tasks[0]"),
        ([_task("l", "DO_WHILE", loopCondition="1", loopOver=[_FORK])], "$.tasks[0].loopOver[0]"),
        (
            [
                _task(
                    "s",
                    "SUB_WORKFLOW",
                    subWorkflowParam={"workflowDefinition": {"name": "c", "tasks": [_FORK]}},
                )
            ],
            "$.tasks[0].subWorkflowParam.workflowDefinition.tasks[0]",
        ),
    ],
)
def test_a_fork_without_its_join_is_taken_with_a_warning(
    tasks: list[dict[str, Any]], path: str
) -> None:
    ((found, message),) = _advice(*tasks)
    assert found == path
    assert "no JOIN right behind it" in message


_JOIN = _task("j", "JOIN", joinOn=["b1", "b2"])


def _choice(*body: dict[str, Any]) -> dict[str, Any]:
    given = {"x": "1"}
    cases = {"1": list(body)}
    return _task(
        "s",
        "SWITCH",
        evaluatorType="value-param",
        expression="x",
        inputParameters=given,
        decisionCases=cases,
    )


@pytest.mark.parametrize(
    ("tasks", "path"),
    [
        ([_choice(_FORK), _JOIN], None),
        ([_choice(_FORK), _task("x"), _JOIN], "$.tasks[0].decisionCases['1'][0]"),
        ([_task("g", "FORK_JOIN", forkTasks=[[_FORK], [_task("k")]]), _JOIN], None),
        ([_choice(_DYNAMIC), _JOIN | {"joinOn": []}], "$.tasks[0].decisionCases['1'][0]"),
        (
            [_task("l", "DO_WHILE", loopCondition="1", loopOver=[_FORK]), _JOIN],
            "$.tasks[0].loopOver[0]",
        ),
    ],
)
def test_the_join_of_a_fork_may_stand_behind_what_ends_with_the_fork(
    tasks: list[dict[str, Any]], path: str | None
) -> None:
    warned = [found for found, message in _advice(*tasks) if "no JOIN right behind" in message]
    assert warned == ([] if path is None else [path])


_INNER = {"name": "c", "tasks": [_task("p", "HTTP_POLL"), {**_task("s"), "name": "x/y"}]}


@pytest.mark.parametrize(
    ("more", "warned"),
    [
        ({"workflowStatusListenerSink": "conductor:q"}, ["$.workflowStatusListenerSink"]),
        ({"workflowStatusListenerSink": "conductor:q", "workflowStatusListenerEnabled": True}, []),
        ({}, []),
    ],
)
def test_a_sink_of_a_workflow_that_tells_nothing_is_warned_about(
    more: dict[str, Any], warned: list[str]
) -> None:
    assert [path for path, _ in _advice(_task(), **more)] == warned


def test_a_workflow_that_a_task_brings_with_it_is_looked_at_too() -> None:
    task = _task("s", "SUB_WORKFLOW", subWorkflowParam={"workflowDefinition": _INNER})
    inner = "$.tasks[0].subWorkflowParam.workflowDefinition"
    assert [path for path, _ in _advice(task)] == [
        f"{inner}.tasks[0].type",
        f"{inner}.tasks[1].name",
    ]


@pytest.mark.parametrize(
    "kind", ["HTTP_POLL", "WAIT_FOR_WEBHOOK", "LLM_TEXT_COMPLETE", "CALL_MCP_TOOL"]
)
def test_a_type_that_only_another_server_carries_out_is_warned_about(kind: str) -> None:
    loop = _task("l", "DO_WHILE", loopCondition="1", loopOver=[_task("p", kind)])
    ((path, message),) = _advice(loop)
    assert path == "$.tasks[0].loopOver[0].type"
    assert f"must poll for {kind}" in message
    assert _advice(_task("p", "PRINT")) == []


def test_a_join_that_waits_for_nothing_is_warned_about() -> None:
    """The Go SDK's ``NewForkTask`` makes one."""
    fork, follower = {**_FORK, "forkTasks": [[_task("b1")]]}, _task("z")
    ((path, message),) = _advice(fork, _task("j", "JOIN"), follower)
    assert path == "$.tasks[1].joinOn"
    assert "waits for nothing" in message
    assert _advice(fork, _task("j", "JOIN", joinOn=["b1"]), follower) == []
    assert _advice(_DYNAMIC, _task("j", "JOIN")) == []


def test_a_script_of_a_join_is_warned_about() -> None:
    """Only Orkes reads it."""
    script = {"evaluatorType": "js", "expression": "false"}
    ((path, message),) = _advice(_task("b1"), _task("j", "JOIN", joinOn=["b1"], **script))
    assert path == "$.tasks[1].expression"
    assert "is not read" in message


def test_an_expression_in_a_loop_condition_is_warned_about() -> None:
    """Nobody reads it, and as a text it is never true."""
    loop = _task("l", "DO_WHILE", loopCondition="${workflow.variables.n} < 3", loopOver=[_task()])
    ((path, message),) = _advice(loop)
    assert path == "$.tasks[0].loopCondition"
    assert "inputParameters" in message
    template = {**loop, "loopCondition": "`${$.a.n}` === '1'"}
    assert _advice(template) == []


def test_a_dynamic_fork_whose_tasks_no_parameter_gives_is_warned_about() -> None:
    fork = _task(
        "d",
        "FORK_JOIN_DYNAMIC",
        dynamicForkTasksParam="tasks",
        dynamicForkTasksInputParamName="inputs",
        inputParameters={"inputs": {}},
    )
    join = _task("j", "JOIN")
    ((path, message),) = _advice(fork, join)
    assert path == "$.tasks[0].dynamicForkTasksParam"
    assert "'tasks'" in message
    for given in ("tasks", "forkTaskInputs"):
        assert _advice({**fork, "inputParameters": {given: "${workflow.input.x}"}}, join) == []


def test_a_fork_that_has_its_join_is_no_matter() -> None:
    assert _advice(_FORK, _task("j", "JOIN", joinOn=["b1", "b2"])) == []


@pytest.mark.parametrize(
    ("tasks", "more", "path", "meant"),
    [
        ([_task(inputParamters={})], {}, "$.tasks[0].inputParamters", "inputParameters"),
        ([_task()], {"failureWorkflw": "x"}, "$.failureWorkflw", "failureWorkflow"),
        (
            [
                _task(
                    "s",
                    "SWITCH",
                    evaluatorType="javascript",
                    expression="1",
                    decisionCases={"a b": [_task("x", inputparameters={})]},
                )
            ],
            {},
            "$.tasks[0].decisionCases['a b'][0].inputparameters",
            "inputParameters",
        ),
        (
            [
                _task(
                    "f",
                    "FORK_JOIN",
                    forkTasks=[[_task("b", taskDefinition={"retryCounts": 3})]],
                ),
                _task("j", "JOIN", joinOn=["b"]),
            ],
            {},
            "$.tasks[0].forkTasks[0][0].taskDefinition.retryCounts",
            "retryCount",
        ),
    ],
)
def test_a_member_that_is_likely_misspelt_is_warned_about(
    tasks: list[dict[str, Any]], more: dict[str, Any], path: str, meant: str
) -> None:
    ((found, message),) = _advice(*tasks, **more)
    assert found == path
    assert message.endswith(f"did you mean {meant}?")


def test_a_misspelt_member_is_warned_about_although_the_right_one_stands_beside_it() -> None:
    ((found, message),) = _advice(_task(inputParamters={"a": 1}, inputParameters={}))
    assert found == "$.tasks[0].inputParamters"
    assert message == "is not a known member; inputParameters counts"


@pytest.mark.parametrize("slip", ["taks", "tsaks", "tassk", "tasls", "task", "ttasks", "atsks"])
@pytest.mark.parametrize("beside", [True, False])
def test_a_slip_in_a_short_member_is_warned_about(slip: str, beside: bool) -> None:
    document = {"name": "w", slip: 1} | ({"tasks": []} if beside else {})
    (found,) = versioned_advice(document, is_task=False)
    told = "tasks counts" if beside else "did you mean tasks?"
    assert (found.path, found.message) == (f"$.{slip}", f"is not a known member; {told}")


@pytest.mark.parametrize("name", ["tasklist", "tisk", "tags", "tskas", "nam", "is", "ask"])
def test_a_member_that_is_more_than_a_slip_away_is_none_of_ours(name: str) -> None:
    document = {"name": "w", "tasks": [], name: 1}
    assert list(versioned_advice(document, is_task=False)) == []


def test_a_name_that_no_path_can_carry_is_warned_about() -> None:
    tasks = (_task("a") | {"name": "x/y"}, _task("b", "SET_VARIABLE") | {"name": "x/y"})
    found = dict(_advice(*tasks, name="eu/w"))
    assert list(found) == ["$.name", "$.tasks[0].name"]
    assert "has a slash" in found["$.name"]
    assert "workers cannot poll" in found["$.tasks[0].name"]
    assert [each.path for each in task_advice({"name": "x/y"})] == ["$.name"]


def test_what_users_name_themselves_is_no_matter() -> None:
    parameters = {"inputParamters": {"retryCounts": 1}}
    assert _advice(_task(inputParameters=parameters), variables={"tassk": 1}) == []


def test_members_of_other_servers_are_no_matter() -> None:
    assert _advice(_task(workflowTaskType="SIMPLE"), permissions=[], orkesOnly=True) == []


@pytest.mark.parametrize(
    ("kind", "meant"),
    [
        *(("http", "HTTP"), ("Simple", "SIMPLE"), ("DOWHILE", "DO_WHILE"), ("Set_Variable",) * 2),
        *(("SUBWORKFLOW", "SUB_WORKFLOW"), ("FORK_JOIN_DYNAMC", "FORK_JOIN_DYNAMIC")),
    ],
)
def test_a_type_that_is_nearly_a_built_in_one_is_warned_about(kind: str, meant: str) -> None:
    ((path, message),) = _advice(_task(type=kind))
    assert path == "$.tasks[0].type"
    assert message.endswith(f"did you mean {meant.upper()}?")


def test_every_type_that_the_server_carries_out_is_known_as_built_in() -> None:
    assert set(OPERATORS) <= BUILT_IN


@pytest.mark.parametrize("kind", ["HTTP2_POLL", "CHARGE_CARD", "TRANSFORM", "charge_card"])
def test_a_type_of_ones_own_is_not_warned_about(kind: str) -> None:
    assert _advice(_task(type=kind)) == []


def _reading(ref: str, text: str, **more: Any) -> dict[str, Any]:
    return _task(ref, inputParameters={"x": text}, **more)


def _branch(ref: str, *cases: dict[str, Any]) -> dict[str, Any]:
    return _task(
        ref,
        "SWITCH",
        evaluatorType="value-param",
        expression="on",
        inputParameters={"on": "1"},
        decisionCases={str(n): [case] for n, case in enumerate(cases)},
    )


def _loop(*body: dict[str, Any], **more: Any) -> dict[str, Any]:
    return _task("l", "DO_WHILE", loopCondition="false", loopOver=list(body), **more)


_OF_B = "${b.output.n}"


@pytest.mark.parametrize(
    ("tasks", "path", "why"),
    [
        ([_reading("a", _OF_B), _task("b")], "$.tasks[0].inputParameters.x", "runs later"),
        (
            [_branch("s", _reading("a", _OF_B)), _task("b")],
            "$.tasks[0].decisionCases['0'][0].inputParameters.x",
            "runs later",
        ),
        (
            [_branch("s", _reading("a", "n ${ b.output['n'] }"), _task("b"))],
            "$.tasks[0].decisionCases['0'][0].inputParameters.x",
            "another case of s",
        ),
        (
            [_branch("s", _task("b")) | {"inputParameters": {"on": _OF_B}}],
            "$.tasks[0].inputParameters.on",
            "stands in s",
        ),
        (
            [_loop(_reading("a", _OF_B)), _task("b")],
            "$.tasks[0].loopOver[0].inputParameters.x",
            "runs later",
        ),
        (
            [
                _task("s", "SUB_WORKFLOW", subWorkflowParam={"name": "${b.output.name}"}),
                _task("b"),
            ],
            "$.tasks[0].subWorkflowParam.name",
            "runs later",
        ),
    ],
)
def test_an_expression_over_a_task_that_cannot_have_begun_is_warned_about(
    tasks: list[dict[str, Any]], path: str, why: str
) -> None:
    ((found, message),) = _advice(*tasks)
    assert found == path
    assert "refers to 'b'" in message
    assert why in message


@pytest.mark.parametrize(
    "tasks",
    [
        [_task("b"), _reading("a", _OF_B)],
        [_reading("b", _OF_B)],
        [_branch("s", _task("b")), _reading("a", _OF_B)],
        [_branch("s", _reading("a", "${s.output.selectedCase} $${b.output}")), _task("b")],
        [_loop(_reading("a", _OF_B), _task("b"))],
        [_loop(_branch("s", _reading("a", _OF_B), _task("b")))],
        [_loop(_task("b"), inputParameters={"x": _OF_B})],
        [_loop(_reading("a", "${l.output.iteration}"))],
        [
            _task("f", "FORK_JOIN", forkTasks=[[_reading("a", _OF_B)], [_task("b")]]),
            _task("j", "JOIN", joinOn=["a", "b"]),
        ],
        [_reading("a", _OF_B, type="NOOP"), _task("b")],
        [_task("a", cacheConfig={"key": "${b}", "ttlInSecond": 1}), _task("b")],
    ],
)
def test_an_expression_over_a_task_that_may_have_run_is_not_doubted(
    tasks: list[dict[str, Any]],
) -> None:
    assert _advice(*tasks) == []


def test_in_a_dag_relations_say_what_runs_later() -> None:
    tasks = [_reading("a", "${c.output.n}"), _reading("c", "${d.output.n}"), _task("d")]
    relations = [{"preTask": "a", "postTask": "b"}, {"preTask": "b", "postTask": "c"}]
    found = _advice(*tasks, _task("b"), relations=[*relations, {"postTask": "d"}])
    assert [path for path, _ in found] == ["$.tasks[0].inputParameters.x"]


def test_so_many_references_of_a_dag_are_looked_at_that_it_takes_no_time() -> None:
    count = 3_000
    tasks = [_reading(f"t{n}", f"${{t{count - 1}.output.n}}") for n in range(count)]
    relations = [{"preTask": f"t{n}", "postTask": f"t{n + 1}"} for n in range(count - 1)]
    found = _advice(*tasks, relations=relations)
    assert 0 < len(found) < count


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("${workflow.inputs.x}", "did you mean input?"),
        ("${workflow.foo}", "there are businessTime, "),
        ("${a.outptu.x}", "did you mean output?"),
    ],
)
def test_a_member_that_no_expression_finds_is_warned_about(text: str, said: str) -> None:
    ((path, message),) = _advice(_task("a"), _reading("z", f"so {text}"))
    assert path == "$.tasks[1].inputParameters.x"
    assert said in message


@pytest.mark.parametrize(
    "text",
    [
        "${workflow}",
        "${workflow.input}",
        "${workflow['inputs']}",
        "${workflow.secrets.KEY} ${workflow.env.HOME}",
        "${workflow.variables.${workflow.input.name}}",
        "${workflow..name}",
        "${workflow.input.x.length()}",
        "${CPEWF_TASK_ID}",
        "${a.iteration}",
    ],
)
def test_a_member_that_may_be_found_is_not_doubted(text: str) -> None:
    assert _advice(_task("a"), _reading("z", text)) == []


def test_the_members_of_a_task_named_workflow_are_those_of_a_task() -> None:
    tasks = [_task("workflow"), _reading("z", "${workflow.taskId} ${workflow.zoneId}")]
    ((_, message),) = _advice(*tasks)
    assert "'zoneId'" in message


def test_the_members_that_are_known_are_those_that_are_found() -> None:
    assert set(references._WORKFLOW_MEMBERS) | {"secrets", "env"} == WORKFLOW_MEMBERS
    assert set(references._TASK_MEMBERS) == TASK_MEMBERS


def test_an_output_of_a_task_that_there_is_not_is_warned_about() -> None:
    output = {"outputParameters": {"all": [{"n": "${gone.output.n}"}]}}
    ((path, message),) = _advice(_task(), **output)
    assert path == "$.outputParameters.all[0].n"
    assert "'gone', which is no task" in message
    # The fork may bring a task of that name.
    assert _advice(_DYNAMIC, _task("j", "JOIN"), **output) == []


def test_a_value_to_choose_by_that_no_input_has_is_warned_about() -> None:
    switch = _choice(_task())
    ((path, message),) = _advice({**switch, "expression": "$.x"})
    assert path == "$.tasks[0].expression"
    assert "names no inputParameter" in message
    assert _advice(switch) == []
    script = {"evaluatorType": "javascript", "expression": "$.y"}
    assert _advice({**switch, **script}) == []
    decision = {**switch, "type": "DECISION", "caseValueParam": "y"}
    assert [path for path, _ in _advice(decision)] == ["$.tasks[0].caseValueParam"]
    assert _advice({**decision, "caseExpression": "$.x"}) == []


_URI = "https://host/"


@pytest.mark.parametrize(
    ("given", "paths"),
    [
        ({"http_request": {"uri": _URI, "method": "get"}}, []),
        ({"http_request": "${workflow.input.request}"}, []),
        ({"http_request": {"uri": "${workflow.input.uri}", "method": "${workflow.input.m}"}}, []),
        ({"http_request": {"uri": _URI, "method": "GTE"}}, [".http_request.method"]),
        ({"http_request": {"uri": "host/x", "method": "GET"}}, [".http_request.uri"]),
        ({"http_request": {}}, [".http_request.uri", ".http_request.method"]),
        ({"http_request": "GET"}, [".http_request"]),
        ({"uri": _URI, "method": "GET"}, []),
        ({"uri": _URI}, []),
        ({"uri": "", "method": "GTE"}, [".uri", ".method"]),
    ],
)
def test_a_request_that_cannot_be_sent_is_warned_about(
    given: dict[str, Any], paths: list[str]
) -> None:
    found = [path for path, _ in _advice(_task("h", "HTTP", inputParameters=given))]
    assert found == [f"$.tasks[0].inputParameters{path}" for path in paths]


def test_versions_below_1_are_warned_about() -> None:
    ((path, message),) = _advice(_task(), version=0)
    assert (path, "0 for the latest" in message) == ("$.version", True)
    ((path, message),) = _advice(_task(), version=-1)
    assert (path, "cannot name it" in message) == ("$.version", True)

    def child(version: int) -> list[tuple[str, str]]:
        return _advice(
            _task("s", "SUB_WORKFLOW", subWorkflowParam={"name": "c", "version": version})
        )

    ((path, message),) = child(-1)
    assert (path, "the task fails" in message) == ("$.tasks[0].subWorkflowParam.version", True)
    assert child(0) == []
