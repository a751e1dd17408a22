"""Requests: the short cut and the form agree, and both forgive the same."""

from typing import Any

import orjson
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from conductor_py.errors import InvalidInput
from conductor_py.model.requests import ExtendRequest, StartRequest, TaskResult
from conductor_py.wire import requests
from conductor_py.wire.body import parse, parse_object
from conductor_py.wire.definition_reader import DefinitionReader
from conductor_py.wire.parameters import flag, number, text, texts
from conductor_py.wire.requests import RESULT_STATUSES, read_result, read_start

_TEXT = st.text(max_size=4)
_INTEGER = st.integers(-(2**63), 2**64 - 1)
_SCALAR = st.none() | st.booleans() | _INTEGER | st.floats(-1e6, 1e6) | _TEXT
_JSON = _SCALAR | st.lists(_SCALAR, max_size=2) | st.dictionaries(_TEXT, _SCALAR, max_size=2)
_OBJECT = st.dictionaries(_TEXT, _JSON, max_size=2)


def _bodies(
    usual: dict[str, st.SearchStrategy[Any]], always: tuple[str, ...]
) -> st.SearchStrategy[dict[str, Any]]:
    """What clients send, with some members replaced by anything."""
    given_always = {name: usual[name] for name in always}
    sometimes = {name: values for name, values in usual.items() if name not in always}
    usually = st.fixed_dictionaries(given_always, optional=sometimes)
    odd = st.dictionaries(st.sampled_from(sorted(usual)), _JSON, max_size=2)
    return st.builds(lambda body, more: {**body, **more}, usually, st.just({}) | odd)


_STARTS = _bodies(
    {
        "name": _TEXT,
        "version": st.none() | st.integers(0, 9),
        "correlationId": st.none() | _TEXT,
        "input": _OBJECT,
        "taskToDomain": st.none() | st.dictionaries(_TEXT, _TEXT, max_size=2),
        "externalInputPayloadStoragePath": st.none() | _TEXT,
        "priority": st.integers(0, 99),
        "createdBy": st.none() | _TEXT,
        "businessTime": st.none() | st.integers(0, 9) | st.just("2026-11-24"),
        "zoneId": st.sampled_from([None, "Europe/Berlin", "Mars"]),
        "idempotencyKey": st.none() | _TEXT,
        "idempotencyStrategy": st.sampled_from(["FAIL", "RETURN_EXISTING", "FAIL_ON_RUNNING"]),
    },
    ("name",),
)
_RESULTS = _bodies(
    {
        "workflowInstanceId": _TEXT,
        "taskId": _TEXT,
        "status": st.sampled_from(RESULT_STATUSES),
        "outputData": st.none() | _OBJECT,
        "reasonForIncompletion": st.none() | _TEXT,
        "callbackAfterSeconds": st.integers(0, 9),
        "workerId": st.none() | _TEXT,
        "logs": st.none() | st.just([]),
        "externalOutputPayloadStoragePath": st.none() | _TEXT,
        "extendLease": st.booleans(),
        "claimToken": st.none() | st.integers(0, 2**53),
        "unknown": _JSON,
    },
    ("workflowInstanceId", "taskId"),
)


def _start(body: Any) -> StartRequest | str:
    try:
        return read_start(body, DefinitionReader())
    except InvalidInput as refused:
        return refused.violations[0].path


def _result(body: Any) -> TaskResult | ExtendRequest | str:
    try:
        return read_result(body)
    except InvalidInput as refused:
        return refused.violations[0].path


@given(body=_STARTS)
@example(body={"name": "x", "input": None})
def test_short_cut_of_a_start_agrees_with_its_form(body: dict[str, Any]) -> None:
    usual = _start(body)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(requests, "_short_start", lambda _: None)
        assert _start(body) == usual


@given(body=_RESULTS)
def test_short_cut_of_a_result_agrees_with_its_form(body: dict[str, Any]) -> None:
    usual = _result(body)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(requests, "_short_result", lambda _: None)
        assert _result(body) == usual


def test_usual_bodies_take_the_short_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: Any) -> None:
        pytest.fail("went through the form")

    monkeypatch.setattr(requests, "load", refuse)
    read_start({"name": "x", "version": None, "input": {}, "priority": 0}, DefinitionReader())
    read_result({"workflowInstanceId": "a", "taskId": "b", "status": "COMPLETED", "logs": []})


@pytest.mark.parametrize("blank", ["version", "priority"])
def test_an_empty_text_names_no_version_and_no_priority(blank: str) -> None:
    """As Java reads it into a number that may be null."""
    body = {"name": "x", "version": 3, "priority": 7}
    request = read_start({**body, blank: ""}, DefinitionReader())
    default = read_start({name: body[name] for name in body if name != blank}, DefinitionReader())
    assert request == default


def test_a_child_whose_version_is_an_empty_text_is_of_the_latest() -> None:
    params = {"name": "c", "version": "", "priority": ""}
    task = {"name": "s", "taskReferenceName": "s", "type": "SUB_WORKFLOW"}
    body = {"name": "w", "tasks": [{**task, "subWorkflowParam": params}]}
    read = DefinitionReader().workflow(body).tasks[0].sub_workflow_param
    assert read is not None
    assert (read.version, read.priority) == (None, None)


def test_empty_input_needs_no_value_when_an_external_one_is_given() -> None:
    body = {"name": "x", "input": None, "externalInputPayloadStoragePath": "p"}
    assert read_start(body, DefinitionReader()).external_input == "p"


@given(body=_JSON)
def test_whatever_is_sent_is_read_or_refused(body: Any) -> None:
    for outcome in (_start(body), _result(body)):
        assert isinstance(outcome, str | StartRequest | TaskResult)


# ---------------------------------------------------------------------------------------- bodies


def test_depth_is_counted_over_objects_and_lists() -> None:
    body = orjson.dumps({"a": [[{"b": []}]]})
    assert parse(body, max_depth=5) == {"a": [[{"b": []}]]}
    with pytest.raises(InvalidInput):
        parse(body, max_depth=4)


def test_brackets_in_texts_are_not_depth() -> None:
    assert parse(b'{"a":"[[[[[[[[[["}', max_depth=1) == {"a": "[[[[[[[[[["}


def test_empty_body_is_an_empty_object_where_that_is_meant() -> None:
    assert parse_object(b"") == parse_object(b"null") == {}
    with pytest.raises(InvalidInput):
        parse(b"")
    with pytest.raises(InvalidInput):
        parse_object(b"[]")


# ------------------------------------------------------------------------------------ parameters


class _Query:
    def __init__(self, **values: list[str]) -> None:
        self._values = values

    def get(self, key: str, /) -> str | None:
        return next(iter(self.getlist(key)), None)

    def getlist(self, key: str, /) -> list[str]:
        return self._values.get(key, [])


@pytest.mark.parametrize("absent", [[], [""], ["None"]])
def test_empty_and_none_are_absent(absent: list[str]) -> None:
    query = _Query(a=absent)
    assert number(query, "a", 7) == 7
    assert flag(query, "a", default=True)
    assert text(query, "a", "d") == "d"
    assert texts(query, "a") == ()


@pytest.mark.parametrize(
    ("sent", "value"), [("True", True), ("false", False), ("1", True), ("off", False)]
)
def test_flags_are_read_in_either_case(sent: str, value: bool) -> None:
    assert flag(_Query(a=[sent]), "a", default=not value) is value


def test_lists_are_repeated_or_separated_by_commas() -> None:
    assert texts(_Query(a=["x,y", " z "]), "a") == ("x", "y", "z")


@pytest.mark.parametrize("seconds", [2**31 - 1, str(2**31 - 1), 2**31, 10**18])
def test_a_result_may_say_what_a_task_that_waits_for_ever_told(seconds: object) -> None:
    body = {"workflowInstanceId": "w", "taskId": "t", "status": "IN_PROGRESS"}
    taken = read_result({**body, "callbackAfterSeconds": seconds})
    assert isinstance(taken, TaskResult)
    assert taken.callback_after_s == 2**31 - 1


def test_start_of_a_part_names_tasks_and_a_mode() -> None:
    body = {"name": "w", "startNodes": ["a", "b"], "dependMode": "TASK_PRE"}
    wanted = StartRequest(name="w", start_nodes=("a", "b"), depend_mode="TASK_PRE")
    assert read_start(body, DefinitionReader()) == wanted
    assert read_start({"name": "w", "startNodes": []}, DefinitionReader()).start_nodes == ()


@pytest.mark.parametrize(
    ("body", "path"),
    [
        ({"dependMode": "TASK_ONLY"}, "$.dependMode"),
        ({"startNodes": ["a"], "dependMode": "ONLY"}, "$.dependMode"),
        ({"startNodes": "a"}, "$.startNodes"),
        ({"startNodes": [{}]}, "$.startNodes[0]"),
    ],
)
def test_start_of_a_part_that_is_none_is_refused(body: dict[str, Any], path: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        read_start({"name": "w", **body}, DefinitionReader())
    assert [each.path for each in refused.value.violations] == [path]
