"""The graph of a job: which node reads what, in which order they run, who hangs together."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from conductor_py.pipelines.spec import Job, Sink, Source, Transform
from conductor_py.records import dataclass

Node = Source | Transform | Sink


@dataclass(frozen=True, slots=True, kw_only=True)
class Graph:
    """A job whose names are all known. ``feeds`` are, by node, its inputs and who makes them."""

    nodes: Mapping[str, Node]
    feeds: Mapping[str, Mapping[str, str]]
    consumers: Mapping[str, tuple[str, ...]]

    def order(self) -> tuple[str, ...]:
        """List all nodes, each after those that it reads; those on a cycle are left out."""
        waiting = {name: len(inputs) for name, inputs in self.feeds.items()}
        ready = [name for name, count in waiting.items() if not count]
        done: list[str] = []
        while ready:
            name = ready.pop(0)
            done.append(name)
            for consumer in self.consumers[name]:
                waiting[consumer] -= 1
                if not waiting[consumer]:
                    ready.append(consumer)
        return tuple(done)

    def downstream(self, start: str) -> frozenset[str]:
        """Return all nodes that rows of this one come to, and itself."""
        found, stack = {start}, [start]
        while stack:
            for consumer in self.consumers[stack.pop()]:
                if consumer not in found:
                    found.add(consumer)
                    stack.append(consumer)
        return frozenset(found)

    def upstream(self, end: str) -> frozenset[str]:
        """Return all nodes whose rows come to this one, and itself."""
        found, stack = {end}, [end]
        while stack:
            for producer in self.feeds[stack.pop()].values():
                if producer not in found:
                    found.add(producer)
                    stack.append(producer)
        return frozenset(found)

    def components(self) -> tuple[frozenset[str], ...]:
        """Return who hangs together, in whatever direction, in the order of the nodes."""
        parent = {name: name for name in self.nodes}

        def root(name: str) -> str:
            while parent[name] != name:
                parent[name] = parent[parent[name]]
                name = parent[name]
            return name

        for name, inputs in self.feeds.items():
            for producer in inputs.values():
                parent[root(name)] = root(producer)
        groups: dict[str, set[str]] = {}
        for name in self.nodes:
            groups.setdefault(root(name), set()).add(name)
        return tuple(frozenset(group) for group in groups.values())


def inputs_of(node: Node) -> Mapping[str, str]:
    """Return the outputs that a node reads, by the names that it knows them under."""
    if isinstance(node, Transform):
        return node.inputs
    return {"input": node.input} if isinstance(node, Sink) else {}


def makers_of(job: Job) -> tuple[Source | Transform, ...]:
    """Return the nodes that have an output."""
    return (*job.sources, *job.transforms)


def readers_of(job: Job) -> tuple[Transform | Sink, ...]:
    """Return the nodes that have inputs."""
    return (*job.transforms, *job.sinks)


def graph_of(job: Job) -> Graph:
    """Make the graph of a wired job."""
    nodes: dict[str, Node] = {node.id: node for node in makers_of(job)}
    nodes |= {node.id: node for node in job.sinks}
    makers = {node.output: node.id for node in makers_of(job)}
    feeds = {
        name: {input_: makers[output] for input_, output in inputs_of(node).items()}
        for name, node in nodes.items()
    }
    consumers: dict[str, list[str]] = {name: [] for name in nodes}
    for name, inputs in feeds.items():
        for producer in inputs.values():
            consumers[producer].append(name)
    return Graph(
        nodes=nodes, feeds=feeds, consumers={name: tuple(each) for name, each in consumers.items()}
    )


def places(job: Job) -> dict[str, str]:
    """Return the JSON path of each node in its job."""
    lists: tuple[tuple[str, Iterable[Node]], ...] = (
        ("sources", job.sources),
        ("transforms", job.transforms),
        ("sinks", job.sinks),
    )
    return {
        node.id: f"$.{name}[{index}]" for name, nodes in lists for index, node in enumerate(nodes)
    }
