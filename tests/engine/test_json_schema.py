"""JSON Schema: faults have paths, and no schema or document costs more than it may."""

from typing import Any

import pytest

from conductor_py.engine.json_schema import Fault, faults, schema_fault

_PERSON: dict[str, Any] = {
    "type": "object",
    "required": ["name"],
    "properties": {
        "name": {"type": "string", "pattern": "^[A-Z][a-z]+$"},
        "ages": {"type": "array", "items": {"type": "integer", "minimum": 0}},
    },
    "additionalProperties": False,
}


def _doubling(levels: int) -> dict[str, Any]:
    """A schema that looks at its document 2^levels times."""
    layers = {
        f"l{level}": {"allOf": [{"$ref": f"#/$defs/l{level + 1}"}] * 2} for level in range(levels)
    }
    return {"$ref": "#/$defs/l0", "$defs": {**layers, f"l{levels}": {"type": "string"}}}


def test_document_that_satisfies_has_no_faults() -> None:
    assert faults(_PERSON, {"name": "Ada", "ages": [1, 2]}) == ()


def test_faults_say_where_and_what() -> None:
    found = faults(_PERSON, {"name": "ada", "ages": [1, -2], "odd": 1})
    assert {(fault.path, fault.message.split(":")[0]) for fault in found} == {
        ("$.name", "does not satisfy 'pattern'"),
        ("$.ages[1]", "does not satisfy 'minimum'"),
        ("$", "has members that are not allowed"),
    }


def test_values_do_not_stand_in_the_sentences() -> None:
    (fault,) = faults({"type": "object"}, "a secret value")
    assert "secret" not in fault.message


@pytest.mark.parametrize(
    ("pattern", "text", "satisfies"),
    [
        ("b", "abc", True),
        ("^b", "abc", False),
        ("c$", "abc", True),
        ("^a|b$", "xb", True),
        ("^a|b$", "xbx", False),
        ("(x|y)+", "--yx--", True),
        ("[|]", "a|b", True),
    ],
)
def test_patterns_match_anywhere_unless_anchored(pattern: str, text: str, satisfies: bool) -> None:
    assert (faults({"pattern": pattern}, text) == ()) is satisfies


@pytest.mark.parametrize(
    ("schema", "said"),
    [
        (_doubling(40), "takes too long to check against its schema"),
        ({"$ref": "#"}, "cannot be checked: RecursionError"),
        ({"pattern": "^(a+)+$"}, "does not satisfy 'pattern'"),
        ({"not": {"pattern": "^(a|aa)+!$"}}, "does not satisfy 'not'"),
    ],
    ids=["doubling", "endless", "backtracking", "ambiguous"],
)
def test_hostile_schema_is_answered(schema: dict[str, Any], said: str) -> None:
    (fault,) = faults(schema, "a" * 5_000 + ("?" if "pattern" in schema else "!"))
    assert said in fault.message
    faults(schema, {"a" * 40 + "!": "a" * 5_000 + "!"})


def test_hostile_name_pattern_is_answered() -> None:
    hostile: dict[str, Any] = {
        "patternProperties": {"^(a|aa)+$": {"type": "null"}},
        "additionalProperties": False,
    }
    (fault,) = faults(hostile, {"a" * 40 + "!": 1})
    assert "not allowed" in fault.message


def test_many_equal_looking_items_are_compared_at_once() -> None:
    items = [{"n": number} for number in range(20_000)]
    assert faults({"uniqueItems": True}, items) == ()
    assert faults({"uniqueItems": True}, [*items, {"n": 7}]) != ()


def test_nothing_is_fetched() -> None:
    (fault,) = faults({"$ref": "http://127.0.0.1:9/schema.json"}, {})
    assert "not in it" in fault.message


@pytest.mark.parametrize(
    ("schema", "path"),
    [
        ({"type": "objekt"}, "$.type"),
        ({"$schema": "http://example.com/mine", "type": 3}, "$"),
        ({"properties": {"a": {"pattern": r"(?=x)"}}}, "$.properties.a"),
        ({"description": "x" * 300_000}, "$"),
    ],
)
def test_schema_that_cannot_be_used_says_why(schema: dict[str, Any], path: str) -> None:
    found = schema_fault(schema)
    assert isinstance(found, Fault)
    assert found.path.startswith(path)
    (said,) = faults(schema, {})
    assert said.path == "$"
    assert said.message == f"its schema cannot be used: {found.path}: {found.message}"
