"""A result of a superseded attempt changes nothing, however it was claimed, superseded and sent."""

from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final

import pytest

from conductor_py.errors import Conflict, NotFound
from conductor_py.model.requests import PollRequest, RerunRequest
from conductor_py.testing import MemoryEngine
from tests.builders import Json, extend, fork, join, pass_time, policy, report, simple, workflow

_FLOW: Final = workflow(
    "w",
    {
        **policy("a", retryCount=2, retryDelaySeconds=0, responseTimeoutSeconds=30),
        "inputParameters": {},
    },
    outputParameters={"by": "${a.output.by}"},
)
Claim = Callable[[MemoryEngine], Json]
Supersede = Callable[[MemoryEngine, str, Json], None]
Send = Callable[[MemoryEngine, Json], None]


# ---------------------------------------------------------------- how the late one held its task


def _leased(engine: MemoryEngine) -> Json:
    return _poll(engine, "late", lease_s=5)


def _by_response_timeout(engine: MemoryEngine) -> Json:
    return _poll(engine, "late")


def _extended(engine: MemoryEngine) -> Json:
    task = _poll(engine, "late", lease_s=5)
    extend(engine, task, lease_s=6, progress={"done": 0.5})
    return task


def _poll(engine: MemoryEngine, worker: str, **more: Any) -> Json:
    request = PollRequest(task_type="a", worker=worker, timeout_ms=0, **more)
    (task,) = engine.engine.tasks.poll(request)
    return dict(task)


CLAIMS: Final[dict[str, Claim]] = {
    "leased": _leased,
    "extended": _extended,
    "by response timeout": _by_response_timeout,
}


# ---------------------------------------------------------------- how another attempt took over


def _vanished(engine: MemoryEngine, _started: str, _task: Json) -> None:
    """The lease, or the response timeout, ended."""
    pass_time(engine, seconds=31)


def _gave_back(engine: MemoryEngine, _started: str, task: Json) -> None:
    """It asked to be called back: the same attempt is offered to the next one."""
    report(engine, task, status="IN_PROGRESS", claim=task["claimToken"], worker="late")


def _restarted(engine: MemoryEngine, started: str, _task: Json) -> None:
    engine.engine.executions.terminate(started, reason="enough")
    engine.settle()
    engine.engine.recovery.restart(started)
    engine.settle()


def _retried(engine: MemoryEngine, started: str, _task: Json) -> None:
    engine.engine.executions.terminate(started, reason="enough")
    engine.settle()
    engine.engine.recovery.retry(started)
    engine.settle()


def _rerun(engine: MemoryEngine, started: str, _task: Json) -> None:
    engine.engine.executions.terminate(started, reason="enough")
    engine.settle()
    engine.engine.recovery.rerun(started, RerunRequest())
    engine.settle()


SUPERSEDED: Final[dict[str, Supersede]] = {
    "its claim ended": _vanished,
    "it gave the task back": _gave_back,
    "the execution was restarted": _restarted,
    "the execution was retried": _retried,
    "the execution was rerun": _rerun,
}


# ---------------------------------------------------------------- what the late one sends


def _result(status: str, *, with_claim: bool) -> Send:
    def send(engine: MemoryEngine, task: Json) -> None:
        claim = task["claimToken"] if with_claim else 0
        report(engine, task, status=status, claim=claim, worker="late", output={"by": "late"})

    return send


def _extension(engine: MemoryEngine, task: Json) -> None:
    with pytest.raises((Conflict, NotFound)):
        extend(engine, task, progress={"by": "late"})


def _extension_by_result(engine: MemoryEngine, task: Json) -> None:
    with pytest.raises((Conflict, NotFound)):
        engine.engine.tasks.extend_by_result(task["taskId"], task["claimToken"], "late")


SENT: Final[dict[str, Send]] = {
    **{
        f"{status} {'with' if with_claim else 'without'} its claim": _result(
            status, with_claim=with_claim
        )
        for status in ("COMPLETED", "FAILED", "FAILED_WITH_TERMINAL_ERROR", "IN_PROGRESS")
        for with_claim in (True, False)
    },
    "an extension": _extension,
    "an extension as a result": _extension_by_result,
}


@pytest.mark.parametrize("sent", SENT)
@pytest.mark.parametrize("superseded", SUPERSEDED)
@pytest.mark.parametrize("claim", CLAIMS)
def test_what_a_superseded_worker_sends_changes_nothing(
    engine: MemoryEngine, claim: str, superseded: str, sent: str
) -> None:
    started = engine.start(_FLOW)
    late = CLAIMS[claim](engine)
    SUPERSEDED[superseded](engine, started, late)
    holder = _poll(engine, "holder", lease_s=20)
    before = engine.workflow(started)

    with suppress(Conflict, NotFound):
        SENT[sent](engine, late)
    engine.settle()

    assert engine.workflow(started) == before
    assert not engine.poll("a")
    report(engine, holder, claim=holder["claimToken"], worker="holder", output={"by": "holder"})
    ended = engine.workflow(started)
    assert (ended["status"], ended["output"]) == ("COMPLETED", {"by": "holder"})


@pytest.mark.parametrize("with_claim", [True, False])
def test_what_comes_after_the_end_of_the_execution_changes_nothing(
    engine: MemoryEngine, with_claim: bool
) -> None:
    branches = ([simple("a")], [simple("b")])
    started = engine.start(workflow("w", fork("f", *branches), join("j", "a", "b")))
    late = _poll(engine, "late", lease_s=5)
    engine.run("b", status="FAILED")
    engine.settle()
    before = engine.workflow(started)
    assert before["status"] == "FAILED"
    for status in ("COMPLETED", "FAILED", "IN_PROGRESS"):
        with suppress(Conflict):
            _result(status, with_claim=with_claim)(engine, late)
    engine.settle()
    assert engine.workflow(started) == before
