"""A WAIT ``until`` an instant ends here when it ends on Conductor's own server."""

from typing import Final

import pytest

from conductor_py.model.zone_names import MINUTES_AHEAD
from tests.beside_java.server import Conductor, Json

pytestmark = [
    pytest.mark.thorough(target="versions"),
    pytest.mark.service,
    pytest.mark.xdist_group("beside java"),
    pytest.mark.timeout(900),
]

_OTHERS: Final = ("UTC", "GMT", "+02:00", "-0330", "GMT+04:00", "GMT-9", "Europe/Berlin")
_MINUTE_MS: Final = 60_000


def _definition(zones: list[str], day: str) -> Json:
    waits = [
        {"name": "w", "taskReferenceName": f"w{number}", "type": "WAIT"}
        | {"inputParameters": {"until": f"{day} 12:00 {zone}"}}
        for number, zone in enumerate(zones)
    ]
    refs = [each["taskReferenceName"] for each in waits]
    fork = {"name": "f", "taskReferenceName": "f", "type": "FORK_JOIN"}
    join = {"name": "j", "taskReferenceName": "j", "type": "JOIN", "joinOn": refs}
    return {
        "name": "waits",
        "version": 1,
        "ownerEmail": "a@example.com",
        "tasks": [fork | {"forkTasks": [[each] for each in waits]}, join],
    }


def _ends(server: Conductor, zones: list[str], day: str) -> dict[str, object]:
    """The minute in which each of these WAITs will end, or that its task is of another status."""
    answer = server.start(_definition(zones, day), {})
    assert answer.status == 200, answer
    found: dict[str, object] = {}
    for task in server.execution(str(answer.body))["tasks"]:
        if task["taskType"] != "WAIT":
            continue
        zone = zones[int(task["referenceTaskName"][1:])]
        at_ms = task["updateTime"] + task["callbackAfterSeconds"] * 1_000
        waits = task["status"] == "IN_PROGRESS"
        found[zone] = round(at_ms / _MINUTE_MS) if waits else task["status"]
    server.ask("DELETE", f"/workflow/{answer.body}")
    return found


@pytest.mark.parametrize("day", ["2030-01-15", "2030-07-15"])
def test_a_name_of_a_zone_is_the_distance_that_it_is_there(
    java: Conductor, ours: Conductor, day: str
) -> None:
    zones = [*MINUTES_AHEAD, *_OTHERS]
    theirs, mine = {}, {}
    for at in range(0, len(zones), 100):
        theirs |= _ends(java, zones[at : at + 100], day)
        mine |= _ends(ours, zones[at : at + 100], day)
    assert len(mine) == len(zones)
    assert {
        zone: (theirs.get(zone), mine[zone]) for zone in zones if theirs.get(zone) != mine[zone]
    } == {}
