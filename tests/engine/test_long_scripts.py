"""A script that takes long costs its own task: nobody waits for it, and nothing else does."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import Any

import pytest

from conductor_py.adapters.memory.space import MemorySpace
from conductor_py.codec.definitions import workflow_from_json
from conductor_py.decider.decide import decide
from conductor_py.decider.need import ScriptWanted
from conductor_py.engine.decisions import deliberation
from conductor_py.engine.decisions.long_scripts import AGAIN_MS, LongScripts
from conductor_py.errors import LimitExceeded, StoreUnavailable
from conductor_py.model.event import ChildRevived
from conductor_py.model.ids import ExecutionId
from conductor_py.model.requests import UpgradeRequest
from conductor_py.ports.scripts import Evaluation, Failure, ScriptResult, Value
from conductor_py.testing.clock import FakeClock
from conductor_py.testing.engine import MemoryEngine, memory_engine

_LATE = Failure(
    message="The script did not end within 4000 ms of processor time", terminal=False, kind="time"
)


class _Scripts:
    """Programs by their text: `quick`, `long` (takes long), `endless` (never ends)."""

    def __init__(self) -> None:
        self.evaluated: list[str] = []
        self.failed: set[str] = set()
        self.busy = False

    def evaluate(self, requests: Sequence[Evaluation]) -> tuple[ScriptResult, ...]:
        if self.busy:
            raise LimitExceeded("no process")
        self.evaluated += [request.expression for request in requests]
        self.failed |= {e for e in self.evaluated if e.startswith("endless")}
        return tuple(
            _LATE if request.expression.startswith("endless") else Value(value=request.expression)
            for request in requests
        )

    def attempt(self, request: Evaluation) -> ScriptResult | None:
        return Value(value="quick") if request.expression == "quick" else None

    def is_slow(self, request: Evaluation) -> bool:
        return request.expression in self.failed

    def check(
        self, expression: str, evaluator: str = "javascript", *, briefly: bool = False
    ) -> str | None:
        return None

    def close(self) -> None: ...


class _Deployment:
    """A server that answers requests, and a sweeper beside it, over one store."""

    def __init__(self) -> None:
        self.clock = FakeClock()
        self.scripts = _Scripts()
        self.space = MemorySpace(clock=self.clock)
        shared: dict[str, Any] = {"clock": self.clock, "space": self.space, "scripts": self.scripts}
        self.api = memory_engine(**shared, waits_for_scripts=False)
        self.sweeper = memory_engine(**shared, waits_for_scripts=False, evaluates_long_scripts=True)

    def evaluate(self) -> int:
        """Let the sweeper evaluate one script."""
        engine = self.sweeper.engine
        return engine.long_scripts.tick(engine.executor.follow, 0)


@pytest.fixture
def deployment() -> _Deployment:
    return _Deployment()


def _inline(ref: str, expression: str, **more: Any) -> dict[str, Any]:
    inputs = {"evaluatorType": "javascript", "expression": expression}
    return {
        "name": ref,
        "taskReferenceName": ref,
        "type": "INLINE",
        "inputParameters": inputs,
        **more,
    }


def _workflow(*tasks: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"name": "w", "tasks": list(tasks), **more}


def _task(ref: str) -> dict[str, Any]:
    return {"name": ref, "taskReferenceName": ref}


def _fork(*branches: list[dict[str, Any]]) -> list[dict[str, Any]]:
    fork = {
        "name": "fork",
        "taskReferenceName": "fork",
        "type": "FORK_JOIN",
        "forkTasks": list(branches),
    }
    on = [branch[-1]["taskReferenceName"] for branch in branches]
    return [
        fork,
        {"name": "join", "taskReferenceName": "join", "type": "JOIN", "joinOn": on},
    ]


def _status(engine: MemoryEngine, execution: str) -> str:
    return str(engine.workflow(execution)["status"])


def test_a_quick_script_is_done_when_the_start_returns(deployment: _Deployment) -> None:
    execution = deployment.api.start(_workflow(_inline("i", "quick")))

    assert _status(deployment.api, execution) == "COMPLETED"
    assert deployment.scripts.evaluated == []


def test_a_start_does_not_wait_for_a_script_that_takes_long(deployment: _Deployment) -> None:
    execution = deployment.api.start(_workflow(_inline("i", "long")))

    assert _status(deployment.api, execution) == "RUNNING"
    assert deployment.scripts.evaluated == []
    deployment.sweeper.engine.sweeper.tick()
    assert deployment.evaluate() == 1
    assert _status(deployment.api, execution) == "COMPLETED"
    assert deployment.api.workflow(execution)["tasks"][0]["outputData"]["result"] == "long"


@pytest.mark.parametrize("kind", ["INLINE", "LAMBDA", "JSON_JQ_TRANSFORM"])
def test_a_task_whose_script_takes_long_is_seen_with_its_times(
    deployment: _Deployment, kind: str
) -> None:
    member = {"LAMBDA": "scriptExpression", "JSON_JQ_TRANSFORM": "queryExpression"}
    task = {**_inline("i", ""), "type": kind}
    task["inputParameters"] = {member.get(kind, "expression"): "long"}
    began = deployment.clock()
    execution = deployment.api.start(_workflow(_task("a"), task, _task("b")))
    deployment.api.run("a")

    (_, seen) = deployment.api.workflow(execution)["tasks"]
    assert (seen["status"], seen["startTime"], seen["endTime"]) == ("IN_PROGRESS", began, 0)
    assert deployment.api.engine.auditor.execution(execution) == ()
    deployment.clock.advance(seconds=7)
    deployment.sweeper.engine.sweeper.tick()
    deployment.evaluate()

    (_, done, _) = deployment.api.workflow(execution)["tasks"]
    assert (done["status"], done["taskId"]) == ("COMPLETED", seen["taskId"])
    assert (done["startTime"], done["endTime"]) == (began, began + 7_000)


def test_a_task_whose_script_takes_long_has_its_timeout(deployment: _Deployment) -> None:
    policy = {"name": "i", "timeoutSeconds": 5, "retryCount": 0}
    execution = deployment.api.start(_workflow(_inline("i", "long", taskDefinition=policy)))
    deployment.clock.advance(seconds=6)
    deployment.api.engine.sweeper.tick()

    (seen,) = deployment.api.workflow(execution)["tasks"]
    assert (seen["status"], _status(deployment.api, execution)) == ("TIMED_OUT", "TIMED_OUT")


def _policy(**more: Any) -> dict[str, Any]:
    return {"name": "i", "retryCount": 2, "retryDelaySeconds": 60, "timeoutPolicy": "RETRY", **more}


def _retried(deployment: _Deployment, *others: dict[str, Any], **policy: Any) -> str:
    """An execution whose script has failed once; its second try takes long, too."""
    task = _inline("i", "endless", taskDefinition=_policy(**policy))
    execution = deployment.api.start(_workflow(*_fork([task], list(others or (_task("a"),)))))
    deployment.sweeper.engine.sweeper.tick()
    assert deployment.evaluate() == 1
    deployment.clock.advance(seconds=61)
    deployment.sweeper.engine.sweeper.tick()
    return execution


def test_a_retry_whose_script_takes_long_is_seen_and_can_be_terminated(
    deployment: _Deployment,
) -> None:
    execution = _retried(deployment)
    seen = deployment.api.workflow(execution)["tasks"][-1]
    assert (seen["status"], seen["retryCount"]) == ("IN_PROGRESS", 1)
    assert seen["startTime"] == deployment.clock()
    deployment.api.engine.executions.terminate(execution, reason="enough")
    assert _status(deployment.api, execution) == "TERMINATED"


def test_a_retry_whose_script_takes_long_has_its_timeout_and_holds_up_no_branch(
    deployment: _Deployment,
) -> None:
    execution = _retried(deployment, _task("a"), _task("b"), timeoutSeconds=20)
    deployment.api.run("a")
    assert deployment.api.statuses(execution)["b"] == "SCHEDULED"
    deployment.clock.advance(seconds=21)
    deployment.api.engine.sweeper.tick()
    tries = [t for t in deployment.api.workflow(execution)["tasks"] if t["taskType"] == "INLINE"]
    assert [each["status"] for each in tries] == ["FAILED", "TIMED_OUT", "SCHEDULED"]


def test_a_retry_waits_for_its_delay_though_the_script_before_it_is_still_wanted(
    deployment: _Deployment,
) -> None:
    policy = _policy(timeoutSeconds=5, retryDelaySeconds=3600)
    execution = deployment.api.start(_workflow(_inline("i", "long", taskDefinition=policy)))
    deployment.clock.advance(seconds=6)
    deployment.api.engine.sweeper.tick()
    for _ in range(3):
        deployment.clock.advance(seconds=10)
        deployment.sweeper.engine.sweeper.tick()
        deployment.evaluate()
    first, second = deployment.api.workflow(execution)["tasks"]
    assert (first["status"], second["status"]) == ("TIMED_OUT", "SCHEDULED")
    deployment.clock.advance(seconds=3600)
    for _ in range(3):
        deployment.sweeper.engine.sweeper.tick()
        deployment.evaluate()
    assert _status(deployment.api, execution) == "COMPLETED"


def _switch(ref: str, expression: str) -> dict[str, Any]:
    cases = {"x": [_task(f"{ref}_x")]}
    more = {"evaluatorType": "javascript", "expression": expression, "decisionCases": cases}
    return {"name": ref, "taskReferenceName": ref, "type": "SWITCH", "inputParameters": {}, **more}


@pytest.mark.parametrize("slow", [_inline("i", "long"), _switch("i", "long")])
def test_a_jump_beside_a_script_that_takes_long_comes_to_an_end(
    deployment: _Deployment, slow: dict[str, Any]
) -> None:
    execution = deployment.api.start(_workflow(slow, _task("b"), _task("c")))
    with suppress(StoreUnavailable):
        deployment.api.engine.recovery.jump(execution, "c", {})
    for _ in range(4):
        deployment.clock.advance(seconds=11)
        deployment.sweeper.engine.sweeper.tick()
        deployment.evaluate()
    assert deployment.api.statuses(execution)["c"] == "SCHEDULED"


@pytest.mark.parametrize("slow", [_inline("i", "long"), _switch("i", "long")])
@pytest.mark.thorough(target="stories")
def test_an_upgrade_beside_a_script_that_takes_long_comes_to_an_end(
    deployment: _Deployment, slow: dict[str, Any]
) -> None:
    old, new = (
        _workflow(slow, *map(_task, refs), version=at) for at, refs in ((1, "b"), (2, "bc"))
    )
    for each in (old, new):
        definition = workflow_from_json(each)
        deployment.api.engine.definitions.register(definition, overwrite=False)
    execution = deployment.api.start("w", version=1)
    with suppress(StoreUnavailable):
        deployment.api.engine.recovery.upgrade(execution, UpgradeRequest(version=2))
    for _ in range(4):
        deployment.clock.advance(seconds=11)
        deployment.sweeper.engine.sweeper.tick()
        deployment.evaluate()
    assert deployment.api.workflow(execution)["workflowVersion"] == 2


def test_a_pause_holds_back_what_follows_the_script(deployment: _Deployment) -> None:
    execution = deployment.api.start(_workflow(_inline("i", "long"), _task("b")))
    deployment.api.engine.steering.pause(execution)
    for _ in range(3):
        deployment.sweeper.engine.sweeper.tick()
        deployment.evaluate()
    assert "b" not in deployment.api.statuses(execution)
    deployment.api.engine.steering.resume(execution)
    for _ in range(3):
        deployment.sweeper.engine.sweeper.tick()
        deployment.evaluate()
    assert deployment.api.statuses(execution) == {"i": "COMPLETED", "b": "SCHEDULED"}


def test_what_comes_before_the_script_is_done_by_the_start(deployment: _Deployment) -> None:
    execution = deployment.api.start(_workflow(*_fork([_task("a")], [_inline("i", "long")])))

    assert deployment.api.statuses(execution)["a"] == "SCHEDULED"
    assert deployment.api.poll("a")


def test_a_report_does_not_wait_for_the_script_behind_it(deployment: _Deployment) -> None:
    execution = deployment.api.start(_workflow(_task("a"), _inline("i", "endless")))
    deployment.api.run("a")

    assert deployment.scripts.evaluated == []
    deployment.sweeper.engine.sweeper.tick()
    deployment.evaluate()
    document = deployment.api.workflow(execution)
    assert document["status"] == "FAILED"
    assert document["tasks"][1]["reasonForIncompletion"] == _LATE.message


def test_an_execution_can_be_terminated_while_its_script_waits(deployment: _Deployment) -> None:
    execution = deployment.api.start(_workflow(_inline("i", "endless")))
    deployment.sweeper.engine.sweeper.tick()

    deployment.api.engine.executions.terminate(execution, reason="enough")

    assert _status(deployment.api, execution) == "TERMINATED"
    assert deployment.evaluate() == 1  # for nobody
    assert _status(deployment.api, execution) == "TERMINATED"


def test_another_branch_goes_on_while_a_script_waits(deployment: _Deployment) -> None:
    execution = deployment.api.start(
        _workflow(*_fork([_task("a"), _task("b")], [_inline("i", "endless")]))
    )
    deployment.sweeper.engine.sweeper.tick()
    deployment.api.run("a")
    deployment.sweeper.engine.sweeper.tick()

    assert deployment.api.statuses(execution)["b"] == "SCHEDULED"


def test_a_script_is_evaluated_once_however_often_its_execution_is_looked_at(
    deployment: _Deployment,
) -> None:
    deployment.api.start(_workflow(_inline("i", "long")))
    for _ in range(4):
        deployment.sweeper.engine.sweeper.tick()
        deployment.clock.advance(milliseconds=AGAIN_MS)

    assert deployment.evaluate() == 1
    assert deployment.evaluate() == 0
    assert deployment.scripts.evaluated == ["long"]


def test_another_sweeper_takes_over_when_the_first_is_gone(deployment: _Deployment) -> None:
    execution = deployment.api.start(_workflow(_inline("i", "long")))
    deployment.sweeper.engine.sweeper.tick()
    heir = memory_engine(
        clock=deployment.clock,
        space=deployment.space,
        scripts=deployment.scripts,
        waits_for_scripts=False,
        evaluates_long_scripts=True,
    )

    assert heir.engine.sweeper.tick() == 0
    deployment.clock.advance(milliseconds=AGAIN_MS)
    assert heir.engine.sweeper.tick() == 1
    heir.engine.long_scripts.tick(heir.engine.executor.follow, 0)
    assert _status(deployment.api, execution) == "COMPLETED"


def test_every_branch_of_a_fork_gets_its_script(deployment: _Deployment) -> None:
    branches = [[_inline(f"i{n}", f"long {n}")] for n in range(5)]
    execution = deployment.api.start(_workflow(*_fork(*branches)))
    deployment.sweeper.engine.sweeper.tick()
    while deployment.evaluate():
        pass

    assert _status(deployment.api, execution) == "COMPLETED"
    assert sorted(deployment.scripts.evaluated) == [f"long {n}" for n in range(5)]


def test_a_timeout_is_not_late_for_a_script_that_waits(deployment: _Deployment) -> None:
    workflow = _workflow(_inline("i", "endless"), timeoutSeconds=2, timeoutPolicy="TIME_OUT_WF")
    execution = deployment.api.start(workflow)
    deployment.sweeper.engine.sweeper.tick()
    deployment.clock.advance(milliseconds=2_001)
    deployment.sweeper.engine.sweeper.tick()

    assert _status(deployment.api, execution) == "TIMED_OUT"


def test_a_script_without_a_process_comes_again(deployment: _Deployment) -> None:
    execution = deployment.api.start(_workflow(_inline("i", "long")))
    deployment.sweeper.engine.sweeper.tick()
    deployment.scripts.busy = True
    with pytest.raises(LimitExceeded):
        deployment.evaluate()
    deployment.scripts.busy = False
    deployment.clock.advance(milliseconds=AGAIN_MS)
    deployment.sweeper.engine.sweeper.tick()
    deployment.evaluate()

    assert _status(deployment.api, execution) == "COMPLETED"


# -- whose turn it is ------------------------------------------------------------------------------


def _wanted(expression: str, number: int = 0) -> ScriptWanted:
    return ScriptWanted("javascript", expression, {"n": number})


def test_programs_that_failed_let_others_go_first() -> None:
    scripts = _Scripts()
    waiting = LongScripts(scripts)
    for number in range(3):
        waiting.add(ExecutionId(f"e{number}"), {"k": _wanted("endless", number)})
    waiting.tick(_nobody, 0)
    waiting.add(ExecutionId("f"), {"k": _wanted("long")})
    waiting.tick(_nobody, 0)

    assert scripts.evaluated == ["endless", "long"]


def test_a_program_that_failed_has_a_turn_of_its_own_that_others_do_not_wait_for() -> None:
    scripts = _Scripts()
    waiting = LongScripts(scripts)
    for number in range(2):
        waiting.add(ExecutionId(f"e{number}"), {"k": _wanted("endless", number)})
    assert waiting.tick(_nobody, 0, slow=True) == 0
    assert waiting.tick(_nobody, 0, slow=False) == 1
    waiting.add(ExecutionId("f"), {"k": _wanted("long")})
    assert waiting.tick(_nobody, 0, slow=True) == 1
    assert waiting.tick(_nobody, 0, slow=False) == 1
    assert waiting.tick(_nobody, 0, slow=False) == 0

    assert scripts.evaluated == ["endless", "endless", "long"]


def _nobody(_: Iterable[ExecutionId]) -> None:
    pass


def test_what_follows_a_script_that_is_taken_back_waits_for_it(
    deployment: _Deployment, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The child begins anew in the moment in which the script's turn comes."""
    inner = {"name": "c", "tasks": [_task("x")], "outputParameters": {"n": "${x.output.n}"}}
    child = {
        "name": "s",
        "taskReferenceName": "s",
        "type": "SUB_WORKFLOW",
        "subWorkflowParam": {"name": "c", "workflowDefinition": inner},
    }
    read = {"v": "${s.output.n}", "i": "${i.output.result}"}
    last = {**_task("q"), "inputParameters": read}
    started = deployment.api.start(_workflow(child, _inline("i", "long"), last))
    deployment.api.settle()
    deployment.api.run("x", {"n": 1})

    def revived_first(plan: Any, execution: Any, events: Sequence[Any], *more: Any) -> Any:
        ordered = sorted(events, key=lambda event: not isinstance(event, ChildRevived))
        return decide(plan, execution, tuple(ordered), *more)

    shared: dict[str, Any] = {"clock": deployment.clock, "space": deployment.space}
    waiting = memory_engine(**shared, scripts=deployment.scripts)
    (task, *_) = waiting.workflow(started)["tasks"]
    with monkeypatch.context() as patched:
        patched.setattr(deliberation, "decide", revived_first)
        waiting.engine.recovery.restart(task["subWorkflowId"])
        waiting.settle()
    assert not waiting.poll("q")
    waiting.run("x", {"n": 2})
    waiting.settle()
    (polled,) = waiting.poll("q")
    assert polled["inputData"] == {"v": 2, "i": "long"}
