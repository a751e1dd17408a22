"""What open joins and loops keep in an execution <-> model."""

from __future__ import annotations

from typing import Any

import orjson

from conductor_py.model.execution import JoinState, LoopState

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
    return fields


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
    )
