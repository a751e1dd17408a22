"""What keeps a wired job from making sense: rules between its nodes, its mode and its environment.

Every rule names the place in the document and says what to do there. What only Spark or the outside
can tell (a query's columns, a table's) is the worker's to find.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from conductor_py.errors import Violation
from conductor_py.pipelines.chance import chances, moments
from conductor_py.pipelines.columns import column_findings
from conductor_py.pipelines.graph import Graph, graph_of, places
from conductor_py.pipelines.guarantees import promise_of, weaker
from conductor_py.pipelines.node_rules import (
    Finding,
    place_findings,
    sink_findings,
    source_findings,
    transform_findings,
)
from conductor_py.pipelines.orders import disorder
from conductor_py.pipelines.own_rows import reads_back
from conductor_py.pipelines.plan import Reach
from conductor_py.pipelines.reaches import is_lookup, is_timed, reach_of
from conductor_py.pipelines.spec import Guarantee, Job, Sink, Source, Transform

_TAKES_LOOKUPS: Final = frozenset({"sql", "python"})
#: How queries are understood and carried out. Others name classes, catalogs, places, credentials.
_OF_A_JOB: Final = tuple(
    f"spark.sql.{name}"
    for name in (
        *("adaptive.", "ansi.enabled", "autoBroadcastJoinThreshold", "broadcastTimeout"),
        *("caseSensitive", "cbo.", "codegen.", "csv.", "cteRecursion", "datetime.", "decimal"),
        *("execution.arrow.", "files.", "function.", "groupBy", "inMemoryColumnarStorage."),
        *("join.", "json.", "leafNodeDefaultParallelism", "legacy.timeParser", "mapKeyDedupPolicy"),
        *("maxBroadcastTableSize", "objectHashAggregate.", "optimizer.", "orc.", "orderByOrdinal"),
        *("parquet.", "pivotMaxValues", "session.timeZone", "shuffle", "sort"),
        *("sources.bucketing.", "statistics.", "storeAssignmentPolicy"),
        *("subexpressionElimination.", "timestampType", "window."),
    )
)


def findings(job: Job) -> tuple[Violation, ...]:
    """List all that is wrong with a wired job."""
    graph, where = graph_of(job), places(job)
    found: list[Violation] = []
    for source in job.sources:
        found += _below(where[source.id], source_findings(source, job))
    for transform in job.transforms:
        path = where[transform.id]
        found += _below(path, _inputs(transform, graph))
        found += _below(path, _reach(transform, graph, job))
        found += _below(path, transform_findings(transform, job))
        found += _below(path, _keep(transform, graph))
        found += _below(path, _chance(transform, graph))
    for sink in job.sinks:
        found += _below(where[sink.id], sink_findings(sink))
        found += _below(where[sink.id], _sink(sink, graph, job))
    found += _below("$", _dead_letter(job))
    found += _below("$.env", _environment(job))
    return tuple(found) or tuple(column_findings(job))


def _below(root: str, found: Iterator[Finding]) -> list[Violation]:
    return [Violation(path=root + path, message=message) for path, message in found]


def _inputs(node: Transform, graph: Graph) -> Iterator[Finding]:
    feeds = graph.feeds[node.id]
    sides = [name for name, producer in feeds.items() if is_lookup(graph, producer)]
    if node.kind == "lookup":
        if "side" not in sides:
            yield ".inputs.side", "must be the output of a source with read_as set to lookup"
        if "main" in sides:
            yield ".inputs.main", "must be read by splits; only the side is read whole"
        return
    if sides and node.kind not in _TAKES_LOOKUPS:
        message = f"is read whole (read_as: lookup), which {node.kind} does not take"
        yield f".inputs.{sides[0]}", message
    elif sides and len(sides) == len(feeds):
        yield ".inputs", "must hold one that is read by splits beside the lookups"
    elif (
        len(feeds) - len(sides) > 1
        and node.kind in _TAKES_LOOKUPS
        and node.settings.get("reach") != "blocking"
    ):
        yield ".reach", "must be blocking for several inputs; rounds see a part of each at a time"


def _reach(node: Transform, graph: Graph, job: Job) -> Iterator[Finding]:
    unbounded = job.mode == "unbounded"
    if unbounded and reach_of(node, graph, unbounded=unbounded) is Reach.BLOCKING:
        message = "must see all of its input, and an unbounded job never has that"
        hint = {
            "dedup": "; keep the first",
            "aggregate": "; set emit to running, or give time and window_s",
            "join": "; give left_time, right_time and within_s",
        }
        yield ".kind", message + hint.get(node.kind, "")


def _keep(node: Transform, graph: Graph) -> Iterator[Finding]:
    if node.kind == "dedup" and node.settings.get("keep") == "last":
        mixed = disorder(node.id, graph)
        if mixed is not None:
            message = f"must be first: rows have no order behind {mixed}, so none of them is the"
            yield ".keep", f"{message} last; take an aggregate with max_by(value, time)"


def _chance(node: Transform, graph: Graph) -> Iterator[Finding]:
    for path, word in chances(node):
        yield path, f"{word} has another value when a round is redone; take the value from the row"
    for path, word in moments(node):
        if is_timed(node):
            yield path, f"{word} has no meaning in a window of event time; take it from the row"
        for name in sorted(graph.downstream(node.id)):
            below = graph.nodes[name]
            if isinstance(below, Sink) and promise_of(below).guarantee is Guarantee.IDEMPOTENT:
                message = (
                    f"{word} is the time of a round. When a round is redone a row may have another"
                    f" time, but the sink {name} has shown the first one already; take the value"
                    " from the row"
                )
                yield path, message


def _sink(node: Sink, graph: Graph, job: Job) -> Iterator[Finding]:
    producer = graph.feeds[node.id]["input"]
    if is_lookup(graph, producer):
        yield ".input", "is read whole (read_as: lookup), which only transforms take"
    promised = promise_of(node).guarantee
    if promised is not None and node.require is not None and weaker(promised, node.require):
        message = f"is more than this sink gives: {promised}, because {promise_of(node).reason}"
        yield ".require", message
    for name in sorted(graph.upstream(node.id)):
        above = graph.nodes[name]
        if isinstance(above, Source):
            yield from _own_rows(node, above)
        if isinstance(above, Transform) and above.settings.get("emit") == "running":
            yield from _takes_changes(node, above)
        if isinstance(above, Transform) and is_timed(above) and job.mode == "unbounded":
            yield from _takes_redone(node, above)


def _own_rows(node: Sink, source: Source) -> Iterator[Finding]:
    pattern = None if source.read_as == "lookup" else reads_back(source, node)
    if pattern is not None:
        message = f"must not be where {source.id} reads, {pattern}: it would read what is written"
        yield ".path", f"{message}, without end; write into a folder beside it"


def _takes_changes(node: Sink, above: Transform) -> Iterator[Finding]:
    """A running aggregate sends a group again when it changes: the row must be found again."""
    if node.kind in {"console", "assert"} or "." in node.kind:
        return
    setting = {"jdbc": "key", "elasticsearch": "id_from"}.get(node.kind)
    groups = set(above.settings.get("group_by", ()))
    if setting is None or not groups or set(node.settings.get(setting, ())) != groups:
        needed = f"{setting} be {', '.join(sorted(groups))}" if setting else "rows be replaced"
        message = (
            f"must let {needed}: {above.id} sends a group again each time it changes"
            " (emit: running)"
        )
        yield f".{setting or 'kind'}", message


def _takes_redone(node: Sink, above: Transform) -> Iterator[Finding]:
    """Rounds that are redone may end a window elsewhere: a row shown early must be found again."""
    if promise_of(node).guarantee is Guarantee.IDEMPOTENT and not node.settings.get("id_from"):
        message = f"must be given behind {above.id}: rows that are redone replace those shown early"
        yield ".id_from", message


def _dead_letter(job: Job) -> Iterator[Finding]:
    asked, sink = job.env.errors.bad_rows == "dead_letter", job.dead_letter
    if asked and sink is None:
        yield ".dead_letter", "must be given: env.errors.bad_rows is dead_letter"
    if sink is None:
        return
    if not asked:
        yield ".dead_letter", "gets no row unless env.errors.bad_rows is dead_letter"
    own_rows = (found for source in job.sources for found in _own_rows(sink, source))
    for path, message in (*sink_findings(sink), *own_rows):
        yield f".dead_letter{path}", message
    promised = promise_of(sink).guarantee
    if promised not in {None, Guarantee.EXACTLY_ONCE}:
        yield ".dead_letter.kind", f"must be a sink that gives exactly_once; this is {promised}"


def _environment(job: Job) -> Iterator[Finding]:
    env = job.env
    yield from place_findings(".work_dir", env.work_dir or None)
    if env.round.min_bytes > env.round.max_bytes:
        yield ".round.min_bytes", f"must not be more than max_bytes, {env.round.max_bytes}"
    if env.round.min_s > env.round.target_s:
        yield ".round.min_s", f"must not be more than target_s, {env.round.target_s}"
    errors = env.errors
    if errors.bad_rows == "fail":
        for name in ("max_rows", "max_ratio"):
            if getattr(errors, name) is not None:
                yield f".errors.{name}", "has no effect while bad_rows is fail: none is allowed"
    for name in env.spark:
        if not name.startswith(_OF_A_JOB) or name.lower().endswith("class"):
            message = (
                "cannot be set by a job, which may say how its queries are carried out"
                " (spark.sql.shuffle.partitions and the like): it belongs to the worker's"
                " configuration"
            )
            yield f".spark['{name}']", message
