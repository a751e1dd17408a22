"""A value of a masked field is planted wherever one can stand, and looked for, in whatever form, in
everything that is said: by every route, to listeners, in the index, the archive and the log.
"""

import base64
import html
import json
import logging
import re
from collections.abc import Callable, Iterator
from functools import cache, partial
from typing import Any
from urllib.parse import quote, quote_plus, unquote_plus

import pytest

from conductor_py.api import create_app
from conductor_py.decider.expressions.expressions import check
from conductor_py.decider.workspace import Limits
from conductor_py.engine.decisions.encoding import PayloadLimits
from conductor_py.engine.effects.notifications import Listeners
from conductor_py.model.requests import TaskLog
from conductor_py.ports.payloads import paths_in
from conductor_py.testing import memory_engine
from tests.builders import (
    Json,
    dynamic_fork,
    extend,
    join,
    pass_time,
    policy,
    run_failing,
    set_variable,
    simple,
    sub_workflow,
    terminate,
    wait,
    workflow,
)

_SECRET = 'cAn4ry/"q\\u+é 0042&%?'
_FORMS = {
    "raw": _SECRET,
    "in words": f"<<{_SECRET}>>",
    "escaped as JSON": json.dumps(_SECRET),
    "escaped as JSON, not for ASCII": json.dumps({"x": _SECRET}, ensure_ascii=False),
    "escaped twice": json.dumps(json.dumps(_SECRET)),
    "in a query": f"https://h/?k={quote_plus(_SECRET)}",
    "in a path": f"https://h/{quote(_SECRET)}/x",
    "in a URL, small letters": re.sub("%..", lambda hit: hit[0].lower(), quote(_SECRET, safe="")),
    "base64": base64.b64encode(_SECRET.encode()).decode(),
    "base64 behind one": base64.b64encode(f"u{_SECRET}:".encode()).decode(),
    "base64 behind two": base64.b64encode(f"u:{_SECRET}".encode()).decode(),
    "base64 for URLs": base64.urlsafe_b64encode(f"user:{_SECRET}?".encode()).decode(),
    "hexadecimal": _SECRET.encode().hex(),
}
_REASONS = tuple(" ".join(list(_FORMS.values())[at : at + 5]) for at in range(0, len(_FORMS), 5))
_CORE = _SECRET.encode()[2:-2]
"""A form that is masked may keep a part of the letters at its edges."""

_PASSED = ("/poll/", "/execute/", "/pause", "/resume", "/requeue", "-docs", "swagger", "/static")
"""What hands a task to a worker, who gets the value, does something, or is the same for all."""

_MASKED: Json = {"maskedFields": ["card"], "workflowStatusListenerEnabled": True}
_INPUT = {"card": _SECRET, "n": 1}
_SMALL = PayloadLimits(workflow_input_soft=500, task_output_soft=500, task_input_soft=500)


class _Hook:
    """A webhook that remembers what it is told."""

    def __init__(self) -> None:
        self.posts: list[str] = []

    def post(self, url: str, body: bytes, identity: str) -> None:
        self.posts.append(f"{url} {identity} {body.decode()}")


class World:
    """An engine with its routes, and all that was said."""

    def __init__(self, log: pytest.LogCaptureFixture) -> None:
        self.hook, self.log = _Hook(), log
        listeners = Listeners(
            workflow_url="http://w",
            workflow_statuses=frozenset({"STARTED", "COMPLETED", "TERMINATED", "FINALIZED"}),
            task_url="http://t",
        )
        limits = Limits(task_notices=True, workflow_notices=True)
        self.engine = memory_engine(
            webhook=self.hook, listeners=listeners, limits=limits, payload_limits=_SMALL
        )
        app = create_app(self.engine.engine, check_expressions=check)
        self.rules = [
            str(rule)
            for rule in app.url_map.iter_rules()
            if "GET" in (rule.methods or ()) and not any(part in str(rule) for part in _PASSED)
        ]
        self.client = app.test_client()
        self.executions: list[str] = []
        self.answered: set[str] = set()

    def start(self, definition: Json, **request: Any) -> str:
        started = self.engine.start(definition, correlation_id="c", **request)
        self.executions.append(started)
        return started

    def said(self) -> Iterator[tuple[str, str]]:
        """Everything that can be read now, by where it is read."""
        self.engine.settle()
        for execution in self.executions:
            yield from self._routes(execution)
        ports = self.engine.ports
        for found in self._indexed():
            yield "the index", repr(found)
        for execution in self.executions:
            archived = ports.search.archived(execution)
            if archived is not None:
                yield "the archive", archived.document.decode()
        for post in self.hook.posts:
            yield "a listener", post
        for record in self.log.records:
            yield "the log", repr({**vars(record), "text": record.getMessage()})

    def _indexed(self) -> Iterator[object]:
        executions = self.engine.engine.executions
        for search in (executions.search, executions.search_tasks):
            yield from search(query="", free_text="*", sort="", start=0, size=100).results

    def _routes(self, execution: str) -> Iterator[tuple[str, str]]:
        whole: Any = self.client.get(f"/api/workflow/{execution}").json
        tasks = [task["taskId"] for task in whole["tasks"]] or ["none"]
        names = {
            "workflow_id": execution,
            "name": whole["workflowName"],
            "correlation_id": "c",
            "task_type": "a",
            "includeTasks": "true",
        }
        query = "includeTasks=true&includeOutput=true&includeVariables=true&includeClosed=true"
        for rule in self.rules:
            for task in tasks if "<task_id>" in rule else tasks[:1]:
                values = {**names, "task_id": task}
                path = re.sub("<([a-z_]+)>", partial(_named, values), rule)
                answer = self.client.get(f"{path}?{query}")
                if answer.status_code == 200:
                    self.answered.add(rule)
                yield f"GET {rule}", answer.text
                for stored in paths_in(answer.data):
                    document = self.engine.ports.payloads.get(stored).decode()
                    yield f"what GET {rule} names", document


def _named(values: dict[str, str], found: re.Match[str]) -> str:
    return quote(values.get(found[1], "none"))


@cache
def forms_in(text: str) -> list[str]:
    """Find the secret again, by reading the text as one who looks for it would."""
    found = []
    read = {_unescaped(each) for each in (text, html.unescape(text), unquote_plus(text))}
    if any(_CORE.decode().replace("\\", "") in each for each in read):
        found.append("text")
    if _CORE.hex() in text.lower():
        found.append("hexadecimal")
    for run in set(re.findall(r"[\w+/-]{20,}", text, re.ASCII)):
        plain = run.replace("-", "+").replace("_", "/")
        for first in range(4):
            part = plain[first:]
            if _CORE in base64.b64decode(part[: len(part) // 4 * 4]):
                found.append("base64")
    return found


def _unescaped(text: str) -> str:
    """Undo escapes of JSON, however often; other backslashes go with them."""
    text = re.sub(r"\\u([0-9a-fA-F]{4})", lambda hit: chr(int(hit[1], 16)), text)
    return text.replace("\\", "")


@pytest.mark.parametrize("form", _FORMS)
def test_the_search_of_these_tests_finds_each_form(form: str) -> None:
    assert forms_in(json.dumps({"answer": json.dumps({"x": _FORMS[form]})}))
    assert not forms_in(json.dumps(_FORMS[form]).replace("4", "5").replace("N", "M"))


# -- where a value can stand -----------------------------------------------------------------------

_A = simple("a", inputParameters={"card": "${workflow.input.card}"})


def _input(world: World) -> Iterator[None]:
    world.start(workflow("w", _A, **_MASKED), input=_INPUT)
    yield
    world.engine.run("a", {"n": 2})


def _output(world: World) -> Iterator[None]:
    second = simple("b", inputParameters={"card": "${a.output.card}"})
    world.start(workflow("w", simple("a"), second, **_MASKED))
    world.engine.run("a", {"card": {"deep": [_SECRET]}})
    yield
    world.engine.run("b", {"n": 1})


def _echo(world: World) -> Iterator[None]:
    """As an HTTP task gets its own request back, in the answer of the server."""
    output: Json = {"response": {"headers": dict(_FORMS), "body": [*_FORMS.values()], _SECRET: 1}}
    world.start(workflow("w", _A, outputParameters={"x": "${a.output}"}, **_MASKED), input=_INPUT)
    (task,) = world.engine.poll("a")
    world.engine.complete(
        task, output, status="IN_PROGRESS", callback_after_s=1, reason=f"it is {_SECRET}"
    )
    yield
    pass_time(world.engine, seconds=2)
    world.engine.run("a", output)


def _reason(world: World) -> Iterator[None]:
    """It becomes that of the execution; a failure workflow is told."""
    world.engine.register(workflow("f", simple("g"), maskedFields=["card"]))
    task = policy("a", retryCount=0) | {"inputParameters": _A["inputParameters"]}
    definition = workflow("w", task, failureWorkflow="f", **_MASKED)
    for reason in _REASONS:
        world.start(definition, input=_INPUT)
        (polled,) = world.engine.poll("a")
        line = TaskLog(line=f"tried {reason}")
        world.engine.complete(polled, status="FAILED", reason=reason, logs=(line,))
    world.executions += world.engine.started("f")
    yield


def _reason_of_a_child(world: World) -> Iterator[None]:
    """The parent does not know the value, and is told why its child has failed."""
    last = policy("b", retryCount=0) | {"inputParameters": {"card": "${a.output.card}"}}
    world.engine.register(workflow("w", simple("a"), last, **_MASKED))
    for reason in _REASONS:
        world.start(workflow("p", sub_workflow("s", "w")))
        world.engine.run("a", {"card": _SECRET})
        run_failing(world.engine, "b", reason)
    yield


def _progress(world: World) -> Iterator[None]:
    world.start(workflow("w", _A, **_MASKED), input=_INPUT)
    (task,) = world.engine.poll("a")
    extend(world.engine, task, lease_s=60, progress={"card": _SECRET})
    yield
    extend(world.engine, task, lease_s=60, progress={"at": [*_FORMS.values()]})
    yield
    world.engine.complete(task)


def _progress_alone(world: World) -> Iterator[None]:
    world.start(workflow("w", _A, **_MASKED))
    (task,) = world.engine.poll("a")
    extend(world.engine, task, lease_s=60, progress={"card": _SECRET})
    world.engine.engine.tasks.log(task["taskId"], f"has {_SECRET}")
    yield
    world.engine.complete(task)


def _log_lines(world: World) -> Iterator[None]:
    world.start(workflow("w", _A, **_MASKED), input=_INPUT)
    (task,) = world.engine.poll("a")
    for form in _FORMS.values():
        world.engine.engine.tasks.log(task["taskId"], f"it is {form}")
    yield
    world.engine.complete(task)


def _variables(world: World) -> Iterator[None]:
    keep = set_variable("keep", card="${a.output.got}")
    world.start(workflow("w", simple("a"), keep, simple("b"), **_MASKED))
    world.engine.run("a", {"card": _SECRET, "got": _SECRET})
    yield
    world.engine.run("b", {"again": [*_FORMS.values()]})


def _termination(world: World) -> Iterator[None]:
    end = terminate("t", "FAILED", terminationReason="no ${workflow.input.card} is taken")
    world.start(workflow("w", end, **_MASKED), input=_INPUT)
    yield


def _brought_tasks(world: World) -> Iterator[None]:
    """Tasks that data brought show their parameters with their definitions."""
    fork = dynamic_fork("f")
    fork["inputParameters"] = {name: f"${{d.output.{name}}}" for name in ("branches", "inputs")}
    world.start(workflow("w", simple("d"), fork, join("j"), **_MASKED), input=_INPUT)
    brought = simple("a", inputParameters={"card": _SECRET, "text": f"x{_SECRET}"})
    world.engine.run("d", {"branches": [brought], "inputs": {"a": {"card": _SECRET}}})
    yield
    world.engine.run("a", {"n": 1})


def _stored_payload(world: World) -> Iterator[None]:
    """What lies in payload storage is not masked there: nobody is told where it is."""
    large = {"card": _SECRET, "text": "l" * 1_000}
    world.start(workflow("w", _A, **_MASKED), input=large)
    yield
    world.engine.run("a", large)


CHANNELS: dict[str, Callable[[World], Iterator[None]]] = {
    "input": _input,
    "output": _output,
    "echo": _echo,
    "reason": _reason,
    "reason of a child": _reason_of_a_child,
    "progress": _progress,
    "progress alone": _progress_alone,
    "log lines": _log_lines,
    "variables": _variables,
    "termination": _termination,
    "brought tasks": _brought_tasks,
    "stored payload": _stored_payload,
}


@pytest.mark.parametrize("channel", CHANNELS)
def test_a_masked_value_is_said_nowhere(channel: str, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    world = World(caplog)
    leaks: set[str] = set()

    def look(moment: str) -> None:
        leaks.update(
            f"{outlet}, {moment}, {form}"
            for outlet, text in world.said()
            for form in forms_in(text)
        )

    for step, _ in enumerate(CHANNELS[channel](world)):
        look(f"at step {step}")
    look("at the end")
    pass_time(world.engine, seconds=3_600)
    look("later")
    assert sorted(leaks) == []
    assert world.hook.posts
    assert {"/api/workflow/<workflow_id>", "/api/workflow/<workflow_id>/why"} <= world.answered


@pytest.mark.parametrize(
    "strategy", ["TARGET_WORKFLOW", "BLOCKING_WORKFLOW", "BLOCKING_TASK", "BLOCKING_TASK_INPUT"]
)
def test_answers_of_calls_that_wait_say_no_masked_value(
    strategy: str, caplog: pytest.LogCaptureFixture
) -> None:
    world = World(caplog)
    held = wait("h") | {
        "inputParameters": {"card": "${workflow.input.card}", "text": "is ${workflow.input.card}"}
    }
    world.engine.register(workflow("w", held, wait("i"), **_MASKED))
    started = world.client.post(
        f"/api/workflow/execute/w/1?returnStrategy={strategy}&requestId=r", json={"input": _INPUT}
    )
    given: Any = started.json
    execution = given["targetWorkflowId"]
    signalled = world.client.post(
        f"/api/tasks/{execution}/COMPLETED/signal/sync?returnStrategy={strategy}",
        json={"card": _SECRET, "echo": _FORMS},
    )
    for answer in (started, signalled):
        assert answer.status_code == 200, answer.text
        assert forms_in(answer.text) == []
    assert "***" in started.text
