"""The scripts: read from ``lua/``, their includes spliced in, run by hash.

A line ``-- @include <name>`` is replaced by ``lua/include/<name>.lua``. ``HEADERS`` are what every
script begins with.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Sequence
from importlib.resources import files
from typing import Final

from redis.exceptions import NoScriptError, ResponseError

from conductor_py.adapters.redis.connection import Argument, Connection, Reply, refused
from conductor_py.adapters.redis.keys import Namespace
from conductor_py.adapters.redis.names import name_of, names_of, score_of
from conductor_py.errors import StoreDamaged, StoreFailure

HEADERS: Final = ("PURPOSE", "KEYS", "ARGV", "RETURNS", "INVARIANT", "BOUND")

NAMES: Final = (
    "acquire_checkpoints",
    "acquire_lease",
    "adjust_permits",
    "append_log",
    "read_execution",
    "read_logs",
    "append_notes",
    "begin_payload",
    "begin_restore",
    "cancel_restore",
    "release_key",
    "change_catalog",
    "change_definition",
    "change_file",
    "change_tags",
    "change_handler",
    "claim_due",
    "claim_schedules",
    "collect_plans",
    "collect_unused_plans",
    "commit_decision",
    "confirm_effects",
    "delete_schedule",
    "drop_savepoint",
    "drop_touched",
    "drop_unreadable",
    "extend_claim",
    "find_open",
    "forget_payloads",
    "forget_queues",
    "get_output",
    "hold_message",
    "hold_payloads",
    "inspect_execution",
    "lease_number",
    "lease_shards",
    "leave_quarantine",
    "lease_rate",
    "let_go_files",
    "let_go_payloads",
    "load_fields",
    "look_for_due",
    "look_for_touched",
    "mend_keys",
    "note_files",
    "order_effects",
    "poll_tasks",
    "postpone_decision",
    "postpone_effects",
    "put_checkpoint",
    "put_effects_aside",
    "put_off_file",
    "put_output",
    "put_plan",
    "put_schedule",
    "put_signs",
    "raise_revision",
    "read_checkpoints",
    "record_actions",
    "record_poll",
    "read_several",
    "release_shards",
    "remove_executions",
    "renew_lease",
    "report_result",
    "request_checkpoint",
    "requeue_schedule",
    "restore_checkpoints",
    "restore_execution",
    "restore_fields",
    "send_event",
    "set_back_decision",
    "settle_damage",
    "settle_payload",
    "settle_rate",
    "settle_schedule",
    "settle_target",
    "share_permits",
    "start_execution",
    "sweep_shards",
    "take_effects",
    "tell_life",
    "try_write",
    "write_key",
)

_CHANGING: Final = frozenset({"change_catalog", "change_definition", "settle_damage"})
"""Scripts that may change how much of what is offered may be handed out, or hand out again what was
put aside.
"""
_NOTHING: Final = {"claim_due": 0, "take_effects": 0, "poll_tasks": 3}
"""How long the replies are of scripts that have found nothing, and so set nothing."""
_SETS_DUE: Final = re.compile(r"""'ZADD', (?:P \.\. )?'?(?:timers|outbox)\b""")
_INCLUDE = re.compile(r"^-- @include (\w+)$", re.MULTILINE)


def source_of(name: str) -> str:
    """Read one script with its includes."""
    folder = files("conductor_py.adapters.redis") / "lua"
    text = (folder / f"{name}.lua").read_text(encoding="utf-8")
    return _INCLUDE.sub(
        lambda found: (folder / "include" / f"{found[1]}.lua").read_text(encoding="utf-8"), text
    )


class Scripts:
    """Runs the scripts of one namespace on one connection, under the store's clock or an injected
    one.

    ``first_line`` goes before every source: ``#!lua`` makes a cluster check undeclared keys, from
    Redis 7.0 on.
    """

    def __init__(
        self,
        connection: Connection,
        namespace: Namespace,
        *,
        clock: Callable[[], int] | None = None,
        first_line: str = "",
        changed: Callable[[], None] | None = None,
    ) -> None:
        """Read the sources; nothing is sent. ``changed`` is called after each script that may have
        set when something is due, or what may be handed out.
        """
        self.connection = connection
        self.namespace = namespace
        self._clock = clock
        self._sources = {name: first_line + source_of(name) for name in NAMES}
        self._shas = {
            name: hashlib.sha1(source.encode(), usedforsecurity=False).hexdigest()
            for name, source in self._sources.items()
        }
        self._changed = changed
        self.setting_due = frozenset(
            name for name, source in self._sources.items() if _SETS_DUE.search(source)
        )
        """The scripts that may set when something is due."""
        self._changing = self.setting_due | _CHANGING

    def now(self) -> Argument:
        """Tell what a script is handed as its time: nothing, unless a clock is injected."""
        return "" if self._clock is None else self._clock()

    def now_ms(self) -> int:
        """Tell the store's time."""
        if self._clock is not None:
            return self._clock()
        seconds, micros = self.connection.command("TIME")
        return int(seconds) * 1000 + int(micros) // 1000

    def earliest_ms(self, partition: int, key: str) -> int:
        """Tell the lowest score of a sorted set of instants, 0 when there is none."""
        head = self.connection.command(
            "ZRANGE", f"{self.prefix(partition)}{key}", 0, 0, "WITHSCORES"
        )
        return score_of(head[1]) if head else 0

    def due_names(self, key: str, now_ms: int, limit: int) -> tuple[str, ...]:
        """List names of partition 0 that are due, the longest first. Bytes that are no text name
        nothing: they leave, or they would be in front for ever.
        """
        spelled = f"{self.prefix(0)}{key}"
        found = self.connection.command("ZRANGEBYSCORE", spelled, "-inf", now_ms, "LIMIT", 0, limit)
        nothing = [raw for raw in found if name_of(raw) is None]
        if nothing:
            self.connection.command("ZREM", spelled, *nothing)
        return tuple(names_of(found))

    def prefix(self, partition: int) -> str:
        """Tell the prefix of a partition's keys; one that this deployment does not have is
        refused.
        """
        try:
            return self.namespace.prefixes[partition]
        except IndexError:
            raise StoreDamaged(
                f"partition {partition} is not one of this deployment's {self.namespace.partitions}"
            ) from None

    def write(self, partition: int, command: str, name: str, *arguments: Argument) -> None:
        """Have one command add a little to the key of that name, also when Redis is full."""
        self.run("write_key", partition, (command, name, *arguments))

    def run_each(self, name: str, arguments: Sequence[Argument]) -> list[Reply]:
        """Run one script, which only looks, in every partition: one round trip a node. The reply of
        a partition that does not answer is ``None``; ``StoreUnavailable`` when none does.
        """
        partitions = range(self.namespace.partitions)
        replies = self.run_in(name, [(partition, arguments) for partition in partitions])
        away = [reply for reply in replies if isinstance(reply, StoreFailure)]
        if len(away) == len(replies):
            raise away[-1]
        return [None if isinstance(reply, StoreFailure) else reply for reply in replies]

    def run_in(self, name: str, calls: Sequence[tuple[int, Sequence[Argument]]]) -> list[Reply]:
        """Run one script, which may be repeated, in some partitions, each with its arguments: one
        round trip a node. In place of a reply that did not come is its ``StoreFailure``.
        """
        sha = self._shas[name]
        replies = self.connection.each(
            [("EVALSHA", sha, 1, self.prefix(partition), *given) for partition, given in calls]
        )
        self._note(name)
        for at, (reply, (partition, given)) in enumerate(zip(replies, calls, strict=True)):
            if isinstance(reply, NoScriptError):
                try:
                    replies[at] = self.run(name, partition, given)
                except StoreFailure as error:
                    replies[at] = error
            elif isinstance(reply, ResponseError):
                replies[at] = refused(reply)
        return replies

    def run(
        self, name: str, partition: int, arguments: Sequence[Argument], *, again: bool = True
    ) -> Reply:
        """Run one script in one partition."""
        try:
            reply = self.connection.run(
                self._shas[name],
                self._sources[name],
                self.prefix(partition),
                arguments,
                again=again,
            )
        except StoreFailure:
            self._note(name)  # it may have run
            raise
        if name not in _NOTHING or len(reply) > _NOTHING[name]:
            self._note(name)
        return reply

    def _note(self, name: str) -> None:
        if self._changed is not None and name in self._changing:
            self._changed()
