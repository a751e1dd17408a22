"""What INLINE and LAMBDA print is in the log of their task."""

from __future__ import annotations

import pytest

from conductor_py.testing import MemoryEngine, memory_engine
from tests.builders import Json, fork, inline, join, simple, task_of, typed, workflow


def _lines(engine: MemoryEngine, execution: str, ref: str = "i") -> list[object]:
    task = task_of(engine, execution, ref)
    return [each["log"] for each in engine.engine.tasks.logs(str(task["taskId"]))]


@pytest.mark.parametrize(
    "task",
    [
        inline("i", "console.log('got', $.a); 5", a=3),
        typed(
            "LAMBDA", "i", inputParameters={"scriptExpression": "console.log('got 3'); return 5"}
        ),
    ],
    ids=["INLINE", "LAMBDA"],
)
def test_what_a_script_prints_is_in_the_log_of_its_task(task: Json) -> None:
    engine = memory_engine()
    execution = engine.start(workflow("w", task, simple("b")))
    assert task_of(engine, execution, "i")["outputData"] == {"result": 5}
    assert _lines(engine, execution) == ["got 3"]


def test_what_was_printed_before_an_error_is_there() -> None:
    engine = memory_engine()
    execution = engine.start(workflow("w", inline("i", "console.log('so far'); x.y")))
    assert task_of(engine, execution, "i")["status"] == "FAILED_WITH_TERMINAL_ERROR"
    assert _lines(engine, execution) == ["so far"]


def test_it_is_still_there_when_the_execution_is_archived() -> None:
    engine = memory_engine()
    execution = engine.start(workflow("w", inline("i", "console.log('last')")))
    engine.settle()
    engine.advance(seconds=3_600)
    assert _lines(engine, execution) == ["last"]


def test_a_decision_keeps_a_thousand_lines_of_all_its_tasks() -> None:
    engine = memory_engine()
    script = "for (let n = 0; n < 30; n += 1) console.log(n)"
    branches = [[inline(f"i{number}", script)] for number in range(40)]
    execution = engine.start(workflow("w", fork("f", *branches), join("j")))
    lines = [_lines(engine, execution, f"i{number}") for number in range(40)]
    kept = sum(len(each) for each in lines)
    assert (lines[0], len(lines[0])) == ([str(n) for n in range(30)], 30)
    assert lines[39] == ["… and 30 more lines"]
    assert 1_000 < kept <= 1_040


def test_a_condition_may_print_and_nobody_keeps_it() -> None:
    engine = memory_engine()
    switch = typed(
        "SWITCH",
        "s",
        evaluatorType="javascript",
        expression="console.log('x'); 'a'",
        decisionCases={"a": [simple("b")]},
    )
    execution = engine.start(workflow("w", switch))
    assert task_of(engine, execution, "b")["status"] == "SCHEDULED"
    assert _lines(engine, execution, "s") == []


def test_masked_fields_are_hidden_in_it() -> None:
    engine = memory_engine()
    printing = inline("i", "console.log('the code is ' + $.code)", code="${workflow.input.code}")
    execution = engine.start(
        workflow("w", printing, maskedFields=["code"]), input={"code": "hunter2-hunter2"}
    )
    assert _lines(engine, execution) == ["the code is ***"]
