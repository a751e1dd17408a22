"""Skip: a task that has not been reached yet is passed over, with the output that is given."""

from __future__ import annotations

import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace

from conductor_py.decider import control, skipping
from conductor_py.decider.workspace import Spot, Workspace
from conductor_py.model.decision import Answer
from conductor_py.model.event import Operation
from conductor_py.model.execution import Skip, Vector
from conductor_py.model.json import JsonObject
from conductor_py.model.places import wire_ref
from conductor_py.model.status import WorkflowStatus

_NUMBER = re.compile(r"[1-9]\d{0,8}", re.ASCII)


def skip(ws: Workspace, operation: Operation) -> Answer:
    """Skip a reference of the definition; inside loops ``ref__<n>`` is one iteration, ``ref`` every
    one.
    """
    ref = str(operation.arguments.get("ref") or "")
    if ws.status is not WorkflowStatus.RUNNING:
        message = f"Workflow {ws.id} is {ws.status.value}, tasks of a RUNNING one can be skipped."
        return _refused(operation, "CONFLICT", message)
    spot = _spot(ws, ref)
    if spot is None:
        message = f"The definition has no task of reference '{ref}'"
        return _refused(operation, "INVALID_INPUT", message)
    every = bool(spot.node.loops) and not spot.vector
    if ws.newest(spot.node.ref, spot.vector) or (every and skipping.mark_of(ws, spot.node.ref)):
        message = f"Task {ref} has been scheduled already, it cannot be skipped."
        return _refused(operation, "CONFLICT", message)
    input_, output = _object(operation, "taskInput"), _object(operation, "taskOutput")
    ws.header = replace(ws.header, skips=True)
    if every:
        mark = Skip(first_seq=ws.header.first_seq, input=input_, output=output)
        ws.states[f"s:{spot.node.ref}"] = mark
    else:
        _record(ws, spot, input_, output)
    return Answer(operation=operation.id)


def _record(ws: Workspace, spot: Spot, input_: JsonObject, output: JsonObject) -> None:
    """A skip of a later iteration must not become the newest attempt over all iterations."""
    pointer = f"r:{spot.node.ref}"
    newest = ws.pointers.get(pointer)
    with suppress(control.Refused):
        skipping.record(ws, spot, input_, output, ahead=True)
    if spot.vector:
        del ws.pointers[pointer]
        if newest is not None:
            ws.pointers[pointer] = newest


def _spot(ws: Workspace, ref: str) -> Spot | None:
    node = ws.plan.nodes.get(ref)
    if node is not None:
        return Spot(ws.plan, node, Vector(""))
    deepest = max((len(node.loops) for node in ws.plan.nodes.values()), default=0)
    numbers = ref.rsplit("__", deepest)[1:]
    for depth in range(1, len(numbers) + 1):
        if not _NUMBER.fullmatch(numbers[-depth]):
            break
        vector = Vector(".".join(numbers[-depth:]))
        node = ws.plan.nodes.get(ref.removesuffix(wire_ref("", vector)))
        if node is not None and len(node.loops) == depth:
            return Spot(ws.plan, node, vector)
    return None


def _object(operation: Operation, name: str) -> JsonObject:
    value = operation.arguments.get(name)
    return value if isinstance(value, Mapping) else {}


def _refused(operation: Operation, error: str, message: str) -> Answer:
    return Answer(operation=operation.id, error=error, message=message)
