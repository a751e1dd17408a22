"""Business times of start requests: the field, and what it makes with the zone beside it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

from conductor_py.errors import Violation
from conductor_py.model.business_time import WrongBusinessTime, requested
from conductor_py.wire.fields import WireField, many, whole


class BusinessTime(WireField):
    """Epoch ms, or an ISO 8601 date or time, as it is written: the zone beside it belongs to it."""

    form: ClassVar[Mapping[str, Any]] = {"type": ["integer", "string"]}

    def load(self, value: Any) -> int | str:  # noqa: ANN401
        return value if isinstance(value, str) else whole(value)


class BusinessTimes(WireField):
    """A list of these."""

    form: ClassVar[Mapping[str, Any]] = {"type": "array", "items": BusinessTime.form}

    def load(self, value: Any) -> tuple[int | str, ...]:  # noqa: ANN401
        return many(value, BusinessTime().load)


def read_business(given: object, zone: object, root: str = "$.") -> tuple[int, str] | Violation:
    """The instant (0: none is named) and its zone (empty: none is named), or what is wrong."""
    try:
        return requested(given, zone, "")
    except WrongBusinessTime as error:
        value = given if error.member == "businessTime" else zone
        shown = str(value)[:200] if isinstance(value, str | int) else None
        return Violation(path=root + error.member, message=error.message, invalid_value=shown)
