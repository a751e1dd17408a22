"""Schema enforcement: whether inputs and outputs satisfy the schemas that a definition demands.

The check itself is asked for (``ValidationWanted``). A task whose input or output does not satisfy
its task definition's schema fails for good: the same data would only fail again. A workflow whose
output does not satisfy its own fails, a sub-workflow whose input does not fails before it begins.
"""

from __future__ import annotations

from collections.abc import Mapping

from conductor_py.decider.need import Refusal, ValidationWanted, digest
from conductor_py.decider.workspace import Spot, Workspace
from conductor_py.model.execution import Attempt, Document, External
from conductor_py.model.json import JsonObject


def schema_in(given: JsonObject | None) -> JsonObject | None:
    """The JSON Schema of a SchemaDef; ``None`` when there is none, or it is of another kind."""
    data = given.get("data") if given and given.get("type", "JSON") == "JSON" else None
    return data if isinstance(data, Mapping) else None


def input_refusal(ws: Workspace, spot: Spot, document: Document | None) -> str | None:
    """Say why a task's input is refused, if it is."""
    definition = spot.node.task.task_definition
    if definition is None or not definition.enforce_schema or document is None:
        return None
    return _refusal(ws, "Task input", schema_in(definition.input_schema), document)


def output_refusal(ws: Workspace, spot: Spot, attempt: Attempt) -> str | None:
    """Say why a task's output, as it stands now, is refused, if it is."""
    definition = spot.node.task.task_definition
    if definition is None or not definition.enforce_schema:
        return None
    schema = schema_in(definition.output_schema)
    if schema is None:
        return None
    return _refusal(ws, "Task output", schema, ws.raw_document(f"o:{attempt.seq}"))


def workflow_input_refusal(ws: Workspace) -> str | None:
    """Say why a sub-workflow's input is refused, if it is; starts of others were checked before."""
    definition = ws.plan.definition
    schema = schema_in(definition.input_schema) if definition.enforce_schema else None
    if schema is None or ws.header.parent is None:
        return None
    return _refusal(ws, "Workflow input", schema, ws.raw_document("input"))


def workflow_output_refusal(ws: Workspace, output: Document) -> str | None:
    """Say why the output of a workflow that is about to complete is refused, if it is."""
    definition = ws.plan.definition
    schema = schema_in(definition.output_schema) if definition.enforce_schema else None
    return _refusal(ws, "Workflow output", schema, output)


def _refusal(ws: Workspace, what: str, schema: JsonObject | None, document: Document) -> str | None:
    if schema is None:
        return None
    value = ws.payload(document.path) if isinstance(document, External) else document
    key = f"schema:{digest([schema, value])}"
    found = ws.answer(key, ValidationWanted(schema, value))
    if not isinstance(found, Refusal):
        return None
    return f"{what} does not satisfy its schema: {found.reason}"
