"""What an operator reads of how a task ended, and of what Spark says."""

import pytest

from conductor_py.model.json import JsonObject
from conductor_py.pipelines.record import PipelineState
from conductor_workers.pipelines.job import JobResult
from conductor_workers.tasks.outcome import Outcome, Status, settle, shortened
from tests.workers.attempts import FakeAttempt

_IN_PYTHON = """An exception was thrown from the Python worker: Traceback (most recent call last):
  File "/lib/object_writer.py", line 52, in __call__
    begun = self._written(folder, table, number)
            ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
botocore.exceptions.NoCredentialsError: Unable to locate credentials

The above exception was the direct cause of the following exception:

Traceback (most recent call last):
  File "/lib/s3.py", line 304, in _answered
    raise StoreAway(f"The bucket {bucket} does not answer.") from error
conductor_workers.pipelines.storage.StoreAway: The bucket lake does not answer: no credentials.
 SQLSTATE: 38000
\tat org.apache.spark.api.python.BasePythonRunner$ReaderIterator.hasNext(PythonRunner.scala:1034)
"""


@pytest.mark.parametrize(
    ("said", "told"),
    [
        (_IN_PYTHON, "StoreAway: The bucket lake does not answer: no credentials."),
        ("Traceback (most recent call last):\n  File x\nKeyError", "KeyError"),
        ("[PATH_NOT_FOUND] No path. SQLSTATE: 42K03;\n'Project", "[PATH_NOT_FOUND] No path."),
        ("Job aborted.\n\nDriver stacktrace:\n\tat x", "Job aborted."),
        ("  ", "Spark gave no reason."),
        ("x" * 600, "x" * 499 + "…"),
    ],
)
def test_a_reason_is_one_sentence_without_stacks(said: str, told: str) -> None:
    assert shortened(said) == told


@pytest.mark.parametrize(
    ("quarantined", "bad", "remark"),
    [
        (0, 0, ""),
        (2, 0, "Finished without 2 of 8 splits, which were set aside."),
        (0, 13, "Finished without 13 bad rows."),
        (1, 1, "Finished without 1 of 8 splits, which were set aside, and without 1 bad rows."),
    ],
)
def test_a_job_that_is_finished_says_what_it_has_left_out(
    quarantined: int, bad: int, remark: str
) -> None:
    splits = {"discovered": 8, "quarantined": quarantined}
    result = JobResult(
        states={"p": PipelineState.FINISHED},
        document={"pipelines": [{"splits": splits, "rows": {"bad": bad}}]},
    )
    assert result.remark == remark


def test_what_is_complete_may_have_a_reason() -> None:
    attempt = FakeAttempt({})
    done = Outcome(status=Status.COMPLETED, output={"a": 1}, reason="Finished without 2 bad rows.")
    assert settle(attempt, lambda: done) == done
    plain: JsonObject = {"a": 1}
    assert settle(attempt, lambda: plain) == Outcome(status=Status.COMPLETED, output=plain)
