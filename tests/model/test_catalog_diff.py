"""What differs between two versions of a workflow."""

import pytest

from conductor_py.model.catalog import Pin
from conductor_py.model.catalog_diff import (
    Change,
    Difference,
    Placed,
    TaskChange,
    diff,
    differences,
)
from conductor_py.model.json import JsonValue


def _placed(code: int, version: int = 1, reference: str = "a", **content: JsonValue) -> Placed:
    pin = Pin(reference=reference, code=code, version=version, digest="")
    return Placed(pin=pin, content=content)


@pytest.mark.parametrize(
    ("before", "after", "found"),
    [
        ({}, {}, []),
        ({"a": 1}, {"a": 1.0}, [("$.a", 1, 1.0)]),
        ({"a": [1]}, {"a": [True]}, [("$.a", [1], [True])]),
        ({}, {"a": None}, [("$.a", None, None)]),
        ({"a": {"b": 1, "c": 2}}, {"a": {"c": 2, "b": 1}}, []),
        ({"a": 1}, {"a": True}, [("$.a", 1, True)]),
        ({"a": {"b": 1, "c": 2}}, {"a": {"b": 1}}, [("$.a.c", 2, None)]),
        ({"a": {"b": 1}}, {"a": 3}, [("$.a", {"b": 1}, 3)]),
        ({"x-y": [1]}, {"x-y": [1, 2]}, [("$['x-y']", [1], [1, 2])]),
    ],
)
def test_objects_are_compared_by_members_and_lists_as_wholes(
    before: JsonValue, after: JsonValue, found: list[tuple[str, JsonValue, JsonValue]]
) -> None:
    assert list(differences(before, after, "$")) == [
        Difference(path=path, before=was, after=now) for path, was, now in found
    ]


def test_a_task_with_another_reference_is_the_same_task() -> None:
    was = _placed(1, taskReferenceName="a")
    now = _placed(1, 2, "b", taskReferenceName="b")
    (change,) = diff({}, (was,), {}, (now,)).tasks
    assert change == TaskChange(
        change=Change.CHANGED,
        before=was.pin,
        after=now.pin,
        members=(Difference(path="$.taskReferenceName", before="a", after="b"),),
    )


def test_the_order_of_relations_says_nothing() -> None:
    first, second = {"preTask": "a", "postTask": "b"}, {"preTask": "a", "postTask": "c"}
    there = {"relations": [first, second]}
    assert diff(there, (), {"relations": [second, first]}, ()).relations == ()
    (gone,) = diff(there, (), {"relations": [second]}, ()).relations
    assert (gone.change, gone.relation) == (Change.REMOVED, first)
