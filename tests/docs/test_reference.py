"""The reference pages say what the code says: nothing undocumented, nothing invented."""

import importlib
import pkgutil
import re
import shlex

import click
import pytest

import conductor_py
from conductor_py.adapters.redis.keys import KEYS
from conductor_py.api.errors import STATUS
from conductor_py.api.metrics import _COUNTED, Metrics
from conductor_py.cli.completion import completion
from conductor_py.cli.entry import _COMMANDS, root
from conductor_py.config.settings import declared
from conductor_py.decider.operators import OPERATORS
from conductor_py.errors import ConductorError
from conductor_py.model.status import TASK_MOVES, WORKFLOW_MOVES, TaskStatus, WorkflowStatus
from conductor_py.wire.openapi import document
from tests.docs.pages import all_pages, page

_METHODS = {"GET", "POST", "PUT", "DELETE"}
_SPARK_TYPES = {"SPARK_SQL", "SPARK_PYTHON", "SPARK_PIPELINE"}
_SHELL = [
    (found.name, line.strip())
    for found in all_pages()
    for block in found.blocks("sh")
    for line in block.text.replace("\\\n", " ").splitlines()
    if line.strip().startswith("conductor-py ")
]


def test_every_endpoint_is_listed_with_its_sentence_and_parameters() -> None:
    listed = {
        (method, path): (sentence, frozenset(re.findall(r"[\w-]+", parameters)))
        for method, path, parameters, sentence in (
            row for row in page("docs/reference/http-api.md").rows() if row[0] in _METHODS
        )
    }
    served = {
        (method.upper(), path): (
            told["summary"],
            frozenset(one["name"] for one in told.get("parameters", []) if one["in"] == "query"),
        )
        for path, methods in document("1")["paths"].items()
        for method, told in methods.items()
    }
    assert listed == served


def test_endpoints_that_are_said_to_be_absent_are_not_served() -> None:
    section = page("docs/reference/http-api.md").text.partition("has and this version has not\n")[2]
    absent = set(re.findall(r"`(/api/[\w/{}]+)`", section))
    assert {"/api/token", "/api/secrets/{key}/tags", "/api/event/queue/config"} <= absent
    served = document("1")["paths"]
    assert [one for one in absent for path in served if f"{path}/".startswith(f"{one}/")] == []


def test_every_error_code_is_listed_with_its_status() -> None:
    for module in pkgutil.walk_packages(conductor_py.__path__, "conductor_py."):
        if module.name.rpartition(".")[2] not in {"__main__", "child"}:
            importlib.import_module(module.name)
    listed = {
        row[0]: row[1]
        for row in page("docs/reference/errors.md").rows()
        if re.fullmatch(r"[A-Z_]+", row[0])
    }
    statuses = {code: str(status) for code, status in STATUS.items()}
    on_the_client = dict.fromkeys(_codes(ConductorError) - STATUS.keys(), "none")
    assert listed == statuses | on_the_client


def test_every_kind_of_key_is_listed_with_its_type_and_bound() -> None:
    listed = {row[0]: row[1:] for row in page("docs/reference/redis-keys.md").rows()}
    for key in KEYS:
        assert listed[key.name] == (key.kind, key.meaning, key.bound)
    assert len(listed) == len(KEYS)


def test_every_status_is_listed_with_its_moves() -> None:
    listed = {(len(row), row[0]): row[1:] for row in page("docs/reference/statuses.md").rows()}
    for status in WorkflowStatus:
        terminal, moves = listed[3, status.value]
        assert (terminal == "yes") == status.terminal
        assert _named(moves) == {move.value for move in WORKFLOW_MOVES[status]}
    ends = {status.value for status in TaskStatus if status.terminal}
    for task in TaskStatus:
        *flags, moves = listed[5, task.value]
        assert [flag == "yes" for flag in flags] == [task.terminal, task.successful, task.retriable]
        reached = _named(moves.removeprefix("any end, "))
        reached |= ends if moves.startswith("any end") else set()
        assert reached == {move.value for move in TASK_MOVES[task]}


def test_every_task_type_with_an_operator_is_listed() -> None:
    text = page("docs/reference/task-types.md").text
    headings = set(re.findall(r"^## ([A-Z_]+)$", text, re.MULTILINE))
    assert headings == {*OPERATORS, "SIMPLE", *_SPARK_TYPES}


def test_every_metric_is_listed() -> None:
    metrics = Metrics()
    metrics.show_queues(lambda: {"HTTP": 1})
    metrics.show_events(lambda: {"COMPLETED": 1})
    metrics.show_schedules(lambda: {"active": 1})
    metrics.show_requests(lambda: {"refused": 1, "working": 1})
    metrics.show_oversight(lambda: {"runs": 1, "ended_ms": 1, "I1": 0}, lambda: 1, lambda: 1)
    for name in _COUNTED:
        metrics.count(name, "OK", 1)
    published = set(re.findall(r"^# TYPE (conductor_\w+)", metrics.write().decode(), re.MULTILINE))
    published = {one for one in published if not one.endswith("_created")}  # the client's own
    text = page("docs/reference/http-api.md").text.partition("## The server\n")[2]
    listed = set(re.findall(r"`(conductor_\w+)`", text.partition("| method |")[0]))
    assert published == listed


def test_every_setting_is_documented() -> None:
    text = page("docs/reference/configuration.md").text
    assert [one.setting.key for one in declared() if one.setting.key not in text] == []


def test_every_command_is_documented() -> None:
    text = page("docs/reference/command-line.md").text
    missing = [name for name in _commands() if f"`conductor-py {name}`" not in text]
    assert missing == []


@pytest.mark.parametrize(("name", "line"), _SHELL, ids=lambda value: str(value)[:60])
def test_command_lines_are_accepted(name: str, line: str) -> None:
    """Commands and options exist; nothing is run. ``name`` says in which page the line stands."""
    words = shlex.split(re.split(r"\s[|>&#]", line)[0])[1:]
    command: click.Command = root
    context = click.Context(root)
    while isinstance(command, click.Group):
        found = command.get_command(context, words.pop(0))
        assert found is not None, f"{name}: {line}"
        command = found
    command.make_context(command.name, words)


def test_each_shell_has_the_line_that_switches_completion_on() -> None:
    (shells,) = (one.type for one in completion.params if one.name == "shell")
    assert isinstance(shells, click.Choice)
    text = page("docs/reference/command-line.md").text
    lines = {
        "bash": 'eval "$(conductor-py completion bash)"',
        "zsh": 'eval "$(conductor-py completion zsh)"',
        "fish": r"conductor-py completion fish \| source",
    }
    assert set(lines) == set(shells.choices)
    assert [line for line in lines.values() if line not in text] == []


def _named(moves: str) -> set[str]:
    return set(moves.split(", ")) - {"none"}


def _commands() -> list[str]:
    names = []
    for name in _COMMANDS:
        command = root.get_command(click.Context(root), name)
        if isinstance(command, click.Group):
            names += [f"{name} {inner}" for inner in command.commands]
        else:
            names.append(name)
    return names


def _codes(kind: type[ConductorError]) -> set[str]:
    found = {kind.code} if kind.__module__.startswith("conductor_py.") else set()
    return found.union(*(_codes(below) for below in kind.__subclasses__()))
