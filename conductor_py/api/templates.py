"""The input templates of registered task definitions, for the rules about required inputs.

Asked only for tasks that would otherwise be refused.
"""

from __future__ import annotations

import orjson

from conductor_py.api.facade.definitions import Definitions
from conductor_py.errors import NotFound
from conductor_py.model.json import JsonObject
from conductor_py.wire.task_rules import InputTemplateOf


def registered_templates(definitions: Definitions) -> InputTemplateOf:
    """Make the function that reads one."""

    def input_template_of(name: str) -> JsonObject:
        try:
            found = orjson.loads(definitions.task(name))
        except NotFound:
            return {}
        template: JsonObject = found.get("inputTemplate") or {}
        return template

    return input_template_of
