"""Why is it not moving? Gathers what is known of an execution and of those it waits for, and names
one cause.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, cast

from conductor_py.codec.execution import (
    UnknownFormat,
    load_attempt,
    load_claim,
    load_document,
    load_ending,
    load_field,
    load_header,
)
from conductor_py.engine.definitions.live_limits import LiveLimits
from conductor_py.engine.definitions.snapshots import Snapshots
from conductor_py.engine.explaining.causes import Cause, cause_to_json
from conductor_py.engine.explaining.classification import causes_of
from conductor_py.engine.explaining.facts import Facts, QueueFacts
from conductor_py.engine.shards import LOCAL_ONLY, Shards
from conductor_py.engine.tasks.domains import Domains
from conductor_py.engine.tasks.workers import Workers
from conductor_py.errors import NotFound
from conductor_py.model.execution import NO_LOOP, Attempt, Header, JoinState
from conductor_py.model.ids import ExecutionId, is_execution_id, partition_of
from conductor_py.model.json import JsonObject, JsonValue
from conductor_py.ports.inspector import Inspection, Inspector, StoredKey
from conductor_py.ports.queues import PollData
from conductor_py.ports.search import Search
from conductor_py.wire.task_rules import RULES

_EXECUTIONS: Final = 2_000
_CHILDREN: Final = 50
_TASKS: Final = 1_000
_HOLDERS: Final = 200
_CLAIMS: Final = 10_000
_SHOWN: Final = 100
_UNREADABLE: Final = (UnknownFormat, LookupError, TypeError, ValueError, AttributeError)


class Why:
    """Explains executions that stand still."""

    def __init__(
        self,
        *,
        inspector: Inspector,
        snapshots: Snapshots,
        search: Search,
        shards: Shards,
        domains: Domains,
        live: LiveLimits,
        workers: Workers,
        partitions: int,
    ) -> None:
        """Read by these collaborators; nothing is changed."""
        self._inspector = inspector
        self._snapshots = snapshots
        self._search = search
        self._shards = shards
        self._domains = domains
        self._live = live
        self._workers = workers
        self._partitions = partitions

    def explain(self, execution: str) -> JsonObject:
        """Name the cause, what to do about it, and the causes of all open tasks (``NotFound``).

        A task that waits for a sub-workflow waits for the cause of that one: the way down to it is
        in ``path``.
        """
        first = self._known(execution)
        asked = _Asked(self._shards.view().live, self._polls(), self._workers.present)
        causes: dict[str, list[Cause]] = {}
        order = [first]
        for one in order:
            causes[one] = self._causes(one, asked)
            children = [cause.child for cause in causes[one] if cause.child]
            for child in children[:_CHILDREN]:
                if child not in causes and len(order) < _EXECUTIONS and is_execution_id(child):
                    order.append(ExecutionId(child))
        headline, path = _headlines(order, causes)[first]
        written: dict[str, JsonValue] = {
            "workflowId": execution,
            "cause": cause_to_json(headline),
            "causes": [cause_to_json(cause) for cause in causes[first][:_SHOWN]],
        }
        if path:
            written["path"] = list(path)
        return written

    def _known(self, execution: str) -> ExecutionId:
        if is_execution_id(execution) and partition_of(ExecutionId(execution)) < self._partitions:
            one = ExecutionId(execution)
            if self._inspector.standings([one]) or self._search.archived_version(one) is not None:
                return one
        raise NotFound(f"No such workflow found by id: {execution}")

    def _causes(self, execution: ExecutionId, asked: _Asked) -> list[Cause]:
        look = None
        if partition_of(execution) < self._partitions:
            look = self._inspector.inspect(execution)
        if look is not None:
            return causes_of(self._facts(look, asked))
        if self._search.archived_version(execution) is not None:
            text = "It has ended and is in the archive."
            return [Cause(code="archived", sentence=text, execution=execution)]
        text = "It is not in the store and not in the archive."
        return [Cause(code="broken", sentence=text, execution=execution)]

    # -- facts -------------------------------------------------------------------------------------

    def _facts(self, look: Inspection, asked: _Asked) -> Facts:
        try:
            header = load_header(look.fields["h"])
            attempts = _open(look, header)
            ending = load_ending(look.fields.get("end"))
            claims = {
                seq: load_claim(place.claim) for seq, place in look.places.items() if place.claim
            }
            joins = dict(_joins(look, attempts))
        except _UNREADABLE:
            return Facts(look=look, header=None)
        queues = {
            attempt.seq: self._queue(look, attempt, asked)
            for attempt in attempts
            if attempt.queue and look.places.get(attempt.seq) is not None
        }
        partition = partition_of(look.execution)
        admitted: tuple[str, ...] = ()
        if header.awaits_admission:
            found = self._heads("admitted:", header.admission_key, 20)
            admitted = tuple(member for member, _ in found)
        return Facts(
            look=look,
            header=header,
            ending=ending,
            plan_stored=self._snapshots.stored(partition, header.plan) is not None,
            attempts=attempts,
            claims=claims,
            joins=joins,
            queues=queues,
            admitted=admitted,
            live=frozenset(asked.live),
            local_only=self._shards.strategy == LOCAL_ONLY,
            active_ms=self._domains.active_ms,
        )

    def _queue(self, look: Inspection, attempt: Attempt, asked: _Asked) -> QueueFacts:
        domain = f"{attempt.domain}:"
        base = attempt.queue.removeprefix(domain) if attempt.domain else attempt.queue
        place = look.places[attempt.seq]
        system = attempt.type in RULES or attempt.type != attempt.definition
        known = asked.queues.get((attempt.queue, attempt.definition))
        if known is None:
            known = self._measured(attempt, look.now_ms)
            asked.queues[attempt.queue, attempt.definition] = known
        kind = attempt.type if system else base
        polls = tuple(
            poll
            for poll in asked.polls
            if poll.queue == base
            or (system and poll.queue.startswith((f"{kind}-", f"{kind}@", kind)))
        )
        entries = 0
        if place.ready:
            key = StoredKey(
                partition_of(look.execution), "queue:", f"{attempt.queue}:{attempt.shard}"
            )
            entries = asked.sizes.setdefault(key, self._inspector.size(key))
        return QueueFacts(
            base=base,
            polls=polls,
            entries=entries,
            limit=known.limit,
            holders=known.holders,
            rate=known.rate,
            rate_until=known.rate_until,
            system=system,
            loads=() if system else asked.loads(base, attempt.domain),
        )

    def _measured(self, attempt: Attempt, now_ms: int) -> QueueFacts:
        """The limits of a definition and who holds them; the same for all its tasks."""
        live = self._live.of(attempt.queue.rpartition(":")[2])
        is_live = live.definition == attempt.definition
        limit = live.limit if is_live and live.limit is not None else attempt.limit
        rate, window = (is_live and live.rate) or (attempt.rate, attempt.rate_window_ms)
        holders: tuple[tuple[str, int], ...] = ()
        if limit:
            holders = self._heads("limit:", attempt.definition, max(limit, _HOLDERS))
        until = 0
        if rate and window:
            kind = "rate:" if self._partitions == 1 else "rates:"
            found = self._heads(kind, attempt.definition, _CLAIMS)
            claims = [at for _, at in found if at > now_ms - window]
            if len(claims) >= rate:
                until = claims[0] + window
        return QueueFacts(
            base="", limit=limit, holders=holders, rate=rate if window else 0, rate_until=until
        )

    def _heads(self, kind: str, rest: str, limit: int) -> tuple[tuple[str, int], ...]:
        """The members of a set in all partitions, lowest score first."""
        found = [
            member
            for partition in range(self._partitions)
            for member in self._inspector.head(StoredKey(partition, kind, rest), limit)
        ]
        return tuple(sorted(found, key=lambda member: member[1]))

    def _polls(self) -> tuple[PollData, ...]:
        return self._domains.last_polls(None)


class _Asked:
    """What is asked once for a whole explanation."""

    __slots__ = ("_present", "_workers", "live", "polls", "queues", "sizes")

    def __init__(
        self,
        live: tuple[str, ...],
        polls: tuple[PollData, ...],
        present: Callable[[], tuple[JsonObject, ...]],
    ) -> None:
        self._present = present
        self._workers: tuple[JsonObject, ...] | None = None
        self.live = live
        self.polls = polls
        self.queues: dict[tuple[str, str], QueueFacts] = {}
        self.sizes: dict[StoredKey, int] = {}

    def loads(self, task_type: str, domain: str) -> tuple[tuple[str, int, int], ...]:
        """Who takes a type and says how busy: id, slots in use, slots."""
        if self._workers is None:
            self._workers = self._present()
        return tuple(
            (str(worker["workerId"]), load["running"], load["capacity"])
            for worker in self._workers
            if worker["reported"]
            for load in cast("list[dict[str, Any]]", worker["taskTypes"])
            if (load["taskType"], load.get("domain", "")) == (task_type, domain)
        )


def _open(look: Inspection, header: Header) -> tuple[Attempt, ...]:
    """The open attempts, in order; of very many the first ones."""
    seqs = sorted(look.places)
    attempts = (load_attempt(seq, look.fields[f"a:{seq}"]) for seq in seqs[: 2 * _TASKS])
    return tuple(
        one
        for one in attempts
        if one.open and one.generation == header.generation and one.seq >= header.first_seq
    )[:_TASKS]


def _joins(
    look: Inspection, attempts: tuple[Attempt, ...]
) -> list[tuple[int, tuple[JoinState, tuple[str, ...]]]]:
    found = []
    for attempt in attempts:
        if attempt.type not in {"JOIN", "EXCLUSIVE_JOIN"}:
            continue
        place = attempt.ref if attempt.vector == NO_LOOP else f"{attempt.ref}#{attempt.vector}"
        state = load_field(f"j:{place}", look.fields.get(f"j:{place}"))
        document = load_document(look.fields.get(f"i:{attempt.seq}"))
        listed = document.get("joinOn") if isinstance(document, Mapping) else None
        refs = tuple(str(ref) for ref in listed) if isinstance(listed, list) else ()
        if isinstance(state, JoinState):
            found.append((attempt.seq, (state, refs)))
    return found


def _headlines(
    order: list[ExecutionId], causes: Mapping[str, list[Cause]]
) -> dict[str, tuple[Cause, tuple[str, ...]]]:
    """The most urgent cause of each execution, its sub-workflows' included, and the way to it."""
    best: dict[str, tuple[Cause, tuple[str, ...]]] = {}
    for one in reversed(order):  # those that are waited for come after those that wait
        own = [_below(best, cause) if cause.child in best else (cause, ()) for cause in causes[one]]
        best[one] = min(own, key=lambda found: found[0].rank)
    return best


def _below(
    best: Mapping[str, tuple[Cause, tuple[str, ...]]], cause: Cause
) -> tuple[Cause, tuple[str, ...]]:
    headline, path = best[cause.child]
    return headline, (cause.child, *path)
