"""What an error of a round means for its splits and for its pipeline."""

from __future__ import annotations

import re
from collections.abc import Mapping
from enum import Enum
from typing import TYPE_CHECKING, Final

from py4j.protocol import Py4JJavaError, Py4JNetworkError
from pyspark.errors import AnalysisException, PySparkException

from conductor_py.errors import ConductorError
from conductor_py.records import dataclass
from conductor_workers.driver import has_ended
from conductor_workers.pipelines.badrows import BadRowsRefused
from conductor_workers.pipelines.connectors import WORTH_A_TRY, SinkProblem, SourceProblem
from conductor_workers.pipelines.faults import InjectedFault
from conductor_workers.pipelines.storage import AlreadyThere, ObjectLost
from conductor_workers.pipelines.store import EpochConflict
from conductor_workers.pipelines.streams import QueryEnded
from conductor_workers.pipelines.transforms import TransformRefused
from conductor_workers.tasks.outcome import shortened

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

#: What jobs fail with when their context is being stopped, a moment before it says so itself.
_ENDING: Final = re.compile(
    r"SparkContext was shut down|stopped SparkContext|Master removed our application"
    r"|All masters are unresponsive|Yarn application has already"
)
_IN_TASK: Final = re.compile(
    r"\b(?:SourceProblem|SinkProblem|StagedLost): (?P<sentence>[^\n]+)"
    rf"(?:\n(?P<code>[A-Z_]+)(?P<again>{WORTH_A_TRY})?$)?",
    re.MULTILINE,
)
_LOST: Final = re.compile(r"\bObjectLost: (?P<sentence>[^\n]+)")
_AWAY: Final = re.compile(r"\bStoreAway: (?P<sentence>[^\n]+)")


class SessionLost(Exception):
    """The Spark session has ended, and with it this attempt: another one goes on."""


class Verdict(Enum):
    """What follows."""

    BLAME = "blame"
    """The splits of the round may be the cause: they are tried again, in smaller rounds."""
    AGAIN = "again"
    """Something around may be the cause: the pipeline is restored after a pause."""
    FAIL = "fail"
    """It would be the same every time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Trouble:
    """An error, as it is told: a code and one sentence."""

    verdict: Verdict
    code: str
    sentence: str


_KNOWN: Final[Mapping[type[Exception], tuple[Verdict, str]]] = {
    BadRowsRefused: (Verdict.FAIL, "BAD_ROWS"),
    TransformRefused: (Verdict.FAIL, "TRANSFORM_REFUSED"),
    ObjectLost: (Verdict.FAIL, "NEEDS_OPERATOR"),
    AnalysisException: (Verdict.FAIL, "TRANSFORM_REFUSED"),
    Py4JNetworkError: (Verdict.AGAIN, "WORKER_TROUBLE"),
    OSError: (Verdict.AGAIN, "WORKER_TROUBLE"),
    InjectedFault: (Verdict.AGAIN, "WORKER_TROUBLE"),
    QueryEnded: (Verdict.AGAIN, "WORKER_TROUBLE"),
    EpochConflict: (Verdict.AGAIN, "WORKER_TROUBLE"),
    AlreadyThere: (Verdict.AGAIN, "WORKER_TROUBLE"),
}


def session_lost(spark: SparkSession, error: Exception) -> bool:
    """Say whether an error is the end of the session: it says nothing about splits or pipelines."""
    return _ENDING.search(str(error)) is not None or has_ended(spark.sparkContext)


def trouble(error: Exception) -> Trouble:
    """Judge an error."""
    if isinstance(error, SourceProblem | SinkProblem):
        verdict = Verdict.AGAIN if error.retryable else Verdict.FAIL
        return Trouble(verdict=verdict, code=error.code, sentence=str(error))
    for kind, (verdict, code) in _KNOWN.items():
        if isinstance(error, kind):
            return Trouble(verdict=verdict, code=code, sentence=shortened(str(error)))
    if isinstance(error, PySparkException | Py4JJavaError):
        return _of_a_task(str(error))
    if isinstance(error, ConductorError):
        return Trouble(verdict=Verdict.FAIL, code=error.code, sentence=error.message)
    sentence = f"{type(error).__name__}: {error}"
    return Trouble(verdict=Verdict.FAIL, code="INTERNAL", sentence=sentence)


def _of_a_task(text: str) -> Trouble:
    if told := _IN_TASK.search(text):
        verdict = Verdict.AGAIN if told["again"] else Verdict.FAIL
        code = told["code"] or "SOURCE_CHANGED"
        return Trouble(verdict=verdict, code=code, sentence=told["sentence"])
    if told := _LOST.search(text):
        return Trouble(verdict=Verdict.FAIL, code="NEEDS_OPERATOR", sentence=told["sentence"])
    if told := _AWAY.search(text):
        return Trouble(verdict=Verdict.AGAIN, code="WORKER_TROUBLE", sentence=told["sentence"])
    return Trouble(verdict=Verdict.BLAME, code="ROUND_FAILED", sentence=shortened(text))
