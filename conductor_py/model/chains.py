"""Chains: executions that start each other, each soon after its own start.

Stored, and told to those who carry out a start, as two members: an older release reads the first.
"""

from __future__ import annotations

from collections.abc import Mapping

from conductor_py.model.json import JsonValue
from conductor_py.records import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Chain:
    """Where an execution stands: its ``number`` in a chain, and the id of the ``root`` that it
    counts under (empty: under none, and what it starts itself counts under its own id).
    """

    number: int = 0
    root: str = ""

    def members(self) -> dict[str, JsonValue]:
        """Write it, what is not set left out."""
        written: dict[str, JsonValue] = {"chain": self.number, "root": self.root}
        return {name: value for name, value in written.items() if value}


NO_CHAIN = Chain()


def chain_in(stored: Mapping[str, object]) -> Chain:
    """Read it; what was stored before there was any has none."""
    number, root = stored.get("chain"), stored.get("root")
    return Chain(
        number=number if isinstance(number, int) else 0, root=root if isinstance(root, str) else ""
    )
