"""Compile definitions into plans: once per content, not once per decide.

Refuses nothing: what a user may not write is refused at the boundary, and what slips through (such
as an unknown join target) settles as SKIPPED at run time. Iterative, so that nesting costs no
stack.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from conductor_py.decider.expressions.expressions import Template, compile_template
from conductor_py.decider.plan import Gate, Node, Plan
from conductor_py.model.definitions import (
    ORDER,
    Relation,
    WorkflowDef,
    WorkflowTask,
    children_of,
)
from conductor_py.model.json import JsonValue
from conductor_py.model.parameters import PARAM
from conductor_py.model.upstream import leading_to, ranks_of
from conductor_py.records import dataclass, field, made

WITHOUT_TEMPLATE = frozenset(
    {
        "CONDITIONS",
        "SWITCH",
        "DECISION",
        "FORK_JOIN",
        "FORK_JOIN_DYNAMIC",
        "SUB_WORKFLOW",
        "SET_VARIABLE",
        "START_WORKFLOW",
        "WAIT",
        "HUMAN",
        "TERMINATE",
        "EVENT",
        "PULL_WORKFLOW_MESSAGES",
        "JOIN",
        "EXCLUSIVE_JOIN",
    }
)
"""Types whose input ignores the task definition's ``inputTemplate`` (as Conductor's mappers do)."""

_BEHIND = 20
_READ_DOCUMENTS = {"input": "input", "variables": "vars", "output": "output"}


@dataclass(frozen=True, slots=True)
class _Place:
    task: WorkflowTask
    container: str | None
    following: str | None
    loops: tuple[str, ...]


@dataclass(slots=True)
class _Layout:
    places: dict[str, _Place] = field(default_factory=dict)
    joins: dict[str, list[str]] = field(default_factory=dict)


def compile_plan(definition: WorkflowDef, plan_hash: str) -> Plan:
    """Compile a snapshot (task definitions embedded)."""
    dag = bool(definition.relations)
    alone = tuple(((task,), None, ()) for task in definition.tasks)
    layout = _lay_out(alone if dag else ((definition.tasks, None, ()),))
    outputs = compile_template(definition.output_parameters)
    gates = _gates(definition) if dag else {}
    nodes = {
        ref: _node(place, tuple(layout.joins.get(ref, ())), _inputs(place.task), gates.get(ref))
        for ref, place in layout.places.items()
    }
    first = definition.tasks[0].task_reference_name if definition.tasks else None
    reads = _reads(nodes, outputs)
    return Plan(
        hash=plan_hash,
        definition=definition,
        nodes=nodes,
        first=first,
        outputs=outputs,
        reads=reads,
        tells=_tells(nodes),
        roots=tuple(ref for ref, gate in gates.items() if not gate.before),
        hides=frozenset(definition.masked_fields),
        **_upstream(definition, nodes, apart=False),
    )


def _upstream(definition: WorkflowDef, nodes: Mapping[str, Node], *, apart: bool) -> dict[str, Any]:
    """What a plan says of parameters that tasks hand on, by attribute."""
    hands_on = _hands_on(nodes)
    if not hands_on:
        return {}
    before = leading_to(definition, apart=apart)
    return {"hands_on": hands_on, "before": before, "ranks": ranks_of(before)}


def _hands_on(nodes: Mapping[str, Node]) -> dict[str, frozenset[str]]:
    """By parameter the references of the tasks that hand it on."""
    found: dict[str, set[str]] = {}
    for ref, node in nodes.items():
        for name in node.task.out_parameters:
            found.setdefault(name, set()).add(ref)
    return {name: frozenset(refs) for name, refs in found.items()}


def _gates(definition: WorkflowDef) -> dict[str, Gate]:
    """The gates of a DAG. An edge from or to what is no task of it is none."""
    rules = {task.task_reference_name: task.trigger_rule for task in definition.tasks}
    before = dict.fromkeys(rules, 0)
    after: dict[str, list[Relation]] = {ref: [] for ref in rules}
    tests: dict[str, list[str]] = {}
    ordered = dict.fromkeys(rules, 0)
    for relation in definition.relations:
        if relation.pre_task in rules and relation.post_task in rules:
            before[relation.post_task] += 1
            after[relation.pre_task].append(relation)
            ordered[relation.post_task] += relation.label == ORDER
            if relation.label == "test":
                tests.setdefault(relation.post_task, []).append(relation.pre_task)
    return {
        ref: Gate(
            rule=rule,
            before=before[ref],
            after=tuple(after[ref]),
            handled=_is_handled(after[ref], rules),
            ordered=ordered[ref],
            tests=tuple(tests.get(ref, ())),
        )
        for ref, rule in rules.items()
    }


def _is_handled(after: list[Relation], rules: Mapping[str, str]) -> bool:
    """Whether something looks at the failure of a task with these edges, and nothing is stopped by
    it. What runs in any case (``always``, ``ALL_DONE``) is neither.
    """
    plain = {rules[each.post_task] for each in after if each.label == "ok"}
    looked_at = "ANY_LIVE" in plain or any(each.label == "test" for each in after)
    return looked_at and "ALL" not in plain


def compile_fragment(
    definition: WorkflowDef,
    plan_hash: str,
    *,
    anchor: str,
    loops: tuple[str, ...],
    parent: str,
    joins: tuple[str, ...],
    fork: bool,
) -> Plan:
    """Compile the branches of a dynamic fork (each task of ``definition`` is one), or, with
    ``fork`` false, the task that a dynamic task resolved to. ``joins`` wait for all of them,
    ``loops`` are those around the anchor.
    """
    lists = tuple(((task,), None, loops) for task in definition.tasks)
    layout = _lay_out(lists)
    branches = tuple(task.task_reference_name for task in definition.tasks)
    top = frozenset(branches)
    nodes = {
        ref: _node(place, _joined(layout.joins.get(ref), joins if ref in top else ()), None)
        for ref, place in layout.places.items()
    }
    outputs = compile_template({})
    every = _reads(nodes, outputs)
    return Plan(
        hash=plan_hash,
        definition=definition,
        nodes=nodes,
        first=branches[0] if branches else None,
        outputs=outputs,
        reads=_compact(every),
        tells=_tells(nodes),
        anchor=anchor,
        parent=parent,
        branches=branches if fork else (),
        **_upstream(definition, nodes, apart=True),
    )


def _joined(named: list[str] | None, around: tuple[str, ...]) -> tuple[str, ...]:
    return (*named, *around) if named else around


def input_template(task: WorkflowTask) -> Mapping[str, JsonValue]:
    """The input of a task before resolution: its parameters over its definition's template.

    A key with an explicit null counts as missing, as in Conductor.
    """
    template = task.task_definition.input_template if task.task_definition else {}
    if not template or task.type in WITHOUT_TEMPLATE:
        return task.input_parameters
    given = {key: value for key, value in task.input_parameters.items() if value is not None}
    return {**task.input_parameters, **template, **given}


def _inputs(task: WorkflowTask) -> Template:
    return compile_template(input_template(task))


def _node(
    place: _Place, joins: tuple[str, ...], inputs: Template | None, gate: Gate | None = None
) -> Node:
    return made(
        Node,
        ref=place.task.task_reference_name,
        task=place.task,
        container=place.container,
        following=place.following,
        loops=place.loops,
        joins=joins,
        inputs=inputs,
        gate=gate,
    )


_List = tuple[tuple[WorkflowTask, ...], str | None, tuple[str, ...]]


def _lay_out(lists: Iterable[_List]) -> _Layout:
    layout = _Layout()
    pending = list(lists)
    while pending:
        tasks, container, loops = pending.pop()
        for position, task in enumerate(tasks):
            after = tasks[position + 1].task_reference_name if position + 1 < len(tasks) else None
            ref = task.task_reference_name
            layout.places[ref] = _Place(task, container, after, loops)
            inner = (*loops, ref) if task.type == "DO_WHILE" else loops
            for _, body in children_of(task):
                pending.append((body, ref, inner))
            for target in _awaited(task):
                layout.joins.setdefault(target, []).append(ref)
    _lift_joins(layout)
    return layout


def _awaited(task: WorkflowTask) -> Iterable[str]:
    """The references that a join is told of, each once."""
    if task.type == "JOIN":
        return dict.fromkeys(task.join_on)
    if task.type == "EXCLUSIVE_JOIN":
        return dict.fromkeys((*task.join_on, *task.default_exclusive_join_task))
    return ()


def _lift_joins(layout: _Layout) -> None:
    """A join that names a task inside a loop that it does not stand in itself waits for that
    loop, the outermost such one.
    """
    for target in [*layout.joins]:
        place = layout.places.get(target)
        if place is None:
            continue
        for join in [*layout.joins[target]]:
            seat = seat_of(target, place.loops, layout.places[join].loops)
            if seat != target:
                layout.joins[target].remove(join)
                layout.joins.setdefault(seat, []).append(join)


def seat_of(target: str, loops: tuple[str, ...], around: tuple[str, ...]) -> str:
    """The reference whose end counts for a join inside ``around`` that names ``target``, which
    stands in ``loops``: the outermost loop that they do not share, or the target itself.
    """
    for depth, loop in enumerate(loops):
        if depth >= len(around) or around[depth] != loop:
            return loop
    return target


def _reads(nodes: Mapping[str, Node], outputs: Template) -> dict[str, tuple[str, ...]]:
    """The reads after each node; those in the same place, as all branches of a fork, have the
    same.
    """
    found: dict[tuple[object, ...], tuple[str, ...]] = {}
    reads: dict[str, tuple[str, ...]] = {}
    for ref, node in nodes.items():
        place = (node.container, node.following, node.loops, node.joins, node.gate)
        known = found.get(place)
        if known is None:
            known = found[place] = _reads_after(nodes, node, outputs)
        reads[ref] = known
    return reads


def _reads_after(nodes: Mapping[str, Node], node: Node, outputs: Template) -> tuple[str, ...]:
    """The reads that settling ``node`` is likely to cause, most of them exactly, the rest left to a
    Need.
    """
    if node.gate is not None:
        return _reads_behind(nodes, node.gate)
    depth = len(node.loops)
    reads: dict[str, None] = {}
    for join in node.joins:
        reads[f"j:{join}#*{_depth_of(nodes, join, depth)}"] = None
    if node.loops:
        reads[f"j:{node.loops[-1]}#*{depth - 1}"] = None
    place: Node | None = node
    while place is not None and place.following is None:
        place = nodes.get(place.container) if place.container else None
        if place is not None and place.task.type in {"DO_WHILE", "FORK_JOIN"}:
            return tuple(reads)
    if place is None:
        _add_roots(reads, outputs)
    elif place.following is not None:
        for target in _opened_with(nodes, place.following):
            if target.inputs is not None:
                _add_roots(reads, target.inputs)
    return tuple(reads)


def _reads_behind(nodes: Mapping[str, Node], gate: Gate) -> tuple[str, ...]:
    """The gates behind a task, and what those tasks read that it opens by itself."""
    reads: dict[str, None] = {}
    for relation in gate.after[:_BEHIND]:
        node = nodes[relation.post_task]
        reads[f"g:{node.ref}"] = None
        if node.gate is not None and node.gate.before == 1 and node.inputs is not None:
            _add_roots(reads, node.inputs)
    return tuple(reads)


def _opened_with(nodes: Mapping[str, Node], ref: str) -> list[Node]:
    """The node behind ``ref`` and what opens together with it, one level deep."""
    node = nodes.get(ref)
    if node is None:
        return []
    heads = [body[0].task_reference_name for _, body in children_of(node.task)[:20] if body]
    return [node, *(nodes[head] for head in heads if head in nodes)]


def _depth_of(nodes: Mapping[str, Node], ref: str, default: int) -> int:
    node = nodes.get(ref)
    return len(node.loops) if node is not None else default


def _add_roots(reads: dict[str, None], template: Template) -> None:
    for root, member in template.roots:
        if root == "workflow":
            if member in _READ_DOCUMENTS:
                reads[_READ_DOCUMENTS[member]] = None
        elif root == PARAM:
            reads["input"] = None
        else:
            kinds = "ai" if member == "input" else "ao" if member == "output" else "aco"
            reads[f">{kinds} r:{root}"] = None


def _tells(nodes: Mapping[str, Node]) -> bool:
    return any(node.task.on_state_change for node in nodes.values())


def _compact(reads: Mapping[str, tuple[str, ...]]) -> dict[str, tuple[str, ...]]:
    """List the commonest value once, under ``*``: the branches of a wide fork all read the same."""
    if not reads:
        return {}
    common, _ = Counter(reads.values()).most_common(1)[0]
    return {"*": common, **{ref: value for ref, value in reads.items() if value != common}}
