"""Large payloads, of a client and a worker that have no credentials of any store."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from tests.acceptance.asking import ask
from tests.acceptance.deployment import Api, Deployment
from tests.acceptance.large_program import SIZE
from tests.acceptance.programs import Program
from tests.services.buckets import S3Bucket
from tests.waiting import until

pytestmark = [
    pytest.mark.acceptance,
    pytest.mark.thorough(target="stories"),
]

_DEFINITION: Any = {
    "name": "large",
    "version": 1,
    "tasks": [
        {"name": "gate", "taskReferenceName": "gate", "type": "SIMPLE", "inputParameters": {}},
        {
            "name": "measure",
            "taskReferenceName": "measure",
            "type": "SIMPLE",
            "inputParameters": {
                "rows": "${workflow.input.rows}",
                "ballast": "${workflow.input.ballast}",
            },
        },
        {
            "name": "read",
            "taskReferenceName": "read",
            "type": "INLINE",
            "inputParameters": {
                "evaluatorType": "javascript",
                "expression": "$.names[1] + ' ' + $.first",
                "names": "${measure.output.found.names}",
                "first": "${workflow.input.rows[0].name}",
            },
        },
    ],
    "outputParameters": {"said": "${read.output.result}", "size": "${measure.output.found.size}"},
}

Objects = dict[str, bytes]


class Files:
    """The payloads of a server that keeps them as files."""

    def __init__(self, folder: Path) -> None:
        self.options: tuple[str, ...] = ()
        self._folder = folder

    def objects(self) -> Objects:
        return {
            str(path): path.read_bytes()
            for path in self._folder.rglob("*")
            if path.is_file() and path.stat().st_size >= SIZE
        }

    def remove(self, names: Objects) -> None:
        for name in names:
            Path(name).unlink()

    def put_back(self, objects: Objects) -> None:
        for name, content in objects.items():
            Path(name).write_bytes(content)


class Bucket:
    """The payloads of a server that keeps them in S3."""

    def __init__(self, bucket: S3Bucket) -> None:
        self.options = tuple(
            part
            for name, value in (
                ("type", "s3"),
                ("s3.bucketName", bucket.name),
                ("s3.region", bucket.region),
                ("s3.endpoint", bucket.endpoint),
                ("s3.accessKey", bucket.access_key),
                ("s3.secretKey", bucket.secret_key),
            )
            for part in ("--set", f"conductor.external-payload-storage.{name}={value}")
        )
        self._client = bucket.client()
        self._name = bucket.name

    def objects(self) -> Objects:
        listed = self._client.list_objects_v2(Bucket=self._name).get("Contents", [])
        return {
            each["Key"]: self._client.get_object(Bucket=self._name, Key=each["Key"])["Body"].read()
            for each in listed
        }

    def remove(self, names: Objects) -> None:
        for name in names:
            self._client.delete_object(Bucket=self._name, Key=name)

    def put_back(self, objects: Objects) -> None:
        for name, content in objects.items():
            self._client.put_object(Bucket=self._name, Key=name, Body=content)


@pytest.fixture(params=["files", "s3"])
def payloads(request: pytest.FixtureRequest, tmp_path: Path) -> Files | Bucket:
    if request.param == "files":
        return Files(tmp_path / "server-data" / "payloads")
    return Bucket(request.getfixturevalue("s3_bucket"))


def _bare(deployment: Deployment, server: Api, what: str) -> Program:
    """Run the program with an empty environment."""
    script = str(Path(__file__).with_name("large_program.py"))
    arguments = (script, server.client.server_url, what)
    program = Program(deployment.folder / what, *arguments, environment={})
    deployment.processes.append(program)
    program.start()
    return program


def test_large_payloads_take_their_way_by_themselves_and_are_read_when_named(
    deployment: Deployment, shape: tuple[str, ...], payloads: Files | Bucket
) -> None:
    server = deployment.server(*shape, *payloads.options)
    assert ask(server, "POST", "/api/metadata/workflow", _DEFINITION).status == 200

    starter = _bare(deployment, server, "start")
    assert starter.wait() == 0, starter.log
    workflow = starter.said
    execution = server.client.get_workflow(workflow)
    assert execution["input"] == {}
    # What was uploaded may be there yet, too: what the execution names is the server's own.
    named = _names([str(execution["externalInputPayloadStoragePath"])])
    given = {path: body for path, body in payloads.objects().items() if _names([path]) == named}
    assert len(given) == 1

    # What names none of it is decided without it: the object may be away.
    payloads.remove(given)
    (gate,) = server.client.poll_batch("gate", worker_id="w", timeout_ms=5000)
    assert gate["inputData"] == {}
    payloads.put_back(given)
    _report(server, gate)

    worker = _bare(deployment, server, "work")
    until(
        lambda: server.client.workflow_status(workflow)["status"] == "COMPLETED",
        60,
        what="completed",
    )
    assert worker.terminate() == 0, worker.log
    ended = server.client.get_workflow(workflow)
    assert ended["output"] == {"said": "SECOND first", "size": SIZE}
    tasks: Any = ended["tasks"]
    _, measured, read = tasks
    assert (measured["inputData"], measured["outputData"]) == ({}, {})
    assert measured["externalInputPayloadStoragePath"]
    path = measured["externalOutputPayloadStoragePath"]
    assert read["inputData"]["names"] == ["FIRST", "SECOND"]
    assert _names([path]) < _names(payloads.objects())
    stored = server.client.download_payload("TASK_OUTPUT", path)
    assert stored["ballast"] == "o" * SIZE


def _names(paths: Iterable[str]) -> set[str]:
    """The last parts: stores differ in their folders."""
    return {path.rpartition("/")[2] for path in paths}


def _report(server: Api, task: Any) -> None:
    names = ("workflowInstanceId", "taskId")
    result = {name: task[name] for name in names} | {"workerId": "w", "status": "COMPLETED"}
    server.client.update_task({**result, "outputData": {}})
