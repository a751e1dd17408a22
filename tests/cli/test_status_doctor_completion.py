"""A server on one page, a check-up, and what the shell completes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import conductor_py.processes.checkup as checkups
from conductor_py.cli.entry import root
from conductor_py.decider.operators.system import queue_of
from conductor_py.model.definitions import TaskDef, WorkflowTask
from conductor_py.processes.checkup import Finding, Verdict
from tests.cli.conftest import Run
from tests.sdk.stub import Reply, Request, StubServer

_WELL: dict[str, Any] = {
    "healthy": True,
    "healthResults": [{"name": "store", "healthy": True}],
}


def standing(stub: StubServer) -> None:
    """A server with some work."""

    def counted(request: Request) -> Reply:
        (query,) = request.query["query"]
        return Reply(200, {"totalHits": 7 if query.startswith("status=FAILED") else 2})

    worker = {"workerId": "w", "running": 1, "capacity": 4, "taskTypes": [{"taskType": "pack"}]}
    stub.on("GET", "/api/health", Reply(200, _WELL))
    stub.on("GET", "/api/version", Reply(200, "1.2.3"))
    stub.on("GET", "/api/workflow/search", counted)
    stub.on("GET", "/api/tasks/queue/all", Reply(200, {"pack": 3, "eu:send": 12, "idle": 0}))
    stub.on("GET", "/api/admin/workers", Reply(200, [worker]))
    stub.on("GET", "/api/workers", Reply(200, [worker]))
    stub.on("GET", "/api/admin/quarantine", Reply(200, {"totalHits": 1, "results": []}))
    stub.on("GET", ".*/servers", Reply(200, [{"server": "one"}, {"server": "two"}]))


def test_a_server_is_shown_on_one_page(run: Run, stub: StubServer) -> None:
    standing(stub)
    outcome = run("status")
    assert outcome.code == 0
    assert [line.split(maxsplit=1) for line in outcome.out.splitlines()[1:]] == [
        ["store", "answers"],
        ["executions", "2 RUNNING, 2 PAUSED"],
        ["in", "a day     2 COMPLETED, 7 FAILED, 2 TIMED_OUT, 2 TERMINATED"],
        ["quarantine", "1"],
        ["servers", "one, two"],
        ["workers", "1, 1 of 4 places taken"],
        ["queues", "eu:send 12 (no worker has asked for it lately), pack 3"],
    ]
    assert "version 1.2.3" in outcome.out
    found = json.loads(run("status", "--json").out)
    assert found["queues"] == {"pack": 3, "eu:send": 12}


def test_what_the_system_task_worker_takes_is_not_said_to_wait_for_a_worker(
    run: Run, stub: StubServer
) -> None:
    standing(stub)
    limited = queue_of(
        WorkflowTask(
            name="call",
            task_reference_name="call",
            type="HTTP",
            task_definition=TaskDef(name="call", concurrent_exec_limit=1),
        )
    )
    queues = {"HTTP": 9, "KAFKA_PUBLISH": 8, "HTTP@eu": 7, "HTTP-own": 6, limited: 5, "HTTPS": 4}
    stub.on("GET", "/api/tasks/queue/all", Reply(200, queues))
    (line,) = [each for each in run("status").out.splitlines() if each.startswith("queues")]
    assert line.count("no worker") == 1
    assert line.endswith("HTTPS 4 (no worker has asked for it lately)")


def test_a_server_whose_store_is_away_says_which(run: Run, stub: StubServer) -> None:
    standing(stub)
    away = {"name": "store", "healthy": False, "message": "Redis does not answer"}
    stub.on("GET", "/api/health", Reply(503, {"healthy": False, "healthResults": [away]}))
    outcome = run("status")
    assert outcome.code == 1
    assert "store        is away: Redis does not answer" in outcome.out
    assert not stub.seen("GET", "/api/workflow/search")


def test_without_its_index_a_server_shows_what_is_known_besides(run: Run, stub: StubServer) -> None:
    standing(stub)
    degraded = {"name": "search", "healthy": True, "status": "DEGRADED", "message": "It is away"}
    health = {"healthy": True, "healthResults": [*_WELL["healthResults"], degraded]}
    stub.on("GET", "/api/health", Reply(200, health))
    outcome = run("status")
    assert outcome.code == 0
    assert [line.split(maxsplit=1) for line in outcome.out.splitlines()[1:5]] == [
        ["store", "answers"],
        ["search", "is not well: It is away"],
        ["executions", "not known: It is away"],
        ["quarantine", "1"],
    ]
    assert not stub.seen("GET", "/api/workflow/search")


def test_a_search_that_fails_takes_nothing_else_from_the_page(run: Run, stub: StubServer) -> None:
    standing(stub)
    stub.on("GET", "/api/workflow/search", Reply(400, {"message": "it looks at too much"}))
    outcome = run("status")
    assert outcome.code == 0
    assert "not known: " in outcome.out
    assert "it looks at too much" in outcome.out
    assert "quarantine   1" in outcome.out


# -- doctor ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("verdict", "code"), [(Verdict.OK, 0), (Verdict.WARNING, 0), (Verdict.FAILURE, 1)]
)
def test_a_failure_is_the_exit_code_of_a_check_up(
    run: Run, monkeypatch: pytest.MonkeyPatch, verdict: Verdict, code: int
) -> None:
    one = Finding(verdict=verdict, about="Redis", said="as it is", remedy="do this")
    monkeypatch.setattr(checkups, "check_up", lambda _: iter([one]))
    outcome = run("doctor")
    assert outcome.code == code
    assert outcome.out.split() == [
        *({"failure": "FAILURE"}.get(verdict.value, verdict.value), "Redis:", "as", "it", "is"),
        *("→", "do", "this"),
    ]
    assert json.loads(run("doctor", "--json").out) == [
        {"verdict": verdict.value, "about": "Redis", "said": "as it is", "remedy": "do this"}
    ]


def test_a_check_up_of_settings_that_cannot_be_read_is_2(run: Run) -> None:
    outcome = run("doctor", "--set", "conductor.nothing=1")
    assert outcome.code == 2
    assert "conductor.nothing" in outcome.err


# -- completion ------------------------------------------------------------------------------------


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_each_shell_has_its_script(run: Run, shell: str) -> None:
    outcome = run("completion", shell)
    assert outcome.code == 0
    assert "_CONDUCTOR_PY_COMPLETE" in outcome.out
    assert "conductor-py" in outcome.out


def test_bash_completes_a_word_when_it_has_read_its_script(run: Run, tmp_path: Path) -> None:
    script = tmp_path / "completion.bash"
    script.write_text(run("completion", "bash").out)
    typed = """
        source "$SCRIPT"
        COMP_WORDS=(conductor-py workf); COMP_CWORD=1
        $(complete -p conductor-py | grep -o '_[a-z_]*completion') conductor-py
        echo "${COMPREPLY[@]}"
    """
    programs = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "--norc", "-c", typed],
        env=os.environ | {"PATH": programs, "SCRIPT": str(script), "LC_ALL": "C"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stdout) == (0, "workflow\n"), done.stderr


def test_the_shell_that_is_used_is_the_default(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHELL", "/usr/bin/zsh")
    assert "#compdef conductor-py" in run("completion").out
    monkeypatch.setenv("SHELL", "/bin/other")
    assert run("completion").code == 2


def completed(*words: str) -> list[str]:
    from click.shell_completion import ShellComplete

    found = ShellComplete(root, {}, "conductor-py", "_X").get_completions(
        list(words[:-1]), words[-1]
    )
    return [each.value for each in found]


@pytest.mark.parametrize(
    ("words", "names"),
    [
        (("workflow", "start", ""), ["orders", "other"]),
        (("workflow", "execute", "or"), ["orders"]),
        (("definition", "get", "ot"), ["other"]),
        (("workflow", "pause", "w"), ["w-1", "w-2"]),
        (("workflow", "get", ""), ["w-1", "w-2"]),
        (("task", "requeue", "--type", "s"), ["send"]),
        (("schedule", "run", ""), ["nightly"]),
        (("event", "delete", ""), ["on-paid"]),
        *(
            (("dag", verb, "e"), ["etl", "eto"])
            for verb in (
                *("get", "versions", "diff", "publish", "withdraw", "switch", "delete", "purge"),
                *("lineage", "export"),
            )
        ),
        (("dag", "get", "--task", ""), ["77"]),
        (("dag", "uses", ""), ["77"]),
        (("dag", "apply", "7"), ["77"]),
        (("sta",), ["status"]),
    ],
)
def test_names_are_completed(stub: StubServer, words: tuple[str, ...], names: list[str]) -> None:
    listed: dict[str, Any] = {
        "/api/metadata/workflow": [{"name": "other"}, {"name": "orders"}, {"name": "orders"}],
        "/api/workflow/search": {"results": [{"workflowId": "w-2"}, {"workflowId": "w-1"}]},
        "/api/tasks/queue/all": {"send": 1, "pack": 0},
        "/api/scheduler/schedules": [{"name": "nightly"}],
        "/api/catalog/workflows": [{"name": "eto", "code": "1"}, {"name": "etl", "code": "2"}],
        "/api/catalog/tasks": [{"name": "load", "code": "77"}],
        "/api/event": [{"name": "on-paid"}],
    }
    for path, answer in listed.items():
        stub.on("GET", path, Reply(200, answer))
    assert completed(*words) == names


def test_a_server_that_is_away_completes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CONDUCTOR_SERVER_URL", "http://127.0.0.1:1/api")
    assert completed("workflow", "start", "") == []


def test_the_server_that_the_line_names_is_asked(
    stub: StubServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CONDUCTOR_SERVER_URL", "http://127.0.0.1:1/api")
    stub.on("GET", "/api/metadata/workflow", Reply(200, [{"name": "orders"}]))
    server = stub.url.removesuffix("/api")
    assert completed("workflow", "start", "--server", server, "") == ["orders"]


# -- a name that is misspelt -----------------------------------------------------------------------


@pytest.mark.parametrize(("word", "meant"), [("worklow", "workflow"), ("defintion", "definition")])
def test_a_command_that_is_misspelt_is_told_with_the_nearest(
    run: Run, word: str, meant: str
) -> None:
    outcome = run(word)
    assert outcome.code == 2
    assert f"Did you mean '{meant}'?" in outcome.err


@pytest.mark.parametrize("word", ["qqqq", "--worklow"])
def test_what_is_near_to_no_command_is_told_as_it_is(run: Run, word: str) -> None:
    outcome = run(word)
    assert outcome.code == 2
    assert "Did you mean" not in outcome.err
