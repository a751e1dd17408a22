"""NaN and the infinities: JSON has none of them, and none becomes null on its way."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from enum import Enum
from types import MappingProxyType

import pytest

from conductor_py.errors import InvalidInput
from conductor_py.sdk import Client, Workflow
from conductor_py.sdk.document import decode, encode
from conductor_py.sdk.finite import stranger
from tests.sdk.stub import Reply, StubServer


@dataclass(frozen=True, slots=True)
class Point:
    x: float
    _hidden: float = field(default=0.0)


class Bound(float, Enum):
    NONE = math.inf


@pytest.mark.parametrize(
    ("value", "found"),
    [
        (math.nan, "$ is NaN"),
        ({"a": [{"b": math.inf}]}, "$.a[0].b is Infinity"),
        ({"a b": (1.0, -math.inf)}, "$['a b'][1] is -Infinity"),
        ({"first": math.nan, "second": math.inf}, "$.first is NaN"),
        ({"first": [None, {"x": math.nan}], "second": math.inf}, "$.first[1].x is NaN"),
        ([Point(math.nan)], "$[0].x is NaN"),
        (MappingProxyType({"a": math.nan}), "$.a is NaN"),
        ({"most": Bound.NONE}, "$.most is Infinity"),
    ],
)
def test_a_number_that_json_has_not_is_refused_with_its_path(value: object, found: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        encode(value)
    assert refused.value.message == (
        f"the value cannot be written as JSON: {found}, which JSON has not"
    )


@pytest.mark.parametrize(
    "value",
    [
        {"a": None, "b": 1.5, "c": ["null", None, {"d": -0.0}], "e": True, "n": 10**15},
        [1e308, 5e-324, None],
        None,
    ],
)
def test_what_json_has_is_written_as_it_is(value: object) -> None:
    assert decode(encode(value)) == value


def test_what_is_not_written_of_a_dataclass_is_not_looked_at() -> None:
    assert stranger([Point(1.0, math.nan), None]) is None


def test_a_start_with_such_a_number_sends_nothing(client: Client, stub: StubServer) -> None:
    stub.on("POST", "/api/workflow", Reply(200, "w-1"))
    with pytest.raises(InvalidInput, match=r"\$\.x is NaN"):
        client.start_workflow("x", input={"x": math.nan})
    with pytest.raises(InvalidInput, match=r"\$\.outputData\.x is NaN|\$\.x is NaN"):
        client.update_task({"taskId": "t", "outputData": {"x": math.nan}})
    assert stub.requests == []


def test_a_definition_with_such_a_number_is_refused() -> None:
    workflow = Workflow("w")
    workflow >> workflow.task("a", inputs={"limit": math.inf})
    with pytest.raises(InvalidInput, match="limit is Infinity"):
        workflow.to_json()
