"""Reads of one execution: plain fields, pointers that are followed, and what a lease holder is
given to decide.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Final

import orjson

from conductor_py.adapters.memory.claims import attempt_of
from conductor_py.adapters.memory.space import Execution, Partition
from conductor_py.ports.store import Loaded

_EVENTS: Final = 1000
_ATTEMPTS: Final = 256
_BYTES: Final = 1 << 20
_VECTOR = re.compile(r"#\*(\d+)\Z")
_ATTEMPT_EVENT = re.compile(rb"(\d+) ")


class FieldReader:
    """Collects fields, each once, within a budget of bytes; what does not fit is left out, but for
    the ``first`` value.
    """

    def __init__(self, execution: Execution, budget: int, *, first: bool = False) -> None:
        """Begin with nothing read."""
        self._first = first
        self._execution = execution
        self._first_seq = execution.first_seq()
        self._room = budget
        self.found: dict[str, bytes | None] = {}

    def fetch(self, names: Iterable[str]) -> None:
        """Read fields by name; pointers below the first attempt that exists read as absent."""
        for name in names:
            if name in self.found:
                continue
            value = self._execution.fields.get(name)
            if value is not None and name.startswith("r:") and int(value) < self._first_seq:
                value = None
            size = 0 if value is None else len(value)
            if size <= self._room or self._first:
                self._room = max(self._room - size, 0)
                self._first = self._first and value is None
                self.found[name] = value

    def read(self, reads: Sequence[str]) -> None:
        """Read ``<field>`` or ``><kinds> <pointer field>``."""
        self.fetch(read.split(" ", 1)[1] if read.startswith(">") else read for read in reads)
        for read in reads:
            if read.startswith(">"):
                kinds, pointer = read[1:].split(" ", 1)
                seq = self.found.get(pointer)
                if seq is not None:
                    self.fetch(f"{kind}:{seq.decode()}" for kind in kinds)


def expand_vector(name: str, vector: str) -> str:
    """Replace ``#*<n>`` at the end by the first n components of the iteration vector."""
    found = _VECTOR.search(name)
    if found is None:
        return name
    parts = vector.split(".")[: int(found[1])] if vector else []
    return name[: found.start()] + ("#" + ".".join(parts) if parts else "")


def loaded(partition: Partition, execution: Execution, now_ms: int) -> Loaded:
    """Collect what whoever holds the lease needs."""
    events = tuple(execution.inbox[:_EVENTS])
    reader = FieldReader(execution, _BYTES)
    seqs = dict.fromkeys(
        found[1].decode() for event in events if (found := _ATTEMPT_EVENT.match(event))
    )
    named = list(seqs)[:_ATTEMPTS]
    reader.fetch(f"{kind}:{seq}" for seq in named for kind in "aco")
    reads: list[str] = []
    for seq in named:
        state = reader.found.get(f"a:{seq}")
        if state is None:
            continue
        attempt = attempt_of(state)
        plan = partition.plans.get(attempt.plan)
        wanted = (plan.reads.get(attempt.ref) or plan.reads.get("*")) if plan is not None else None
        if wanted is not None:
            reads += (expand_vector(read, attempt.vector) for read in orjson.loads(wanted))
    reader.read(reads)
    reader.found["h"] = execution.fields.get("h", b"")
    return Loaded(
        execution=execution.id,
        version=execution.version,
        now_ms=now_ms,
        first_event=execution.base,
        events=events,
        fields=reader.found,
    )
