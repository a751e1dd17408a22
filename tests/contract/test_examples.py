"""The published examples are what they say: accepted, or refused for the reasons they name."""

from pathlib import Path
from typing import Any

import jsonschema
import orjson
import pytest

from conductor_py.decider.expressions.expressions import check
from conductor_py.errors import InvalidInput
from conductor_py.wire.definition_reader import DefinitionReader
from conductor_py.wire.examples import EXAMPLES
from conductor_py.wire.fields import load
from conductor_py.wire.openapi import _FORMS as _PUBLISHED_FORMS
from conductor_py.wire.openapi import files, schemas
from conductor_py.wire.validation import Rules

_EXAMPLES = Path(__file__).parents[2] / "schemas" / "examples"
_READER = DefinitionReader(Rules(check_expressions=check))


def _examples(kind: str) -> list[Any]:
    return [
        pytest.param(orjson.loads(path.read_bytes()), id=path.stem)
        for path in sorted((_EXAMPLES / kind).glob("*.json"))
    ]


@pytest.mark.parametrize("example", _examples("valid"))
def test_valid_example_is_accepted(example: dict[str, Any]) -> None:
    assert _READER.workflow(example).name == example["name"]


@pytest.mark.parametrize("example", _examples("invalid"))
def test_invalid_example_is_refused_for_its_reasons(example: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput) as refused:
        _READER.workflow(example["definition"])
    assert [found.path for found in refused.value.violations] == example["violations"]


@pytest.mark.parametrize("example", _examples("valid"))
def test_published_schema_knows_every_member_of_the_valid_examples(example: dict[str, Any]) -> None:
    schema = orjson.loads(files()["WorkflowDef.json"])
    assert example.keys() <= schema["$defs"]["WorkflowDef"]["properties"].keys()
    for task in example["tasks"]:
        assert task.keys() <= schema["$defs"]["WorkflowTask"]["properties"].keys()


_FORMS = {type(form).__name__.removesuffix("Form"): form for form in _PUBLISHED_FORMS}


@pytest.mark.parametrize("name", sorted(EXAMPLES))
def test_published_example_is_accepted_by_its_form_and_by_its_schema(name: str) -> None:
    load(_FORMS[name], EXAMPLES[name])
    _schema_of(name).validate(EXAMPLES[name])


@pytest.mark.parametrize("example", _examples("valid"))
def test_published_schema_accepts_the_valid_examples(example: dict[str, Any]) -> None:
    _schema_of("WorkflowDef").validate(example)


@pytest.mark.parametrize(
    ("name", "broken"),
    [
        ("WorkflowDef", {"tasks": {}}),
        ("WorkflowTask", {"forkTasks": [{}]}),
        ("TaskDef", {"retryLogic": "SOMETIMES"}),
        ("TaskResult", {"status": "SKIPPED"}),
        ("StartWorkflowRequest", {"priority": 100}),
        ("WorkflowTestRequest", {"taskRefToMockOutput": {"r": {}}}),
    ],
)
def test_what_the_form_refuses_the_published_schema_refuses(
    name: str, broken: dict[str, Any]
) -> None:
    example = EXAMPLES[name] | broken
    with pytest.raises(InvalidInput):
        load(_FORMS[name], example)
    with pytest.raises(jsonschema.ValidationError):
        _schema_of(name).validate(example)


def _schema_of(name: str) -> jsonschema.Draft202012Validator:
    published = {"components": {"schemas": schemas()}, "$ref": f"#/components/schemas/{name}"}
    return jsonschema.Draft202012Validator(published)
