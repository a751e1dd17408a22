"""How a Spark task ends: with an output, with a failure worth a retry, or with one that is not.

What the user wrote wrongly (a key, a statement, a function's name) fails the same way each time and
ends the task for good. What happened on the way (an executor lost, a disk full, bad data under a
strict cast) may pass.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from enum import Enum

from conductor_py.errors import InvalidInput
from conductor_py.model.json import JsonObject
from conductor_py.records import dataclass
from conductor_workers.attempt import Attempt, AttemptEnded
from conductor_workers.destination import DestinationRefused
from conductor_workers.manifest import UnknownFormat
from conductor_workers.paths import PathRefused
from conductor_workers.pipelines.beginning import JobChanged

_REASON_LENGTH = 500
_PYTHON_STACK = "Traceback (most recent call last):"
#: The line below a stack that tells what was raised: its class, with its module, and what it says.
_RAISED = re.compile(r"^(?:\w+\.)*(?=\w+(?:: |$))", re.MULTILINE)
_SQLSTATE = re.compile(r"SQLSTATE: \w{5}")
_OUTPUT_BYTES = 512 * 1024


class Status(Enum):
    """The task statuses that a worker may report as an end."""

    COMPLETED = "COMPLETED"
    FAILED = "FAILED"
    FAILED_WITH_TERMINAL_ERROR = "FAILED_WITH_TERMINAL_ERROR"


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """The end of an attempt; ``reason`` of a success says what it has left out, if anything."""

    status: Status
    output: JsonObject
    reason: str = ""


class PartlyDone(Exception):
    """The task failed, and what it did until then counts; a retry goes on from there."""

    def __init__(self, reason: str, output: JsonObject) -> None:
        """Say why, and what was done."""
        super().__init__(reason)
        self.output = output


class TaskRefused(Exception):
    """The task can never work as it is; the message says why."""


def settle(attempt: Attempt, work: Callable[[], JsonObject | Outcome]) -> Outcome | None:
    """Do the work and say how it ended; None when there is nobody left to report to. What it
    returns is the output of a success, or tells itself.
    """
    from py4j.protocol import Py4JError
    from pyspark.errors import AnalysisException, ParseException, PySparkException

    try:
        done = work()
        if not isinstance(done, Outcome):
            done = Outcome(status=Status.COMPLETED, output=done)
        return _bounded(done)
    except InvalidInput as error:
        return _failure(Status.FAILED_WITH_TERMINAL_ERROR, error.message)
    except (TaskRefused, DestinationRefused, JobChanged, PathRefused, UnknownFormat) as error:
        return _failure(Status.FAILED_WITH_TERMINAL_ERROR, str(error))
    except PartlyDone as error:
        return Outcome(status=Status.FAILED, output=error.output, reason=shortened(str(error)))
    except AttemptEnded as error:
        # Said all the same when the engine did not tell us so: it knows which claim counts.
        return None if attempt.cancelled.is_set() else _failure(Status.FAILED, str(error))
    except (AnalysisException, ParseException) as error:
        return _failure(Status.FAILED_WITH_TERMINAL_ERROR, shortened(str(error)))
    except (PySparkException, Py4JError, OSError) as error:
        if attempt.cancelled.is_set():
            return None
        return _failure(Status.FAILED, shortened(str(error)))


def shortened(message: str) -> str:
    """Return Spark's own sentence without the plan, the stack and the SQL state that follow it; of
    what was raised in Python in a task, what it said.
    """
    tail = _SQLSTATE.search(message)
    sentence = message[: tail.start() if tail else None].strip()
    if _PYTHON_STACK in sentence:
        stack = sentence.rpartition(_PYTHON_STACK)[2]
        raised = _RAISED.search(stack)
        sentence = sentence if raised is None else stack[raised.end() :]
    for mark in ("\nDriver stacktrace:", "\n== SQL", "\n\tat ", ";\n'"):
        sentence = sentence.partition(mark)[0]
    sentence = " ".join(sentence.split())
    if len(sentence) > _REASON_LENGTH:
        sentence = sentence[: _REASON_LENGTH - 1] + "…"
    return sentence or "Spark gave no reason."


def _bounded(outcome: Outcome) -> Outcome:
    size = len(json.dumps(outcome.output).encode())
    if size > _OUTPUT_BYTES:
        return _failure(
            Status.FAILED_WITH_TERMINAL_ERROR,
            f"The output has {size} bytes; a Spark task may answer {_OUTPUT_BYTES}. "
            "Write the data with 'output' instead.",
        )
    return outcome


def _failure(status: Status, reason: str) -> Outcome:
    return Outcome(status=status, output={}, reason=reason)
