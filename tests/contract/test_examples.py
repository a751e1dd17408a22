"""The published examples are what they say: accepted, or refused for the reasons they name."""

from pathlib import Path
from typing import Any

import orjson
import pytest

from conductor_py.decider.expressions import check
from conductor_py.errors import InvalidInput
from conductor_py.wire.definition_reader import DefinitionReader
from conductor_py.wire.openapi import files
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
