"""The run beside peers, with peers that are made up: its page, its picture, what fails it."""

import json
import os
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import SimpleNamespace
from typing import Self
from xml.etree import ElementTree as ET

import pytest

from benchmarks.clients import Http, Load, Lost, Refused, alone, drive
from benchmarks.machine import Cost
from benchmarks.peers import run
from benchmarks.peers.conductor import begun_anew
from benchmarks.peers.page import picture, ratios_of, render
from benchmarks.peers.peer import Figures, Outcome, Peer, Ready
from tests.services.cache import Unobtainable

FACTS = {
    "date": "2026-01-01",
    "machine": "a machine",
    "others": "nothing else",
    "software": "Python 3.11",
    "turns": "3",
    "minutes": "1",
}


def _nobody() -> AbstractContextManager[Ready]:
    raise Unobtainable("there is no `peer`\n| on this machine")


def _peer(name: str, title: str = "", start=_nobody) -> Peer:
    return Peer(
        name=name, title=title or name, keeps="a file", counted="all processes", start=start
    )


def _outcome(name: str, *turns: Figures) -> Outcome:
    return Outcome(peer=_peer(name), version="1.0", turns=turns, idle_percent=1.25, resident_mb=150)


_OURS = _outcome(
    "ours",
    *(
        {"eight_cpu": cpu, "eight_rate": 400.0, "chain_cpu": 1.0, "refused": 2}
        for cpu in (2.0, 3.0, 4.0)
    ),
)
_OTHER = _outcome("other", *({"eight_cpu": cpu, "eight_rate": 100.0} for cpu in (10.0, 10.0, 10.0)))
_ABSENT = Outcome(peer=_peer("absent"), reason="no such package")


def test_a_ratio_is_of_turns_that_were_neighbours() -> None:
    assert ratios_of(_OURS, _OTHER, "eight_cpu") == [0.2, 0.3, 0.4]


def test_the_page_has_medians_and_ratios_with_their_range() -> None:
    lines = render([_OURS, _OTHER], FACTS).splitlines()
    assert "| ours | 400 |  | 3 |  |" in lines
    assert "| other | 100 | 4.00 (4.00-4.00) | 10 | 0.30 (0.20-0.40) |" in lines


def test_a_table_shows_only_who_has_its_figures() -> None:
    chains = render([_OURS, _OTHER], FACTS).partition("## Chains")[2].partition("##")[0]
    assert "| ours | 1 |  |" in chains.splitlines()
    assert "other" not in chains


def test_a_peer_that_cannot_be_had_is_a_row_with_the_reason() -> None:
    page = render([_OURS, _ABSENT, _OTHER], FACTS)
    assert "| absent | not measured: no such package | | |" in page.splitlines()
    assert page.count("absent") == 1


def test_the_page_says_memory_what_is_used_at_rest_and_how_often_requests_were_refused() -> None:
    lines = render([_OURS, _OTHER], FACTS).splitlines()
    assert "| ours | 1.2 % | 150 MB |  | 6 |  |" in lines
    assert "| other | 1.2 % | 150 MB | 1.00 |  |  |" in lines


def test_a_turn_in_which_a_server_lost_an_execution_is_begun_anew_and_counted() -> None:
    outcomes = iter([Lost("one"), Lost("another"), None])

    def turn() -> Figures:
        if error := next(outcomes):
            raise error
        return {"eight_cpu": 1.0}

    assert begun_anew(turn)() == {"eight_cpu": 1.0, "lost": 2}


def test_a_server_that_loses_an_execution_in_every_turn_has_no_figures() -> None:
    def turn() -> Figures:
        raise Lost("one")

    with pytest.raises(Lost):
        begun_anew(turn)()


def test_the_picture_has_a_bar_for_each_median() -> None:
    root = ET.fromstring(picture([_OURS, _ABSENT, _OTHER]))
    texts = [each.text for each in root.iter("{http://www.w3.org/2000/svg}text")]
    assert texts.count("ours") == 3
    assert texts.count("other") == 2
    assert {"3", "10", "400", "100", "1"} <= set(texts)
    bars = [float(each.attrib["width"]) for each in root.iter("{http://www.w3.org/2000/svg}rect")]
    assert bars[1] == pytest.approx(bars[2] * 0.3, abs=0.1)


# -- the run ---------------------------------------------------------------------------------------


@pytest.fixture
def docs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(run, "_IDLE_S", 0.001)
    for folder in ("reference", "images"):
        (tmp_path / folder).mkdir()
    return tmp_path


def _taking(figures: Figures, fails_at: int = -1) -> Callable[[], AbstractContextManager[Ready]]:
    """A peer that is this process, and may lose an execution in a turn."""
    taken = [0]

    def turn() -> Figures:
        taken[0] += 1
        if taken[0] == fails_at:
            raise RuntimeError("1 of 2 ended right")
        return figures

    @contextmanager
    def start() -> Iterator[Ready]:
        yield Ready(version="2.0", pids=(os.getpid(),), turn=turn)

    return start


def test_a_run_writes_page_and_picture_and_goes_on_without_who_cannot_be_had(docs: Path) -> None:
    peers = (
        _peer("ours", start=_taking({"eight_cpu": 2.0})),
        _peer("gone"),
        _peer("other", start=_taking({"eight_cpu": 4.0})),
    )
    assert run.main(["--turns", "2", "--docs", str(docs)], peers) == 0
    page = (docs / "reference" / "benchmarks-peers.md").read_text()
    assert "| other | 4 | 0.50 (0.50-0.50) |" in page.splitlines()
    assert "| gone | not measured: there is no `peer` / on this machine | | |" in page.splitlines()
    assert (docs / "images" / "benchmarks-peers.svg").read_text().startswith("<svg")


def test_an_execution_that_is_lost_fails_the_run_and_no_page_is_written(docs: Path) -> None:
    peers = (
        _peer("ours", start=_taking({"eight_cpu": 2.0})),
        _peer("other", start=_taking({"eight_cpu": 4.0}, fails_at=2)),
    )
    with pytest.raises(RuntimeError, match="1 of 2"):
        run.main(["--docs", str(docs)], peers)
    assert list(docs.rglob("*.*")) == []


@pytest.mark.parametrize(("share", "is_told"), [(0.02, False), (0.5, True)])
def test_the_page_says_whether_the_machine_was_busy(
    docs: Path, monkeypatch: pytest.MonkeyPatch, share: float, *, is_told: bool
) -> None:
    instants = iter((0.0, 10.0, 10.0))
    spent = iter((0.0, 10_000.0 * (os.cpu_count() or 1) * share))
    monkeypatch.setattr(run, "measure", lambda _peers, _turns: [_OURS, _OTHER])
    monkeypatch.setattr("benchmarks.others.busy_ms", lambda: next(spent))
    monkeypatch.setattr("benchmarks.others.cost_of", lambda _pid: Cost(0.0, 0.0))
    monkeypatch.setattr("benchmarks.others.time", SimpleNamespace(monotonic=instants.__next__))
    run.main(["--docs", str(docs)], (_peer("ours"), _peer("other")))
    page = (docs / "reference" / "benchmarks-peers.md").read_text()
    assert f"used {share * 100:.0f} % of its CPU" in page
    assert ("the machine was busy" in page) == is_told


def test_without_ours_there_is_nothing_to_compare(docs: Path) -> None:
    with pytest.raises(Unobtainable):
        run.main(["--docs", str(docs)], (_peer("ours"), _peer("other")))


def test_only_leaves_the_others_out_but_never_ours(docs: Path) -> None:
    peers = tuple(_peer(name, start=_taking({"eight_cpu": 2.0})) for name in ("ours", "a", "b"))
    assert run.main(["--turns", "1", "--only", "b", "--docs", str(docs)], peers) == 0
    page = (docs / "reference" / "benchmarks-peers.md").read_text()
    assert "| ours |" in page
    assert "| b |" in page
    assert "| a |" not in page


def test_a_peer_that_does_not_exist_is_refused(
    docs: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        run.main(["--only", "jaba", "--docs", str(docs)])
    assert "no such peer: jaba" in capsys.readouterr().err


# -- the client, at servers of another make --------------------------------------------------------


class _Answering:
    """A server that gives these answers, a byte at a time, and closes after one that says so."""

    def __init__(self, *answers: bytes) -> None:
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.port = self._listening.getsockname()[1]
        self._serving = threading.Thread(target=self._serve, args=(answers,))

    def _serve(self, answers: tuple[bytes, ...]) -> None:
        connection, _ = self._listening.accept()
        for answer in answers:
            connection.recv(65536)
            for byte in answer:
                connection.send(bytes((byte,)))
            if b"close" in answer:
                connection.close()
                connection, _ = self._listening.accept()
        connection.close()

    def __enter__(self) -> Self:
        self._serving.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._serving.join()
        self._listening.close()


def test_a_body_in_chunks_is_put_together_and_a_closed_connection_made_anew() -> None:
    answers = (
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\n[1, \r\n2\r\n2]\r\n0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 3\r\n\r\n[3]",
        b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n[4]",
    )
    with _Answering(*answers) as server:
        http = Http(server.port)
        assert [http.json("GET", "/") for _ in answers] == [[1, 2], [3], [4]]
        http.close()


_TASK = json.dumps([{"taskId": "t", "workflowInstanceId": "e", "referenceTaskName": "t0"}])
_STEPS = (
    b"HTTP/1.1 500 Oh\r\nContent-Length: 4\r\n\r\nbusy",
    b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\ne",
    f"HTTP/1.1 200 OK\r\nContent-Length: {len(_TASK)}\r\n\r\n{_TASK}".encode(),
    b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",
)


def test_what_a_server_refuses_is_asked_again_and_counted() -> None:
    with _Answering(*_STEPS) as server:
        load = Load(port=server.port, workflow="w", task_type="t", executions=1, tasks=1)
        seen = alone(replace(load, repeats=3))
    assert (seen.executions, list(seen.reported), seen.refused) == (["e"], [("e", "t0")], 1)


def test_a_refusal_is_a_failure_where_none_is_expected() -> None:
    with _Answering(_STEPS[0]) as server:
        load = Load(port=server.port, workflow="w", task_type="t", executions=1, tasks=1)
        with pytest.raises(Refused, match="busy"):
            alone(load)


class _HandingOutTwice(BaseHTTPRequestHandler):
    """A server that hands out its first task twice, before any other."""

    protocol_version = "HTTP/1.1"
    lock = threading.Lock()
    started: list[str]
    waiting: list[str]

    def do_GET(self) -> None:
        with self.lock:
            found = [self.waiting.pop(0)] if len(self.started) == 2 and self.waiting else []
        self._answer(
            json.dumps(
                [{"taskId": e, "workflowInstanceId": e, "referenceTaskName": "t0"} for e in found]
            )
        )

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["Content-Length"]))
        name = ""
        if self.path.endswith("/workflow"):
            with self.lock:
                name = f"e{len(self.started)}"
                self.waiting += [name] if self.started else [name, name]
                self.started.append(name)
        self._answer(name)

    def _answer(self, text: str) -> None:
        self.send_response(200)
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text.encode())

    def log_message(self, *_: object) -> None:
        """Say nothing."""


def test_a_task_that_is_handed_out_twice_ends_no_load_early(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(_HandingOutTwice, "started", [], raising=False)
    monkeypatch.setattr(_HandingOutTwice, "waiting", [], raising=False)
    server = ThreadingHTTPServer(("127.0.0.1", 0), _HandingOutTwice)
    serving = threading.Thread(target=server.serve_forever)
    serving.start()
    load = Load(
        port=server.server_port,
        workflow="w",
        task_type="t",
        executions=2,
        tasks=1,
        starters=1,
        pollers=1,
    )
    try:
        assert set(drive(load).reported) == {("e0", "t0"), ("e1", "t0")}
    finally:
        server.shutdown()
        server.server_close()
        serving.join()
