"""Large payloads: where clients put them and get them from, with no credentials of the store."""

from __future__ import annotations

from conductor_py.errors import InvalidInput, Violation
from conductor_py.ports.payloads import PayloadKind, Payloads

_OPERATIONS = ("READ", "WRITE")


class PayloadLocations:
    """Answers ``externalstoragelocation``."""

    def __init__(self, payloads: Payloads) -> None:
        """Mint URLs through ``payloads``."""
        self._payloads = payloads

    def location(self, operation: str, payload_type: str, path: str) -> tuple[str | None, str]:
        """A signed URL to READ or WRITE one payload, and the path to name it by (``InvalidInput``,
        ``NotFound``).
        """
        verb, kind = operation.upper(), payload_type.upper()
        if verb not in _OPERATIONS:
            raise _bad("operation", operation, _OPERATIONS)
        if kind not in PayloadKind.__members__:
            raise _bad("payloadType", payload_type, tuple(PayloadKind.__members__))
        if verb == "WRITE":
            location = self._payloads.write_location(PayloadKind[kind], path)
        else:
            location = self._payloads.read_location(path)
        return location.uri, location.path


def _bad(name: str, value: str, known: tuple[str, ...]) -> InvalidInput:
    message = f"'{value}' is not one of {', '.join(known)}"
    return InvalidInput(violations=(Violation(path=name, message=message, invalid_value=value),))
