"""A driver that can be asked no more: how it is known, and what its last errors mean."""

from __future__ import annotations

from typing import Any

import pytest
from py4j.protocol import Py4JError, Py4JNetworkError
from pyspark.errors import PySparkException

from conductor_workers.driver import has_ended
from conductor_workers.pipelines.trouble import Verdict, session_lost, trouble


class _Context:
    """A SparkContext whose JVM answers so, or raises so."""

    def __init__(self, answer: bool | Exception) -> None:
        self._answer = answer
        self._jsc: Any = self
        self.sparkContext = self

    def sc(self) -> _Context:
        return self

    def isStopped(self) -> bool:  # noqa: N802 - Spark's name
        if isinstance(self._answer, Exception):
            raise self._answer
        return self._answer


def _context(answer: bool | Exception) -> Any:
    return _Context(answer)


@pytest.mark.parametrize(
    "silence", [Py4JError("no answer"), Py4JNetworkError("reset"), ConnectionRefusedError(111)]
)
def test_a_driver_without_an_answer_has_ended(silence: Exception) -> None:
    assert has_ended(_context(silence))


def test_a_driver_whose_context_was_stopped_has_ended() -> None:
    assert has_ended(_context(answer=True))
    assert not has_ended(_context(answer=False))


def test_a_session_that_pyspark_has_forgotten_has_ended() -> None:
    context = _context(answer=False)
    context._jsc = None
    assert has_ended(context)


@pytest.mark.parametrize(
    "text",
    [
        "Job 3 cancelled because SparkContext was shut down",
        "Job aborted due to stage failure: Master removed our application: KILLED",
        "Job aborted due to stage failure: All masters are unresponsive! Giving up.",
        "Cannot call methods on a stopped SparkContext.",
    ],
)
def test_what_jobs_fail_with_while_their_context_stops_blames_nobody(text: str) -> None:
    assert session_lost(_context(answer=False), PySparkException(text))


def test_the_failure_of_a_task_is_not_the_end_of_the_session() -> None:
    error = PySparkException("Job aborted due to stage failure: Python worker exited unexpectedly")
    assert not session_lost(_context(answer=False), error)
    assert trouble(error).verdict is Verdict.BLAME
