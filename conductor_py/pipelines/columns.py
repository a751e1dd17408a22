"""Columns as far as they are known without Spark, and what is wrong with those that nodes name.

A declared schema is followed through the transforms that keep or name columns. Where a query or a
function stands between, nothing is known and nothing is claimed.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Final

from conductor_py.errors import Violation
from conductor_py.pipelines.graph import Graph, Node, graph_of, places
from conductor_py.pipelines.spec import Job, Sink, Source, Transform
from conductor_py.pipelines.types import family, read_type

Columns = Mapping[str, str | None]
"""Types by column, in lower case; ``None`` for a type that is not known."""

_GENERATED: Final[Columns] = MappingProxyType(
    {"id": "bigint", "number": "bigint", "text": "string", "at": "timestamp"}
)
_MESSAGE: Final = {
    "topic": "string",
    "partition": "int",
    "offset": "bigint",
    "timestamp": "timestamp",
}
_KEYS: Final = {
    "dedup": ("keys",),
    "aggregate": ("group_by",),
    "file": ("partition_by",),
    "jdbc": ("key",),
    "elasticsearch": ("id_from",),
    "kafka": ("key", "value"),
}
"""Settings that name columns of a node's only input, by the kind of transform or sink."""
_NESTED: Final = frozenset({"array", "map", "struct", "variant"})
_COMPARED: Final = frozenset({"number", "time", "string", "boolean"})
_INSTANTS: Final = frozenset({"number", "time"})


def column_findings(job: Job) -> Iterator[Violation]:
    """List columns that are not there, and types that do not fit."""
    graph, where = graph_of(job), places(job)
    known = _known(graph)
    for name in graph.nodes:
        node, path = graph.nodes[name], where[name]
        inputs = {input_: known[each] for input_, each in graph.feeds[name].items()}
        yield from _times(node, inputs, path)
        if isinstance(node, Source):
            yield from _of_source(node, known[name], path)
        elif node.kind in {"lookup", "join"}:
            yield from _pairs(node, list(inputs.values()), path)
        elif node.kind == "union":
            yield from _union(inputs, f"{path}.inputs")
        elif len(inputs) == 1:
            columns = next(iter(inputs.values()))
            yield from _held(node, columns, path)
            for setting in _KEYS.get(node.kind, ()):
                named = node.settings.get(setting, ())
                if isinstance(named, str):
                    yield from _missing([(named, f"{path}.{setting}")], columns)
                else:
                    at = [(each, f"{path}.{setting}[{i}]") for i, each in enumerate(named)]
                    yield from _missing(at, columns)


def _known(graph: Graph) -> dict[str, Columns | None]:
    known: dict[str, Columns | None] = {}
    for name in graph.order():
        node = graph.nodes[name]
        inputs = [known[each] for each in graph.feeds[name].values()]
        known[name] = _declared(node) if isinstance(node, Source) else _passed(node, inputs)
    return known


def _declared(node: Source) -> Columns | None:
    if node.kind == "generator":
        return _GENERATED
    if node.kind == "kafka" and node.settings.get("format") != "json":
        content = "string" if node.settings.get("format") == "text" else "binary"
        return {**_MESSAGE, "key": content, "value": content}
    if node.schema is None:
        return None
    found: dict[str, str | None] = {
        each.name.lower(): read_type(each.type) for each in node.schema.columns
    }
    return found if node.schema.extra_columns != "capture" else {**found, "_extra": "string"}


def _passed(node: Node, inputs: list[Columns | None]) -> Columns | None:
    first = inputs[0]
    if node.kind in {"filter", "dedup", "union"}:
        return first
    if node.kind == "map":
        named = dict.fromkeys(each.lower() for each in node.settings["select"])
        if not node.settings.get("keep_others"):
            return named
        return None if first is None else {**first, **named}
    if node.kind == "aggregate":
        groups = [each.lower() for each in node.settings.get("group_by", ())]
        measures = dict.fromkeys(each.lower() for each in node.settings["measures"])
        ends = ("window_start", "window_end") if node.settings.get("window_s") else ()
        windows = dict.fromkeys(ends, "timestamp")
        return {name: (first or {}).get(name) for name in groups} | windows | measures
    if node.kind not in {"lookup", "join"} or first is None or inputs[1] is None:
        return None
    if node.settings.get("how") in {"semi", "anti"}:
        return first
    pairs = [(left.lower(), right.lower()) for left, right in node.settings["on"]]
    # A join keeps the two columns of a pair whose names differ.
    keys = {right for left, right in pairs if node.kind == "lookup" or left == right}
    return {**{name: each for name, each in inputs[1].items() if name not in keys}, **first}


def _missing(named: Iterable[tuple[str, str]], columns: Columns | None) -> Iterator[Violation]:
    if columns is None:
        return
    for name, path in named:
        if name.lower() not in columns:
            message = f"is no column of what it reads; there are {', '.join(columns)}"
            yield Violation(path=path, message=message, invalid_value=name)


def _held(node: Node, columns: Columns | None, path: str) -> Iterator[Violation]:
    """Look for columns that a sink's form has no place for."""
    folders = {each.lower() for each in node.settings.get("partition_by", ())}
    if node.kind == "file" and columns and folders >= set(columns):
        message = "names all columns; at least one column must be left for the files"
        yield Violation(path=f"{path}.partition_by", message=message)
    is_csv = node.kind == "file" and node.settings.get("format") == "csv"
    if not isinstance(node, Sink) or not (is_csv or node.kind == "jdbc"):
        return
    for name, type_ in (columns or {}).items():
        if type_ is not None and type_.partition("<")[0] in _NESTED:
            place = "CSV" if is_csv else "a table"
            message = f"has {name} as {type_}, and {place} holds single values; use to_json({name})"
            yield Violation(path=f"{path}.input", message=message, invalid_value=name)


def _of_source(node: Source, columns: Columns | None, path: str) -> Iterator[Violation]:
    seen: set[str] = set()
    for index, column in enumerate(node.schema.columns if node.schema else ()):
        if column.name.lower() in seen:
            at = f"{path}.schema.columns[{index}].name"
            message = "must be unique; capitals do not tell columns apart"
            yield Violation(path=at, message=message, invalid_value=column.name)
        seen.add(column.name.lower())
    event_time, split = node.event_time, node.split
    if event_time is not None:
        at = f"{path}.event_time.column"
        yield from _fitting(event_time.column, at, columns, _INSTANTS)
    if split is not None and split.column:
        wanted = frozenset({"number", "time", "string"})
        yield from _fitting(split.column, f"{path}.split.column", columns, wanted)


def _times(node: Node, inputs: Mapping[str, Columns | None], path: str) -> Iterator[Violation]:
    """Look at the columns that a transform takes the time of events from."""
    if not isinstance(node, Transform):
        return
    for input_, columns in inputs.items():
        setting = f"{input_}_time" if node.kind == "join" else "time"
        if node.kind in _KEYS.keys() | {"join"} and (name := node.settings.get(setting)):
            yield from _fitting(name, f"{path}.{setting}", columns, _INSTANTS)


def _fitting(
    name: str, path: str, columns: Columns | None, wanted: frozenset[str]
) -> Iterator[Violation]:
    yield from _missing([(name, path)], columns)
    found = (columns or {}).get(name.lower())
    if found is not None and family(found) not in wanted:
        message = f"is a {found}; it must be a {' or a '.join(sorted(wanted))}"
        yield Violation(path=path, message=message, invalid_value=name)


def _pairs(node: Transform | Sink, inputs: list[Columns | None], path: str) -> Iterator[Violation]:
    for index, pair in enumerate(node.settings["on"]):
        types = []
        for side, (name, columns) in enumerate(zip(pair, inputs, strict=True)):
            yield from _missing([(name, f"{path}.on[{index}][{side}]")], columns)
            found = (columns or {}).get(name.lower())
            types.append(found and family(found))
        if all(types) and types[0] != types[1] and set(types) <= _COMPARED | {types[0], types[1]}:
            message = f"a {types[0]} is never equal to a {types[1]}; cast one of them before"
            yield Violation(path=f"{path}.on[{index}]", message=message)


def _union(inputs: Mapping[str, Columns | None], path: str) -> Iterator[Violation]:
    known = [(name, columns) for name, columns in inputs.items() if columns is not None]
    if not known:
        return
    first_name, first = known[0]
    for name, columns in known[1:]:
        if others := sorted(set(columns) ^ set(first)):
            message = f"must have the columns of {first_name}; they differ in {', '.join(others)}"
            yield Violation(path=f"{path}.{name}", message=message)
            continue
        for column, found in columns.items():
            expected = first[column]
            if found and expected and family(found) != family(expected):
                message = f"{column} is a {found} here and a {expected} in {first_name}"
                yield Violation(path=f"{path}.{name}", message=message)
