"""DO_WHILE: repeats its body while a condition holds, or for each item of a list.

The iteration is part of the identity of the tasks inside (the iteration vector), so loops nest. An
iteration is over when the last task of the body has settled and nothing inside is open. The
numbered outputs are a view over the attempts, written once at the end; a condition gets what its
text names. With ``keepLastN`` the records of earlier iterations are deleted as the loop goes on.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from conductor_py.decider import bodies, control, ending, scheduling, timeouts
from conductor_py.decider.compile import input_template
from conductor_py.decider.need import Evaluated, Read, Refusal, ScriptWanted, digest
from conductor_py.decider.plan import Node, Plan
from conductor_py.decider.references import resolve_input, resolve_value
from conductor_py.decider.starting import whole_number
from conductor_py.decider.workspace import Spot, Step, Workspace
from conductor_py.model.execution import Attempt, LoopState, Vector, vector_append
from conductor_py.model.json import JsonObject, JsonValue
from conductor_py.model.places import place_key
from conductor_py.model.status import TaskStatus

_NAMED = re.compile(r"\$\.([A-Za-z_]\w*)|\$\[\s*(?:'([^'\n]+)'|\"([^\"\n]+)\")\s*\]")
_PRESENT = re.compile(
    r"\s*(?:\.\s*(?:iteration|loopIndex|loopItem)\b"
    r"|\[\s*(?:'(?:iteration|loopIndex|loopItem)'|\"(?:iteration|loopIndex|loopItem)\")\s*\])"
)
"""What a loop says of its present iteration, where its output of all of them is not needed."""
_OWN: Final = ("iteration", "loopIndex", "loopItem")
_NOTING: Final = """((run, text, name, own) => { const value = run(text), loop = $[name], noted = {}
if (loop && typeof loop === 'object') for (const member of Object.keys(loop))
    if (!own.includes(member) && !/^[0-9]+$/.test(member)) noted[member] = loop[member]
return [value, noted] })"""
"""Runs a condition, and tells what else stands in the loop's output then: what it wrote there."""
_KEEP = "keepLastN"
_ANY = re.compile(r"\$(?![A-Za-z0-9_$])")


def open_(ws: Workspace, spot: Spot) -> None:
    """Open the loop and its first iteration; an empty list of items ends it at once."""
    value = resolve_input(ws, spot, ws.next_seq)
    attempt = control.create(
        ws,
        spot,
        type_="DO_WHILE",
        definition=spot.node.task.name,
        status=TaskStatus.IN_PROGRESS,
        input_=value,
        **scheduling.clocks(spot.node.task.task_definition, ws.now_ms),
    )
    timeouts.watch(ws, attempt)
    if value.get(_KEEP) is not None and not whole_number(value[_KEEP]):
        status = TaskStatus.FAILED_WITH_TERMINAL_ERROR
        reason = f"{_KEEP} must be a whole number of at least 1"
        control.finish(ws, spot, attempt, status, reason=reason)
        return
    items = _items(ws, spot, attempt, value)
    lacking = ws.unresolved.pop(spot.key, None)
    if lacking is not None:
        control.finish(ws, spot, attempt, TaskStatus.FAILED_WITH_TERMINAL_ERROR, reason=lacking)
        return
    count = len(items) if items is not None else -1
    ws.states["j:" + spot.key] = LoopState(seq=attempt.seq, items=count)
    if count == 0:
        control.finish(ws, spot, attempt, TaskStatus.COMPLETED, output={"iteration": 0})
        return
    _iterate(ws, spot, attempt, 1, items)


def reopen(ws: Workspace, spot: Spot, before: Attempt) -> None:
    """Go on, as the successor of ``before``, in the iteration that the state names."""
    key = "j:" + spot.key
    state = ws.state(key, LoopState)
    if state is None or not state.iteration:
        open_(ws, spot)
        return
    value = ws.document(f"i:{state.seq}")  # ``before`` may stand for a loop that was passed over
    failed = ws.attempt(state.failed) if state.failed else None
    attempt = control.create(
        ws,
        spot,
        type_="DO_WHILE",
        definition=before.definition,
        status=TaskStatus.IN_PROGRESS,
        input_=value,
        **scheduling.clocks(spot.node.task.task_definition, ws.now_ms),
    )
    timeouts.watch(ws, attempt)
    items = _items(ws, spot, attempt, value) if state.items >= 0 else None
    ws.documents[f"o:{attempt.seq}"] = _noted(ws, spot, state.seq)
    _show_iteration(ws, spot, attempt, state.iteration, items)
    ws.states[key] = replace(state, seq=attempt.seq, closed=failed is not None, failed=0)
    if failed is not None:
        _fail(ws, spot, attempt, TaskStatus.FAILED, ending.reason_of(failed))
        return
    body = spot.node.task.loop_over
    vector = vector_append(spot.vector, state.iteration)
    if not body:
        control.reach_tail(ws, spot.plan, spot.node, vector)
    elif not ws.newest(body[0].task_reference_name, vector):
        ws.agenda.append(Step("open", spot.plan, body[0].task_reference_name, vector))
    ws.agenda.append(Step("loop", spot.plan, spot.node.ref, spot.vector))


def go_back(ws: Workspace, spot: Spot, iteration: int) -> None:
    """Let a loop be in the midst of its iteration, or of an earlier one, again."""
    key = "j:" + spot.key
    state = ws.state(key, LoopState)
    if state is not None:
        ws.states[key] = replace(state, iteration=iteration, tail=False, failed=0)


def show(ws: Workspace, spot: Spot) -> None:
    """Let a loop that went back tell the iteration that it is in."""
    state = ws.state("j:" + spot.key, LoopState)
    attempt = ws.attempt(state.seq) if state is not None else None
    if state is not None and attempt is not None and attempt.open:
        value = ws.document(f"i:{attempt.seq}")
        items = _items(ws, spot, attempt, value) if state.items >= 0 else None
        _show_iteration(ws, spot, attempt, state.iteration, items)


def check(ws: Workspace, plan: Plan, ref: str, vector: Vector) -> None:
    """When the present iteration is over, begin the next or end the loop."""
    node = plan.nodes.get(ref)
    spot = Spot(plan, node, vector) if node else None
    state = ws.state("j:" + spot.key, LoopState) if spot else None
    if spot is None or state is None:
        return
    if not state.failed and (not state.tail or state.open_attempts > 0):
        return
    attempt = ws.attempt(state.seq)
    if attempt is None or not attempt.open:
        return
    failed = ws.attempt(state.failed) if state.failed else None
    if failed is not None:
        ws.states["j:" + spot.key] = replace(state, failed=0)
        _fail(ws, spot, attempt, TaskStatus.FAILED, ending.reason_of(failed))
        return
    if _goes_on_inside(ws, vector_append(vector, state.iteration)):
        ws.agenda.append(Step("loop", plan, ref, vector))
        return
    items = _items(ws, spot, attempt, ws.document(f"i:{attempt.seq}")) if state.items >= 0 else None
    wanted = _condition(ws, spot, attempt, state, items)
    if isinstance(wanted, Refusal):
        status = TaskStatus.FAILED_WITH_TERMINAL_ERROR
        _fail(ws, spot, attempt, status, f"loopCondition: {wanted.reason}")
        return
    kept = _kept(ws, spot, attempt, state)
    if kept.start > 1:
        forgotten = vector_append(spot.vector, kept.start - 1)
        ws.agenda.append(bodies.step_of("forget", plan, ref, forgotten))
    left = items is None or state.iteration < len(items)
    if not (wanted and left):
        output = _output(ws, spot, attempt, kept)
        control.finish(ws, spot, attempt, TaskStatus.COMPLETED, output=output)
    elif state.iteration >= ws.limits.iterations:
        status = TaskStatus.FAILED_WITH_TERMINAL_ERROR
        most = ws.limits.iterations
        reason = f"More than {most} iterations (conductor.limits.loopIterations)"
        _fail(ws, spot, attempt, status, reason)
    else:
        _iterate(ws, spot, attempt, state.iteration + 1, items)


def _fail(
    ws: Workspace, spot: Spot, attempt: Attempt, status: TaskStatus, reason: str | None
) -> None:
    """End a loop that has begun, with what its iterations have left, where that is not too much."""
    state = ws.state("j:" + spot.key, LoopState)
    output = None
    if state is not None and ws.refused("o", attempt.seq, attempt.ref) is None:
        output = _output(ws, spot, attempt, _kept(ws, spot, attempt, state))
    control.finish(ws, spot, attempt, status, output=output, reason=reason)


def _goes_on_inside(ws: Workspace, iteration: Vector) -> bool:
    """Whether nothing is open in an iteration only because what follows in it waits its turn."""
    steps = (step for step in ws.agenda if step.kind != "loop")
    return any(f"{step.vector}.".startswith(f"{iteration}.") for step in steps)


def _iterate(
    ws: Workspace, spot: Spot, attempt: Attempt, iteration: int, items: Sequence[JsonValue] | None
) -> None:
    key = "j:" + spot.key
    state = ws.state(key, LoopState)
    if state is None:
        return
    refused = ws.refused("o", attempt.seq, attempt.ref)
    if refused is not None:
        status = TaskStatus.FAILED_WITH_TERMINAL_ERROR
        control.finish(ws, spot, attempt, status, output={}, reason=refused)
        return
    ws.states[key] = replace(state, iteration=iteration, tail=False, open_attempts=0)
    _show_iteration(ws, spot, attempt, iteration, items)
    body = spot.node.task.loop_over
    vector = vector_append(spot.vector, iteration)
    if body:
        step = Step("open", spot.plan, body[0].task_reference_name, vector)
        ws.agenda.append(step)
    else:
        control.reach_tail(ws, spot.plan, spot.node, vector)


def _show_iteration(
    ws: Workspace,
    spot: Spot,
    attempt: Attempt,
    iteration: int,
    items: Sequence[JsonValue] | None,
) -> None:
    output: dict[str, JsonValue] = {**_noted(ws, spot, attempt.seq), "iteration": iteration}
    if items is not None and iteration <= len(items):
        output |= {"loopIndex": iteration - 1, "loopItem": items[iteration - 1]}
    ws.documents[f"o:{attempt.seq}"] = output


def _items(
    ws: Workspace, spot: Spot, attempt: Attempt, value: JsonObject
) -> Sequence[JsonValue] | None:
    """The items of a list loop, ``None`` for a loop that has only a condition."""
    expression = spot.node.task.items
    if expression:
        found = resolve_value(ws, expression, attempt.seq, spot=spot)
    elif value.get("_items") not in (None, ""):
        found = value["_items"]
    else:
        return None
    if found is None:
        return ()
    return found if isinstance(found, (list, tuple)) else (found,)


def _condition(
    ws: Workspace,
    spot: Spot,
    attempt: Attempt,
    state: LoopState,
    items: Sequence[JsonValue] | None,
) -> bool | Refusal:
    text = spot.node.task.loop_condition
    if not text or not text.strip():
        return items is not None
    bindings = _bindings(ws, spot, attempt, state, text)
    lacking = ws.unresolved.pop(spot.key, None)
    if lacking is not None:
        return Refusal(lacking)
    key = f"script:{spot.key}:{state.iteration}:{digest([text, bindings])}"
    notes = _asks_for_all(text, spot.node.ref)
    program = _noting(text, spot.node.ref) if notes else text
    found = ws.answer(key, ScriptWanted("javascript", program, bindings))
    if isinstance(found, Refusal):
        return found
    value = found.value if isinstance(found, Evaluated) else None
    if notes and isinstance(value, list):
        value, noted = value
        own = _own(ws.document(f"o:{attempt.seq}"))
        ws.documents[f"o:{attempt.seq}"] = {**own, **noted}
    if isinstance(value, bool):
        return value
    return isinstance(value, (int, float)) and value > 0


def _bindings(
    ws: Workspace, spot: Spot, attempt: Attempt, state: LoopState, text: str
) -> JsonObject:
    names = {name for found in _NAMED.findall(text) for name in found if name}
    everything = _ANY.search(_NAMED.sub("", text)) is not None
    shown = ws.document(f"o:{attempt.seq}")
    bindings: dict[str, JsonValue] = dict(resolve_input(ws, spot, attempt.seq))
    bindings.update(_own(shown))
    if _asks_for_all(text, spot.node.ref):
        bindings[spot.node.ref] = _output(ws, spot, attempt, _kept(ws, spot, attempt, state))
    elif spot.node.ref in names:
        bindings[spot.node.ref] = {**_own(shown), "iteration": state.iteration}
    for node in _body(spot.plan, spot.node):
        if everything or node.ref in names:
            seq = _latest(ws, node, spot.vector, vector_append(spot.vector, state.iteration))
            bindings[node.ref] = ws.document(f"o:{seq}") if seq else {}
    return bindings


def _latest(ws: Workspace, node: Node, loop: Vector, iteration: Vector) -> int:
    """The newest attempt of a body's task: in an iteration, else in any of this loop (semantics
    2.10.7), never in one of the same loop that an outer iteration before had opened.
    """
    if len(node.loops) == _depth(iteration) and (seq := ws.newest(node.ref, iteration)):
        return seq
    attempt = ws.attempt(ws.newest(node.ref))
    if attempt is None or (loop and not attempt.vector.startswith(f"{loop}.")):
        return 0
    return ws.newest(node.ref, attempt.vector)


def _asks_for_all(text: str, ref: str) -> bool:
    """Whether a condition may ask its loop for more than the iteration that it is in."""
    if _ANY.search(_NAMED.sub("", text)) is not None:
        return True
    uses = (found for found in _NAMED.finditer(text) if ref in found.groups())
    return any(_PRESENT.match(text, found.end()) is None for found in uses)


def _noting(condition: str, ref: str) -> str:
    """The program that also tells what a condition wrote into its loop's output."""
    return f"{_NOTING}(eval, {json.dumps(condition)}, {json.dumps(ref)}, {json.dumps(_OWN)})"


def _noted(ws: Workspace, spot: Spot, seq: int) -> JsonObject:
    """What the condition wrote into the loop's output; not looked for when it cannot write."""
    if not _asks_for_all(spot.node.task.loop_condition or "", spot.node.ref):
        return {}
    shown = ws.document(f"o:{seq}")
    return {n: value for n, value in shown.items() if n not in _OWN and not n.isdecimal()}


def _own(output: JsonObject) -> JsonObject:
    """What a loop itself tells of its present iteration."""
    return {name: value for name, value in output.items() if name in _OWN}


def _body(plan: Plan, loop: Node) -> list[Node]:
    return [node for node in plan.nodes.values() if loop.ref in node.loops]


def _depth(vector: Vector) -> int:
    return vector.count(".") + 1 if vector else 0


def _kept(ws: Workspace, spot: Spot, attempt: Attempt, state: LoopState) -> range:
    """The iterations whose records are kept: all, or the last ones."""
    most: int | None = None
    if _KEEP in input_template(spot.node.task):
        most = whole_number(ws.document(f"i:{attempt.seq}").get(_KEEP))
    first = state.iteration - (most or state.iteration)
    return range(max(first, 0) + 1, state.iteration + 1)


def _output(ws: Workspace, spot: Spot, attempt: Attempt, kept: range) -> JsonObject:
    """``{"iteration": n, "1": {ref: output, …}, …}`` of the tasks directly in the loop, with what
    its condition wrote there.
    """
    refs = [node.ref for node in _body(spot.plan, spot.node) if node.loops[-1] == spot.node.ref]
    vectors = {n: vector_append(spot.vector, n) for n in kept}
    pointers = {
        (n, ref): "r:" + place_key(ref, vector) for n, vector in vectors.items() for ref in refs
    }
    ws.together((p, Read(f">ao {p}")) for p in pointers.values() if p not in ws.pointers)
    seqs = {at: ws.newest(at[1], vectors[at[0]]) for at in pointers}
    ws.together(
        (name, Read(name))
        for seq in seqs.values()
        if seq and (name := f"o:{seq}") not in ws.documents
    )
    noted = _noted(ws, spot, attempt.seq)
    output: dict[str, JsonValue] = {**noted, "iteration": kept.stop - 1}
    for (n, ref), seq in seqs.items():
        if seq:
            found = output.setdefault(str(n), {})
            if isinstance(found, dict):
                found[ref] = ws.document(f"o:{seq}")
    return output
