"""The client's calls about schedules: save, read, pause, resume, run, preview.

Schedules travel as the JSON objects that the server documents; nothing here knows their fields.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from conductor_py.sdk.document import encode
from conductor_py.sdk.errors import UnexpectedAnswer
from conductor_py.sdk.server import object_of, objects_of, text_of, value_of

if TYPE_CHECKING:
    from conductor_py.model.json import JsonObject
    from conductor_py.sdk.server import Server


class ScheduleCalls:
    """Calls below ``/scheduler``."""

    _server: Server

    def save_schedule(self, schedule: JsonObject) -> JsonObject:
        """Create or replace a schedule and return it with its next run; raises
        ``InvalidInput``.
        """
        body = encode(schedule)
        answer = self._server.call("POST", "scheduler", "schedules", body=body, resend=True)
        return object_of(answer)

    def get_schedule(self, name: str) -> JsonObject:
        """Return one schedule; raises ``NotFound``."""
        return object_of(self._server.call("GET", "scheduler", "schedules", name, resend=True))

    def list_schedules(self, workflow_name: str | None = None) -> list[JsonObject]:
        """Return the schedules of a workflow, or all."""
        query = {"workflowName": workflow_name}
        answer = self._server.call("GET", "scheduler", "schedules", query=query, resend=True)
        return objects_of(answer)

    def delete_schedule(self, name: str) -> None:
        """Remove a schedule with its records; nothing happens when there is none."""
        self._server.call("DELETE", "scheduler", "schedules", name, resend=True)

    def pause_schedule(self, name: str, *, reason: str | None = None) -> None:
        """Let a schedule wait; raises ``NotFound``."""
        self._server.call(
            "PUT", "scheduler", "schedules", name, "pause", query={"reason": reason}, resend=True
        )

    def resume_schedule(self, name: str, *, catch_up: bool = False) -> None:
        """Let a paused schedule go on from now, or with ``catch_up`` from where it was paused;
        raises ``NotFound`` also when it is not paused.
        """
        self._server.call(
            "PUT",
            *("scheduler", "schedules", name, "resume"),
            query={"catchup": catch_up or None},
            resend=False,
        )

    def run_schedule(self, name: str) -> str:
        """Start what a schedule says now and return the execution's id."""
        answer = self._server.call("POST", "scheduler", "schedules", name, "run", resend=False)
        return text_of(answer)

    def backfill(self, backfill: JsonObject, *, dry_run: bool = False) -> JsonObject:
        """Run a workflow for business times that have passed, such as
        ``{"scheduleName": "nightly", "from": "2026-03-01", "to": "2026-03-31", "lanes": 4}``.

        Answers ``workflowId``, the ``count`` of runs, and the business times (epoch ms) of each of
        the ``lanes``; with ``dry_run`` nothing is started. Raises ``InvalidInput``, ``NotFound``.
        """
        answer = self._server.call(
            "POST",
            *("scheduler", "backfills"),
            query={"dryRun": dry_run or None},
            body=encode(backfill),
            resend=dry_run or bool(backfill.get("idempotencyKey")),
        )
        return object_of(answer)

    def next_schedule_times(
        self,
        cron_expression: str,
        *,
        zone_id: str | None = None,
        limit: int = 5,
        start_ms: int | None = None,
    ) -> list[int]:
        """Return the next instants (epoch ms) of an expression, at most five, from ``start_ms`` on
        (itself counts) or from now.
        """
        query = {
            "cronExpression": cron_expression,
            "zoneId": zone_id,
            "limit": limit,
            "scheduleStartTime": start_ms,
        }
        answer = self._server.call("GET", "scheduler", "nextFewSchedules", query=query, resend=True)
        found = value_of(answer)
        if isinstance(found, list) and all(isinstance(instant, int) for instant in found):
            return found
        raise UnexpectedAnswer("the server answered no list of instants", status=answer.status)

    def search_schedule_runs(
        self, query: str = "", *, start: int = 0, size: int = 100
    ) -> JsonObject:
        """Return a page of records of firings: ``totalHits`` and ``results``, newest first."""
        answer = self._server.call(
            "GET",
            *("scheduler", "search", "executions"),
            query={"query": query, "start": start, "size": size},
            resend=True,
        )
        return object_of(answer)
