"""The processes of a server erase what was removed, by themselves."""

from pathlib import Path
from typing import Any

import pytest

from conductor_py.sdk import Client
from tests.acceptance.asking import ask
from tests.acceptance.deployment import Deployment
from tests.acceptance.stories import take
from tests.waiting import until

pytestmark = [
    pytest.mark.acceptance,
    pytest.mark.thorough(target="stories"),
]

_GIVEN = "k2f9c1d07e5b4a83"
_STAYS = "h7d3a9b5c2e8f614"
_STEP: Any = {
    "name": "step",
    "taskReferenceName": "step",
    "inputParameters": {"said": "${workflow.input.said}"},
}


def _ended(client: Client, text: str) -> str:
    definition: Any = {"name": "said", "version": 1, "tasks": [_STEP]}
    execution = client.start_workflow(definition=definition, input={"said": text})
    (task,) = until(lambda: take(client))
    client.update_task(
        {
            "workflowInstanceId": execution,
            "taskId": task["taskId"],
            "workerId": "w",
            "status": "COMPLETED",
            "outputData": {"answer": text},
        }
    )
    return execution


def _files(folder: Path, text: str) -> list[str]:
    found: list[str] = []
    for path in folder.rglob("*"):
        try:
            if path.is_file() and text.encode() in path.read_bytes():
                found.append(str(path))
        except FileNotFoundError:  # an old file of Redis that has just been removed
            continue
    return found


def test_what_was_removed_is_in_no_file_of_the_data_directory(
    deployment: Deployment, shape: tuple[str, ...]
) -> None:
    server = deployment.server(*shape, "--set", "conductor.erasure.interval=1s")
    data = deployment.folder / "server-data"
    execution, beside = _ended(server.client, _GIVEN), _ended(server.client, _STAYS)
    until(lambda: any("search" in name for name in _files(data, _GIVEN)), what="indexed")
    assert any(name.endswith(".aof") for name in _files(data, _GIVEN))

    gone = ask(server, "DELETE", f"/api/workflow/{execution}/remove?archiveWorkflow=false")
    assert gone.status == 200

    until(lambda: not _files(data, _GIVEN), what="no file has it")
    assert _files(data, _STAYS)
    assert server.client.get_workflow(beside)["input"] == {"said": _STAYS}
