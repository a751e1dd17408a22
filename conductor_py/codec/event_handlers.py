"""Event handlers, messages and action records as JSON under Conductor's names, and back.

What comes in here was written by these functions, or read by ``wire``.
"""

from __future__ import annotations

from typing import Any

import orjson

from conductor_py.codec.execution import dump_json
from conductor_py.model.chains import chain_in
from conductor_py.model.event_handlers import (
    ActionRecord,
    ActionType,
    EventAction,
    EventHandler,
    EventMessage,
)

Json = dict[str, Any]


def handler_to_json(handler: EventHandler) -> Json:
    """Write a handler; what is not set is left out."""
    written: Json = {
        "name": handler.name,
        "description": handler.description,
        "event": handler.event,
        "condition": handler.condition,
        "evaluatorType": handler.evaluator_type,
        "actions": [
            {
                "action": action.action.value,
                action.action.value: action.details,
                "expandInlineJSON": action.expand_inline_json,
            }
            for action in handler.actions
        ],
        "active": handler.active,
    }
    return {name: value for name, value in written.items() if value is not None}


def dump_handler(handler: EventHandler) -> bytes:
    """Store a handler."""
    return dump_json(handler_to_json(handler))


def load_handler(stored: bytes) -> EventHandler:
    """Read a handler."""
    fields: Json = orjson.loads(stored)
    return EventHandler(
        name=fields["name"],
        description=fields.get("description"),
        event=fields["event"],
        condition=fields.get("condition"),
        evaluator_type=fields.get("evaluatorType"),
        actions=tuple(
            EventAction(
                action=ActionType(action["action"]),
                details=action[action["action"]],
                expand_inline_json=action["expandInlineJSON"],
            )
            for action in fields["actions"]
        ),
        active=fields["active"],
    )


def dump_message(message: EventMessage) -> bytes:
    """Write a message as the document of the effect that publishes it."""
    return dump_json(
        {
            "kind": "publish",
            "message": message.id,
            "event": message.event,
            "at": message.published_at,
            **message.chain.members(),
            "payload": message.payload,
        }
    )


def load_message(document: Json) -> EventMessage:
    """Read a message out of an effect's document; a payload that is stored apart is for the caller
    to fetch and put in.
    """
    return EventMessage(
        id=document["message"],
        event=document["event"],
        published_at=document["at"],
        payload=document.get("payload"),
        chain=chain_in(document),
    )


def record_to_json(record: ActionRecord) -> Json:
    """Write what became of an action (Conductor: EventExecution)."""
    return {
        "id": record.id,
        "messageId": record.message_id,
        "name": record.name,
        "event": record.event,
        "created": record.created,
        "status": record.status.value,
        "action": record.action,
        "output": record.output,
    }
