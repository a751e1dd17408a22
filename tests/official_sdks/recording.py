"""What the official clients send: their stories through a proxy, each kind of request once.

`python -m tests.official_sdks.recording [CLIENT ...]` writes `tests/golden/client_requests.jsonl`,
which `tests/api/test_hot.py` sends both ways that a request can take through the server. What other
clients sent stays.
"""

from __future__ import annotations

import http.client
import json
import re
import subprocess
import sys
import tempfile
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from socket import gethostname
from typing import Any, Final

from tests.acceptance.deployment import deployed
from tests.official_sdks import obtained

RECORDED: Final = Path(__file__).parents[1] / "golden" / "client_requests.jsonl"
_STORY_S: Final = 600
_UNTOLD: Final = {"host", "connection", "keep-alive", "content-length"}
_LENGTHS: Final = {"content-length", "transfer-encoding"}
_ID: Final = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_SAME_ID: Final = "00000000-0000-0000-0000-000000000001"
_MOST_BYTES: Final = 4_000


def _same(text: str) -> str:
    """What is the same in each recording: ids and the machine are not told."""
    return re.sub(rf"\b{re.escape(gethostname())}\b", "host", _ID.sub(_SAME_ID, text))


class _Recorder(ThreadingHTTPServer):
    """Hands requests on to a server and keeps one of each kind."""

    daemon_threads = True

    def __init__(self, port: int, client: str) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.behind = port
        self.client = client
        self.kept: dict[str, dict[str, Any]] = {}


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: _Recorder

    def _hand_on(self) -> None:
        body = self._body()
        self._keep(body)
        behind = http.client.HTTPConnection("127.0.0.1", self.server.behind, timeout=_STORY_S)
        behind.putrequest(self.command, self.path, skip_host=True, skip_accept_encoding=True)
        for name, value in self.headers.items():
            if name.lower() not in _LENGTHS:
                behind.putheader(name, value)
        if body:
            behind.putheader("Content-Length", str(len(body)))
        behind.endheaders(body)
        answer = behind.getresponse()
        told = answer.read()
        behind.close()
        self.send_response_only(answer.status)
        for name, value in answer.getheaders():
            if name.lower() not in {"connection", *_LENGTHS}:
                self.send_header(name, value)
        self.send_header("Content-Length", str(len(told)))
        self.end_headers()
        self.wfile.write(told)

    def _body(self) -> bytes:
        if "Transfer-Encoding" not in self.headers:
            return self.rfile.read(int(self.headers.get("Content-Length") or 0))
        body = b""
        while size := int(self.rfile.readline(), 16):
            body += self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()
        return body

    def __getattr__(self, name: str) -> Any:
        """Hand every method on: `do_GET`, `do_POST`, …"""
        if name.startswith("do_"):
            return self._hand_on
        raise AttributeError(name)

    def _keep(self, body: bytes) -> None:
        path, _, query = self.path.partition("?")
        headers = {
            name.lower(): value
            for name, value in sorted(self.headers.items())
            if name.lower() not in _UNTOLD
        }
        try:
            text = _same(body.decode())
        except UnicodeDecodeError:
            return
        names = sorted(part.partition("=")[0] for part in query.split("&"))
        fields = sorted(json.loads(text)) if text.startswith("{") else []
        path = _same(path)
        kind = json.dumps([self.command, path, names, sorted(headers), fields])
        if len(text) <= _MOST_BYTES:
            sent: dict[str, Any] = {"client": self.server.client, "method": self.command}
            query = _same(query)
            sent |= {"path": path, "query": query, "headers": headers, "body": text}
            self.server.kept.setdefault(kind, sent)

    def log_message(self, *_: object) -> None:
        """Nothing of this is news."""


def _recorded(client: str, story: tuple[obtained.Command, Path]) -> list[dict[str, Any]]:
    command, place = story
    with tempfile.TemporaryDirectory() as folder, deployed(Path(folder)) as deployment:
        server = deployment.server("--set", "conductor.file-storage.enabled=true")
        with _Recorder(server.port, client) as recorder:
            threading.Thread(target=recorder.serve_forever, daemon=True).start()
            subprocess.run(
                (*command, f"http://127.0.0.1:{recorder.server_port}/api"),
                cwd=place,
                env=obtained.environment(),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                timeout=_STORY_S,
                check=True,
            )
            recorder.shutdown()
            return list(recorder.kept.values())


def main(*clients: str) -> None:
    """Record these, or all."""
    stories = {
        "python 1": lambda: obtained.python_story(obtained.PYTHON_1),
        "python 2": lambda: obtained.python_story(obtained.PYTHON_2),
        "javascript": obtained.javascript_story,
        "java": obtained.java_story,
        "java sdk": obtained.sdk_story,
        "netflix": obtained.netflix_story,
        "go": obtained.go_story,
    }
    chosen = clients or tuple(stories)
    found = [
        sent
        for sent in map(json.loads, RECORDED.read_text(encoding="utf-8").splitlines())
        if sent["client"] not in chosen
    ]
    for client in chosen:
        found += _recorded(client, stories[client]())
    lines = sorted(json.dumps(sent, sort_keys=True, ensure_ascii=False) for sent in found)
    RECORDED.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    sys.stdout.write(f"{len(lines)} requests of {len(stories)} clients\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
