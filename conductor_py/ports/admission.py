"""Admission: how many executions of one kind may be under way at once, and who comes next.

The store keeps, for each key, the executions that are admitted and those that wait, in the order in
which they asked. What is admitted is counted, never a number that is moved up and down: an
execution that is gone or has ended is dropped from the count when somebody asks.
"""

from __future__ import annotations

from conductor_py.records import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Admission:
    """What a start or a commit asks of the admission of its execution, in the same atomic step.

    Entering (``leave`` false): admitted when fewer than ``limit`` are and nobody waits; then
    ``admitted`` is appended to its own inbox. Else it waits, or, with ``reject``, a commit appends
    ``refused`` to its own inbox and a start is refused whole (LIMITED). Leaving frees its place,
    admits those that wait, each up to the limit in its own header (``alim``), appends ``admitted``
    to their inboxes and makes their timers due. Leaving again changes nothing.

    ``shared``: the limit holds over several partitions, and this one admits as many as it has
    permits for (``ports/permits.py``).

    An ended execution that a commit opens again (its header has ``akey``) is admitted at once, even
    above the limit.
    """

    key: str
    leave: bool = False
    limit: int = 0
    reject: bool = False
    admitted: bytes = b""
    refused: bytes = b""
    shared: bool = False
