"""A WAIT ``until`` an instant ends here when it ends on Conductor's own server."""

import time
from typing import Final

import pytest

from conductor_py.model.zone_names import MINUTES_AHEAD
from tests.beside_java.server import Conductor

pytestmark = [
    pytest.mark.thorough(target="versions"),
    pytest.mark.service,
    pytest.mark.xdist_group("beside java"),
    pytest.mark.timeout(900),
]

_REFUSED: Final = 400
_LEAST: Final = 300
_OTHERS: Final = ("UTC", "GMT", "+02:00", "-0330", "GMT+04:00", "GMT-9", "Europe/Berlin")


def _end(server: Conductor, until: str) -> object:
    """The minute in which a WAIT will end; else why there is none."""
    task = {"name": "w", "taskReferenceName": "w", "type": "WAIT"}
    definition = {
        "name": "waits",
        "version": 1,
        "ownerEmail": "a@example.com",
        "tasks": [task | {"inputParameters": {"until": until}}],
    }
    answer = server.start(definition, {})
    if answer.status != 200:
        return answer.status
    (task,) = server.execution(str(answer.body))["tasks"]
    server.ask("DELETE", f"/workflow/{answer.body}")
    if task["status"] != "IN_PROGRESS":
        return task["status"]
    return round((time.time() + task["callbackAfterSeconds"]) / 60)


@pytest.mark.parametrize("day", ["2030-01-15", "2030-07-15"])
def test_a_name_of_a_zone_is_the_distance_that_it_is_there(
    java: Conductor, ours: Conductor, day: str
) -> None:
    differ, taken = {}, 0
    for zone in (*MINUTES_AHEAD, *_OTHERS):
        theirs, mine = (_end(server, f"{day} 12:00 {zone}") for server in (java, ours))
        taken += theirs != _REFUSED
        if theirs not in {mine, _REFUSED}:
            differ[zone] = (theirs, mine)
    assert differ == {}
    assert taken > _LEAST
