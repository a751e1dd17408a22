"""What should become of a DAG, worked out all at once from its graph and from what its tasks do.

It is the table of ``docs/reference/dags.md`` and nothing else: no counting, no order, no engine.
"""

from __future__ import annotations

import random
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from tests.builders import Json, conditions, policy, typed

_CASES = ("left", "right", "none")
_TOKENS = {
    "ok": {"OK": "live", "FAILED": "blocked", "SKIPPED": "dead", "BLOCKED": "blocked"},
    "test": {"OK": "live", "FAILED": "live", "SKIPPED": "dead", "BLOCKED": "live"},
    "always": {"OK": "live", "FAILED": "live", "SKIPPED": "dead", "BLOCKED": "live"},
}


@dataclass(frozen=True, slots=True)
class Edge:
    """``case`` is that of a SWITCH."""

    before: str
    after: str
    label: str
    case: str = ""


@dataclass(slots=True)
class Graph:
    """A DAG that was drawn: tasks in an order in which they may run, ``kinds`` by reference."""

    kinds: dict[str, str] = field(default_factory=dict)
    rules: dict[str, str] = field(default_factory=dict)
    choices: dict[str, str] = field(default_factory=dict)
    edges: list[Edge] = field(default_factory=list)

    def into(self, ref: str) -> list[Edge]:
        return [edge for edge in self.edges if edge.after == ref]

    def out_of(self, ref: str) -> list[Edge]:
        return [edge for edge in self.edges if edge.before == ref]

    def leading_to(self, ref: str) -> list[Edge]:
        """Those that are more than an order."""
        return [edge for edge in self.into(ref) if edge.label != "order"]

    def before(self, ref: str) -> set[str]:
        """All that leads to a task."""
        direct = {edge.before for edge in self.leading_to(ref)}
        return direct.union(*(self.before(each) for each in direct))

    def handled(self, ref: str) -> bool:
        """Whether a failure of the task is somebody's business and stops nobody."""
        plain = [self.rules[edge.after] for edge in self.out_of(ref) if edge.label == "ok"]
        tested = any(edge.label == "test" for edge in self.out_of(ref))
        return "ALL" not in plain and (tested or "ANY_LIVE" in plain)


@dataclass(slots=True)
class Expected:
    """What became of each task, and which of them ran in this generation."""

    became: dict[str, str] = field(default_factory=dict)
    ran: set[str] = field(default_factory=set)
    judged: dict[str, bool] = field(default_factory=dict)
    against: set[str] = field(default_factory=set)
    failed: bool = False


def drawn(chance: random.Random) -> Graph:
    """Draw a graph of up to a dozen tasks."""
    graph = Graph()
    for number in range(chance.randint(1, 12)):
        ref = f"t{number}"
        known = list(graph.kinds)
        befores = chance.sample(known, min(len(known), chance.choice((0, 1, 1, 2, 3))))
        kind = chance.choice(("simple", "simple", "simple", "conditions", "switch"))
        if kind == "conditions" and not any(graph.kinds[each] == "simple" for each in befores):
            kind = "simple"
        graph.kinds[ref] = kind
        graph.rules[ref] = chance.choice(("ALL", "ALL", "ALL", "ANY_LIVE", "ALL_DONE"))
        if kind != "simple":
            graph.rules[ref] = "ALL"
        graph.choices[ref] = chance.choice(_CASES)
        graph.edges.extend(_edge(chance, graph, before, ref) for before in befores)
    _complete(chance, graph)
    return graph


def _edge(chance: random.Random, graph: Graph, before: str, after: str) -> Edge:
    match graph.kinds[before]:
        case _ if graph.kinds[after] != "conditions" and chance.random() < 0.15:
            return Edge(before, after, "order")
        case "conditions":
            return Edge(before, after, chance.choice(("success", "failure")))
        case "switch":
            case = chance.choice(("left", "right", ""))
            return Edge(before, after, "case" if case else "default", case)
        case _ if graph.kinds[after] == "conditions":
            return Edge(before, after, "test")
        case _:
            return Edge(before, after, chance.choice(("ok", "ok", "ok", "always")))


def _complete(chance: random.Random, graph: Graph) -> None:
    """Give each CONDITIONS both its sides."""
    for ref, kind in [*graph.kinds.items()]:
        if kind != "conditions":
            continue
        sides = {edge.label for edge in graph.out_of(ref)}
        for side in {"success", "failure"} - sides:
            handler = f"{ref}_{side}"
            graph.kinds[handler], graph.rules[handler] = "simple", "ALL"
            graph.choices[handler] = chance.choice(_CASES)
            graph.edges.append(Edge(ref, handler, side))


def definition(graph: Graph, chance: random.Random, retries: int, strategy: str) -> Json:
    """Write it down, tasks and relations in any order."""
    tasks = []
    for ref, kind in graph.kinds.items():
        if kind == "simple":
            task = policy(ref, retryCount=retries)
        elif kind == "conditions":
            task = conditions(ref)
        else:
            task = typed("SWITCH", ref, evaluatorType="value-param", expression="case")
            task["inputParameters"] = {"case": graph.choices[ref]}
        tasks.append(task | {"triggerRule": graph.rules[ref]})
    relations = [
        {"preTask": edge.before, "postTask": edge.after, "label": edge.label}
        | ({"case": edge.case} if edge.case else {})
        for edge in graph.edges
    ]
    relations += [{"postTask": ref} for ref in graph.kinds if not graph.into(ref)]
    chance.shuffle(tasks)
    chance.shuffle(relations)
    more = {"relations": relations, "failureStrategy": strategy}
    return {"name": "w", "version": 1, "tasks": tasks, **more}


@dataclass(frozen=True, slots=True)
class Recovered:
    """A later generation. ``before``: how those that have run ended before it; ``judged``: what
    those CONDITIONS found; ``against``: what ran because it was named. ``named`` is run whatever
    its gate says, with what ``mode`` says; it counts as done when that is FORCED, and what has
    failed is not tried again.
    """

    before: Mapping[str, str]
    judged: Mapping[str, bool]
    against: Collection[str] = ()
    named: str = ""
    mode: str = "TASK_POST"

    def may_run(self, graph: Graph, ref: str) -> bool:
        scopes = {
            "TASK_POST": lambda: True,
            "FORCED": lambda: True,
            "TASK_ONLY": lambda: ref == self.named,
            "TASK_PRE": lambda: ref == self.named or ref in graph.before(self.named),
        }
        return scopes[self.mode]()

    def wants(self, ref: str) -> bool:
        return ref == self.named or (ref in self.against and ref in self.before)

    def kept(self, graph: Graph, ref: str) -> bool:
        if ref == self.named or self.mode == "TASK_PRE":
            return False
        forced = self.mode == "FORCED" and ref in self.before
        return forced or _kept(graph, ref, self.before)


def expected(
    graph: Graph, fates: Mapping[str, bool], recovered: Recovered | None = None
) -> Expected:
    """Work out what becomes of all. ``fates``: whether a task succeeds when it runs."""
    found = Expected()
    touched: set[str] = set()
    for ref in _in_order(graph):
        verdict = _verdict(graph, ref, found)
        fresh = any(edge.before in touched for edge in graph.leading_to(ref))
        if recovered is not None and not recovered.may_run(graph, ref):
            held = "SKIPPED" if verdict == "SKIPPED" else "BLOCKED"
            found.became[ref] = recovered.before.get(ref, held)
            found.against |= {ref} & set(() if fresh else recovered.against)
            touched |= {ref} if fresh else set()
            _judge(graph, ref, found, recovered)
            continue
        if recovered is not None and verdict != "RUN" and not fresh and recovered.wants(ref):
            found.against.add(ref)
            verdict = "RUN"
        if verdict != "RUN":
            found.became[ref] = verdict
            touched |= {ref} if fresh else set()
            continue
        if recovered is not None and not fresh and recovered.kept(graph, ref):
            found.became[ref] = recovered.before[ref]
        else:
            found.became[ref] = "OK" if fates[ref] or graph.kinds[ref] != "simple" else "FAILED"
            found.ran.add(ref)
            touched.add(ref)
        _judge(graph, ref, found, recovered)
    found.failed = any(
        became == "BLOCKED" or (became == "FAILED" and not graph.handled(ref))
        for ref, became in found.became.items()
    )
    return found


def _judge(graph: Graph, ref: str, found: Expected, recovered: Recovered | None) -> None:
    """Note what a CONDITIONS finds, or found when it ran."""
    if graph.kinds[ref] != "conditions":
        return
    if ref in found.ran:
        tested = [each.before for each in graph.into(ref) if each.label == "test"]
        found.judged[ref] = all(found.became[each] == "OK" for each in tested)
    elif recovered is not None and ref in recovered.judged:
        found.judged[ref] = recovered.judged[ref]


def _in_order(graph: Graph) -> list[str]:
    order: list[str] = []
    while len(order) < len(graph.kinds):
        order += [
            ref
            for ref in graph.kinds
            if ref not in order and all(edge.before in order for edge in graph.into(ref))
        ]
    return order


def _kept(graph: Graph, ref: str, before: Mapping[str, str]) -> bool:
    if before.get(ref) == "OK":
        return True
    if before.get(ref) != "FAILED" or not graph.handled(ref):
        return False
    return all(edge.after in before for edge in graph.out_of(ref) if edge.label == "ok")


def _verdict(graph: Graph, ref: str, found: Expected) -> str:
    tokens = [_token(graph, edge, found) for edge in graph.leading_to(ref)]
    if not tokens or graph.rules[ref] == "ALL_DONE":
        return "RUN"
    if graph.rules[ref] == "ANY_LIVE" and "live" in tokens:
        return "RUN"
    if "blocked" in tokens:
        return "BLOCKED"
    return "RUN" if "live" in tokens else "SKIPPED"


def _token(graph: Graph, edge: Edge, found: Expected) -> str:
    became = found.became[edge.before]
    if edge.label in _TOKENS:
        return _TOKENS[edge.label][became]
    if became in {"FAILED", "BLOCKED"}:
        return "blocked"
    if became == "SKIPPED":
        return "dead"
    if graph.kinds[edge.before] == "conditions":
        return "live" if found.judged[edge.before] == (edge.label == "success") else "dead"
    choice = graph.choices[edge.before]
    if edge.label == "default":
        named = {each.case for each in graph.out_of(edge.before)}
        return "dead" if choice in named else "live"
    return "live" if choice == edge.case else "dead"
