"""What differs between two versions of a workflow: by tasks and relations, not by lines.

Tasks are compared by their codes, so one that got another reference is the same one; relations as
sets. Within both, objects are compared member by member, and lists as wholes.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from enum import StrEnum

from conductor_py.model.catalog import Pin
from conductor_py.model.json import JsonObject, JsonValue
from conductor_py.records import dataclass


class Change(StrEnum):
    """What became of a task or relation."""

    ADDED = "added"
    REMOVED = "removed"
    CHANGED = "changed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Difference:
    """A value that differs; ``None`` in the place of one that is not there."""

    path: str
    before: JsonValue
    after: JsonValue


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskChange:
    """A task that differs: how it was pinned, how it is now."""

    change: Change
    before: Pin | None
    after: Pin | None
    members: tuple[Difference, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class RelationChange:
    """A relation that came or went."""

    change: Change
    relation: JsonObject


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkflowDiff:
    """All that differs."""

    header: tuple[Difference, ...]
    tasks: tuple[TaskChange, ...]
    relations: tuple[RelationChange, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Placed:
    """A pinned task with its content, as the workflow has it."""

    pin: Pin
    content: JsonObject


def diff(
    before: JsonObject, was: tuple[Placed, ...], after: JsonObject, now: tuple[Placed, ...]
) -> WorkflowDiff:
    """Compare two versions, each a header and what it places."""
    header = list(differences(_without_relations(before), _without_relations(after), "$"))
    first, second = _order(was, now), _order(now, was)
    if first != second:
        header.append(Difference(path="$.tasks", before=first, after=second))
    return WorkflowDiff(
        header=tuple(header),
        tasks=tuple(_tasks(was, now)),
        relations=tuple(_relations(before, after)),
    )


def differences(before: JsonValue, after: JsonValue, path: str) -> Iterator[Difference]:
    """List what differs between two values, below ``path``."""
    if isinstance(before, Mapping) and isinstance(after, Mapping):
        for name in dict.fromkeys((*before, *after)):
            here = f"{path}{_step(name)}"
            if name in before and name in after:
                yield from differences(before[name], after[name], here)
            else:
                yield Difference(path=here, before=before.get(name), after=after.get(name))
    elif _text(before) != _text(after):
        yield Difference(path=path, before=before, after=after)


def _text(value: JsonValue) -> str:
    """A value as JSON: 1, 1.0 and true are three."""
    return json.dumps(value, sort_keys=True, default=_plain)


def _plain(value: object) -> object:
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError


def _tasks(was: tuple[Placed, ...], now: tuple[Placed, ...]) -> Iterator[TaskChange]:
    left = {_key(each): each for each in was}
    for each in now:
        old = left.pop(_key(each), None)
        if old is None:
            yield TaskChange(change=Change.ADDED, before=None, after=each.pin)
            continue
        members = tuple(differences(old.content, each.content, "$"))
        if members:
            yield TaskChange(change=Change.CHANGED, before=old.pin, after=each.pin, members=members)
    for gone in left.values():
        yield TaskChange(change=Change.REMOVED, before=gone.pin, after=None)


def _order(of: tuple[Placed, ...], other: tuple[Placed, ...]) -> list[JsonValue]:
    """The references of the tasks that both have, in the order of the first."""
    both = {_key(each) for each in other}
    named = {_key(each): each.pin.reference for each in other}
    return [named[_key(each)] for each in of if _key(each) in both]


def _key(placed: Placed) -> tuple[int, str]:
    """A task of its own stands in a workflow once; one that is used may stand there again."""
    used = placed.pin.changes is not None
    return placed.pin.code, placed.pin.reference if used else ""


def _relations(before: JsonObject, after: JsonObject) -> Iterator[RelationChange]:
    was, now = _listed(before), _listed(after)
    for key, relation in now.items():
        if key not in was:
            yield RelationChange(change=Change.ADDED, relation=relation)
    for key, relation in was.items():
        if key not in now:
            yield RelationChange(change=Change.REMOVED, relation=relation)


def _listed(header: JsonObject) -> dict[tuple[tuple[str, str], ...], JsonObject]:
    found = header.get("relations")
    relations = found if isinstance(found, list | tuple) else ()
    return {
        tuple(sorted((name, str(value)) for name, value in each.items())): each
        for each in relations
        if isinstance(each, Mapping)
    }


def _without_relations(header: JsonObject) -> JsonObject:
    return {name: value for name, value in header.items() if name != "relations"}


def _step(name: str) -> str:
    return f".{name}" if name.isidentifier() else f"['{name}']"
