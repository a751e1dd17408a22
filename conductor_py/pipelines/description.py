"""A plan as a document for people: what is cut where, who reads whom, what each sink promises."""

from __future__ import annotations

from typing import Any, Final

from conductor_py.pipelines.graph import Graph, Node, graph_of
from conductor_py.pipelines.guarantees import promise_of
from conductor_py.pipelines.kinds import SOURCES
from conductor_py.pipelines.plan import JobPlan, PipelinePlan, Reach, Stage
from conductor_py.pipelines.spec import Job, Sink, Source, Transform

_REACHES: Final = {
    Reach.ROW: "sees one row at a time: a round may have any size",
    Reach.LOOKUP: "sees one row at a time, beside a source that is read whole once",
    Reach.KEYED: "remembers keys from round to round, in buckets that are kept with each epoch",
    Reach.EVENT_TIME: "remembers rows by the time of events, in a streaming query of Spark whose"
    " state is kept with each epoch",
    Reach.BLOCKING: "must see all of its input: it begins a stage, behind an exchange",
}


def description(job: Job, plan: JobPlan) -> dict[str, Any]:
    """Describe a job and its plan as JSON."""
    graph = graph_of(job)
    return {
        "name": job.name,
        "mode": job.mode,
        "pipelines": [_pipeline(each, job, graph) for each in plan.pipelines],
    }


def _pipeline(plan: PipelinePlan, job: Job, graph: Graph) -> dict[str, Any]:
    sinks = [graph.nodes[name] for name in plan.nodes]
    described = [_promise(each) for each in (*sinks, job.dead_letter) if isinstance(each, Sink)]
    return {
        "id": plan.id,
        "planHash": plan.plan_hash,
        **_driver(plan),
        "stages": [_stage(each, graph, plan) for each in plan.stages],
        "guarantees": described,
    }


def _driver(plan: PipelinePlan) -> dict[str, Any]:
    """Say whether rounds alone will do, or streaming queries take part in them."""
    if plan.event_time:
        names = ", ".join(plan.event_time)
        because = f"rounds feed a streaming query of Spark for each of {names}: event time"
        return {"driver": "streaming", "because": because}
    return {"driver": "rounds", "because": "no transform needs event time"}


def _promise(sink: Sink) -> dict[str, Any]:
    promise = promise_of(sink)
    return {
        "sink": sink.id,
        "guarantee": None if promise.guarantee is None else str(promise.guarantee),
        "because": promise.reason,
    }


def _stage(stage: Stage, graph: Graph, plan: PipelinePlan) -> dict[str, Any]:
    names = (*stage.sources, *stage.transforms, *stage.sinks)
    return {
        "number": stage.number,
        "nodes": [_node(graph.nodes[name], graph, plan, stage) for name in names],
        "exchanges": [{"to": name, "output": output} for name, output in stage.exchanges.items()],
    }


def _node(node: Node, graph: Graph, plan: PipelinePlan, stage: Stage) -> dict[str, Any]:
    members = {*plan.nodes}
    described: dict[str, Any] = {
        "id": node.id,
        "kind": node.kind,
        "hash": plan.node_hashes.get(node.id, ""),
        "reads": [
            {"input": name, "from": producer, "exchange": f"{node.id}/{name}" in stage.reads}
            for name, producer in graph.feeds[node.id].items()
            if producer in members
        ],
    }
    if isinstance(node, Source):
        return described | {"role": "source", **_cut(node)}
    if isinstance(node, Transform):
        reach = plan.reaches[node.id]
        return described | {
            "role": "transform",
            "reach": str(reach),
            "because": _REACHES[reach],
            **({"parallelism": node.parallelism} if node.parallelism else {}),
        }
    guarantee = plan.guarantees.get(node.id)
    return described | {"role": "sink", "guarantee": None if guarantee is None else str(guarantee)}


def _cut(node: Source) -> dict[str, Any]:
    if node.read_as == "lookup":
        return {"splits": None, "because": "read whole, once, by the transforms that look up in it"}
    kind = SOURCES.get(node.kind)
    by = node.split.by if node.split else kind.splits[0] if kind else "its own splits"
    return {"splits": by, "because": f"read split by split ({by.replace('_', ' ')})"}
