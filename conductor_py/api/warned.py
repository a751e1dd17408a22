"""The answer of a check: what is taken although it is hardly meant."""

from __future__ import annotations

from collections.abc import Iterable

from conductor_py.api.answers import Answer, json_answer
from conductor_py.api.errors import shown_violation
from conductor_py.errors import Violation


def warned(found: Iterable[Violation]) -> Answer:
    """Answer ``{"warnings": [{"path", "message", "invalidValue"}]}``."""
    return json_answer({"warnings": [shown_violation(each) for each in found]})
