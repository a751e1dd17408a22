"""Setbacks: a decision that cannot be made is counted, said, and tried again later."""

from __future__ import annotations

import logging
from contextlib import suppress

from conductor_py.errors import StoreUnavailable
from conductor_py.ports.quarantine import QuarantineStore
from conductor_py.ports.store import Loaded, Outcome

_LOG = logging.getLogger(__name__)
UNREADABLE = "it is stored in a form that this version cannot read"
PLAN_LOST = "its definition is lost"


class Setbacks:
    """Sets executions back."""

    def __init__(self, store: QuarantineStore) -> None:
        """Count in ``store``."""
        self._store = store

    def add(self, loaded: Loaded, holder: str, reason: str) -> None:
        """Let an execution wait, and after some of this go into quarantine. What else may be wrong
        must not hide what is.
        """
        with suppress(StoreUnavailable):
            outcome, kept = self._store.set_back(loaded.execution, holder, loaded.version, reason)
            if outcome is Outcome.OK:
                _LOG.error(
                    "An execution cannot be decided and "
                    + ("is in quarantine" if kept else "is tried again"),
                    extra={
                        "action": "quarantined" if kept else "set_back",
                        "workflow_id": loaded.execution,
                        "reason": reason,
                    },
                )
