"""Lineage as users see it: nodes and edges as flat lists, which a page can draw."""

from __future__ import annotations

from typing import Any

from conductor_py.model.json import JsonObject
from conductor_py.model.lineage import Lineage, LineageEdge, LineageNode, Link, NodeKind, Place
from conductor_py.wire.fields import Choice, Flag, Many, Text, Whole, Wholes, WireSchema


class LineageNodeForm(WireSchema):
    """A workflow, a task that is shared, or a schedule; its level is below 0 when it leads to the
    workflow that was asked for.
    """

    id = Text(required=True)
    type = Choice(NodeKind, required=True)
    name = Text(required=True)
    level = Whole(required=True)
    code = Text()
    place = Choice(Place)
    version = Whole()
    published_version = Whole()
    paused = Flag()


class LineageEdgeForm(WireSchema):
    """What leads from one node to another: versions of the first that do, whether the one that is
    edited and the one that is published do, and the versions of the second that they name.
    """

    source = Text(data_key="from", required=True)
    target = Text(data_key="to", required=True)
    type = Choice(Link, required=True)
    versions = Wholes(required=True)
    to_versions = Wholes(required=True)
    edited = Flag(required=True)
    published = Flag(required=True)


class LineageForm(WireSchema):
    """What surrounds a workflow; truncated: there is more."""

    code = Text(required=True)
    name = Text(required=True)
    depth = Whole(required=True)
    truncated = Flag(required=True)
    nodes = Many(lambda: _NODE, required=True)
    edges = Many(lambda: _EDGE, required=True)


_NODE: WireSchema = LineageNodeForm()
_EDGE: WireSchema = LineageEdgeForm()

FORMS: tuple[WireSchema, ...] = (_NODE, _EDGE, LineageForm())
"""The forms of this module, for the published schemas."""


def lineage_body(found: Lineage) -> JsonObject:
    """Write a lineage."""
    return {
        "code": str(found.head.code),
        "name": found.head.name,
        "depth": found.depth,
        "truncated": found.truncated,
        "nodes": [_node(node) for node in found.nodes],
        "edges": [_edge(edge) for edge in found.edges],
    }


def _node(node: LineageNode) -> JsonObject:
    body: dict[str, Any] = {
        "id": node.id,
        "type": node.kind,
        "name": node.name,
        "level": node.level,
    }
    if node.code:
        body["code"] = str(node.code)
    if node.place is not None:
        body["place"] = node.place
    if node.version:
        body["version"] = node.version
    if node.published:
        body["publishedVersion"] = node.published
    if node.kind is NodeKind.SCHEDULE:
        body["paused"] = node.paused
    return body


def _edge(edge: LineageEdge) -> JsonObject:
    return {
        "from": edge.source,
        "to": edge.target,
        "type": edge.link,
        "versions": list(edge.versions),
        "toVersions": list(edge.called),
        "edited": edge.edited,
        "published": edge.published,
    }
