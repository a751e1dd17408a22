"""What cannot be read in Redis: the scripts put it aside, here it is listed, retried, dropped, and
shared keys of a wrong type are set aside.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from conductor_py.adapters.redis.connection import Argument
from conductor_py.adapters.redis.keys import KEYS
from conductor_py.adapters.redis.names import names_of, number_of, shown
from conductor_py.adapters.redis.outbox import arguments_of
from conductor_py.adapters.redis.scripts import Scripts
from conductor_py.errors import StoreFailure
from conductor_py.model.homes import homes_of
from conductor_py.ports.damage import Damaged, execution_of
from conductor_py.ports.store import Effect

_SHARED: Final = tuple((kind.kind, kind.name) for kind in KEYS if not kind.name.endswith(":"))
"""The keys that are one a partition."""
_AT_ONCE: Final = 1_000
"""Names of one script: about a millisecond. So many queues and workflows are looked at each time:
who starts a workflow can invent some.
"""


class RedisDamage:
    """``DamageStore`` on Redis."""

    def __init__(self, scripts: Scripts) -> None:
        """Share the scripts of the namespace."""
        self._scripts = scripts
        self._cursors: dict[str, bytes] = {}

    def listed(self) -> Sequence[Damaged]:
        prefixes = self._scripts.namespace.prefixes
        replies = self._scripts.connection.pipeline([("HGETALL", f"{p}damaged") for p in prefixes])
        found = [
            _damaged(f"{partition} {shown(flat[at])}", flat[at + 1])
            for partition, flat in enumerate(replies)
            for at in range(0, len(flat), 2)
        ]
        return sorted(found, key=lambda one: (one.since_ms, one.entry))

    def retry(self, entry: str) -> bool:
        return self._settle("retry", entry)

    def drop(
        self,
        entry: str,
        *,
        header: bytes = b"",
        workflow: str = "",
        admitted: bytes = b"",
        post: Effect | None = None,
    ) -> bool:
        execution = execution_of(entry)
        effect = f"{execution}:forget" if execution else ""
        gone = (workflow, effect, admitted, header, *arguments_of(post))
        return self._settle("drop", entry, gone)

    def mend(self) -> Sequence[str]:
        mended: list[str] = []
        shards = [b"s0"]
        for partition in range(self._scripts.namespace.partitions):
            try:
                mended += self._mend(partition, _SHARED)
                if partition == 0:
                    shards += self._command(0, "HKEYS", "shards")
                mended += self._mend(partition, self._named(partition, shards))
            except StoreFailure:
                if self._scripts.namespace.partitions == 1:
                    raise
        return mended

    def _named(self, partition: int, shards: Sequence[bytes]) -> list[tuple[str, str]]:
        """The shared keys that are one a shard, a queue or a workflow."""
        served = set(names_of(shards))
        names = [("zset", f"timers:{home}") for shard in served for home in homes_of(shard)]
        for name in self._next(partition, "queues"):
            queue, *shard = name.split("\n", 1)
            names += [("zset", f"{kind}:{queue}:{''.join(shard)}") for kind in ("queue", "delayed")]
            names += [("zset", f"{kind}:{queue}") for kind in ("limit", "rate", "rates")]
        for workflow in self._next(partition, "meta:workflows"):
            names.append(("zset", f"running:{workflow}"))
        return names

    def _next(self, partition: int, name: str) -> Iterator[str]:
        """The next members of a set of names; after the last it begins anew."""
        key = f"{self._scripts.prefix(partition)}{name}"
        self._cursors[key], members = self._scripts.connection.command(
            "SSCAN", key, self._cursors.get(key, b"0"), "COUNT", _AT_ONCE
        )
        return names_of(members)

    def _mend(self, partition: int, names: Sequence[tuple[str, str]]) -> list[str]:
        mended: list[str] = []
        for first in range(0, len(names), _AT_ONCE):
            arguments: list[Argument] = [
                part for name in names[first : first + _AT_ONCE] for part in name
            ]
            reply = self._scripts.run("mend_keys", partition, arguments)
            mended += [f"{self._scripts.prefix(partition)}{shown(name)}" for name in reply]
        return mended

    def _command(self, partition: int, verb: str, name: str) -> list[bytes]:
        key = f"{self._scripts.prefix(partition)}{name}"
        found: list[bytes] = self._scripts.connection.command(verb, key)
        return found

    def _settle(self, mode: str, entry: str, gone: tuple[Argument, ...] = ()) -> bool:
        partition, _, rest = entry.partition(" ")
        set_, between, member = rest.partition(" ")
        if not partition.isdecimal() or not between:
            return False
        if int(partition) >= self._scripts.namespace.partitions:
            return False
        spelled = [(set_.encode(), member.encode())]
        if "\\x" in rest:  # it may be shown so, and be called otherwise
            spelled += self._spelled(int(partition), rest)
        channel = self._scripts.namespace.channels[int(partition)]
        return any(
            self._scripts.run(
                "settle_damage",
                int(partition),
                (self._scripts.now(), mode, *each, channel, *gone),
                again=False,
            )
            for each in spelled
        )

    def _spelled(self, partition: int, entry: str) -> Iterator[tuple[bytes, bytes]]:
        """The bytes of what is shown as this, as set and member."""
        for field in self._command(partition, "HKEYS", "damaged"):
            if shown(field) == entry:
                set_, _, member = field.partition(b" ")
                yield set_, member


def _damaged(entry: str, text: bytes) -> Damaged:
    """Read one; what tells of damage may be damaged, too."""
    since, tries, again, *problem = [*text.split(b" ", 3), b"", b"", b""][:4]
    numbers = [number_of(each) or 0 for each in (since, tries, again)]
    return Damaged(
        entry=entry,
        since_ms=numbers[0],
        tries=numbers[1],
        again_ms=numbers[2],
        problem=shown(b"".join(problem)),
    )
