"""Workflow rate limits: an execution begins when it is its turn.

A definition with ``rateLimitConfig`` says how many executions with the same key may be under way at
once. The key belongs to the workflow's name. One beyond the limit stays RUNNING with nothing
scheduled until another ends (QUEUE), or is turned away (REJECT). A sub-workflow below an execution
that holds the same key shares its place: it could otherwise wait for its own parent for ever.
"""

from __future__ import annotations

import hashlib
from dataclasses import replace

from conductor_py.decider import ending
from conductor_py.decider.expressions.java_text import text_of
from conductor_py.decider.references import resolve_value
from conductor_py.decider.workspace import Workspace
from conductor_py.model.decision import Entry
from conductor_py.model.definitions import WorkflowDef
from conductor_py.model.execution import Header
from conductor_py.model.ids import escaped
from conductor_py.model.status import WorkflowStatus

_LONGEST_KEY = 200


def limit_of(definition: WorkflowDef) -> int:
    """How many executions with the same key may be under way at once; 0: any number."""
    limit = (definition.rate_limit_config or {}).get("concurrentExecLimit")
    return limit if isinstance(limit, int) and not isinstance(limit, bool) and limit > 0 else 0


def enter(ws: Workspace) -> bool:
    """Whether the execution may begin at once; else it asks for its turn with this decision."""
    limit = limit_of(ws.plan.definition)
    if not limit:
        return True
    config = ws.plan.definition.rate_limit_config or {}
    key = _one_line(f"{escaped(ws.header.name)}:{_named(ws)}")
    if key in ws.header.admitted_under.split("\n"):
        return True
    ws.header = replace(ws.header, admission_key=key, admission_limit=limit, awaits_admission=True)
    ws.entry = Entry(key=key, limit=limit, reject=config.get("policy") == "REJECT")
    return False


def answered(ws: Workspace, *, admitted: bool) -> bool:
    """The store has answered: whether the execution begins now; one that was turned away ends. Its
    key stays with it: should it be taken up again, it counts.
    """
    if ws.over or not ws.header.awaits_admission:
        return False
    limit = ws.header.admission_limit
    ws.header = replace(ws.header, awaits_admission=False)
    if not admitted:
        reason = f"Rate limit: {limit} executions of workflow {ws.header.name} are under way"
        ending.end(ws, WorkflowStatus.FAILED, reason, output={})
    return admitted


def held_by(header: Header) -> str:
    """What a child may share: the keys that its parent and those above it hold, one a line."""
    keys = [*header.admitted_under.split("\n"), header.admission_key]
    return "\n".join(dict.fromkeys(key for key in keys if key))


def _one_line(text: str) -> str:
    """Keys are kept one a line, and a line break within one must not make it another's."""
    return "".join(f"%{ord(char):02X}" if char.isspace() and char != " " else char for char in text)


def _named(ws: Workspace) -> str:
    given = (ws.plan.definition.rate_limit_config or {}).get("rateLimitKey")
    value = resolve_value(ws, given) if isinstance(given, str) else None
    text = "" if value is None else text_of(value)
    if len(text) > _LONGEST_KEY:
        return hashlib.sha256(text.encode(errors="replace")).hexdigest()
    return text
