"""Who reads what: names of outputs are resolved, and whatever does not meet is an error.

A node that names no input takes the only output that is free when its turn comes, in the order of
the document, transforms before sinks. Two free outputs, or none, are an error: nothing is guessed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Final

from conductor_py.errors import Violation
from conductor_py.pipelines.graph import Node, graph_of, inputs_of, makers_of, places, readers_of
from conductor_py.pipelines.kinds import TRANSFORMS
from conductor_py.pipelines.spec import DEAD_LETTER, Job, Sink, Transform

MAX_NODES: Final = 1_000
"""Of a job; more of them are several jobs."""

_INPUT: Final = "input"


def wired(job: Job) -> tuple[Job, tuple[Violation, ...]]:
    """Fill in the inputs that are not named; return the job, and all that keeps it from running."""
    found = list(_names(job))
    if found:
        return job, tuple(found)
    job, missing = _filled(job)
    found = [*missing, *_unknown(job)]
    if not found:
        found = [*_counts(job), *_unread(job), *_cycle(job)]
    return job, tuple(found)


def _names(job: Job) -> Iterator[Violation]:
    for name, listed in (("sources", job.sources), ("sinks", job.sinks)):
        if not listed:
            yield Violation(path=f"$.{name}", message="must hold at least one")
    count = len(job.sources) + len(job.transforms) + len(job.sinks)
    if count > MAX_NODES:
        message = f"must not hold more than {MAX_NODES} nodes; there are {count}"
        yield Violation(path="$", message=message)
        return
    ids: dict[str, str] = {DEAD_LETTER: "$.dead_letter"}
    outputs: dict[str, str] = {}
    nodes: list[tuple[str, Node]] = [
        *((f"$.sources[{at}]", source) for at, source in enumerate(job.sources)),
        *((f"$.transforms[{at}]", transform) for at, transform in enumerate(job.transforms)),
        *((f"$.sinks[{at}]", sink) for at, sink in enumerate(job.sinks)),
    ]
    for path, node in nodes:
        yield from _taken(ids, node.id, f"{path}.id", path)
        if not isinstance(node, Sink):
            yield from _taken(outputs, node.output, f"{path}.output", path)


def _taken(seen: dict[str, str], name: str, path: str, place: str) -> Iterator[Violation]:
    # Spark does not tell capitals from small letters in names of views, nor do all disks in files'.
    key = name.lower()
    if key in seen:
        message = f"must be unique in the job; {seen[key]} has it already"
        yield Violation(path=path, message=message, invalid_value=name)
    seen.setdefault(key, place)


def _filled(job: Job) -> tuple[Job, list[Violation]]:
    named = {output for node in readers_of(job) for output in inputs_of(node).values() if output}
    free = [node.output for node in job.sources if node.output not in named]
    found: list[Violation] = []
    transforms: list[Transform] = []
    for index, node in enumerate(job.transforms):
        if not node.inputs:
            taken = _only(free, f"$.transforms[{index}].inputs", found)
            node = replace(node, inputs={_input_name(node): taken})  # noqa: PLW2901 - filled in
        transforms.append(node)
        if node.output not in named:
            free.append(node.output)
    sinks: list[Sink] = []
    for index, sink in enumerate(job.sinks):
        taken = sink.input or _only(free, f"$.sinks[{index}].input", found)
        sinks.append(replace(sink, input=taken))
    return replace(job, transforms=tuple(transforms), sinks=tuple(sinks)), found


def _input_name(node: Transform) -> str:
    kind = TRANSFORMS.get(node.kind)
    return kind.inputs[0] if kind and kind.inputs else _INPUT


def _only(free: list[str], path: str, found: list[Violation]) -> str:
    if len(free) == 1:
        return free.pop()
    choice = f"name one of {', '.join(free)}" if free else "every output is read already; name one"
    found.append(Violation(path=path, message=f"must be given: {choice}"))
    return ""


def _unknown(job: Job) -> Iterator[Violation]:
    outputs = {node.output for node in makers_of(job)}
    where = places(job)
    for node in readers_of(job):
        for name, output in inputs_of(node).items():
            if output and output not in outputs:
                path = f"{where[node.id]}.input" + (
                    f"s.{name}" if isinstance(node, Transform) else ""
                )
                message = f"is the output of no node; there are {', '.join(sorted(outputs))}"
                yield Violation(path=path, message=message, invalid_value=output)


def _counts(job: Job) -> Iterator[Violation]:
    where = places(job)
    for node in job.transforms:
        path = f"{where[node.id]}.inputs"
        kind = TRANSFORMS.get(node.kind)
        if len({name.lower() for name in node.inputs}) < len(node.inputs):
            yield Violation(path=path, message="must not have names that differ in capitals only")
        if kind is None:
            continue
        if kind.inputs and set(node.inputs) != set(kind.inputs):
            yield Violation(path=path, message=f"must be exactly {' and '.join(kind.inputs)}")
        elif not kind.inputs and len(node.inputs) < kind.least_inputs:
            yield Violation(path=path, message=f"must be at least {kind.least_inputs}")
        elif kind.most_inputs is not None and len(node.inputs) > kind.most_inputs:
            yield Violation(path=path, message=f"must be no more than {kind.most_inputs}")


def _unread(job: Job) -> Iterator[Violation]:
    read = {output for node in readers_of(job) for output in inputs_of(node).values()}
    where = places(job)
    for node in makers_of(job):
        if node.output not in read:
            message = "must be read by a transform or a sink; remove the node if it is not needed"
            path = f"{where[node.id]}.output"
            yield Violation(path=path, message=message, invalid_value=node.output)


def _cycle(job: Job) -> Iterator[Violation]:
    graph, where = graph_of(job), places(job)
    running = frozenset(graph.order())
    stuck = [name for name in graph.nodes if name not in running]
    if not stuck:
        return
    # Whoever is stuck reads from somebody who is: following that comes round.
    walk = [stuck[0]]
    while walk[-1] not in walk[:-1]:
        walk.append(next(each for each in graph.feeds[walk[-1]].values() if each in stuck))
    circle = walk[walk.index(walk[-1]) :][::-1]
    message = f"must not read its own output: {' → '.join(circle)}"
    yield Violation(path=f"{where[circle[0]]}.inputs", message=message)
