"""JSON Schema: faults have paths, and no schema or document costs more than it may."""

import tracemalloc
from typing import Any

import pytest

from conductor_py.engine.definitions import json_schema
from conductor_py.engine.definitions.json_schema import Fault, faults, schema_fault
from tests.steps import lines_of

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
        ({"$ref": "#"}, "refers to itself"),
        ({"pattern": "^(a+)+$"}, "does not satisfy 'pattern'"),
        ({"not": {"pattern": "^(a|aa)+!$"}}, "does not satisfy 'not'"),
    ],
    ids=["endless", "backtracking", "ambiguous"],
)
def test_hostile_schema_is_answered(schema: dict[str, Any], said: str) -> None:
    (fault,) = faults(schema, "a" * 5_000 + ("?" if "pattern" in schema else "!"))
    assert said in fault.message
    faults(schema, {"a" * 40 + "!": "a" * 5_000 + "!"})


def test_schema_that_doubles_its_work_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_schema, "MAX_STEPS", 50_000)
    (fault,) = faults(_doubling(40), "a")
    assert "takes too long to check against its schema" in fault.message


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


_NUMBERS = list(range(10_000))


@pytest.mark.parametrize(
    ("schema", "document"),
    [
        ({"items": {"enum": [[n] for n in range(2_000)]}}, [[1_999]] * 5_000),
        ({"items": {"not": {"enum": ["x" * 100_000]}}}, _NUMBERS[:5_000]),
        (
            {"allOf": [{"$ref": "#/$defs/c"}] * 2_000, "$defs": {"c": {"const": [_NUMBERS]}}},
            [_NUMBERS],
        ),
        ({"allOf": [{"uniqueItems": True}] * 500}, [["x" * 8_000_000]]),
    ],
    ids=["values", "messages", "constant", "texts"],
)
def test_what_a_keyword_does_inside_of_itself_is_charged(
    monkeypatch: pytest.MonkeyPatch, schema: dict[str, Any], document: object
) -> None:
    monkeypatch.setattr(json_schema, "MAX_STEPS", 50_000)
    (found,) = faults(schema, document)
    assert found.message == "takes too long to check against its schema"


@pytest.mark.parametrize("keyword", ["anyOf", "oneOf"])
@pytest.mark.parametrize(
    ("schema", "document"),
    [
        ({"type": "string"}, {"a": "x" * 1_000_000}),
        ({"items": {"type": "string"}}, list(range(500))),
        ({"required": [f"a{number}" for number in range(500)]}, {}),
    ],
    ids=["value", "items", "names"],
)
def test_what_is_wrong_with_each_of_many_alternatives_is_not_kept(
    keyword: str, schema: dict[str, Any], document: object
) -> None:
    """A request of 10 MB had its input written two thousand times, and all of it kept."""
    hostile: dict[str, Any] = {keyword: [{"$ref": "#/$defs/one"}] * 200, "$defs": {"one": schema}}
    assert faults(schema, document)  # what can be loaded has been
    tracemalloc.start()
    try:
        faults(hostile, document)
        assert tracemalloc.get_traced_memory()[1] < 60_000_000
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    ("keyword", "document", "satisfies"),
    [
        ("anyOf", 1, True),
        ("anyOf", 20, True),
        ("anyOf", "a", False),
        ("oneOf", 1, True),
        ("oneOf", 20, False),
        ("oneOf", "a", False),
    ],
)
def test_alternatives_are_counted(keyword: str, document: object, satisfies: bool) -> None:
    schema: dict[str, Any] = {keyword: [{"type": "integer"}, {"type": "number", "minimum": 10}]}
    assert (faults(schema, document) == ()) is satisfies


def test_a_hostile_schema_is_not_looked_at_for_ever_when_it_is_registered() -> None:
    """Draft 4 wants the values of an enum to differ, which took the square of their number."""
    of_four = "http://json-schema.org/draft-04/schema#"
    hostile: dict[str, Any] = {
        "$schema": of_four,
        "enum": [{"a": n, "b": [n]} for n in range(2_000)],
    }
    found: list[object] = []
    assert lines_of(lambda: found.append(schema_fault(hostile))) < 100 * 2_000
    assert found == [None]


@pytest.mark.parametrize(
    ("schema", "good", "bad"),
    [
        ({"enum": ["a", 1, [1, {"b": 2}], None]}, ["a", 1, 1.0, [1, {"b": 2}], None], ["b", 2, []]),
        ({"const": {"a": [1]}}, [{"a": [1]}, {"a": [1.0]}], [{"a": [2]}, "a", [1]]),
        ({"const": "a"}, ["a"], ["b", "", ["a"]]),
        ({"const": ["a"]}, [["a"]], ["a", []]),
        ({"enum": [True]}, [True], [1, "true"]),
    ],
)
def test_values_are_compared_as_the_standard_says(
    schema: dict[str, Any], good: list[object], bad: list[object]
) -> None:
    assert [faults(schema, value) for value in good] == [()] * len(good)
    assert all(faults(schema, value) for value in bad)


def test_nothing_is_fetched() -> None:
    (fault,) = faults({"$ref": "http://127.0.0.1:9/schema.json"}, {})
    assert "not in it" in fault.message


_PART: dict[str, Any] = {"$id": "http://a/part.json", "$defs": {"b": {}}}


@pytest.mark.parametrize(
    ("schema", "reference"),
    [
        ({"$ref": "#/definitions/none"}, "#/definitions/none"),
        ({"$ref": "#/definitions/no%20ne"}, "#/definitions/no%20ne"),
        ({"$ref": "#none"}, "#none"),
        ({"$dynamicRef": "#none"}, "#none"),
        ({"$ref": "#/$defs/a", "$defs": {"a": {"$ref": "#/$defs/b"}}}, "#/$defs/b"),
        ({"$ref": "part.json#/$defs/c", "$id": "http://a/", "$defs": {"p": _PART}}, None),
        ({"$ref": "other.json#/x"}, "other.json#/x"),
        ({"unevaluatedProperties": False, "$ref": "#/$defs/b"}, "#/$defs/b"),
        ({"unevaluatedItems": False, "allOf": [{"$ref": "#b"}]}, "#b"),
        ({"$schema": "http://json-schema.org/draft-04/schema#", "$ref": "#/x"}, "#/x"),
    ],
)
@pytest.mark.parametrize("document", [{"a": 1}, [1]])
def test_a_reference_that_leads_nowhere_is_told_as_the_schema_writes_it(
    schema: dict[str, Any], reference: str | None, document: object
) -> None:
    (fault,) = faults(schema, document)
    wanted = reference or schema["$ref"]
    assert fault.message == f"the schema refers to '{wanted}', which is not in it"


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
