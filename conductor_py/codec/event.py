"""Inbox events <-> bytes: ``<sequence number> <JSON>``; scripts read the number, nobody but this
module the JSON. An event of an unknown kind is refused (``UnknownFormat``): its execution is left
to the version of the engine that knows it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

import orjson

from conductor_py.codec.execution import UnknownFormat, dump_json
from conductor_py.model.event import (
    Admitted,
    ChildEnded,
    ChildRevived,
    Claimed,
    Continue,
    DeadlinePassed,
    Event,
    Operation,
    ResultReported,
    Started,
)
from conductor_py.model.execution import Document, External
from conductor_py.model.status import TaskStatus, WorkflowStatus
from conductor_py.records import made

_TASK_STATUS = {status.value: status for status in TaskStatus}


def digest_of(events: Sequence[bytes]) -> str:
    """Tell stored events from others of the same numbers; the store makes the same of its own."""
    return hashlib.sha1(b"\n".join(events), usedforsecurity=False).hexdigest()


def dump_event(event: Event) -> bytes:  # noqa: C901 - one case a kind
    """Store an event."""
    match event:
        case ResultReported():
            body: dict[str, Any] = {"t": "result", "st": event.status.value, "w": event.worker}
            if event.reason is not None:
                body["why"] = event.reason
            if event.callback_after_s:
                body["cb"] = event.callback_after_s
            return b"%d %b" % (event.seq, orjson.dumps(body))
        case DeadlinePassed():
            body = {"t": "due", "k": event.claim, "d": event.until}
            return b"%d %b" % (event.seq, orjson.dumps(body))
        case ChildEnded():
            body = {"t": "child", "id": event.child, "gen": event.child_generation}
            body |= {"st": event.status.value, "why": event.reason, **_output(event.output)}
            return b"%d %b" % (event.seq, dump_json(body))
        case ChildRevived():
            body = {"t": "revived", "id": event.child, "gen": event.child_generation}
            if event.through:
                body["through"] = event.through
            return b"%d %b" % (event.seq, orjson.dumps(body))
        case Claimed():
            return b'%d {"t":"claimed"}' % event.seq
        case Started():
            return b'0 {"t":"start"}'
        case Admitted():
            return b"0 " + orjson.dumps({"t": "admit", "ok": event.admitted})
        case Continue():
            body = {"t": "more", "gen": event.generation, "kind": event.kind}
            body |= {"plan": event.plan, "ref": event.ref, "it": event.vector}
            return b"0 " + orjson.dumps(body)
        case Operation():
            body = {"t": "op", "id": event.id, "name": event.name, "args": event.arguments}
            return b"0 " + dump_json(body)


def load_event(stored: bytes) -> Event:
    """Read an event (``UnknownFormat``)."""
    number, _, text = stored.partition(b" ")
    try:
        return _event(int(number), orjson.loads(text))
    except (KeyError, TypeError, ValueError) as unknown:
        raise UnknownFormat(f"An event cannot be read: {unknown}") from unknown


def _event(seq: int, body: dict[str, Any]) -> Event:
    match body["t"]:
        case "result":
            return made(
                ResultReported,
                seq=seq,
                status=_TASK_STATUS[body["st"]],
                worker=body.get("w", ""),
                reason=body.get("why"),
                callback_after_s=body.get("cb", 0),
            )
        case "due":
            return DeadlinePassed(seq=seq, claim=int(body["k"]), until=int(body["d"]))
        case "child":
            path = body.get("path")
            return ChildEnded(
                seq=seq,
                child=body["id"],
                child_generation=body["gen"],
                status=WorkflowStatus(body["st"]),
                reason=body.get("why"),
                output=External(path) if path else body["out"],
            )
        case "revived":
            return ChildRevived(
                seq=seq,
                child=body["id"],
                child_generation=body["gen"],
                through=body.get("through", ""),
            )
        case "more":
            return Continue(
                generation=body["gen"],
                kind=body["kind"],
                plan=body["plan"],
                ref=body["ref"],
                vector=body["it"],
            )
        case "op":
            return Operation(id=body["id"], name=body["name"], arguments=body["args"])
        case "claimed":
            return Claimed(seq=seq)
        case "start":
            return Started()
        case "admit":
            return Admitted(admitted=bool(body["ok"]))
        case unknown:
            raise UnknownFormat(f"Events of kind '{unknown}' are not known")


def _output(output: Document) -> dict[str, Any]:
    return {"path": output.path} if isinstance(output, External) else {"out": output}
