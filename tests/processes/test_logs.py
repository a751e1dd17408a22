"""Logs of a process."""

import json
import logging
from collections.abc import Iterator
from typing import Literal

import pytest

from conductor_py.config.server import Log
from conductor_py.processes.logs import configure_logs


@pytest.fixture(autouse=True)
def _root_restored() -> Iterator[None]:
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield
    root.handlers[:] = handlers
    root.setLevel(level)


def test_a_line_shows_the_facts(capsys: pytest.CaptureFixture[str]) -> None:
    configure_logs(Log())

    logging.getLogger("some.where").info("A thing happened.", extra={"action": "thing", "n": 3})

    line = capsys.readouterr().err
    assert line.endswith("INFO    A thing happened. action=thing n=3\n")


def test_json_is_one_object_a_record_with_its_traceback(
    capsys: pytest.CaptureFixture[str],
) -> None:
    configure_logs(Log(format="json"))

    try:
        _ = 1 / 0
    except ZeroDivisionError:
        logging.getLogger("some.where").exception("It failed.", extra={"action": "failed"})

    shown = json.loads(capsys.readouterr().err)
    assert shown["message"] == "It failed."
    assert (shown["level"], shown["logger"], shown["action"]) == ("ERROR", "some.where", "failed")
    assert "ZeroDivisionError" in shown["exception"]


def test_what_is_below_the_level_is_left_out(capsys: pytest.CaptureFixture[str]) -> None:
    configure_logs(Log(level="WARNING"))

    logging.getLogger("some.where").info("A thing happened.")
    logging.getLogger("some.where").warning("Look.")

    assert [line[-5:] for line in capsys.readouterr().err.splitlines()] == ["Look."]


_Format = Literal["text", "json"]
_HOSTILE = {
    "a line of its own": "x\n2026-01-01T00:00:00.000+00:00 ERROR   forged",
    "a carriage return": "x\r2026 forged",
    "colours and titles of a terminal": "\x1b[2J\x1b]0;forged\x07",
    "a control character of eight bits": "\x9b2J\x85",
    "ends of lines of Unicode": "x\u2028forged\u2029",
    "a turn of direction": "\u202egnp.exe\u2066",
    "a half of a character": "\ud800",
    "delete and null": "\x7f\x00",
}


@pytest.mark.parametrize("format_", ["text", "json"])
@pytest.mark.parametrize("said", _HOSTILE.values(), ids=_HOSTILE)
def test_text_in_a_fact_ends_no_line_and_moves_no_terminal(
    capsys: pytest.CaptureFixture[str], format_: _Format, said: str
) -> None:
    configure_logs(Log(format=format_))
    logging.getLogger("a").warning(
        "A start is refused %s", said, extra={"action": "x", "correlation_id": said, "many": [said]}
    )
    printed = capsys.readouterr().err
    assert printed.endswith("\n")
    line = printed[:-1]
    assert len(line.splitlines()) == 1
    assert all(char.isprintable() for char in line), line
    if format_ == "json":
        assert json.loads(line)["correlation_id"] == said


@pytest.mark.parametrize("format_", ["text", "json"])
def test_text_in_an_error_forges_no_record(
    capsys: pytest.CaptureFixture[str], format_: _Format
) -> None:
    configure_logs(Log(format=format_))
    try:
        raise ValueError(_HOSTILE["a line of its own"] + "\x1b[2J")
    except ValueError:
        logging.getLogger("a").exception("A start failed")
    first, *trace = capsys.readouterr().err.splitlines()
    assert "A start failed" in first
    assert all(line.startswith("    ") and line.isprintable() for line in trace)
    assert bool(trace) == (format_ == "text")


def test_text_in_a_fact_is_no_other_fact(capsys: pytest.CaptureFixture[str]) -> None:
    configure_logs(Log())
    logging.getLogger("a").warning("Refused.", extra={"task": 'x action=removed "'})
    assert capsys.readouterr().err.endswith('Refused. task="x action=removed \\""\n')
