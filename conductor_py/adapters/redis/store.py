"""Executions in Redis: one script a method. What is atomic is said in ``lua/*.lua``, what it means
in the port.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from conductor_py.adapters.redis.changes import (
    OUTCOMES,
    add_changes,
    add_guards,
    loaded_of,
    room_of,
    token,
)
from conductor_py.adapters.redis.connection import Argument
from conductor_py.adapters.redis.names import fields_of, names_of
from conductor_py.adapters.redis.scripts import Scripts
from conductor_py.model.ids import ExecutionId, partition_of
from conductor_py.ports.store import (
    Commit,
    CommitReply,
    Fields,
    Loaded,
    Outcome,
    Report,
    ReportReply,
    SendReply,
    Start,
    StartReply,
)
from conductor_py.records import made

IDEMPOTENCY_MS: Final = 7 * 24 * 3_600_000


class RedisExecutionStore:
    """``ExecutionStore`` on Redis.

    ``fencing`` False leaves out the comparison of versions. ``take_lease`` False is for another
    kind of lock: nothing takes or asks for the lease in here, and every call brings what there is
    to decide.
    """

    def __init__(
        self,
        scripts: Scripts,
        *,
        fencing: bool = True,
        take_lease: bool = True,
        idempotency_ms: int = IDEMPOTENCY_MS,
    ) -> None:
        """Keep an idempotency key for ``idempotency_ms``."""
        self._scripts = scripts
        self._channels = scripts.namespace.channels
        self._fencing = int(fencing)
        self._take = int(take_lease)
        self._idempotency_ms = idempotency_ms

    def now_ms(self) -> int:
        return self._scripts.now_ms()

    def start(self, start: Start) -> StartReply:
        key, revision = start.idempotency_key, start.meta_revision
        partition = partition_of(start.execution)
        arguments: list[Argument] = [
            self._scripts.now(),
            self._channels[partition],
            start.execution,
            token(start.operation),
            start.home,
            start.name,
            start.now_ms,
            "" if key is None else key,
            self._idempotency_ms,
            start.on_existing,
            "" if revision is None else revision,
            start.holder,
            start.lease_ms,
            self._take,
            start.wish.value,
        ]
        add_changes(arguments, start.changes)
        reply = self._scripts.run("start_execution", partition, arguments)
        outcome = OUTCOMES[reply[0]]
        if outcome is Outcome.OK:
            more = loaded_of(reply[3])
            return StartReply(outcome=outcome, now_ms=reply[1], version=reply[2], more=more)
        existing = ExecutionId(reply[2].decode()) if outcome is Outcome.EXISTS else None
        return StartReply(outcome=outcome, now_ms=reply[1], existing=existing, room=room_of(reply))

    def report(self, report: Report) -> ReportReply:
        output, partition = report.output, partition_of(report.execution)
        reply = self._scripts.run(
            "report_result",
            partition,
            (
                self._scripts.now(),
                self._channels[partition],
                report.execution,
                report.seq,
                report.claim,
                report.worker,
                report.event,
                0 if output is None else 1,
                b"" if output is None else output,
                report.holder,
                report.lease_ms,
                self._take,
            ),
            again=not report.once,
        )
        outcome = OUTCOMES[reply[0]]
        loaded = loaded_of(reply[2]) if outcome is Outcome.OK else None
        return made(ReportReply, outcome=outcome, now_ms=reply[1], loaded=loaded)

    def send(  # noqa: PLR0917 - as the port has it
        self,
        execution: ExecutionId,
        operation: str,
        event: bytes,
        holder: str,
        lease_ms: int,
        most: int = 0,
        *,
        new: bool = False,
    ) -> SendReply:
        reply = self._scripts.run(
            "send_event",
            partition_of(execution),
            (
                self._scripts.now(),
                execution,
                operation,
                event,
                holder,
                lease_ms,
                self._take,
                most,
                int(new),
            ),
        )
        outcome = OUTCOMES[reply[0]]
        if outcome is not Outcome.OK:
            return SendReply(outcome=outcome, now_ms=reply[1])
        loaded = loaded_of(reply[2])
        return SendReply(outcome=outcome, now_ms=reply[1], loaded=loaded, answer=reply[3])

    def acquire(self, execution: ExecutionId, holder: str, lease_ms: int) -> Loaded | None:
        reply = self._scripts.run(
            "acquire_lease",
            partition_of(execution),
            (self._scripts.now(), execution, holder, lease_ms, self._take),
        )
        return loaded_of(reply[2]) if len(reply) > 2 else None

    def renew(self, execution: ExecutionId, holder: str, lease_ms: int) -> bool:
        if not self._take:
            return True
        arguments = (self._scripts.now(), execution, holder, lease_ms)
        return bool(self._scripts.run("renew_lease", partition_of(execution), arguments))

    def postpone(
        self,
        execution: ExecutionId,
        holder: str,
        seen: int,
        delay_ms: int,
        *,
        for_script: bool = False,
    ) -> bool:
        now, script = self._scripts.now(), int(for_script)
        arguments = (now, execution, holder, self._take, seen, delay_ms, script)
        return bool(self._scripts.run("postpone_decision", partition_of(execution), arguments))

    def commit(self, commit: Commit) -> CommitReply:
        partition = partition_of(commit.execution)
        arguments: list[Argument] = [
            self._scripts.now(),
            self._channels[partition],
            commit.execution,
            token(commit.operation),
            commit.version,
            commit.home,
            commit.name,
            commit.consumed,
            commit.holder,
            commit.lease_ms,
            int(commit.let_go),
            self._fencing,
            self._take,
            commit.first_event,
            commit.seen,
        ]
        add_changes(arguments, commit.changes)
        add_guards(arguments, commit.guards)
        reply = self._scripts.run("commit_decision", partition, arguments)
        outcome = OUTCOMES[reply[0]]
        if outcome is not Outcome.OK:
            return CommitReply(outcome=outcome, now_ms=reply[1], room=room_of(reply))
        more = loaded_of(reply[3])
        woken = tuple(map(ExecutionId, names_of(reply[4]))) if len(reply) > 4 else ()
        return CommitReply(
            outcome=outcome, now_ms=reply[1], version=reply[2], more=more, woken=woken
        )

    def load(self, execution: ExecutionId, reads: Sequence[str]) -> tuple[int, Fields] | None:
        reply = self._scripts.run("load_fields", partition_of(execution), (execution, *reads))
        return None if reply is None else (reply[0], fields_of(reply[1]))
