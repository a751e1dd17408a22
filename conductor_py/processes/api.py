"""The API process: granian with worker processes that each hold an engine.

The parent accepts signals and keeps the workers; a worker answers requests on threads, enough of
them for the long polls. At SIGTERM a worker takes no more connections, ends its long polls and lets
the rest finish.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, Final

from conductor_py.config import Settings, environment_of, load
from conductor_py.engine import Engine
from conductor_py.engine.sweeper import run_ticks
from conductor_py.processes.identity import new_name
from conductor_py.processes.listening import await_port
from conductor_py.processes.logs import configure_logs
from conductor_py.processes.stopping import end_with_parent, stop_on_signals
from conductor_py.wiring import (
    build_application,
    build_engine,
    build_metrics,
    check_redis,
    release_shards,
)

_log = logging.getLogger(__name__)

_RESPAWN_S: Final = 0.5


def run_api(settings: Settings, *, server: str | None = None) -> int:
    """Serve HTTP until a stop signal; ``server`` names the server that this process is part of."""
    from granian.constants import Interfaces
    from granian.log import LogLevels
    from granian.server import Server

    name = server or new_name()
    for warning in check_redis(settings):
        _log.warning("Redis may forget data.", extra={"action": "redis_check", "what": warning})
    await_port(settings.server.host, settings.server.port)
    # Imported before the workers are forked, so that they share it and start at once.
    import conductor_py.api.app  # noqa: F401

    http = Server(
        target="conductor_py.processes.api:load_application",
        address=settings.server.host,
        port=settings.server.port,
        interface=Interfaces.WSGI,
        workers=settings.server.workers,
        blocking_threads=settings.server.blocking_threads,
        respawn_failed_workers=True,
        respawn_interval=_RESPAWN_S,
        workers_kill_timeout=max(settings.server.stop_timeout_ms // 1000, 1),
        log_level=LogLevels.error,
        websockets=False,
    )
    http.serve(
        target_loader=partial(load_application, environment_of(settings), name), wrap_loader=False
    )
    if server is None:
        release_shards(settings, name)
    return 0


def load_application(environment: Mapping[str, str], server: str) -> Callable[..., Any]:
    """Make what a worker serves; the first thing that a worker does."""
    end_with_parent()
    stop = threading.Event()
    stop_on_signals(stop, install=False)
    settings = load(environment=environment)
    configure_logs(settings.log)
    metrics = build_metrics(settings)
    engine = build_engine(settings, server=server, metrics=metrics)
    application = build_application(settings, engine, stop=stop, instance=server, metrics=metrics)
    threading.Thread(
        target=_keep_shards, args=(engine, settings, stop), name="shards", daemon=True
    ).start()
    if stop.is_set():
        raise SystemExit(0)
    return application


def _keep_shards(engine: Engine, settings: Settings, stop: threading.Event) -> None:
    """Keep the leases of a server that nobody asks for anything."""

    def renew() -> int:
        engine.shards.keep()
        return 0

    run_ticks(renew, stop, idle_s=settings.redis.shard_lease_ms / 12_000)
