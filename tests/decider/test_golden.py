"""Golden histories: definitions and events go in, decisions come out, byte for byte.

Each file under ``tests/golden`` is one history: a definition, and for every call of decide the
instant, the events, and the need or decision that came of it. When decisions change on purpose,
write the files anew and read the difference:

    UPDATE_GOLDEN=1 pytest tests/decider/test_golden.py
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, is_dataclass
from enum import Enum
from pathlib import Path
from typing import Any

import pytest

from conductor_py.decider.decide import decide
from conductor_py.decider.need import Need
from conductor_py.decider.plan import Plan
from conductor_py.engine.executions import executions
from conductor_py.model.decision import Decision
from conductor_py.model.ids import ExecutionId
from conductor_py.testing import MemoryEngine, memory_engine
from tests.builders import (
    Json,
    dynamic_fork,
    for_each,
    fork,
    inline,
    join,
    pass_time,
    policy,
    run_failing,
    set_variable,
    simple,
    sub_workflow,
    switch,
    terminate,
    times,
    wait,
    workflow,
)

_FOLDER = Path(__file__).parent.parent / "golden"
_UPDATE = "UPDATE_GOLDEN"
_ID = ExecutionId("00000000-0000-4000-8000-000000000001")


@dataclass(frozen=True, slots=True)
class _History:
    definition: Json
    story: Callable[[MemoryEngine, str], None]
    input: Mapping[str, Any]


def _sequence(engine: MemoryEngine, started: str) -> None:
    engine.run("a", {"n": 1})
    engine.run("b", {"n": 2})


def _forks(engine: MemoryEngine, started: str) -> None:
    engine.run("b", {"n": 2})
    run_failing(engine, "a", "first try")
    engine.clock.advance(seconds=2)
    engine.run("a", {"n": 1})


def _loops(engine: MemoryEngine, started: str) -> None:
    for n in range(4):
        engine.run("x", {"n": n})


def _timed(engine: MemoryEngine, started: str) -> None:
    pass_time(engine, seconds=10)
    engine.poll("a", lease_s=5)
    pass_time(engine, seconds=5)
    engine.poll("a")
    pass_time(engine, seconds=30)


def _children(engine: MemoryEngine, started: str) -> None:
    run_failing(engine, "x", "no luck")
    pass_time(engine, seconds=1)


def _terminated(engine: MemoryEngine, started: str) -> None:
    engine.run("a")
    engine.engine.executions.terminate(started, reason="enough")


def _dynamic(engine: MemoryEngine, started: str) -> None:
    engine.run("a", {"n": 1})
    engine.run("b", {"n": 2})


_BRANCHES = {"branches": [simple("a"), simple("b", optional=True)], "inputs": {"a": {"k": 1}}}

_HISTORIES = {
    "sequence": _History(
        workflow(
            "sequence",
            simple("a", inputParameters={"given": "${workflow.input.x}"}),
            simple("b", inputParameters={"seen": "${a.output.n}"}),
            outputParameters={"sum": ["${a.output.n}", "${b.output.n}"]},
        ),
        _sequence,
        {"x": "y"},
    ),
    "fork_with_a_retry": _History(
        workflow(
            "forks",
            fork("f", [policy("a", retryCount=1, retryDelaySeconds=2)], [simple("b")]),
            join("j", "a", "b"),
            set_variable("v", joined="${j.output}"),
        ),
        _forks,
        {},
    ),
    "loops": _History(
        workflow("loops", for_each("l", ["p", "q"], times("m", 2, simple("x")))), _loops, {}
    ),
    "choices": _History(
        workflow(
            "choices",
            inline("i", "$.n * 2", n="${workflow.input.n}"),
            switch("s", "${i.output.result}", {"4": [set_variable("v", even=True)]}),
            terminate("t", "COMPLETED", workflowOutput="${workflow.variables.even}"),
        ),
        lambda *_: None,
        {"n": 2},
    ),
    "time": _History(
        workflow(
            "time",
            wait("t", duration="10s"),
            policy("a", retryCount=0, responseTimeoutSeconds=30),
        ),
        _timed,
        {},
    ),
    "failing_child": _History(
        workflow("parent", sub_workflow("s", workflow("child", simple("x"))), simple("z")),
        _children,
        {},
    ),
    "terminated": _History(
        workflow("terminated", fork("f", [simple("a")], [simple("b")]), join("j", "a", "b")),
        _terminated,
        {},
    ),
    "dynamic_fork": _History(
        workflow("dynamic", dynamic_fork("f"), join("j")), _dynamic, _BRANCHES
    ),
}


class _Recorder:
    """Writes down every decision on the execution of the story."""

    def __init__(self) -> None:
        self.turns: list[Json] = []
        self.plan = ""

    def decide(self, plan: Plan, execution: Any, events: Any, now_ms: int, limits: Any) -> Any:
        found = decide(plan, execution, events, now_ms, limits)
        if execution.id != _ID:
            return found
        turn: Json = {"now_ms": now_ms, "events": [_plain(event) for event in events]}
        if isinstance(found, Need):
            turn["need"] = _plain(found.requests)
        if isinstance(found, Decision):
            turn["decision"] = _plain(found)
        self.turns.append(turn)
        return found


def _plain(value: Any) -> Any:
    """JSON with the type of every model value, stable over runs."""
    if isinstance(value, Plan):
        return {"plan": value.hash}
    if isinstance(value, Enum):
        return value.value
    if is_dataclass(value) and not isinstance(value, type):
        named = {field.name: _plain(getattr(value, field.name)) for field in fields(value)}
        kept = {name: given for name, given in named.items() if given not in (None, "", 0, [], {})}
        return {"type": type(value).__name__, **kept}
    if isinstance(value, Mapping):
        return {str(key): _plain(value[key]) for key in sorted(value, key=str)}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    return value


def _recorded(history: _History, monkeypatch: pytest.MonkeyPatch) -> Json:
    engine = memory_engine()
    recorder = _Recorder()
    monkeypatch.setattr("conductor_py.engine.decisions.deliberation.decide", recorder.decide)
    monkeypatch.setattr(executions, "execution_id", lambda *_: _ID)
    numbers = iter(range(1, 10_000))
    monkeypatch.setattr(
        type(engine.engine.executor), "name", lambda _: f"operation-{next(numbers)}"
    )
    started = engine.start(history.definition, input=history.input)
    history.story(engine, started)
    engine.settle()
    return {
        "definition": history.definition,
        "input": history.input,
        "status": engine.workflow(started)["status"],
        "turns": recorder.turns,
    }


@pytest.mark.parametrize("name", sorted(_HISTORIES))
def test_history_is_decided_as_it_was(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    recorded = _recorded(_HISTORIES[name], monkeypatch)
    written = json.dumps(recorded, indent=1, sort_keys=True) + "\n"
    path = _FOLDER / f"{name}.json"
    if os.environ.get(_UPDATE):
        path.write_text(written, encoding="utf-8")
    assert json.loads(written) == json.loads(path.read_text(encoding="utf-8"))


def test_no_golden_history_is_left_over() -> None:
    assert {path.stem for path in _FOLDER.glob("*.json")} == set(_HISTORIES)
