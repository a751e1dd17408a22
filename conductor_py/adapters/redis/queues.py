"""Task queues in Redis: `poll` and `extend` are scripts, the counts are plain reads."""

from __future__ import annotations

from conductor_py.adapters.redis.changes import OUTCOMES
from conductor_py.adapters.redis.connection import Argument
from conductor_py.adapters.redis.scripts import Scripts
from conductor_py.model.ids import ExecutionId, partition_of
from conductor_py.ports.queues import Claimed, Poll, PollData, PollReply
from conductor_py.ports.store import Outcome


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
            poll.poll_name,
            poll.poll_domain,
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
            for at in range(2, len(reply), 8)
        )
        return PollReply(now_ms=reply[0], claimed=claimed, retry_at_ms=reply[1])

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

    def names(self, partition: int) -> frozenset[str]:
        connection, prefix = self._scripts.connection, self._scripts.prefix(partition)
        entries = connection.command("SMEMBERS", f"{prefix}queues")
        return frozenset(entry.decode().split("\n", 1)[0] for entry in entries)

    def sizes(self, partition: int) -> dict[tuple[str, str], tuple[int, int]]:
        connection, prefix = self._scripts.connection, self._scripts.prefix(partition)
        names = sorted(
            entry.decode() for entry in connection.command("SMEMBERS", f"{prefix}queues")
        )
        if not names:
            return {}
        lanes = [tuple(name.split("\n", 1)) for name in names]
        counts = connection.pipeline(
            [
                ("ZCARD", f"{prefix}{kind}:{queue}:{shard}")
                for queue, shard in lanes
                for kind in ("queue", "delayed")
            ]
        )
        return {
            (queue, shard): (counts[2 * at], counts[2 * at + 1])
            for at, (queue, shard) in enumerate(lanes)
        }

    def poll_data(self, partition: int) -> tuple[PollData, ...]:
        prefix = self._scripts.prefix(partition)
        flat = iter(self._scripts.connection.command("HGETALL", f"{prefix}polldata"))
        found = []
        for field, value in zip(flat, flat, strict=True):
            queue, domain = field.decode().split("\n", 1)
            at_ms, worker = value.decode().split(" ", 1)
            found.append(PollData(queue=queue, domain=domain, worker=worker, at_ms=int(at_ms)))
        return tuple(sorted(found, key=lambda data: (data.queue, data.domain)))
