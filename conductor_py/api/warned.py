"""The answer of a check: what is taken although it is hardly meant."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import islice

from conductor_py.api.answers import Answer, json_answer
from conductor_py.api.errors import shown_violation
from conductor_py.errors import Violation

_MOST = 200


def warned(found: Iterable[Violation]) -> Answer:
    """Answer ``{"warnings": [{"path", "message", "invalidValue"}]}``, the first 200."""
    few = list(islice(found, _MOST + 1))
    if len(few) > _MOST:
        few[_MOST] = Violation(path="$", message=f"There are more; these are the first {_MOST}")
    return json_answer({"warnings": [shown_violation(each) for each in few]})
