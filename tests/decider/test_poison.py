"""Junk in definitions and payloads: it costs its own task or execution, with a reason (A-36)."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, given, reject, settings
from hypothesis import strategies as st

from conductor_py.decider.operators import OPERATORS
from conductor_py.decider.workspace import Limits
from conductor_py.errors import ConductorError
from conductor_py.model.requests import StartRequest
from conductor_py.testing import MemoryEngine, memory_engine
from conductor_py.wire.data_definitions import read_workflow
from tests.builders import join, simple, typed, workflow

Json = dict[str, Any]

_LIMITS = Limits(iterations=50)
"""Junk makes loops that never end; the default lets them turn a million times."""
_settings = settings(
    max_examples=40,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)

_TEXTS = st.one_of(
    st.sampled_from(
        [
            *("", " ", "null", "true", "-1", "1e999", "99999999999999999999", "${", "$${x}", "}"),
            *("${workflow.input.junk}", "${workflow.input}", "${t.output}", "${t}", "${x.y..z}"),
            *("${workflow.input.junk[*].a}", "v=${workflow.input.junk}", "${${workflow.input.s}}"),
            *("JOIN", "SIMPLE", "FORK_JOIN", "DO_WHILE", "SUB_WORKFLOW", "javascript", "python"),
            *(
                "value-param",
                "jq",
                "t",
                "u",
                "w",
                "$.a.b.c",
                "1d",
                "soon",
                "2030-13-45",
                "conductor",
            ),
            *("kafka:x", "conductor:", "__", "a__1", "#", "a#1", "\ud800", "\x00", "é", "."),
        ]
    ),
    st.text(max_size=8),
)
_SCALARS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(2**63), 2**63 - 1),
    st.integers(-3, 3),
    st.floats(allow_nan=False, allow_infinity=False),
    _TEXTS,
)
_NAMES = st.one_of(
    st.sampled_from(
        [
            *("taskReferenceName", "name", "type", "dynamicTasks", "referenceName", "input"),
            *("workflowDef", "tasks", "version", "x", "taskToDomain", "inputParameters"),
        ]
    ),
    _TEXTS,
)
_JUNK = st.recursive(
    _SCALARS,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4), st.dictionaries(_NAMES, inner, max_size=4)
    ),
    max_leaves=12,
)
_INPUTS = [
    *("_items", "asyncComplete", "batchSize", "blocking", "case", "duration", "evaluatorType"),
    *("expression", "forkTaskInputs", "forkTaskName", "forkTaskType", "forkTaskWorkflow"),
    *("forkTaskWorkflowVersion", "http_request", "inputs", "kafka_request", "keepLastN", "n"),
    *("queryExpression", "scriptExpression", "sink", "startWorkflow", "subWorkflowName", "tasks"),
    *("subWorkflowVersion", "subWorkflowDefinition", "workflowInput", "terminationReason"),
    *("terminationStatus", "until", "uri", "method", "workflowOutput", "priority"),
]
_MEMBERS: dict[str, st.SearchStrategy[Any]] = {
    "asyncComplete": st.booleans(),
    "caseExpression": _TEXTS,
    "caseValueParam": _TEXTS,
    "defaultExclusiveJoinTask": st.lists(_TEXTS, max_size=3),
    "dynamicForkJoinTasksParam": st.sampled_from(["tasks", "n", ""]),
    "dynamicForkTasksInputParamName": st.sampled_from(["inputs", "n", ""]),
    "dynamicForkTasksParam": st.sampled_from(["tasks", "n", ""]),
    "dynamicTaskNameParam": st.sampled_from(["n", "case", ""]),
    "evaluatorType": _TEXTS,
    "expression": _TEXTS,
    "items": _TEXTS,
    "joinOn": st.lists(st.one_of(st.sampled_from(["t", "u", "a", "z"]), _TEXTS), max_size=4),
    "loopCondition": _TEXTS,
    "optional": st.booleans(),
    "permissive": st.booleans(),
    "retryCount": st.integers(0, 2),
    "scriptExpression": _TEXTS,
    "sink": _TEXTS,
    "startDelay": st.integers(0, 3),
    "subWorkflowParam": st.one_of(
        st.none(),
        st.fixed_dictionaries(
            {},
            optional={
                "name": _TEXTS,
                "version": _SCALARS,
                "workflowDefinition": _JUNK,
                "priority": _SCALARS,
                "taskToDomain": st.dictionaries(_TEXTS, _TEXTS, max_size=2),
            },
        ),
    ),
}
_BODIES: dict[str, Any] = {
    "DO_WHILE": {"loopOver": [typed("NOOP", "u")]},
    "SWITCH": {"decisionCases": {"null": [simple("u")], "": []}, "defaultCase": [simple("v")]},
    "DECISION": {"decisionCases": {"null": [simple("u")], "": []}, "defaultCase": [simple("v")]},
    "FORK_JOIN": {"forkTasks": [[simple("u")], []]},
}


@st.composite
def _tasks(draw: st.DrawFn, kind: str) -> Json:
    inputs = draw(st.dictionaries(st.sampled_from(_INPUTS), _JUNK, max_size=6))
    members = {
        name: draw(strategy)
        for name, strategy in _MEMBERS.items()
        if draw(st.integers(0, 2)) == 0 or (kind == "DO_WHILE" and name == "loopCondition")
    }
    return {**typed(kind, "t"), **_BODIES.get(kind, {}), **members, "inputParameters": inputs}


def _checked(engine: MemoryEngine, definition: Json, junk: Any) -> None:
    """Start it, let everything due happen, and see that nothing broke and nothing hangs."""
    try:
        read = read_workflow(definition)
    except (ConductorError, RecursionError):
        reject()
    request = StartRequest(name="w", definition=read, input={"junk": junk, "s": "t.output"})
    try:
        started = engine.engine.executions.start(request)
    except ConductorError:
        reject()
    for _ in range(4):
        engine.clock.advance(seconds=5)
        engine.settle()
        for task in [*engine.poll("u", 5), *engine.poll("v", 5), *engine.poll("a", 5)]:
            engine.complete(task, junk if isinstance(junk, dict) else {"junk": junk})
    found = engine.workflow(started)
    assert "internal error" not in str(found.get("reasonForIncompletion"))
    if found["status"] == "RUNNING":
        waiting = [t for t in found["tasks"] if t["status"] in {"SCHEDULED", "IN_PROGRESS"}]
        assert waiting, found
    elif found["status"] != "COMPLETED":
        assert found["reasonForIncompletion"]


@pytest.mark.anomaly("A-36")
@pytest.mark.parametrize("kind", sorted(OPERATORS))
def test_junk_costs_its_own_execution_only(kind: str) -> None:
    engine = memory_engine(limits=_LIMITS)

    @settings(_settings, max_examples=12)
    @given(_tasks(kind), _JUNK)
    def run(task: Json, junk: Any) -> None:
        definition = workflow("w", simple("a"), task, join("z", "t", "a"))
        definition["outputParameters"] = {"t": "${t.output}", "j": "${workflow.input.junk}"}
        _checked(engine, definition, junk)

    run()


@pytest.mark.anomaly("A-36")
@_settings
@given(_JUNK, _JUNK, st.sampled_from(["tasks", "legacy", "inputs"]))
def test_junk_for_a_dynamic_fork(tasks: Any, inputs: Any, variant: str) -> None:
    facts: Json = {"inputParameters": {"n": tasks, "i": inputs}}
    if variant == "tasks":
        facts |= {"dynamicForkTasksParam": "n", "dynamicForkTasksInputParamName": "i"}
    elif variant == "legacy":
        facts |= {"dynamicForkJoinTasksParam": "n"}
    else:
        listed = tasks if isinstance(tasks, list) else [tasks]
        facts = {"inputParameters": {"forkTaskInputs": listed, "forkTaskType": "NOOP"}}
    fork = typed("FORK_JOIN_DYNAMIC", "t", **facts)
    _checked(memory_engine(limits=_LIMITS), workflow("w", fork, join("j")), tasks)


@pytest.mark.anomaly("A-36")
@_settings
@given(st.text(max_size=40), _JUNK)
def test_junk_in_expressions(text: str, junk: Any) -> None:
    inputs = {"a": "${" + text + "}", "b": text, "c": f"x${{workflow.input.junk.{text}}}y"}
    task = {**simple("a"), "inputParameters": inputs}
    _checked(memory_engine(limits=_LIMITS), workflow("w", task, outputParameters=inputs), junk)
