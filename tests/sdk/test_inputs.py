"""Parameters from a task's input: strict by annotation, and every refusal names its key."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from functools import partial
from typing import Annotated, Any, Literal, NewType

import pytest

from conductor_py.model.json import JsonObject
from conductor_py.sdk import ConfigurationError, Task
from conductor_py.sdk.inputs import InputError, Inputs
from tests.sdk.tasks import task

Sku = NewType("Sku", str)


class Size(Enum):
    SMALL = "s"
    LARGE = "l"


@dataclass(frozen=True)
class Line:
    sku: Sku
    count: int = 1


@dataclass(frozen=True)
class Order:
    lines: list[Line]
    note: str | None = None
    tags: tuple[str, ...] = field(default_factory=tuple)


@dataclass(frozen=True)
class Tree:
    name: str
    children: list[Tree] = field(default_factory=list)


@dataclass(frozen=True)
class Positive:
    n: int

    def __post_init__(self) -> None:
        if self.n <= 0:
            raise ValueError("n must be positive")


def bind(function, given: Mapping[str, object]) -> dict[str, object]:
    return Inputs(function).arguments(task(inputData=given), given)


def test_parameters_are_filled_by_name_and_the_rest_is_ignored():
    def work(name: str, count: int, ratio: float, flag: bool) -> None: ...

    given = {"name": "a", "count": 2, "ratio": 3, "flag": True, "other": None}
    assert bind(work, given) == {"name": "a", "count": 2, "ratio": 3.0, "flag": True}


def test_an_absent_input_takes_its_default():
    def work(count: int = 7) -> None: ...

    assert bind(work, {}) == {}


def test_null_counts_as_absent_unless_the_annotation_admits_it():
    def work(count: int = 7, name: str | None = "x", anything: Any = 1) -> None: ...

    given = {"count": None, "name": None, "anything": None}
    assert bind(work, given) == {"name": None, "anything": None}


@pytest.mark.parametrize(
    ("given", "sentence"),
    [({}, "'n' is required and is missing"), ({"n": None}, "'n' is required and is null")],
)
def test_a_missing_required_input_is_refused_by_its_key(given, sentence):
    def work(n: int) -> None: ...

    with pytest.raises(InputError, match=sentence):
        bind(work, given)


REFUSED = [
    (int, "3", "must be an integer, not a string"),
    (int, True, "must be an integer, not a boolean"),
    (int, 3.0, "must be an integer, not a number"),
    (float, True, "must be a number, not a boolean"),
    (bool, 1, "must be a boolean, not an integer"),
    (str, 1, "must be a string, not an integer"),
    (list[int], {}, "must be an array, not an object"),
    (list[int], [1, "2"], r"input 'n\[1\]' must be an integer, not a string"),
    (dict[str, int], {"a": "b"}, "input 'n.a' must be an integer, not a string"),
    (tuple[str, ...], [1], r"input 'n\[0\]' must be a string"),
    (Literal["a", 1], True, "must be one of 'a', 1"),
    (Size, "xl", "must be one of 's', 'l'"),
    (int | str, [], "must be an integer, not an array; or input 'n' must be a string"),
    (Order, {"lines": [{"sku": "a"}, {"count": 1}]}, r"input 'n.lines\[1\].sku' is required"),
    (Order, {"lines": [{"sku": 4}]}, r"input 'n.lines\[0\].sku' must be a string"),
    (Order, [], "input 'n' must be an object, not an array"),
    (Positive, {"n": 0}, "input 'n' was refused: n must be positive"),
]


@pytest.mark.parametrize(("annotation", "value", "sentence"), REFUSED)
def test_a_value_of_another_type_is_refused_not_coerced(annotation, value, sentence):
    def work(n) -> None: ...

    work.__annotations__["n"] = annotation
    with pytest.raises(InputError, match=sentence):
        bind(work, {"n": value})


ACCEPTED = [
    (float, 3, 3.0),
    (int | None, None, None),
    (Literal["a", 1], 1, 1),
    (Size, "l", Size.LARGE),
    (Annotated[Sku, "a stock unit"], "a", "a"),
    (list[int], [1, 2], [1, 2]),
    (Sequence[str], ["a"], ["a"]),
    (tuple[int, ...], [1], (1,)),
    (dict, {"a": [None]}, {"a": [None]}),
    (Mapping[str, float], {"a": 1}, {"a": 1.0}),
    (JsonObject, {"a": [{"b": None}]}, {"a": [{"b": None}]}),
    (object, [1], [1]),
    (
        Order,
        {"lines": [{"sku": "a", "extra": 1}], "tags": ["x"]},
        Order(lines=[Line(sku=Sku("a"))], tags=("x",)),
    ),
    (
        Tree,
        {"name": "root", "children": [{"name": "leaf", "children": []}]},
        Tree("root", [Tree("leaf")]),
    ),
]


@pytest.mark.parametrize(("annotation", "value", "expected"), ACCEPTED)
def test_a_value_of_the_annotated_type_arrives_as_that_type(annotation, value, expected):
    def work(n) -> None: ...

    work.__annotations__["n"] = annotation
    (got,) = bind(work, {"n": value}).values()
    assert got == expected
    assert type(got) is type(expected)


def test_a_parameter_annotated_task_gets_the_polled_task():
    def work(name: str, which: Task) -> None: ...

    arguments = bind(work, {"name": "a", "which": "ignored"})
    assert arguments["which"] == task(inputData={"name": "a", "which": "ignored"})


def test_keyword_rest_takes_the_other_inputs():
    def work(name: str, **rest: int) -> None: ...

    assert bind(work, {"name": "a", "b": 1}) == {"name": "a", "b": 1}
    with pytest.raises(InputError, match="input 'b' must be an integer"):
        bind(work, {"name": "a", "b": "c"})


class Adding:
    async def __call__(self, a: int, b: int = 1) -> int:
        return a + b


def test_a_partial_and_a_callable_object_are_read_as_what_they_call():
    def work(name: str, which: Task, size: int) -> None: ...

    given = Inputs(partial(partial(work, "a"), size=5)).arguments(task(), {"size": 6})
    assert given == {"which": task(), "size": 6}
    assert Inputs(Adding()).arguments(task(), {"a": 2}) == {"a": 2}
    with pytest.raises(InputError, match="input 'a' must be an integer"):
        Inputs(Adding()).arguments(task(), {"a": "2"})


def test_signatures_that_inputs_cannot_fill_are_refused_at_once():
    def positional(name, /) -> None: ...
    def rest(*names) -> None: ...
    def unknown(name) -> None: ...
    def unchecked(name: set[int]) -> None: ...
    def not_json(name: StubbornClass) -> None: ...

    unknown.__annotations__["name"] = "nowhere.Name"
    for function in (positional, rest, unknown, unchecked, not_json):
        with pytest.raises(ConfigurationError, match="name"):
            Inputs(function)


class StubbornClass:
    """Nothing that JSON could become."""
