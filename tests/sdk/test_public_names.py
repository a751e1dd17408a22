"""What authors may import is a reviewed list."""

from __future__ import annotations

from conductor_py import sdk

NAMES = """
    AnswerTooLarge Backoff CancelRequested Checkpoint Checkpoints ChoiceTask ClaimLost Client
    Clock Condition ConditionsTask ConductorError ConfigurationError Conflict Dag DagTask
    DefinitionError DynamicForkTask EpochConflict ForkTask InvalidInput LimitExceeded LoopTask
    NonRetryableError NotFound NotesConflict Overloaded PayloadKind PayloadTooLarge ResultStatus
    ServerFailure StartingPoint StopRequested StoreUnavailable SwitchTask SystemClock Task
    TaskCancelled TaskContext TaskInProgress TaskLog TaskRequest TaskResult TaskSequence
    UnexpectedAnswer Violation WaitTimeout Worker WorkerOptions WorkerTask Workflow
    WorkflowFailed WorkflowRun WorkflowTask all_of any_of task_context worker_task
"""


def test_the_public_names_are_these_and_exist():
    assert sdk.__all__ == NAMES.split()
    assert all(hasattr(sdk, name) for name in sdk.__all__)
