"""What a process that serves HTTP is made of: an engine, its front, and what works beside it."""

from __future__ import annotations

import logging
import sys
import threading
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from multiprocessing.util import Finalize
from typing import Any, Final

from conductor_py.api.admission import Admission
from conductor_py.config import Settings, load
from conductor_py.config.extras import check_extras
from conductor_py.engine import Engine
from conductor_py.engine.health import UP, Check
from conductor_py.engine.quiet import Quiet
from conductor_py.engine.sweeping.ticking import run_ticks
from conductor_py.processes.connections import is_known, own_connections, watch
from conductor_py.processes.http_server import heed_the_first_stop
from conductor_py.processes.logs import configure_logs
from conductor_py.processes.parts import Parts
from conductor_py.processes.readiness import await_redis
from conductor_py.processes.slow_readers import SlowReaders
from conductor_py.processes.slow_senders import SlowSenders
from conductor_py.processes.stopping import end_after_stop, end_with_parent, stop_on_signals
from conductor_py.processes.system_worker import system_tasks
from conductor_py.wiring import (
    build_admission,
    build_application,
    build_engine,
    build_metrics,
    check_lock,
    thread_effect_queue,
)

_log = logging.getLogger(__name__)
_AWAY: Final = "A store is not well."
_NOT_WELL: Final = {
    "search": "The index is away: executions go on, and are neither found nor archived until it"
    " answers."
}
_LOOKS: Final = 4
_LOOK_AGAIN_S: Final = 2.0
_LATE_S: Final = 1.0
_SWITCH_S: Final = 0.002
"""How long a request waits at most for the interpreter that another part computes with."""


def await_stores(settings: Settings, stop: threading.Event | None = None) -> None:
    """Wait for Redis, and say what is not as it should be there and at the lock's service. Raises
    ConfigurationError when one of them may not be used, or a package of a setting is missing.
    ``stop`` as in ``await_redis``.
    """
    check_extras(settings)
    for warning in await_redis(settings, stop):
        _log.warning(
            "Redis is not as it should be.", extra={"action": "redis_check", "what": warning}
        )
    for warning in check_lock(settings):
        _log.warning("Decisions are not safe.", extra={"action": "lock_check", "what": warning})


def say_what_is_not_well(
    checks: Iterable[Check], stop: threading.Event, *, pause_s: float = _LOOK_AGAIN_S
) -> None:
    """A line for each store that is not well at the start, and not some seconds later either."""
    for check in checks:
        found = check.result()
        for _ in range(_LOOKS - 1):
            if found["status"] == UP or stop.wait(pause_s):
                break
            found = check.result()
        if found["status"] != UP and not stop.is_set():
            facts = {"action": "health_check", "store": check.name, "reason": found["message"]}
            _log.warning(_NOT_WELL.get(check.name, _AWAY), extra=facts)


def load_application(
    environment: Mapping[str, str],
    server: str,
    grace_s: float,
    *,
    with_parts: bool,
    is_alone: bool = False,
) -> Callable[..., Any]:
    """Make what a worker serves, and start what works beside it: the other parts of a server, if
    they are wanted; ``is_alone``: nobody else works on the store. The first thing that a worker
    does, and it ends ``grace_s`` after a stop.
    """
    heed_the_first_stop()
    end_with_parent()
    stop = threading.Event()
    stop_on_signals(stop, install=False)
    settings = load(environment=environment)
    configure_logs(settings.log)
    if with_parts:
        await_stores(settings, stop)
    metrics = build_metrics(settings)
    admission = build_admission(settings)
    build = partial(build_engine, settings, server=server, metrics=metrics, admission=admission)
    quiet = Quiet() if is_alone else None
    parts, engine = _with_parts(settings, build, stop, quiet) if with_parts else (None, build())
    application = build_application(
        settings, engine, stop=stop, instance=server, metrics=metrics, admission=admission
    )
    threading.Thread(
        target=_keep_shards, args=(engine, settings, stop), name="shards", daemon=True
    ).start()
    threading.Thread(
        target=say_what_is_not_well, args=(engine.checks, stop), name="stores", daemon=True
    ).start()
    if is_known():
        _watch_connections(settings, admission, stop)
    end_after_stop(stop, grace_s + _LATE_S)
    if parts is not None:
        parts.start()
    return application


def _watch_connections(settings: Settings, admission: Admission, stop: threading.Event) -> None:
    connections = partial(own_connections, settings.server.port)
    rules = (
        SlowSenders(admission.bodies, connections),
        SlowReaders(admission, connections, piece_s=settings.server.piece_ms / 1000),
    )
    threading.Thread(target=watch, args=(rules, stop), name="connections", daemon=True).start()


def _with_parts(
    settings: Settings, build: Callable[..., Engine], stop: threading.Event, quiet: Quiet | None
) -> tuple[Parts, Engine]:
    """Build an engine and what works on it beside the API. That ends in order when the process
    does, whatever ends that.
    """
    sys.setswitchinterval(_SWITCH_S)
    effects = thread_effect_queue(settings)
    engine = build(
        sweeps=settings.sweeper.enabled,
        evaluates_long_scripts=settings.sweeper.enabled,
        effect_queue=effects,
        quiet=quiet,
    )
    tasks = system_tasks(settings) if settings.system_tasks.enabled else ()
    parts = Parts(settings, engine, effects, tasks, stop)
    Finalize(None, parts.end, exitpriority=0)
    return parts, engine


def _keep_shards(engine: Engine, settings: Settings, stop: threading.Event) -> None:
    """Keep the leases of a server that nobody asks for anything, and write down who polls it."""

    def renew() -> int:
        engine.shards.keep()
        engine.workers.flush()
        return 0

    run_ticks(renew, stop, idle_s=settings.redis.shard_lease_ms / 12_000)
