"""Cuts a job into pipelines, and each pipeline into stages.

Nodes that hang together are a pipeline. With ``split_unions`` a pipeline whose sources meet in
unions only becomes one for each source. A node is in the latest stage that all who read it allow,
so that a source is read when it is needed; a transform that must see everything is in a later stage
than what it reads, and gets that through an exchange.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from conductor_py.pipelines.graph import Graph, graph_of
from conductor_py.pipelines.guarantees import promise_of
from conductor_py.pipelines.meaning import node_hashes, pipeline_id, plan_hash
from conductor_py.pipelines.plan import JobPlan, PipelinePlan, Reach, Stage
from conductor_py.pipelines.reaches import is_lookup, reach_of
from conductor_py.pipelines.spec import DEAD_LETTER, Job, Sink, Source, Transform


def cut(job: Job) -> JobPlan:
    """Cut a job that is wired and makes sense."""
    graph = graph_of(job)
    unbounded = job.mode == "unbounded"
    reaches = {node.id: reach_of(node, graph, unbounded=unbounded) for node in job.transforms}
    groups = [
        part
        for group in graph.components()
        for part in (_by_source(group, graph, reaches) if job.env.split_unions else (group,))
    ]
    return JobPlan(pipelines=tuple(_pipeline(job, graph, group, reaches) for group in groups))


def _by_source(
    group: frozenset[str], graph: Graph, reaches: Mapping[str, Reach]
) -> tuple[frozenset[str], ...]:
    """Part a component by its sources, if they meet in unions only and nothing keeps state."""
    transforms = [graph.nodes[name] for name in group if isinstance(graph.nodes[name], Transform)]
    stateful = any(reaches[node.id] not in {Reach.ROW, Reach.LOOKUP} for node in transforms)
    meet_elsewhere = any(
        node.kind != "union" and _rows_from(node.id, graph) > 1 for node in transforms
    )
    if stateful or meet_elsewhere:
        return (group,)
    parts = []
    for name in graph.nodes:
        if name in group and isinstance(graph.nodes[name], Source) and not is_lookup(graph, name):
            below = graph.downstream(name)
            sides = {
                side
                for each in below
                for side in graph.feeds[each].values()
                if is_lookup(graph, side)
            }
            parts.append(below | sides)
    return tuple(parts)


def _rows_from(name: str, graph: Graph) -> int:
    return sum(not is_lookup(graph, each) for each in graph.feeds[name].values())


def _pipeline(
    job: Job, graph: Graph, members: frozenset[str], reaches: Mapping[str, Reach]
) -> PipelinePlan:
    order = [name for name in graph.order() if name in members]
    at = _stages(graph, [name for name in order if not is_lookup(graph, name)], reaches)
    hashes = node_hashes(job, graph, members)
    sinks = [node for node in (*job.sinks, job.dead_letter) if node is not None]
    promises = {
        sink.id: guarantee
        for sink in sinks
        if (sink.id in members or sink.id == DEAD_LETTER)
        and (guarantee := promise_of(sink).guarantee) is not None
    }
    return PipelinePlan(
        id=pipeline_id(members),
        stages=tuple(_stage(number, graph, order, at) for number in sorted(set(at.values()))),
        plan_hash=plan_hash(hashes),
        node_hashes=hashes,
        guarantees=promises,
        unbounded=job.mode == "unbounded",
        reaches={name: reach for name, reach in reaches.items() if name in members},
    )


def _stages(graph: Graph, order: list[str], reaches: Mapping[str, Reach]) -> dict[str, int]:
    """Return the stage of each node: as late as those allow that read it."""
    earliest: dict[str, int] = {}
    for name in order:
        inputs = [earliest[each] for each in graph.feeds[name].values() if each in earliest]
        earliest[name] = max(inputs, default=0) + _step(reaches.get(name))
    latest: dict[str, int] = {}
    for name in reversed(order):
        bounds = [
            latest[each] - _step(reaches.get(each))
            for each in graph.consumers[name]
            if each in latest
        ]
        latest[name] = min(bounds, default=earliest[name])
    return latest


def _step(reach: Reach | None) -> int:
    return 1 if reach is Reach.BLOCKING else 0


def _stage(number: int, graph: Graph, order: list[str], at: Mapping[str, int]) -> Stage:
    here = [name for name in order if at.get(name) == number]
    edges = [
        (producer, f"{consumer}/{name}", at[consumer])
        for consumer in order
        for name, producer in graph.feeds[consumer].items()
        if producer in at and at[producer] < at[consumer]
    ]
    sides = [
        producer
        for name in here
        for producer in graph.feeds[name].values()
        if is_lookup(graph, producer)
    ]
    return Stage(
        number=number,
        sources=tuple(dict.fromkeys((*_of(here, graph, Source), *sides))),
        reads=tuple(exchange for _, exchange, reader in edges if reader == number),
        transforms=_of(here, graph, Transform),
        sinks=_of(here, graph, Sink),
        exchanges={
            exchange: _output(graph, producer)
            for producer, exchange, _ in edges
            if at[producer] == number
        },
    )


def _of(names: Iterable[str], graph: Graph, kind: type) -> tuple[str, ...]:
    return tuple(name for name in names if isinstance(graph.nodes[name], kind))


def _output(graph: Graph, name: str) -> str:
    node = graph.nodes[name]
    assert not isinstance(node, Sink)
    return node.output
