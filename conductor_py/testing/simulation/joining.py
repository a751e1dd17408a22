"""I5: a join that ends has nothing open left of what it waits for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import orjson

from conductor_py.adapters.memory.space import Execution
from conductor_py.testing.simulation.findings import Before

if TYPE_CHECKING:
    from conductor_py.testing.simulation.world import World


def join_left_open(
    world: World, before: Before, stored: Execution, fields: Mapping[str, bytes]
) -> None:
    """Look at the joins that a commit completes."""
    for name, text in fields.items():
        if not name.startswith("a:") or b'"type":"JOIN"' not in text:
            continue
        join = orjson.loads(text)
        was = before.fields.get(name, b"")
        if join["st"] != "COMPLETED" or b'"COMPLETED"' in was:
            continue
        waits_for = orjson.loads(stored.fields.get(f"i:{name[2:]}", b"{}")).get("joinOn") or ()
        for ref in _open_beside(stored, join):
            if ref in waits_for:
                said = f"{join['ref']} of {world.names.of_execution(stored.id)}"
                world.violated("I5", f"{said} completes, and {ref} is open")


def _open_beside(stored: Execution, join: Mapping[str, object]) -> list[str]:
    """List what is open in the same iteration of the same generation."""
    attempts = (orjson.loads(text) for name, text in stored.fields.items() if name[:2] == "a:")
    return [
        str(a["ref"])
        for a in attempts
        if a["st"] in {"SCHEDULED", "IN_PROGRESS"}
        and (a["gen"], a["it"]) == (join["gen"], join["it"])
    ]


__all__ = ["join_left_open"]
