"""Fetch what decide asked for: fields, plans, payloads, scripts, definitions. Every answer is a
value, a refusal included.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import orjson

from conductor_py.codec.execution import load_field
from conductor_py.decider.need import (
    ChildWanted,
    DomainWanted,
    Evaluated,
    FragmentWanted,
    InstantWanted,
    Need,
    PayloadWanted,
    PlanWanted,
    Read,
    Refusal,
    Request,
    ScriptWanted,
)
from conductor_py.engine.snapshots import Snapshots
from conductor_py.errors import ConductorError, InvalidInput, LimitExceeded, StoreUnavailable
from conductor_py.model.ids import ExecutionId, partition_of
from conductor_py.ports.payloads import Payloads
from conductor_py.ports.scripts import Evaluation, Scripts, Value
from conductor_py.ports.store import ExecutionStore

_READS_AT_ONCE = 2_000

ActiveDomain = Callable[[str, str], str]
"""(task type, preference list) -> the domain to use."""


class Fetcher:
    """Answers needs. Nothing that a user can cause raises; an unavailable store does."""

    def __init__(
        self,
        store: ExecutionStore,
        snapshots: Snapshots,
        payloads: Payloads,
        scripts: Scripts,
        active_domain: ActiveDomain,
    ) -> None:
        """Work over these collaborators."""
        self._store = store
        self._snapshots = snapshots
        self._payloads = payloads
        self._scripts = scripts
        self._active_domain = active_domain

    def fulfil(
        self, execution: ExecutionId, need: Need, known: dict[str, object], version: int | None
    ) -> bool:
        """Put every answer into ``known``; false when the execution moved on since ``version``."""
        reads = {k: r.read for k, r in need.requests.items() if isinstance(r, Read)}
        if reads and not self._read(execution, reads, known, version):
            return False
        scripts = {k: r for k, r in need.requests.items() if isinstance(r, ScriptWanted)}
        if scripts:
            self._evaluate(scripts, known)
        for key, request in need.requests.items():
            if not isinstance(request, (Read, ScriptWanted)):
                known[key] = self._answer(execution, request)
        return True

    def _read(
        self,
        execution: ExecutionId,
        reads: dict[str, str],
        known: dict[str, object],
        version: int | None,
    ) -> bool:
        wanted = list(dict.fromkeys(reads.values()))
        for start in range(0, len(wanted), _READS_AT_ONCE):
            found = self._store.load(execution, wanted[start : start + _READS_AT_ONCE])
            if found is None or (version is not None and found[0] != version):
                return False
            for name, stored in found[1].items():
                if name not in known:
                    known[name] = load_field(name, stored)
        for key in reads:
            known.setdefault(key, None)
        return True

    def _evaluate(self, wanted: dict[str, ScriptWanted], known: dict[str, object]) -> None:
        requests = [
            Evaluation(evaluator=w.evaluator, expression=w.expression, input=w.input)
            for w in wanted.values()
        ]
        try:
            results = self._scripts.evaluate(requests)
        except LimitExceeded as busy:
            raise StoreUnavailable("Too many scripts are waiting to run; try again.") from busy
        for key, result in zip(wanted, results, strict=True):
            if isinstance(result, Value):
                known[key] = Evaluated(result.value)
            else:
                known[key] = Refusal(result.message, terminal=result.terminal)

    def _answer(self, execution: ExecutionId, request: Request) -> object:
        partition = partition_of(execution)
        try:
            match request:
                case PlanWanted():
                    return self._snapshots.plan(partition, request.hash)
                case PayloadWanted():
                    return orjson.loads(self._payloads.get(request.path))
                case ChildWanted():
                    return self._child(request, partition)
                case FragmentWanted():
                    return self._snapshots.fragment(request, execution)
                case DomainWanted():
                    return self._active_domain(request.task_type, request.preferences)
                case InstantWanted():
                    return _instant(request)
        except StoreUnavailable:
            raise
        except RecursionError:
            return Refusal("Not a valid definition: it is nested too deeply")
        except (ConductorError, TypeError, ValueError, KeyError, AttributeError) as refused:
            return Refusal(_sentence(refused))
        return None

    def _child(self, request: ChildWanted, partition: int) -> object:
        if request.inline is not None:
            return self._snapshots.inline_json(request.inline, partition)
        return self._snapshots.current(request.name, request.version, partition)


def _instant(wanted: InstantWanted) -> int:
    local = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(milliseconds=wanted.local_ms)
    try:
        zone = ZoneInfo(wanted.zone)
    except (ZoneInfoNotFoundError, ValueError) as unknown:
        raise ValueError(f"unknown time zone {wanted.zone}") from unknown
    return int(local.replace(tzinfo=zone).timestamp() * 1000)


def _sentence(refused: Exception) -> str:
    if isinstance(refused, ConductorError) and not isinstance(refused, InvalidInput):
        return refused.message
    return f"Not a valid definition: {refused}"
