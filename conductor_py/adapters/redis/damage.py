"""What cannot be read in Redis: the scripts put it aside, here it is listed, retried, dropped, and
shared keys of a wrong type are set aside.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from conductor_py.adapters.redis.connection import Argument
from conductor_py.adapters.redis.keys import KEYS
from conductor_py.adapters.redis.scripts import Scripts
from conductor_py.errors import StoreFailure
from conductor_py.model.homes import homes_of
from conductor_py.ports.damage import Damaged

_SHARED: Final = tuple((kind.kind, kind.name) for kind in KEYS if not kind.name.endswith(":"))
"""The keys that are one a partition."""
_AT_ONCE: Final = 1_000
"""Names of one script: about a millisecond."""


class RedisDamage:
    """``DamageStore`` on Redis."""

    def __init__(self, scripts: Scripts) -> None:
        """Share the scripts of the namespace."""
        self._scripts = scripts

    def listed(self) -> Sequence[Damaged]:
        prefixes = self._scripts.namespace.prefixes
        replies = self._scripts.connection.pipeline([("HGETALL", f"{p}damaged") for p in prefixes])
        found = [
            _damaged(f"{partition} {flat[at].decode(errors='replace')}", flat[at + 1])
            for partition, flat in enumerate(replies)
            for at in range(0, len(flat), 2)
        ]
        return sorted(found, key=lambda one: (one.since_ms, one.entry))

    def retry(self, entry: str) -> bool:
        return self._settle("retry", entry)

    def drop(self, entry: str) -> bool:
        return self._settle("drop", entry)

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
        lanes = [
            each.decode(errors="replace").split("\n", 1)
            for each in self._command(partition, "SMEMBERS", "queues")
        ]
        served = {shard.decode(errors="replace") for shard in shards}
        names = [("zset", f"timers:{home}") for shard in served for home in homes_of(shard)]
        for queue, *shard in lanes:
            names += [("zset", f"{kind}:{queue}:{''.join(shard)}") for kind in ("queue", "delayed")]
            names += [("zset", f"{kind}:{queue}") for kind in ("limit", "rate", "rates")]
        for workflow in self._command(partition, "SMEMBERS", "meta:workflows"):
            names.append(("zset", f"running:{workflow.decode(errors='replace')}"))
        return names

    def _mend(self, partition: int, names: Sequence[tuple[str, str]]) -> list[str]:
        mended: list[str] = []
        for first in range(0, len(names), _AT_ONCE):
            arguments: list[Argument] = [
                part for name in names[first : first + _AT_ONCE] for part in name
            ]
            reply = self._scripts.run("mend_keys", partition, arguments)
            mended += [f"{self._scripts.prefix(partition)}{name.decode()}" for name in reply]
        return mended

    def _command(self, partition: int, verb: str, name: str) -> list[bytes]:
        key = f"{self._scripts.prefix(partition)}{name}"
        found: list[bytes] = self._scripts.connection.command(verb, key)
        return found

    def _settle(self, mode: str, entry: str) -> bool:
        partition, _, rest = entry.partition(" ")
        set_, between, member = rest.partition(" ")
        if not partition.isdecimal() or not between:
            return False
        if int(partition) >= self._scripts.namespace.partitions:
            return False
        arguments = (self._scripts.now(), mode, set_, member)
        return bool(self._scripts.run("settle_damage", int(partition), arguments, again=False))


def _damaged(entry: str, text: bytes) -> Damaged:
    """Read one; what tells of damage may be damaged, too."""
    since, tries, again, *problem = [*text.decode(errors="replace").split(" ", 3), "", "", ""][:4]
    numbers = [int(each) if each.isdecimal() else 0 for each in (since, tries, again)]
    return Damaged(
        entry=entry,
        since_ms=numbers[0],
        tries=numbers[1],
        again_ms=numbers[2],
        problem="".join(problem),
    )
