"""What open joins, loops and gates keep in an execution <-> model."""

from __future__ import annotations

from typing import Any

import orjson

from conductor_py.model.execution import GateState, JoinState, LoopState

_Fields = dict[str, Any]


def dump_join(state: JoinState) -> _Fields:
    """The fields of the JSON object a join is stored as; what is empty is left out."""
    fields: _Fields = {"t": "j", "s": state.seq, "n": state.expected, "d": state.settled}
    for name, seqs in (("f", state.failed), ("e", state.errors)):
        if seqs:
            fields[name] = list(seqs)
    if state.closed:
        fields["c"] = 1
    return fields


def dump_loop(state: LoopState) -> _Fields:
    """The fields of the JSON object a loop is stored as."""
    fields: _Fields = {"t": "l", "s": state.seq, "i": state.iteration, "o": state.open_attempts}
    fields |= {"tail": state.tail, "items": state.items}
    if state.closed:
        fields["c"] = 1
    if state.generation:
        fields["g"] = state.generation
    if state.failed:
        fields["f"] = state.failed
    return fields


def dump_gate(state: GateState) -> _Fields:
    """The fields of the JSON object a gate is stored as; what is empty is left out."""
    fields: _Fields = {"g": state.generation, "n": state.told}
    counts = (("l", state.live), ("b", state.blocked), ("f", int(state.fresh)))
    more = (("v", state.verdict), ("m", int(state.named)))
    return fields | {name: value for name, value in (*counts, *more) if value}


def load_gate(stored: bytes) -> GateState:
    """Read what ``dump_gate`` wrote."""
    fields: _Fields = orjson.loads(stored)
    return GateState(
        generation=fields["g"],
        told=fields["n"],
        live=fields.get("l", 0),
        blocked=fields.get("b", 0),
        fresh=bool(fields.get("f")),
        verdict=fields.get("v", ""),
        named=bool(fields.get("m")),
    )


def load_container(stored: bytes) -> JoinState | LoopState:
    """Read either."""
    fields: _Fields = orjson.loads(stored)
    if fields["t"] == "j":
        return JoinState(
            seq=fields["s"],
            expected=fields["n"],
            settled=fields["d"],
            failed=tuple(fields.get("f", ())),
            errors=tuple(fields.get("e", ())),
            closed=bool(fields.get("c")),
        )
    return LoopState(
        seq=fields["s"],
        iteration=fields["i"],
        open_attempts=fields["o"],
        tail=fields["tail"],
        items=fields["items"],
        closed=bool(fields.get("c")),
        generation=fields.get("g", 0),
        failed=fields.get("f", 0),
    )
