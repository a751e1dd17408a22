"""Heads of versioned definitions in the answers of a server: found, and taken apart."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from conductor_py.errors import NotFound
from conductor_py.sdk.errors import UnexpectedAnswer

if TYPE_CHECKING:
    from conductor_py.sdk import Client
    from conductor_py.sdk.catalog_calls import Noun


def found_head(conductor: Client, name: str, *, is_task: bool = False) -> Mapping[str, Any]:
    """Find a head by name or code; tasks go by code only, as their names need not be unlike."""
    known = [] if is_task else conductor.list_heads("workflows", name=name)
    if known:
        return known[0]
    if name.isascii() and name.isdecimal():
        return conductor.get_head(noun_of(is_task=is_task), name)
    raise NotFound(f"There is no {'task of the code' if is_task else 'workflow'} {name}")


def code_of(head: Mapping[str, Any]) -> str:
    """Take the code of a head (``UnexpectedAnswer`` when there is none)."""
    found = head.get("code")
    if not isinstance(found, str):
        raise UnexpectedAnswer("the server answered no code", status=200)
    return found


def noun_of(*, is_task: bool) -> Noun:
    """Name a kind as paths do."""
    return "tasks" if is_task else "workflows"


def number_of(found: object) -> int:
    """Take a number for one; 0 for anything else."""
    return found if isinstance(found, int) else 0


def object_of(found: object) -> Mapping[str, Any]:
    """Take an object for one; an empty one for anything else."""
    return found if isinstance(found, Mapping) else {}
