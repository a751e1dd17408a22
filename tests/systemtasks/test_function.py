"""System tasks out of functions, and how a worker finds those that are installed."""

from importlib.metadata import EntryPoint, EntryPoints
from typing import Any

import pytest

from conductor_py.config import Settings
from conductor_py.config.background import HttpTasks
from conductor_py.errors import ConfigurationError
from conductor_py.model.status import TaskStatus
from conductor_py.ports.system_tasks import SystemResult
from conductor_py.processes import system_worker
from conductor_py.systemtasks.function import FunctionTask, NonRetryable, Retryable, system_task
from tests.systemtasks.conftest import call

LATER = SystemResult(status=TaskStatus.IN_PROGRESS, callback_after_s=3)


@pytest.mark.parametrize(
    ("returned", "output"),
    [
        ({"a": 1}, {"a": 1}),
        (3, {"result": 3}),
        ([1], {"result": [1]}),
        ("x", {"result": "x"}),
        (None, {}),
    ],
)
def test_what_a_function_returns_is_the_output(returned: Any, output: Any) -> None:
    seen = []

    @system_task("MINE")
    def mine(value: Any) -> Any:
        seen.append(value)
        return returned

    assert mine.execute(call({"in": 1})) == SystemResult(output=output)
    assert (mine.task_type, seen) == ("MINE", [{"in": 1}])


def test_result_of_a_function_says_everything_itself() -> None:
    assert system_task("MINE")(lambda _: LATER).execute(call({})) is LATER


@pytest.mark.parametrize(
    ("error", "status"),
    [
        (NonRetryable("no card"), TaskStatus.FAILED_WITH_TERMINAL_ERROR),
        (Retryable("no card"), TaskStatus.FAILED),
    ],
)
def test_failures_of_a_function(error: Exception, status: TaskStatus) -> None:
    @system_task("MINE")
    def mine(_: Any) -> Any:
        raise error

    result = mine.execute(call({}))
    assert (result.status, result.reason) == (status, "no card")


charge = system_task("CHARGE")(lambda _: None)
another_http = system_task("HTTP")(lambda _: None)
nothing: Any = dict


def _broken() -> FunctionTask:
    raise RuntimeError("no licence")


broken = _broken


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch) -> Any:
    def install(*names: str) -> None:
        group = system_worker.ENTRY_POINTS
        points = EntryPoints(EntryPoint(n, f"{__name__}:{n}", group) for n in names)
        monkeypatch.setattr(system_worker, "entry_points", lambda **_: points)

    return install


def test_installed_tasks_stand_beside_those_of_the_engine(
    installed: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(EntryPoint, "load", lambda self: globals()[self.name])
    installed("charge")
    types = [task.task_type for task in system_worker.system_tasks(Settings())]
    assert types == ["HTTP", "KAFKA_PUBLISH", "CHARGE"]


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        ("another_http", "two system tasks of the type HTTP"),
        ("broken", "no licence"),
        ("nothing", "no system task"),
        ("absent", "cannot be made"),
    ],
)
def test_installed_task_that_cannot_be_used_is_refused(
    installed: Any, monkeypatch: pytest.MonkeyPatch, name: str, sentence: str
) -> None:
    monkeypatch.setattr(EntryPoint, "load", lambda self: globals()[self.name])
    installed(name)
    with pytest.raises(ConfigurationError, match=sentence):
        system_worker.system_tasks(Settings())


def test_network_that_is_none_is_refused() -> None:
    settings = Settings(http_tasks=HttpTasks(allowed_networks=("everything",)))
    with pytest.raises(ConfigurationError, match="allowedNetworks"):
        system_worker.system_tasks(settings)
