"""The pages: a shell for each, drawn by scripts of this server from its JSON endpoints.

Nothing comes from another host, nothing is built, and no text of a user is ever markup: templates
escape, scripts write text nodes, and the policy of every answer allows neither inline scripts nor
inline styles. A page asks the engine only whether what it is about exists.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Protocol

from flask import Blueprint, Response, make_response, redirect, render_template, url_for

from conductor_py.errors import ConductorError, InvalidInput, NotFound, StoreUnavailable
from conductor_py.model.json import JsonObject

POLICY = (
    "default-src 'self'; object-src 'none'; base-uri 'none'; form-action 'self';"
    " frame-ancestors 'none'"
)
"""The content security policy of every page."""

_HEADERS: Mapping[str, str] = MappingProxyType(
    {
        "Content-Security-Policy": POLICY,
        "X-Frame-Options": "DENY",
        "Referrer-Policy": "same-origin",
    }
)
_log = logging.getLogger(__name__)
_MAX_SHOWN = 200
"""Characters of a path that an error page repeats."""


class Executions(Protocol):
    """What the pages ask about executions."""

    def status(
        self, execution: str, /, *, include_output: bool, include_variables: bool
    ) -> JsonObject:
        """Read how one stands; ``NotFound``, ``StoreUnavailable``."""


class Engine(Protocol):
    """What the pages need of the engine."""

    @property
    def executions(self) -> Executions:
        """Executions."""

    @property
    def version(self) -> str:
        """The version of this software."""


def create_ui(engine: Engine) -> Blueprint:
    """Make the blueprint of the pages, to be registered without a prefix."""
    ui = Blueprint(
        "ui",
        __name__,
        static_folder="static",
        static_url_path="/ui/static",
        template_folder="templates",
    )
    pages = _Pages(engine)
    routes: tuple[tuple[str, str, Callable[..., Response]], ...] = (
        ("/", "executions", pages.executions),
        ("/execution/<execution>", "execution", pages.execution),
        ("/definitions", "definitions", pages.definitions),
        ("/catalog", "catalog", pages.catalog),
        ("/schedules", "schedules", pages.schedules),
        ("/events", "events", pages.events),
        ("/queues", "queues", pages.queues),
        ("/workers", "workers", pages.workers),
        # Official clients and their examples print these addresses.
        ("/workflowDef/<name>", "workflow_definition", pages.workflow_definition),
        ("/workflowDef/<name>/<version>", "workflow_definition", pages.workflow_definition),
        ("/taskDef/<name>", "task_definition", pages.task_definition),
    )
    for path, endpoint, view in routes:
        ui.add_url_rule(path, endpoint, view)
    ui.register_error_handler(ConductorError, pages.problem)
    ui.after_request(_guarded)
    return ui


class _Pages:
    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    def executions(self) -> Response:
        return self._page("executions.html")

    def execution(self, execution: str) -> Response:
        try:
            self._engine.executions.status(execution, include_output=False, include_variables=False)
        except StoreUnavailable as error:
            # The shell is of use all the same: its script asks again until the store is back.
            answer = self._page("execution.html", status=503, execution=execution)
            answer.headers["Retry-After"] = str(error.retry_after_s)
            return answer
        return self._page("execution.html", execution=execution)

    def definitions(self) -> Response:
        return self._page("definitions.html")

    def workflow_definition(self, name: str, version: str = "") -> Response:
        """Go to the list of definitions, filtered by name; it shows each with all its versions."""
        del version
        return make_response(redirect(url_for(".definitions", name=name)))

    def task_definition(self, name: str) -> Response:
        """Go to the list of task definitions, filtered by name."""
        return make_response(redirect(url_for(".definitions", name=name, _anchor="tasks")))

    def catalog(self) -> Response:
        return self._page("catalog.html")

    def schedules(self) -> Response:
        return self._page("schedules.html")

    def events(self) -> Response:
        return self._page("events.html")

    def queues(self) -> Response:
        return self._page("queues.html")

    def workers(self) -> Response:
        return self._page("workers.html")

    def problem(self, error: ConductorError) -> Response:
        missing = isinstance(error, NotFound | InvalidInput)
        if not missing:
            _log.error("page failed", exc_info=error, extra={"action": "page_failed"})
        return self._page(
            "problem.html",
            status=404 if missing else 500,
            title="No such execution" if missing else "The server failed",
            sentence=error.message[:_MAX_SHOWN] if missing else "Its log says why.",
            missing=missing,
        )

    def _page(self, template: str, *, status: int = 200, **values: object) -> Response:
        page = render_template(template, version=self._engine.version, **values)
        answer = make_response(page, status)
        # What it shows changes all the time; its scripts and styles are checked by their tag.
        answer.headers["Cache-Control"] = "no-store"
        return answer


def _guarded(answer: Response) -> Response:
    for name, value in _HEADERS.items():
        answer.headers[name] = value
    return answer
