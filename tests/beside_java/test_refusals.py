"""Conductor's own server is asked about definitions and event handlers with one thing wrong:
whatever it takes and we refuse stands on the page on compatibility.

A row of the page has its cases in ``tests/docs``. What we say of them is what the rows mean, so
a complaint that no case has is one that the page does not tell.
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing
from typing import Any
from urllib.parse import quote

import pytest

from conductor_py.adapters.quickjs.scripts import QuickJsScripts
from conductor_py.decider.expressions.expressions import check as check_expressions
from conductor_py.engine.definitions.script_check import ScriptCheck
from conductor_py.errors import InvalidInput
from conductor_py.wire.definition_reader import DefinitionReader
from conductor_py.wire.validation import Limits, Rules
from tests.beside_java.mutations import mutated
from tests.beside_java.server import Conductor, Json
from tests.docs import test_handler_refusals as handlers
from tests.docs import test_refusals as page

pytestmark = [
    pytest.mark.thorough(target="versions"),
    pytest.mark.service,
    pytest.mark.xdist_group("beside java"),
    pytest.mark.timeout(900),
]

#: A member that Java reads as the kind that it wants, and we do not: a row of its own, in words.
_KINDS = re.compile(r"must be (?:true or false|a whole number|a number|one of [A-Z])")


@pytest.fixture
def reader() -> Iterator[DefinitionReader]:
    """Reads definitions as a server does: expressions and scripts, too."""
    with closing(QuickJsScripts(workers=1)) as scripts:
        yield DefinitionReader(
            Rules(
                limits=Limits(max_tasks=1_000),
                check_expressions=check_expressions,
                check_script=ScriptCheck(scripts),
            )
        )


def _task(kind: str, ref: str, **more: Any) -> Json:
    return {"name": "t", "taskReferenceName": ref, "type": kind, **more}


_TASK_DEF: Json = {
    "name": "t",
    "description": "d",
    "retryCount": 3,
    "timeoutSeconds": 60,
    "timeoutPolicy": "TIME_OUT_WF",
    "retryLogic": "FIXED",
    "retryDelaySeconds": 5,
    "responseTimeoutSeconds": 50,
    "pollTimeoutSeconds": 5,
    "backoffScaleFactor": 2,
    "concurrentExecLimit": 5,
    "rateLimitPerFrequency": 5,
    "rateLimitFrequencyInSeconds": 5,
    "inputKeys": ["a"],
    "outputKeys": ["b"],
    "inputTemplate": {"a": 1},
    "ownerEmail": "a@example.com",
    "isolationGroupId": "g",
    "executionNameSpace": "n",
}
_PLAIN: Json = _task(
    "SIMPLE",
    "plain",
    inputParameters={"a": "${workflow.input.x}", "b": {"c": [1]}},
    taskDefinition=_TASK_DEF,
    description="d",
    startDelay=1,
    optional=False,
    asyncComplete=False,
    retryCount=1,
    joinOn=[],
    cacheConfig={"key": "k", "ttlInSecond": 5},
    onStateChange={"onStart": [{"type": "e", "payload": {"a": 1}}]},
)
_TASKS: tuple[Json, ...] = (
    _PLAIN,
    _task("WAIT", "w", inputParameters={"duration": "5s"}),
    _task("WAIT", "u", inputParameters={"until": "2030-01-31 10:30 GMT+02:00"}),
    _task("HTTP", "h", inputParameters={"http_request": {"uri": "http://x", "method": "GET"}}),
    _task("INLINE", "i", inputParameters={"evaluatorType": "javascript", "expression": "1"}),
    _task("LAMBDA", "la", inputParameters={"scriptExpression": "1"}),
    _task("JSON_JQ_TRANSFORM", "q", inputParameters={"queryExpression": ".a", "a": 1}),
    _task("EVENT", "e", sink="conductor:x", inputParameters={"a": 1}),
    _task("TERMINATE", "end", inputParameters={"terminationStatus": "COMPLETED"}),
    _task("SET_VARIABLE", "v", inputParameters={"a": 1}),
    _task("HUMAN", "hu", inputParameters={"a": 1}),
    _task("DYNAMIC", "dy", inputParameters={"n": "t"}, dynamicTaskNameParam="n"),
    _task("KAFKA_PUBLISH", "k", inputParameters={"kafka_request": {"topic": "t", "value": "v"}}),
    _task("START_WORKFLOW", "sw", inputParameters={"startWorkflow": {"name": "c", "version": 1}}),
    _task(
        "SUB_WORKFLOW",
        "su",
        subWorkflowParam={"name": "c", "version": 1, "taskToDomain": {"a": "b"}},
    ),
    _task(
        "SWITCH",
        "s",
        evaluatorType="value-param",
        expression="x",
        inputParameters={"x": "1"},
        decisionCases={"1": [_task("SIMPLE", "case")]},
        defaultCase=[_task("SIMPLE", "other")],
    ),
    _task("DECISION", "d", caseValueParam="x", decisionCases={"1": [_task("SIMPLE", "then")]}),
    _task(
        "DO_WHILE",
        "l",
        loopCondition="$.l['iteration'] < 2",
        loopOver=[_task("SIMPLE", "inside")],
        inputParameters={"keepLastN": 2},
    ),
    _task(
        "FORK_JOIN",
        "f",
        forkTasks=[[_task("SIMPLE", "left")], [_task("SIMPLE", "right")]],
    ),
    _task("JOIN", "j", joinOn=["plain"]),
    _task(
        "FORK_JOIN_DYNAMIC",
        "fd",
        dynamicForkTasksParam="n",
        dynamicForkTasksInputParamName="m",
        inputParameters={"n": [], "m": {}},
    ),
    _task("EXCLUSIVE_JOIN", "ej", joinOn=["plain"], defaultExclusiveJoinTask=["plain"]),
)
_WORKFLOW: Json = {
    "name": "w",
    "description": "d",
    "version": 1,
    "tasks": [_task("SIMPLE", "plain")],
    "inputParameters": ["x"],
    "outputParameters": {"o": "${plain.output.x}"},
    "failureWorkflow": "f",
    "schemaVersion": 2,
    "restartable": True,
    "workflowStatusListenerEnabled": False,
    "workflowStatusListenerSink": "conductor:y",
    "ownerEmail": "a@example.com",
    "timeoutPolicy": "TIME_OUT_WF",
    "timeoutSeconds": 60,
    "variables": {"v": 1},
    "inputTemplate": {"x": 1},
    "rateLimitConfig": {"rateLimitKey": "k", "concurrentExecLimit": 5},
    "maskedFields": ["a"],
    "enforceSchema": False,
    "metadata": {"a": 1},
}


def _said(read: Callable[[Json], object], document: Json) -> set[tuple[str, str]]:
    """What we say of a document: where, without what is around it, and what, in general."""
    try:
        read(document)
    except InvalidInput as refused:
        return {(_where(each.path), _what(each.message)) for each in refused.violations}
    return set()


_EXPRESSIONS = re.compile(
    r"(inputParameters|outputParameters|inputTemplate|onStateChange|cacheConfig|taskToDomain)\b.*"
)
_AROUND = re.compile(
    r"^.*(?:tasks\[n\]|loopOver\[n\]|forkTasks\[n\]\[n\]|forkTasks\[n\]|decisionCases\[k\]\[n\]"
    r"|defaultCase\[n\]|workflowDefinition|subWorkflowParam|taskDefinition|rateLimitConfig)\.(?!$)"
)


def _where(path: str) -> str:
    plain = re.sub(r"\[\d+\]", "[n]", re.sub(r"\['[^]]*'\]|\[\"[^]]*\"\]", "[k]", path))
    return _AROUND.sub("", plain).removeprefix("$.")


def _known(said: tuple[str, str], told: set[tuple[str, str]]) -> bool:
    """Whether a row means that. An expression may stand anywhere in the parameters of a task."""
    where, what = said
    return (
        said in told
        or _KINDS.match(what) is not None
        or (_EXPRESSIONS.sub(r"\1", where), what) in told
    )


def _what(message: str) -> str:
    if message.startswith("SyntaxError: "):
        return "SyntaxError"
    return re.sub(r"'[^']*'|\d[\d,]*", "…", message)


def _told(reader: DefinitionReader) -> set[tuple[str, str]]:
    """What the rows of the page mean."""
    sent = [definition for *_, definition in page._CASES]
    said = set().union(*(_said(reader.workflow, _whole(each)) for each in sent))
    return said | {(_EXPRESSIONS.sub(r"\1", where), what) for where, what in said}


def _whole(sent: Json) -> Json:
    return {"name": "w"} | (sent if "tasks" in sent else {"tasks": [sent]})


def _in_a_workflow(task: Json) -> Json:
    first = [] if task.get("taskReferenceName") == "plain" else [_task("SIMPLE", "plain")]
    return {"name": "w", "tasks": [*first, task]}


def _untold(
    read: Callable[[Json], object],
    takes: Callable[[Json], bool],
    wrong: Iterable[Json],
    told: set[tuple[str, str]],
) -> list[str]:
    """What we refuse, that server takes, and no row means; each with a document that shows it."""
    found: dict[tuple[str, str], Json] = {}
    for document in wrong:
        untold = [each for each in _said(read, document) if not _known(each, told)]
        if untold and takes(document):
            found.update(dict.fromkeys(untold, document))
    return [f"{where}: {what} {json.dumps(found[where, what])}" for where, what in found]


def test_a_workflow_that_that_server_takes_and_we_refuse_stands_on_the_page(
    java: Conductor, reader: DefinitionReader
) -> None:
    def takes(definition: Json) -> bool:
        return java.ask("POST", "/metadata/workflow/validate", definition).status == 200

    read = reader.workflow
    right = [_WORKFLOW, *map(_in_a_workflow, _TASKS)]
    assert [each for each in right if _said(read, each) or not takes(each)] == []
    wrong = [*mutated(_WORKFLOW)]
    wrong += [_in_a_workflow(each) for task in _TASKS for each in mutated(task)]
    assert _untold(read, takes, wrong, _told(reader)) == []


def test_a_task_definition_that_that_server_takes_and_we_refuse_stands_on_the_page(
    java: Conductor, reader: DefinitionReader
) -> None:
    def takes(definition: Json) -> bool:
        return java.ask("POST", "/metadata/taskdefs", [definition]).status == 200

    read = reader.task_def
    assert _said(read, _TASK_DEF) == set()
    assert takes(_TASK_DEF)
    assert _untold(read, takes, mutated(_TASK_DEF), _told(reader)) == []


def test_an_event_handler_that_that_server_takes_and_we_refuse_stands_on_the_page(
    java: Conductor,
) -> None:
    def takes(handler: Json) -> bool:
        taken = java.ask("POST", "/event", handler).status == 200
        if taken:
            assert java.ask("DELETE", f"/event/{quote(handler['name'])}").status == 200
        return taken

    with closing(QuickJsScripts(workers=1)) as scripts:
        read = handlers.reader(scripts)
        told = set().union(*(_said(read, each) for _, _, each in handlers.CASES))
        assert _said(read, handlers.RIGHT) == set()
        assert takes(handlers.RIGHT)
        assert _untold(read, takes, mutated(handlers.RIGHT), told) == []
