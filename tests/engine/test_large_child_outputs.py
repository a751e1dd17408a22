"""A child's large output reaches its parent without passing through the parent's inbox."""

from typing import Any

import pytest

from conductor_py.adapters.memory.space import MemorySpace
from conductor_py.testing import FakeClock, memory_engine
from tests.builders import simple, status_of, sub_workflow, task_of, workflow

_LARGE = {"text": "x" * 200_000}


def _largest_event(space: MemorySpace) -> int:
    stored = space.partition(0).executions.values()
    return max((len(event) for one in stored for event in one.inbox), default=0)


@pytest.mark.anomaly("A-43")
@pytest.mark.parametrize("output", [_LARGE, {"small": 1}], ids=["large", "small"])
def test_the_output_of_a_child_is_the_tasks_whatever_its_size(output: dict[str, Any]) -> None:
    clock = FakeClock()
    space = MemorySpace(clock=clock)
    engine = memory_engine(clock=clock, space=space)
    started = engine.start(workflow("w", sub_workflow("s", workflow("c", simple("x")))))
    sizes: list[int] = []
    take = engine.ports.store.acquire

    def acquire(*given: Any) -> Any:
        sizes.append(_largest_event(space))
        return take(*given)

    engine.ports.store.acquire = acquire  # type: ignore[assignment, method-assign]
    engine.run("x", output)
    engine.settle()
    task = task_of(engine, started, "s")
    assert task["outputData"] == {"subWorkflowId": task["subWorkflowId"], **output}
    assert status_of(engine, started) == "COMPLETED"
    assert 0 < max(sizes) < 40_000


def test_an_output_that_is_lost_meanwhile_fails_the_task() -> None:
    engine = memory_engine()
    started = engine.start(workflow("w", sub_workflow("s", workflow("c", simple("x")))))

    def lost(path: str, *, most: int = 0) -> bytes:
        raise ValueError(f"no payload at {path} of {most}")

    engine.ports.payloads.get = lost  # type: ignore[method-assign]
    engine.run("x", _LARGE)
    engine.settle()
    task = task_of(engine, started, "s")
    assert task["status"] == "FAILED_WITH_TERMINAL_ERROR"
    assert "cannot be read" in task["reasonForIncompletion"]
