"""Codes for what an editor is about to save in the catalog."""

from __future__ import annotations

from flask import Blueprint, request

from conductor_py.api.answers import Answer, json_answer
from conductor_py.api.front import Front, blueprint
from conductor_py.model.codes import MOST_CODES
from conductor_py.wire.codes import code_to_json
from conductor_py.wire.parameters import number, wrong_segment


def codes(front: Front) -> Blueprint:
    """Make the endpoints below ``/api/catalog/codes``."""
    minter = front.engine.codes

    def mint() -> Answer:
        count = number(request.args, "count", 1, least=1, most=MOST_CODES)
        return json_answer([str(code) for code in minter.codes(count)])

    def read(code: str) -> Answer:
        layout = minter.layout
        found = layout.parse(code)
        if found is None:
            message = f"must be a decimal of at most {layout.bits} bits"
            raise wrong_segment("code", message, code)
        return json_answer(code_to_json(layout, found))

    return blueprint("codes", "/api/catalog/codes", (("POST", "", mint), ("GET", "/<code>", read)))
