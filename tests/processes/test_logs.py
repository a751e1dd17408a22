"""Logs of a process."""

import json
import logging
from collections.abc import Iterator

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
