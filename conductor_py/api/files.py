"""Files of executions: their records, and the bytes where this server keeps them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import BinaryIO
from urllib.parse import quote

from flask import Blueprint, Response, request

from conductor_py.api.answers import Answer, json_answer, no_content
from conductor_py.api.facade.files import Files
from conductor_py.api.front import Front, Route, blueprint
from conductor_py.api.held import little
from conductor_py.model.json import JsonObject
from conductor_py.wire.fields import whole
from conductor_py.wire.files import read_file_request, read_part_tags
from conductor_py.wire.parameters import number, text, wrong

_CHUNK = 256 * 1024
_NO_LIMIT = 2**62
_MOST_PARTS = 10_000
_URLS = ("uploadUrl", "downloadUrl")
_FILE = "/<workflow_id>/<file_id>"
_PARTS = f"{_FILE}/multipart/<upload_id>"


def files(front: Front, kept: Files, public_url: str = "") -> Blueprint:
    """Make the endpoints of files. URLs of this server begin with ``public_url``, or with what the
    request was sent to.
    """
    views = _Views(front, kept, public_url)
    content = f"/content{_FILE}"
    routes: tuple[Route, ...] = (
        ("POST", "", views.create),
        ("GET", _FILE, views.document),
        ("GET", f"{_FILE}/upload-url", views.upload_url),
        ("GET", f"{_FILE}/download-url", views.download_url),
        ("POST", f"{_FILE}/upload-complete", views.complete),
        ("POST", f"{_FILE}/multipart", views.begin_parts),
        ("GET", f"{_PARTS}/part/<part_number>", views.part_url),
        ("POST", f"{_PARTS}/complete", views.complete_parts),
        ("DELETE", _PARTS, views.drop_parts),
        ("PUT", content, little(views.upload)),
        ("GET", content, little(views.download)),
    )
    return blueprint("files", "/api/files", routes)


class _Views:
    """One view an endpoint."""

    def __init__(self, front: Front, kept: Files, public_url: str) -> None:
        self._front = front
        self._kept = kept
        self._public_url = public_url

    def create(self) -> Answer:
        found = self._kept.create(read_file_request(self._front.body()))
        return json_answer(self._located(found), status=201)

    def document(self, workflow_id: str, file_id: str) -> Answer:
        return json_answer(self._kept.document(workflow_id, file_id))

    def upload_url(self, workflow_id: str, file_id: str) -> Answer:
        return json_answer(self._located(self._kept.upload_url(workflow_id, file_id)))

    def download_url(self, workflow_id: str, file_id: str) -> Answer:
        return json_answer(self._located(self._kept.download_url(workflow_id, file_id)))

    def complete(self, workflow_id: str, file_id: str) -> Answer:
        return json_answer(self._kept.complete(workflow_id, file_id))

    def begin_parts(self, workflow_id: str, file_id: str) -> Answer:
        return json_answer(self._kept.begin_parts(workflow_id, file_id))

    def part_url(self, workflow_id: str, file_id: str, upload_id: str, part_number: str) -> Answer:
        part = _part(part_number)
        return json_answer(
            self._located(self._kept.part_url(workflow_id, file_id, upload_id, part))
        )

    def complete_parts(self, workflow_id: str, file_id: str, upload_id: str) -> Answer:
        etags = read_part_tags(self._front.body())
        return json_answer(self._kept.complete_parts(workflow_id, file_id, upload_id, etags))

    def drop_parts(self, workflow_id: str, file_id: str, upload_id: str) -> Answer:
        self._kept.drop_parts(workflow_id, file_id, upload_id)
        return no_content()

    def upload(self, workflow_id: str, file_id: str) -> Answer:
        # What a file may hold is a limit of the storage, not that of ordinary bodies.
        request.max_content_length = _NO_LIMIT
        upload_id = text(request.args, "uploadId")
        part = number(request.args, "partNumber", least=1, most=_MOST_PARTS)
        if bool(upload_id) != bool(part):
            raise wrong("partNumber", "goes with uploadId")
        etag = self._kept.receive(
            workflow_id,
            file_id,
            _body(),
            upload_id=upload_id,
            part=part,
            token=text(request.args, "token"),
        )
        answer = no_content()
        answer.headers["ETag"] = f'"{etag}"'
        return answer

    def download(self, workflow_id: str, file_id: str) -> Response:
        found = self._kept.open(workflow_id, file_id, text(request.args, "token"))
        answer = Response(_chunks(found.stream))
        answer.headers["Content-Type"] = found.content_type
        name = quote(found.file_name, safe="")
        answer.headers["Content-Disposition"] = f"attachment; filename*=UTF-8''{name}"
        answer.headers["Cache-Control"] = "no-store"
        answer.content_length = found.size
        answer.call_on_close(found.stream.close)
        return answer

    def _located(self, found: JsonObject) -> JsonObject:
        """Put this server before a path of this server."""
        origin = (self._public_url or request.host_url).rstrip("/")
        ours = {name: f"{origin}{found[name]}" for name in _URLS if _is_path(found.get(name))}
        return {**found, **ours}


def _is_path(url: object) -> bool:
    return isinstance(url, str) and url.startswith("/")


def _part(given: str) -> int:
    try:
        return whole(given)
    except ValueError as error:
        raise wrong("partNumber", str(error), given) from error


def _body() -> Iterator[bytes]:
    while chunk := request.stream.read(_CHUNK):
        yield chunk


def _chunks(stream: BinaryIO) -> Iterator[bytes]:
    with stream:
        while chunk := stream.read(_CHUNK):
            yield chunk
