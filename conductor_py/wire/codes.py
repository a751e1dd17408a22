"""Codes on the wire: decimals, because readers that take numbers for doubles change long ones."""

from __future__ import annotations

import re

from conductor_py.errors import InvalidInput, Violation
from conductor_py.model.codes import CodeLayout
from conductor_py.model.json import JsonObject
from conductor_py.wire.fields import Text, Whole, WireSchema


class CodeForm(WireSchema):
    """A code, and what its bits say: when and by which worker it was minted, as which one of its
    millisecond.
    """

    code = Text(required=True)
    time = Whole(required=True)
    worker = Whole(required=True)
    sequence = Whole(required=True)


_CODE = re.compile(r"[1-9][0-9]{0,18}")
_BITS = 63
"""Of the longest layout."""

FORMS: tuple[WireSchema, ...] = (CodeForm(),)
"""The forms of this module, for the published schemas."""


def read_code(text: str, path: str) -> int:
    """Read a code; ``InvalidInput`` at that path. It has one spelling: digits, no zero in front."""
    if not _CODE.fullmatch(text) or int(text) >= 1 << _BITS:
        message = "must be a code: a text of digits, as POST /api/catalog/codes gives them"
        raise InvalidInput(violations=(Violation(path=path, message=message, invalid_value=text),))
    return int(text)


def code_to_json(layout: CodeLayout, code: int) -> JsonObject:
    """Write what a code says; its time in epoch ms."""
    return {
        "code": str(code),
        "time": layout.time_of(code),
        "worker": layout.worker_of(code),
        "sequence": layout.sequence_of(code),
    }
