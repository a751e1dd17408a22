"""The bodies of lookups: lists of correlation ids and of workflow names."""

from __future__ import annotations

from collections.abc import Sized

from conductor_py.errors import InvalidInput, Violation
from conductor_py.wire.fields import Texts, WireSchema, load

MAX_IDS = 1_000
"""Correlation ids, and workflow names, of one request."""


class CorrelationIdsSearchRequestForm(WireSchema):
    """Find the executions of these workflows that carry one of these correlation ids."""

    correlation_ids = Texts(required=True)
    workflow_names = Texts(required=True)


class _IdsForm(WireSchema):
    ids = Texts(required=True)


_CORRELATED = CorrelationIdsSearchRequestForm()
_IDS = _IdsForm()

FORMS: tuple[WireSchema, ...] = (_CORRELATED,)
"""The forms of this module, for the published schemas."""


def read_ids(body: object) -> tuple[str, ...]:
    """Read a list of correlation ids."""
    if not isinstance(body, list):
        raise _wrong("$", "must be a list of correlation ids")
    _bound("$", body)
    try:
        found: tuple[str, ...] = load(_IDS, {"ids": body})["ids"]
    except InvalidInput as error:
        moved = tuple(
            Violation(
                path=one.path.replace("$.ids", "$", 1),
                message=one.message,
                invalid_value=one.invalid_value,
            )
            for one in error.violations
        )
        raise InvalidInput(violations=moved) from error
    return found


def read_correlated(body: object) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Read workflow names and correlation ids."""
    members = load(_CORRELATED, body)
    names, ids = members["workflow_names"], members["correlation_ids"]
    _bound("$.workflowNames", names)
    _bound("$.correlationIds", ids)
    return names, ids


def _bound(path: str, found: Sized) -> None:
    if len(found) > MAX_IDS:
        raise _wrong(path, f"must not hold more than {MAX_IDS} entries")


def _wrong(path: str, message: str) -> InvalidInput:
    return InvalidInput(violations=(Violation(path=path, message=message),))
