"""The Flask application: all blueprints, one place for errors and limits.

Nothing here knows settings or stores; whoever wires the process hands in what is needed. Every
answer below ``/api`` is JSON, or the text that Conductor answers, never a page.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import Any

from flask import Flask, Response

from conductor_py.api.administration import administration, result_queues
from conductor_py.api.admission import Admission
from conductor_py.api.answers import Answer, response_of
from conductor_py.api.boundary import Boundary, bounded
from conductor_py.api.bulk import bulk
from conductor_py.api.bundles import bundles
from conductor_py.api.catalog import catalog
from conductor_py.api.checkpoints import checkpoints, long_tasks
from conductor_py.api.codes import codes
from conductor_py.api.draining import drained
from conductor_py.api.errors import Errors, install
from conductor_py.api.events import events
from conductor_py.api.facade import EngineFacade
from conductor_py.api.facade.files import Files
from conductor_py.api.files import files as files_of_executions
from conductor_py.api.front import Front
from conductor_py.api.gate import admitted
from conductor_py.api.held import held_by
from conductor_py.api.hot import HotPath, Timed
from conductor_py.api.lookups import lookups
from conductor_py.api.messages import messages
from conductor_py.api.metadata import metadata
from conductor_py.api.oversight import oversight, quarantine
from conductor_py.api.payloads import payloads
from conductor_py.api.pipelines import pipelines
from conductor_py.api.queues import queues
from conductor_py.api.recovery import recovery
from conductor_py.api.routing import ReadingRule
from conductor_py.api.schedules import schedules
from conductor_py.api.schemas import schemas
from conductor_py.api.steering import steering
from conductor_py.api.synchronous import executing, signals
from conductor_py.api.system import system
from conductor_py.api.tags import tags
from conductor_py.api.tasks import tasks
from conductor_py.api.templates import registered_templates
from conductor_py.api.timing import time_requests
from conductor_py.api.trials import trials
from conductor_py.api.values import environment as environment_values
from conductor_py.api.values import secrets
from conductor_py.api.workers import workers
from conductor_py.api.workflows import workflows
from conductor_py.model.json_bounds import MAX_VALUES
from conductor_py.ports.payloads import ServedPayloads
from conductor_py.wire.body import MAX_DEPTH
from conductor_py.wire.definition_reader import DefinitionReader
from conductor_py.wire.validation import CheckExpressions, CheckScript, Limits, Rules

DEFAULT_MAX_BODY_BYTES = 12 * 1024 * 1024
"""A body a little above the hard limit of an input, so that the engine says what is too large."""

_DRAINED_BODIES = 4
"""What is read of a body that nobody takes, in largest bodies; beyond it the connection ends."""


class _Application(Flask):
    """Flask, whose views answer with what the hot path can send, too."""

    def make_response(self, rv: Any) -> Response:  # noqa: ANN401 - whatever a view answers
        """Make a response of what a view has answered."""
        return response_of(rv) if isinstance(rv, Answer) else super().make_response(rv)


def create_app(
    engine: EngineFacade,
    *,
    served_payloads: ServedPayloads | None = None,
    files: Files | None = None,
    public_url: str = "",
    check_expressions: CheckExpressions | None = None,
    check_script: CheckScript | None = None,
    stop: threading.Event | None = None,
    instance: str = "unknown",
    max_body_bytes: int = DEFAULT_MAX_BODY_BYTES,
    max_depth: int = MAX_DEPTH,
    max_values: int = MAX_VALUES,
    max_poll_count: int = 1_000,
    max_poll_ms: int = 5_000,
    max_results: int = 5_000,
    max_wait_ms: int = 60_000,
    max_tasks: int = 10_000,
    owner_email_mandatory: bool = False,
    restrict_names: bool = False,
    metrics: Callable[[], bytes] | None = None,
    timed: Timed | None = None,
    config: Mapping[str, str] | None = None,
    time_zone: str = "UTC",
    admission: Admission | None = None,
    boundary: Boundary | None = None,
) -> Flask:
    """Make the application.

    ``served_payloads`` are those whose URLs lead to this server (``<base>/api/payloads``),
    ``files`` are those of executions, at ``public_url`` if it says so.
    ``check_expressions`` finds malformed ``${…}`` in definitions, ``check_script`` says why one of
    their programs does not parse.
    ``stop`` ends long polls when the process is to end, ``instance`` names the server in errors.
    ``max_body_bytes`` bounds every body but uploads, ``max_depth`` the nesting of JSON,
    ``max_values`` how much there is of it, ``max_poll_count`` and ``max_poll_ms`` what a poll takes
    and how long it waits, ``max_wait_ms`` how long a call waits for an execution, ``max_results``
    a page of a search, ``max_tasks`` the size of definitions.
    ``metrics`` writes them in Prometheus's format, ``timed`` hears of each request,
    ``config`` are the settings to show.
    ``time_zone`` is that of schedules which name none. ``admission`` bounds what is taken in at
    once, ``boundary`` says what this server is called and whose pages may ask it.
    """
    rules = Rules(
        limits=Limits(max_tasks=max_tasks),
        check_expressions=check_expressions or (lambda _: ()),
        check_script=check_script or (lambda _: None),
        input_template_of=registered_templates(engine.definitions),
        owner_email_mandatory=owner_email_mandatory,
        restrict_names=restrict_names,
    )
    front = Front(
        engine=engine,
        definitions=DefinitionReader(rules),
        max_depth=max_depth,
        max_values=max_values,
        max_poll_count=max_poll_count,
        max_poll_ms=max_poll_ms,
        max_results=max_results,
        max_wait_ms=max_wait_ms,
        time_zone=time_zone,
        stop=stop,
        instance=instance,
        admission=admission,
    )
    app = _Application("conductor_py.api", static_folder=None)
    app.config["MAX_CONTENT_LENGTH"] = max_body_bytes
    app.url_map.merge_slashes = False
    app.url_rule_class = ReadingRule
    errors = Errors(instance)
    install(app, errors)
    if timed is not None:
        time_requests(app, timed)
    for noun in (workflows, tasks, queues, metadata, catalog, bundles):
        app.register_blueprint(noun(front))
    for acting in (steering, recovery, bulk, executing, signals):
        app.register_blueprint(acting(front))
    for noun in (lookups, trials, events, result_queues, messages, codes):
        app.register_blueprint(noun(front))
    for noun in (schedules, workers, oversight, quarantine, checkpoints, long_tasks):
        app.register_blueprint(noun(front))
    for noun in (schemas, tags, secrets, environment_values, pipelines):
        app.register_blueprint(noun(front))
    app.register_blueprint(administration(front, config))
    app.register_blueprint(system(front, metrics))
    if served_payloads is not None:
        app.register_blueprint(payloads(served_payloads))
    if files is not None:
        app.register_blueprint(files_of_executions(front, files, public_url))
    hot = HotPath(app, errors, limit=max_body_bytes, timed=timed)
    whole = drained(app.wsgi_app, limit=max_body_bytes, most=_DRAINED_BODIES * max_body_bytes)
    whole = hot.before(whole)
    if admission is not None:
        whole = admitted(whole, admission, instance=instance, held=held_by(app))
    whole = bounded(whole, boundary or Boundary(), instance=instance)
    app.wsgi_app = whole  # type: ignore[assignment,method-assign]  # Flask's own way to wrap it
    return app
