"""Operations in any order: whatever clients do to executions, no request fails the server, and what
is worked at comes to its end.
"""

import logging
import random
import threading
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest

from conductor_py.adapters.quickjs.scripts import QuickJsScripts
from conductor_py.api import create_app
from conductor_py.testing.engine import MemoryEngine, memory_engine
from conductor_py.wire import answers
from conductor_py.wire.fields import load
from tests.script_processes import unhurried

_STEPS = 40
_ROUNDS = 70  # a claim that nobody reports ends after an hour
_WORKFLOW = next(form for form in answers.FORMS if type(form).__name__ == "WorkflowForm")
_MOVES = ("RUNNING", "PAUSED", "COMPLETED", "FAILED", "TIMED_OUT", "TERMINATED")


def _task(ref: str, **more: Any) -> dict[str, Any]:
    return {"name": "work", "taskReferenceName": ref, **more}


_CHILD = {"name": "child", "tasks": [_task("inside"), _task("inner_wait", type="WAIT")]}
_DEFINITION = {
    "name": "any",
    "variables": {"n": 0},
    "tasks": [
        _task("first"),
        _task(
            "fork",
            type="FORK_JOIN",
            forkTasks=[
                [_task("left"), _task("hold", type="WAIT")],
                [_task("sub", type="SUB_WORKFLOW", subWorkflowParam={"name": "child"})],
                [_task("easy", optional=True)],
            ],
        ),
        _task("join", type="JOIN", joinOn=["hold", "sub", "easy"]),
        _task(
            "loop",
            type="DO_WHILE",
            loopCondition="$.loop['iteration'] < 2",
            loopOver=[_task("step")],
        ),
        _task(
            "switch",
            type="SWITCH",
            evaluatorType="value-param",
            expression="way",
            inputParameters={"way": "${first.output.way}"},
            decisionCases={"a": [_task("case_a")]},
            defaultCase=[_task("otherwise")],
        ),
        _task("last"),
    ],
}
_REFS = ("first", "left", "hold", "sub", "easy", "join", "loop", "step", "switch", "last", "none")
_STATUSES = ("COMPLETED", "FAILED", "FAILED_WITH_TERMINAL_ERROR", "IN_PROGRESS", "CANCELED")


@pytest.fixture(scope="module")
def scripts() -> Iterator[QuickJsScripts]:
    with unhurried(), closing(QuickJsScripts(workers=1)) as running:
        yield running


class _World:
    """One engine with a client that does what the dice say."""

    def __init__(self, seed: int, scripts: QuickJsScripts) -> None:
        self.dice = random.Random(seed)
        self.engine: MemoryEngine = memory_engine(scripts=scripts)
        stop = threading.Event()
        stop.set()  # no long polls
        self.client = create_app(self.engine.engine, stop=stop).test_client()
        self.story: list[tuple[str, str, int]] = []
        work = {"name": "work", "retryCount": 1, "retryDelaySeconds": 1, "timeoutSeconds": 0}
        self._send("POST", "/metadata/taskdefs", [work])
        for definition in (_CHILD, _DEFINITION, {**_DEFINITION, "version": 2}):
            self._send("POST", "/metadata/workflow", definition)
        self.ids = [
            self._send("POST", "/workflow", {"name": "any", "version": 1}).text for _ in range(2)
        ]

    def _send(self, method: str, path: str, body: Any = None) -> Any:
        answer = self.client.open(f"/api{path}", method=method, json=body)
        self.story.append((method, path, answer.status_code))
        assert answer.status_code < 500, (self.story, answer.text)
        return answer

    def step(self) -> None:
        dice, workflow = self.dice, self.dice.choice(self.ids)
        ref, status = dice.choice(_REFS), dice.choice(_STATUSES)
        task = f"{workflow}-{dice.randint(1, 12)}"
        base = f"/workflow/{workflow}"
        moves: list[tuple[int, str, str, Any]] = [
            (1, "PUT", f"{base}/pause", None),
            (2, "PUT", f"{base}/resume", None),
            (1, "DELETE", base, None),
            (1, "POST", f"{base}/restart?useLatestDefinitions={dice.random() < 0.3}", None),
            (2, "POST", f"{base}/retry?resumeSubworkflowTasks={dice.random() < 0.5}", None),
            (2, "POST", f"{base}/rerun", dice.choice([{}, {"reRunFromTaskId": task}])),
            (1, "PUT", f"{base}/skiptask/{ref}", {"taskOutput": {"skipped": True}}),
            (1, "POST", f"{base}/jump/{ref}", {}),
            (1, "POST", f"{base}/upgrade", {"name": "any", "version": dice.randint(1, 2)}),
            (1, "POST", f"{base}/variables", {"n": dice.randint(0, 9)}),
            (1, "POST", f"{base}/resetcallbacks", None),
            (1, "PUT", f"/workflow/decide/{workflow}", None),
            (2, "POST", f"/tasks/{workflow}/COMPLETED/signal", {"signalled": True}),
            (2, "POST", f"/tasks/{workflow}/{ref}/{status}", {"way": dice.choice("ab")}),
            (1, "POST", f"/queue/update/{workflow}/{ref}/COMPLETED", {}),
            (8, "WORK", "", None),
            (3, "WAIT", "", None),
        ]
        ((_, method, path, body),) = dice.choices(moves, [move[0] for move in moves])
        if method == "WORK":
            self._work()
        elif method == "WAIT":
            self.engine.clock.advance(seconds=dice.choice((1, 2, 65)))
            self.engine.settle()
        else:
            self._send(method, path, body)

    def _work(self) -> None:
        polled = self._send("GET", "/tasks/poll/batch/work?workerid=w&count=3&timeout=0").json
        for task in polled:
            result = {
                "workflowInstanceId": task["workflowInstanceId"],
                "taskId": task["taskId"],
                "workerId": "w",
                "status": self.dice.choices(_STATUSES, (8, 1, 1, 1, 0))[0],
                "outputData": {"way": self.dice.choice("ab")},
            }
            self._send("POST", "/tasks", result)

    def finish(self) -> None:
        """Resume, work and signal until everything has ended; it must."""
        for _ in range(_ROUNDS):
            for workflow in self.ids:
                self._send("PUT", f"/workflow/{workflow}/resume")
                self._send("POST", f"/tasks/{workflow}/COMPLETED/signal", {})
            for task in self._send("GET", "/tasks/poll/batch/work?count=50&timeout=0").json:
                ids = {name: task[name] for name in ("workflowInstanceId", "taskId")}
                self._send("POST", "/tasks", ids | {"status": "COMPLETED"})
            self.engine.clock.advance(seconds=65)
            self.engine.settle()
        for workflow in self.ids:
            found = self._send("GET", f"/workflow/{workflow}").json
            open_ = [
                (task["referenceTaskName"], task["taskType"], task["status"])
                for task in found["tasks"]
                if task["status"] in {"SCHEDULED", "IN_PROGRESS"}
            ]
            assert found["status"] not in {"RUNNING", "PAUSED"}, (workflow, open_, self.story)

    def check(self) -> None:
        for workflow in self.ids:
            found = self._send("GET", f"/workflow/{workflow}").json
            load(_WORKFLOW, found)
            assert found["status"] in _MOVES, self.story
            if found["status"] not in {"RUNNING", "PAUSED"}:
                still = [task["status"] for task in found["tasks"]]
                assert not {"SCHEDULED", "IN_PROGRESS"} & set(still), self.story
            sequence = [task["seq"] for task in found["tasks"]]
            assert sequence == sorted(set(sequence)), self.story


@pytest.mark.thorough(target="fuzz")
@pytest.mark.parametrize("number", range(30))
def test_no_order_of_operations_fails_the_server(
    number: int, run_seed: int, scripts: QuickJsScripts, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.ERROR)
    world = _World(run_seed + number, scripts)
    for _ in range(_STEPS):
        world.step()
        world.check()
        assert [record.getMessage() for record in caplog.records] == [], world.story
    world.finish()
    world.check()
