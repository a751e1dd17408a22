"""A mutant: one bug as a person would make it, and what is expected to notice."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

LUA: Final = "conductor_py/adapters/redis/lua"
MEMORY: Final = "conductor_py/adapters/memory"
ENGINE: Final = "conductor_py/engine"
DECIDER: Final = "conductor_py/decider"
SDK: Final = "conductor_py/sdk"

ON_REDIS: Final = "valkey-newest"
"""Chooses, of a suite that runs on every store, the run on one real server."""

_UNSEEN: Final = (LUA, "conductor_py/adapters/redis", "conductor_py/adapters/sqlite", SDK)
"""What no simulation runs: it has the memory adapters, and workers of its own."""


@dataclass(frozen=True, slots=True)
class Edit:
    """A text that stands exactly once in a file, and what the mutant has instead."""

    file: str
    old: str
    new: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Mutant:
    """A planted bug.

    ``bug`` is one sentence, ``breaks`` names invariants (``I1``) and known anomalies (``A-6``).
    ``caught_by`` lists what ought to notice, quickest first: what pytest is asked for, a path with
    a ``-k`` at most.
    """

    id: str
    bug: str
    breaks: tuple[str, ...]
    edits: tuple[Edit, ...]
    caught_by: tuple[str, ...]

    @property
    def files(self) -> tuple[str, ...]:
        """The files it touches."""
        return tuple(dict.fromkeys(edit.file for edit in self.edits))

    @property
    def simulated(self) -> bool:
        """Whether it touches something that the simulation runs."""
        return not all(file.startswith(_UNSEEN) for file in self.files)


def on_redis(path: str) -> str:
    """A suite of the ports, on one real server."""
    return f"{path} -k {ON_REDIS}"


def in_both(
    script: str, old: str, new: str, *, twin: str, memory_old: str, memory_new: str
) -> tuple[Edit, Edit]:
    """The same bug in a script and in its twin in memory, so that the simulation meets it too."""
    return (
        Edit(f"{LUA}/{script}.lua", old, new),
        Edit(f"{MEMORY}/{twin}.py", memory_old, memory_new),
    )


NAME: Final = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*\Z")
INVARIANT: Final = re.compile(r"I([1-9]|1[0-2])\Z|A-[1-9][0-9]?\Z")
