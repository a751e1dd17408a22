"""A cause that lasts does not fill the log."""

from __future__ import annotations

import io
import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from conductor_py.config.server import Log
from conductor_py.processes.logs import configure_logs
from conductor_py.processes.repeated_lines import RepeatedLines, SparingHandler
from tests.waiting import PATIENCE_S


@pytest.fixture(autouse=True)
def root() -> Iterator[logging.Logger]:
    found = logging.getLogger()
    handlers, level = found.handlers[:], found.level
    yield found
    found.handlers[:] = handlers
    found.setLevel(level)


def test_the_same_line_comes_once_with_how_many_were_left_out() -> None:
    now = [0.0]
    lines = RepeatedLines(lambda record: {"reason": "away"}, monotonic=lambda: now[0])

    def told() -> int | None:
        record = logging.makeLogRecord(
            {"name": "conductor_py.x", "levelno": logging.WARNING, "msg": "It comes again"}
        )
        return getattr(record, "left_out", 0) if lines.filter(record) else None

    assert [told() for _ in range(6)] == [0, None, None, None, None, None]
    now[0] = 31.0
    assert [told(), told()] == [5, None]


def test_lines_with_other_facts_are_all_shown(capsys: pytest.CaptureFixture[str]) -> None:
    configure_logs(Log())
    for number in range(5):
        logging.getLogger("conductor_py.x").error("It failed", extra={"execution": number % 4})
    assert len(capsys.readouterr().err.splitlines()) == 4


def test_what_goes_well_is_never_held_back(capsys: pytest.CaptureFixture[str]) -> None:
    configure_logs(Log())
    for _ in range(5):
        logging.getLogger("conductor_py.x").info("It went well")
    assert len(capsys.readouterr().err.splitlines()) == 5


def test_a_library_repeats_its_sentence_and_counts(capsys: pytest.CaptureFixture[str]) -> None:
    configure_logs(Log())
    log = logging.getLogger("elastic_transport.node_pool")
    for times in range(5):
        log.warning("Node %s has failed for %d times", "one", times)
    (line,) = capsys.readouterr().err.splitlines()
    assert line.endswith("Node one has failed for 0 times")


def test_a_librarys_warning_has_its_error_and_no_traceback(
    capsys: pytest.CaptureFixture[str],
) -> None:
    configure_logs(Log())
    try:
        raise ConnectionRefusedError("nobody listens")
    except ConnectionRefusedError as error:
        logging.getLogger("elastic_transport").warning("Retrying", exc_info=error)
    (line,) = capsys.readouterr().err.splitlines()
    assert line.endswith("Retrying error=ConnectionRefusedError: nobody listens")


def test_the_same_failure_with_its_traceback_comes_once(
    capsys: pytest.CaptureFixture[str],
) -> None:
    configure_logs(Log())
    for _ in range(3):
        try:
            raise ValueError("no number")
        except ValueError:
            logging.getLogger("conductor_py.x").exception("A tick failed")
    assert capsys.readouterr().err.count("A tick failed") == 1


@pytest.mark.parametrize(
    ("sentence", "arguments", "shown"),
    [({"a": 1}, (), "{'a': 1}"), ("a %d", ("x",), "a %d"), (["no", "text"], (), "['no', 'text']")],
)
@pytest.mark.parametrize("name", ["acme", "urllib3.pool", "conductor_py.x"])
def test_what_cannot_be_compared_is_shown_and_raises_nothing(
    capsys: pytest.CaptureFixture[str],
    sentence: object,
    arguments: tuple[object, ...],
    shown: str,
    *,
    name: str,
) -> None:
    configure_logs(Log())
    logging.getLogger(name).warning(sentence, *arguments)
    assert shown in capsys.readouterr().err


def test_facts_that_cannot_be_written_raise_nothing() -> None:
    class Odd:
        def __repr__(self) -> str:
            raise LookupError

    lines = RepeatedLines(lambda record: {"odd": Odd()})
    record = logging.makeLogRecord({"name": "acme", "levelno": logging.ERROR, "msg": "It failed"})
    assert [lines.filter(record) for _ in range(2)] == [True, True]


@pytest.mark.parametrize("name", ["acme", "conductor_tasks"])
def test_a_programs_own_lines_with_other_words_are_all_shown(
    capsys: pytest.CaptureFixture[str], name: str
) -> None:
    configure_logs(Log())
    log = logging.getLogger(name)
    for number in range(3):
        log.error("order %s failed", number)
        log.error("order %s failed", number)
        try:
            raise ValueError(f"no number: {number}")
        except ValueError:
            log.exception("boom")
    told = capsys.readouterr().err
    assert told.count("ERROR   order ") == 3
    assert told.count("Traceback") == told.count("ERROR   boom") == 3


def test_a_programs_own_warning_keeps_its_traceback(capsys: pytest.CaptureFixture[str]) -> None:
    configure_logs(Log())
    try:
        raise ValueError("no number")
    except ValueError:
        logging.getLogger("acme").warning("It was odd", exc_info=True)
    assert "Traceback" in capsys.readouterr().err


class Written:
    """A log whose time is set by hand."""

    def __init__(self) -> None:
        self.now = 0.0
        self._stream = io.StringIO()
        lines = RepeatedLines(_left_out, monotonic=lambda: self.now)
        self.handler = SparingHandler(self._stream, lines)
        self.handler.setFormatter(_Sentence())

    def says(self, sentence: str, level: int = logging.WARNING) -> None:
        known = {"name": "acme", "levelno": level, "msg": sentence, "created": self.now}
        self.handler.handle(logging.makeLogRecord(known))

    def lines(self) -> list[str]:
        return self._stream.getvalue().splitlines()


def _left_out(record: logging.LogRecord) -> dict[str, object]:
    return {"left_out": getattr(record, "left_out", 0)}


class _Sentence(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        return f"{record.created:.0f} {record.getMessage()} {_left_out(record)['left_out']}"


def test_the_end_of_a_burst_is_shown_with_the_next_line_of_any_kind() -> None:
    log = Written()
    for log.now in (0.0, 1.0, 2.0, 3.0):
        log.says("away")
    log.now = 29.0
    log.says("all is well", logging.INFO)
    assert log.lines() == ["0 away 0", "29 all is well 0"]
    log.now = 31.0
    log.says("all is well", logging.INFO)
    assert log.lines()[2:] == ["3 away 2", "31 all is well 0"]
    log.now = 90.0
    log.says("all is well", logging.INFO)
    assert log.lines()[4:] == ["90 all is well 0"]


def test_what_goes_on_is_shown_once_in_its_time_whatever_stands_between() -> None:
    log = Written()
    for second in range(91):
        log.now = float(second)
        log.says("well", logging.INFO)
        log.says("away")
    assert [line for line in log.lines() if "away" in line] == [
        "0 away 0",
        "29 away 28",
        "59 away 29",
        "89 away 29",
    ]


@contextmanager
def _sparing(name: str, shown: io.StringIO) -> Iterator[logging.Logger]:
    log = logging.getLogger(name)
    handler = SparingHandler(shown, RepeatedLines(lambda _: {}, monotonic=lambda: 0.0))
    log.addHandler(handler)
    yield log
    log.removeHandler(handler)


def test_an_argument_that_logs_while_it_is_written_stops_nobody(
    capsys: pytest.CaptureFixture[str],
) -> None:
    configure_logs(Log())
    log = logging.getLogger("conductor_py.x")

    class Talking:
        def __str__(self) -> str:
            log.warning("I am written")
            return "it"

    def say() -> None:
        for _ in range(3):
            log.warning("This is %s", Talking())

    talker = threading.Thread(target=say, daemon=True)
    talker.start()
    talker.join(PATIENCE_S)
    assert not talker.is_alive()
    assert "This is it" in capsys.readouterr().err


def test_what_is_forgotten_for_want_of_room_is_shown() -> None:
    shown = io.StringIO()
    with _sparing("conductor_py.x", shown) as log:
        for word in ("said", "said", "said", *map(str, range(1_001))):
            log.warning(word)
    assert shown.getvalue().split().count("said") == 2


def test_of_a_librarys_lines_the_last_words_are_kept() -> None:
    shown = io.StringIO()
    with _sparing("urllib3.x", shown) as log:
        for number in range(3):
            log.warning("try %d", number)
        log.handlers[0].close()
    assert shown.getvalue().split() == ["try", "0", "try", "2"]


def test_the_end_of_a_process_shows_what_was_held_back() -> None:
    log = Written()
    for log.now in (0.0, 1.0, 2.0):
        log.says("away")
        log.says("gone")
    log.handler.close()
    assert log.lines() == ["0 away 0", "0 gone 0", "2 away 1", "2 gone 1"]


def test_what_is_held_back_holds_no_traceback(capsys: pytest.CaptureFixture[str]) -> None:
    configure_logs(Log())
    for _ in range(3):
        try:
            raise ValueError("no number")
        except ValueError:
            logging.getLogger("acme").exception("It failed")
    capsys.readouterr()
    (handler,) = logging.getLogger().handlers
    handler.close()
    told = capsys.readouterr().err
    assert told.endswith("It failed error=ValueError: no number left_out=1\n")
    assert len(told.splitlines()) == 1
