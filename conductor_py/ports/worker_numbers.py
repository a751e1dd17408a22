"""Worker numbers: who may mint codes under which number, and of which times.

A number is leased together with a range of times, and the code of a time in that range is its
lessee's alone. The end of the last range of a number is stored and never forgotten or set back: it
outlives whoever leased it, and the next range begins at or after it, whatever the clock of the
store or of anybody else says by then. So ranges of one number do not overlap.
"""

from __future__ import annotations

from typing import Protocol

from conductor_py.errors import ConfigurationError
from conductor_py.model.codes import CodeLayout
from conductor_py.records import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Lease:
    """A worker number, the times from ``from_ms`` on and before ``until_ms`` that go with it, and
    the store's time at which it was given. Epoch ms.
    """

    number: int
    from_ms: int
    until_ms: int
    now_ms: int


class WorkerNumbers(Protocol):
    """Leased worker numbers, one set a namespace."""

    def lease(
        self, owner: str, layout: CodeLayout, ttl_ms: int, held: Lease | None
    ) -> Lease | None:
        """Lease further times: under the number that is ``held``, or under another.

        What is held goes on if the store still names ``owner`` with the very end of ``held``, after
        that end as well: then the times from there on, or from now on if that is later, until
        ``ttl_ms`` after now are added. They are none while the clock is further behind.

        Else a free number is given, the one whose end is the earliest, with ``ttl_ms`` from its end
        or from now on. Free is what nobody has had, what has ended, and what ends later than
        ``ttl_ms`` from now: no lease does, so the clock was set back, and its owner is told when it
        asks the next time. ``None``: all are taken.

        A layout is fixed by the first lease: ``ConfigurationError`` for another one. A call that is
        sent again because its answer was lost leases another number; the first one stays taken
        until its end.
        """


def not_the_layout(wanted: CodeLayout, fixed: str) -> ConfigurationError:
    """Make the error of a layout that is not the one which the namespace has."""
    return ConfigurationError(
        f"codes of this namespace are laid out as {fixed}, not as {wanted}: set "
        f"conductor.app.codeLayout={fixed}, or choose another "
        "conductor.redis.workflowNamespacePrefix"
    )
