"""Permits: how a limit holds over several partitions, of which each knows itself only.

A limit has a home partition, by its name. There stands how many permits each partition has, and
together they are not above the limit. A partition uses its permits by itself, in the very step that
hands a task out or admits an execution, and what it does not use can be taken back.

Permits are given at home first and taken back at home last. So whatever is lost on the way between
the two, home counts too many rather than too few; and whoever asks next finds that out, because a
partition that is asked first takes what home says and then answers what it has. Every number stands
under a token that grows with each gift and is an instant of the store: one that arrives late
changes nothing. A token is remembered longer than a number under it is trusted.

Of a rate no permits are kept. Claims are leased at home for one poll and settled after it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Literal, Protocol

from conductor_py.records import dataclass

Mode = Literal["look", "keep", "give", "yield"]

TOKEN_TRUSTED_MS: Final = 300_000
"""A number that arrives this long after its token gives no more than is in use: it may have been
taken back already, and that have been forgotten.
"""
TOKEN_KEPT_MS: Final = 600_000
"""How old a token has to be before a partition forgets it that has no permits under it and uses
none. Who seeks permits is forgotten after as long.
"""


def task_limit(definition: str) -> str:
    """Name the limit on the tasks of a definition."""
    return f"t:{definition}"


def workflow_limit(key: str) -> str:
    """Name the limit on the executions of an admission key."""
    return f"w:{key}"


def limited_thing(name: str) -> tuple[str, str]:
    """Take the name of a limit apart: ``t`` or ``w``, and the definition or the key.

    ``ValueError`` when neither ``task_limit`` nor ``workflow_limit`` has made it.
    """
    kind, colon, what = name.partition(":")
    if kind not in {"t", "w"} or not colon:
        raise ValueError(f"not the name of a limit: {name!r}")
    return kind, what


@dataclass(frozen=True, slots=True, kw_only=True)
class Holding:
    """How many permits a partition has, under which token."""

    partition: int
    token: int
    number: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Shared:
    """What home answers: how many permits were granted, what the asker has now, what the others
    have, and which other partitions seek some.
    """

    granted: int
    own: Holding
    others: tuple[Holding, ...]
    seekers: tuple[int, ...]
    now_ms: int

    @property
    def total(self) -> int:
        """How many permits are out."""
        return self.own.number + sum(other.number for other in self.others)


@dataclass(frozen=True, slots=True, kw_only=True)
class Adjusted:
    """What a partition answers: how many permits it may use, how many it uses (more, after it was
    asked to yield), whether an execution waits for one there, and which were admitted.
    """

    token: int
    number: int
    used: int
    waits: bool = False
    woken: tuple[str, ...] = ()

    @property
    def there(self) -> int:
        """How many permits must still count at home."""
        return max(self.number, self.used)


class Permits(Protocol):
    """Permits of all limits. ``StoreUnavailable`` when the partition that is asked is away."""

    def share(
        self,
        name: str,
        limit: int,
        asker: int,
        wanted: int,
        reports: Sequence[Holding] = (),
        *,
        seek: bool = False,
    ) -> Shared:
        """Ask the home of a limit for up to ``wanted`` permits for the partition ``asker``.

        ``reports`` are what partitions have answered that they have: fewer under the same token
        free the difference, a newer token than home knows is believed (home has lost its last
        moment). With ``seek`` who gets nothing is remembered as seeking until it gets some.
        """

    def adjust(
        self, name: str, limit: int, wanted: Sequence[tuple[Holding, Mode]], admitted: bytes = b""
    ) -> tuple[Adjusted | None, ...]:
        """Tell partitions what home says that they have, if it is newer than what they know.

        ``look``: nothing else. What was given under a higher limit than ``limit`` then does not
        count; the other three are for who has the word of home that the limit holds.
        ``keep``: those that wait there are admitted, with the event ``admitted``. ``give``: what is
        unused may not be used any more. ``yield``: one more is not to be used again once it is
        free. All are asked at once; a partition that does not answer is ``None``.
        """

    def lease_rate(
        self,
        definition: str,
        rate: tuple[int, int],
        wanted: int,
        lease: str,
        lease_ms: int,
    ) -> tuple[int, int, int]:
        """Lease claims of a rate (claims, window ms): how many were granted, when there may be
        more (0: no one knows), and the time at home.

        Never more than the rate are leased or were used within any window. A lease that is not
        settled counts until ``lease_ms`` and a window are over: nobody uses it after ``lease_ms``.
        """

    def settle_rate(self, definition: str, lease: str, leased: int, used: int) -> None:
        """Say how many leased claims were used, right after; the others are free again."""
