"""What recovery keeps in an execution <-> model: a walk under way, why permissive tasks failed."""

from __future__ import annotations

from dataclasses import fields
from typing import Any, Final

import orjson

from conductor_py.model.execution import PermissiveFailures, Vector, Walk

_NAMES: Final = {
    "kind": "kind",
    "last": "last",
    "target": "seq",
    "forgets": "forgets",
    "adopts": "adopts",
    "resumes": "resumes",
    "ref": "ref",
    "vector": "it",
    "given": "given",
    "scope": "scope",
    "cut_off": "cut",
    "untold": "untold",
}


def dump_walk(walk: Walk) -> dict[str, Any]:
    """The fields of the JSON object it is stored as; what equals its default is left out."""
    defaults = {field.name: field.default for field in fields(Walk)}
    values = {name: getattr(walk, name) for name in _NAMES}
    return {_NAMES[name]: value for name, value in values.items() if value != defaults[name]}


def load_walk(stored: bytes) -> Walk:
    """Read it."""
    found: dict[str, Any] = orjson.loads(stored)
    more = {name: found[key] for name, key in _NAMES.items() if key in found}
    if "vector" in more:
        more["vector"] = Vector(more["vector"])
    return Walk(**more)


def dump_permissive(failures: PermissiveFailures) -> dict[str, Any]:
    """The fields of the JSON object they are stored as."""
    return {"gen": failures.generation, "why": list(failures.reasons)}


def load_permissive(stored: bytes) -> PermissiveFailures:
    """Read them."""
    found: dict[str, Any] = orjson.loads(stored)
    return PermissiveFailures(generation=found["gen"], reasons=tuple(found["why"]))
