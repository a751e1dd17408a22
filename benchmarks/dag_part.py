"""DAGs through the engine without HTTP: what a start and a completion cost however large they are,
and what a save writes when one task of a thousand was edited.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from benchmarks.figures import Bare, Figure, between
from benchmarks.place import Place, engine_module, poll, work_off
from conductor_py.codec.definitions import workflow_from_json
from conductor_py.engine import Engine
from conductor_py.model.catalog import Head
from conductor_py.model.requests import StartRequest
from conductor_py.wire.catalog import read_draft
from conductor_py.wire.definition_reader import DefinitionReader

_PART = "DAGs, engine without HTTP"
_SAVED = "Catalog, engine without HTTP"
_BEFORE = 3
"""How many tasks of the layer before a task of a layered graph comes after."""
_ROUNDS = 5
_SQL = 4 * "select carrier, avg(arr_delay) as delay from flights where day = ? group by carrier; "
"""What a task says is longer than what it is called."""
_Json = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """A kind of graph: its small and its large specimen are compared."""

    key: str
    title: str
    small: int
    large: int
    relations: Callable[[int], Iterator[tuple[int, int]]]


def _wide(size: int) -> Iterator[tuple[int, int]]:
    yield from ((0, number) for number in range(1, size))


def _deep(size: int) -> Iterator[tuple[int, int]]:
    yield from itertools.pairwise(range(size))


def _layered(size: int) -> Iterator[tuple[int, int]]:
    """As many layers as each has tasks."""
    width = round(size**0.5)
    for number in range(width, width * width):
        layer, place = divmod(number, width)
        for step in range(_BEFORE):
            yield (layer - 1) * width + (place + step) % width, number


SHAPES = (
    Shape(key="wide", title="behind one task", small=10, large=1000, relations=_wide),
    Shape(key="deep", title="in a chain", small=10, large=1000, relations=_deep),
    Shape(key="layered", title="in layers", small=100, large=10_000, relations=_layered),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Cost:
    """What a task cost from the start of its DAG to the end of the execution."""

    size: int
    ms: float
    moved: float
    decides: float


def measure_dags(at: Place, least: int, most: int) -> list[Figure]:
    """Measure each shape, small ones repeated until ``least`` tasks ran, no large one above
    ``most`` tasks.
    """
    _run(at.engine, definition_of("warm", 10, _wide))
    bare = at.bare.loop()
    figures = [_started(at, bare)]
    for shape in SHAPES:
        small = _cost(at, shape, shape.small, least)
        large = _cost(at, shape, min(shape.large, most), 0)
        figures += _compared(shape, small, large, between(bare, at.bare.loop()))
    return figures


def definition_of(
    name: str, size: int, relations: Callable[[int], Iterator[tuple[int, int]]]
) -> _Json:
    """Write a graph of a shape."""
    return {
        "name": name,
        "tasks": [
            {"name": "node", "taskReferenceName": f"t{number}", "type": "SIMPLE"}
            for number in range(size)
        ],
        "relations": [
            {"preTask": f"t{before}", "postTask": f"t{after}"} for before, after in relations(size)
        ],
    }


def _started(at: Place, bare: Bare) -> Figure:
    """Each has a name of its own: nothing of it is compiled yet."""
    spent = []
    for number in range(_ROUNDS):
        definition = workflow_from_json(definition_of(f"start-{number}", 1000, _deep))
        request = StartRequest(name=definition.name, definition=definition)
        began = time.perf_counter()
        execution = at.engine.executions.start(request)
        spent.append(time.perf_counter() - began)
        at.engine.executions.terminate(execution, reason=None)
        poll(at.engine, "node", 1)
    ms = sorted(spent)[_ROUNDS // 2] * 1000
    return Figure(
        key="dag_start",
        part=_PART,
        title="compile and start a DAG of 1,000 tasks",
        value=ms,
        unit="ms",
        ratio=bare.time(ms),
    )


def _cost(at: Place, shape: Shape, size: int, least: int) -> _Cost:
    times = max(1, least // size)
    definition = definition_of(shape.key, size, shape.relations)
    before, began = at.bare.counters(), time.perf_counter()
    with _counted() as decides:
        for _ in range(times):
            _run(at.engine, definition)
    spent, after = time.perf_counter() - began, at.bare.counters()
    done = size * times
    return _Cost(
        size=size,
        ms=spent * 1000 / done,
        moved=(after.moved - before.moved) / done,
        decides=len(decides) / done,
    )


@contextmanager
def _counted() -> Iterator[list[None]]:
    """Count the calls of decide, those included that only find what they lack."""
    calls: list[None] = []
    module = engine_module("deliberation")
    decide = module.decide

    def counting(*given: Any, **named: Any) -> Any:  # noqa: ANN401 - handed on
        calls.append(None)
        return decide(*given, **named)

    module.decide = counting
    try:
        yield calls
    finally:
        module.decide = decide


def _run(engine: Engine, document: _Json) -> None:
    definition = workflow_from_json(document)
    execution = engine.executions.start(StartRequest(name=definition.name, definition=definition))
    work_off(engine, execution, "node", len(definition.tasks), {"n": 1})


def _compared(shape: Shape, small: _Cost, large: _Cost, bare: Bare) -> Iterator[Figure]:
    key, many = f"dag_{shape.key}", f"{large.size:,} {shape.title}"
    yield Figure(
        key=key,
        part=_PART,
        title=f"a task of {small.size} {shape.title}",
        value=small.ms,
        unit="ms",
        ratio=bare.time(small.ms),
    )
    for name, title, unit, mine, first in (
        ("time", "time", " ms", large.ms, small.ms),
        ("moved", "bytes sent to and from Redis", " B", large.moved, small.moved),
        ("decides", "calls of decide", "", large.decides, small.decides),
    ):
        yield Figure(
            key=f"{key}_{name}_growth",
            part=_PART,
            title=f"{title} of a task of {many} ({mine:.3g}{unit}) over one of {small.size}",
            value=mine / first,
            unit="x",
            ratio=first / mine,
            target=1.5,
        )


# -- saves -----------------------------------------------------------------------------------------


def measure_saves(at: Place, size: int) -> list[Figure]:
    """Measure the save of a DAG of which one task was edited, against one that writes all of it:
    every task was, as for a store that keeps a definition as one document, or rewrites its rows.
    """
    document = _edited(definition_of("saved", size, _deep), range(size), 0)
    head = _save(at.engine, document, None)
    edits: list[tuple[float, int]] = []
    rewrites: list[tuple[float, int]] = []
    for number in range(1, _ROUNDS + 1):
        document = _edited(document, range(size // 2, size // 2 + 1), number)
        head, edit = _measured(at, document, head)
        edits.append(edit)
        document = _edited(document, range(size), number)
        head, rewrite = _measured(at, document, head)
        rewrites.append(rewrite)
    edit_s, edit_moved = sorted(edits)[_ROUNDS // 2]
    all_s, all_moved = sorted(rewrites)[_ROUNDS // 2]
    return [
        Figure(
            key="save_edit",
            part=_SAVED,
            title=f"save a DAG of {size:,} tasks with one edited",
            value=edit_s * 1000,
            unit="ms",
        ),
        Figure(
            key="save_edit_time",
            part=_SAVED,
            title=f"the time of writing all of it ({all_s * 1000:,.0f} ms) over that",
            value=all_s / edit_s,
            unit="x",
            ratio=all_s / edit_s,
            target=1.5,
            bound="at least",
        ),
        Figure(
            key="save_edit_written",
            part=_SAVED,
            title=f"bytes that writing all of it sends to Redis ({all_moved:,}) over that"
            f" ({edit_moved:,})",
            value=all_moved / edit_moved,
            unit="x",
            ratio=all_moved / edit_moved,
            target=5,
            bound="at least",
        ),
    ]


def _measured(at: Place, document: _Json, head: Head) -> tuple[Head, tuple[float, int]]:
    """Save it; return how long that took, in seconds, and the bytes that Redis was sent."""
    before, began = at.bare.counters(), time.perf_counter()
    saved = _save(at.engine, document, head)
    spent = time.perf_counter() - began
    return saved, (spent, at.bare.counters().received - before.received)


def _save(engine: Engine, document: Mapping[str, Any], head: Head | None) -> Head:
    known: dict[str, Any] = {"code": head.code, "etag": head.etag} if head else {}
    return engine.catalog.save(read_draft(document), DefinitionReader().check, **known)


def _edited(document: _Json, which: Sequence[int], number: int) -> _Json:
    tasks = [
        {**task, "inputParameters": {"edit": f"{number}-{len(which)}", "sql": _SQL}}
        if index in which
        else task
        for index, task in enumerate(document["tasks"])
    ]
    return {**document, "tasks": tasks}
