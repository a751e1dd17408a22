"""Templates resolve here to what they resolve to on Conductor's own server."""

import json
import os
import random
import secrets
from typing import Any

import pytest

from conductor_py.decider.expressions.expressions import check
from tests.beside_java.expressions import GIVEN, Writer
from tests.beside_java.server import Conductor, Json

pytestmark = [
    pytest.mark.thorough(target="versions"),
    pytest.mark.service,
    pytest.mark.xdist_group("beside java"),
    pytest.mark.timeout(900),
]

_MANY = 3_000


def _definition(template: Any) -> Json:
    script = {"evaluatorType": "javascript", "expression": "$.given", "given": GIVEN}
    return {
        "name": "templates",
        "version": 1,
        "ownerEmail": "a@example.com",
        "variables": GIVEN,
        "tasks": [
            {"name": "i", "taskReferenceName": "before", "type": "INLINE"}
            | {"inputParameters": script},
            {"name": "h", "taskReferenceName": "it", "type": "HUMAN"}
            | {"inputParameters": {"v": template}},
            {"name": "n", "taskReferenceName": "later", "type": "NOOP"},
        ],
    }


def resolved(server: Conductor, template: Any) -> Any:
    """What the template became, or that the server refused it or failed the task."""
    answer = server.start(_definition(template), GIVEN, correlationId="c")
    if answer.status != 200:
        return f"refused: {answer.status}"
    execution = server.execution(str(answer.body))
    found = [each for each in execution["tasks"] if each["referenceTaskName"] == "it"]
    server.ask("DELETE", f"/workflow/{answer.body}")
    if not found or found[0]["status"] != "IN_PROGRESS":
        return f"failed: {execution.get('reasonForIncompletion')}"
    return found[0]["inputData"].get("v", "absent")


def test_templates_become_the_same(java: Conductor, ours: Conductor) -> None:
    seed = int(os.environ.get("SEED") or secrets.randbelow(2**32))
    writer = Writer(random.Random(seed))
    differ = []
    for _ in range(_MANY):
        template = writer.template()
        if check(template):
            continue  # what is malformed is refused here, and null there
        theirs, mine = resolved(java, template), resolved(ours, template)
        if not _is_known(theirs, mine):
            differ.append((template, theirs, mine))
    assert differ == [], seed


def _is_known(theirs: Any, mine: Any) -> bool:
    """Whether they are the same, or different as the page on compatibility says.

    That server takes whatever stands in front of the first dot for the name of a task, and refuses
    what is none; its maps have no order, so that neither their texts nor lists of their values
    have one.
    """
    if isinstance(theirs, str) and isinstance(mine, str):
        return theirs.startswith("refused") or sorted(theirs) == sorted(mine)
    if isinstance(theirs, dict) and isinstance(mine, dict) and theirs.keys() == mine.keys():
        # Of a task that is read whole, ids and times are drawn.
        return "taskId" in mine or all(_is_known(theirs[key], mine[key]) for key in theirs)
    if isinstance(theirs, list) and isinstance(mine, list) and len(theirs) == len(mine):
        return all(map(_is_known, _in_order(theirs), _in_order(mine)))
    same = type(theirs) is type(mine) and theirs == mine
    return same or str(theirs).startswith("refused")


def _in_order(values: list[Any]) -> list[Any]:
    return sorted(values, key=lambda value: sorted(json.dumps(value)))
