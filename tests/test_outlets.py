"""Where events and changes of state go, by settings; and the webhook itself."""

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from conductor_py.adapters.webhook import IDENTITY_HEADER, HttpWebhook
from conductor_py.config import Settings
from conductor_py.config.listeners import Listeners
from conductor_py.errors import ConfigurationError
from conductor_py.outbound.addresses import AddressRules, networks
from conductor_py.ports.events import Undelivered
from conductor_py.wiring.outlets import listeners_of, sinks_of, webhook_of
from tests.systemtasks.test_deadlines import drips_a_handshake, drips_a_head, peer

_ANSWERS_MS = 60_000
_LOOPBACK = AddressRules(networks=networks(["127.0.0.0/8"]))


def _settings(**given: Any) -> Settings:
    return Settings(listeners=Listeners(**given))


def test_nobody_is_told_by_default() -> None:
    listeners = listeners_of(Settings())
    assert not listeners.of_workflows
    assert not listeners.of_tasks
    assert webhook_of(Settings()) is None
    assert sinks_of(Settings()) == {}


def test_listeners_are_put_together() -> None:
    given = _settings(
        workflow_type="composite",
        composite=("workflow_publisher", "queue_publisher", "archive"),
        task_type="task_publisher",
        url="http://monitor.lan/in/",
        endpoint_workflow="/workflows",
        endpoint_task="tasks",
    )
    listeners = listeners_of(given)
    assert listeners.workflow_url == "http://monitor.lan/in/workflows"
    assert listeners.task_url == "http://monitor.lan/in/tasks"
    assert listeners.workflow_statuses == {"COMPLETED", "TERMINATED"}
    assert listeners.queues["TERMINATED"] == "conductor:_callbackFailureQueue"
    assert webhook_of(given) is not None


@pytest.mark.parametrize(
    ("given", "key"),
    [
        ({"workflow_type": "workflow_publisher"}, "notification.url"),
        ({"task_type": "task_publisher", "url": "monitor.lan"}, "notification.url"),
        ({"workflow_type": "kafka"}, "kafka.bootstrap-servers"),
        ({"workflow_type": "composite", "composite": ("sqs",)}, "composite.types"),
    ],
)
def test_a_listener_that_cannot_work_is_refused(given: dict[str, Any], key: str) -> None:
    with pytest.raises(ConfigurationError, match=key):
        listeners_of(_settings(**given))


class _Receiver(BaseHTTPRequestHandler):
    """Answers with the status that the path names."""

    seen: list[tuple[str, bytes, str | None, str | None]] = []  # noqa: RUF012 - cleared by the fixture

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.seen.append((self.path, body, self.headers[IDENTITY_HEADER], self.headers["X-Key"]))
        status = int(self.path.rpartition("/")[2])
        self.send_response(status)
        if status == 302:
            self.send_header("Location", "/200")
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""


@pytest.fixture
def receiver() -> Iterator[str]:
    _Receiver.seen.clear()
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Receiver)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


def test_a_notification_is_posted_with_its_identity_and_header(receiver: str) -> None:
    webhook = HttpWebhook(
        _LOOPBACK, connect_ms=_ANSWERS_MS, read_ms=_ANSWERS_MS, headers={"X-Key": "k"}
    )
    webhook.post(f"{receiver}/200", b'{"a": 1}', "n1")
    webhook.post(f"{receiver}/204", b"{}", "n2")
    assert _Receiver.seen == [("/200", b'{"a": 1}', "n1", "k"), ("/204", b"{}", "n2", "k")]


@pytest.mark.parametrize("status", [302, 400, 404, 500, 503])
def test_any_other_answer_is_a_refusal(receiver: str, status: int) -> None:
    webhook = HttpWebhook(_LOOPBACK, connect_ms=_ANSWERS_MS, read_ms=_ANSWERS_MS)
    with pytest.raises(Undelivered) as failed:
        webhook.post(f"{receiver}/{status}", b"{}", "n")
    assert failed.value.refused
    assert str(status) in failed.value.message
    assert len(_Receiver.seen) == 1, "redirects are not followed"


def test_a_receiver_that_is_not_there_is_away() -> None:
    webhook = HttpWebhook(_LOOPBACK, connect_ms=500, read_ms=500)
    for url in ("http://127.0.0.1:1/", "http://no.such.host.invalid/", "http://["):
        with pytest.raises(Undelivered) as failed:
            webhook.post(url, b"{}", "n")
        assert not failed.value.refused


def test_the_webhook_goes_nowhere_inside_but_where_its_setting_says(receiver: str) -> None:
    webhook = webhook_of(_settings(url=receiver))
    assert webhook is not None
    webhook.post(f"{receiver}/200", b"{}", "n")
    with pytest.raises(Undelivered, match="may not reach"):
        webhook.post(f"{receiver.replace('127.0.0.1', '127.0.0.2')}/200", b"{}", "n")
    assert len(_Receiver.seen) == 1


@pytest.mark.parametrize("scheme", ["http", "https"])
def test_a_receiver_that_drips_is_left_at_the_end_of_both_times(scheme: str) -> None:
    with peer(drips_a_head if scheme == "http" else drips_a_handshake) as port:
        webhook = HttpWebhook(_LOOPBACK, connect_ms=100, read_ms=100)
        with pytest.raises(Undelivered, match=r"Late|Timeout") as failed:
            webhook.post(f"{scheme}://127.0.0.1:{port}/", b"{}", "n")
    assert not failed.value.refused


def test_the_secrets_of_a_notification_url_are_in_no_error(receiver: str) -> None:
    webhook = HttpWebhook(_LOOPBACK, connect_ms=_ANSWERS_MS, read_ms=_ANSWERS_MS)
    url = receiver.replace("http://", "http://user:hidden@") + "/hidden/404?key=hidden"
    with pytest.raises(Undelivered) as failed:
        webhook.post(url, b"{}", "n")
    assert "hidden" not in failed.value.message
