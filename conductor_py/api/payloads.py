"""Where large payloads go: signed URLs, and the serving of those that are our own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import BinaryIO

from flask import Blueprint, Response, request

from conductor_py.api.answers import Answer, empty, json_answer
from conductor_py.api.front import Front, blueprint
from conductor_py.api.held import little
from conductor_py.ports.payloads import CONTENT_TYPE, PayloadKind, ServedPayloads
from conductor_py.wire.parameters import text, wrong

OPERATIONS = ("READ", "WRITE")
PAYLOADS_PATH = "/api/payloads"
"""Where the URLs of served payloads are: ``<base>/api/payloads/<token>``."""

_CHUNK = 256 * 1024
_NO_LIMIT = 2**62


def external_storage_location(front: Front) -> Callable[[], Answer]:
    """Make the view that hands out the URL of a payload."""

    def location() -> Answer:
        operation = _choice("operation", OPERATIONS)
        kind = _choice("payloadType", tuple(PayloadKind.__members__))
        path = text(request.args, "path")
        if operation == "READ" and not path:
            raise wrong("path", "must be given to read a payload")
        uri, stored = front.engine.payloads.location(operation, kind, path)
        return json_answer({"path": stored} if uri is None else {"uri": uri, "path": stored})

    return location


def payloads(served: ServedPayloads) -> Blueprint:
    """Make the endpoints that the signed URLs lead to."""

    def upload(token: str) -> Answer:
        # The limit of an upload stands in its token, not in the limit of ordinary bodies.
        request.max_content_length = _NO_LIMIT
        with served.open_upload(token) as target:
            while chunk := request.stream.read(_CHUNK):
                target.write(chunk)
        return empty()

    def download(token: str) -> Response:
        file = served.open_download(token)
        size = file.seek(0, 2)
        file.seek(0)
        answer = Response(_chunks(file), content_type=CONTENT_TYPE)
        answer.content_length = size
        answer.headers["Cache-Control"] = "no-store"
        answer.call_on_close(file.close)
        return answer

    routes = (("PUT", "/<token>", little(upload)), ("GET", "/<token>", little(download)))
    return blueprint("payloads", PAYLOADS_PATH, routes)


def _choice(name: str, choices: tuple[str, ...]) -> str:
    given = text(request.args, name)
    if given.upper() not in choices:
        raise wrong(name, f"must be one of {', '.join(choices)}", given or None)
    return given.upper()


def _chunks(file: BinaryIO) -> Iterator[bytes]:
    while chunk := file.read(_CHUNK):
        yield chunk
