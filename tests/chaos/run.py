"""One run of the chaos program: a deployment, a load, faults; then quiet, and the verdict."""

from __future__ import annotations

import random
import re
import shutil
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from redis.exceptions import RedisError

from conductor_py.errors import StoreUnavailable
from tests.chaos.audits import Audits, last_audit
from tests.chaos.crew import Crew
from tests.chaos.deployment import COMMON, SHORT_LEASES, man, site
from tests.chaos.evidence import (
    archived_ids,
    found_by_search,
    lost_attempts,
    open_executions,
    open_ids,
    passing_keys,
    read_over_http,
    standstills,
    stored_attempts,
    worker_lines,
)
from tests.chaos.faults import Faults
from tests.chaos.kinds import KINDS, SCHEDULE
from tests.chaos.load import Journal, Load
from tests.chaos.proxy import Proxy
from tests.chaos.store import ChaosStore, Restart
from tests.chaos.verdict import Evidence, Violation

_TURN_S = 0.02
_SETTLED_S = 1.5
"""What was registered is on the disk by then, also where Redis may forget a second."""
_WELL_S = 60.0
_GONE_S = 60.0
_REDRIVE_S = 5.0
_MOST_OPEN = 500
_STANDSTILLS = 10

Say = Callable[[str], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What to do: for how long, how many starts a second, how often something goes wrong."""

    seconds: float = 300.0
    per_s: float = 18.0
    fault_every_s: float = 0.7
    fsync: str = "always"
    seed: int = 1
    quiet_s: float = 120.0
    only: tuple[str, ...] = ()
    shape: str = "server"


@dataclass(slots=True, kw_only=True)
class Outcome:
    """What came of it."""

    plan: Plan
    seconds: float = 0.0
    quiet_after_s: float = 0.0
    acknowledged: int = 0
    executions: int = 0
    tasks: int = 0
    kills: int = 0
    faults: Mapping[tuple[str, str], int] = field(default_factory=dict)
    restarts: list[Restart] = field(default_factory=list)
    violations: list[Violation] = field(default_factory=list)
    forgotten: Mapping[str, int] = field(default_factory=dict)
    client_counts: Mapping[str, int] = field(default_factory=dict)
    audits: int = 0
    audited: int = 0
    runs: int = 0
    lost_attempts: int = 0
    standstills: list[tuple[int, str]] = field(default_factory=list)
    ended_by_itself: Mapping[str, int] = field(default_factory=dict)
    exit_codes: Mapping[str, int] = field(default_factory=dict)
    logged: Mapping[str, int] = field(default_factory=dict)

    @property
    def by_kind(self) -> Counter[str]:
        """Violations by their class."""
        return Counter(violation.kind for violation in self.violations)


class Chaos:
    """A deployment under a plan."""

    def __init__(self, plan: Plan, folder: Path, say: Say) -> None:
        self._plan = plan
        self._folder = folder
        self._say = say
        self._chance = random.Random(plan.seed)
        self._store = ChaosStore(plan.fsync, random.Random(plan.seed + 1))
        self._proxy = Proxy(folder / "proxy", self._store.socket, random.Random(plan.seed + 2))
        self._crew = Crew(folder, (self._store.url, self._proxy.url), COMMON | SHORT_LEASES)
        self._journal = Journal(folder / "journal.jsonl")
        self._over = threading.Event()
        self._open = 0
        self._audits = Audits([])
        self._found: list[Violation] = []
        self._outcome = Outcome(plan=plan)

    def run(self) -> Outcome:
        """Do it all."""
        try:
            self._proxy.start()
            man(self._crew, self._plan.shape)
            self._over.wait(_SETTLED_S)
            with site() as url, self._loaded(url) as load:
                faults = Faults(
                    self._crew,
                    self._store,
                    self._proxy,
                    self._chance,
                    every_s=self._plan.fault_every_s,
                    only=self._plan.only,
                )
                self._rage(faults, load)
                self._calm_down(faults, load)
                self._gather()
            self._outcome.exit_codes = self._crew.end()
            self._outcome.violations += self._crew.left_over(_GONE_S)
            self._outcome.logged = errors_logged(self._folder)
            return self._outcome
        finally:
            self._over.set()
            with suppress(ProcessLookupError):
                self._crew.end()
            self._crew.left_over(0)
            self._proxy.stop()
            self._store.stop()
            self._journal.close()

    @contextmanager
    def _loaded(self, url: str) -> Iterator[Load]:
        clients = [api.client for api in self._crew.apis]
        load = Load(clients, self._journal, self._folder, url, seed=self._plan.seed)
        watch = threading.Thread(target=self._watch, args=(load,), daemon=True)
        watch.start()
        self._audits = Audits(clients)
        self._audits.begin()
        load.begin(self._plan.per_s)
        try:
            yield load
        finally:
            load.end()

    def _watch(self, load: Load) -> None:
        """Keep count of what is open, and of who waits for whom."""
        while not self._over.wait(0.5):
            with suppress(RedisError, OSError), self._store.client() as client:
                self._open = open_executions(client)
                (load.enough.set if self._open > _MOST_OPEN else load.enough.clear)()

    def _rage(self, faults: Faults, load: Load) -> None:
        began = time.monotonic()
        told = began
        while (now := time.monotonic()) < began + self._plan.seconds:
            faults.turn(more=True)
            if now > told + 10:
                told = now
                self._say(
                    f"{now - began:5.0f} s  {len(self._journal.started)} started,"
                    f" {self._open} open, {faults.kills} kills"
                )
            self._over.wait(_TURN_S)
        load.stop_starting()
        self._found = self._audits.end()
        self._outcome.seconds = time.monotonic() - began
        self._outcome.kills = faults.kills

    def _calm_down(self, faults: Faults, load: Load) -> None:
        """Give everything back, then wait until nothing is under way."""
        began = time.monotonic()
        self._turn_until(faults, faults.all_is_well, _WELL_S)
        self._turn_until(faults, self._schedule_is_paused, _WELL_S)
        redriven = time.monotonic()
        while not self._is_quiet(load) and time.monotonic() < began + self._plan.quiet_s:
            faults.turn(more=False)
            self._over.wait(0.2)
            if self._plan.fsync != "always" and time.monotonic() > redriven + _REDRIVE_S:
                redriven = time.monotonic()
                self._redrive(load)
        outcome = self._outcome
        outcome.quiet_after_s = time.monotonic() - began
        outcome.faults = faults.done
        outcome.restarts = self._store.restarts
        outcome.ended_by_itself = Counter(
            name.rpartition("-")[0] for name in faults.ended_by_itself
        )
        with self._store.client() as client:
            left = passing_keys(client)
        self._say(
            f"after {outcome.quiet_after_s:.0f} s " + (f"there is {left}" if left else "quiet")
        )

    def _turn_until(self, faults: Faults, wanted: Callable[[], bool], seconds: float) -> None:
        deadline = time.monotonic() + seconds
        while not wanted() and time.monotonic() < deadline:
            faults.turn(more=False)
            self._over.wait(_TURN_S)

    def _schedule_is_paused(self) -> bool:
        with suppress(StoreUnavailable):
            self._crew.apis[0].client.pause_schedule(SCHEDULE["name"])
            return True
        return False

    def _is_quiet(self, load: Load) -> bool:
        if not load.idle():
            return False
        with suppress(RedisError, OSError), self._store.client() as client:
            return not passing_keys(client)
        return False

    def _redrive(self, load: Load) -> None:
        """What a crash of Redis has forgotten of an operation is done again."""
        with self._store.client() as client:
            still_open = open_ids(client)
        for each in self._journal.started:
            if each.id in still_open and KINDS[each.kind].operation:
                self._journal.count("operations done again")
                load.operate(KINDS[each.kind], each.id, each.input)

    def _gather(self) -> None:
        outcome, search = self._outcome, self._folder / "data" / "search.sqlite3"
        with self._store.client() as client:
            still_open, rest = open_ids(client), passing_keys(client)
        api = self._crew.apis[0].patient
        ids = {each.id for each in self._journal.started} | archived_ids(search) | still_open
        evidence = Evidence(
            started=self._journal.started,
            documents=read_over_http(api, sorted(ids)),
            attempts=stored_attempts(search),
            open=still_open,
            found=found_by_search(api),
            reports=[line for line in worker_lines(self._folder) if line["event"] == "accepted"],
            restarts=self._store.restarts,
            forgetful=self._plan.fsync != "always",
            terminations=self._journal.terminations,
            unanswered=self._journal.unanswered,
            rest=rest,
        )
        begun = [line for line in worker_lines(self._folder) if line["event"] == "begun"]
        outcome.violations = [
            *evidence.violations(),
            *self._found,
            *last_audit(api),
            *(
                Violation(kind="refused", execution="", sentence=sentence)
                for sentence in self._journal.failures
            ),
        ]
        outcome.audits = self._audits.completed
        outcome.audited = self._audits.executions
        outcome.forgotten = dict(evidence.forgotten)
        outcome.acknowledged = len(self._journal.started)
        outcome.executions = len(evidence.documents)
        outcome.tasks = sum(len(document["tasks"]) for document in evidence.documents.values())
        outcome.client_counts = dict(self._journal.counts)
        outcome.runs = len(begun)
        documents = list(evidence.documents.values())
        outcome.lost_attempts = lost_attempts(documents)
        outcome.standstills = standstills(documents)[:_STANDSTILLS]


def run(plan: Plan, say: Say, *, keep: bool = False) -> Outcome:
    """Run a plan in a folder of its own, which stays when something is wrong and `keep` says so."""
    folder = Path(tempfile.mkdtemp(prefix="chaos-"))
    outcome = Chaos(plan, folder, say).run()
    if keep and outcome.violations:
        say(f"logs, journals and archive: {folder}")
    else:
        shutil.rmtree(folder, ignore_errors=True)
    return outcome


_ERROR = re.compile(r"^(?:\S+ )?(?:\S+ )?(?:ERROR|CRITICAL)\b.*|^Traceback .*|^\w[\w.]*Error: .*")
_NUMBERS = re.compile(r"[0-9a-f-]{8,}|[0-9]+")


def errors_logged(folder: Path) -> dict[str, int]:
    """Error lines in the logs of all processes, most frequent first; numbers are left out."""
    found: Counter[str] = Counter()
    for file in folder.glob("*/err"):
        for line in file.read_text(errors="replace").splitlines():
            if _ERROR.match(line):
                role, sentence = file.parent.name.rpartition("-")[0], _NUMBERS.sub("#", line)
                found[f"{role}: {sentence[:160]}"] += 1
    return dict(found.most_common())
