"""What joins are told: settled references are counted in every join that waits for them.

Counting only; how a join ends stands with its operator. A count is kept from the moment the fork
opens, and is absolute: the commit that settles a reference writes it.
"""

from __future__ import annotations

from conductor_py.decider.compile import seat_of
from conductor_py.decider.plan import Node, Plan
from conductor_py.decider.workspace import Spot, Step, Workspace
from conductor_py.model.execution import (
    NO_LOOP,
    Attempt,
    JoinState,
    LoopState,
    Vector,
    vector_append,
    vector_prefix,
)
from conductor_py.model.places import place_key
from conductor_py.model.status import TaskStatus
from conductor_py.records import changed, dataclass

_KEPT_SEQS = 100


def tell(ws: Workspace, spot: Spot, attempt: Attempt) -> None:
    """Count a settled reference in every join that waits for it.

    A branch of a dynamic fork that is a SWITCH counts when its chosen tasks have settled.
    """
    if not is_choice_branch(spot.plan, spot.node):
        tell_chosen(ws, spot, attempt)


def tell_chosen(ws: Workspace, spot: Spot, attempt: Attempt) -> None:
    """Count a reference whatever it is."""
    for join in spot.node.joins:
        key = _join_key(ws, spot, join)
        if key is not None:
            _count(ws, key, attempt)


def is_choice_branch(plan: Plan, node: Node) -> bool:
    """Whether a node is a branch of a dynamic fork that chooses among tasks of its own."""
    top = bool(plan.branches) and node.container is None
    return top and node.task.type in {"SWITCH", "DECISION"}


@dataclass(frozen=True, slots=True)
class Seat:
    """Where a join looks for a reference: whose end counts, and in which iteration.

    ``known``: a plan has it, so that it may still come.
    """

    ref: str
    vector: Vector
    known: bool


def seat(ws: Workspace, join: Spot, ref: str) -> Seat:
    """Find what a join waits for when it names ``ref``.

    A reference outside the join's loops stands in fewer loops than the join does; of one inside
    other loops the loop counts. One that came as data is looked for in the join's own iteration.
    """
    node = join.plan.nodes.get(ref) or ws.plan.nodes.get(ref)
    if node is None:
        return Seat(ref, join.vector, known=False)
    counted = seat_of(ref, node.loops, join.node.loops)
    depth = node.loops.index(counted) if counted != ref else len(node.loops)
    return Seat(counted, vector_prefix(join.vector, depth), known=True)


def _join_key(ws: Workspace, spot: Spot, join: str) -> str | None:
    """The state of the join, in the present iteration of the loops that it stands in and the
    settled reference does not; ``None`` when one of these loops is not open.
    """
    node = _join_node(ws, spot.plan, join)
    depth = len(node.loops) if node is not None else len(spot.node.loops)
    vector = vector_prefix(spot.vector, depth)
    for loop in node.loops[len(spot.node.loops) :] if node is not None else ():
        state = ws.state("j:" + place_key(loop, vector), LoopState)
        if state is None or state.closed or not state.iteration:
            return None
        vector = vector_append(vector, state.iteration)
    return "j:" + place_key(join, vector)


def _join_node(ws: Workspace, plan: Plan | None, join: str) -> Node | None:
    """The join, in the plan of what it waits for or in one that has brought that."""
    while plan is not None:
        node = plan.nodes.get(join)
        if node is not None or not plan.parent:
            return node
        plan = ws.plan_of(plan.parent)
    return None


def keys(ws: Workspace, spot: Spot) -> list[str]:
    """The states of the joins that wait for the task at ``spot``."""
    found = (_join_key(ws, spot, join) for join in spot.node.joins)
    return [key for key in found if key is not None]


def is_error(attempt: Attempt) -> bool:
    """Whether an optional task has failed; a join tells of those that it waits for itself, not of
    what another join below it has told (as Conductor's does).
    """
    return attempt.status is TaskStatus.COMPLETED_WITH_ERRORS and attempt.type != "JOIN"


def count_in(join: JoinState, attempt: Attempt) -> JoinState:
    """The count of a join with one more settled reference."""
    failed, errors = join.failed, join.errors
    if not attempt.status.successful and len(failed) < _KEPT_SEQS:
        failed = (*failed, attempt.seq)
    if is_error(attempt) and len(errors) < _KEPT_SEQS:
        errors = (*errors, attempt.seq)
    return changed(join, settled=join.settled + 1, failed=failed, errors=errors)


def _count(ws: Workspace, key: str, attempt: Attempt) -> None:
    join = ws.state(key, JoinState)
    if join is None or join.closed:
        return
    join = count_in(join, attempt)
    ws.states[key] = join
    if join.seq and join.settled >= join.expected:
        ws.agenda.append(Step("join", ws.plan, key, NO_LOOP))
