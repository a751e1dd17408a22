"""The API process: granian with worker processes that each hold an engine.

The parent accepts signals and keeps the workers; a worker answers requests on threads, enough of
them for the long polls. At SIGTERM a worker takes no more connections, ends its long polls and lets
the rest finish.
"""

from __future__ import annotations

import ctypes
import logging
import threading
from collections.abc import Callable, Mapping
from functools import partial
from multiprocessing.sharedctypes import RawValue
from typing import Any, Final

from conductor_py.config import Settings, environment_of, load
from conductor_py.engine import Engine
from conductor_py.engine.sweeper import run_ticks
from conductor_py.processes.http_server import serve_until_stopped
from conductor_py.processes.identity import new_name
from conductor_py.processes.listening import await_port, refuse_strangers
from conductor_py.processes.logs import configure_logs
from conductor_py.processes.readiness import await_redis
from conductor_py.processes.slow_senders import SlowSenders, is_known, own_connections
from conductor_py.processes.stopping import end_after_stop, end_with_parent, stop_on_signals
from conductor_py.wiring import (
    SPARE_THREADS,
    build_admission,
    build_application,
    build_engine,
    build_metrics,
    check_lock,
    release_shards,
)

_log = logging.getLogger(__name__)

#: How long an old worker and its successor serve together when the workers are told to reload.
_OVERLAP_S: Final = 0.5
_LATE_S: Final = 1.0


def run_api(settings: Settings, *, server: str | None = None) -> int:
    """Serve HTTP until a stop signal; ``server`` names the server that this process is part of."""
    from granian.constants import HTTPModes, Interfaces
    from granian.http import HTTP1Settings
    from granian.log import LogLevels
    from granian.server import Server

    refuse_strangers(settings.server)
    name = server or new_name()
    for warning in await_redis(settings):
        _log.warning(
            "Redis is not as it should be.", extra={"action": "redis_check", "what": warning}
        )
    for warning in check_lock(settings):
        _log.warning("Decisions are not safe.", extra={"action": "lock_check", "what": warning})
    await_port(settings.server.host, settings.server.port)
    # Imported before the workers are forked, so that they share it and start at once.
    import conductor_py.api.app  # noqa: F401

    make = partial(
        Server,
        target="conductor_py.processes.api:load_application",
        address=settings.server.host,
        port=settings.server.port,
        interface=Interfaces.WSGI,
        workers=settings.server.workers,
        blocking_threads=(
            settings.server.blocking_threads + settings.server.reading + SPARE_THREADS
        ),
        backpressure=settings.server.connections,
        # HTTP/2 has heads of megabytes, and no time for them.
        http=HTTPModes.http1,
        http1_settings=HTTP1Settings(
            max_buffer_size=settings.server.header_bytes,
            header_read_timeout=settings.server.head_ms,
        ),
        respawn_failed_workers=True,
        respawn_interval=_OVERLAP_S,
        workers_kill_timeout=max(settings.server.stop_timeout_ms // 1000, 1),
        log_level=LogLevels.error,
        websockets=False,
    )
    served = RawValue(ctypes.c_bool, False)  # one byte that the workers share with this process
    serve_until_stopped(
        make,
        partial(load_application, environment_of(settings), name, served),
        has_served=lambda: served.value,
    )
    if server is None:
        release_shards(settings, name)
    return 0


def load_application(
    environment: Mapping[str, str], server: str, served: ctypes.c_bool
) -> Callable[..., Any]:
    """Make what a worker serves; the first thing that a worker does. Sets ``served`` then."""
    end_with_parent()
    stop = threading.Event()
    stop_on_signals(stop, install=False)
    settings = load(environment=environment)
    configure_logs(settings.log)
    metrics = build_metrics(settings)
    admission = build_admission(settings)
    engine = build_engine(settings, server=server, metrics=metrics, admission=admission)
    application = build_application(
        settings, engine, stop=stop, instance=server, metrics=metrics, admission=admission
    )
    threading.Thread(
        target=_keep_shards, args=(engine, settings, stop), name="shards", daemon=True
    ).start()
    if is_known():
        senders = SlowSenders(admission.bodies, partial(own_connections, settings.server.port))
        threading.Thread(target=senders.run, args=(stop,), name="senders", daemon=True).start()
    end_after_stop(stop, settings.server.stop_timeout_ms / 1000 + _LATE_S)
    served.value = True
    return application


def _keep_shards(engine: Engine, settings: Settings, stop: threading.Event) -> None:
    """Keep the leases of a server that nobody asks for anything, and write down who polls it."""

    def renew() -> int:
        engine.shards.keep()
        engine.workers.flush()
        return 0

    run_ticks(renew, stop, idle_s=settings.redis.shard_lease_ms / 12_000)
