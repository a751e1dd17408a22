"""Snapshots: definitions made whole, named by the hash of their content, compiled once.

At start the workflow definition and every task definition it names are put together; what an
execution carries from then on is the hash (invariant I9). Compiled plans are immutable and cached
by hash, and nowhere else: heads and inline definitions lead to the hash of their plan. Heads have
the revision of the definitions they were read at, and the store tells a starter when that is old.
"""

from __future__ import annotations

import gc
import hashlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from threading import Lock
from typing import Any

import orjson

from conductor_py.codec.definitions import (
    load_task_def,
    workflow_from_json,
    workflow_to_json,
)
from conductor_py.codec.execution import dump_json
from conductor_py.codec.nesting import plain
from conductor_py.decider.compile import compile_fragment, compile_plan
from conductor_py.decider.need import FragmentWanted
from conductor_py.decider.plan import Plan
from conductor_py.engine.definitions.composing import Composer
from conductor_py.engine.definitions.plan_cache import PLAN_BYTES, Compiled, PlanCache, Room
from conductor_py.engine.definitions.registered import Registered
from conductor_py.engine.definitions.schemas import embed_schemas, names_schema
from conductor_py.engine.definitions.tags import with_rate_limit
from conductor_py.engine.port_set import Ports
from conductor_py.errors import NotFound
from conductor_py.model.definitions import TaskDef, WorkflowDef, WorkflowTask, children_of
from conductor_py.model.execution import Header
from conductor_py.model.ids import ExecutionId
from conductor_py.model.json import JsonObject
from conductor_py.ports.metadata import MetadataStore, PlanStore
from conductor_py.wire.data_definitions import read_tasks, read_workflow
from conductor_py.wire.validation import Rules, check

LOST = "The definition of this execution is lost."
"""What stands in the place of a lost definition says so."""
_HEADS = 4_000
_INLINE = 2_000
_LARGE_BLOB = 64 * 1024
_RULES = Rules(unknown_names=True)
_SYSTEM_DEFAULTS: dict[str, Any] = {"retry_count": 0, "response_timeout_seconds": 0}


class Snapshots:
    """Make and find plans. Safe for threads: what is computed twice is equal."""

    def __init__(self, metadata: MetadataStore, plans: PlanStore, registered: Registered) -> None:
        """Work over the registered definitions and the stored plans."""
        self._metadata = metadata
        self._registered = registered
        self._plans = plans
        self._compiled = PlanCache()
        self._heads = Room[tuple[str, int | None], tuple[int, str]](_HEADS, _HEADS)
        self._inline = Room[int, tuple[WorkflowDef, int | None, str]](_INLINE, PLAN_BYTES)
        self._lock = Lock()

    def forget_heads(self) -> None:
        """Read registered definitions anew from here on (the store said that they changed)."""
        with self._lock:
            self._heads.clear()
            self._inline.clear()

    def registered(self, name: str, version: int | None, partition: int) -> tuple[Plan, int]:
        """The plan of a registered definition (latest without a version), with the revision it was
        read at.
        """
        with self._lock:
            head = self._heads.get((name, version))
        cached = self._cached(head[1]) if head is not None else None
        if head is not None and cached is not None:
            return cached.plan, head[0]
        revision = self._metadata.revision(partition)
        found = self._registered.definition(name, version)
        if found is None:
            raise self._registered.missing(name, version)
        definition = with_rate_limit(found, self._metadata.tags)
        compiled = self._compile(self._whole(definition))
        with self._lock:
            self._heads.put((name, version), (revision, compiled.plan.hash), 1)
        return compiled.plan, revision

    def current(self, name: str, version: int | None, partition: int) -> Plan:
        """The plan of a registered definition as it is now, whatever this process remembers."""
        plan, revision = self.registered(name, version, partition)
        if self._metadata.revision(partition) == revision:
            return plan
        self.forget_heads()
        return self.registered(name, version, partition)[0]

    def inline(
        self, definition: WorkflowDef, partition: int, rules: Rules | None = None
    ) -> tuple[Plan, int | None]:
        """The plan of an inline definition; no revision when it names nothing that is
        registered.

        With ``rules`` it is held to them (``DefinitionError``) with all that it names.
        """
        key = id(definition)
        with self._lock:
            known = self._inline.get(key)
        if known is not None and known[0] is definition:
            cached = self._cached(known[2])
            if cached is not None:
                return cached.plan, known[1]
        revision = self._metadata.revision(partition) if _names_registered(definition) else None
        whole = self._whole(definition)
        if rules is not None:
            check(whole, rules)
        compiled = self._compile(whole)
        with self._lock:
            self._inline.put(key, (definition, revision, compiled.plan.hash), len(compiled.blob))
        return compiled.plan, revision

    def inline_json(self, definition: WorkflowDef | JsonObject, partition: int) -> Plan:
        """The plan of a definition that came as data (a sub-workflow's); ``InvalidInput`` when that
        is none.
        """
        if isinstance(definition, WorkflowDef):
            return self.inline(definition, partition)[0]
        return self.inline(read_workflow(definition), partition, _RULES)[0]

    def compiled(self, definition: WorkflowDef) -> Plan:
        """The plan of a definition that is whole already."""
        return self._compile(definition).plan

    def fragment(self, wanted: FragmentWanted, owner: ExecutionId) -> Plan:
        """The plan of tasks that came as data, below the node that brought them; ``InvalidInput``
        when they are none.
        """
        tasks = read_tasks(wanted.tasks)
        known = self._task_definitions(tasks)
        whole = tuple(_embed(task, known) for task in tasks)
        definition = WorkflowDef(name=wanted.anchor, tasks=whole)
        definition = embed_schemas(definition, self._metadata.schema)
        return self._compile(definition, wanted, owner).plan

    def plan(self, partition: int, plan_hash: str) -> Plan | None:
        """A plan by its hash, from this process or from the store; ``None`` when neither has it."""
        cached = self._cached(plan_hash)
        if cached is not None:
            return cached.plan
        blob = self._plans.get(partition, plan_hash)
        return self._load(plan_hash, blob).plan if blob is not None else None

    def stored(self, partition: int, plan_hash: str) -> Plan | None:
        """A plan by its hash if the store has it, whatever this process remembers."""
        blob = self._plans.get(partition, plan_hash)
        return self._load(plan_hash, blob).plan if blob is not None else None

    @staticmethod
    def stand_in(header: Header) -> Plan:
        """An empty plan in the place of one that is lost: enough to end an execution and to clean
        up after it, and to show that it was there.
        """
        lost = WorkflowDef(name=header.name, version=header.version, description=LOST)
        return compile_plan(lost, header.plan)

    def peek(self, plan_hash: str) -> Plan | None:
        """A plan if this process has it."""
        cached = self._cached(plan_hash)
        return cached.plan if cached else None

    def adopt(self, blobs: Mapping[str, bytes]) -> None:
        """Know plans that were read from elsewhere as they are stored, by hash."""
        for plan_hash, blob in blobs.items():
            self._remember(self._load(plan_hash, blob))

    def blob(self, partition: int, plan_hash: str) -> bytes | None:
        """A plan as it is stored; ``None`` when it is nowhere."""
        cached = self._cached(plan_hash)
        return cached.blob if cached is not None else self._plans.get(partition, plan_hash)

    def store(self, partition: int, hashes: Iterable[str]) -> None:
        """Put plans that this process has into a partition."""
        for plan_hash in hashes:
            compiled = self._cached(plan_hash)
            if compiled is not None:
                reads = {ref: dump_json(list(r)) for ref, r in compiled.plan.reads.items()}
                self._plans.put(partition, plan_hash, compiled.blob, reads, compiled.owner)

    def collect(self, partition: int, hashes: tuple[str, ...]) -> None:
        """Let the store forget plans that nobody uses any more."""
        self._plans.collect(partition, hashes, 0)

    # -- making ------------------------------------------------------------------------------------

    def _cached(self, plan_hash: str) -> Compiled | None:
        return self._compiled.get(plan_hash)

    def _compile(
        self,
        definition: WorkflowDef,
        wanted: FragmentWanted | None = None,
        owner: str = "",
    ) -> Compiled:
        # Hashed and stored without what equals its default: another default of a member would
        # change what stored plans mean. Such a member needs another name.
        form: dict[str, Any] = {"definition": workflow_to_json(definition, sparse=True)}
        if wanted is not None:
            form |= {"anchor": wanted.anchor, "loops": list(wanted.loops)}
            form |= {"parent": wanted.parent, "joins": list(wanted.joins)}
            form |= {"fork": wanted.fork, "owner": owner}
        blob = orjson.dumps(form, default=plain, option=orjson.OPT_SORT_KEYS)
        return self._load(hashlib.sha256(blob).hexdigest()[:32], blob, definition)

    def _load(self, plan_hash: str, blob: bytes, definition: WorkflowDef | None = None) -> Compiled:
        cached = self._cached(plan_hash)
        if cached is not None:
            return cached
        with _uncollected() if len(blob) > _LARGE_BLOB else nullcontext():
            compiled = _compiled(plan_hash, blob, definition)
        self._remember(compiled)
        return compiled

    def _remember(self, compiled: Compiled) -> None:
        """Keep a plan that a caller is about to use: the store may not have it (any more), and then
        asks for it.
        """
        self._compiled.put(compiled)

    def _whole(self, definition: WorkflowDef) -> WorkflowDef:
        """The definition with every task definition embedded and sub-workflow versions pinned."""
        known = self._task_definitions(definition.tasks)
        pinned = self._latest(definition.tasks)
        tasks = tuple(_embed(task, known, pinned) for task in definition.tasks)
        return embed_schemas(replace(definition, tasks=tasks), self._metadata.schema)

    def _task_definitions(self, tasks: Iterable[WorkflowTask]) -> dict[str, TaskDef]:
        names = {task.name for task in _walk(tasks) if task.task_definition is None}
        if not names:
            return {}
        stored = self._metadata.tasks(tuple(sorted(names)))
        return {name: load_task_def(blob) for name, blob in stored.items()}

    def _latest(self, tasks: Iterable[WorkflowTask]) -> dict[str, int]:
        latest: dict[str, int] = {}
        for task in _walk(tasks):
            params = task.sub_workflow_param
            if params is None or not _wants_latest(task) or not params.name:
                continue
            if params.name not in latest:
                version = self._registered.version_of_latest(params.name)
                if version is None:
                    where = f"task {task.task_reference_name}"
                    instead = self._registered.instead(params.name, None)
                    raise NotFound(
                        f"No such sub-workflow found by name: {params.name} ({where}){instead}"
                    )
                latest[params.name] = version
        return latest


def snapshots_of(ports: Ports) -> Snapshots:
    """Make and find plans over the ports of an engine."""
    registered = Registered(ports.metadata, Composer(ports.catalog))
    return Snapshots(ports.metadata, ports.plans, registered)


def _compiled(plan_hash: str, blob: bytes, definition: WorkflowDef | None) -> Compiled:
    form = orjson.loads(blob)
    definition = definition or workflow_from_json(form["definition"])
    if "anchor" in form:
        plan = compile_fragment(
            definition,
            plan_hash,
            anchor=form["anchor"],
            loops=tuple(form["loops"]),
            parent=form["parent"],
            joins=tuple(form["joins"]),
            fork=form["fork"],
        )
    else:
        plan = compile_plan(definition, plan_hash)
    owner = form.get("owner")
    return Compiled(plan, blob, ExecutionId(owner) if owner else None)


@contextmanager
def _uncollected() -> Iterator[None]:
    """Keep the collector from walking again and again through what is being made, and stays: for
    the plan of a wide fork that is half the price. Of several threads the first ends it for all.
    """
    collects = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collects:
            gc.enable()


def _walk(tasks: Iterable[WorkflowTask]) -> Iterable[WorkflowTask]:
    pending = list(tasks)
    while pending:
        task = pending.pop()
        yield task
        for _, body in children_of(task):
            pending.extend(body)


def _wants_latest(task: WorkflowTask) -> bool:
    params = task.sub_workflow_param
    if task.type != "SUB_WORKFLOW" or params is None or params.workflow_definition is not None:
        return False
    return params.version in (None, 0) and bool(params.name) and "${" not in str(params.name)


def _names_registered(definition: WorkflowDef) -> bool:
    return names_schema(definition) or any(
        task.task_definition is None or task.type == "SUB_WORKFLOW"
        for task in _walk(definition.tasks)
    )


def _ad_hoc(task: WorkflowTask) -> TaskDef:
    """What an unregistered name gets, as in Conductor: defaults for SIMPLE, no retries for any
    other type.
    """
    if task.type == "SIMPLE":
        return TaskDef(name=task.name)
    return TaskDef(name=task.name, **_SYSTEM_DEFAULTS)


def _embed(
    task: WorkflowTask, known: Mapping[str, TaskDef], pinned: Mapping[str, int] | None = None
) -> WorkflowTask:
    changes: dict[str, Any] = {}
    if task.task_definition is None:
        changes["task_definition"] = known.get(task.name) or _ad_hoc(task)
    if pinned and _wants_latest(task) and task.sub_workflow_param is not None:
        version = pinned.get(str(task.sub_workflow_param.name))
        changes["sub_workflow_param"] = replace(task.sub_workflow_param, version=version)
    if task.fork_tasks:
        changes["fork_tasks"] = tuple(_all(branch, known, pinned) for branch in task.fork_tasks)
    if task.decision_cases:
        cases = task.decision_cases.items()
        changes["decision_cases"] = {name: _all(body, known, pinned) for name, body in cases}
    if task.default_case:
        changes["default_case"] = _all(task.default_case, known, pinned)
    if task.loop_over:
        changes["loop_over"] = _all(task.loop_over, known, pinned)
    return replace(task, **changes) if changes else task


def _all(
    tasks: tuple[WorkflowTask, ...],
    known: Mapping[str, TaskDef],
    pinned: Mapping[str, int] | None,
) -> tuple[WorkflowTask, ...]:
    return tuple(_embed(task, known, pinned) for task in tasks)
