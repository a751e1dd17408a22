"""Upgrading: an execution under way goes on under another version of its definition.

What is open must stand in the new version where it stood, and so must what stands around it; that
is checked before anything changes. New tasks before what has been reached are recorded as SKIPPED,
new tasks behind it are reached in their turn. Attempts are not touched: the header remembers which
plans the present one has replaced.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from conductor_py.decider import control, joins, skipping
from conductor_py.decider.generations import revival
from conductor_py.decider.graph import follower, joining, paths, preceding, shares_join
from conductor_py.decider.need import Read
from conductor_py.decider.operators import join
from conductor_py.decider.plan import Node, Plan
from conductor_py.decider.workspace import Spot, Step, Workspace
from conductor_py.errors import Violation
from conductor_py.model.definitions import WorkflowTask, children_of
from conductor_py.model.execution import NO_LOOP, Attempt, LoopState, Vector, vector_append
from conductor_py.model.json import JsonObject

MOST_UPGRADES = 16

_JOINS = frozenset({"JOIN", "EXCLUSIVE_JOIN"})
_FORKS = frozenset({"FORK_JOIN", "FORK_JOIN_DYNAMIC"})


def obstacles(ws: Workspace, new: Plan) -> tuple[Violation, ...]:
    """What is open and does not stand in the new version as it does in the present one."""
    known = paths(new.definition)
    former = paths(ws.plan.definition)
    found: dict[str, Violation] = {}
    for node in _under_way(ws):
        message = _moved(ws.plan, new, node)
        if message is not None:
            path = known.get(node.ref) or former.get(node.ref, "$.tasks")
            found[node.ref] = Violation(path=path, message=message)
    return tuple(found.values())


def _under_way(ws: Workspace) -> list[Node]:
    """The tasks of the present version that are open, and those around them."""
    nodes = ws.plan.nodes
    ws.together((f"r:{ref}", Read(f">a r:{ref}")) for ref in nodes if f"r:{ref}" not in ws.pointers)
    found: dict[str, Node] = {}
    for node in nodes.values():
        attempt = _newest(ws, node.ref, NO_LOOP)
        if attempt is None or not (attempt.open or _awaits_join(ws, node, attempt)):
            continue
        around: Node | None = node
        while around is not None and around.ref not in found:
            found[around.ref] = around
            fork = preceding(ws.plan, around.ref) if around.task.type in _JOINS else None
            if fork is not None and fork.task.type in _FORKS:
                found[fork.ref] = fork
            around = nodes[around.container] if around.container else None
    return list(found.values())


def _awaits_join(ws: Workspace, node: Node, attempt: Attempt) -> bool:
    """Whether a fork has opened and its join has not."""
    ref = _join_ref(ws.plan, node) if attempt.type == "FORK" else None
    if ref is None or shares_join(ws.plan, node):
        return False
    joined = _newest(ws, ref, attempt.vector)
    return joined is None or joined.seq < attempt.seq


def _join_ref(plan: Plan, fork: Node) -> str | None:
    found = joining(plan, fork)
    return None if found is None else found.ref


def _moved(old: Plan, new: Plan, node: Node) -> str | None:
    """What is different about the place of an open task."""
    there = new.nodes.get(node.ref)
    if there is None:
        return f"task '{node.ref}' is under way and the new version does not have it"
    if there.task.type != node.task.type:
        return (
            f"task '{node.ref}' is under way as {node.task.type}, "
            f"the new version has it as {there.task.type}"
        )
    if (there.loops, there.container) != (node.loops, node.container):
        return f"task '{node.ref}' is under way and stands in another task in the new version"
    if node.task.type in _FORKS and _join_ref(new, there) != _join_ref(old, node):
        return f"fork '{node.ref}' is under way and is followed by another task than its join"
    before, after = preceding(old, node.ref), preceding(new, node.ref)
    forked = before is not None and before.task.type in _FORKS
    if node.task.type in _JOINS and forked and (after is None or after.ref != before.ref):  # type: ignore[union-attr]
        return f"join '{node.ref}' is under way and follows another fork in the new version"
    return None


def upgrade(ws: Workspace, new: Plan, outputs: JsonObject, given: JsonObject) -> None:
    """Go on under ``new``; ``outputs`` are those of new tasks that are passed over, by reference,
    ``given`` is merged into the input.
    """
    old = ws.plan
    _take_over(ws, old, new)
    if given:
        ws.documents["input"] = {**ws.document("input"), **given}
    ws.agenda.extend(
        Step(step.kind, new, step.ref, step.vector) if step.plan.hash == old.hash else step
        for step in [ws.agenda.popleft() for _ in range(len(ws.agenda))]
    )
    names = [f"r:{ref}" for ref in new.nodes]
    ws.together((name, Read(f">a {name}")) for name in names if name not in ws.pointers)
    for body, vector, forked in _entered(ws, new):
        _fit(ws, new, body, vector, outputs, forked_from=old if forked else None)
    for node in new.nodes.values():
        if node.task.type in _JOINS:
            _recount(ws, new, node)
    ws.order("index")


def _take_over(ws: Workspace, old: Plan, new: Plan) -> None:
    ws.header = replace(
        ws.header,
        plan=new.hash,
        version=new.definition.version,
        former=(*ws.header.former, old.hash),
        revised=True,
    )
    ws.plan = new
    ws.plans[new.hash] = None
    timeout_ms = new.definition.timeout_seconds * 1000
    began = ws.header.last_retried_at or ws.header.created_at
    ws.due_at = began + timeout_ms if timeout_ms > 0 else 0


def _entered(ws: Workspace, new: Plan) -> Iterator[tuple[tuple[WorkflowTask, ...], Vector, bool]]:
    """The lists of tasks that are under way, with their iteration, and whether they are branches of
    a fork.
    """
    pending: list[tuple[tuple[WorkflowTask, ...], Vector, bool]] = [
        (new.definition.tasks, NO_LOOP, False)
    ]
    while pending:
        body, vector, forked = pending.pop()
        yield body, vector, forked
        for task in body:
            attempt = _newest(ws, task.task_reference_name, vector)
            if attempt is not None:
                pending.extend(_bodies(ws, new, task, attempt))


def _bodies(
    ws: Workspace, new: Plan, task: WorkflowTask, attempt: Attempt
) -> Iterator[tuple[tuple[WorkflowTask, ...], Vector, bool]]:
    """The lists inside a task that are under way."""
    vector = attempt.vector
    if task.type == "DO_WHILE":
        spot = Spot(new, new.nodes[task.task_reference_name], vector)
        state = ws.state("j:" + spot.key, LoopState)
        if attempt.open and state is not None and state.iteration:
            yield task.loop_over, vector_append(vector, state.iteration), False
    elif task.type == "FORK_JOIN":
        ref = _join_ref(new, new.nodes[task.task_reference_name])
        joined = _newest(ws, ref, vector) if ref else None
        if joined is None or joined.open:
            for branch in task.fork_tasks:
                yield branch, vector, True
    elif revival.chose(ws, attempt):
        chosen = revival.branch_of(ws, task, attempt)
        if chosen and _is_open(ws, chosen, vector):
            yield chosen, vector, False


def _is_open(ws: Workspace, body: tuple[WorkflowTask, ...], vector: Vector) -> bool:
    """Whether something in a list, at any depth, is open or is still to come."""
    pending = list(body)
    while pending:
        task = pending.pop()
        attempt = _newest(ws, task.task_reference_name, NO_LOOP)
        if attempt is not None and attempt.open and attempt.vector.startswith(vector):
            return True
        pending.extend(inner for _, inside in children_of(task) for inner in inside)
    return False


def _fit(
    ws: Workspace,
    new: Plan,
    body: tuple[WorkflowTask, ...],
    vector: Vector,
    outputs: JsonObject,
    *,
    forked_from: Plan | None,
) -> None:
    """Pass over what is new before what has been reached; go on behind what has settled last.

    A branch that the former version has and that was not reached is still to be opened (of a wide
    fork they come in pieces): what is new before its beginning is passed over, too.
    """
    spots = [Spot(new, new.nodes[task.task_reference_name], vector) for task in body]
    attempts = [_newest(ws, spot.node.ref, vector) for spot in spots]
    reached = [n for n, attempt in enumerate(attempts) if attempt is not None and not attempt.ahead]
    passed = reached[-1] if reached else 0
    if not reached and forked_from is not None:
        known = (n for n, spot in enumerate(spots) if spot.node.ref in forked_from.nodes)
        passed = next(known, len(spots))
    for spot, attempt in zip(spots[:passed], attempts, strict=False):
        if attempt is None:
            given = outputs.get(spot.node.ref)
            output = given if isinstance(given, Mapping) else {}
            joins.tell(ws, spot, skipping.record(ws, spot, {}, output))
    if not reached:
        return
    last = attempts[reached[-1]]
    following = follower(ws, spots[reached[-1]])
    if last is None or last.open or following is None or revival.chose(ws, last):
        return
    if last.type == "FORK":
        return  # it opens its join itself, once a pause is over
    if following.node.container == spots[0].node.container and not control.arrived(ws, following):
        ws.agenda.append(Step("open", new, following.node.ref, following.vector))


def _recount(ws: Workspace, new: Plan, node: Node) -> None:
    """Count anew for an open join: the new version may have it wait for other tasks."""
    attempt = _newest(ws, node.ref, NO_LOOP)
    fork = preceding(new, node.ref)
    if attempt is None or not attempt.open or (fork and fork.task.type == "FORK_JOIN_DYNAMIC"):
        return
    join.recount(ws, Spot(new, node, attempt.vector), attempt)


def _newest(ws: Workspace, ref: str, vector: Vector) -> Attempt | None:
    seq = ws.newest(ref, vector)
    return ws.attempt(seq) if seq else None
