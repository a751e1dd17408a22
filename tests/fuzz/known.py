"""What an actor has made: names and ids, to be mixed into what it sends."""

from __future__ import annotations

from collections import defaultdict
from typing import Final

from tests.fuzz.values import Chance

_KEPT: Final = 60
_MEANS: Final = {
    "workflowId": "workflow_id",
    "workflowInstanceId": "workflow_id",
    "reRunFromWorkflowId": "workflow_id",
    "taskId": "task_id",
    "reRunFromTaskId": "task_id",
    "workflowName": "name",
    "scheduleName": "schedule",
    "referenceTaskName": "ref",
    "reRunFromTaskReferenceName": "ref",
    "taskType": "task_type",
    "correlationId": "correlation_id",
    "uploadId": "upload_id",
}


class Known:
    """Names by what they name; each list keeps its newest."""

    def __init__(self) -> None:
        self._names: dict[str, list[str]] = defaultdict(list)

    def add(self, kind: str, *names: str) -> None:
        """Have these."""
        kept = self._names[kind]
        kept += [name for name in names if name not in kept]
        del kept[:-_KEPT]

    def drop(self, kind: str, name: str) -> None:
        """Have it no more."""
        if name in self._names[kind]:
            self._names[kind].remove(name)

    def all(self, kind: str) -> list[str]:
        """All of a kind."""
        return list(self._names[kind])

    def one(self, chance: Chance, name: str, *, wrong: float = 0.05) -> str:
        """A name for a parameter or member; now and then one of nothing."""
        names = self._names[_MEANS.get(name, name)]
        if not names or chance.often(wrong):
            return chance.text() if chance.often(0.5) else "nobody"
        return str(chance.one(names))

    def has(self, name: str) -> bool:
        """Whether there is any."""
        return bool(self._names[_MEANS.get(name, name)])
