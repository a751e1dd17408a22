"""Random executions that have failed are taken up again here as on Conductor's own server."""

import json
import os
import random
import secrets
from collections.abc import Mapping
from typing import Any

import pytest

from tests.beside_java.author import GIVEN, Author
from tests.beside_java.driving import driven
from tests.beside_java.seen import differences, facts, forgetful, newest
from tests.beside_java.server import Conductor, Json

pytestmark = [
    pytest.mark.thorough(target="versions"),
    pytest.mark.service,
    pytest.mark.xdist_group("beside java"),
    pytest.mark.timeout(1800),
]

_MANY = int(os.environ.get("MANY") or 80)
_TURNS = 3


@pytest.mark.parametrize(
    "operation", ["retry", "retry?resumeSubworkflowTasks=true", "restart"], ids=str
)
def test_what_is_taken_up_again_ends_the_same_way(
    java: Conductor, ours: Conductor, operation: str
) -> None:
    """Whatever fails in its first life succeeds in the second. What either server refuses, or does
    otherwise on purpose, goes no further.
    """
    seed = int(os.environ.get("SEED") or secrets.randbelow(2**32))
    author = Author(random.Random(seed))
    left = {number: author.definition() for number in range(_MANY)}
    found: dict[int, object] = {}
    compared = 0
    for _ in range(_TURNS):
        theirs, mine = _second_lives(java, left, operation), _second_lives(ours, left, operation)
        both = sorted(n for n in {*theirs} & {*mine} if not _tells_of_before(theirs[n]))
        compared = max(compared, len(both))
        found = {n: differences(forgetful(theirs[n]), mine[n]) for n in both}
        left = {n: left[n] for n in both if found[n]}
    assert compared > _MANY // 10
    assert {n: (found[n], left[n]) for n in left} == {}, f"SEED={seed}"


def _second_lives(
    server: Conductor, definitions: Mapping[int, Json], operation: str
) -> dict[int, Json]:
    """What became of those that failed and were taken up."""
    ids = {n: _started(server, each) for n, each in definitions.items() if not _reads_itself(each)}
    taken: dict[int, str] = {}
    for number, tree in driven(server, ids).items():
        found = facts(tree)
        if found["status"] != "FAILED" or _is_at_a_script(found):
            continue
        if operation == "restart" and _has_changed_variables(found, definitions[number]):
            continue
        if server.ask("POST", f"/workflow/{ids[number]}/{operation}").status == 204:
            taken[number] = ids[number]
    ended = driven(server, taken, healed=True)
    return {number: newest(facts(tree)) for number, tree in ended.items()}


def _started(server: Conductor, definition: Json) -> str:
    answer = server.start(definition, GIVEN)
    assert answer.status == 200, (answer, definition)
    return str(answer.body)


def _is_at_a_script(found: Json) -> bool:
    """A choice whose script failed: retried, Conductor passes over it, and we evaluate it again."""
    return any(
        (task["type"] in {"SWITCH", "DECISION"} and task["status"] == "FAILED")
        or ("child" in task and _is_at_a_script(task["child"]))
        for task in found["tasks"].values()
    )


def _tells_of_before(theirs: Json) -> bool:
    """Whether it was Conductor's first life that made the second what it is."""
    return any(
        _has_joined_too_early(task)
        or ("child" in task and (_keeps_output(task) or _tells_of_before(task["child"])))
        for task in theirs["tasks"].values()
    )


def _has_joined_too_early(task: Json) -> bool:
    """Conductor's JOIN fails when it looks between the cancellation of a branch and its retry."""
    return (task["type"], task["status"]) == ("JOIN", "FAILED")


def _keeps_output(task: Json) -> bool:
    """A success that went on in its child: beside the child's output, Conductor keeps what is left
    of the failure's, and whoever reads it is given that, too.
    """
    own = {*task["output"]} - {*(task["child"]["output"] or {})}
    return task["status"] == "COMPLETED" and bool(own)


def _has_changed_variables(found: Json, definition: Json) -> bool:
    """Restarted, Conductor keeps the variables of before, and we begin with the definition's."""
    return any(
        found["variables"].get(name) != value
        for name, value in definition.get("variables", {}).items()
    )


def _reads_itself(definition: Any, *, inside: bool = False) -> bool:
    """Whether a child, or a task in one, is given something of the attempt before it: another child
    has none.
    """
    if isinstance(definition, list):
        return any(_reads_itself(each, inside=inside) for each in definition)
    if not isinstance(definition, dict):
        return False
    own = f"${{{definition.get('taskReferenceName')}."
    inside = inside or definition.get("type") == "SUB_WORKFLOW"
    mine = inside and own in json.dumps(definition.get("inputParameters"))
    return mine or any(_reads_itself(each, inside=inside) for each in definition.values())
