"""JOIN: waits until the references it names have settled; counted by the commits that settle them,
never scanned.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from conductor_py.decider import control, ending, joins, scheduling, timeouts
from conductor_py.decider.need import Read
from conductor_py.decider.plan import Node
from conductor_py.decider.workspace import Spot, Step, Workspace
from conductor_py.model.execution import NO_LOOP, Attempt, JoinState
from conductor_py.model.json import JsonObject, JsonValue
from conductor_py.model.places import place_key, wire_ref
from conductor_py.model.status import TaskStatus


def open_(ws: Workspace, spot: Spot) -> None:
    """Open the join; when a fork has prepared it, its count goes on."""
    refs = tuple(dict.fromkeys(spot.node.task.join_on))
    open_join(ws, spot, refs)


def open_join(ws: Workspace, spot: Spot, refs: tuple[str, ...]) -> None:
    """Open the join of ``refs`` at ``spot``."""
    key = "j:" + spot.key
    exclusive = spot.node.task.type == "EXCLUSIVE_JOIN"
    prepared = ws.state(key, JoinState)
    if exclusive or prepared is None or prepared.seq or prepared.closed:
        prepared = count_settled(ws, spot, refs, refs)
    shown: dict[str, JsonValue] = {"joinOn": list(refs)}
    if exclusive and spot.node.task.default_exclusive_join_task:
        shown["defaultExclusiveJoinTask"] = list(spot.node.task.default_exclusive_join_task)
    attempt = control.create(
        ws,
        spot,
        type_=spot.node.task.type,
        definition=spot.node.task.type,
        status=TaskStatus.IN_PROGRESS,
        input_=shown,
        **scheduling.clocks(spot.node.task.task_definition, ws.now_ms),
    )
    timeouts.watch(ws, attempt)
    # An exclusive join is looked at whenever any of its references settles.
    ws.states[key] = replace(
        prepared, seq=attempt.seq, expected=0 if exclusive else prepared.expected, closed=False
    )
    if exclusive or prepared.settled >= prepared.expected:
        ws.agenda.append(Step("join", spot.plan, key, NO_LOOP))


def prepare_join(ws: Workspace, fork: Spot, join: Node, inside: frozenset[str]) -> None:
    """Let a join count from the moment its fork opens; references outside the fork may have settled
    before.
    """
    refs = tuple(dict.fromkeys(join.task.join_on))
    spot = Spot(fork.plan, join, fork.vector)
    outside = tuple(ref for ref in refs if ref not in inside)
    ws.states["j:" + spot.key] = count_settled(ws, spot, refs, outside)


def recount(ws: Workspace, spot: Spot, attempt: Attempt) -> None:
    """Count anew for an open join whose definition has changed."""
    refs = tuple(dict.fromkeys(spot.node.task.join_on))
    exclusive = attempt.type == "EXCLUSIVE_JOIN"
    counted = count_settled(ws, spot, refs, refs)
    key = "j:" + spot.key
    expected = 0 if exclusive else counted.expected
    ws.states[key] = replace(counted, seq=attempt.seq, expected=expected)
    ws.documents[f"i:{attempt.seq}"] = {
        **ws.document(f"i:{attempt.seq}"),
        "joinOn": list(refs),
    }
    if exclusive or counted.settled >= counted.expected:
        ws.agenda.append(Step("join", spot.plan, key, NO_LOOP))


def close(ws: Workspace, key: str) -> None:
    """End a JOIN whose references have all settled: status, reasons, output."""
    found = opened(ws, key)
    if found is None:
        return
    join, attempt, spot = found
    refs = names(ws.document(f"i:{attempt.seq}").get("joinOn"))
    output = _output(ws, spot, refs)
    culprits = _as_named(ws, spot, refs, join.failed)
    ws.states[key] = replace(join, closed=True)
    if culprits:
        canceled = all(culprit.status is TaskStatus.CANCELED for culprit in culprits)
        status = TaskStatus.CANCELED if canceled else TaskStatus.FAILED
        reason = "; ".join(map(ending.reason_of, culprits))
        control.finish(ws, spot, attempt, status, output=output, reason=reason)
    elif join.errors:
        named = _as_named(ws, spot, refs, join.errors)
        reason = "; ".join(f"{wire_ref(a.ref, a.vector)}: {a.reason or a.status}" for a in named)
        status = TaskStatus.COMPLETED_WITH_ERRORS
        control.finish(ws, spot, attempt, status, output=output, reason=reason)
    else:
        control.finish(ws, spot, attempt, TaskStatus.COMPLETED, output=output)


def _as_named(ws: Workspace, spot: Spot, refs: Sequence[str], seqs: Iterable[int]) -> list[Attempt]:
    """The attempts in the order in which the join names what it waits for."""
    found = [one for seq in dict.fromkeys(seqs) if (one := ws.attempt(seq)) is not None]
    if len(found) < 2:
        return found
    order: dict[str, int] = {}
    for at, ref in enumerate(refs):
        order.setdefault(joins.seat(ws, spot, ref).ref, at)
    return sorted(found, key=lambda one: order.get(_named(ws, one, order), len(order)))


def _named(ws: Workspace, attempt: Attempt, known: Mapping[str, int]) -> str:
    """What a join knows an attempt by: it may be the last of what a SWITCH has chosen."""
    plan, ref = ws.plan_of(attempt.plan), attempt.ref
    while ref not in known and plan is not None and (node := plan.nodes.get(ref)) is not None:
        if node.container is not None:
            ref = node.container
        elif plan.anchor:
            ref, plan = plan.anchor, ws.plan_of(plan.parent)
        else:
            break
    return ref


def opened(ws: Workspace, key: str) -> tuple[JoinState, Attempt, Spot] | None:
    """An open join by the field of its state."""
    join = ws.state(key, JoinState)
    attempt = ws.attempt(join.seq) if join and join.seq and not join.closed else None
    spot = ws.spot_of(attempt) if attempt else None
    if join is None or attempt is None or spot is None or not attempt.open:
        return None
    return join, attempt, spot


def newest(ws: Workspace, spot: Spot, refs: Iterable[str]) -> dict[str, Attempt]:
    """The newest attempts of what the join at ``spot`` waits for, by the reference it names; those
    never opened are left out.
    """
    seats = {ref: joins.seat(ws, spot, ref) for ref in refs}
    pointers = ("r:" + place_key(seat.ref, seat.vector) for seat in seats.values())
    ws.together((p, Read(f">a {p}")) for p in pointers if p not in ws.pointers)
    return {
        ref: found
        for ref, seat in seats.items()
        if (seq := ws.newest(seat.ref, seat.vector)) and (found := ws.attempt(seq)) is not None
    }


def names(value: JsonValue) -> list[str]:
    """The references of a ``joinOn``."""
    return [str(one) for one in value] if isinstance(value, (list, tuple)) else []


def count_settled(
    ws: Workspace, spot: Spot, refs: tuple[str, ...], looked_up: Iterable[str]
) -> JoinState:
    """What has settled already. A reference that no plan knows and nothing has brought can never
    settle: it counts as SKIPPED.
    """
    attempts = newest(ws, spot, looked_up)
    settled = [attempt for attempt in attempts.values() if has_settled(attempt)]
    errors = [a.seq for a in settled if joins.is_error(a)]
    failed = [a.seq for a in settled if not a.status.successful]
    awaited = [
        ref
        for ref in refs
        if joins.seat(ws, spot, ref).known or (ref in attempts and has_settled(attempts[ref]))
    ]
    return JoinState(
        seq=0,
        expected=len(awaited),
        settled=len(settled),
        failed=tuple(failed),
        errors=tuple(errors),
    )


def has_settled(attempt: Attempt) -> bool:
    """Whether its reference has settled with it."""
    return attempt.status.terminal and not (attempt.superseded or attempt.ahead)


def _output(ws: Workspace, spot: Spot, refs: list[str]) -> JsonObject:
    """The outputs by reference; of a task inside another loop that of its last iteration."""
    seats = {ref: joins.seat(ws, spot, ref) for ref in refs}
    vectors = {ref: seat.vector if seat.ref == ref else NO_LOOP for ref, seat in seats.items()}
    pointers = ("r:" + place_key(ref, at) for ref, at in vectors.items())
    ws.together((name, Read(f">ao {name}")) for name in pointers if name not in ws.pointers)
    seqs = {ref: ws.newest(ref, at) for ref, at in vectors.items()}
    ws.together(
        (name, Read(name))
        for seq in seqs.values()
        if seq and (name := f"o:{seq}") not in ws.documents
    )
    output: dict[str, JsonValue] = {}
    for ref, seq in seqs.items():
        found = ws.document(f"o:{seq}") if seq else {}
        if found:
            output[wire_ref(ref, vectors[ref])] = found
    return output
