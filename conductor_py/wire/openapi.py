"""The published contract: OpenAPI 3.1 and JSON Schemas, made of the forms and the endpoint table.

``python -m conductor_py.wire.openapi schemas`` writes them; a test fails when they are not current.
"""

from __future__ import annotations

import re
import sys
from dataclasses import MISSING, fields, is_dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import orjson

from conductor_py.model.definitions import (
    Relation,
    SubWorkflowParams,
    TaskDef,
    WorkflowDef,
    WorkflowTask,
)
from conductor_py.wire import (
    answers,
    backfills,
    bundles,
    catalog_forms,
    checkpoint_answers,
    checkpoints,
    codes,
    event_handlers,
    lookups,
    oversight,
    policies,
    recovery,
    requests,
    schedules,
    steering,
    trials,
    workers,
)
from conductor_py.wire import (
    files as file_forms,
)
from conductor_py.wire import (
    lineage as lineage_forms,
)
from conductor_py.wire.definitions import (
    INLINE_TASK_DEF,
    RELATION,
    SUB_WORKFLOW_PARAMS,
    TASK_DEF,
    WORKFLOW_DEF,
    WORKFLOW_TASK,
    CacheConfigForm,
    RateLimitConfigForm,
    SchemaDefForm,
    StateChangeEventForm,
)
from conductor_py.wire.examples import EXAMPLES
from conductor_py.wire.fields import WireField, WireSchema, reference
from conductor_py.wire.operations import (
    BYTES,
    HTML,
    NOTHING,
    OBJECT,
    OPERATIONS,
    SCRIPT,
    TEXT,
    Operation,
)
from conductor_py.wire.pipelines import job_schema

Json = dict[str, Any]

_DIALECT = "https://json-schema.org/draft/2020-12/schema"
_PARAMETER = re.compile(r"\{(\w+)\}")
_PATH_SCHEMAS: dict[str, Json] = {
    "status": {"type": "string", "enum": list(requests.RESULT_STATUSES)},
    "version": {"type": "integer"},
}
"""Schemas of parts of paths that are more than any text, by name."""
_ERRORS = {
    400: "The request is not valid; nothing was changed",
    403: "Not allowed: it is only to be read, or its URL is forged or expired",
    404: "There is nothing by that name or id",
    409: "The present state does not allow this; nothing was changed",
    410: "There is no such task or workflow",
    413: "The payload is larger than the limit",
    429: "A limit is reached; try again later",
    501: "It is read here and written elsewhere",
    503: "A store is away; try again",
}
_TEXT_TYPES = {TEXT: "text/plain", HTML: "text/html", SCRIPT: "application/javascript"}
_JSON_TYPES = ("string", "integer", "boolean")
_MODELS: dict[str, type] = {
    "WorkflowDef": WorkflowDef,
    "WorkflowTask": WorkflowTask,
    "TaskDef": TaskDef,
    "InlineTaskDef": TaskDef,
    "SubWorkflowParams": SubWorkflowParams,
    "Relation": Relation,
}
_FORMS: tuple[WireSchema, ...] = (
    WORKFLOW_DEF,
    WORKFLOW_TASK,
    TASK_DEF,
    INLINE_TASK_DEF,
    SUB_WORKFLOW_PARAMS,
    RELATION,
    SchemaDefForm(),
    RateLimitConfigForm(),
    CacheConfigForm(),
    StateChangeEventForm(),
    *event_handlers.FORMS,
    *requests.FORMS,
    *steering.FORMS,
    *recovery.FORMS,
    *trials.FORMS,
    *lookups.FORMS,
    *answers.FORMS,
    *schedules.FORMS,
    *backfills.FORMS,
    *policies.FORMS,
    *file_forms.FORMS,
    *workers.FORMS,
    *checkpoints.FORMS,
    *checkpoint_answers.FORMS,
    *codes.FORMS,
    *catalog_forms.FORMS,
    *lineage_forms.FORMS,
    *bundles.FORMS,
    *oversight.FORMS,
)
_PUBLISHED = ("WorkflowDef", "TaskDef", "StartWorkflowRequest", "TaskResult", "Task", "Workflow")
"""The schemas that are files of their own."""


def schemas() -> dict[str, Json]:
    """Make the JSON Schema of every form, by name."""
    return {_name(form): _schema(form) for form in _FORMS}


@lru_cache(maxsize=4)
def document(version: str) -> Json:
    """Make the OpenAPI document; shared, not to be changed."""
    paths: dict[str, Json] = {}
    for operation in OPERATIONS:
        described = _operation(operation)
        paths.setdefault(operation.path, {})[operation.method.lower()] = described
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "conductor-py",
            "version": version,
            "description": "Workflow orchestration in Conductor's dialect.",
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "servers": [{"url": "/"}],
        "paths": paths,
        "components": {"schemas": schemas()},
    }


@lru_cache(maxsize=4)
def document_bytes(version: str) -> bytes:
    """Write the OpenAPI document."""
    return orjson.dumps(document(version))


def files() -> dict[str, bytes]:
    """Make every published file, by name. They carry no software version: only the contract."""
    option = orjson.OPT_INDENT_2 | orjson.OPT_SORT_KEYS | orjson.OPT_APPEND_NEWLINE
    everything: dict[str, Json] = {"openapi.json": document("1")}
    definitions = schemas()
    for name in _PUBLISHED:
        everything[f"{name}.json"] = _standalone(name, definitions)
    everything["PipelineJob.json"] = job_schema()
    return {name: orjson.dumps(content, option=option) for name, content in everything.items()}


def write(directory: Path) -> None:
    """Write every published file into ``directory``, which is made when missing."""
    directory.mkdir(parents=True, exist_ok=True)
    for name, content in files().items():
        (directory / name).write_bytes(content)


# --------------------------------------------------------------------------------------- schemas


def _name(form: WireSchema) -> str:
    return reference(form).rpartition("/")[2]


def _schema(form: WireSchema) -> Json:
    properties: Json = {}
    required = []
    defaults = _defaults(_MODELS.get(_name(form)))
    for name, field in form.fields.items():
        key = str(field.data_key)
        shown = field.json_schema() if isinstance(field, WireField) else {}
        default = defaults.get(name)
        if isinstance(default, str | int) and "$ref" not in shown:
            shown["default"] = default
        if field.allow_none:
            shown = {"anyOf": [shown, {"type": "null"}]}
        properties[key] = shown
        if field.required:
            required.append(key)
    described: Json = {
        "type": "object",
        "description": (type(form).__doc__ or "").strip(),
        "properties": properties,
    }
    if required:
        described["required"] = required
    if _name(form) in EXAMPLES:
        described["examples"] = [EXAMPLES[_name(form)]]
    return described


def _defaults(model: type | None) -> dict[str, object]:
    if model is None or not is_dataclass(model):
        return {}
    return {field.name: field.default for field in fields(model) if field.default is not MISSING}


def _standalone(name: str, definitions: dict[str, Json]) -> Json:
    """Make a schema that needs no other file: what it refers to is in its ``$defs``."""
    needed: dict[str, Json] = {}
    pending = [name]
    while pending:
        current = pending.pop()
        if current not in needed:
            needed[current] = definitions[current]
            found = orjson.dumps(definitions[current]).decode()
            pending += re.findall(r"#/components/schemas/(\w+)", found)
    text = orjson.dumps(needed).replace(b"#/components/schemas/", b"#/$defs/")
    return {
        "$schema": _DIALECT,
        "title": name,
        "$ref": f"#/$defs/{name}",
        "$defs": orjson.loads(text),
    }


# ------------------------------------------------------------------------------------ operations


def _operation(operation: Operation) -> Json:
    described: Json = {
        "operationId": _operation_id(operation),
        "tags": [operation.tag],
        "summary": operation.summary,
        "parameters": [*_path_parameters(operation), *_query_parameters(operation)],
        "responses": _responses(operation),
    }
    if operation.body:
        described["requestBody"] = {
            "required": operation.body not in (OBJECT, NOTHING),
            "content": _content(operation.body),
        }
    return described


def _operation_id(operation: Operation) -> str:
    words = re.findall(r"\w+", operation.path.replace("{", "by_{"))
    return "_".join((operation.method.lower(), *words))


def _path_parameters(operation: Operation) -> list[Json]:
    return [
        {
            "name": name,
            "in": "path",
            "required": True,
            "schema": _PATH_SCHEMAS.get(name, {"type": "string"}),
        }
        for name in _PARAMETER.findall(operation.path)
    ]


def _query_parameters(operation: Operation) -> list[Json]:
    described = []
    for word in operation.query.split():
        name, _, kind = word.partition(":")
        schema: Json = {"type": kind}
        if "|" in kind:
            schema = {"type": "string", "enum": kind.split("|")}
        parameter: Json = {"name": name.rstrip("!"), "in": "query", "schema": schema}
        described.append(parameter | {"required": True} if name.endswith("!") else parameter)
    return described


def _responses(operation: Operation) -> Json:
    success: Json = {"description": "Success"}
    answers = [each for each in (operation.answer, operation.dry_run) if each not in {"", NOTHING}]
    if answers:
        success["content"] = {
            kind: shown for each in answers for kind, shown in _content(each).items()
        }
    responses: Json = {str(operation.success): success}
    if operation.no_content:
        responses["204"] = {"description": operation.no_content.capitalize()}
    for status in operation.errors:
        responses[str(status)] = {
            "description": _ERRORS[status],
            "content": _content("ErrorResponse"),
        }
    return responses


def _content(what: str) -> Json:
    if what == BYTES:
        return {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}}
    if what in _TEXT_TYPES:
        return {_TEXT_TYPES[what]: {"schema": {"type": "string"}}}
    return {"application/json": {"schema": _described(what)}}


def _described(what: str) -> Json:
    if "|" in what:
        return {"anyOf": [_described(each) for each in what.split("|")]}
    if what == OBJECT:
        return {"type": "object", "additionalProperties": True}
    if what.endswith("{}"):
        return {"type": "object", "additionalProperties": _described(what[:-2])}
    if what.endswith("[]"):
        return {"type": "array", "items": _described(what[:-2])}
    if what.startswith("SearchResult:"):
        results = {"type": "array", "items": _described(what.partition(":")[2])}
        properties = {"totalHits": {"type": "integer"}, "results": results}
        return {"type": "object", "properties": properties, "required": list(properties)}
    return {"type": what} if what in _JSON_TYPES else {"$ref": f"#/components/schemas/{what}"}


if __name__ == "__main__":
    write(Path(sys.argv[1] if len(sys.argv) > 1 else "schemas"))
