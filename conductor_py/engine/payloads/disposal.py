"""Payloads that have served their purpose: deleted at once where that works, else by an effect of
their own. What was delivered is not delivered again because a file stays.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import Final

import orjson

from conductor_py.codec.execution import dump_json
from conductor_py.engine.clock import StoreClock
from conductor_py.engine.patience import BATCH_MS, Handled, Patience
from conductor_py.errors import ConductorError
from conductor_py.ports.outbox import Outbox, Pending
from conductor_py.ports.payloads import Payloads

_LOG = logging.getLogger(__name__)
Drop = Callable[[int, str], None]
"""Delete a payload for an effect of a partition; that it cannot be deleted now is no failure."""
DISCARD: Final = "discard"
"""The kind of effects that delete a payload."""


class Disposal:
    """Deletes payloads."""

    def __init__(
        self, payloads: Payloads, outbox: Outbox, clock: StoreClock, patience: Patience
    ) -> None:
        """Work over these collaborators."""
        self._payloads = payloads
        self._outbox = outbox
        self._clock = clock
        self._patience = patience

    def drop(self, partition: int, path: str) -> None:
        """Delete a payload now, or order that it be deleted later."""
        if self._refused(path) is not None:
            order = {"kind": DISCARD, "path": path, "at": self._clock.now_ms()}
            self._outbox.order(partition, [(f"{DISCARD}:{path}", dump_json(order))])

    def handle(self, _partition: int, effects: Sequence[Pending]) -> Handled:
        """Delete what could not be deleted before; in the end it stays, and that is said."""
        handled, began = Handled(), self._clock.elapsed_ms()
        for effect in effects:
            if self._clock.elapsed_ms() - began > BATCH_MS:
                break
            order = orjson.loads(effect.document)
            refused = self._refused(order["path"])
            again_at = None
            if refused is not None:
                again_at = self._patience.again_at(order["at"], self._clock.now_ms())
            if again_at is not None:
                handled.later.append((effect, again_at))
                continue
            handled.done.append(effect)
            if refused is not None:
                _LOG.error(
                    "A payload stays in its storage: it cannot be deleted",
                    extra={"action": "payload_stays", "path": order["path"], "error": refused},
                )
        return handled

    def _refused(self, path: str) -> str | None:
        try:
            self._payloads.delete(path)
        except ConductorError as error:
            _LOG.warning(
                "A payload is not deleted yet",
                extra={"action": "payload_kept", "path": path, "error": error.message},
            )
            return error.message
        return None
