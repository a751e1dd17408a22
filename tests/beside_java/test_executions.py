"""Random executions go here as they go on Conductor's own server."""

import os
import random
import secrets
from collections.abc import Mapping

import pytest

from tests.beside_java.author import GIVEN, Author
from tests.beside_java.driving import driven
from tests.beside_java.seen import differences, facts
from tests.beside_java.server import Conductor, Json

pytestmark = [
    pytest.mark.thorough(target="versions"),
    pytest.mark.service,
    pytest.mark.xdist_group("beside java"),
    pytest.mark.timeout(1800),
]

_MANY = int(os.environ.get("MANY") or 200)
#: How often one is driven that differs: Conductor's JOIN, its DO_WHILE and two that end the
#: execution at once depend on the moment.
_TURNS = 5


def test_executions_go_the_same_way(java: Conductor, ours: Conductor) -> None:
    seed = int(os.environ.get("SEED") or secrets.randbelow(2**32))
    author = Author(random.Random(seed))
    left = {number: author.definition() for number in range(_MANY)}
    found: dict[int, object] = {}
    for _ in range(_TURNS):
        theirs, mine = _outcomes(java, left), _outcomes(ours, left)
        found = {n: differences(theirs[n], mine[n]) for n in left}
        left = {number: left[number] for number in left if found[number]}
    told = {number: (found[number], left[number]) for number in left}
    assert told == {}, f"SEED={seed}"


def _outcomes(server: Conductor, definitions: Mapping[int, Json]) -> dict[int, Json]:
    ids: dict[int, str] = {}
    for number, definition in definitions.items():
        answer = server.start(definition, GIVEN)
        assert answer.status == 200, (answer, definition)
        ids[number] = str(answer.body)
    return {number: facts(tree) for number, tree in driven(server, ids).items()}
