"""Bounds of key ranges as JSON, exactly: a bound that changed on the way would lose rows."""

from __future__ import annotations

import base64
from collections.abc import Callable
from datetime import date, datetime
from decimal import Decimal
from typing import Any, Final

_READ: Final[dict[str, Callable[[str], Any]]] = {
    "float": float,
    "decimal": Decimal,
    "date": date.fromisoformat,
    "datetime": datetime.fromisoformat,
    "bytes": base64.b64decode,
}


def key_to_json(value: object) -> Any:  # noqa: ANN401 - JSON
    """Return a key's value as JSON."""
    if value is None or isinstance(value, int | str):
        return value
    if isinstance(value, float):
        return {"float": repr(value)}
    if isinstance(value, Decimal):
        return {"decimal": str(value)}
    if isinstance(value, datetime):
        return {"datetime": value.isoformat()}
    if isinstance(value, date):
        return {"date": value.isoformat()}
    if isinstance(value, bytes | bytearray | memoryview):
        return {"bytes": base64.b64encode(bytes(value)).decode()}
    return str(value)


def key_from_json(stored: Any) -> Any:  # noqa: ANN401 - JSON
    """Return what ``key_to_json`` was given."""
    if not isinstance(stored, dict):
        return stored
    ((kind, text),) = stored.items()
    return _READ[kind](text)
