"""Workflows that would start themselves without end, and those that may not."""

from conductor_py.engine.definitions.recursion import endless_recursion
from conductor_py.model.definition_form import workflow_from_json
from conductor_py.testing.definitions import (
    Json,
    conditions,
    dag,
    simple,
    sub_workflow,
    typed,
    workflow,
)


def _found(definition: Json) -> str | None:
    found = endless_recursion(workflow_from_json(definition), lambda _name, _version: None)
    return found.path if found is not None else None


def test_a_workflow_that_always_starts_itself_is_found() -> None:
    definition = workflow("w", simple("a"), sub_workflow("s", "w"))
    assert _found(definition) == "$.tasks[1].subWorkflowParam"


def test_a_dag_that_always_starts_itself_is_found_wherever_the_task_stands() -> None:
    definition = dag("w", [sub_workflow("s", "w"), simple("a")], "a > s")
    assert _found(definition) == "$.tasks[0].subWorkflowParam"


def test_a_dag_may_start_itself_where_something_chooses() -> None:
    switch = typed("SWITCH", "c", evaluatorType="value-param", expression="case")
    tasks = [switch, simple("a"), sub_workflow("s", "w")]
    assert _found(dag("w", tasks, "c -case:again> a", "a > s")) is None
    judged = [conditions("j"), simple("a"), sub_workflow("s", "w"), simple("z")]
    assert _found(dag("w", judged, "a -test> j", "j -failure> s", "j -success> z")) is None
