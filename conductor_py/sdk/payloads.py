"""Large payloads on the client's side: measured, uploaded and downloaded by URLs that the server
signs.

No credentials and no library of any object store are needed here. The server mints every key; a
signed URL never reaches a log line or an error.
"""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Literal
from urllib.parse import urljoin, urlsplit

from conductor_py.errors import NotFound, PayloadTooLarge, StoreUnavailable
from conductor_py.sdk.document import decode
from conductor_py.sdk.errors import UnexpectedAnswer
from conductor_py.sdk.server import object_of
from conductor_py.sdk.transport import ANSWER_S

if TYPE_CHECKING:
    from conductor_py.model.json import JsonObject
    from conductor_py.sdk.server import Server
    from conductor_py.sdk.transport import Answer

_FORBIDDEN = 403
_NOT_FOUND = 404
_TOO_LARGE = 413
_SERVER_ERROR = 500


class PayloadKind(StrEnum):
    """Which payload a stored document is; the value is the wire's name."""

    WORKFLOW_INPUT = "WORKFLOW_INPUT"
    WORKFLOW_OUTPUT = "WORKFLOW_OUTPUT"
    TASK_INPUT = "TASK_INPUT"
    TASK_OUTPUT = "TASK_OUTPUT"


class PayloadTransfer:
    """Moves payloads between this process and the store behind the server."""

    def __init__(
        self, server: Server, *, timeout_s: float, answer_timeout_s: float = ANSWER_S
    ) -> None:
        """Use the server's transport; ``timeout_s`` bounds each wait for bytes of the store,
        ``answer_timeout_s`` all of a download.
        """
        self._server = server
        self._timeout_s = timeout_s
        self._answer_s = answer_timeout_s

    def location(
        self, kind: PayloadKind, operation: Literal["READ", "WRITE"], path: str = ""
    ) -> JsonObject:
        """Ask for a signed URL: ``uri`` and ``path``; ``uri`` is absent where no store is
        configured.
        """
        area = "tasks" if kind.value.startswith("TASK") else "workflow"
        query = {"path": path, "operation": operation, "payloadType": kind.value}
        answer = self._server.call("GET", area, "externalstoragelocation", query=query, resend=True)
        return object_of(answer)

    def upload(self, kind: PayloadKind, document: bytes) -> str | None:
        """Store the document and return its path, or None where the server has no payload store."""
        for last_try in (False, True):
            place = self.location(kind, "WRITE")
            uri, path = place.get("uri"), place.get("path")
            if not isinstance(uri, str) or not isinstance(path, str):
                return None
            answer = self._exchange("PUT", uri, document)
            if answer.is_success:
                return path
            if answer.status != _FORBIDDEN or last_try:  # an expired URL is worth a second one
                raise _refusal("upload", answer)
        raise AssertionError  # the second round returns or raises

    def download(self, kind: PayloadKind, path: str) -> JsonObject:
        """Return the stored object; raises ``NotFound`` when the store no longer has it."""
        place = self.location(kind, "READ", path)
        uri = place.get("uri")
        if not isinstance(uri, str):
            message = f"the server has no payload store to read {path} from"
            raise NotFound(message)
        answer = self._exchange("GET", uri, None)
        if not answer.is_success:
            raise _refusal("download", answer)
        try:
            value = decode(answer.body)
        except ValueError as error:
            message = f"the payload at {path} is not JSON"
            raise UnexpectedAnswer(message, status=answer.status) from error
        if not isinstance(value, dict):
            message = f"the payload at {path} is not a JSON object"
            raise UnexpectedAnswer(message, status=answer.status)
        return value

    def _exchange(self, method: str, uri: str, document: bytes | None) -> Answer:
        url = urljoin(f"{self._server.url}/", uri)
        headers = {} if document is None else {"Content-Type": "application/json"}

        def send() -> Answer:
            answer = self._server.transport.exchange(
                method,
                url,
                body=document,
                headers=headers,
                timeout_s=self._timeout_s,
                answer_s=self._answer_s,
            )
            if answer.status >= _SERVER_ERROR:
                message = f"the payload store at {urlsplit(url).hostname} failed"
                raise StoreUnavailable(message)
            return answer

        return self._server.repeat(send, resend=True)


def _refusal(action: str, answer: Answer) -> PayloadTooLarge | NotFound | UnexpectedAnswer:
    if answer.status == _TOO_LARGE:
        return PayloadTooLarge("the payload store refused the payload as too large")
    if answer.status == _NOT_FOUND:
        return NotFound("the payload store does not have this payload")
    message = f"the payload store refused the {action} with status {answer.status}"
    return UnexpectedAnswer(message, status=answer.status)
