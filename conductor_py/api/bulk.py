"""Bulk operations: one verb on many executions, each by itself, one after the other.

The answer says of every id whether it worked, and if not, why; one that fails stops no other.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Final

from flask import Blueprint, request

from conductor_py.api.answers import Answer, json_answer
from conductor_py.api.documents import Documents
from conductor_py.api.errors import foreseen_of
from conductor_py.api.front import Front, blueprint
from conductor_py.errors import InvalidInput, Violation
from conductor_py.wire.parameters import flag, text

_MOST: Final = 1_000

Verb = Callable[[str], object]


def bulk(front: Front) -> Blueprint:
    """Make the endpoints below ``/api/workflow/bulk``."""
    views = _Bulk(front)
    return blueprint(
        "bulk",
        "/api/workflow/bulk",
        (
            ("PUT", "/pause", views.pause),
            ("PUT", "/resume", views.resume),
            ("POST", "/restart", views.restart),
            ("POST", "/retry", views.retry),
            ("POST", "/terminate", views.terminate),
            ("DELETE", "/remove", views.remove),
            ("DELETE", "/terminate-remove", views.terminate_and_remove),
            ("POST", "/search", views.search),
        ),
    )


class _Bulk:
    def __init__(self, front: Front) -> None:
        self._front = front
        self._executions = front.engine.executions
        self._steering = front.engine.steering
        self._engine = front.engine

    def pause(self) -> Answer:
        return self._each(self._steering.pause)

    def resume(self) -> Answer:
        return self._each(self._steering.resume)

    def restart(self) -> Answer:
        latest = flag(request.args, "useLatestDefinitions")
        return self._each(lambda id_: self._engine.recovery.restart(id_, use_latest=latest))

    def retry(self) -> Answer:
        return self._each(lambda id_: self._engine.recovery.retry(id_, resume_subworkflows=False))

    def terminate(self) -> Answer:
        return self._each(self._terminating())

    def remove(self) -> Answer:
        return self._each(self._removing())

    def terminate_and_remove(self) -> Answer:
        """Both are tried on each, and counted each for itself, as in Conductor."""
        return self._each(self._terminating(), self._removing())

    def search(self) -> Answer:
        include = flag(request.args, "includeTasks", default=True)
        documents, found, failed = Documents(), list[object](), dict[str, str]()
        for workflow_id in dict.fromkeys(self._ids()):
            try:
                read = partial(self._executions.json, workflow_id, include_tasks=include)
                document = self._front.whole(read)
            except Exception as error:  # noqa: BLE001 - told, or raised again
                failed[workflow_id] = _told(error)
            else:
                found.append(documents.add_written(document))
        return json_answer({"bulkErrorResults": failed, "bulkSuccessfulResults": found})

    def _terminating(self) -> Verb:
        reason = text(request.args, "reason") or None
        trigger = flag(request.args, "triggerFailureWorkflow")
        return lambda id_: self._executions.terminate(
            id_, reason=reason, trigger_failure_workflow=trigger
        )

    def _removing(self) -> Verb:
        archive = flag(request.args, "archiveWorkflow", default=True)
        return lambda id_: self._steering.remove(id_, archive=archive)

    def _each(self, *verbs: Verb) -> Answer:
        done, failed = _tried(self._ids(), verbs)
        return json_answer({"bulkErrorResults": failed, "bulkSuccessfulResults": done})

    def _ids(self) -> list[str]:
        given = self._front.body()
        if not isinstance(given, list) or not all(isinstance(id_, str) for id_ in given):
            raise _wrong("must be a list of workflow ids")
        if not 1 <= len(given) <= _MOST:
            raise _wrong(f"must hold 1 to {_MOST} workflow ids, holds {len(given)}")
        return given


def _told(error: Exception) -> str:
    """What went wrong with one execution; what nobody foresaw is raised."""
    foreseen = foreseen_of(error)
    if foreseen is None:
        raise error
    return foreseen.message


def _tried(ids: Sequence[str], verbs: Sequence[Verb]) -> tuple[list[str], dict[str, str]]:
    done: list[str] = []
    failed: dict[str, str] = {}
    for workflow_id in ids:
        for verb in verbs:
            try:
                verb(workflow_id)
            except Exception as error:  # noqa: BLE001 - told, or raised again
                failed.setdefault(workflow_id, _told(error))
            else:
                done.append(workflow_id)
    return done, failed


def _wrong(message: str) -> InvalidInput:
    return InvalidInput(violations=(Violation(path="$", message=message),))
