"""Files of executions over HTTP: sent, completed, fetched, by those who may, until they go."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from conductor_py.adapters.files.contents import DirectoryContents
from conductor_py.adapters.memory.file_records import MemoryFileRecords
from conductor_py.adapters.memory.space import MemorySpace
from conductor_py.api import create_app
from conductor_py.engine.payloads.file_retention import UPLOAD_MS
from conductor_py.engine.payloads.files import CHECK_MS, MOST_FILES, Files
from conductor_py.engine.port_set import FilePorts
from conductor_py.errors import Conflict, NotFound
from conductor_py.ports.files import FileContents
from conductor_py.testing.clock import FakeClock
from conductor_py.testing.engine import MemoryEngine, memory_engine
from conductor_py.wire.fields import WireSchema, load
from conductor_py.wire.files import FORMS

_FORMS: dict[str, WireSchema] = {type(form).__name__: form for form in FORMS}
_MAX_BYTES = 1_000
_CHILD = {
    "name": "child",
    "tasks": [{"name": "work", "taskReferenceName": "work", "type": "SIMPLE"}],
}
_PARENT = {
    "name": "parent",
    "tasks": [
        {
            "name": "sub",
            "taskReferenceName": f"sub{number}",
            "type": "SUB_WORKFLOW",
            "subWorkflowParam": {"name": "child", "workflowDefinition": _CHILD},
        }
        for number in range(2)
    ],
}


@dataclass
class Here:
    """A server with files, and short words for what is asked of it."""

    made: MemoryEngine
    client: Any
    folder: Path

    def create(self, workflow_id: str, **more: Any) -> Any:
        return self.client.post("/api/files", json={"workflowId": workflow_id, **more})

    def created(self, workflow_id: str, **more: Any) -> str:
        """A new file; the path of its own that comes after the owner's."""
        answer = self.create(workflow_id, **more)
        assert answer.status_code == 201, answer.json
        return str(answer.json["fileHandleId"].removeprefix("conductor://file/"))

    def uploaded(self, workflow_id: str, body: bytes = b"bytes", **more: Any) -> str:
        file = self.created(workflow_id, **more)
        assert self.put(workflow_id, file, body).status_code == 204
        assert self.post(workflow_id, file, "upload-complete").status_code == 200
        return file

    def get(self, workflow_id: str, file: str, what: str = "") -> Any:
        return self.client.get(f"/api/files/{workflow_id}/{file}{what and f'/{what}'}")

    def post(self, workflow_id: str, file: str, what: str, json: Any = None) -> Any:
        return self.client.post(f"/api/files/{workflow_id}/{file}/{what}", json=json)

    def put(self, workflow_id: str, file: str, body: bytes, query: str = "") -> Any:
        return self.client.put(f"/api/files/content/{workflow_id}/{file}{query}", data=body)

    def content(self, workflow_id: str, file: str) -> Any:
        return self.client.get(f"/api/files/content/{workflow_id}/{file}")

    def on_disk(self) -> list[bytes]:
        return [one.read_bytes() for one in self.folder.rglob("*") if one.is_file()]


@pytest.fixture
def here(tmp_path: Path) -> Here:
    clock = FakeClock()
    contents = DirectoryContents(tmp_path, now_ms=clock, max_bytes=_MAX_BYTES)
    ports = FilePorts(
        records=MemoryFileRecords(MemorySpace(clock=clock)), contents=contents, served=contents
    )
    made = memory_engine(clock=clock, files=ports)
    app = create_app(made.engine, files=made.engine.files, max_body_bytes=500)
    return Here(made, app.test_client(), tmp_path)


@pytest.fixture
def owner(here: Here) -> str:
    return here.made.start(_CHILD)


def _family(here: Here) -> tuple[str, str]:
    parent = here.made.start(_PARENT)
    here.made.settle()
    tasks = here.made.workflow(parent)["tasks"]
    return parent, tasks[0]["subWorkflowId"]


def test_a_file_goes_up_and_comes_down(here: Here, owner: str) -> None:
    (task,) = here.made.poll("work")
    told = here.create(owner, taskId=task["taskId"], fileName="größe.txt", contentType="text/plain")
    assert told.status_code == 201
    load(_FORMS["FileUploadResponseForm"], told.json)
    now = here.made.clock()
    assert told.json["storageType"] == "CONDUCTOR"
    assert told.json["uploadStatus"] == "UPLOADING"
    assert told.json["uploadUrlExpiresAt"] == now + 60_000
    file = told.json["fileHandleId"].removeprefix("conductor://file/")
    url = told.json["uploadUrl"]
    assert url == f"http://localhost/api/files/content/{owner}/{file}"
    sent = here.client.put(url, data=b"x" * 900)
    assert (sent.status_code, sent.data) == (204, b"")
    here.made.clock.advance(seconds=1)

    done = here.post(owner, file, "upload-complete")
    load(_FORMS["FileUploadCompleteResponseForm"], done.json)
    assert done.json["uploadStatus"] == "UPLOADED"

    known = here.get(owner, file).json
    load(_FORMS["FileHandleForm"], known)
    assert known == {
        "fileHandleId": f"conductor://file/{file}",
        "fileName": "größe.txt",
        "contentType": "text/plain",
        "fileSize": 900,
        "contentHash": done.json["contentHash"],
        "storageType": "CONDUCTOR",
        "uploadStatus": "UPLOADED",
        "workflowId": owner,
        "taskId": task["taskId"],
        "createdAt": now,
        "updatedAt": now + 1_000,
    }
    where = here.get(owner, file, "download-url").json
    load(_FORMS["FileDownloadUrlResponseForm"], where)
    found = here.client.get(where["downloadUrl"])
    assert (found.status_code, found.data) == (200, b"x" * 900)
    assert found.headers["Content-Type"] == "text/plain"
    assert found.headers["Content-Length"] == "900"
    assert found.headers["Content-Disposition"].startswith("attachment;")
    assert here.on_disk() == [b"x" * 900]


def test_files_are_unknown_where_they_are_switched_off() -> None:
    made = memory_engine()
    client: Any = create_app(made.engine, files=made.engine.files).test_client()
    for answer in (
        client.post("/api/files", json={"workflowId": made.start(_CHILD)}),
        client.get("/api/files/w/f"),
        client.put("/api/files/content/w/f", data=b"x"),
    ):
        assert (answer.status_code, answer.json["status"]) == (404, 404)
        assert answer.json["message"] == (
            "Files of executions are switched off on this server;"
            " conductor.file-storage.enabled=true switches them on."
        )
    assert made.engine.file_retention.tick() == 0


def test_an_unknown_address_beside_files_is_one(here: Here) -> None:
    answer = here.client.get("/api/files/a/b/nonsense")
    assert (answer.status_code, answer.json["message"]) == (
        404,
        "No static resource api/files/a/b/nonsense.",
    )


@pytest.mark.parametrize(
    ("body", "path"),
    [
        ({}, "$.workflowId"),
        ({"workflowId": "  "}, "$.workflowId"),
        ({"workflowId": "{owner}", "fileName": "../x"}, "$.fileName"),
        ({"workflowId": "{owner}", "fileName": "a\nb"}, "$.fileName"),
        ({"workflowId": "{owner}", "fileName": "x" * 256}, "$.fileName"),
        ({"workflowId": "{owner}", "contentType": "text/html\r\nX: y"}, "$.contentType"),
        ({"workflowId": "{owner}", "contentType": "html"}, "$.contentType"),
        ({"workflowId": "{owner}", "taskId": "another"}, "$.taskId"),
    ],
)
def test_a_wrong_request_makes_no_file(here: Here, owner: str, body: Any, path: str) -> None:
    asked = {name: value.replace("{owner}", owner) for name, value in body.items()}
    answer = here.client.post("/api/files", json=asked)
    assert answer.status_code == 400
    assert [one["path"] for one in answer.json["validationErrors"]] == [path]
    assert here.client.post("/api/files", data=b"[").status_code == 400


def test_a_file_belongs_to_an_execution_that_exists(here: Here) -> None:
    assert here.create("00000000-0000-0000-0000-000000000009").status_code == 404


def test_an_unknown_file_is_not_found(here: Here, owner: str) -> None:
    for unknown in ("nothing", "00000000-0000-0000-0000-000000000009", "..%2F..%2Fsecret"):
        assert here.get(owner, unknown).status_code == 404
        assert here.get(owner, unknown, "upload-url").status_code == 404
        assert here.put(owner, unknown, b"x").status_code == 404
        assert here.content(owner, unknown).status_code == 404
        assert here.post(owner, unknown, "upload-complete").status_code == 404


def test_what_was_completed_never_changes(here: Here, owner: str) -> None:
    file = here.uploaded(owner, b"mine")
    assert here.put(owner, file, b"theirs").status_code == 409
    assert here.post(owner, file, "upload-complete").status_code == 409
    assert here.get(owner, file, "upload-url").status_code == 409
    assert here.post(owner, file, "multipart").status_code == 409
    assert here.content(owner, file).data == b"mine"


def test_bytes_that_come_while_the_file_is_completed_are_refused(here: Here, owner: str) -> None:
    file = here.created(owner)
    files = here.made.engine.files
    assert files is not None
    here.put(owner, file, b"first")

    def chunks() -> Iterator[bytes]:
        yield b"sec"
        assert here.post(owner, file, "upload-complete").status_code == 200
        yield b"ond"

    with pytest.raises(Conflict):
        files.receive(owner, file, chunks(), upload_id="", part=0)
    assert here.content(owner, file).data == b"first"


def test_a_file_may_be_sent_again_until_it_is_completed(here: Here, owner: str) -> None:
    file = here.created(owner)
    again = here.get(owner, file, "upload-url").json
    load(_FORMS["FileUploadUrlResponseForm"], again)
    here.put(owner, file, b"first")
    here.client.put(again["uploadUrl"], data=b"second")
    here.post(owner, file, "upload-complete")
    assert here.content(owner, file).data == b"second"


def test_nothing_is_completed_or_fetched_before_it_came(here: Here, owner: str) -> None:
    file = here.created(owner)
    assert here.post(owner, file, "upload-complete").status_code == 409
    assert here.get(owner, file, "download-url").status_code == 400
    assert here.content(owner, file).status_code == 400
    known = here.get(owner, file).json
    assert (known["uploadStatus"], known["fileSize"]) == ("UPLOADING", 0)


def test_a_file_larger_than_allowed_is_refused_and_not_kept(here: Here, owner: str) -> None:
    file = here.created(owner)
    assert here.put(owner, file, b"x" * (_MAX_BYTES + 1)).status_code == 413
    assert here.on_disk() == []
    assert here.put(owner, file, b"x" * _MAX_BYTES).status_code == 204


def test_an_empty_file_is_a_file(here: Here, owner: str) -> None:
    file = here.uploaded(owner, b"")
    assert here.get(owner, file).json["fileSize"] == 0
    assert here.content(owner, file).data == b""


def test_parents_and_children_read_and_only_the_owner_writes(here: Here) -> None:
    parent, child = _family(here)
    stranger = here.made.start(_CHILD)
    of_child, of_parent = here.uploaded(child), here.uploaded(parent)
    for reader, file in ((parent, of_child), (child, of_parent)):
        assert here.get(reader, file).status_code == 200
        url = here.get(reader, file, "download-url").json["downloadUrl"]
        assert here.client.get(url).data == b"bytes"
    for file in (of_child, of_parent):
        assert here.get(stranger, file).status_code == 403
        assert here.get(stranger, file, "download-url").status_code == 403
        assert here.content(stranger, file).status_code == 403
        assert here.get("nobody", file).status_code == 403
    open_file = here.created(child)
    for other in (parent, stranger):
        assert here.put(other, open_file, b"x").status_code == 403
        assert here.get(other, open_file, "upload-url").status_code == 403
        assert here.post(other, open_file, "upload-complete").status_code == 403
        assert here.post(other, open_file, "multipart").status_code == 403
    assert here.get(parent, open_file).json["uploadStatus"] == "UPLOADING"


def test_siblings_do_not_read_each_others_files(here: Here) -> None:
    parent, first = _family(here)
    here.made.run("work")
    here.made.settle()
    second = here.made.workflow(parent)["tasks"][1]["subWorkflowId"]
    assert here.get(second, here.uploaded(first)).status_code == 403


def test_a_file_is_sent_in_parts(here: Here, owner: str) -> None:
    file = here.created(owner)
    begun = here.post(owner, file, "multipart").json
    load(_FORMS["MultipartInitResponseForm"], begun)
    parts = f"multipart/{begun['uploadId']}"
    etags: list[str] = []
    for number, body in ((1, b"one "), (2, b"two "), (3, b"three")):
        url = here.get(owner, file, f"{parts}/part/{number}").json["uploadUrl"]
        sent = here.client.put(url, data=body)
        assert sent.status_code == 204
        etags.append(sent.headers["ETag"])
    swapped = {"partETags": [etags[1], etags[0], etags[2]]}
    assert here.post(owner, file, f"{parts}/complete", swapped).status_code == 400
    done = here.post(owner, file, f"{parts}/complete", {"partETags": etags})
    assert (done.status_code, done.json["uploadStatus"]) == (200, "UPLOADED")
    assert here.content(owner, file).data == b"one two three"
    assert here.on_disk() == [b"one two three"]
    assert here.post(owner, file, f"{parts}/complete", {"partETags": etags}).status_code == 409


def test_an_upload_in_parts_is_ended(here: Here, owner: str) -> None:
    file = here.created(owner)
    upload_id = here.post(owner, file, "multipart").json["uploadId"]
    url = here.get(owner, file, f"multipart/{upload_id}/part/1").json["uploadUrl"]
    here.client.put(url, data=b"x")
    ended = here.client.delete(f"/api/files/{owner}/{file}/multipart/{upload_id}")
    assert (ended.status_code, ended.data) == (204, b"")
    assert here.on_disk() == []
    assert here.client.put(url, data=b"x").status_code == 404
    assert here.get(owner, file, f"multipart/{upload_id}/part/1").status_code == 404
    complete = here.post(owner, file, f"multipart/{upload_id}/complete", {"partETags": ["x"]})
    assert complete.status_code == 404
    assert here.put(owner, file, b"whole").status_code == 204
    assert here.post(owner, file, "upload-complete").status_code == 200


def test_a_second_upload_in_parts_ends_the_first(here: Here, owner: str) -> None:
    file = here.created(owner)
    first = here.post(owner, file, "multipart").json["uploadId"]
    second = here.post(owner, file, "multipart").json["uploadId"]
    assert here.get(owner, file, f"multipart/{first}/part/1").status_code == 404
    assert here.get(owner, file, f"multipart/{second}/part/1").status_code == 200


def test_wrong_parts_are_refused(here: Here, owner: str) -> None:
    file = here.created(owner)
    parts = f"multipart/{here.post(owner, file, 'multipart').json['uploadId']}"
    for number in ("0", "10001", "-1", "x"):
        assert here.get(owner, file, f"{parts}/part/{number}").status_code == 400
    wrong: tuple[Any, ...] = ({"partETags": []}, {"partETags": None}, {"partETags": "x"}, {})
    for body in wrong:
        assert here.post(owner, file, f"{parts}/complete", body).status_code == 400
    for query in ("?partNumber=1", "?uploadId=x", "?uploadId=x&partNumber=0"):
        assert here.put(owner, file, b"x", query).status_code == 400
    assert here.put(owner, file, b"x", "?uploadId=x&partNumber=1").status_code == 404


def test_an_execution_has_a_bounded_number_of_files(here: Here, owner: str) -> None:
    for _ in range(MOST_FILES):
        here.created(owner)
    assert here.create(owner).status_code == 429
    assert here.create(here.made.start(_CHILD)).status_code == 201


def test_files_go_with_their_execution(here: Here, owner: str) -> None:
    file = here.uploaded(owner)
    other = here.uploaded(here.made.start(_CHILD))
    retention = here.made.engine.file_retention
    here.made.clock.advance(milliseconds=CHECK_MS)
    assert retention.tick() == 2
    assert retention.tick() == 0
    assert here.get(owner, file).status_code == 200

    here.made.engine.executions.terminate(owner, reason="enough")
    here.made.settle()
    here.made.clock.advance(seconds=61)
    here.made.settle()
    here.made.clock.advance(milliseconds=CHECK_MS)
    retention.tick()
    assert here.get(owner, file).status_code == 200, "an archived execution is still there"

    here.made.engine.steering.remove(owner, archive=False)
    here.made.settle()
    here.made.clock.advance(milliseconds=CHECK_MS)
    retention.tick()
    assert here.get(owner, file).status_code == 404
    assert here.on_disk() == [b"bytes"]
    assert here.made.ports.files is not None
    assert here.made.ports.files.records.read(other) is not None


def test_bytes_that_come_after_their_file_was_removed_are_not_kept(here: Here, owner: str) -> None:
    file = here.created(owner)
    files = here.made.engine.files
    assert files is not None

    def chunks() -> Iterator[bytes]:
        here.made.engine.executions.terminate(owner, reason="enough")
        here.made.settle()
        here.made.engine.steering.remove(owner, archive=False)
        here.made.settle()
        here.made.clock.advance(milliseconds=CHECK_MS)
        here.made.engine.file_retention.tick()
        yield b"late"

    with pytest.raises(NotFound):
        files.receive(owner, file, chunks(), upload_id="", part=0)
    assert here.on_disk() == []


def test_an_upload_that_nobody_completes_is_given_up(here: Here, owner: str) -> None:
    file = here.created(owner)
    here.put(owner, file, b"x")
    here.made.clock.advance(milliseconds=UPLOAD_MS - 1)
    here.made.engine.file_retention.tick()
    assert here.get(owner, file).json["uploadStatus"] == "UPLOADING"
    here.made.clock.advance(milliseconds=CHECK_MS)
    here.made.engine.file_retention.tick()
    assert here.get(owner, file).json["uploadStatus"] == "FAILED"
    assert here.on_disk() == []
    assert here.post(owner, file, "upload-complete").status_code == 409
    assert here.put(owner, file, b"x").status_code == 409


class _Elsewhere:
    """A storage whose URLs this server does not serve."""

    storage_type = "S3"

    def __init__(self, contents: FileContents) -> None:
        self._contents = contents

    def __getattr__(self, name: str) -> Any:
        return getattr(self._contents, name)


def test_bytes_that_are_elsewhere_are_not_served_here(here: Here, owner: str) -> None:
    ports = here.made.ports.files
    assert ports is not None
    engine = here.made.engine
    files = Files(
        FilePorts(records=ports.records, contents=_Elsewhere(ports.contents)),
        engine.executions._clock,
        workflow=engine.executions.document,
        task=engine.tasks.document,
    )
    client: Any = create_app(engine, files=files, public_url="https://here.example/").test_client()
    told = client.post("/api/files", json={"workflowId": owner}).json
    assert told["storageType"] == "S3"
    assert told["uploadUrl"].startswith("https://here.example/api/files/content/")
    path = told["uploadUrl"].removeprefix("https://here.example")
    assert client.put(path, data=b"x").status_code == 409


def _with_another_letter(url: str) -> str:
    """The URL with the first letter of its signature changed: each bit of it counts."""
    signed, _, signature = url.rpartition(".")
    return f"{signed}.{'A' if signature[0] != 'A' else 'B'}{signature[1:]}"


def test_signed_urls_are_the_only_ones_and_for_one_thing_only(tmp_path: Path) -> None:
    clock = FakeClock()
    contents = DirectoryContents(tmp_path, now_ms=clock, signed=True)
    records = MemoryFileRecords(MemorySpace(clock=clock))
    ports = FilePorts(records=records, contents=contents, served=contents)
    made = memory_engine(clock=clock, files=ports)
    app = create_app(made.engine, files=made.engine.files)
    here = Here(made, app.test_client(), tmp_path)
    owner = made.start(_CHILD)
    file, other = here.created(owner), here.created(owner)
    url = here.get(owner, file, "upload-url").json["uploadUrl"]
    upload_id = here.post(owner, other, "multipart").json["uploadId"]
    part = here.get(owner, other, f"multipart/{upload_id}/part/1").json["uploadUrl"]

    for forged in (
        url.partition("?")[0],
        url.replace(file, other),
        _with_another_letter(url),
        part.replace("partNumber=1", "partNumber=2"),
        part.replace(f"uploadId={upload_id}&partNumber=1&", ""),
    ):
        assert here.client.put(forged, data=b"x").json["code"] == "URL_REFUSED"
    assert here.client.put(part, data=b"x").status_code == 204
    assert here.client.put(url, data=b"mine").status_code == 204
    assert here.post(owner, file, "upload-complete").status_code == 200

    down = here.get(owner, file, "download-url").json["downloadUrl"]
    assert here.client.get(url).status_code == 403
    assert here.content(owner, file).status_code == 403
    assert here.client.get(down).data == b"mine"
    clock.advance(milliseconds=60_000)
    assert here.client.get(down).status_code == 403
