"""Names that callers invent are bounded: what is too long is refused and changes nothing."""

from __future__ import annotations

from typing import Any

import pytest

from conductor_py.errors import InvalidInput, PayloadTooLarge
from conductor_py.model.requests import TaskLog
from conductor_py.model.text_bounds import LONGEST, LONGEST_LINE
from conductor_py.testing import MemoryEngine
from tests.builders import extend, report, simple, task_of, typed, workflow

_LONG = "x" * (LONGEST + 1)


@pytest.mark.parametrize(
    ("request_", "path"),
    [
        ({"correlation_id": _LONG}, "$.correlationId"),
        ({"idempotency_key": _LONG}, "$.idempotencyKey"),
        ({"created_by": _LONG}, "$.createdBy"),
        ({"task_to_domain": {"a": _LONG}}, "$.taskToDomain"),
        ({"task_to_domain": {_LONG: "a"}}, "$.taskToDomain"),
        ({"task_to_domain": {f"t{number}": "a" for number in range(1_001)}}, "$.taskToDomain"),
    ],
)
def test_a_start_with_a_name_that_is_too_long_is_refused(
    engine: MemoryEngine, request_: dict[str, Any], path: str
) -> None:
    engine.register(workflow("w", simple("a")))
    with pytest.raises(InvalidInput) as refused:
        engine.start("w", **request_)
    assert [violation.path for violation in refused.value.violations] == [path]
    assert engine.started("w") == []


def test_names_of_the_greatest_length_are_taken(engine: MemoryEngine) -> None:
    engine.register(workflow("w", simple("a")))
    name = _LONG[1:]
    started = engine.start("w", correlation_id=name, idempotency_key=name, created_by=name)
    assert engine.workflow(started)["correlationId"] == name


@pytest.mark.parametrize("name", ["worker", "domain"])
def test_a_poll_with_a_name_that_is_too_long_is_refused_and_noted_nowhere(
    engine: MemoryEngine, name: str
) -> None:
    engine.register(workflow("w", simple("a")))
    engine.start("w")
    with pytest.raises(InvalidInput, match="longer than 1,000 characters"):
        engine.poll("a", 1, **{name: _LONG})
    with pytest.raises(InvalidInput, match="longer than 1,000 characters"):
        engine.poll(_LONG)
    assert engine.engine.tasks.poll_data(None) == ()
    assert len(engine.poll("a")) == 1


def test_a_task_starts_no_workflow_under_a_name_that_is_too_long(engine: MemoryEngine) -> None:
    given = {"startWorkflow": {"name": "w", "correlationId": _LONG}}
    engine.register(workflow("w", simple("a")))
    started = engine.start(workflow("s", typed("START_WORKFLOW", "s", inputParameters=given)))
    reason = task_of(engine, started, "s")["reasonForIncompletion"]
    assert "startWorkflow.correlationId must not be longer than 1,000 characters" in reason
    assert engine.started("w") == []


def test_a_log_line_that_is_too_long_is_cut_and_says_so(engine: MemoryEngine) -> None:
    engine.register(workflow("w", simple("a")))
    engine.start("w")
    (task,) = engine.poll("a")
    report(engine, task, logs=(TaskLog(line="y" * (LONGEST_LINE + 1_234)), TaskLog(line="short")))
    cut, short = engine.engine.tasks.logs(task["taskId"])
    assert cut["log"] == "y" * LONGEST_LINE + "… (1,234 more characters)"
    assert short["log"] == "short"


def test_progress_that_is_too_large_is_refused_and_the_claim_stays(engine: MemoryEngine) -> None:
    engine.register(workflow("w", simple("a")))
    started = engine.start("w")
    (task,) = engine.poll("a")
    extend(engine, task, lease_s=30, progress={"done": 1})
    with pytest.raises(PayloadTooLarge, match="more than the 262,144 that are kept"):
        extend(engine, task, lease_s=30, progress={"text": "x" * 262_144})
    assert task_of(engine, started, "a")["progress"] == {"done": 1}
    extend(engine, task, lease_s=30)
