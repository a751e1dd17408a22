"""The state of an execution at its birth, for starters and for parents alike."""

from __future__ import annotations

from collections.abc import Mapping

from conductor_py.model.chains import NO_CHAIN, Chain
from conductor_py.model.definitions import WorkflowDef
from conductor_py.model.execution import Header
from conductor_py.model.json import JsonObject, JsonValue
from conductor_py.model.priorities import MOST_URGENT, named_priority
from conductor_py.model.status import WorkflowStatus
from conductor_py.records import made

_MAX_DIGITS = 10


def new_header(
    plan: str,
    definition: WorkflowDef,
    *,
    home: str,
    now_ms: int,
    priority: int = 0,
    correlation_id: str | None = None,
    has_domains: bool = False,
    parent: tuple[str, int, int] | None = None,
    admitted_under: str = "",
    depth: int = 0,
    chain: Chain = NO_CHAIN,
    business: tuple[int, str] = (0, ""),
) -> Header:
    """Make the header of a new execution; ``parent`` is (execution, sequence number of the task,
    depth of the parent), ``admitted_under`` the rate limits that those above it hold,
    ``depth`` how many follow each other without being children, ``chain`` where it stands among
    those that start each other quickly (``decider/chains.py``), ``business`` the instant that it
    is about and its zone.
    """
    timeout = definition.timeout_seconds * 1000
    return made(
        Header,
        plan=plan,
        name=definition.name,
        version=definition.version,
        status=WorkflowStatus.RUNNING,
        generation=1,
        home=home,
        created_at=now_ms,
        updated_at=now_ms,
        sound=True,
        correlation_id=correlation_id,
        priority=priority,
        has_domains=has_domains,
        due_at=now_ms + timeout if timeout > 0 else 0,
        parent=parent[0] if parent else None,
        parent_seq=parent[1] if parent else 0,
        depth=parent[2] + 1 if parent else depth,
        chain=chain,
        admitted_under=admitted_under,
        business_at=business[0],
        zone=business[1],
    )


def business_of(header: Header) -> tuple[int, str]:
    """The instant that an execution is about, and its zone, for what it starts."""
    return header.business_at or header.created_at, header.zone


def with_input_template(definition: WorkflowDef, given: JsonObject) -> JsonObject:
    """Fill missing keys from the definition's template; an empty input gets none, a null counts as
    missing (Conductor).
    """
    template: Mapping[str, JsonValue] = definition.input_template
    if not given or not template:
        return given
    present = {key: value for key, value in given.items() if value is not None}
    return {**given, **template, **present}


def whole_number(value: JsonValue) -> int | None:
    """Read a number that a user may have written as text or with ``.0``; ``None`` for anything
    else.
    """
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        return None
    digits = str(value).strip().removesuffix(".0")
    plausible = digits.isascii() and digits.isdigit() and len(digits) < _MAX_DIGITS
    return int(digits) if plausible else None


def priority_number(value: JsonValue) -> int | None:
    """Read a workflow's priority, 0 to 99 or one of the names; ``None`` for anything else."""
    named = named_priority(value)
    number = whole_number(value) if named is None else named
    return number if number is not None and number <= MOST_URGENT else None


def start_nodes(request: JsonObject) -> tuple[str, ...]:
    """The tasks of a DAG that a request starts with; empty: all of it."""
    nodes = request.get("startNodes")
    return tuple(str(each) for each in nodes) if isinstance(nodes, list | tuple) else ()
