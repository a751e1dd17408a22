"""What audits of the chaos program let pass: nothing that breaks an invariant, and at the end
nothing at all.
"""

from __future__ import annotations

from typing import Any

from tests.chaos.audits import Audits, last_audit

_LEFT_OVER = {"code": "left-over", "invariant": "I7", "subject": "log:nobody", "detail": ""}
_REMARK = {"code": "overdue", "invariant": "", "subject": "timers:s0", "detail": "1 timers"}


class _Client:
    """Answers an audit of two pages."""

    def __init__(self, *findings: Any) -> None:
        self._pages = {"": ([], "2"), "2": (list(findings), "")}

    def audit_page(self, cursor: str = "", *, size: int | None = None) -> Any:
        found, following = self._pages[cursor]
        return {"executions": 1, "keys": 1, "findings": found, "cursor": following}


def _meanwhile(*findings: Any) -> list[str]:
    client: Any = _Client(*findings)
    audits = Audits([client])
    audits._audit()
    return [f"{one.execution} {one.sentence}" for one in audits.found()]


def test_a_key_that_is_left_over_is_a_violation_while_faults_happen_too() -> None:
    assert _meanwhile(_LEFT_OVER) == ["log:nobody I7 left-over: "]


def test_a_remark_is_none_while_faults_happen() -> None:
    assert _meanwhile(_REMARK) == []


def test_at_the_end_a_remark_is_a_violation() -> None:
    client: Any = _Client(_LEFT_OVER, _REMARK)
    assert [one.execution for one in last_audit(client)] == ["log:nobody", "timers:s0"]
