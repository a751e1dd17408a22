"""Executions as people and programs look at them: read, log, bring back, forget."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Final, Protocol

from conductor_py.model.ids import ExecutionId
from conductor_py.ports.restore import Restore
from conductor_py.ports.store import Outcome
from conductor_py.records import dataclass, field

MOST_LOG_BYTES: Final = 16 << 20
"""Bytes of the log of an execution that are read: its newest lines."""
PAGE_FIELDS: Final = 10_000
"""Fields of an execution that are read at once: some milliseconds of Redis; those of up to about
2,000 tasks.
"""
PAGE_BYTES: Final = 4 << 20
"""Bytes of an execution, about, that are read at once."""
FEW_FIELDS: Final = 500
"""Fields of an execution that is small: those of up to about 100 tasks."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Beside:
    """What is kept beside the fields of an execution: (seq, created ms, line) of its logs in the
    order they came, and what its long tasks keep, by field.
    """

    logs: tuple[tuple[int, int, str], ...] = ()
    checkpoints: Mapping[str, bytes] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Whole:
    """All of an execution: its fields as ``snapshot`` reads them, and of one that has ended what is
    beside them; None: that was not read.
    """

    version: int
    fields: Mapping[str, bytes]
    beside: Beside | None = None


class ExecutionChanged(Exception):
    """An execution that is read in pieces has another version now, or is gone."""


class ExecutionReader(Protocol):
    """What is done with executions beside running them. Every method raises ``StoreUnavailable``
    when the store does not answer.
    """

    def snapshot(
        self, execution: ExecutionId, *, before_more: Callable[[int], object] | None = None
    ) -> tuple[int, Mapping[str, bytes]] | None:
        """Read every field of one version at once (`v`, `l`, `k` left out), ``None`` when gone.

        ``before_more`` is called before more of it is read than ``PAGE_FIELDS`` and ``PAGE_BYTES``,
        with about how many bytes it has; what it raises is raised.
        """

    def scan(self, execution: ExecutionId, version: int) -> Iterator[Mapping[str, bytes]]:
        """Read every field that ``snapshot`` reads, some after the other, in no order and some of
        them perhaps twice. ``ExecutionChanged`` when its version is not, or not any more, that one:
        what was read before may be of another.
        """

    def several(
        self, partition: int, executions: Sequence[ExecutionId]
    ) -> Mapping[ExecutionId, Whole]:
        """Read many of one partition at once, those of them that are small, and some more may be
        left out: they are read one by one.
        """

    def running(self, name: str) -> tuple[ExecutionId, ...]:
        """List the executions of that workflow name that are not terminal, oldest first, at most
        10,000.
        """

    def answer(self, execution: ExecutionId, operation: str) -> bytes | None:
        """Read the answer of an operation, ``None`` when there is none (yet)."""

    def append_log(self, execution: ExecutionId, seq: int, line: str, created_ms: int) -> Outcome:
        """Keep a log line of an attempt (at most 10,000 an execution, oldest dropped): OK,
        UNKNOWN_TASK or GONE.
        """

    def logs(self, execution: ExecutionId) -> tuple[tuple[int, int, str], ...]:
        """Read (seq, created ms, line) of all attempts in the order they came: the newest, as many
        as ``MOST_LOG_BYTES`` hold.
        """

    def beside(self, execution: ExecutionId) -> Beside:
        """Read all that an archive has beside the fields, empty when there is nothing or it is
        gone. It comes back with ``restore`` and goes with ``remove``.
        """

    def begin_restore(self, execution: ExecutionId, token: str) -> str | None:
        """Begin to bring one back, before its archive is read, or join who does: the token under
        which to go on, ``None`` when it is in the store. A token ends when it is there.
        """

    def restore(self, restore: Restore) -> Outcome:
        """Bring an archived execution back: OK; EXISTS when it is in the store (nothing changes);
        NEED_PLAN; GONE when the token has ended, because the execution was in the store meanwhile
        or the store lost something of it: begin anew.

        It is terminal, has no timer and an empty inbox, and its version is max(version + 1, now).
        Claims issued from then on are above ``claim``. Until this returns OK it is in the store for
        nobody; with NEED_PLAN the attempt goes on.
        """

    def cancel_restore(self, execution: ExecutionId) -> bool:
        """End every attempt to bring one back, as its archive was deleted; false when it is back
        already.
        """

    def release_key(self, execution: ExecutionId, name: str, key: str) -> None:
        """Let go of the idempotency key of an execution of this workflow name, if it is its."""

    def remove(self, execution: ExecutionId, version: int) -> Outcome:
        """Forget an execution that is terminal, drained (no ``drain`` in its header) and has an
        empty inbox, if its version is still ``version``: OK, STALE (anything of that does not hold)
        or GONE.
        """

    def remove_plain(
        self, partition: int, archived: Sequence[tuple[ExecutionId, int]]
    ) -> tuple[Outcome | None, ...]:
        """Forget many of one partition, each as ``remove`` does; ``None``: it was left, as it has
        plans of its own, or cannot be read.
        """
