"""Requests that never end, and bodies that are larger than they look: others go on meanwhile.

Nothing here measures a time: what must be answered is answered while the attack is held open, and
what must be cut is cut.
"""

import re
import select
import socket
import threading
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from importlib.metadata import version
from pathlib import Path

import pytest

from tests.acceptance.asking import ask
from tests.acceptance.deployment import Api, Deployment
from tests.acceptance.stories import ONE_STEP, start, status
from tests.waiting import PATIENCE_S, until

pytestmark = [
    pytest.mark.acceptance,
    pytest.mark.thorough(target="stories"),
    pytest.mark.timeout(300),
]

_START = {"name": "one_step", "workflowDef": ONE_STEP, "input": {"number": 1}}
_POLL = b"GET /api/tasks/poll/batch/nothing?timeout=5000 HTTP/1.1\r\nHost: localhost\r\n\r\n"


def _head(path: str, length: int = 10, more: str = "") -> bytes:
    return (
        f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        f"Content-Length: {length}\r\n{more}\r\n"
    ).encode()


def _connected(server: Api, room: int = 0) -> socket.socket:
    """Connect; ``room`` bytes are taken for whom does not read."""
    made = socket.socket()
    if room:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, room)
    made.settimeout(PATIENCE_S)
    made.connect(("127.0.0.1", server.port))
    return made


@contextmanager
def _held(server: Api, count: int, sent: bytes, room: int = 0) -> Iterator[list[socket.socket]]:
    """So many connections that have sent this and nothing more."""
    with ExitStack() as stack:
        opened = [stack.enter_context(closing(_connected(server, room))) for _ in range(count)]
        for each in opened:
            each.sendall(sent)
        yield opened


def _reading(server: Api) -> int:
    text = ask(server, "GET", "/actuator/prometheus").body
    (line,) = [one for one in text.splitlines() if 'http_requests_now{state="reading"}' in one]
    return int(float(line.rpartition(" ")[2]))


def _is_cut(connection: socket.socket) -> bool:
    """Wait for the end of a connection, whatever is said before it."""
    try:
        while connection.recv(4096):
            pass
    except ConnectionResetError:
        pass
    return True


def _cut_readers(server: Api) -> int:
    lines = [line for line in server.log.splitlines() if "action=slow_readers_cut" in line]
    return sum(int(re.findall(r"\bconnections=(\d+)", line)[0]) for line in lines)


def _rest(connection: socket.socket) -> bytes:
    """What still comes of a connection before its end."""
    rest = b""
    try:
        while piece := connection.recv(1 << 20):
            rest += piece
    except ConnectionResetError:
        pass
    return rest


def _goes_on(server: Api) -> None:
    for _ in range(5):
        assert ask(server, "GET", "/health").status == 200
        assert ask(server, "POST", "/api/workflow", _START).status == 200
        assert ask(server, "GET", "/api/metadata/taskdefs").status == 200


def test_200_half_sent_bodies_keep_nobody_from_health_starts_and_reads(
    deployment: Deployment,
) -> None:
    server = deployment.server("--set", "conductor.server.bodyTimeout=1h")
    with _held(server, 200, _head("/api/workflow") + b"{"):
        # Those that came when half of the places were taken are hurried; the others stay for good.
        until(lambda: _reading(server) >= 100, what="places that are held")
        _goes_on(server)


@pytest.mark.parametrize("path", ["/health", "/api/health", "/actuator/health"])
def test_200_half_sent_bodies_of_questions_about_health_hold_nothing(
    deployment: Deployment, path: str
) -> None:
    server = deployment.server()
    with _held(server, 200, _head(path) + b"{") as opened:
        assert all(_is_cut(each) for each in opened)
        _goes_on(server)


def test_full_places_for_bodies_are_free_again_though_no_attacker_leaves(
    deployment: Deployment,
) -> None:
    few = ("conductor.server.readingBodies=20", "conductor.server.bodyTimeout=1h")
    server = deployment.server(*(option for one in few for option in ("--set", one)))
    with _held(server, 20, _head("/api/workflow") + b"{") as opened:
        assert ask(server, "GET", "/health").status == 200
        until(lambda: ask(server, "POST", "/api/workflow", _START).status == 200, what="room again")
        assert any(_is_cut(each) for each in opened[:1])


def test_body_that_stalls_or_drips_is_cut_and_nobody_else(deployment: Deployment) -> None:
    server = deployment.server("--set", "conductor.server.bodyTimeout=1s")
    workflow = start(server.client, 1)
    stalled = _head("/api/workflow") + b"{"
    drip = _head("/api/workflow", 1_000_000)
    with (
        _held(server, 5, stalled) as stalling,
        _held(server, 5, drip) as dripping,
        _held(server, 5, _POLL) as polling,
        closing(_connected(server)) as idle,
    ):
        assert b"200 OK" in _answered(idle)

        def drips() -> bool:
            over = 0
            for each in dripping:
                try:
                    each.sendall(b" ")
                except (BrokenPipeError, ConnectionResetError):
                    over += 1
            return over == len(dripping)

        until(drips, what="the end of those that drip")
        assert all(_is_cut(each) for each in stalling)
        assert all(each.recv(4096).startswith(b"HTTP/1.1 200") for each in polling)
        assert b"200 OK" in _answered(idle), "an idle connection owes nothing"
    assert status(server.client, workflow) == "RUNNING"
    assert "action=slow_senders_cut" in server.log


def test_answers_that_nobody_reads_are_cut_and_idle_connections_are_not(
    deployment: Deployment,
) -> None:
    server = deployment.server("--set", "conductor.server.bodyTimeout=1s")
    large = {**_START, "input": {"number": 1, "data": "x" * 3_000_000}}
    workflow = ask(server, "POST", "/api/workflow", large).body
    question = f"GET /api/workflow/{workflow} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode()
    with _held(server, 20, question, 16_384) as unread, closing(_connected(server)) as idle:
        assert b"200 OK" in _answered(idle)
        until(lambda: _cut_readers(server) == 20, what="the end of those")
        assert all(len(_rest(each)) < 3_000_000 for each in unread)
        assert b"200 OK" in _answered(idle)
    assert ask(server, "GET", f"/api/workflow/{workflow}").body["input"] == large["input"]


def test_five_slow_but_lawful_readers_keep_nobody_from_starting_and_leave_room_again(
    deployment: Deployment,
) -> None:
    server = deployment.server()
    workflow, task = _wide(server, 22)
    question = f"GET /api/workflow/{workflow} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode()
    with _held(server, 6, question, 131_072) as held, _read_on(held) as served:

        def status_meanwhile(path: str) -> int:
            assert ask(server, "POST", "/api/workflow", _START).status == 200
            assert ask(server, "GET", "/api/tasks/poll/nothing").status in {200, 204}
            return ask(server, "GET", path).status

        # Nothing else that is large is asked before all is taken: it would have its part of it.
        until(lambda: len(served) == 6, what="five that read, and one that is refused")
        for path in (f"/api/tasks/{task}", f"/api/tasks/{task}/log", f"/api/workflow/{workflow}"):
            assert status_meanwhile(path) == 503, "no room"
        until(lambda: status_meanwhile(f"/api/tasks/{task}") == 200, what="room again")
    assert _cut_readers(server) >= 1


def _wide(server: Api, width: int) -> tuple[str, str]:
    """Make an execution with so many outputs of almost 3 MB, that goes on; it and a task of it."""
    names = ["never", *(f"large{number}" for number in range(width))]
    tasks = [{"name": name.rstrip("0123456789"), "taskReferenceName": name} for name in names]
    fork = {
        "name": "fork",
        "taskReferenceName": "fork",
        "type": "FORK_JOIN",
        "forkTasks": [[each] for each in tasks],
    }
    join = {"name": "join", "taskReferenceName": "join", "type": "JOIN", "joinOn": names}
    definition = {"name": "wide", "tasks": [fork, join]}
    begun = {"name": "wide", "workflowDef": definition, "input": {}}
    workflow = ask(server, "POST", "/api/workflow", begun).body
    path = f"/api/tasks/poll/batch/large?count={width}&timeout=5000"
    for each in (polled := ask(server, "GET", path).body):
        ids = {name: each[name] for name in ("workflowInstanceId", "taskId")}
        result = {**ids, "status": "COMPLETED", "outputData": {"data": "x" * 2_950_000}}
        assert ask(server, "POST", "/api/tasks", result).status == 200
    assert len(polled) == width
    return workflow, polled[0]["taskId"]


@contextmanager
def _read_on(connections: list[socket.socket]) -> Iterator[set[socket.socket]]:
    """Read on, of each at most 1.6 MB each second; those of which something has come."""
    served: set[socket.socket] = set()
    ended: set[socket.socket] = set()
    over = threading.Event()

    def read() -> None:
        while not over.wait(0.05):
            going = [each for each in connections if each not in ended]
            for each in select.select(going, [], [], 0)[0]:
                served.add(each)
                try:
                    piece = each.recv(80_000)
                except ConnectionResetError:
                    piece = b""
                if not piece:
                    ended.add(each)

    reader = threading.Thread(target=read)
    reader.start()
    try:
        yield served
    finally:
        over.set()
        reader.join()


@pytest.mark.parametrize("before", ["", "GET /api/version HTTP/1.1\r\nHost: localhost\r\n\r\n"])
def test_body_is_cut_for_which_the_last_word_was_ours(deployment: Deployment, before: str) -> None:
    """It was asked for by 100 Continue, or its head came in one packet with another request."""
    server = deployment.server("--set", "conductor.server.bodyTimeout=1s")
    head = _head("/api/workflow", more="" if before else "Expect: 100-continue\r\n")
    with _held(server, 5, before.encode() + head) as waiting:
        assert all(_is_cut(each) for each in waiting)
        _goes_on(server)


def _answered(connection: socket.socket) -> bytes:
    """Ask something small on it, and read the whole answer."""
    connection.sendall(b"GET /api/version HTTP/1.1\r\nHost: localhost\r\n\r\n")
    answer = connection.recv(4096)
    while not answer.endswith(version("conductor-py").encode()):
        answer += connection.recv(4096)
    return answer


def test_head_that_never_ends_is_cut(deployment: Deployment) -> None:
    server = deployment.server("--set", "conductor.server.headTimeout=500ms")
    with _held(server, 50, b"GET /api/version HTTP/1.1\r\nHost: local") as opened:
        assert all(_is_cut(each) for each in opened)
        _goes_on(server)


def test_500_long_polls_leave_room_for_health_starts_and_reads(
    deployment: Deployment, shape: tuple[str, ...]
) -> None:
    server = deployment.server(*shape)
    with _held(server, 500, _POLL) as polls:
        _goes_on(server)
        answers = {each.recv(4096)[:12] for each in polls}
    assert answers <= {b"HTTP/1.1 200", b"HTTP/1.1 204", b"HTTP/1.1 503"}, answers


def test_body_of_eight_million_lists_is_refused_in_little_memory(deployment: Deployment) -> None:
    server = deployment.server()
    start(server.client, 1)
    before = _most_memory_mb(server)
    body = b"[" + b"[]," * (25 * 2**20 // 3) + b"[]]"
    for path in ("/api/metadata/workflow", "/api/workflow", "/api/tasks"):
        answer = ask(server, "POST", path, body)
        assert (answer.status, answer.body["code"]) == (400, "INVALID_INPUT")
    assert _most_memory_mb(server) - before < 250
    _goes_on(server)


def _most_memory_mb(server: Api) -> float:
    """The most that any process of the server ever had."""
    found = []
    for pid in server.family():
        try:
            said = Path(f"/proc/{pid}/status").read_text()
        except FileNotFoundError:
            continue
        found += [int(line.split()[1]) for line in said.splitlines() if line.startswith("VmHWM")]
    return max(found) / 1024


def test_http_2_is_not_spoken(deployment: Deployment) -> None:
    server = deployment.server()
    with closing(_connected(server)) as connection:
        connection.sendall(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n")
        assert not connection.recv(4096).startswith(b"\x00"), "no frame of settings"
