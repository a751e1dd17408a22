"""Which operations the pages offer, and what they say of a task: the scripts, without a browser."""

import json
import re
from pathlib import Path

import pytest
import quickjs

import conductor_py.ui
from tests.ui import everything
from tests.ui.everything import made, part

STATIC = Path(conductor_py.ui.__file__).parent / "static"


def _source(name):
    return re.sub(r"^export ", "", (STATIC / name).read_text(encoding="utf-8"), flags=re.MULTILINE)


@pytest.fixture(scope="module")
def call():
    """Call an exported function of the two scripts with JSON, and get JSON."""
    context = quickjs.Context()
    context.eval(
        f"""
        const V = (() => {{
          {_source("verbs.js")};
          const has = (refs) => new Map(refs.map((ref) => [ref, []]));
          const missing = (definition, refs) => unreachedOf(definition, has(refs));
          return {{verbsOf, taskVerbsOf, unreachedOf: missing, rerunnable, hasFailedChild}};
        }})();
        const F = (() => {{ {_source("task_facts.js")}; return {{factsOf}}; }})();
        function call(name, given) {{
          const found = ({{...V, ...F}})[name](...JSON.parse(given));
          return JSON.stringify(found === undefined ? null : found);
        }}
        """
    )

    def of(name, *given):
        return json.loads(context.get("call")(name, json.dumps(given)))

    return of


WAIT = part("w", "WAIT")


def _verbs(call, status, tasks=(), unreached=(), **definition):
    document = everything.execution(status, [WAIT], [])
    document["workflowDefinition"].update(definition)
    return call("verbsOf", document, list(tasks), list(unreached))


def test_what_runs_is_paused_and_terminated_first(call):
    assert _verbs(call, "RUNNING") == ["pause", "terminate", "variables", "upgrade", "remove"]
    assert _verbs(call, "PAUSED")[:2] == ["resume", "terminate"]


def test_what_cannot_be_done_now_is_not_offered(call):
    waiting = [made(WAIT, 1, "IN_PROGRESS")]
    assert "signal" in _verbs(call, "RUNNING", waiting)
    assert "signal" not in _verbs(call, "RUNNING", [made(WAIT, 1, "COMPLETED")])
    assert {"skip", "jump"} <= set(_verbs(call, "RUNNING", (), ["later"]))
    assert not {"skip", "jump"} & set(_verbs(call, "PAUSED", (), ["later"]))
    put_off = made(part("s", "SIMPLE"), 1, "SCHEDULED", callbackAfterSeconds=60)
    assert "resetCallbacks" in _verbs(call, "RUNNING", [put_off])
    pulls = [part("p", "PULL_WORKFLOW_MESSAGES")]
    inside = [part("l", "DO_WHILE", loopOver=[part("f", "FORK_JOIN", forkTasks=[pulls])])]
    assert "message" not in _verbs(call, "RUNNING")
    document = everything.execution("RUNNING", inside, [])
    assert "message" in call("verbsOf", document, [], [])


@pytest.mark.parametrize("status", ["FAILED", "TIMED_OUT", "TERMINATED"])
def test_what_ended_badly_is_retried_first(call, status):
    assert _verbs(call, status) == ["retry", "restart", "rerun", "remove"]


def test_what_completed_is_restarted_unless_its_definition_forbids(call):
    assert _verbs(call, "COMPLETED") == ["restart", "rerun", "remove"]
    assert _verbs(call, "COMPLETED", restartable=False) == ["rerun", "remove"]
    assert "restart" in _verbs(call, "FAILED", restartable=False)


@pytest.mark.parametrize("kind", everything.TASK_TYPES)
def test_a_result_is_given_to_what_waits_for_one_and_not_to_containers(call, kind):
    running = everything.execution("RUNNING", [], [])
    containers = {
        *("FORK_JOIN", "FORK_JOIN_DYNAMIC", "JOIN", "EXCLUSIVE_JOIN", "SWITCH", "DECISION"),
        *("DO_WHILE", "SUB_WORKFLOW", "DYNAMIC", "PULL_WORKFLOW_MESSAGES"),
    }
    found = call("taskVerbsOf", running, made(part("t", kind), 1, "IN_PROGRESS"), True)
    assert found == ([] if kind in containers else ["complete"])
    assert call("taskVerbsOf", running, made(part("t", kind), 1, "COMPLETED"), True) == []


@pytest.mark.parametrize("kind", ["SIMPLE", "SPARK_SQL", "HTTP", "HUMAN", "JOIN"])
def test_what_a_worker_has_can_be_requeued(call, kind):
    running, taken = everything.execution("RUNNING", [], []), kind in {"SIMPLE", "SPARK_SQL"}
    held = made(part("t", kind), 1, "IN_PROGRESS", workerId="w")
    assert ("requeue" in call("taskVerbsOf", running, held, True)) == taken
    for other in ({**held, "workerId": None}, {**held, "status": "SCHEDULED"}):
        assert "requeue" not in call("taskVerbsOf", running, other, True)


def test_only_the_newest_try_of_what_ended_is_rerun(call):
    ended = everything.execution("FAILED", [], [])
    old, new = made(WAIT, 1, "FAILED", retried=True), made(WAIT, 2, "FAILED")
    assert call("taskVerbsOf", ended, new, True) == ["rerun"]
    assert call("taskVerbsOf", ended, old, True) == []
    assert call("taskVerbsOf", ended, new, False) == []
    assert [task["seq"] for task in call("rerunnable", [old, new])] == [2]


def test_a_failed_task_of_a_dag_counts_as_done_while_it_runs_too(call):
    node = part("n", "SIMPLE")
    old, new = made(node, 1, "FAILED", retried=True), made(node, 2, "FAILED")
    for status, verbs in (("RUNNING", ["force"]), ("FAILED", ["rerun", "force"])):
        document = everything.execution(status, [node], [])
        plain = call("taskVerbsOf", document, new, True)
        assert "force" not in plain
        document["workflowDefinition"]["relations"] = [{"postTask": "n"}]
        assert call("taskVerbsOf", document, new, True) == verbs
        assert call("taskVerbsOf", document, old, False) == []
        done = made(node, 2, "COMPLETED")
        assert "force" not in call("taskVerbsOf", document, done, True)
        inner = made(part("inside", "SIMPLE"), 3, "FAILED")
        assert "force" not in call("taskVerbsOf", document, inner, True)


def test_unreached_references_are_found_wherever_they_stand(call):
    definition = {
        "tasks": [
            part("f", "FORK_JOIN", forkTasks=[[part("a", "NOOP")], [part("b", "NOOP")]]),
            part(
                "s",
                "SWITCH",
                decisionCases={"x": [part("c", "NOOP")]},
                defaultCase=[part("l", "DO_WHILE", loopOver=[part("d", "NOOP")])],
            ),
        ]
    }
    assert call("unreachedOf", definition, ["f", "a"]) == ["b", "s", "c", "l", "d"]
    assert call("unreachedOf", None, []) == []


def test_a_failed_sub_workflow_can_be_retried_inside(call):
    child = part("c", "SUB_WORKFLOW")
    assert call("hasFailedChild", [made(child, 1, "FAILED")]) is True
    assert call("hasFailedChild", [made(child, 1, "COMPLETED")]) is False


@pytest.mark.parametrize("kind", everything.TASK_TYPES)
def test_facts_of_each_type_say_what_it_did(call, kind):
    _, given, output, text = everything.TASK_TYPES[kind]
    task = made(part("t", kind), 1, "COMPLETED", inputData=given, outputData=output)
    facts = call("factsOf", task)
    shown = [fact.get("text") or fact.get("code") or fact["label"] for fact in facts]
    assert not text or text in [*shown, *(fact["label"] for fact in facts)]


@pytest.mark.parametrize("kind", everything.TASK_TYPES)
@pytest.mark.parametrize(
    "value", [None, [], [1], "text", 7, {"response": "x", "http_request": 3, "forkedTasks": {}}]
)
def test_facts_of_odd_payloads_are_texts_all_the_same(call, kind, value):
    task = made(part("t", kind), 1, "FAILED", inputData=value, outputData=value)
    for fact in call("factsOf", task):
        assert isinstance(fact["label"], str)
        assert isinstance(fact.get("text", fact.get("code", fact.get("execution"))), str)
