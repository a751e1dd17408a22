"""The API process: granian with worker processes that each hold an engine.

The parent accepts signals and keeps the workers; a worker answers requests on threads, enough of
them for the long polls. At SIGTERM a worker takes no more connections, ends its long polls and lets
the rest finish.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable, Mapping
from functools import partial
from multiprocessing.sharedctypes import RawValue
from typing import Any, Final

from conductor_py.config import Settings, environment_of
from conductor_py.errors import ConfigurationError
from conductor_py.processes.http_server import serve_until_stopped
from conductor_py.processes.listening import await_port, refuse_strangers
from conductor_py.processes.supervision import CONFIGURATION_EXIT

#: How long an old worker and its successor serve together when the workers are told to reload.
_OVERLAP_S: Final = 0.5
#: Threads of the web server beyond those that are taken in: they refuse, and answer about health.
_SPARE_THREADS: Final = 16
_NOT_YET, _SERVED, _MISCONFIGURED = range(3)
#: More than the other parts, and system tasks that have been drained, need to end.
_PARTS_MS: Final = 6_000


def run_api(settings: Settings, *, server: str | None = None) -> int:
    """Serve HTTP until a stop signal; ``server`` names the server that this process is part of."""
    # Imported before the workers are forked, so that they share it and start at once.
    import conductor_py.api.app  # noqa: F401
    from conductor_py.processes.application import await_stores
    from conductor_py.processes.identity import new_name
    from conductor_py.wiring import release_shards

    refuse_strangers(settings.server)
    name = server or new_name()
    await_stores(settings)
    await_port(settings.server.host, settings.server.port)
    serve(settings, name)
    if server is None:
        release_shards(settings, name)
    return 0


def serve(
    settings: Settings, server: str, *, with_parts: bool = False, is_alone: bool = False
) -> None:
    """Serve HTTP as a part of ``server`` until a stop signal. ``with_parts``: all other parts of it
    run in the process that serves, and nobody else works on its store when it ``is_alone``. This
    one loads nothing of what that needs.
    """
    from granian.constants import HTTPModes, Interfaces
    from granian.http import HTTP1Settings
    from granian.log import LogLevels
    from granian.server import Server

    grace_s = _grace_s(settings, with_parts=with_parts)
    make = partial(
        Server,
        target="conductor_py.processes.application:load_application",
        address=settings.server.host,
        port=settings.server.port,
        interface=Interfaces.WSGI,
        workers=settings.server.workers,
        blocking_threads=(
            settings.server.blocking_threads + settings.server.reading + _SPARE_THREADS
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
        workers_kill_timeout=int(grace_s),
        log_level=LogLevels.error,
        websockets=False,
    )
    # One byte that the workers share with this process.
    state = RawValue(ctypes.c_byte, _NOT_YET)
    given = {"with_parts": with_parts, "is_alone": is_alone}
    loader = partial(_load, environment_of(settings), server, state, grace_s, **given)
    try:
        serve_until_stopped(make, loader, has_served=lambda: state.value == _SERVED)
    except SystemExit:
        if state.value == _MISCONFIGURED:
            sys.exit(CONFIGURATION_EXIT)
        raise


def _load(
    environment: Mapping[str, str],
    server: str,
    state: ctypes.c_byte,
    grace_s: float,
    **given: bool,
) -> Callable[..., Any]:
    """Make what a worker serves, in the worker. A configuration that is wrong is one sentence."""
    from conductor_py.processes.application import load_application

    try:
        application = load_application(environment, server, grace_s, **given)
    except ConfigurationError as refused:
        if state.value != _MISCONFIGURED:  # it is tried twice, and said once
            sys.stderr.write(f"Error: {refused.message}\n")
        state.value = _MISCONFIGURED
        sys.exit(CONFIGURATION_EXIT)
    state.value = _SERVED
    return application


def _grace_s(settings: Settings, *, with_parts: bool) -> float:
    """How long what is under way may take after a stop: whole seconds, one at least."""
    drain_ms = settings.system_tasks.drain_ms + _PARTS_MS if with_parts else 0
    return max(settings.server.stop_timeout_ms, drain_ms, 1_000) // 1000
