"""What interventions leave in an execution <-> model: postponed steps, skips, who waits for it."""

from __future__ import annotations

from typing import Any

import orjson

from conductor_py.model.execution import Postponed, Skip, Vector, Watch, Watches

_Fields = dict[str, Any]


def dump_intervention(state: Postponed | Skip | Watches) -> _Fields:
    """The fields of the JSON object it is stored as."""
    if isinstance(state, Postponed):
        return {"kind": state.kind, "plan": state.plan, "ref": state.ref, "it": state.vector}
    if isinstance(state, Skip):
        return {"from": state.first_seq, "i": state.input, "o": state.output}
    return {"w": [[watch.topic, watch.until, list(watch.refs)] for watch in state.watches]}


def load_postponed(stored: bytes) -> Postponed:
    """Read a step that a pause has postponed."""
    fields: _Fields = orjson.loads(stored)
    return Postponed(
        kind=fields["kind"], plan=fields["plan"], ref=fields["ref"], vector=Vector(fields["it"])
    )


def load_skip(stored: bytes) -> Skip:
    """Read that a loop's task is to be skipped."""
    fields: _Fields = orjson.loads(stored)
    return Skip(first_seq=fields["from"], input=fields["i"], output=fields["o"])


def load_watches(stored: bytes | None) -> Watches:
    """Read who waits; absent: nobody."""
    fields: _Fields = orjson.loads(stored) if stored else {"w": ()}
    return Watches(
        watches=tuple(
            Watch(topic=topic, until=until, refs=tuple(refs)) for topic, until, refs in fields["w"]
        )
    )
