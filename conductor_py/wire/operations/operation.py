"""A row of the table of endpoints, and short ways to write one."""

from __future__ import annotations

from conductor_py.records import dataclass

TEXT = "text"
HTML = "html"
SCRIPT = "script"
NOTHING = "nothing"
OBJECT = "object"
BYTES = "bytes"
SEARCH = "start:integer size:integer sort:string freeText:string query:string"
"""The parameters of every search."""
PAYLOAD_LOCATION = (
    "operation!:READ|WRITE"
    " payloadType!:WORKFLOW_INPUT|WORKFLOW_OUTPUT|TASK_INPUT|TASK_OUTPUT path:string"
)
PAYLOAD_LOCATED = "Where to send or fetch a large payload, by a signed URL"
SIGNAL_STRATEGY = "TARGET_WORKFLOW|BLOCKING_WORKFLOW|BLOCKING_TASK|BLOCKING_TASK_INPUT"
"""What an answer to a waiting call may show."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    """One endpoint. ``query`` holds words ``name:type``, or ``name!:type`` when it must be given;
    ``name:ONE|OTHER`` has one of these values.

    ``body`` and ``answer`` name a schema, ``Name[]`` a list of it, ``Name{}`` an object of it,
    ``SearchResult:Name`` a page of it, ``One|Other`` either; else ``text``, ``nothing``,
    ``object``, ``bytes`` or a JSON type. An empty ``body``: there is none.
    """

    method: str
    path: str
    summary: str
    answer: str
    body: str = ""
    query: str = ""
    no_content: str = ""
    """When the answer is 204 instead."""
    success: int = 200
    """The status of the answer."""
    dry_run: str = ""
    """The schema of the answer to ``dryRun=true``, where it is another one."""

    @property
    def tag(self) -> str:
        """Group by noun."""
        parts = self.path.split("/")
        return parts[2] if len(parts) > 3 and parts[1] == "api" else "system"

    @property
    def errors(self) -> tuple[int, ...]:
        """Statuses of the errors that it may answer."""
        changes = self.method != "GET"
        found = {
            400: bool(self.query or self.body or "{" in self.path),
            403: self.path.startswith(("/api/payloads/", "/api/secrets/", "/api/files/")),
            404: bool(self.query or self.body or "{" in self.path),
            409: changes or self.path.startswith("/api/files/{workflow_id}/"),
            410: self.path == "/api/tasks/update-v2",
            413: changes,
            429: changes,
            501: changes and self.path == "/api/secrets/{key}",
            503: True,
        }
        return tuple(status for status, may in found.items() if may)


def get(path: str, summary: str, answer: str, query: str = "", no_content: str = "") -> Operation:
    """Describe a GET."""
    return Operation(
        method="GET", path=path, summary=summary, answer=answer, query=query, no_content=no_content
    )


def post(
    path: str,
    summary: str,
    answer: str,
    body: str,
    query: str = "",
    *,
    no_content: str = "",
    dry_run: str = "",
) -> Operation:
    """Describe a POST."""
    return Operation(
        method="POST",
        path=path,
        summary=summary,
        answer=answer,
        body=body,
        query=query,
        no_content=no_content,
        dry_run=dry_run,
    )


def put(path: str, summary: str, answer: str, body: str, query: str = "") -> Operation:
    """Describe a PUT."""
    return Operation(
        method="PUT", path=path, summary=summary, answer=answer, body=body, query=query
    )


def delete(path: str, summary: str, query: str = "", body: str = "") -> Operation:
    """Describe a DELETE that answers nothing."""
    return Operation(
        method="DELETE", path=path, summary=summary, answer=NOTHING, query=query, body=body
    )
