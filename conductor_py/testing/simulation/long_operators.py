"""What people ask of long tasks: to stop, to wait, to end, to go on from here or from before."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from typing import Any, Final

from conductor_py.adapters.memory.claims import attempt_of
from conductor_py.adapters.memory.space import Execution
from conductor_py.engine import Engine
from conductor_py.model.execution import Vector
from conductor_py.model.places import wire_ref
from conductor_py.testing.simulation.long_tasks import LONG, PARTS

_ASKED: Final = ("STOP", "STOP", "STOP", "PAUSE", "RUN", "RUN", "SAVEPOINT", "SAVEPOINT", "CANCEL")
_SAVEPOINTS: Final = ("s1", "s2")
_SAVES: Final = frozenset({"STOP", "RUN"})
"""What may name a savepoint: to make it, or to go on from it."""


def asked_of_a_task(chance: random.Random, stored: Execution) -> Callable[[Engine], Any] | None:
    """Draw what is asked of one of the long tasks of an execution; ``None``: it has none."""
    refs = list(_long_tasks(stored))
    if not refs:
        return None
    ref, action = chance.choice(refs), chance.choice(_ASKED)
    savepoint, part, epoch = "", "", None
    if action == "SAVEPOINT" or (action in _SAVES and chance.random() < 0.5):
        savepoint = chance.choice(_SAVEPOINTS)
    elif action == "RUN" and chance.random() < 0.4:
        part, epoch = chance.choice(PARTS), chance.randrange(1, 4)
    execution = stored.id
    return lambda engine: engine.checkpoints.ask(
        execution, ref, action, savepoint=savepoint, part=part, epoch=epoch
    )


def let_run(execution: str, ref: str) -> Callable[[Engine], Any]:
    """Resume a task."""
    return lambda engine: engine.checkpoints.ask(execution, ref, "RUN")


def stands_still(stored: Execution) -> Iterator[str]:
    """List the tasks that somebody has asked to stop or to wait, by their names on the wire."""
    for name, text in stored.checkpoints.items():
        words = text.decode().split() if name.startswith("q:") else ()
        if words and int(words[0]) == stored.generation and words[3] in {"STOP", "PAUSE"}:
            ref, _, vector = name[2:].partition("#")
            yield wire_ref(ref, Vector(vector))


def _long_tasks(stored: Execution) -> Iterator[str]:
    for name, text in stored.fields.items():
        attempt = attempt_of(text) if name.startswith("a:") else None
        if attempt is not None and attempt.definition == LONG:
            yield wire_ref(attempt.ref, Vector(attempt.vector))


__all__ = ["asked_of_a_task", "let_run", "stands_still"]
