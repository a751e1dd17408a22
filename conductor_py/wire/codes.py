"""Codes on the wire: decimals, because readers that take numbers for doubles change long ones."""

from __future__ import annotations

from conductor_py.model.codes import CodeLayout
from conductor_py.model.json import JsonObject
from conductor_py.wire.fields import Text, Whole, WireSchema
from conductor_py.wire.parameters import wrong_segment


class CodeForm(WireSchema):
    """A code, and what its bits say: when and by which worker it was minted, as which one of its
    millisecond.
    """

    code = Text(required=True)
    time = Whole(required=True)
    worker = Whole(required=True)
    sequence = Whole(required=True)


FORMS: tuple[WireSchema, ...] = (CodeForm(),)
"""The forms of this module, for the published schemas."""


def read_code(layout: CodeLayout, text: str) -> int:
    """Read a code out of a path; ``InvalidInput`` for what is none of this layout."""
    code = layout.parse(text)
    if code is None:
        raise wrong_segment("code", f"must be a decimal of at most {layout.bits} bits", text)
    return code


def code_to_json(layout: CodeLayout, code: int) -> JsonObject:
    """Write what a code says; its time in epoch ms."""
    return {
        "code": str(code),
        "time": layout.time_of(code),
        "worker": layout.worker_of(code),
        "sequence": layout.sequence_of(code),
    }
