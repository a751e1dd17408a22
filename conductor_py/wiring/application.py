"""The HTTP front of an engine, and its metrics."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from conductor_py.config import Settings
from conductor_py.config.shown import shown
from conductor_py.engine import Engine
from conductor_py.errors import ConfigurationError
from conductor_py.model.zoned_time import zone_of
from conductor_py.wiring.payloads import file_payloads

if TYPE_CHECKING:
    from flask import Flask

    from conductor_py.api.admission import Admission
    from conductor_py.api.metrics import Metrics

#: So many may wait for their turn even where there are few threads.
_QUEUE: Final = 8
_NOT_FOR_POLLS: Final = 16


def build_admission(settings: Settings) -> Admission:
    """Make what bounds the requests that an API process takes in."""
    from conductor_py.api.admission import Admission
    from conductor_py.wire.outside import PLACE

    server = settings.server
    threads = server.blocking_threads
    return Admission(
        threads=threads + _QUEUE,
        working=min(server.working, threads),
        resting=max(threads - _NOT_FOR_POLLS, threads // 2),
        wait_s=server.turn_wait_ms / 1000,
        reading=server.reading,
        piece_s=server.piece_ms / 1000,
        heavy=PLACE,
    )


def build_metrics(settings: Settings) -> Metrics | None:
    """Make the metrics of an API process, unless they are switched off."""
    if not settings.server.metrics:
        return None
    from conductor_py.api.metrics import Metrics

    return Metrics()


def build_application(
    settings: Settings,
    engine: Engine,
    *,
    stop: threading.Event,
    instance: str,
    metrics: Metrics | None = None,
    admission: Admission | None = None,
) -> Flask:
    """Build the HTTP front of an engine.

    ``stop`` ends long polls, ``instance`` is in errors, ``metrics`` are served, ``admission``
    bounds what is taken in.
    """
    from conductor_py.api.app import create_app
    from conductor_py.api.boundary import Boundary
    from conductor_py.decider.expressions.expressions import check

    limits = settings.limits
    served = file_payloads(settings) if settings.payload_storage.type == "files" else None
    application = create_app(
        engine,
        served_payloads=served,
        files=engine.files,
        public_url=settings.server.public_url,
        check_expressions=check,
        check_script=engine.check_script,
        stop=stop,
        instance=instance,
        max_body_bytes=settings.server.body_bytes,
        max_depth=limits.json_depth,
        max_values=limits.json_values,
        max_poll_count=limits.poll_tasks,
        max_poll_ms=settings.server.long_poll_limit_ms,
        max_results=limits.search_results,
        max_wait_ms=settings.server.wait_limit_ms,
        max_tasks=limits.tasks_per_definition,
        owner_email_mandatory=settings.app.owner_email_mandatory,
        restrict_names=settings.app.validate_names,
        metrics=metrics.write if metrics is not None else None,
        timed=metrics.timed if metrics is not None else None,
        config=shown(settings),
        time_zone=_time_zone(settings),
        admission=admission,
        boundary=Boundary(
            bound=settings.server.host,
            hosts=(*settings.server.allowed_hosts, *_named(settings)),
            origins=settings.server.allowed_origins,
        ),
    )
    if metrics is not None:
        show_engine(metrics, engine)
        if admission is not None:
            metrics.show_requests(admission.counts)
    if settings.server.ui:
        from conductor_py.ui import create_ui

        application.register_blueprint(create_ui(engine))
    return application


def show_engine(metrics: Metrics, engine: Engine) -> None:
    """Ask an engine at every scrape for what stands in its store."""
    metrics.show_queues(lambda: engine.tasks.queue_sizes(None))
    metrics.show_schedules(engine.schedules.counts)
    metrics.show_events(engine.events.counts)
    metrics.show_oversight(
        engine.auditor.last,
        engine.quarantine.count,
        lambda: len(engine.quarantine.damaged()),
    )


def _named(settings: Settings) -> Iterator[str]:
    """Yield the hosts of the URLs that are handed out."""
    for url in (settings.server.public_url, settings.file_storage.base_url):
        if name := urlsplit(url).hostname:
            yield name


def _time_zone(settings: Settings) -> str:
    try:
        zone_of(settings.scheduler.time_zone)
    except ValueError as unknown:
        raise ConfigurationError(f"conductor.scheduler.schedulerTimeZone: {unknown}") from unknown
    return settings.scheduler.time_zone
