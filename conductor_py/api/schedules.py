"""Schedules: workflows started by the clock."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from flask import Blueprint, request

from conductor_py.api.answers import Answer, empty, json_answer, text
from conductor_py.api.documents import Documents
from conductor_py.api.front import Front, blueprint
from conductor_py.model.json import JsonObject
from conductor_py.wire.backfills import lanes_shown, read_backfill
from conductor_py.wire.parameters import flag, number
from conductor_py.wire.parameters import text as text_parameter
from conductor_py.wire.schedules import (
    preview_of,
    read_names,
    read_run_query,
    read_run_sort,
    read_schedule,
    read_tags,
    schedule_filter,
)
from conductor_py.wire.summaries import search_result


def schedules(front: Front) -> Blueprint:
    """Make the endpoints below ``/api/scheduler``."""
    one, all_of_them = _Schedules(front), _Scheduler(front)
    return blueprint(
        "schedules",
        "/api/scheduler",
        (
            ("POST", "/schedules", one.save),
            ("GET", "/schedules", one.all),
            ("GET", "/schedules/search", one.search),
            ("GET", "/schedules/<name>", one.read),
            ("DELETE", "/schedules/<name>", one.delete),
            ("PUT", "/schedules/<name>/pause", one.pause),
            ("PUT", "/schedules/<name>/resume", one.resume),
            # The Python SDK before 2.0 asks by GET.
            ("GET", "/schedules/<name>/pause", one.pause),
            ("GET", "/schedules/<name>/resume", one.resume),
            ("POST", "/schedules/<name>/run", one.run),
            ("GET", "/schedules/<name>/tags", one.tags),
            ("PUT", "/schedules/<name>/tags", one.add_tags),
            ("DELETE", "/schedules/<name>/tags", one.remove_tags),
            ("POST", "/backfills", all_of_them.backfill),
            ("GET", "/nextFewSchedules", all_of_them.preview),
            ("GET", "/search/executions", all_of_them.runs),
            ("GET", "/admin/requeue", all_of_them.requeue),
            ("GET", "/admin/pause", all_of_them.halt),
            ("GET", "/admin/resume", all_of_them.go_on),
            ("PUT", "/bulk/pause", all_of_them.pause),
            ("PUT", "/bulk/resume", all_of_them.resume),
        ),
    )


class _Schedules:
    def __init__(self, front: Front) -> None:
        self._front = front
        self._schedules = front.engine.schedules

    def save(self) -> Answer:
        schedule = read_schedule(
            self._front.body(), self._front.definitions, default_zone=self._front.time_zone
        )
        return json_answer(self._schedules.save(schedule))

    def all(self) -> Answer:
        workflow = text_parameter(request.args, "workflowName")
        return json_answer(list(self._schedules.all(workflow, Documents().add)))

    def search(self) -> Answer:
        start, size = _page(self._front.max_results)
        total, found = self._schedules.search(
            schedule_filter(request.args), Documents().add, start=start, size=size
        )
        return json_answer(search_result(total, found))

    def read(self, name: str) -> Answer:
        return json_answer(self._schedules.document(name))

    def delete(self, name: str) -> Answer:
        self._schedules.delete(name)
        return empty()

    def pause(self, name: str) -> Answer:
        self._schedules.pause(name, text_parameter(request.args, "reason") or None)
        return empty()

    def resume(self, name: str) -> Answer:
        self._schedules.resume(name, catch_up=flag(request.args, "catchup"))
        return empty()

    def run(self, name: str) -> Answer:
        return text(self._schedules.run(name))

    def tags(self, name: str) -> Answer:
        return json_answer(self._schedules.document(name).get("tags", []))

    def add_tags(self, name: str) -> Answer:
        self._schedules.tag(name, read_tags(self._front.body()), remove=False)
        return empty()

    def remove_tags(self, name: str) -> Answer:
        self._schedules.tag(name, read_tags(self._front.body()), remove=True)
        return empty()


class _Scheduler:
    def __init__(self, front: Front) -> None:
        self._front = front
        self._schedules = front.engine.schedules
        self._backfills = front.engine.backfills

    def backfill(self) -> Answer:
        backfill = read_backfill(
            self._front.body(),
            self._front.definitions,
            self._schedules.get,
            now_ms=self._backfills.now_ms(),
            default_zone=self._front.time_zone,
        )
        if flag(request.args, "dryRun"):
            return json_answer(lanes_shown(self._backfills.plan(backfill)))
        started, lanes = self._backfills.start(backfill)
        return json_answer({"workflowId": started, **lanes_shown(lanes)})

    def preview(self) -> Answer:
        cron, start, end, count = preview_of(request.args, self._front.time_zone)
        found = self._schedules.preview(cron, start_ms=start, end_ms=end, count=count)
        return json_answer(list(found))

    def runs(self) -> Answer:
        wanted = read_run_query(text_parameter(request.args, "query"))
        start, size = _page(self._front.max_results)
        sort = read_run_sort(request.args.getlist("sort"))
        found = self._schedules.runs(wanted, start=start, size=size, sort=sort)
        return json_answer(search_result(found.total_hits, found.results))

    def requeue(self) -> Answer:
        return json_answer(self._schedules.requeue())

    def halt(self) -> Answer:
        self._schedules.halt(halted=True)
        return json_answer({"status": "done"})

    def go_on(self) -> Answer:
        self._schedules.halt(halted=False)
        return json_answer({"status": "done"})

    def pause(self) -> Answer:
        return self._bulk(self._schedules.pause_all)

    def resume(self) -> Answer:
        return self._bulk(self._schedules.resume_all)

    def _bulk(self, verb: Callable[[Sequence[str]], JsonObject]) -> Answer:
        return json_answer(verb(read_names(self._front.body())))


def _page(most: int) -> tuple[int, int]:
    start = number(request.args, "start", 0, least=0)
    return start, number(request.args, "size", min(100, most), least=0, most=most)
