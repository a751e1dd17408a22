"""Where what is known of a definition stands in the catalog's tables, and what a change writes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from conductor_py.codec.catalog import dump_head, dump_name, dump_saved, load_name
from conductor_py.engine.definitions.calls import calls_of
from conductor_py.engine.definitions.composing import document_cell, log_cell
from conductor_py.model.catalog import Edge, Head, Kind, Saved, SplitWorkflow
from conductor_py.model.definitions import WorkflowDef
from conductor_py.model.json import JsonValue
from conductor_py.ports.catalog import Cell, Table, Write

_WIDTH = 19
_ONE = b"1"
_ENDS = ("preTask", "postTask")


def padded(code: int) -> str:
    """Write a code so that texts are in the order of numbers."""
    return f"{code:0{_WIDTH}d}"


def head_cell(kind: Kind, code: int) -> Cell:
    """Where a head stands."""
    return Cell(table=Table.HEAD, row=kind, field=padded(code))


def name_cell(name: str) -> Cell:
    """Where it stands who has the name of a workflow."""
    return Cell(table=Table.NAME, row=Kind.WORKFLOW, field=name)


def of_head(kind: Kind, before: Head | None, after: Head) -> Write:
    """Replace a head by another, if it is still what it was; ``None``: if there is none."""
    return Write(
        cell=head_cell(kind, after.code),
        after=dump_head(after),
        checked=True,
        before=dump_head(before) if before else None,
    )


def of_version(kind: Kind, head: Head, document: bytes, tasks: int) -> Iterator[Write]:
    """Write the version that a head edits."""
    saved = Saved(version=head.version, at_ms=head.changed_ms, digest=head.digest, tasks=tasks)
    cell = document_cell(kind, head.code, head.version)
    yield Write(cell=cell, after=document, checked=True)
    yield Write(cell=log_cell(kind, head.code, head.version), after=dump_saved(saved))


def of_name(before: Head | None, after: Head, standing: bytes | None) -> Iterator[Write]:
    """Take the name of a workflow, which stands as it was read, and give back the one that it had.
    Who takes that goes on counting, so that a name and a number never mean two things.
    """
    if before is not None and before.name == after.name:
        return
    _, floor = load_name(standing)
    name = dump_name(after.code, floor)
    yield Write(cell=name_cell(after.name), after=name, checked=True, before=standing)
    if before is not None:
        yield of_free_name(before)


def task_names(name: str) -> str:
    """The row of the tasks of a name that stand by themselves; several may have it."""
    return f"{Kind.TASK} {name}"


def of_task_name(before: Head | None, after: Head) -> Iterator[Write]:
    """Note the name of a task that stands by itself, so that it is found by it."""
    if after.owner:
        return
    yield _task_name(after, _ONE)
    if before is not None and before.name != after.name:
        yield _task_name(before, None)


def of_free_task_name(head: Head) -> Write:
    """Let a task no longer be found by its name."""
    return _task_name(head, None)


def _task_name(head: Head, noted: bytes | None) -> Write:
    cell = Cell(table=Table.NAME, row=task_names(head.name), field=str(head.code))
    return Write(cell=cell, after=noted)


def of_free_name(head: Head) -> Write:
    """Give back a name."""
    return Write(cell=name_cell(head.name), after=dump_name(0, head.latest))


def of_nothing(cell: Cell, holds: bytes) -> Write:
    """Change nothing, if a cell is still what it was: what a change relies on."""
    return Write(cell=cell, after=holds, checked=True, before=holds)


def next_head(
    before: Head | None,
    now_ms: int,
    *,
    code: int,
    name: str,
    version: int,
    digest: str,
    owner: int = 0,
) -> Head:
    """The head after a save of ``version``; who owns a task is said when it is new."""
    return Head(
        code=code,
        name=name,
        version=version,
        latest=version,
        etag=next_etag(before, now_ms),
        digest=digest,
        created_ms=before.created_ms if before else now_ms,
        changed_ms=now_ms,
        published=before.published if before else 0,
        startable=before.startable if before else (),
        owner=before.owner if before else owner,
    )


def next_etag(before: Head | None, now_ms: int) -> int:
    """The etag of the next head: a time, so that a lost one names nothing else later."""
    return max(before.etag + 1, now_ms) if before is not None else now_ms


def of_registered(name: str, field: str, before: bytes | None, after: bytes | None) -> Write:
    """Change what stands among the registered definitions, if it is still what it was."""
    cell = Cell(table=Table.REGISTERED, row=name, field=field)
    return Write(cell=cell, after=after, checked=True, before=before)


def of_use(code: int, workflow: int) -> Write:
    """Note that a version of a workflow has a task."""
    return Write(cell=Cell(table=Table.USE, row=str(code), field=str(workflow)), after=_ONE)


def of_calls(definition: WorkflowDef, workflow: int) -> Iterator[Write]:
    """Note which workflows a workflow starts."""
    for name in dict.fromkeys(call.name for call in calls_of(definition)):
        yield Write(cell=Cell(table=Table.CALL, row=name, field=str(workflow)), after=_ONE)


def edges_of(split: SplitWorkflow) -> Iterator[Edge]:
    """List the relations of a version between what it pins, its roots first."""
    pins = {pin.reference: pin for pin in split.pins}
    relations = [each for each in _relations(split) if each.get("preTask")]
    led = {each.get("postTask") for each in relations}
    if _relations(split):
        yield from (Edge(after=pin) for pin in split.pins if pin.reference not in led)
    for each in relations:
        rest = {name: value for name, value in each.items() if name not in _ENDS}
        before, after = pins[str(each["preTask"])], pins[str(each["postTask"])]
        yield Edge(after=after, before=before, relation=rest)


def _relations(split: SplitWorkflow) -> list[Mapping[str, JsonValue]]:
    found = split.header.get("relations")
    if not isinstance(found, list):
        return []
    return [each for each in found if isinstance(each, Mapping)]
