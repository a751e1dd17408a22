"""Metrics under attack: one scrape at a time, and what cannot be read hides nothing else."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import pytest

from conductor_py.api import create_app
from conductor_py.api.metrics import Metrics
from conductor_py.api.scrapes import MOST_WAITING, Scrapes
from conductor_py.errors import Overloaded, StoreDamaged, StoreUnavailable
from tests.api.fake_engine import FakeEngine
from tests.waiting import PATIENCE_S, until


class _Slow:
    """Metrics that are written for as long as the test wants, or fail."""

    def __init__(self) -> None:
        self.begun = threading.Semaphore(0)
        self.may_end = threading.Semaphore(0)
        self.written = 0
        self.fails: Exception | None = None

    def write(self) -> bytes:
        self.begun.release()
        assert self.may_end.acquire(timeout=PATIENCE_S)
        if self.fails:
            raise self.fails
        self.written += 1
        return b"up %d\n" % self.written


@pytest.fixture
def slow() -> _Slow:
    return _Slow()


@contextmanager
def _under_way(
    slow: _Slow, ask: Callable[[], Any], scrapes: Scrapes, waiting: int
) -> Iterator[list[Future[Any]]]:
    """One scrape that goes on, and so many that wait for it."""
    with ThreadPoolExecutor(1 + waiting) as threads:
        asked = [threads.submit(ask)]
        assert slow.begun.acquire(timeout=PATIENCE_S)
        asked += [threads.submit(ask) for _ in range(waiting)]
        assert until(lambda: scrapes.waiting == waiting)
        try:
            yield asked
        finally:
            slow.may_end.release()


def test_who_asks_while_a_scrape_goes_on_is_given_its_text(slow: _Slow) -> None:
    scrapes = Scrapes(slow.write)
    with _under_way(slow, scrapes.text, scrapes, 3) as asked:
        pass
    assert [each.result() for each in asked] == [b"up 1\n"] * 4
    slow.may_end.release()
    assert scrapes.text() == b"up 2\n"


def test_a_scrape_that_fails_is_not_the_last(slow: _Slow) -> None:
    scrapes = Scrapes(slow.write)
    slow.fails = ValueError("damaged")
    with _under_way(slow, scrapes.text, scrapes, 1) as asked:
        pass
    assert [str(each.exception()) for each in asked] == ["damaged"] * 2
    slow.fails = None
    slow.may_end.release()
    assert scrapes.text() == b"up 1\n"


def test_a_scrape_that_never_ends_lets_those_go_who_wait(slow: _Slow) -> None:
    scrapes = Scrapes(slow.write, wait_s=0.0)
    with _under_way(slow, scrapes.text, scrapes, 0), pytest.raises(Overloaded):
        scrapes.text()
    assert scrapes.waiting == 0


def test_four_hundred_scrapes_at_once_hold_few_threads_and_no_health(
    slow: _Slow, engine: FakeEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[Scrapes] = []

    def kept(write: Callable[[], bytes]) -> Scrapes:
        made.append(Scrapes(write))
        return made[-1]

    monkeypatch.setattr("conductor_py.api.system.Scrapes", kept)
    application = create_app(engine, metrics=slow.write)

    def ask(path: str = "/actuator/prometheus") -> Any:
        return application.test_client().get(path)

    with _under_way(slow, ask, made[0], MOST_WAITING) as asked:
        # Were one of these to wait, it would wait for ever: it is this thread that lets go.
        refused = [ask() for _ in range(400 - 1 - MOST_WAITING)]
        health = ask("/health").status_code
    assert {answer.status_code for answer in refused} == {503}
    assert {answer.get_json()["code"] for answer in refused} == {"OVERLOADED"}
    assert health == 200
    assert [each.result().data for each in asked] == [b"up 1\n"] * (1 + MOST_WAITING)


# ------------------------------------------------------------------------- what cannot be read


def _raising(error: Exception) -> Callable[[], Any]:
    def read() -> Any:
        raise error

    return read


_AUDIT = {"runs": 3, "ended_ms": 5_000, "I1": 2}
_PARTS: dict[str, tuple[Callable[[], Any], str]] = {
    "queues": (lambda: {"t": 1}, 'conductor_queue_depth{queue="t"} 1.0'),
    "schedules": (lambda: {"late": 1}, 'conductor_schedules{state="late"} 1.0'),
    "events": (lambda: {"DEAD": 1}, 'conductor_event_actions_total{outcome="DEAD"} 1.0'),
    "audit": (lambda: _AUDIT, 'conductor_audit_violations{invariant="I1"} 2.0'),
    "quarantine": (lambda: 4, "conductor_quarantined_executions 4.0"),
    "damaged": (lambda: 5, "conductor_damaged_entries 5.0"),
    "requests": (lambda: {"in": 1, "refused": 0}, 'conductor_http_requests_now{state="in"} 1.0'),
}
_DAMAGES: dict[str, Callable[[], Any]] = {
    "away": _raising(StoreUnavailable("Redis does not answer")),
    "damaged": _raising(StoreDamaged("what is stored cannot be read")),
    "no form": _raising(ValueError("invalid literal")),
    "no mapping": lambda: ["a"],
    "no numbers": lambda: {"I1": "many", "runs": "x", "ended_ms": 1, "refused": None, "late": {}},
    "too large": lambda: {"I1": 10**400, "runs": 10**400, "ended_ms": 1, "refused": 10**400},
}


def _metrics(**parts: Callable[[], Any]) -> Metrics:
    found = {name: read for name, (read, _) in _PARTS.items()} | parts
    metrics = Metrics()
    metrics.show_queues(found["queues"])
    metrics.show_schedules(found["schedules"])
    metrics.show_events(found["events"])
    metrics.show_requests(found["requests"])
    metrics.show_oversight(found["audit"], found["quarantine"], found["damaged"])
    return metrics


@pytest.mark.parametrize("damage", _DAMAGES)
@pytest.mark.parametrize("part", _PARTS)
def test_a_part_that_cannot_be_read_hides_no_other_and_is_counted(part: str, damage: str) -> None:
    metrics = _metrics(**{part: _DAMAGES[damage]})
    shown = metrics.write().decode().splitlines()
    lines = {name: line for name, (_, line) in _PARTS.items()}
    missing = lines.pop(part)
    assert missing not in shown
    assert [line for line in lines.values() if line not in shown] == []
    assert [line for line in shown if line.startswith("conductor_scrape_failures_total")] == [
        f'conductor_scrape_failures_total{{part="{part}"}} 1.0'
    ]


def test_damage_is_logged_once_until_it_is_mended(caplog: pytest.LogCaptureFixture) -> None:
    sizes: list[Callable[[], Any]] = [_DAMAGES["damaged"]]

    def read_last() -> Any:
        return sizes[-1]()

    metrics = _metrics(queues=read_last)
    for read in (_DAMAGES["damaged"], _DAMAGES["damaged"], dict, _DAMAGES["damaged"]):
        sizes.append(read)
        metrics.write()
    told = [each for each in caplog.records if getattr(each, "action", "") == "scrape_failed"]
    assert [(each.levelno, getattr(each, "part", "")) for each in told] == [
        (logging.WARNING, "queues")
    ] * 2
