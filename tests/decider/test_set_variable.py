"""SET_VARIABLE: the variables of the workflow."""

from conductor_py.engine.decisions.encoding import PayloadLimits
from conductor_py.testing import MemoryEngine, memory_engine
from tests.builders import set_variable, simple, status_of, task_of, workflow


def test_variables_begin_as_the_definition_says(engine: MemoryEngine) -> None:
    started = engine.start(workflow("w", simple("a"), variables={"n": 1}))
    assert engine.workflow(started)["variables"] == {"n": 1}


def test_each_key_replaces_the_variable_of_that_name(engine: MemoryEngine) -> None:
    definition = workflow(
        "w", set_variable("s", n=2, m={"x": 1}), variables={"n": 1, "kept": {"y": 2}}
    )
    started = engine.start(definition)
    assert engine.workflow(started)["variables"] == {"n": 2, "m": {"x": 1}, "kept": {"y": 2}}
    assert engine.workflow(started)["tasks"][0]["outputData"] == {}


def test_decision_sees_the_variables_it_has_just_set(engine: MemoryEngine) -> None:
    steps = [
        set_variable("s1", n="a"),
        set_variable("s2", n="${workflow.variables.n}b"),
        set_variable("s3", n="${workflow.variables.n}c"),
    ]
    started = engine.start(workflow("w", *steps))
    assert engine.workflow(started)["variables"] == {"n": "abc"}


def test_variables_that_grow_too_large_fail_the_task_that_made_them_so() -> None:
    engine = memory_engine(payload_limits=PayloadLimits(variables_hard=2000))
    steps = [set_variable("s1", a="x" * 1000), set_variable("s2", b="y" * 1500)]
    started = engine.start(workflow("w", *steps))
    assert engine.statuses(started) == {"s1": "COMPLETED", "s2": "FAILED_WITH_TERMINAL_ERROR"}
    found = engine.workflow(started)
    assert found["status"] == "FAILED"
    assert found["variables"] == {"a": "x" * 1000}
    assert "2000 bytes" in found["reasonForIncompletion"]


def test_optional_oversize_variables_leave_the_others_as_they_were() -> None:
    engine = memory_engine(payload_limits=PayloadLimits(variables_hard=2000))
    large = {**set_variable("s2", b="y" * 3000), "optional": True}
    started = engine.start(workflow("w", set_variable("s1", a=1), large, set_variable("s3", c=3)))
    assert status_of(engine, started) == "COMPLETED"
    assert engine.workflow(started)["variables"] == {"a": 1, "c": 3}
    assert task_of(engine, started, "s2")["status"] == "COMPLETED_WITH_ERRORS"


def test_it_goes_by_the_name_that_the_definition_gives_it(engine: MemoryEngine) -> None:
    named = {"name": "remember", "taskReferenceName": "v", "type": "SET_VARIABLE"}
    over = {"name": "done", "taskReferenceName": "t", "type": "TERMINATE"}
    over["inputParameters"] = {"terminationStatus": "COMPLETED"}  # type: ignore[assignment]
    started = engine.start(workflow("w", named, over))
    found = [(task["taskType"], task["taskDefName"]) for task in engine.workflow(started)["tasks"]]
    assert found == [("SET_VARIABLE", "remember"), ("TERMINATE", "done")]
