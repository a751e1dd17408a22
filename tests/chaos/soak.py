"""``python -m tests.chaos.soak``: a server at half of what it can do, for a while.

Its memory must not grow, and when the load ends nothing may be left in its queues. First it is
driven as hard as it goes, which says what half is.
"""

from __future__ import annotations

import argparse
import random
import shutil
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import click
from redis import Redis
from redis.exceptions import RedisError

from conductor_py.processes.embedded_redis import EmbeddedRedis
from conductor_py.sdk import Client
from tests.chaos.crew import Api, Crew, given
from tests.chaos.deployment import COMMON, register, site
from tests.chaos.evidence import archived_ids, open_executions, passing_keys, read_over_http
from tests.chaos.kinds import SCHEDULE
from tests.chaos.load import Journal, Load
from tests.chaos.memory import Sample, growth_mb_a_minute, sample, together
from tests.chaos.verdict import judge
from tests.waiting import until

_SETTINGS = {"conductor.workflow-status-listener.archival.delaySeconds": "10"}
_WORKERS = 2
_CAPACITY_S = 30.0
_CAPACITY_PER_S = 300.0
_MOST_OPEN = 200
_SAMPLE_S = 10.0
_QUIET_S = 90.0
_GONE_S = 60.0
_JUDGED = 1000
_MOST_GROWTH = 1.0
"""Megabytes a minute, of all server processes together."""
_ALL = "all but Redis"

Say = Callable[[str], None]


@dataclass(slots=True, kw_only=True)
class Soaked:
    """What came of it; the growth is that over the last two thirds."""

    minutes: float
    capacity_per_s: float = 0.0
    per_s: float = 0.0
    executions: int = 0
    samples: list[Sample] = field(default_factory=list)
    left: dict[str, int] = field(default_factory=dict)
    wrong: list[str] = field(default_factory=list)

    @property
    def last(self) -> list[Sample]:
        """The samples of the last two thirds."""
        end = self.samples[-1].at_s
        return [each for each in self.samples if each.at_s >= end / 3]

    @property
    def roles(self) -> list[str]:
        """What was seen running beside Redis."""
        return sorted({role for each in self.samples for role in each.mb} - {"redis"})

    def growth(self, role: str) -> float:
        """Megabytes a minute; `_ALL` are all processes but Redis."""
        if role == _ALL:
            return growth_mb_a_minute(together(self.last, self.roles, _ALL), _ALL)
        return growth_mb_a_minute(self.last, role)

    @property
    def is_good(self) -> bool:
        return not self.left and not self.wrong and self.growth(_ALL) < _MOST_GROWTH


class Soak:
    """One server, its workers, and a load."""

    def __init__(self, minutes: float, folder: Path, say: Say, *, apart: bool = False) -> None:
        self._shape = {"conductor.server.oneProcess": str(not apart).lower()}
        self._folder = folder
        self._say = say
        self._never = threading.Event()
        self._crew = Crew(folder, (), {})
        self._journal = Journal(folder / "journal.jsonl")
        self._soaked = Soaked(minutes=minutes)
        self._store: Any = None

    def run(self) -> Soaked:
        """Do it all."""
        try:
            with site() as url:
                server = self._begin()
                self._measure_capacity(server.client, url)
                self._soak(server, url)
                self._look_back(server.patient)
            self._crew.end()
            left_over = self._crew.left_over(_GONE_S)
            self._soaked.wrong += [violation.sentence for violation in left_over]
            return self._soaked
        finally:
            with suppress(ProcessLookupError):
                self._crew.end()
            self._crew.left_over(0)
            self._journal.close()

    def _begin(self) -> Api:
        data = self._folder / "data"
        options = ("--data", str(data), *given(COMMON | _SETTINGS | self._shape))
        server = Api("server", options, self._folder, role="server")
        self._crew.have(server)
        until(server.is_healthy, what="the server is healthy")
        register(server.patient)
        self._store = Redis(unix_socket_path=str(EmbeddedRedis(data / "redis").socket))
        self._crew.add_workers(_WORKERS)
        return server

    def _load(self, client: Client, url: str, per_s: float) -> Load:
        first = 1 + 1_000_000 * bool(self._journal.started)
        load = Load([client], self._journal, self._folder, url, seed=first, first=first)
        load.begin(per_s)
        return load

    def _measure_capacity(self, client: Client, url: str) -> None:
        """Start as much as there is room for; what ends a second is what it can do."""
        load = self._load(client, url, _CAPACITY_PER_S)
        for _ in self._ticks(_CAPACITY_S / 3, load):  # everybody gets going
            pass
        before, began = len(self._journal.started) - open_executions(self._store), time.monotonic()
        for _ in self._ticks(_CAPACITY_S * 2 / 3, load):
            pass
        ended = len(self._journal.started) - open_executions(self._store) - before
        capacity = ended / (time.monotonic() - began)
        load.stop_starting()
        self._await_quiet(load)
        load.end()
        self._soaked.capacity_per_s, self._soaked.per_s = capacity, capacity / 2
        self._say(f"{capacity:.0f} executions a second at most; half of it from now on")

    def _soak(self, server: Api, url: str) -> None:
        soaked = self._soaked
        load = self._load(server.client, url, soaked.per_s)
        before, began = len(self._journal.started), time.monotonic()
        due = began
        for now in self._ticks(soaked.minutes * 60, load):
            if now >= due:
                due += _SAMPLE_S
                found = sample(server.pid, began)
                soaked.samples.append(found)
                self._say(_line(found))
        load.stop_starting()
        soaked.executions = len(self._journal.started) - before
        server.patient.pause_schedule(SCHEDULE["name"])
        self._await_quiet(load)
        load.end()

    def _ticks(self, seconds: float, load: Load) -> Any:
        """Say what time it is, for so long; hold the load back when too much is open."""
        end = time.monotonic() + seconds
        while (now := time.monotonic()) < end:
            with suppress(RedisError):
                is_much = open_executions(self._store) > _MOST_OPEN
                (load.enough.set if is_much else load.enough.clear)()
            yield now
            self._never.wait(0.2)

    def _await_quiet(self, load: Load) -> None:
        with suppress(AssertionError):
            until(lambda: load.idle() and self._is_empty(), _QUIET_S, what="all has ended")

    def _is_empty(self) -> bool:
        return open_executions(self._store) <= 1  # the schedule goes on

    def _look_back(self, client: Client) -> None:
        soaked = self._soaked
        with suppress(AssertionError):
            until(lambda: not passing_keys(self._store), _QUIET_S, what="nothing is left")
        soaked.left = passing_keys(self._store)
        soaked.left |= {name: size for name, size in client.all_queue_sizes().items() if size}
        ids = sorted(archived_ids(self._folder / "data" / "search.sqlite3"))
        chosen = random.sample(ids, min(_JUDGED, len(ids)))
        for execution, document in read_over_http(client, chosen).items():
            soaked.wrong += [f"{execution}: {sentence}" for sentence in judge(document)]
        soaked.wrong += self._journal.failures


def table(soaked: Soaked) -> str:
    """Write it as Markdown."""
    lines = [
        f"| `MINUTES={soaked.minutes:g}` | |",
        "|---|---|",
        f"| executions a second, at most; here | {soaked.capacity_per_s:.0f}; {soaked.per_s:.0f} |",
        f"| executions | {soaked.executions:,} |",
        f"| keys and queue entries left | {soaked.left or 0} |",
        f"| wrong, of {_JUDGED:,} looked at | {len(soaked.wrong)} |",
        "",
        "| memory of | first | last | growth a minute |",
        "|---|---|---|---|",
    ]
    first, last = soaked.samples[0], soaked.samples[-1]
    lines += [
        f"| {role} | {first.mb.get(role, 0):.0f} MB | {last.mb.get(role, 0):.0f} MB"
        f" | {soaked.growth(role):+.2f} MB |"
        for role in (*soaked.roles, "redis")
    ]
    ends = [sum(each.mb.get(role, 0) for role in soaked.roles) for each in (first, last)]
    lines.append(
        f"| **{_ALL}** | {ends[0]:.0f} MB | {ends[1]:.0f} MB | **{soaked.growth(_ALL):+.2f} MB** |"
    )
    return "\n".join(lines)


def _line(found: Sample) -> str:
    parts = ", ".join(f"{role} {mb:.1f}" for role, mb in sorted(found.mb.items()))
    return f"{found.at_s:5.0f} s  {parts}"


def soak(minutes: float, say: Say, *, apart: bool = False) -> Soaked:
    """Run it in a folder of its own."""
    folder = Path(tempfile.mkdtemp(prefix="soak-"))
    try:
        return Soak(minutes, folder, say, apart=apart).run()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def main(arguments: Sequence[str] | None = None) -> int:
    """Read the command line and run."""
    parser = argparse.ArgumentParser(prog="python -m tests.chaos.soak", description=__doc__)
    parser.add_argument("--minutes", type=float, default=15)
    parser.add_argument(
        "--apart", action="store_true", help="a process for each part of the server"
    )
    asked = parser.parse_args(arguments)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that the deployment is ended
    soaked = soak(asked.minutes, click.echo, apart=asked.apart)
    for sentence in soaked.wrong[:20]:
        click.echo(f"red: {sentence}")
    click.echo(table(soaked))
    click.echo(f"{soaked.executions:,} executions, {len(soaked.wrong)} things wrong")
    return 0 if soaked.is_good else 1


if __name__ == "__main__":
    sys.exit(main())
