"""Codes for what an editor is about to save in the catalog."""

from __future__ import annotations

from flask import Blueprint, Response, request

from conductor_py.api.answers import json_answer
from conductor_py.api.front import Front, blueprint
from conductor_py.model.codes import MOST_CODES
from conductor_py.wire.codes import code_to_json, read_code
from conductor_py.wire.parameters import number


def codes(front: Front) -> Blueprint:
    """Make the endpoints below ``/api/catalog/codes``."""
    minter = front.engine.codes

    def mint() -> Response:
        count = number(request.args, "count", 1, least=1, most=MOST_CODES)
        return json_answer([str(code) for code in minter.codes(count)])

    def read(code: str) -> Response:
        return json_answer(code_to_json(minter.layout, read_code(minter.layout, code)))

    return blueprint("codes", "/api/catalog/codes", (("POST", "", mint), ("GET", "/<code>", read)))
