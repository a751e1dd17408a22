"""One place of what long tasks keep, over the fields of its execution; see
``ports/checkpoints.py`` for their names and words.
"""

from __future__ import annotations

import json
from collections.abc import Mapping

from conductor_py.ports.checkpoints import Checkpoint, Request, Verdict
from conductor_py.records import dataclass, field

Fields = dict[str, bytes]


def place_of(ref: str, vector: str) -> str:
    """Name the place of a reference and iteration."""
    return f"{ref}#{vector}" if vector else ref


@dataclass(slots=True)
class Past:
    """A record of the history."""

    epoch: int
    at: int
    bytes: int
    hash: str


@dataclass(slots=True)
class Pin:
    """A record that a savepoint holds."""

    part: str
    epoch: int
    bytes: int
    hash: str


@dataclass(slots=True, kw_only=True)
class Stored:
    """One part; ``start`` is what it is to go on from."""

    name: str
    known: bool = False
    epoch: int = 0
    token: int = 0
    hash: str = "-"
    notes: int = 0
    note_bytes: int = 0
    start: str = "-"
    history: list[Past] = field(default_factory=list)


@dataclass(slots=True, kw_only=True)
class Place:
    """What is kept at a place for one line of attempts; ``old`` is what another line left there."""

    fields: Fields
    name: str
    root: int
    token: int = 0
    listed: bool = False
    parts: list[str] = field(default_factory=list)
    savepoints: list[str] = field(default_factory=list)
    old: Place | None = None

    # -- the place ---------------------------------------------------------------------------------

    @property
    def size(self) -> int:
        """How much the execution keeps."""
        return int(self.fields.get("b", b"0"))

    def _grow(self, by: int) -> None:
        if by:
            self.fields["b"] = b"%d" % (self.size + by)

    def places(self) -> list[str]:
        """The places of the execution."""
        found: list[str] = json.loads(self.fields.get("l", b"[]"))
        return found

    def write(self) -> None:
        """Write tokens and names."""
        words = [self.token, self.root, len(self.parts), *self.parts, *self.savepoints]
        self.fields[f"t:{self.name}"] = _words(*words)

    def settle(self) -> None:
        """Delete what another line of attempts kept, and enter the place."""
        if self.old is not None:
            self.old.delete()
            self.old = None
        elif not self.listed:
            names = [*self.places(), self.name]
            self.fields["l"] = json.dumps(names, separators=(",", ":"), ensure_ascii=False).encode()
        self.listed = True

    def delete(self) -> None:
        """Delete everything but the entry of the place itself."""
        self.fields.pop(f"q:{self.name}", None)
        for savepoint in tuple(self.savepoints):
            self.drop_savepoint(savepoint)
        for part in self.stored():
            for past in part.history:
                self._drop_record(part, past)
            self._drop_notes(part)
            del self.fields[self._part(part.name)]

    def enter(self, part: Stored, token: int) -> None:
        """Name a part that is new, under the token that was seen."""
        if not part.known:
            self.parts.append(part.name)
        part.known, self.token = True, token
        self.write()

    def shown(self, generation: int, *, whole: bool) -> Fields:
        """Everything under names without the place."""
        if self.old is not None:
            return {}
        found: dict[str, bytes | None] = {"t": self.fields.get(f"t:{self.name}")}
        if self.request(generation).action != "RUN":
            found["q"] = self.fields[f"q:{self.name}"]
        for savepoint in self.savepoints:
            found[f"s:{savepoint}"] = self.fields[f"s:{savepoint} {self.name}"]
        for part in self.stored():
            found[f"p:{part.name}"] = self.fields[self._part(part.name)]
            if whole:
                found |= self._whole(part)
        return {name: value for name, value in found.items() if value is not None}

    def _whole(self, part: Stored) -> dict[str, bytes | None]:
        found: dict[str, bytes | None] = {}
        if part.history:
            found[f"e:{part.name}"] = self.record(part, part.epoch)
        for number, note in enumerate(self.notes(part), 1):
            found[f"n:{part.name} {number}"] = note
        kind, rest = part.start[0], part.start[1:].rstrip("!")
        if kind == "e":
            found[f"x:{part.name}"] = self.record(part, int(rest))
        elif kind == "s":
            found[f"x:{part.name}"] = self.record(part, rest)
        return found

    # -- parts -------------------------------------------------------------------------------------

    def _part(self, name: str) -> str:
        return f"p:{name} {self.name}"

    def part(self, name: str) -> Stored:
        """Read one part."""
        text = self.fields.get(self._part(name))
        if text is None or self.old is not None:
            return Stored(name=name)
        epoch, token, hash_, notes, size, start, *history = text.decode().split()
        return Stored(
            name=name,
            known=True,
            epoch=int(epoch),
            token=int(token),
            hash=hash_,
            notes=int(notes),
            note_bytes=int(size),
            start=start,
            history=[_past(word) for word in history],
        )

    def stored(self) -> list[Stored]:
        """Read all parts."""
        return [self.part(name) for name in self.parts]

    def _write_part(self, part: Stored) -> None:
        past = [f"{one.epoch}/{one.at}/{one.bytes}/{one.hash}" for one in part.history]
        words = [part.epoch, part.token, part.hash, part.notes, part.note_bytes, part.start]
        self.fields[self._part(part.name)] = _words(*words, *past)

    def record(self, part: Stored, at: int | str) -> bytes | None:
        """Read the record of an epoch, or what a savepoint pins."""
        if not part.known:
            return None
        if isinstance(at, int):
            return self.fields.get(self._record(part, at))
        return self.fields.get(f"k:{at} {part.name} {self.name}")

    def _record(self, part: Stored, epoch: int) -> str:
        return f"e:{part.name} {epoch} {self.name}"

    def notes(self, part: Stored) -> list[bytes]:
        """Read the notes."""
        names = (f"n:{part.name} {number} {self.name}" for number in range(1, part.notes + 1))
        return [self.fields[name] for name in names]

    def append(self, part: Stored, notes: tuple[bytes, ...]) -> None:
        """Append notes."""
        for number, note in enumerate(notes, part.notes + 1):
            self.fields[f"n:{part.name} {number} {self.name}"] = note
        part.notes += len(notes)
        part.note_bytes += sum(map(len, notes))
        self._write_part(part)
        self._grow(sum(map(len, notes)))

    def put(self, part: Stored, checkpoint: Checkpoint, token: int, now_ms: int) -> None:
        """Replace the newest record, and forget the notes and what is too old."""
        self._drop_notes(part)
        if part.history and part.history[0].epoch == checkpoint.epoch:
            self._drop_record(part, part.history.pop(0))
        size = len(checkpoint.record)
        part.history.insert(0, Past(checkpoint.epoch, now_ms, size, checkpoint.hash))
        for past in part.history[checkpoint.retain :]:
            self._drop_record(part, past)
        del part.history[checkpoint.retain :]
        part.epoch, part.token, part.hash = checkpoint.epoch, token, checkpoint.hash
        part.notes, part.note_bytes, part.start = 0, 0, "-"
        self.fields[self._record(part, part.epoch)] = checkpoint.record
        self._grow(size)
        self._write_part(part)

    def _drop_record(self, part: Stored, past: Past) -> None:
        del self.fields[self._record(part, past.epoch)]
        self._grow(-past.bytes)

    def _drop_notes(self, part: Stored) -> None:
        for number in range(1, part.notes + 1):
            del self.fields[f"n:{part.name} {number} {self.name}"]
        self._grow(-part.note_bytes)

    # -- what is asked -----------------------------------------------------------------------------

    def request(self, generation: int) -> Request:
        """What somebody asked in this generation."""
        words = self.fields.get(f"q:{self.name}", b"").decode().split()
        if not words or int(words[0]) != generation:
            return Request(action="RUN")
        return Request(action=words[3], savepoint="" if words[4] == "-" else words[4])

    def ask(self, request: Request, generation: int, now_ms: int) -> int:
        """Keep a request, and make the savepoint that it names; returns its number."""
        words = self.fields.get(f"q:{self.name}", b"").decode().split()
        number = int(words[1]) if words else 0
        makes = request.savepoint if request.action != "RUN" else ""
        if request.action != "SAVEPOINT":
            number += 1
            last = (request.action, makes or "-", int(request.at_once))
            self.fields[f"q:{self.name}"] = _words(generation, number, now_ms, *last)
        if makes:
            self.savepoints.append(makes)
            self.fields[f"s:{makes} {self.name}"] = _words(now_ms)
            for part in self.stored():
                self.pin(makes, part, now_ms)
        return number

    def starting_points(self, request: Request) -> dict[str, str] | Verdict:
        """What each part would go on from, or why it cannot."""
        rewind = "!" if request.rewind else ""
        if request.savepoint:
            if request.savepoint not in self.savepoints:
                return Verdict.UNKNOWN_SAVEPOINT
            pins = self.pins(request.savepoint)
            return {pin.part: f"s{request.savepoint}{rewind}" for pin in pins}
        name = request.part or (self.parts[0] if len(self.parts) == 1 else "")
        if not name:
            return Verdict.WHICH_PART
        epochs = [past.epoch for past in self.part(name).history]
        if request.epoch not in epochs:
            return Verdict.UNKNOWN_EPOCH
        return {name: f"e{request.epoch}{rewind}"}

    def go_on_from(self, points: Mapping[str, str]) -> None:
        """Set what parts are to go on from."""
        for part in self.stored():
            if points.get(part.name, part.start) != part.start:
                part.start = points[part.name]
                self._write_part(part)

    # -- savepoints --------------------------------------------------------------------------------

    def pins(self, savepoint: str) -> list[Pin]:
        """What a savepoint holds."""
        _, *words = self.fields[f"s:{savepoint} {self.name}"].decode().split()
        return [_pin(word) for word in words]

    def pin(self, savepoint: str, part: Stored, now_ms: int) -> None:
        """Hold the newest record of a part under the name of a savepoint."""
        if not part.history:
            return
        newest = part.history[0]
        pins = {pin.part: pin for pin in self.pins(savepoint)}
        before = pins.get(part.name)
        pins[part.name] = Pin(part.name, newest.epoch, newest.bytes, newest.hash)
        record = self.fields[self._record(part, newest.epoch)]
        self.fields[f"k:{savepoint} {part.name} {self.name}"] = record
        words = [f"{pin.part}/{pin.epoch}/{pin.bytes}/{pin.hash}" for pin in pins.values()]
        self.fields[f"s:{savepoint} {self.name}"] = _words(now_ms, *words)
        self._grow(newest.bytes - (before.bytes if before else 0))

    def drop_savepoint(self, savepoint: str) -> None:
        """Forget a savepoint."""
        for pin in self.pins(savepoint):
            del self.fields[f"k:{savepoint} {pin.part} {self.name}"]
            self._grow(-pin.bytes)
        del self.fields[f"s:{savepoint} {self.name}"]
        self.savepoints.remove(savepoint)
        self.write()


def open_place(fields: Fields, name: str, root: int) -> Place:
    """Read what is kept at a place for the line of attempts that began with ``root``."""
    words = fields.get(f"t:{name}", b"").decode().split()
    if not words:
        return Place(fields=fields, name=name, root=root)
    parts = 3 + int(words[2])
    kept = Place(
        fields=fields,
        name=name,
        root=int(words[1]),
        token=int(words[0]),
        listed=True,
        parts=words[3:parts],
        savepoints=words[parts:],
    )
    if kept.root == root:
        return kept
    return Place(fields=fields, name=name, root=root, token=kept.token, listed=True, old=kept)


def _words(*words: object) -> bytes:
    return " ".join(map(str, words)).encode()


def _past(word: str) -> Past:
    epoch, at, size, hash_ = word.split("/")
    return Past(int(epoch), int(at), int(size), hash_)


def _pin(word: str) -> Pin:
    part, epoch, size, hash_ = word.split("/")
    return Pin(part, int(epoch), int(size), hash_)
