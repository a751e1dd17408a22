"""Whether what a user wrote gives the same rows however its input is cut into rounds.

A round shows a transform a part of its input only. What treats each row by itself gives the same in
all: whatever else would be wrong, and quietly. Spark's analyzed plan tells which it is.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from conductor_py.records import dataclass, field

_LINE: Final = re.compile(r"(?P<indent>[ :]*)(?:[:+]- )(?P<said>.*)")
_VIEW: Final = re.compile(r"View \(`(?P<name>[^`]+)`,")
_DEFINED: Final = re.compile(r"CTERelation(?P<what>Def|Ref) (?P<id>\d+),")
_STEP: Final = 3
"""Characters that a child stands further in than its parent; a subquery stands two steps in."""
_BY_ROW: Final = frozenset(
    (
        *("CTERelationDef", "CollectMetrics", "EventTimeWatermark", "Expand", "Filter", "Generate"),
        *("Join", "LateralJoin", "MapInArrow", "MapInPandas", "PipeOperator", "Project"),
        *("PythonMapInArrow", "RebalancePartitions", "Repartition", "RepartitionByExpression"),
        *("ResolvedHint", "SubqueryAlias", "Union", "View", "WithCTE"),
    )
)
_JOIN_FROM_LEFT: Final = frozenset(("Inner", "Cross", "LeftOuter", "LeftSemi", "LeftAnti"))
_JOIN_FROM_RIGHT: Final = frozenset(("Inner", "Cross", "RightOuter"))


@dataclass(frozen=True, slots=True)
class _Node:
    """An operator of a plan: its line, its children, and the plans of its subqueries."""

    depth: int
    said: str
    children: list[_Node] = field(default_factory=list)
    subqueries: list[_Node] = field(default_factory=list)

    @property
    def name(self) -> str:
        return re.split(r"[ (]", self.said, maxsplit=1)[0]


class _Refused(Exception):
    """Something needs more than a row."""


def needs_more_than_a_row(
    plan: str, main: str, sides: frozenset[str] = frozenset(), *, opaque: bool = False
) -> str | None:
    """Say which part of an analyzed plan needs more than one row of an input; None: no part does.

    ``main`` names the view that rounds show in parts, ``sides`` those that each round shows whole.
    What an ``opaque`` plan reads need not show in it, as where a function made rows from others.
    """
    root = _parsed(plan)
    try:
        reads = _Reads(main, sides, _definitions(root), opaque=opaque).of(root)
    except _Refused as found:
        return str(found)
    return None if reads or opaque else "it does not read its input, and each round would repeat it"


@dataclass(frozen=True, slots=True)
class _Reads:
    """Which operators read the rows of ``main``: each once, or it sees more than a row."""

    main: str
    sides: frozenset[str]
    defined: dict[str, _Node]
    opaque: bool

    def of(self, node: _Node) -> bool:
        """Whether it reads them. Raises ``_Refused``."""
        if (view := _VIEW.match(node.said)) and view["name"] in {self.main, *self.sides}:
            return view["name"] == self.main
        if (found := _DEFINED.match(node.said)) and found["what"] == "Ref":
            definition = self.defined.get(found["id"])
            return definition is not None and self.of(definition)
        if any(self.of(each) for each in node.subqueries):
            raise _Refused("a subquery reads its input beside the row")
        if node.name == "WithCTE":
            return self.of(node.children[-1])
        reads = [self.of(each) for each in node.children]
        if any(reads):
            self._refuse_more_than_a_row(node, reads)
        return any(reads)

    def _refuse_more_than_a_row(self, node: _Node, reads: list[bool]) -> None:
        if node.name not in _BY_ROW:
            raise _Refused(f"{node.name} needs all rows at once")
        if node.name == "Union":
            if not (all(reads) or self.opaque):
                raise _Refused("a part of its Union does not read the input")
        elif sum(reads) > 1:
            raise _Refused(f"{node.name} brings its input together with itself")
        elif node.name == "Join":
            kept = _JOIN_FROM_LEFT if reads[0] else _JOIN_FROM_RIGHT
            if (how := re.split(r"[ ,(]", node.said)[1]) not in kept:
                raise _Refused(f"Join {how} gives rows of the other side by themselves")


def _definitions(root: _Node) -> dict[str, _Node]:
    return {
        found["id"]: node
        for node in _all(root)
        if (found := _DEFINED.match(node.said)) and found["what"] == "Def"
    }


def _parsed(plan: str) -> _Node:
    """Read the tree that Spark prints; other lines belong to a text with a newline in it."""
    first, *rest = plan.splitlines()
    root = _Node(-_STEP, first)
    path = [root]
    for line in rest:
        found = _LINE.fullmatch(line)
        if found is None:
            continue
        depth = len(found["indent"])
        while path[-1].depth >= depth:
            path.pop()
        parent, node = path[-1], _Node(depth, found["said"])
        beside = parent.subqueries if depth > parent.depth + _STEP else parent.children
        beside.append(node)
        path.append(node)
    return root


def _all(root: _Node) -> Iterator[_Node]:
    yield root
    for each in (*root.subqueries, *root.children):
        yield from _all(each)
