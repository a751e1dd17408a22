"""Lineage: walks from a workflow to what starts it, to what it starts, and to the tasks it shares.

Nothing is written. What is looked at are the versions that are edited or can be started. Callers
are found by the catalog's index of calls, so among workflows that are registered beside the catalog
nobody is found who calls; those that are called are, wherever they stand.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Final

from conductor_py.codec.catalog import load_head
from conductor_py.engine.catalog.heads import CatalogHeads
from conductor_py.engine.catalog.lineage_graph import LineageGraph
from conductor_py.engine.catalog.writes import head_cell
from conductor_py.engine.definitions.calls import calls_of
from conductor_py.engine.definitions.composing import Composer
from conductor_py.engine.definitions.registered import Registered
from conductor_py.model.catalog import Head, Kind
from conductor_py.model.lineage import Call, Lineage, LineageNode, Link, NodeKind, Place
from conductor_py.model.schedules import Schedule
from conductor_py.ports.catalog import CatalogStore, Table
from conductor_py.records import dataclass

MOST_NODES: Final = 1_000
"""Nodes of one answer; what comes behind them is not looked at."""

Users = Callable[[Collection[int]], Mapping[int, Sequence[tuple[Head, Sequence[int]]]]]
"""Tell who has tasks, by their codes, with the versions that do."""
Starting = Callable[[Collection[str]], Sequence[Schedule]]
"""Tell which schedules start workflows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Found:
    """A workflow of a name: in the catalog, or registered with the versions that are called."""

    name: str
    head: Head | None = None
    called: tuple[int | None, ...] = ()


class Lineages:
    """Tells what surrounds a workflow of the catalog."""

    def __init__(
        self,
        *,
        store: CatalogStore,
        heads: CatalogHeads,
        composer: Composer,
        registered: Registered,
        users: Users,
        starting: Starting,
    ) -> None:
        """Read from these."""
        self._store = store
        self._heads = heads
        self._composer = composer
        self._registered = registered
        self._users = users
        self._starting = starting

    def of(self, code: int, depth: int) -> Lineage:
        """Walk so many calls in both directions (``NotFound``)."""
        head = self._heads.live(Kind.WORKFLOW, code, 0)
        graph = LineageGraph(MOST_NODES)
        graph.add(_node(_Found(name=head.name, head=head), 0))
        self._callers(graph, head, depth)
        self._callees(graph, head, depth)
        self._tasks(graph, head)
        self._schedules(graph)
        return graph.lineage(head, depth)

    def _callers(self, graph: LineageGraph, head: Head, depth: int) -> None:
        """Add who starts it, and who starts these."""
        frontier = {head.name}
        for level in range(1, depth + 1):
            rows = self._store.rows(Table.CALL, sorted(frontier))
            callers = self._live({int(field) for row in rows for field in row})
            reached: set[str] = set()
            for caller, version, call in self._calls(callers):
                if call.name not in frontier:
                    continue
                if graph.add(_node(_Found(name=caller.name, head=caller), -level)):
                    reached.add(caller.name)
                graph.call(caller.name, version, call, caller)
            if not reached:
                return
            frontier = reached

    def _callees(self, graph: LineageGraph, head: Head, depth: int) -> None:
        """Add what it starts, and what these start."""
        frontier = [_Found(name=head.name, head=head)]
        for level in range(1, depth + 1):
            calls = list(self._called(frontier))
            wanted: dict[str, set[int | None]] = defaultdict(set)
            for _, _, call, _ in calls:
                wanted[call.name].add(call.version)
            fresh = {name: of for name, of in wanted.items() if not graph.has_workflow(name)}
            reached = self._named(fresh)
            frontier = [
                found for found in reached if graph.add(self._placed(_node(found, level), found))
            ]
            for name, version, call, caller in calls:
                graph.call(name, version, call, caller)
            if not frontier:
                return

    def _tasks(self, graph: LineageGraph, head: Head) -> None:
        """Add the tasks that it has together with others, or uses, and who has them, too."""
        pinned: dict[int, dict[int, int]] = defaultdict(dict)
        shared: set[int] = set()
        for version in _versions(head):
            for pin in self._composer.split(head.code, version).pins:
                pinned[pin.code][version] = pin.version
                if pin.changes is not None:
                    shared.add(pin.code)
        users = self._users(pinned)
        shared |= {
            code for code, of in users.items() if any(one.code != head.code for one, _ in of)
        }
        tasks = sorted(shared)
        stored = self._store.read([head_cell(Kind.TASK, code) for code in tasks])
        for code, held in zip(tasks, stored, strict=True):
            if held is None:
                continue
            task = load_head(held)
            node = LineageNode(
                kind=NodeKind.TASK, name=task.name, level=1, code=code, version=task.version
            )
            if not graph.add(node):
                return
            for user, versions in users.get(code, ()):
                graph.add(_node(_Found(name=user.name, head=user), 0))
                for version in versions:
                    own = pinned[code].get(version) if user.code == head.code else None
                    graph.link(Link.USES, _workflow(user.name), node.id, version, user, called=own)

    def _schedules(self, graph: LineageGraph) -> None:
        """Add the schedules that start it, or what starts it."""
        levels = graph.leading()
        for schedule in self._starting(levels):
            name = schedule.workflow_name
            node = LineageNode(
                kind=NodeKind.SCHEDULE,
                name=schedule.name,
                level=levels[name] - 1,
                paused=schedule.paused,
            )
            if not graph.add(node):
                return
            version = schedule.start_workflow_request.get("version")
            called = version if isinstance(version, int) and version else None
            graph.link(Link.SCHEDULE, node.id, _workflow(name), 0, None, called=called)

    # -- what is read ------------------------------------------------------------------------------

    def _live(self, codes: Collection[int]) -> list[Head]:
        found = self._store.read([head_cell(Kind.WORKFLOW, code) for code in sorted(codes)])
        heads = [load_head(stored) for stored in found if stored is not None]
        return [head for head in heads if not head.deleted]

    def _calls(self, heads: Iterable[Head]) -> Iterator[tuple[Head, int, Call]]:
        """The calls of workflows of the catalog."""
        wanted = [(head, version) for head in heads for version in _versions(head)]
        found = self._composer.published((head.code, version) for head, version in wanted)
        for head, version in wanted:
            definition = found.get((head.code, version))
            for call in calls_of(definition) if definition is not None else ():
                yield head, version, call

    def _called(self, frontier: Sequence[_Found]) -> Iterator[tuple[str, int, Call, Head | None]]:
        """The calls of workflows wherever they stand."""
        heads = [found.head for found in frontier if found.head is not None]
        for head, version, call in self._calls(heads):
            yield head.name, version, call, head
        for found in frontier:
            if found.head is not None:
                continue
            definitions = {
                one.version: one
                for version in found.called
                if (one := self._registered.definition(found.name, version)) is not None
            }
            for definition in definitions.values():
                for call in calls_of(definition):
                    yield found.name, definition.version, call, None

    def _named(self, wanted: Mapping[str, Collection[int | None]]) -> list[_Found]:
        heads = {head.name: head for head in self._heads.all_named(sorted(wanted))}
        return [
            _Found(name=name, head=heads.get(name), called=(None, *sorted(filter(None, of))))
            for name, of in sorted(wanted.items())
        ]

    def _placed(self, node: LineageNode, found: _Found) -> LineageNode:
        """Look where a workflow stands that is not in the catalog."""
        if found.head is not None:
            return node
        version = self._registered.version_of_latest(found.name)
        return LineageNode(
            kind=NodeKind.WORKFLOW,
            name=node.name,
            level=node.level,
            place=Place.NOWHERE if version is None else Place.REGISTERED,
            version=version or 0,
        )


def _versions(head: Head) -> list[int]:
    """Those that are edited or can be started."""
    return sorted({head.version, *head.startable})


def _workflow(name: str) -> str:
    return f"{NodeKind.WORKFLOW}:{name}"


def _node(found: _Found, level: int) -> LineageNode:
    head = found.head
    if head is None:
        return LineageNode(kind=NodeKind.WORKFLOW, name=found.name, level=level)
    return LineageNode(
        kind=NodeKind.WORKFLOW,
        name=head.name,
        level=level,
        code=head.code,
        place=Place.CATALOG,
        version=head.version,
        published=head.published,
    )
