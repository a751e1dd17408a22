"""Admission: who gets a turn, who waits for one, and who is refused."""

from __future__ import annotations

import io
import threading
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import orjson
import pytest

from conductor_py.adapters.memory.space import MemorySpace
from conductor_py.adapters.memory.wakeups import MemoryWakeups
from conductor_py.api import create_app
from conductor_py.api.admission import Admission, RestingWakeups
from conductor_py.api.errors import UNANSWERED
from conductor_py.api.gate import admitted
from conductor_py.api.held import Held
from conductor_py.api.metrics import Metrics
from conductor_py.api.unread import MOST
from conductor_py.errors import StoreUnavailable
from tests.api.fake_engine import FakeEngine
from tests.waiting import PATIENCE_S, until

_FOREVER_S = PATIENCE_S


def _admission(**changed: Any) -> Admission:
    given: dict[str, Any] = {"threads": 8, "working": 2, "resting": 4, "wait_s": _FOREVER_S}
    return Admission(**(given | changed))


def _noting(seen: list[Any]) -> Any:
    """What an application begins its answer with."""

    def start_response(*said: Any) -> None:
        seen.extend(said)

    return start_response


_AWAY = "503 AWAY"


class _Door:
    """Requests that stay in the application until they are let out."""

    def __init__(
        self, admission: Admission, statuses: Iterable[str] = (), **given: Callable[..., Held]
    ) -> None:
        self.admission = admission
        self.inside: list[str] = []
        self.answers: dict[str, tuple[str, dict[str, str], bytes]] = {}
        self._open: dict[str, threading.Event] = {}
        self._threads: list[threading.Thread] = []
        self._statuses: Iterator[str] = iter(statuses)
        self._served = admitted(self._application, admission, instance="here", **given)

    def _application(self, environ: Any, start_response: Any) -> list[bytes]:
        name = environ["QUERY_STRING"]
        self.inside.append(name)
        assert self._open[name].wait(_FOREVER_S)
        status = next(self._statuses, "200 OK")
        environ[UNANSWERED] = status == _AWAY
        start_response(status, [])
        return [environ["wsgi.input"].read()]

    def ask(self, name: str, path: str = "/api/workflow", body: Any = b"", **more: str) -> None:
        """Send a request from a thread of its own."""
        self._open[name] = threading.Event()
        thread = threading.Thread(target=self._ask, args=(name, path, body, more))
        self._threads.append(thread)
        thread.start()

    def _ask(self, name: str, path: str, body: Any, more: dict[str, str]) -> None:
        seen: list[Any] = []
        environ = {"PATH_INFO": path, "QUERY_STRING": name, "REQUEST_METHOD": "POST", **more}
        stream = body
        if isinstance(body, bytes):
            stream = io.BytesIO(body)
            environ.setdefault("CONTENT_LENGTH", str(len(body)))
        environ["wsgi.input"] = stream
        answer = self._served(environ, _noting(seen))
        content = b"".join(answer)
        getattr(answer, "close", lambda: None)()
        self.answers[name] = (seen[0], dict(seen[1]), content)

    def awaits(self, **counts: int) -> None:
        """Wait until the counts are these."""

        def so() -> bool:
            now = self.admission.counts()
            return all(now[name] == count for name, count in counts.items())

        until(so, what=str(counts))

    def let_out(self, *names: str) -> None:
        for name in names:
            self._open[name].set()

    def close(self) -> None:
        self.let_out(*self._open)
        for thread in self._threads:
            thread.join(_FOREVER_S)
            assert not thread.is_alive()


Make = Callable[..., _Door]


@pytest.fixture
def door() -> Iterator[Make]:
    made: list[_Door] = []

    def make(statuses: Iterable[str] = (), **changed: Any) -> _Door:
        given = {"held": changed.pop("held")} if "held" in changed else {}
        made.append(_Door(_admission(**changed), statuses, **given))
        return made[-1]

    yield make
    for each in made:
        each.close()
        counts = dict(each.admission.counts())
        counts.pop("refused")
        assert set(counts.values()) == {0}


def _refusal(answer: tuple[str, dict[str, str], bytes]) -> str:
    status, headers, content = answer
    assert status.startswith("503")
    assert int(headers["Retry-After"]) >= 1
    body = orjson.loads(content)
    assert (body["status"], body["retryable"], body["instance"]) == (503, True, "here")
    return str(body["code"])


def test_as_many_work_at_once_as_may_and_the_next_goes_on_when_one_is_done(door: Make) -> None:
    at = door()
    for number, name in enumerate("abc", 1):
        at.ask(name)
        at.awaits(working=min(number, 2), waiting=max(number - 2, 0))
    until(lambda: sorted(at.inside) == ["a", "b"], what="the first two")
    at.let_out("a")
    until(lambda: "c" in at.inside, what="the turn of the third")
    assert at.admission.counts()["refused"] == 0


def test_turn_that_does_not_come_in_time_is_refused_and_nothing_has_happened(door: Make) -> None:
    at = door(working=1, wait_s=0.01)
    at.ask("a")
    at.awaits(working=1)
    at.ask("b", body=b"kept")
    until(lambda: "b" in at.answers, what="the refusal")
    assert _refusal(at.answers["b"]) == "OVERLOADED"
    until(lambda: at.inside == ["a"], what="the first alone")
    assert "Connection" not in at.answers["b"][1], "its body was read: the connection goes on"


def test_more_than_there_are_threads_for_are_refused_at_once(door: Make) -> None:
    at = door(threads=3, working=1)
    for name in "abc":
        at.ask(name)
    at.awaits(**{"in": 3})
    at.ask("d")
    until(lambda: "d" in at.answers, what="the refusal")
    assert _refusal(at.answers["d"]) == "OVERLOADED"
    assert at.answers["d"][1]["Connection"] == "close"
    assert at.admission.counts()["refused"] == 1


def test_health_is_answered_whatever_is_going_on(door: Make) -> None:
    at = door(threads=1, working=1)
    at.ask("a")
    at.awaits(working=1)
    at.ask("health", path="/health")
    at.let_out("health")
    until(lambda: "health" in at.answers, what="an answer")
    assert at.answers["health"][0] == "200 OK"


def test_polls_leave_threads_to_results(door: Make) -> None:
    at = door(threads=4, working=1)
    for name in ("p1", "p2", "p3"):
        at.ask(name, path="/api/tasks/poll/batch/x")
    at.awaits(working=1, waiting=2)
    at.ask("p4", path="/api/tasks/poll/batch/x")
    until(lambda: "p4" in at.answers, what="the refusal")
    assert _refusal(at.answers["p4"]) == "OVERLOADED"
    at.ask("result", path="/api/tasks")
    at.awaits(working=1, waiting=3)
    first = until(lambda: at.inside[:], what="the first")[0]
    at.let_out(first)
    until(lambda: "result" in at.inside, what="the result")
    assert at.inside == [first, "result"], "it goes before the polls that came before it"


def test_poll_has_every_fourth_turn(door: Make) -> None:
    at = door(threads=16, working=1)
    at.ask("r0")
    until(lambda: at.inside == ["r0"], what="the first")
    at.ask("p", path="/api/tasks/poll/x")
    at.awaits(waiting=1)
    for number in range(1, 6):
        at.ask(f"r{number}")
        at.awaits(waiting=1 + number)
    for number in range(4):
        at.let_out(at.inside[number])
        until(lambda: len(at.inside) == number + 2, what="the next")  # noqa: B023
    assert at.inside == ["r0", "r1", "r2", "r3", "p"]


class _Slow(io.BytesIO):
    """A body that its client sends when it likes."""

    def __init__(self, content: bytes) -> None:
        super().__init__(content)
        self.asked = threading.Event()
        self.sent = threading.Event()

    def read(self, size: int | None = -1) -> bytes:
        self.asked.set()
        assert self.sent.wait(_FOREVER_S)
        return super().read(size)


def test_slow_clients_have_no_turn_and_too_many_of_them_are_refused(door: Make) -> None:
    at = door(threads=4, working=1)
    slow = [_Slow(b"12345") for _ in range(3)]
    for number, body in enumerate(slow[:2]):
        at.ask(f"s{number}", body=body, CONTENT_LENGTH="5")
    at.awaits(**{"in": 0, "reading": 2})
    assert all(body.asked.wait(_FOREVER_S) for body in slow[:2])
    at.ask("s2", body=slow[2], CONTENT_LENGTH="5")
    until(lambda: "s2" in at.answers, what="the refusal")
    assert _refusal(at.answers["s2"]) == "OVERLOADED"
    at.ask("a")
    at.let_out("a", "s0", "s1")
    until(lambda: "a" in at.answers, what="an answer beside the slow")
    for body in slow:
        body.sent.set()
    until(lambda: {"s0", "s1"} <= at.answers.keys(), what="the slow")
    assert at.answers["s0"][2] == b"12345"


def test_body_that_ends_before_its_length_is_refused_whatever_its_beginning_says(
    door: Make,
) -> None:
    at = door()
    at.ask("a", body=b'{"a": 1}', CONTENT_LENGTH="9")
    until(lambda: "a" in at.answers, what="the refusal")
    status, headers, content = at.answers["a"]
    assert (status, headers["Connection"]) == ("400 BAD REQUEST", "close")
    assert orjson.loads(content)["message"] == "The body ended before its length."
    assert at.inside == []


def test_half_sent_body_of_a_question_about_health_is_not_waited_for(door: Make) -> None:
    at = door()
    for path in ("/health", "/api/health", "/actuator/health"):
        for length in ({"CONTENT_LENGTH": "10"}, {"HTTP_TRANSFER_ENCODING": "chunked"}):
            name = f"{path} {len(length)} {next(iter(length))}"
            at.ask(name, path, body=_Slow(b"{"), **length)
            at.let_out(name)
            until(lambda: name in at.answers, what=name)  # noqa: B023
            status, headers, content = at.answers[name]
            assert (status, headers["Connection"], content) == ("200 OK", "close", b"")


def test_bodies_are_bounded_by_the_bytes_that_they_announce(door: Make) -> None:
    at = door(reading=100)
    megabyte = {"CONTENT_LENGTH": str(1 << 20)}
    slow = [_Slow(b"x" * (1 << 20)) for _ in range(65)]
    for number, body in enumerate(slow[:64]):
        at.ask(f"s{number}", body=body, **megabyte)
    at.awaits(reading=64)
    at.ask("s64", body=slow[64], **megabyte)
    until(lambda: "s64" in at.answers, what="the refusal")
    assert _refusal(at.answers["s64"]) == "OVERLOADED"
    for body in slow:
        body.sent.set()
    at.let_out(*(f"s{number}" for number in range(64)))


def test_large_bodies_hold_no_turn_and_only_so_many_are_taken(door: Make) -> None:
    at = door(threads=4, working=1)
    large = {"CONTENT_LENGTH": str(2 << 20)}
    for name in ("l1", "l2", "l3"):
        at.ask(name, body=io.BytesIO(b"x"), **large)
        until(lambda: name in at.inside or name in at.answers, what=name)  # noqa: B023
    assert _refusal(at.answers["l3"]) == "OVERLOADED"
    at.awaits(working=0)
    at.let_out("l1")
    until(lambda: "l1" in at.answers, what="the first")
    at.ask("l4", body=io.BytesIO(b"x" * (2 << 20)), HTTP_TRANSFER_ENCODING="chunked")
    until(lambda: "l4" in at.inside, what="the fourth")
    at.awaits(working=0)
    at.let_out("l4")
    until(lambda: "l4" in at.answers, what="its answer")
    assert at.answers["l4"][2] == b"x" * (2 << 20), "all of it is read"


def test_small_bodies_in_chunks_have_turns_as_others_and_hold_no_place_of_large_ones(
    door: Make,
) -> None:
    at = door(threads=4, working=4)
    names = [f"c{number}" for number in range(4)]
    for name in names:
        at.ask(name, body=io.BytesIO(b"{}"), HTTP_TRANSFER_ENCODING="chunked")
    at.awaits(working=4)
    assert not at.admission.is_large_taken
    at.let_out(*names)
    until(lambda: len(at.answers) == 4, what="their answers")
    assert {answer[2] for answer in at.answers.values()} == {b"{}"}


def _hold(admission: Admission, size: int) -> None:
    """Have so much unread from now on."""
    admission.unread.seen(())
    admission.unread.given(size)


def _read_all(admission: Admission) -> None:
    """Two looks see nothing unread: one may come as an answer begins."""
    admission.unread.seen(())
    admission.unread.seen(())


_HELD = {"start": Held.LITTLE, "poll": Held.WORK, "read": Held.MUCH}


def _held(_: str, path: str) -> Held:
    return _HELD[path.rpartition("/")[2]]


def test_while_too_much_is_unread_starts_and_work_go_on_and_nothing_large_is_begun(
    door: Make,
) -> None:
    at = door(held=_held)
    _hold(at.admission, MOST + 1)
    at.ask("read", "/api/tasks/read")
    until(lambda: "read" in at.answers, what="the refusal")
    assert _refusal(at.answers["read"]) == "OVERLOADED"
    for name in ("start", "poll"):
        at.ask(name, f"/api/{name}")
        until(lambda: name in at.inside, what="its turn")  # noqa: B023 - asked at once
        at.let_out(name)
    _read_all(at.admission)
    at.ask("again", "/api/read")
    until(lambda: "again" in at.inside, what="the read, when there is room")


def test_twice_the_room_is_not_given_to_work_either_and_starts_go_on(door: Make) -> None:
    at = door(held=_held)
    _hold(at.admission, 2 * MOST + 1)
    at.ask("poll", "/api/poll")
    until(lambda: "poll" in at.answers, what="the refusal")
    assert _refusal(at.answers["poll"]) == "OVERLOADED"
    at.ask("start", "/api/start")
    until(lambda: "start" in at.inside, what="a start")


def test_hundred_reads_that_waited_for_their_turn_are_not_begun_when_the_room_is_gone(
    door: Make,
) -> None:
    at = door(working=1, held=_held)
    at.ask("first", "/api/read")
    at.awaits(working=1, waiting=0)
    at.ask("second", "/api/read")
    at.awaits(working=1, waiting=1)
    _hold(at.admission, MOST + 1)
    at.let_out("first")
    until(lambda: "second" in at.answers, what="the refusal")
    assert _refusal(at.answers["second"]) == "OVERLOADED"
    assert at.inside == ["first"]


def test_download_that_goes_out_piece_by_piece_holds_no_room_for_answers() -> None:
    admission = _admission()
    admission.unread.seen(())

    def application(_: Any, start_response: Any) -> list[bytes]:
        start_response("200 OK", [("Content-Length", str(2 * MOST))])
        return []

    served = admitted(application, admission, instance="here")
    served({"PATH_INFO": "/api/payloads/1", "REQUEST_METHOD": "GET"}, _noting([])).close()  # type: ignore[attr-defined]
    assert admission.unread.is_quiet


def test_sizes_of_answers_are_counted_as_the_application_tells_them() -> None:
    admission = _admission()
    admission.unread.seen(())

    def application(_: Any, start_response: Any) -> list[bytes]:
        start_response("200 OK", [("Content-Type", "text/plain"), ("Content-Length", "70000")])
        return [b"x" * 70_000]

    served = admitted(application, admission, instance="here")
    served({"PATH_INFO": "/api/workflow/1", "REQUEST_METHOD": "GET"}, _noting([]))
    assert not admission.unread.is_quiet


# -- rests -----------------------------------------------------------------------------------------


def test_who_waits_for_something_to_happen_has_no_turn_meanwhile() -> None:
    admission = _admission(working=1, wait_s=0.01)
    wakeups = RestingWakeups(MemoryWakeups(MemorySpace()), admission)
    rested: list[int] = []

    def work() -> None:
        assert admission.begin(poll=True)
        rested.append(wakeups.wait("q:x", _FOREVER_S, wakeups.ticket("q:x")))
        admission.end()

    thread = threading.Thread(target=work)
    thread.start()
    until(
        lambda: (admission.counts()["resting"], admission.counts()["working"]) == (1, 0),
        what="the rest",
    )
    assert admission.begin(poll=False), "its turn is free"
    wakeups.wake("q:x")
    until(lambda: admission.counts()["waiting"] == 1, what="it wants its turn back")
    assert rested == []
    admission.end()
    thread.join(_FOREVER_S)
    assert len(rested) == 1


def test_waits_without_a_turn_are_just_waits() -> None:
    admission = _admission()
    wakeups = RestingWakeups(MemoryWakeups(MemorySpace()), admission)
    wakeups.wait("q:x", 0.0, wakeups.ticket("q:x"))
    wakeups.wait_any({"q:x": wakeups.ticket("q:x")}, 0.0)
    assert admission.counts()["working"] == 0


def test_crowd_of_resting_calls_gets_polls_answered_at_once_and_refuses_those_that_must_wait() -> (
    None
):
    admission = _admission(resting=0)
    engine = FakeEngine()
    client = create_app(engine, instance="here", admission=admission).test_client()
    assert client.get("/api/tasks/poll/batch/x?timeout=5000").status_code == 200
    assert engine.tasks.polled[-1].timeout_ms == 0
    answer = client.post("/api/workflow/execute/w/1", json={})
    assert (answer.status_code, answer.get_json()["code"]) == (503, "OVERLOADED")
    assert answer.headers["Retry-After"]


def test_metrics_say_who_is_in_and_how_many_were_refused() -> None:
    admission = _admission(threads=1)
    assert admission.come_in(poll=False)
    assert not admission.come_in(poll=False)
    metrics = Metrics()
    metrics.show_requests(admission.counts)
    lines = metrics.write().decode().splitlines()
    assert 'conductor_http_requests_now{state="in"} 1.0' in lines
    assert "conductor_http_refused_total 1.0" in lines


# -- a store that is away --------------------------------------------------------------------------


def test_store_that_hangs_holds_two_and_the_rest_is_answered_at_once(door: Make) -> None:
    at = door(statuses=[_AWAY] * 3, working=2)
    for name in "abc":
        at.ask(name)
        at.let_out(name)
        until(lambda: name in at.answers, what=name)  # noqa: B023
    at.ask("d")
    at.ask("e")
    at.awaits(working=2)
    at.ask("f")
    until(lambda: "f" in at.answers, what="the refusal")
    assert _refusal(at.answers["f"]) == "STORE_UNAVAILABLE"
    at.let_out("d")
    until(lambda: "d" in at.answers, what="the probe")
    at.ask("g")
    until(lambda: "g" in at.inside, what="it is back")


def test_whatever_else_is_answered_with_503_does_not_count_as_a_store_that_is_away(
    door: Make,
) -> None:
    at = door(statuses=["503 BUSY"] * 5, working=2)
    for name in "abcde":
        at.ask(name)
        at.let_out(name)
        until(lambda: name in at.answers, what=name)  # noqa: B023
    assert not at.admission.is_away


def test_rest_ends_with_503_when_the_store_went_away_meanwhile() -> None:
    admission = _admission()
    assert admission.begin(poll=True)

    def went_away() -> None:
        for _ in range(3):
            admission.end(failed=True)

    with pytest.raises(StoreUnavailable):
        admission.rest(went_away)
    admission.end()
    assert admission.counts()["working"] == 0


def test_a_length_of_thousands_of_digits_is_that_of_a_large_body(door: Make) -> None:
    made = door()
    made.ask("huge", CONTENT_LENGTH="9" * 5_000)
    made.let_out("huge")
    made.close()
    assert made.answers["huge"][0] == "200 OK"
