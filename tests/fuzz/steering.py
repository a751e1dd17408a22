"""Operations on executions, with bodies and queries that fit about half of the time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from tests.fuzz.known import Known
from tests.fuzz.values import Chance, Json

Query = list[tuple[str, object]]
Facts = Callable[[Chance, Known], tuple[Json, Query]]


def _nothing(_: Chance, __: Known) -> tuple[Json, Query]:
    return None, []


def _flagged(name: str) -> Facts:
    def facts(chance: Chance, _: Known) -> tuple[Json, Query]:
        return None, [(name, chance.often(0.5))]

    return facts


def _payload(chance: Chance, _: Known) -> tuple[Json, Query]:
    return {"v": chance.value(2), chance.text(): 1}, []


def _rerun(chance: Chance, known: Known) -> tuple[Json, Query]:
    asked: dict[str, Json] = {}
    if chance.often(0.4):
        asked["reRunFromTaskReferenceName"] = known.one(chance, "ref")
    if chance.often(0.3):
        asked["reRunFromTaskId"] = known.one(chance, "task_id")
    if chance.often(0.3):
        asked |= {"workflowInput": {"v": chance.value(3)}, "mode": chance.one(("TASK_ONLY", "x"))}
    return asked, [("dryRun", chance.often(0.2))]


def _skip(chance: Chance, _: Known) -> tuple[Json, Query]:
    return {"taskInput": chance.value(3), "taskOutput": {"v": chance.value(3)}}, []


def _upgrade(chance: Chance, _: Known) -> tuple[Json, Query]:
    return {"version": chance.one((1, 2, chance.count()))}, [("dryRun", chance.often(0.3))]


def _state(chance: Chance, known: Known) -> tuple[Json, Query]:
    asked = {"variables": {"v": chance.value(3)}, "taskReferenceName": known.one(chance, "ref")}
    return asked, [("waitForSeconds", chance.one((1, -1))), ("requestId", chance.text())]


_ONE: Final = "/api/workflow/{}"
STEERING: Final[tuple[tuple[str, str, Facts], ...]] = (
    ("GET", _ONE, _flagged("includeTasks")),
    ("GET", _ONE + "/status", _flagged("includeOutput")),
    ("GET", _ONE + "/why", _nothing),
    ("GET", _ONE + "/tasks", _nothing),
    ("DELETE", _ONE, _flagged("triggerFailureWorkflow")),
    ("PUT", _ONE + "/pause", _nothing),
    ("PUT", _ONE + "/resume", _nothing),
    ("PUT", _ONE + "/skiptask/{}", _skip),
    ("POST", _ONE + "/resetcallbacks", _nothing),
    ("PUT", "/api/workflow/decide/{}", _nothing),
    ("DELETE", _ONE + "/remove", _flagged("archiveWorkflow")),
    ("DELETE", _ONE + "/terminate-remove", _flagged("archiveWorkflow")),
    ("POST", _ONE + "/variables", _payload),
    ("POST", _ONE + "/retry", _flagged("resumeSubworkflowTasks")),
    ("POST", _ONE + "/restart", _flagged("useLatestDefinitions")),
    ("POST", _ONE + "/rerun", _rerun),
    ("POST", _ONE + "/jump/{}", _payload),
    ("POST", _ONE + "/tasks/{}/force-success", _payload),
    ("POST", _ONE + "/upgrade", _upgrade),
    ("POST", _ONE + "/messages", _payload),
    ("POST", _ONE + "/state", _state),
    ("POST", "/api/tasks/{}/COMPLETED/signal", _payload),
    ("POST", "/api/tasks/{}/{}/COMPLETED", _payload),
    ("POST", "/api/tasks/{}/{}/FAILED", _payload),
    ("PUT", "/api/workflow/bulk/pause", _nothing),
    ("PUT", "/api/workflow/bulk/resume", _nothing),
    ("POST", "/api/workflow/bulk/restart", _nothing),
    ("POST", "/api/workflow/bulk/retry", _nothing),
    ("POST", "/api/workflow/bulk/terminate", _nothing),
    ("DELETE", "/api/workflow/bulk/terminate-remove", _nothing),
    ("POST", "/api/admin/sweep/requeue/{}", _nothing),
    ("GET", "/api/admin/audit/{}", _nothing),
)
