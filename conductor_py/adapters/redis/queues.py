"""Task queues in Redis: `poll` and `extend` are scripts, the counts are plain reads."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Final

from conductor_py.adapters.redis.changes import OUTCOMES
from conductor_py.adapters.redis.connection import Argument, Reply, refused
from conductor_py.adapters.redis.names import name_of, number_of, shown
from conductor_py.adapters.redis.scripts import Scripts
from conductor_py.errors import StoreUnavailable
from conductor_py.model.ids import ExecutionId, escaped, partition_of
from conductor_py.ports.queues import Claimed, Poll, PollData, PollReply, Short
from conductor_py.ports.store import Outcome

_AT_ONCE: Final = 1_000
"""Names of queues that are read in one command: about a millisecond."""


class RedisTaskQueues:
    """``TaskQueues`` on Redis."""

    def __init__(self, scripts: Scripts) -> None:
        """Share the scripts of the namespace."""
        self._scripts = scripts

    def poll(self, partition: int, poll: Poll) -> PollReply:
        rate, window = poll.rate if poll.rate is not None else ("", "")
        arguments: list[Argument] = [
            self._scripts.now(),
            poll.queue,
            poll.worker,
            poll.count,
            poll.lease_ms,
            poll.max_bytes,
            "" if poll.limit is None else poll.limit,
            rate,
            window,
            _word(poll.poll_name),
            _word(poll.poll_domain),
            _shared(poll),
            poll.gather_ms,
            poll.task_type,
            poll.definition,
            *poll.shards,
        ]
        reply = self._scripts.run("poll_tasks", partition, arguments, again=False)
        claimed = tuple(
            Claimed(
                execution=ExecutionId(reply[at].decode()),
                seq=reply[at + 1],
                claim=reply[at + 2],
                header=reply[at + 3],
                attempt=reply[at + 4],
                claim_side=reply[at + 5],
                input=reply[at + 6],
                output=reply[at + 7],
            )
            for at in range(3, len(reply), 8)
        )
        short = _short(reply[2]) if reply[2] else None
        return PollReply(now_ms=reply[0], claimed=claimed, retry_at_ms=reply[1], short=short)

    def extend(  # noqa: PLR0917
        self,
        execution: ExecutionId,
        seq: int,
        claim: int,
        worker: str,
        lease_ms: int,
        progress: bytes | None,
    ) -> tuple[Outcome, int]:
        given, text = (0, b"") if progress is None else (1, progress)
        reply = self._scripts.run(
            "extend_claim",
            partition_of(execution),
            (self._scripts.now(), execution, seq, claim, worker, lease_ms, given, text),
        )
        return OUTCOMES[reply[0]], reply[1]

    def waiting(self, queue: str, shards: tuple[str, ...]) -> frozenset[int]:
        if not shards:
            return frozenset()
        lanes = [f"{kind}:{queue}:{shard}" for shard in shards for kind in ("queue", "delayed")]
        replies = self._look(
            [
                ("EXISTS", *(f"{prefix}{lane}" for lane in lanes))
                for prefix in self._scripts.namespace.prefixes
            ]
        )
        return frozenset(partition for partition, reply in enumerate(replies) if reply)

    def record_poll(
        self, name: str, domain: str, worker: str, shards: tuple[str, ...], now_ms: int
    ) -> None:
        field = f"{_word(name)}\n{_word(domain)}"
        arguments: list[Argument] = [now_ms, field, f"{now_ms} {worker}"]
        for shard in shards:
            arguments += (f"{field}\n{shard}", now_ms)
        self._scripts.run("record_poll", self._scripts.namespace.home_of(name), arguments)

    def names(self, partition: int | None) -> frozenset[str]:
        prefixes = self._scripts.namespace.prefixes
        if partition is not None:
            prefixes = (self._scripts.prefix(partition),)
        found: set[str] = set()
        cursors = dict.fromkeys(prefixes, b"0")
        while cursors:
            replies = self._look([_scan(prefix, at) for prefix, at in cursors.items()])
            asked, cursors = tuple(cursors), {}
            for prefix, reply in zip(asked, replies, strict=True):
                if reply is not None:
                    found.update(queue for queue, _ in _lanes(reply[1]))
                    if reply[0] != b"0":
                        cursors[prefix] = reply[0]
        return frozenset(found)

    def _look(self, commands: Sequence[Sequence[Argument]]) -> list[Reply]:
        """Look into several partitions; the reply of one that does not answer is ``None``."""
        replies = self._scripts.connection.each(commands)
        away = [reply for reply in replies if isinstance(reply, Exception)]
        if len(away) == len(replies):
            raise away[0] if isinstance(away[0], StoreUnavailable) else refused(away[0])
        return [None if isinstance(reply, Exception) else reply for reply in replies]

    def sizes(self, partition: int) -> dict[tuple[str, str], tuple[int, int]]:
        prefix, cursor = self._scripts.prefix(partition), b"0"
        found: dict[tuple[str, str], tuple[int, int]] = {}
        while True:
            cursor, entries = self._scripts.connection.command(*_scan(prefix, cursor))
            found |= self._counted(prefix, tuple(_lanes(entries)))
            if cursor == b"0":
                return dict(sorted(found.items()))

    def _counted(
        self, prefix: str, lanes: Sequence[tuple[str, str]]
    ) -> dict[tuple[str, str], tuple[int, int]]:
        """Count the entries of some lanes, without those whose keys have a wrong type."""
        if not lanes:
            return {}
        counts = self._scripts.connection.each(
            [
                ("ZCARD", f"{prefix}{kind}:{queue}:{shard}")
                for queue, shard in lanes
                for kind in ("queue", "delayed")
            ]
        )
        found = {}
        for at, lane in enumerate(lanes):
            ready, delayed = counts[2 * at : 2 * at + 2]
            for reply in (ready, delayed):
                if isinstance(reply, StoreUnavailable):
                    raise reply
            if isinstance(ready, int) and isinstance(delayed, int):
                found[lane] = ready, delayed
        return found

    def forget_empty(
        self, partition: int, cursor: str, limit: int, *, keep: int
    ) -> tuple[str, int]:
        key = f"{self._scripts.prefix(partition)}queues"
        if self._scripts.connection.command("SCARD", key) <= keep:
            return "", 0
        following, entries = self._scripts.connection.command(
            "SSCAN", key, cursor or "0", "COUNT", limit
        )
        arguments = (keep, *entries)
        gone = int(self._scripts.run("forget_queues", partition, arguments)) if entries else 0
        return "" if following == b"0" else shown(following), gone

    def poll_data(self, partition: int) -> tuple[PollData, ...]:
        prefix = self._scripts.prefix(partition)
        flat = iter(self._scripts.connection.command("HGETALL", f"{prefix}polldata"))
        last: dict[tuple[str, str], tuple[int, str]] = {}
        shards: defaultdict[tuple[str, str], dict[str, int]] = defaultdict(dict)
        for field, value in zip(flat, flat, strict=True):
            queue, *rest = map(_text_of, shown(field).split("\n", 2))
            first, told, worker = value.partition(b" ")
            at_ms, shard = number_of(first), rest[1:]
            # A name with a line break, as releases up to 0.1 have written it, or damaged: the next
            # poll writes it anew.
            if not rest or at_ms is None or bool(shard) == bool(told):
                continue
            domain = rest[0]
            if shard:
                shards[queue, domain][shard[0]] = at_ms
            else:
                last[queue, domain] = at_ms, shown(worker)
        return tuple(
            PollData(queue=who[0], domain=who[1], worker=worker, at_ms=at_ms, shards=shards[who])
            for who, (at_ms, worker) in sorted(last.items())
        )


def _scan(prefix: str, cursor: bytes) -> tuple[str, str, bytes, str, int]:
    return "SSCAN", f"{prefix}queues", cursor, "COUNT", _AT_ONCE


def _lanes(entries: Sequence[bytes]) -> Iterator[tuple[str, str]]:
    """Read queues and shards out of ``queues``, without what names none."""
    for entry in entries:
        queue, between, shard = (name_of(entry) or "").rpartition("\n")
        if between:
            yield queue, shard


_word = partial(escaped, separator="\n")
"""Write a name so that it has no line break, which stands between the names of a field."""


def _text_of(word: str) -> str:
    return word.replace("%0A", "\n").replace("%25", "%")


def _shared(poll: Poll) -> str:
    """Limits over several partitions, as the script wants them."""
    if not poll.shared:
        return ""
    leased = poll.leased
    return f"{leased.claims} {leased.until_ms} {leased.definition}" if leased else "0 0 "


def _short(text: bytes) -> Short:
    limit, rate, window_ms, what, definition = shown(text).split(" ", 4)
    return Short(
        definition=definition,
        what=what,
        limit=int(limit),
        rate=int(rate),
        window_ms=int(window_ms),
    )
