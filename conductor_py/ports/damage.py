"""What cannot be read is put aside, is told, and costs nobody else anything.

A member of a sorted set (a timer, an entry of a queue, a schedule, an effect) whose state cannot be
read, or an effect that lacks what it orders, is *damaged*: it stays in its set, is looked at after
a minute, then after twice as long, a day at most, and is listed until somebody retries or drops it,
or it can be read again. A key that many share and that has another type than
``adapters/redis/keys.py`` says is set aside for a week, under another name, and begins anew.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Protocol

from conductor_py.model.ids import ExecutionId, is_execution_id, partition_of
from conductor_py.ports.store import Effect
from conductor_py.records import dataclass

FIRST_MS: Final = 60_000
"""How long the first wait is; each further one is twice as long."""
LONGEST_MS: Final = 86_400_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Damaged:
    """One member that cannot be read: its name ``<partition> <set> <member>``, since when, how
    often it was looked at, when it is next (epoch ms), and what is wrong.
    """

    entry: str
    since_ms: int
    tries: int
    again_ms: int
    problem: str


class DamageStore(Protocol):
    """What is damaged, of all partitions. ``StoreUnavailable`` when the store does not answer."""

    def listed(self) -> Sequence[Damaged]:
        """List what is damaged, longest first; 1,000 a partition at most."""

    def retry(self, entry: str) -> bool:
        """Let one be looked at now; whether it was there."""

    def drop(
        self,
        entry: str,
        *,
        header: bytes = b"",
        workflow: str = "",
        admitted: bytes = b"",
        post: Effect | None = None,
    ) -> bool:
        """Delete one, for ever: the effect, the schedule, the entry; with the timer of an execution
        the execution, which is listed and counted no more; an effect that has the index and the
        archive forget it is ordered, and so is ``post``, which tells its parent: all or nothing.
        Whether it was there, and its execution has the ``header`` that was read (empty: none).

        ``workflow`` is the name of the execution's, for one whose header is lost. That one's plan
        counts it for ever: nobody knows which that was. ``admitted`` is the event of who gets its
        place under a workflow limit; where its header does not say which that was, the next start
        frees it.
        """

    def mend(self) -> Sequence[str]:
        """Set aside the shared keys that have a wrong type; returns their names."""


def execution_of(entry: str) -> ExecutionId | None:
    """The execution whose timer an entry is, which goes with it; ``None``: it is none of that."""
    partition, _, rest = entry.partition(" ")
    set_, _, member = rest.partition(" ")
    id_ = member.removeprefix("x:")
    if not set_.startswith("timers:") or id_ == member or not is_execution_id(id_):
        return None
    execution = ExecutionId(id_)
    return execution if partition == str(partition_of(execution)) else None
