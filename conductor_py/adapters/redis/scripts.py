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

from conductor_py.adapters.redis.connection import Argument, Connection, Reply
from conductor_py.adapters.redis.keys import Namespace
from conductor_py.errors import StoreUnavailable

HEADERS: Final = ("PURPOSE", "KEYS", "ARGV", "RETURNS", "INVARIANT", "BOUND")

NAMES: Final = (
    "acquire_lease",
    "append_log",
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
    "extend_claim",
    "get_output",
    "hold_message",
    "lease_shards",
    "load_fields",
    "order_effects",
    "poll_tasks",
    "postpone_decision",
    "postpone_effects",
    "put_output",
    "put_plan",
    "put_schedule",
    "raise_revision",
    "record_actions",
    "release_shards",
    "remove_execution",
    "renew_lease",
    "report_result",
    "requeue_schedule",
    "restore_execution",
    "restore_fields",
    "send_event",
    "settle_schedule",
    "settle_target",
    "start_execution",
    "take_effects",
)

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
    ) -> None:
        """Read the sources; nothing is sent."""
        self.connection = connection
        self.namespace = namespace
        self._clock = clock
        self._sources = {name: first_line + source_of(name) for name in NAMES}
        self._shas = {
            name: hashlib.sha1(source.encode(), usedforsecurity=False).hexdigest()
            for name, source in self._sources.items()
        }

    def now(self) -> Argument:
        """Tell what a script is handed as its time: nothing, unless a clock is injected."""
        return "" if self._clock is None else self._clock()

    def now_ms(self) -> int:
        """Tell the store's time."""
        if self._clock is not None:
            return self._clock()
        seconds, micros = self.connection.command("TIME")
        return int(seconds) * 1000 + int(micros) // 1000

    def prefix(self, partition: int) -> str:
        """Tell the prefix of a partition's keys; one that this deployment does not have is
        refused.
        """
        try:
            return self.namespace.prefixes[partition]
        except IndexError:
            raise StoreUnavailable(
                f"partition {partition} is not one of this deployment's {self.namespace.partitions}"
            ) from None

    def run(
        self, name: str, partition: int, arguments: Sequence[Argument], *, again: bool = True
    ) -> Reply:
        """Run one script in one partition."""
        return self.connection.run(
            self._shas[name],
            self._sources[name],
            self.prefix(partition),
            arguments,
            again=again,
        )
