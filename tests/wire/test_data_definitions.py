"""Definitions that come as data: the short cut and the form agree, and both name what is wrong."""

from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from conductor_py.errors import InvalidInput
from conductor_py.wire.data_definitions import read_tasks, read_workflow
from conductor_py.wire.definitions import WORKFLOW_TASK
from conductor_py.wire.fields import TEN_YEARS_S, load

_TEXT = st.text(max_size=4)
_SCALAR = st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | _TEXT
_JSON = _SCALAR | st.lists(_SCALAR, max_size=2) | st.dictionaries(_TEXT, _SCALAR, max_size=2)
_USUAL: dict[str, st.SearchStrategy[Any]] = {
    "type": st.sampled_from(["SIMPLE", "HTTP", "SUB_WORKFLOW"]),
    "inputParameters": st.dictionaries(_TEXT, _JSON, max_size=2),
    "startDelay": st.integers(0, 9),
    "retryCount": st.integers(0, 9),
    "optional": st.booleans(),
    "joinOn": st.lists(_TEXT, max_size=2),
    "forkTasks": st.just([]),
    "decisionCases": st.just({}),
    "taskDefinition": st.fixed_dictionaries(
        {}, optional={"name": _TEXT, "retryCount": st.integers(0, 9), "timeoutSeconds": _JSON}
    ),
    "subWorkflowParam": st.fixed_dictionaries({}, optional={"name": _TEXT, "version": _JSON}),
    "someoneElses": _JSON,
}
_ODD = st.dictionaries(
    st.sampled_from([*sorted(_USUAL), "name", "workflowTaskType", "loopOver", "cacheConfig"]), _JSON
)
_TASKS = st.builds(
    lambda usual, odd: {**usual, **odd},
    st.fixed_dictionaries({"name": _TEXT, "taskReferenceName": _TEXT}, optional=_USUAL),
    st.just({}) | _ODD,
)


def _outcome(read: Any, task: Any) -> Any:
    try:
        return read(task)
    except InvalidInput as error:
        return [
            (found.path.removeprefix("$[0]").removeprefix("$"), found.message)
            for found in error.violations
        ]


@given(_TASKS)
@example({"name": "a", "taskReferenceName": "a", "type": None})
@example({"name": "a", "taskReferenceName": "a", "cacheConfig": []})
@example({"name": "a", "taskReferenceName": "a", "startDelay": "5"})
@example({"name": "a", "taskReferenceName": "a", "startDelay": True})
@example({"name": "a", "taskReferenceName": "a", "taskDefinition": {"timeoutSeconds": 60}})
def test_short_cut_gives_what_the_form_gives(task: dict[str, Any]) -> None:
    short = _outcome(lambda one: read_tasks((one,))[0], task)
    assert short == _outcome(lambda one: load(WORKFLOW_TASK, one), task)


def test_first_bad_task_is_named_by_its_place() -> None:
    good: dict[str, Any] = {"name": "a", "taskReferenceName": "a"}
    bad: dict[str, Any] = {**good, "taskDefinition": {"responseTimeoutSeconds": "soon"}}
    with pytest.raises(InvalidInput) as refused:
        read_tasks((good, bad, bad))
    (found,) = refused.value.violations
    assert found.path == "$[1].taskDefinition.responseTimeoutSeconds"
    assert found.invalid_value == "soon"


@pytest.mark.parametrize("delay", [TEN_YEARS_S + 1, str(TEN_YEARS_S + 1), 10**17])
def test_delay_of_more_than_ten_years_is_refused(delay: int | str) -> None:
    with pytest.raises(InvalidInput, match="must not be more than 315576000"):
        read_tasks(({"name": "a", "taskReferenceName": "a", "startDelay": delay},))


def test_what_is_not_json_is_refused() -> None:
    with pytest.raises(InvalidInput, match="not JSON"):
        read_workflow({"name": "\ud800"})


def test_numbers_in_texts_are_numbers() -> None:
    task = {"name": "a", "taskReferenceName": "a", "retryCount": "3"}
    read = read_workflow({"name": "w", "timeoutSeconds": "60", "tasks": [task]})
    assert read.timeout_seconds == 60
    assert read.tasks[0].retry_count == 3
