"""What authors may import is a reviewed list."""

from __future__ import annotations

from conductor_py import sdk

NAMES = """
    Backoff Client Clock ConductorError ConfigurationError Conflict DefinitionError InvalidInput
    LimitExceeded NonRetryableError NotFound PayloadKind PayloadTooLarge ResultStatus ServerFailure
    StoreUnavailable SystemClock Task TaskCancelled TaskContext TaskInProgress TaskLog TaskResult
    UnexpectedAnswer Violation Worker WorkerOptions WorkerTask task_context worker_task
"""


def test_the_public_names_are_these_and_exist():
    assert sdk.__all__ == NAMES.split()
    assert all(hasattr(sdk, name) for name in sdk.__all__)
