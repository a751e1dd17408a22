"""The audit: counts violations of the invariants on a live store, page by page.

It changes nothing. What one look finds is looked at again after a moment: a finding is what two
looks share between which the execution did not move. So a live system is audited as it runs.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final

from conductor_py.codec.event import load_event
from conductor_py.codec.execution import UnknownFormat
from conductor_py.decider.plan import Plan
from conductor_py.engine.auditing.execution_audit import audit_execution
from conductor_py.engine.auditing.findings import KINDS, Finding
from conductor_py.engine.auditing.store_audit import StoreAudit
from conductor_py.engine.definitions.live_limits import LiveLimits
from conductor_py.engine.definitions.snapshots import Snapshots
from conductor_py.errors import InvalidInput, NotFound, StoreDamaged, StoreUnavailable, Violation
from conductor_py.model.event import Operation
from conductor_py.model.ids import ExecutionId, is_execution_id, partition_of
from conductor_py.ports.inspector import Inspection, Inspector, StoredKey
from conductor_py.ports.search import Search
from conductor_py.records import dataclass

_LOOKS: Final = 4
_BETWEEN_S: Final = 0.1
INVARIANTS: Final = tuple(
    sorted({kind.invariant for kind in KINDS.values()} - {""}, key=lambda name: int(name[1:]))
)
"""The invariants that an audit can see broken."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditRounds:
    """``interval_ms`` is how often a new round over the whole store begins, 0: never; ``page``
    bounds what one tick looks at. ``pause`` lets time pass between two looks, in seconds.
    """

    interval_ms: int = 0
    page: int = 200
    pause: Callable[[float], object] = time.sleep


NO_ROUNDS: Final = AuditRounds()


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditPage:
    """What one page of an audit has found; ``cursor`` leads to the next one, empty: it was the
    last.
    """

    executions: int
    keys: int
    findings: tuple[Finding, ...]
    cursor: str


class Auditor:
    """Audits a store."""

    def __init__(
        self,
        *,
        inspector: Inspector,
        snapshots: Snapshots,
        search: Search,
        live: LiveLimits,
        now_ms: Callable[[], int],
        partitions: int,
        rounds: AuditRounds = NO_ROUNDS,
    ) -> None:
        """``rounds`` are those of ``tick``."""
        self._inspector = inspector
        self._snapshots = snapshots
        self._search = search
        self._now_ms = now_ms
        self._partitions = partitions
        self._interval_ms = rounds.interval_ms
        self._page = rounds.page
        self._pause = rounds.pause
        self._sets = StoreAudit(inspector, now_ms, lambda name: live.of(name).limit, partitions)
        self._plans: dict[tuple[int, str], Plan] = {}
        self._round: _Round | None = None

    # -- at once -----------------------------------------------------------------------------------

    def page(self, cursor: str, limit: int) -> AuditPage:
        """Audit about ``limit`` keys of the store (``InvalidInput`` for a cursor that is none)."""
        try:
            keys, following = self._inspector.walk(cursor, limit)
        except ValueError as unknown:
            wrong = Violation(path="$.cursor", message="must be that of the page before")
            raise InvalidInput(violations=(wrong,)) from unknown
        self._plans = {}
        executions = [ExecutionId(key.rest) for key in keys if key.kind == "exec:"]
        executions = [one for one in dict.fromkeys(executions) if is_execution_id(one)]
        others = [key for key in dict.fromkeys(keys) if key.kind != "exec:"]
        findings = [*self._executions(executions), *self._keys(others)]
        return AuditPage(
            executions=len(executions),
            keys=len(keys),
            findings=tuple(sorted(set(findings))),
            cursor=following,
        )

    def execution(self, execution: str) -> tuple[Finding, ...]:
        """Audit one execution (``NotFound``)."""
        known = is_execution_id(execution) and partition_of(ExecutionId(execution))
        if known is False or known >= self._partitions:
            raise NotFound(f"No such workflow found by id: {execution}")
        self._plans = {}
        one = ExecutionId(execution)
        if not self._inspector.standings([one]):
            raise NotFound(f"No such workflow found by id: {execution}")
        return tuple(self._executions([one]))

    def whole(self, limit: int = 500) -> tuple[Finding, ...]:
        """Audit the whole store."""
        findings: list[Finding] = []
        cursor = ""
        while True:
            page = self.page(cursor, limit)
            findings.extend(page.findings)
            cursor = page.cursor
            if not cursor:
                return tuple(sorted(set(findings)))

    # -- by and by ---------------------------------------------------------------------------------

    def tick(self) -> int:
        """Go on with a round over the whole store, one page; begin one when it is time. Returns how
        many keys were looked at.
        """
        if not self._interval_ms:
            return 0
        if self._round is None:
            last = self._last_or_none()
            if self._now_ms() - last.get("began_ms", 0) < self._interval_ms:
                return 0
            self._round = _Round(self._now_ms(), Counter(runs=last.get("runs", 0)))
        found = self.page(self._round.cursor, self._page)
        self._round.add(found)
        if not found.cursor:
            self._inspector.record_audit(self._round.result(self._now_ms()))
            self._round = None
        return max(found.keys, 1)

    def last(self) -> Mapping[str, int]:
        """What the last finished round of any process has counted: violations by invariant, and
        ``executions``, ``runs``, ``began_ms``, ``ended_ms``; empty when there was none.
        ``StoreDamaged`` when that cannot be read.
        """
        return self._inspector.last_audit()

    def _last_or_none(self) -> Mapping[str, int]:
        """The same; what cannot be read is as none, so that a new round replaces it."""
        try:
            return self._inspector.last_audit()
        except StoreDamaged:
            return {}

    # -- two looks ---------------------------------------------------------------------------------

    def _executions(self, executions: Sequence[ExecutionId]) -> Iterable[Finding]:
        seen = {one: found for one in executions if (found := self._look(one)) and found.findings}
        confirmed: list[Finding] = []
        for _ in range(_LOOKS):
            if not seen:
                break
            self._pause(_BETWEEN_S)
            again = {one: self._look(one) for one in seen}
            open_ = {}
            for one, before in seen.items():
                after = again[one]
                common = _common(before, after)
                if after is None or not common:
                    continue
                if after.version == before.version:
                    confirmed.extend(common)
                else:
                    open_[one] = after
            seen = open_
        confirmed.extend(Finding("in-motion", one) for one in seen)
        return confirmed

    def _look(self, execution: ExecutionId) -> _Look | None:
        look = self._inspector.inspect(execution)
        if look is None:
            return None
        partition = partition_of(execution)
        findings = audit_execution(look, lambda plan: self._plan(partition, plan), self._stands)
        return _Look(look.version, tuple(findings))

    def _plan(self, partition: int, plan: str) -> Plan | None:
        """A plan that the store has; within one page it is asked once."""
        found = self._plans.get((partition, plan))
        if found is None:
            found = self._snapshots.stored(partition, plan)
            if found is not None:
                self._plans[partition, plan] = found
        return found

    def _keys(self, keys: Sequence[StoredKey]) -> Iterable[Finding]:
        first = {key: found for key in keys if (found := self._of_set(key))}
        if not first:
            return
        self._pause(_BETWEEN_S)
        for key, before in first.items():
            known = {finding.same for finding in before}
            yield from (one for one in self._of_set(key) if one.same in known)

    def _of_set(self, key: StoredKey) -> list[Finding]:
        """The findings of one key; that it cannot be read is one."""
        try:
            return self._sets.findings(key)
        except StoreUnavailable:
            raise
        except Exception as broken:  # noqa: BLE001 - whatever a damaged one raises is its finding
            text = f"{type(broken).__name__}: {broken}"[:200]
            return [Finding("unreadable", key.kind + key.rest, "", text)]

    def _stands(self, execution: str) -> str:
        """How an execution stands that another one depends on."""
        one = ExecutionId(execution)
        standing = self._inspector.standings([one]).get(one)
        if standing is None:
            return "missing" if self._search.archived_version(one) is None else "archived"
        if not standing.terminal:
            return "open"
        look = self._inspector.inspect(one)
        return "asked" if look is not None and _is_asked(look) else "ended"


@dataclass(frozen=True, slots=True)
class _Look:
    version: int
    findings: tuple[Finding, ...]


@dataclass(slots=True)
class _Round:
    """A round under way."""

    began_ms: int
    counts: Counter[str]
    cursor: str = ""

    def add(self, page: AuditPage) -> None:
        self.cursor = page.cursor
        self.counts["executions"] += page.executions
        self.counts.update(one.invariant for one in page.findings if one.invariant)

    def result(self, now_ms: int) -> dict[str, int]:
        counts = {name: self.counts[name] for name in (*INVARIANTS, "executions")}
        return {
            **counts,
            "runs": self.counts["runs"] + 1,
            "began_ms": self.began_ms,
            "ended_ms": now_ms,
        }


def _common(before: _Look, after: _Look | None) -> list[Finding]:
    known = {finding.same for finding in before.findings}
    return [one for one in after.findings if one.same in known] if after is not None else []


def _is_asked(look: Inspection) -> bool:
    """Whether an operation waits that may open it again."""
    try:
        return any(isinstance(load_event(event), Operation) for event in look.events)
    except (UnknownFormat, ValueError, KeyError):
        return False
