"""Backfills started; what one is stands in ``model.backfills``."""

from __future__ import annotations

from conductor_py.engine.clock import StoreClock
from conductor_py.engine.executions import Executions
from conductor_py.engine.registered import Registered
from conductor_py.errors import NotFound
from conductor_py.model.backfills import Backfill, start_of


class Backfills:
    """Starts backfills; everything after that is the execution's."""

    def __init__(self, executions: Executions, registered: Registered, clock: StoreClock) -> None:
        """Work over these collaborators."""
        self._executions = executions
        self._registered = registered
        self._clock = clock

    def now_ms(self) -> int:
        """The time that what is past is told by."""
        return self._clock.now_ms()

    def check(self, backfill: Backfill) -> None:
        """See whether there is what it would start (``NotFound``)."""
        name, version = backfill.request.name, backfill.request.version
        if backfill.inline is None and self._registered.document(name, version or None) is None:
            which = f", version {version}" if version else ""
            raise NotFound(f"No such workflow found by name: {name}{which}")

    def start(self, backfill: Backfill) -> str:
        """Start it and answer the execution's id (``NotFound``, and the errors of a start). All
        runs have the same version of the workflow: the one that is named, or that of this moment.
        """
        self.check(backfill)
        return self._executions.start(start_of(backfill))
