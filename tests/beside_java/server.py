"""One of the two servers, as a client sees it: nothing here knows which."""

import json
from dataclasses import dataclass
from typing import Any

from urllib3 import HTTPConnectionPool

Json = dict[str, Any]

_HEADERS = {"Content-Type": "application/json"}


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back; the body is the document where it is JSON, else the text."""

    status: int
    body: Any


class Conductor:
    """Asks one server over one connection.

    It may idle while the other server is asked, and a server closes what idles for long: the pool
    looks before it sends, and connects again.
    """

    def __init__(self, port: int) -> None:
        self._connection = HTTPConnectionPool("127.0.0.1", port, timeout=60, retries=False)

    def close(self) -> None:
        self._connection.close()

    def ask(self, method: str, path: str, body: object = None) -> Answer:
        sent = None if body is None else json.dumps(body).encode()
        response = self._connection.urlopen(method, "/api" + path, sent, _HEADERS)
        return Answer(response.status, _read(response.data.decode()))

    def start(self, definition: Json, given: Json, **more: Any) -> Answer:
        request = {"name": definition["name"], "workflowDef": definition, "input": given}
        return self.ask("POST", "/workflow", {**request, **more})

    def execution(self, workflow_id: str) -> Json:
        answer = self.ask("GET", f"/workflow/{workflow_id}?includeTasks=true")
        assert answer.status == 200, answer
        found: Json = answer.body
        return found

    def finish(self, task: Json, status: str, output: Json, reason: str | None = None) -> Answer:
        result = {
            "workflowInstanceId": task["workflowInstanceId"],
            "taskId": task["taskId"],
            "status": status,
            "outputData": output,
        }
        if reason is not None:
            result["reasonForIncompletion"] = reason
        return self.ask("POST", "/tasks", result)


def _read(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text
