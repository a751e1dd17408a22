"""A cause that lasts does not fill the log."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import pytest

from conductor_py.config.server import Log
from conductor_py.processes.logs import configure_logs
from conductor_py.processes.repeated_lines import RepeatedLines


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
