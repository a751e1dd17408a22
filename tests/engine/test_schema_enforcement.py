"""Schema enforcement: inputs and outputs that do not satisfy what a definition demands."""

from typing import Any

import orjson
import pytest

from conductor_py.codec.definitions import workflow_from_json
from conductor_py.engine.definitions.schemas import Schemas
from conductor_py.errors import InvalidInput, NotFound
from conductor_py.model.definition_form import task_def_from_json
from conductor_py.testing import MemoryEngine
from tests.builders import inline, policy, simple, status_of, sub_workflow, task_of, workflow

_NUMBER = {"type": "object", "required": ["n"], "properties": {"n": {"type": "integer"}}}


def _schema(**more: Any) -> dict[str, Any]:
    return {"name": "numbers", "version": 1, "type": "JSON", "data": _NUMBER, **more}


def _registry(engine: MemoryEngine) -> Schemas:
    return engine.engine.schemas


def test_start_is_refused_with_the_path_of_what_is_wrong(engine: MemoryEngine) -> None:
    definition = workflow("w", simple("a"), inputSchema=_schema())
    with pytest.raises(InvalidInput) as refused:
        engine.start(definition, input={"n": "one"})
    assert [violation.path for violation in refused.value.violations] == ["$.input.n"]
    assert not engine.engine.executions.running("w")
    engine.start(definition, input={"n": 1})


def test_schema_is_not_enforced_when_the_definition_says_so(engine: MemoryEngine) -> None:
    definition = workflow("w", simple("a"), inputSchema=_schema(), enforceSchema=False)
    engine.start(definition, input={"n": "one"})


@pytest.mark.parametrize("kind", ["AVRO", "PROTOBUF"])
def test_schemas_of_other_kinds_are_kept_and_not_enforced(engine: MemoryEngine, kind: str) -> None:
    definition = workflow("w", simple("a"), inputSchema=_schema(type=kind))
    shown = engine.workflow(engine.start(definition))["workflowDefinition"]
    assert shown["inputSchema"]["type"] == kind


def test_task_input_that_does_not_satisfy_fails_the_task_for_good(engine: MemoryEngine) -> None:
    task = policy("a", inputSchema=_schema(), enforceSchema=True, retryCount=3)
    task["inputParameters"] = {"n": "${workflow.input.n}"}
    execution = engine.start(workflow("w", task), input={"n": "x"})
    assert not engine.poll("a")
    shown = task_of(engine, execution, "a")
    assert shown["status"] == "FAILED_WITH_TERMINAL_ERROR"
    assert "$.n" in shown["reasonForIncompletion"]
    assert status_of(engine, execution) == "FAILED"


def test_task_output_that_does_not_satisfy_fails_the_task_for_good(engine: MemoryEngine) -> None:
    task = policy("a", outputSchema=_schema(), enforceSchema=True, retryCount=3)
    execution = engine.start(workflow("w", task))
    engine.run("a", {"n": "x"})
    shown = task_of(engine, execution, "a")
    assert (shown["status"], shown["retryCount"]) == ("FAILED_WITH_TERMINAL_ERROR", 0)
    assert "Task output" in shown["reasonForIncompletion"]
    good = engine.start(workflow("w", task))
    engine.run("a", {"n": 1})
    assert status_of(engine, good) == "COMPLETED"


def test_failed_task_may_have_any_output(engine: MemoryEngine) -> None:
    task = policy("a", outputSchema=_schema(), enforceSchema=True, retryCount=0)
    execution = engine.start(workflow("w", task))
    engine.run("a", {"why": "x"}, status="FAILED", reason="mine")
    assert task_of(engine, execution, "a")["reasonForIncompletion"] == "mine"


def test_task_schema_is_not_enforced_unless_asked_for(engine: MemoryEngine) -> None:
    execution = engine.start(workflow("w", policy("a", outputSchema=_schema())))
    engine.run("a", {"n": "x"})
    assert status_of(engine, execution) == "COMPLETED"


def test_workflow_output_that_does_not_satisfy_fails_the_workflow(engine: MemoryEngine) -> None:
    definition = workflow(
        "w",
        inline("a", "'x'"),
        outputParameters={"n": "${a.output.result}"},
        outputSchema=_schema(),
    )
    execution = engine.workflow(engine.start(definition))
    assert execution["status"] == "FAILED"
    assert "Workflow output" in execution["reasonForIncompletion"]
    assert "$.n" in execution["reasonForIncompletion"]


def test_sub_workflow_whose_input_does_not_satisfy_fails(engine: MemoryEngine) -> None:
    child = workflow("child", simple("a"), inputSchema=_schema())
    parent = engine.start(workflow("w", sub_workflow("s", child, inputParameters={"n": "x"})))
    engine.settle()
    assert status_of(engine, parent) == "FAILED"
    assert "Workflow input" in engine.workflow(parent)["reasonForIncompletion"]
    assert not engine.poll("a")


def test_registered_schema_is_named_and_taken_at_the_start(engine: MemoryEngine) -> None:
    _registry(engine).save([_schema()], new_version=False)
    definition = workflow("w", simple("a"), inputSchema={"name": "numbers", "version": 1})
    with pytest.raises(InvalidInput):
        engine.start(definition, input={"n": "x"})
    _registry(engine).save([_schema(data={})], new_version=False)
    engine.start(definition, input={"n": "x"})


def test_running_executions_keep_the_schema_of_their_start(engine: MemoryEngine) -> None:
    _registry(engine).save([_schema()], new_version=False)
    task = policy("a", outputSchema={"name": "numbers"}, enforceSchema=True)
    execution = engine.start(workflow("w", task))
    _registry(engine).delete("numbers", None)
    engine.run("a", {"n": "x"})
    assert status_of(engine, execution) == "FAILED"


def test_definition_that_names_no_schema_of_the_registry_does_not_start(
    engine: MemoryEngine,
) -> None:
    with pytest.raises(NotFound, match="numbers"):
        engine.start(workflow("w", simple("a"), inputSchema={"name": "numbers", "version": 3}))


def test_next_versions_are_numbered_and_the_latest_is_found(engine: MemoryEngine) -> None:
    registry = _registry(engine)
    registry.save([_schema()], new_version=True)
    registry.save([_schema(data={"type": "object"})], new_version=True)
    assert [schema["version"] for schema in registry.all(dict)] == [1, 2]
    assert registry.one("numbers", None)["data"] == {"type": "object"}
    registry.delete("numbers", 2)
    assert registry.one("numbers", None)["version"] == 1
    with pytest.raises(NotFound):
        registry.one("numbers", 2)


_ODD = (
    {"type": "objekt"},
    {"$schema": {"type": "string"}},
    *({"$schema": 7}, {"$schema": None}, {"$schema": ["a"]}),
    {"properties": {"n": {"required": 1}}},
    {"properties": {"$schema": {"type": "objekt"}}},
)


@pytest.mark.parametrize("data", _ODD, ids=str)
def test_a_schema_that_cannot_be_used_is_stored_as_sent(
    engine: MemoryEngine, data: dict[str, Any]
) -> None:
    odd = _schema(data=data)
    _registry(engine).save([odd], new_version=False)
    assert _registry(engine).one("numbers", 1)["data"] == data
    definitions = engine.engine.definitions
    for attribute in ("inputSchema", "outputSchema"):
        document = workflow("w", simple("a"), **{attribute: odd, "enforceSchema": False})
        definition = workflow_from_json(document)
        (said,) = definitions.validate(definition)
        assert said.path.startswith(f"$.{attribute}.data")
        definitions.register(definition, overwrite=True)
        definitions.register_tasks([task_def_from_json({"name": "a", attribute: odd})])
        assert orjson.loads(definitions.workflow("w", None))[attribute]["data"] == data
        assert orjson.loads(definitions.task("a"))[attribute]["data"] == data
    engine.start("w", input={"n": "x"})


def test_a_keyword_that_nobody_knows_is_stored_as_sent_and_asks_for_nothing(
    engine: MemoryEngine,
) -> None:
    data = {"x-owner": {"team": 7}, "requires": ["m"], "required": ["n"]}
    _registry(engine).save([_schema(data=data)], new_version=False)
    assert _registry(engine).one("numbers", 1)["data"] == data
    definition = workflow("w", simple("a"), inputSchema=_schema(data=data))
    assert engine.engine.definitions.validate(workflow_from_json(definition)) == ()
    with pytest.raises(InvalidInput):
        engine.start(definition)
    assert engine.start(definition, input={"n": 1})


@pytest.mark.parametrize("data", _ODD, ids=str)
def test_a_schema_that_cannot_be_used_is_complained_of_where_it_is_enforced(
    engine: MemoryEngine, data: dict[str, Any]
) -> None:
    odd = _schema(data=data)
    with pytest.raises(InvalidInput) as refused:
        engine.start(workflow("w", simple("a"), inputSchema=odd))
    (violation,) = refused.value.violations
    assert violation.path == "$.input"
    assert violation.message.startswith("its schema cannot be used: $")
    started = engine.start(workflow("w", policy("a", outputSchema=odd, enforceSchema=True)))
    engine.run("a")
    found = task_of(engine, started, "a")
    assert found["status"] == "FAILED_WITH_TERMINAL_ERROR"
    assert "its schema cannot be used: $" in found["reasonForIncompletion"]
