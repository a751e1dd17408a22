"""The fields that ports/checkpoints.py shows <-> model."""

from __future__ import annotations

from collections.abc import Mapping

import orjson

from conductor_py.model.checkpoints import (
    KeptPart,
    KeptPlace,
    Past,
    Savepoint,
    StartingPoint,
    Wanted,
)


def load_place(shown: Mapping[str, bytes]) -> KeptPlace:
    """Read what is shown of a place; nothing shown is an empty one."""
    head = shown.get("t", b"").decode().split()
    if not head:
        return KeptPlace()
    parts = 3 + int(head[2])
    return KeptPlace(
        token=int(head[0]),
        parts=tuple(_part(name, shown) for name in head[3:parts]),
        savepoints=tuple(_savepoint(name, shown[f"s:{name}"]) for name in head[parts:]),
        root=int(head[1]),
        wanted=load_wanted(shown["q"]) if "q" in shown else None,
    )


def load_places(dumped: Mapping[str, bytes]) -> dict[str, KeptPlace]:
    """Read all places of an execution, without records and notes."""
    found: dict[str, KeptPlace] = {}
    for place in orjson.loads(dumped.get("l", b"[]")):
        head = dumped.get(f"t:{place}", b"").decode().split()
        if head:
            found[place] = load_place(_shown(place, head, dumped))
    return found


def _shown(place: str, head: list[str], dumped: Mapping[str, bytes]) -> dict[str, bytes]:
    parts = 3 + int(head[2])
    shown = {"t": dumped[f"t:{place}"]}
    if f"q:{place}" in dumped:
        shown["q"] = dumped[f"q:{place}"]
    shown |= {f"p:{name}": dumped[f"p:{name} {place}"] for name in head[3:parts]}
    shown |= {f"s:{name}": dumped[f"s:{name} {place}"] for name in head[parts:]}
    return shown


def _part(name: str, shown: Mapping[str, bytes]) -> KeptPart:
    epoch, token, hash_, notes, size, start, *history = shown[f"p:{name}"].decode().split()
    record = shown.get(f"e:{name}")
    found = [shown.get(f"n:{name} {number}") for number in range(1, int(notes) + 1)]
    return KeptPart(
        name=name,
        epoch=int(epoch),
        token=int(token),
        hash="" if hash_ == "-" else hash_,
        record=None if record is None else orjson.loads(record),
        notes=tuple(orjson.loads(note) for note in found if note is not None),
        note_count=int(notes),
        note_bytes=int(size),
        start=_start(name, start, shown),
        history=tuple(_past(word) for word in history),
    )


def _start(name: str, word: str, shown: Mapping[str, bytes]) -> StartingPoint | None:
    if word == "-":
        return None
    text = shown.get(f"x:{name}")
    record = None if text is None else orjson.loads(text)
    rewind, at = word.endswith("!"), word[1:].removesuffix("!")
    if word.startswith("e"):
        return StartingPoint(epoch=int(at), record=record, rewind=rewind)
    return StartingPoint(savepoint=at, record=record, rewind=rewind)


def _past(word: str) -> Past:
    epoch, at, size, hash_ = word.split("/")
    return Past(epoch=int(epoch), at_ms=int(at), bytes=int(size), hash=hash_)


def _savepoint(name: str, text: bytes) -> Savepoint:
    at, *pins = text.decode().split()
    epochs = (pin.split("/") for pin in pins)
    return Savepoint(
        name=name, at_ms=int(at), epochs={part: int(epoch) for part, epoch, _, _ in epochs}
    )


def load_wanted(text: bytes) -> Wanted | None:
    """Read what is asked of a task; ``None``: that it runs."""
    _, number, at, action, savepoint, at_once = text.decode().split()
    if action == "RUN":
        return None
    return Wanted(
        action=action,
        number=int(number),
        at_ms=int(at),
        savepoint="" if savepoint == "-" else savepoint,
        at_once=at_once == "1",
    )
