"""Looking into Redis as an auditor does: one script an execution, pages of keys and of members."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Final
from zlib import crc32

import orjson

from conductor_py.adapters.redis.connection import Reply
from conductor_py.adapters.redis.names import fields_of, names_of, number_of, score_of, shown
from conductor_py.adapters.redis.reader import RedisExecutionReader
from conductor_py.adapters.redis.record import DAMAGED, record_of, setback_of
from conductor_py.adapters.redis.scripts import Scripts
from conductor_py.errors import StoreDamaged, StoreFailure, StoreFull, StoreUnavailable
from conductor_py.model.ids import ExecutionId, partition_of
from conductor_py.ports.inspector import (
    UNREADABLE,
    WALKED,
    Inspection,
    OpenAttempt,
    Place,
    Standing,
    StoredKey,
    unreadable,
)

_MOST_FIELDS: Final = 4_000
_PLACED_AT_ONCE: Final = 500
_PLACE: Final = 9
_DAMAGED: Final = 2
"""How long the script's reply is when an execution cannot be read: the time, and what is wrong."""
_FOR_EVER: Final = -1
_OPEN: Final = re.compile(rb'"st": ?"(SCHEDULED|IN_PROGRESS)"')
_KIND = re.compile("|".join(re.escape(kind) for kind in sorted(WALKED, key=len, reverse=True)))
_HASHES: Final = frozenset({"effects"})
_OF_THE_STORE: Final = frozenset({"v", "l", "k", "q"})


class RedisInspector:
    """``Inspector`` on Redis."""

    def __init__(self, scripts: Scripts) -> None:
        """Share the scripts of the namespace."""
        self._scripts = scripts
        self._reader = RedisExecutionReader(scripts)
        name = re.sub(r"([*?\[\]\\])", r"\\\1", scripts.namespace.name)
        self._pattern = f"{{{name}:*}}:*"
        self._key = re.compile(rf"\{{{re.escape(scripts.namespace.name)}:(\d+)\}}:(.*)", re.DOTALL)

    # -- one execution -----------------------------------------------------------------------------

    def check(self) -> None:
        partitions = range(self._scripts.namespace.partitions)
        replies = self._scripts.run_in("try_write", [(each, ()) for each in partitions])
        failures = [reply for reply in replies if isinstance(reply, StoreFailure)]
        if failures:  # of several servers the one that takes nothing is told of, not the full one
            raise min(failures, key=lambda each: isinstance(each, StoreFull))

    def inspect(self, execution: ExecutionId) -> Inspection | None:
        reply = self._look(execution)
        if reply is None or len(reply) == _DAMAGED:
            return None if reply is None else _unreadable(execution, *reply)
        flat = reply[13]
        if flat is not None:
            return _inspection(execution, reply, fields_of(flat), _places(reply[14]))
        try:
            found = self._reader.snapshot(execution)
        except StoreDamaged as damaged:
            return _unreadable(execution, reply[0], damaged.message.encode())
        if found is None:
            return None
        places: dict[int, Place] = {}
        open_ = iter(_open_attempts(found[1]))
        while seqs := tuple(islice(open_, _PLACED_AT_ONCE)):
            reply = self._look(execution, *seqs)
            if reply is None or len(reply) == _DAMAGED:
                return None if reply is None else _unreadable(execution, *reply)
            places |= _places(reply[14])
        return _inspection(execution, reply, dict(found[1]), places)

    def _look(self, execution: ExecutionId, *seqs: int) -> Reply:
        arguments = (self._scripts.now(), execution, _MOST_FIELDS, *seqs)
        return self._scripts.run("inspect_execution", partition_of(execution), arguments)

    def standings(self, executions: Sequence[ExecutionId]) -> dict[ExecutionId, Standing]:
        known = [one for one in executions if partition_of(one) < self._partitions]
        if not known:
            return {}
        records = self._scripts.connection.each(
            [("HGET", f"{self._scripts.prefix(partition_of(one))}exec:{one}", "v") for one in known]
        )
        for record in records:
            if isinstance(record, StoreUnavailable):
                raise record
        return {
            execution: _standing(record)
            for execution, record in zip(known, records, strict=True)
            if record is not None
        }

    def open_attempts(
        self, executions: Sequence[ExecutionId], task_type: str
    ) -> tuple[OpenAttempt, ...]:
        found: dict[ExecutionId, list[OpenAttempt]] = {one: [] for one in executions}
        of_each: dict[int, list[ExecutionId]] = {}
        for one in found:
            of_each.setdefault(partition_of(one), []).append(one)
        for partition, ids in of_each.items():
            if partition < self._partitions:
                flat = iter(self._scripts.run("find_open", partition, (task_type, *ids)))
                for id_, seq, queued, held in zip(flat, flat, flat, flat, strict=True):
                    one = ExecutionId(id_.decode())
                    found[one].append(OpenAttempt(one, int(seq), queued == 1, held == 1))
        return tuple(attempt for one in found.values() for attempt in one)

    # -- all of them -------------------------------------------------------------------------------

    def walk(self, cursor: str, limit: int) -> tuple[tuple[StoredKey, ...], str]:
        place, mark, scanned = _cursor(cursor, self._partitions)
        prefixes = self._scripts.namespace.prefixes
        servers = self._scripts.connection.servers_of(prefixes, fresh=not cursor)
        if mark != (known := _mark(servers)):  # partitions have moved: what was seen where is void
            place, scanned = 0, "0"
        # The first pattern says which server is meant, the last one counts.
        route = f"{prefixes[place]}*"
        at, names = self._scripts.connection.command(
            "SCAN", scanned, "MATCH", route, "COUNT", limit, "MATCH", self._pattern
        )
        keys = tuple(key for name in names_of(names) if (key := self._named(name)) is not None)
        if at != b"0":
            return keys, f"{place}.{known}.{at.decode()}"
        seen = set(servers[: place + 1])
        later = (one for one in range(place + 1, self._partitions) if servers[one] not in seen)
        following = next(later, None)
        return keys, "" if following is None else f"{following}.{known}.0"

    def members(
        self, key: StoredKey, cursor: str, limit: int
    ) -> tuple[tuple[tuple[str, int], ...], str]:
        command = "HSCAN" if key.kind in _HASHES else "ZSCAN"
        at, flat = self._scripts.connection.command(
            command, self._spelled(key), cursor or "0", "COUNT", limit
        )
        members = tuple(
            (shown(flat[i]), _number(flat[i + 1].split(b" ", 1)[0])) for i in range(0, len(flat), 2)
        )
        return members, "" if at == b"0" else at.decode()

    def stays(self, key: StoredKey) -> bool:
        return int(self._scripts.connection.command("TTL", self._spelled(key))) == _FOR_EVER

    def size(self, key: StoredKey) -> int:
        command = "HLEN" if key.kind in _HASHES else "ZCARD"
        return int(self._scripts.connection.command(command, self._spelled(key)))

    def head(self, key: StoredKey, limit: int) -> tuple[tuple[str, int], ...]:
        flat = self._scripts.connection.command(
            "ZRANGE", self._spelled(key), 0, limit - 1, "WITHSCORES"
        )
        return tuple((shown(flat[i]), _number(flat[i + 1])) for i in range(0, len(flat), 2))

    def scores(self, key: StoredKey, members: Sequence[str]) -> dict[str, int]:
        if not members:
            return {}
        found = self._scripts.connection.command("ZMSCORE", self._spelled(key), *members)
        return {
            member: _number(score)
            for member, score in zip(members, found, strict=True)
            if score is not None
        }

    # -- what an audit found -----------------------------------------------------------------------

    def record_audit(self, counts: Mapping[str, int]) -> None:
        self._scripts.write(0, "SET", "audit", orjson.dumps(dict(counts)))

    def last_audit(self) -> dict[str, int]:
        text = self._scripts.connection.command("GET", self._scripts.prefix(0) + "audit")
        try:
            return {name: int(count) for name, count in orjson.loads(text or b"{}").items()}
        except (ValueError, TypeError, AttributeError, OverflowError) as error:
            raise StoreDamaged(
                f"What the last audit counted cannot be read: {error}. The next one replaces it."
            ) from error

    @property
    def _partitions(self) -> int:
        return self._scripts.namespace.partitions

    def _spelled(self, key: StoredKey) -> str:
        return f"{self._scripts.prefix(key.partition)}{key.kind}{key.rest}"

    def _named(self, name: str) -> StoredKey | None:
        found = self._key.fullmatch(name)
        kind = _KIND.match(found[2]) if found else None
        if found is None or kind is None or int(found[1]) >= self._partitions:
            return None
        rest = found[2][kind.end() :]
        if rest and not kind[0].endswith(":"):
            return None
        return StoredKey(int(found[1]), kind[0], rest)


def _cursor(text: str, partitions: int) -> tuple[int, str, str]:
    """Read a cursor: the first partition of the server that is looked at, the mark of the map it
    was made under, the server's own cursor.
    """
    if not text:
        return 0, "", "0"
    place, _, rest = text.partition(".")
    mark, _, scanned = rest.partition(".")
    if not (place.isdigit() and scanned.isdigit() and int(place) < partitions):
        raise ValueError(text)
    return int(place), mark, scanned


def _mark(servers: Sequence[str]) -> str:
    return f"{crc32('|'.join(servers).encode()):x}"


def _open_attempts(fields: Mapping[str, bytes]) -> Iterator[int]:
    for name, state in fields.items():
        if name.startswith("a:") and name[2:].isdecimal() and _OPEN.search(state):
            yield int(name[2:])


def _places(flat: Sequence[Reply]) -> dict[int, Place]:
    found = {}
    values = iter(flat)
    while row := tuple(islice(values, _PLACE)):
        seq, claim, ready, delayed, parked, timer, permit, ordered, published = row
        found[seq] = Place(
            seq=seq,
            claim=claim,
            ready=ready is not None,
            delayed_ms=_number(delayed),
            parked=bool(parked),
            timer_ms=_number(timer),
            permit_ms=_number(permit),
            ordered=bool(ordered),
            published=bool(published),
        )
    return found


def _inspection(
    execution: ExecutionId, reply: Reply, fields: dict[str, bytes], places: dict[int, Place]
) -> Inspection:
    record = record_of(reply[1])
    if record is None:
        return _unreadable(execution, reply[0], DAMAGED.encode())
    until, _, holder = reply[2].partition(b" ")
    effects = zip(reply[12][::2], reply[12][1::2], strict=True)
    return Inspection(
        execution=execution,
        now_ms=reply[0],
        version=record.version,
        terminal=record.terminal,
        generation=record.generation,
        status=record.status,
        home=record.home,
        first_event=record.first_event,
        lease_until=number_of(until) or 0,
        holder=shown(holder),
        setback=setback_of(reply[3], record.version),
        waiting=reply[4],
        events=tuple(reply[5]),
        parked=reply[6],
        due_ms=_number(reply[7]),
        listed=bool(reply[8]),
        counted=bool(reply[9]),
        admitted=reply[10] is not None,
        ahead=-1 if reply[11] is None else reply[11],
        effects={kind.decode(): _number(due) for kind, due in effects if due is not None},
        fields={name: value for name, value in fields.items() if name not in _OF_THE_STORE},
        places=places,
        percent_full=reply[15],
    )


def _unreadable(execution: ExecutionId, now_ms: int, problem: bytes) -> Inspection:
    return unreadable(execution, now_ms, shown(problem))


def _standing(stored: object) -> Standing:
    record = record_of(stored) if isinstance(stored, bytes) else None
    if record is None:  # it is there; how it stands cannot be told
        return UNREADABLE
    return Standing(record.terminal, record.status, record.generation)


def _number(score: bytes | None) -> int:
    try:
        return 0 if score is None else score_of(score)
    except ValueError:
        return 0  # what stands there is no number
