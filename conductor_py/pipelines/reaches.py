"""How much of its input each transform must see; rounds only ever see a part.

Of a query only what its settings and its inputs tell is known here. The worker looks at the plan
that Spark makes of it, and refuses a query that needs more than was declared.
"""

from __future__ import annotations

from conductor_py.pipelines.graph import Graph
from conductor_py.pipelines.plan import Reach
from conductor_py.pipelines.spec import Source, Transform


def reach_of(node: Transform, graph: Graph, *, unbounded: bool) -> Reach:
    """Return the reach of a transform in a job that ends or does not."""
    settings = node.settings
    if unbounded and is_timed(node):
        return Reach.EVENT_TIME
    if node.kind == "join":
        return Reach.BLOCKING
    if node.kind == "dedup":
        return Reach.BLOCKING if settings.get("keep") == "last" else Reach.KEYED
    if node.kind == "aggregate":
        return Reach.KEYED if settings.get("emit") == "running" else Reach.BLOCKING
    if node.kind == "lookup":
        return Reach.LOOKUP
    if settings.get("reach") == "blocking":
        return Reach.BLOCKING
    sides = [is_lookup(graph, producer) for producer in graph.feeds[node.id].values()]
    return Reach.LOOKUP if any(sides) else Reach.ROW


def is_timed(node: Transform) -> bool:
    """Tell whether a transform bounds by the time of events what belongs together."""
    bound = {"aggregate": "window_s", "dedup": "within_s", "join": "within_s"}.get(node.kind)
    return bound is not None and node.settings.get(bound) is not None


def is_one_group(node: Transform) -> bool:
    """Tell whether a transform gives one row for all of its input, be it empty."""
    final = node.kind == "aggregate" and node.settings.get("emit") != "running"
    return final and not node.settings.get("group_by") and not is_timed(node)


def is_lookup(graph: Graph, node_id: str) -> bool:
    """Tell whether a node is a source that is read whole, once."""
    node = graph.nodes[node_id]
    return isinstance(node, Source) and node.read_as == "lookup"
