"""Fields of priorities: a workflow's is a number or one of the names (``model.priorities``)."""

from __future__ import annotations

from typing import Any

from conductor_py.model.priorities import MOST_URGENT, NAMES, named_priority
from conductor_py.wire.fields import NumberOrText, Whole


class Priority(Whole):
    """A workflow's priority: 0 to 99, or one of the names; loaded as a number."""

    def __init__(self) -> None:
        super().__init__(least=0, most=MOST_URGENT)

    def load(self, value: Any) -> int:  # noqa: ANN401
        named = named_priority(value)
        if named is None and isinstance(value, str) and value[:1].isalpha():
            message = f"must be 0 to {MOST_URGENT}, or one of {', '.join(NAMES)}"
            raise ValueError(message)
        return super().load(value) if named is None else named

    def json_schema(self) -> dict[str, Any]:
        return {"oneOf": [super().json_schema(), {"type": "string", "enum": list(NAMES)}]}


class PriorityOrText(NumberOrText):
    """A workflow's priority as it is written: a number, a name, or an expression."""

    def load(self, value: Any) -> int | str | None:  # noqa: ANN401
        return value if named_priority(value) is not None else super().load(value)
