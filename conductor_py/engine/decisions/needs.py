"""Fetch what decide asked for: fields, plans, payloads, scripts, definitions. Every answer is a
value, a refusal included.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping

import orjson

from conductor_py.codec.execution import load_document, load_ending, load_field, load_header
from conductor_py.decider.need import (
    CachedWanted,
    ChildState,
    ChildStateWanted,
    ChildWanted,
    DomainWanted,
    Evaluated,
    FragmentWanted,
    Need,
    PayloadWanted,
    PlanWanted,
    PresenceWanted,
    Read,
    Refusal,
    Request,
    ScriptWanted,
    SinkWanted,
    ValidationWanted,
)
from conductor_py.decider.subsets import subset
from conductor_py.engine.decisions.long_scripts import LongScripts, PutOff, evaluation_of
from conductor_py.engine.definitions.sinks import unknown_provider
from conductor_py.engine.definitions.snapshots import Snapshots
from conductor_py.engine.payloads.reading import PayloadReader
from conductor_py.engine.reading.loading import load_all
from conductor_py.errors import (
    ConductorError,
    InvalidInput,
    LimitExceeded,
    NotFound,
    PayloadTooLarge,
    StoreFailure,
    StoreUnavailable,
)
from conductor_py.model.ids import ExecutionId, partition_of
from conductor_py.ports.output_cache import OutputCache
from conductor_py.ports.scripts import ScriptResult, Scripts, Value
from conductor_py.ports.store import ExecutionStore
from conductor_py.wire.outside import HeavyPlace

_LOG = logging.getLogger(__name__)
_READS_AT_ONCE = 2_000
_END = ("h", "end", "output")
_MOST_BYTES = 256 << 20
"""Of what is stored, for one decision."""
_SIZE = "bytes read"
"""Where answers say it; no field has such a name."""
_MAX_SENTENCE = 1_000
_MOST_MISSING = 100
"""Providers that a process complains of, each once: definitions name what they like."""

ActiveDomain = Callable[[str, str], str]
"""(task type, preference list) -> the domain to use."""


Restore = Callable[[ExecutionId], bool]
"""Bring an execution back from the archive; whether it was there."""


def bytes_read(known: Mapping[str, object]) -> int:
    """How much the answers have of what is stored."""
    size = known.get(_SIZE, 0)
    return size if isinstance(size, int) else 0


class Fetcher:
    """Answers needs. Nothing that a user can cause raises; an unavailable store does."""

    def __init__(  # noqa: PLR0917 - one collaborator a kind of need
        self,
        store: ExecutionStore,
        snapshots: Snapshots,
        payloads: PayloadReader,
        scripts: Scripts,
        active_domain: ActiveDomain,
        cache: OutputCache,
        providers: frozenset[str] = frozenset(),
        restore: Restore = lambda _: False,
        *,
        long_scripts: LongScripts | None = None,
        waits_for_scripts: bool = True,
        keeps_lines: bool = True,
    ) -> None:
        """Work over these collaborators; ``providers`` are those of events, beside Conductor
        itself; ``restore`` brings an archived execution back. Without ``waits_for_scripts`` those
        that take long are put off, to ``long_scripts`` or to a process that has these. What scripts
        print is kept if ``keeps_lines``.
        """
        self._keeps_lines = keeps_lines
        self._long_scripts = long_scripts
        self._waits_for_scripts = waits_for_scripts
        self._restore = restore
        self._providers = providers
        self._missing: set[str] = set()
        self._store = store
        self._snapshots = snapshots
        self._payloads = payloads
        self._scripts = scripts
        self._active_domain = active_domain
        self._cache = cache

    def fulfil(
        self, execution: ExecutionId, need: Need, known: dict[str, object], version: int | None
    ) -> bool:
        """Put the answers into ``known``; false when the execution moved on since ``version``.

        Raises ``PutOff`` when nothing was found, and all that is needed are scripts that take long.
        """
        reads = {k: r.read for k, r in need.requests.items() if isinstance(r, Read)}
        if reads and not self._read(execution, reads, known, version):
            return False
        scripts = {k: r for k, r in need.requests.items() if isinstance(r, ScriptWanted)}
        if scripts and self._waits_for_scripts:
            self._evaluate(scripts, known)
        elif scripts:
            self._attempt(execution, scripts, known, alone=len(scripts) == len(need.requests))
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
        brought: set[str] = set()
        size = bytes_read(known)
        for start in range(0, len(wanted), _READS_AT_ONCE):
            found = self._store.load(execution, wanted[start : start + _READS_AT_ONCE])
            if found is None or (version is not None and found[0] != version):
                return False
            brought |= found[1].keys()
            for name, stored in found[1].items():
                if name not in known:
                    known[name] = load_field(name, stored)
                    size += len(stored or b"")
        known[_SIZE] = size
        if size > _MOST_BYTES:
            raise PayloadTooLarge(f"A decision needs more than {_MOST_BYTES >> 20} MB at once.")
        for key, read in reads.items():
            # What did not fit is asked for again.
            if read.rpartition(" ")[2] in brought:
                known.setdefault(key, None)
        return True

    def _evaluate(self, wanted: dict[str, ScriptWanted], known: dict[str, object]) -> None:
        try:
            results = self._scripts.evaluate([evaluation_of(script) for script in wanted.values()])
        except LimitExceeded as busy:
            raise StoreUnavailable("Too many scripts are waiting to run; try again.") from busy
        for key, result in zip(wanted, results, strict=True):
            known[key] = self._evaluated(result)

    def _attempt(
        self,
        execution: ExecutionId,
        wanted: dict[str, ScriptWanted],
        known: dict[str, object],
        *,
        alone: bool,
    ) -> None:
        later: dict[str, ScriptWanted] = {}
        for key, script in wanted.items():
            result = self._long_scripts.result(execution, key) if self._long_scripts else None
            result = result or self._scripts.attempt(evaluation_of(script))
            if result is None:
                later[key] = script
            else:
                known[key] = self._evaluated(result)
        if alone and len(later) == len(wanted):
            raise PutOff(later)

    @property
    def place(self) -> HeavyPlace:
        """The place of heavy documents; what is fetched in a scope of it keeps it that long."""
        return self._payloads.place

    @property
    def has_long_scripts(self) -> bool:
        """Whether scripts that take long are evaluated in this process."""
        return self._long_scripts is not None

    def put_off(self, execution: ExecutionId, off: PutOff) -> None:
        """See to it that scripts that take long are evaluated, if this process is to do it."""
        if self._long_scripts is not None:
            self._long_scripts.add(execution, off.wanted)

    def _answer(  # noqa: C901, PLR0912 - one case a kind
        self, execution: ExecutionId, request: Request
    ) -> object:
        partition = partition_of(execution)
        try:
            match request:
                case PlanWanted():
                    return self._snapshots.plan(partition, request.hash)
                case PayloadWanted():
                    return self._payloads.value(request.path)
                case ChildWanted():
                    return self._child(request, partition)
                case FragmentWanted():
                    return self._snapshots.fragment(request, execution)
                case DomainWanted():
                    return self._active_domain(request.task_type, request.preferences)
                case CachedWanted():
                    stored = self._cache.get(request.key)
                    return Evaluated(orjson.loads(stored)) if stored else None
                case ValidationWanted():
                    return _valid(request)
                case ChildStateWanted():
                    return self._child_state(ExecutionId(request.child))
                case PresenceWanted():
                    return self._is_present(ExecutionId(request.execution))
                case SinkWanted():
                    return self._provider(execution, request)
        except StoreFailure:
            raise
        except RecursionError:
            return Refusal("Not a valid definition: it is nested too deeply")
        except (ConductorError, TypeError, ValueError, KeyError, AttributeError) as refused:
            # What is not there may be by the next try.
            return Refusal(
                _sentence(refused),
                terminal=not isinstance(refused, NotFound),
                large=isinstance(refused, PayloadTooLarge),
            )
        return None

    def _evaluated(self, result: ScriptResult) -> Evaluated | Refusal:
        lines = result.lines if self._keeps_lines else ()
        if isinstance(result, Value):
            return Evaluated(result.value, lines)
        return Refusal(result.message, terminal=result.terminal, lines=lines)

    def _child_state(self, child: ExecutionId) -> ChildState | None:
        found = load_all(self._store, child, _END)
        if found is None and self._restore(child):
            found = load_all(self._store, child, _END)
        fields = found[1] if found is not None else {}
        stored = fields.get("h")
        if stored is None:
            return None
        header = load_header(stored)
        return ChildState(
            status=header.status,
            generation=header.generation,
            reason=load_ending(fields.get("end")).reason,
            output=load_document(fields.get("output")),
            leaves=header.forget,
        )

    def _is_present(self, execution: ExecutionId) -> bool:
        return self._store.load(execution, ["h"]) is not None or self._restore(execution)

    def _provider(self, execution: ExecutionId, request: SinkWanted) -> bool | Refusal:
        name = request.provider
        if name in self._providers:
            return True
        problem = unknown_provider(name, self._providers)
        if request.notice and name not in self._missing and len(self._missing) < _MOST_MISSING:
            self._missing.add(name)
            facts = {"action": "sink_unknown", "workflow_id": execution}
            _LOG.warning(
                "Changes are told to nobody, these and later ones: %s", problem, extra=facts
            )
        return Refusal(problem)

    def _child(self, request: ChildWanted, partition: int) -> object:
        if request.inline is not None:
            plan = self._snapshots.inline_json(request.inline, partition)
        else:
            plan = self._snapshots.current(request.name, request.version, partition)
        if not request.nodes:
            return plan
        try:
            return self._snapshots.compiled(subset(plan, request.nodes, request.mode))
        except InvalidInput as wrong:
            found = "; ".join(f"{each.path} {each.message}" for each in wrong.violations)
            return Refusal(found[:_MAX_SENTENCE])


def _valid(wanted: ValidationWanted) -> bool | Refusal:
    from conductor_py.engine.definitions.json_schema import faults  # noqa: PLC0415 - forty ms of a start, and few need it

    found = faults(wanted.schema, wanted.document)
    if not found:
        return True
    return Refusal("; ".join(f"{fault.path} {fault.message}" for fault in found)[:_MAX_SENTENCE])


def _sentence(refused: Exception) -> str:
    if isinstance(refused, ConductorError) and not isinstance(refused, InvalidInput):
        return refused.message
    return f"Not a valid definition: {refused}"
