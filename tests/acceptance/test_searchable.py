"""What a task has become is found soon, while its execution runs."""

from urllib.parse import quote

import pytest

from tests.acceptance.asking import ask
from tests.acceptance.deployment import Api, Deployment
from tests.acceptance.stories import finish, start, take
from tests.waiting import until

pytestmark = [pytest.mark.acceptance, pytest.mark.thorough(target="timing")]

_SOON_S = 2.0


def _found(server: Api, workflow: str, status: str) -> bool:
    query = quote(f"workflowId = '{workflow}' AND status = '{status}'")
    hits = ask(server, "GET", f"/api/tasks/search?query={query}").body["totalHits"]
    owners = ask(server, "GET", f"/api/workflow/search-by-tasks?query={query}").body["totalHits"]
    return hits == owners == 1


def _tell_five(server: Api) -> None:
    for number in range(5):
        workflow = start(server.client, number)
        until(lambda: _found(server, workflow, "SCHEDULED"), _SOON_S, what="scheduled")  # noqa: B023
        (task,) = take(server.client, timeout_ms=5000)
        until(lambda: _found(server, workflow, "IN_PROGRESS"), _SOON_S, what="taken")  # noqa: B023
        finish(server.client, task)
        until(lambda: _found(server, workflow, "COMPLETED"), _SOON_S, what="completed")  # noqa: B023


def _tell_an_inbox(server: Api) -> None:
    """A HUMAN task is in the inbox while it waits for somebody, and only then."""
    asks = {"name": "ask", "taskReferenceName": "ask", "type": "HUMAN"}
    definition = {"name": "approval", "version": 1, "tasks": [asks]}
    body = {"name": "approval", "version": 1, "workflowDef": definition}
    workflow = ask(server, "POST", "/api/workflow", body).body
    query = quote("taskType = 'HUMAN' AND status = 'IN_PROGRESS'")

    def waiting() -> list[str]:
        hits = ask(server, "GET", f"/api/tasks/search?query={query}").body["results"]
        return [hit["workflowId"] for hit in hits]

    until(lambda: waiting() == [workflow], _SOON_S, what="in the inbox")
    ask(server, "POST", f"/api/tasks/{workflow}/ask/COMPLETED", {"approved": True})
    until(lambda: waiting() == [], _SOON_S, what="out of the inbox")


def test_what_a_task_has_become_is_found_within_two_seconds(deployment: Deployment) -> None:
    _tell_five(deployment.server())


def test_what_waits_for_somebody_is_in_the_inbox_within_two_seconds(
    deployment: Deployment,
) -> None:
    _tell_an_inbox(deployment.server())


@pytest.mark.service
def test_what_a_task_has_become_is_found_within_two_seconds_in_elasticsearch(
    deployment: Deployment, elasticsearch_url: str
) -> None:
    settings = {
        "conductor.indexing.type": "elasticsearch",
        "conductor.elasticsearch.url": elasticsearch_url,
        "conductor.elasticsearch.indexPrefix": "searchable",
    }
    options = [word for key, value in settings.items() for word in ("--set", f"{key}={value}")]
    server = deployment.server(*options)
    _tell_five(server)
    _tell_an_inbox(server)
