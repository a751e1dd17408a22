"""What the HTTP front needs of the engine to take executions up again or elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from conductor_py.errors import Violation
from conductor_py.model.json import JsonObject
from conductor_py.model.requests import RerunRequest, UpgradeRequest


class Recovery(Protocol):
    """Verbs that may raise ``NotFound`` for an unknown execution and ``Conflict`` when its state
    does not allow them.
    """

    def retry(self, execution: str, /, *, resume_subworkflows: bool = False) -> None:
        """Try again what failed."""

    def restart(self, execution: str, /, *, use_latest: bool = False) -> None:
        """Begin from the first task."""

    def rerun(self, execution: str, request: RerunRequest, /) -> str:
        """Go on from a task; ``InvalidInput`` for one that is none of its."""

    def jump(self, execution: str, ref: str, task_input: JsonObject, /) -> None:
        """Go on at a task ahead; ``InvalidInput`` for an unknown reference."""

    def upgrade(self, execution: str, request: UpgradeRequest, /) -> None:
        """Go on under another version; ``InvalidInput`` lists what does not map."""

    def check_upgrade(self, execution: str, request: UpgradeRequest, /) -> Sequence[Violation]:
        """List what does not map."""


class RecoveryFacade(Protocol):
    """That part of the engine."""

    @property
    def recovery(self) -> Recovery:
        """Retry, restart, rerun, jump, upgrade."""
