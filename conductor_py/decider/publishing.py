"""Messages that an execution publishes: under which event, and what each says of its origin."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from conductor_py.decider.chains import next_in_chain
from conductor_py.decider.need import Refusal, SinkWanted
from conductor_py.decider.workspace import Workspace
from conductor_py.model.decision import Order
from conductor_py.model.definitions import WorkflowTask
from conductor_py.model.event_handlers import ALERT, CONDUCTOR, provider_of
from conductor_py.model.json import JsonObject, JsonValue

_MAX_EVENT = 500


def event_of(ws: Workspace, sink: JsonValue, queue: str) -> str | Refusal:
    """Name the event that the sink of an EVENT stands for, when its provider is there."""
    return _provided(ws, event_named(ws.header.name, sink, queue), notice=False)


def notice_event(ws: Workspace, sink: str, queue: str) -> str | Refusal:
    """The same for what changes are told to."""
    return _provided(ws, event_named(ws.header.name, of_changes(sink), queue), notice=True)


def _provided(ws: Workspace, event: str | Refusal, *, notice: bool) -> str | Refusal:
    if isinstance(event, Refusal) or (provider := provider_of(event)) == CONDUCTOR:
        return event
    key = f"{'notice' if notice else 'sink'}:{provider}"
    found = ws.answer(key, SinkWanted(provider, notice))
    return found if isinstance(found, Refusal) else event


def event_named(workflow: str, sink: JsonValue, queue: str) -> str | Refusal:
    """Name the event that a sink stands for; ``conductor`` alone is the queue named ``queue``.

    What begins with ``conductor`` belongs to the workflow; anything else is taken as it is.
    """
    if not isinstance(sink, str) or not sink.strip():
        return Refusal("The sink must be a text such as 'conductor' or 'conductor:<queue>'")
    sink = sink.strip()
    if len(sink) > _MAX_EVENT or not sink.isprintable():
        return Refusal(f"The sink must be printable and not longer than {_MAX_EVENT} characters")
    if sink == CONDUCTOR:
        return f"{CONDUCTOR}:{workflow}:{queue}"
    provider, colon, name = sink.partition(":")
    if provider == CONDUCTOR and name:
        return f"{CONDUCTOR}:{workflow}:{name}"
    if provider.startswith(CONDUCTOR) or not colon or not name:
        return Refusal(
            f"'{sink}' is not a sink: write 'conductor', 'conductor:<queue>' or"
            " '<provider>:<queue>'"
        )
    return sink


def of_changes(sink: str) -> str:
    """The sink that changes go to: a bare name is a queue of the workflow."""
    bare = ":" not in sink and sink != CONDUCTOR
    return f"{CONDUCTOR}:{sink}" if bare else sink


def changes_told(task: WorkflowTask) -> Iterator[tuple[str, int, str, JsonObject]]:
    """List what ``onStateChange`` names: its key, the place there, the sink, the payload. What has
    another form tells nobody.
    """
    for keys, listed in (task.on_state_change or {}).items():
        for at, each in enumerate(listed if isinstance(listed, (list, tuple)) else ()):
            if isinstance(each, Mapping) and isinstance(sink := each.get("type"), str):
                payload = each.get("payload")
                yield keys, at, sink, payload if isinstance(payload, Mapping) else {}


def publish(ws: Workspace, name: str, identity: str, event: str, payload: JsonObject) -> None:
    """Order a message to be published; ``identity`` is what repeats of it are known by."""
    effect = f"{ws.id}:publish:{name}"
    arguments: JsonObject = {
        "message": identity,
        "event": event,
        "at": ws.now_ms,
        **next_in_chain(ws).members(),
        "payload": payload,
    }
    ws.effects[effect] = Order(id=effect, kind="publish", arguments=arguments)


def alert(ws: Workspace, about: str, facts: JsonObject) -> None:
    """Have somebody look; ``about`` is what repeats of it in this execution are known by."""
    name = f"alert:{about}"
    publish(ws, name, f"{ws.id}:{name}", ALERT, {**origin(ws), **facts})


def origin(ws: Workspace) -> JsonObject:
    """Say which execution a message comes from."""
    domains = ws.document("domains") if ws.header.has_domains else {}
    return {
        "workflowInstanceId": ws.id,
        "workflowType": ws.header.name,
        "workflowVersion": ws.header.version,
        "correlationId": ws.header.correlation_id,
        "taskToDomain": domains,
    }
