"""The JSON of definitions is made once and shared, and forgotten when nobody uses it any more."""

from __future__ import annotations

from conductor_py.model.definitions import WorkflowTask
from conductor_py.wire.execution import _Shared


def _shared(written: list[str]) -> _Shared[WorkflowTask]:
    def write(task: WorkflowTask) -> dict[str, str]:
        written.append(task.task_reference_name)
        return {"ref": task.task_reference_name}

    return _Shared(write)


def test_what_is_used_again_and_again_is_written_once() -> None:
    written: list[str] = []
    shared, kept = _shared(written), WorkflowTask(name="kept", task_reference_name="kept")

    for number in range(5 * shared._MOST):
        assert shared(WorkflowTask(name="x", task_reference_name=f"x{number}")) == {
            "ref": f"x{number}"
        }
        if number % 100 == 0:
            assert shared(kept) == {"ref": "kept"}

    assert written.count("kept") == 1


def test_what_comes_by_once_is_not_kept() -> None:
    shared = _shared([])

    for number in range(5 * shared._MOST):
        shared(WorkflowTask(name="x", task_reference_name=f"x{number}"))

    assert len(shared._young) + len(shared._old) <= 2 * shared._MOST
