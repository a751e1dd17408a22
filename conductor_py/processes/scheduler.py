"""The scheduler process: starts workflows by the clock.

Any number may run: what is due is claimed, and an instant that is fired again finds what it
started. In the all-in-one server it is part of the sweeper process, which saves one.
"""

from __future__ import annotations

import threading
from functools import partial

from conductor_py.config import Settings
from conductor_py.engine import Engine
from conductor_py.engine.sweeping.ticking import run_ticks
from conductor_py.processes.identity import new_name
from conductor_py.processes.readiness import await_redis
from conductor_py.processes.stopping import run_until, stop_on_signals
from conductor_py.wiring import build_engine


def run_scheduler(settings: Settings, *, server: str | None = None) -> int:
    """Fire schedules until a stop signal; ``server`` names the server that this is part of."""
    stop = threading.Event()
    stop_on_signals(stop)
    await_redis(settings, stop)
    engine = build_engine(settings, server=server or new_name(), serves_all_shards=server is None)
    run_until(stop, scheduler_loops(settings, engine, stop))
    return 0


def scheduler_loops(
    settings: Settings, engine: Engine, stop: threading.Event
) -> list[threading.Thread]:
    """Make the threads that fire schedules until ``stop``."""
    return [
        threading.Thread(
            target=run_ticks,
            args=(engine.scheduler.tick, stop),
            kwargs={"idle_s": partial(engine.scheduler.rest_s, settings.scheduler.idle_ms / 1000)},
            name=f"scheduler-{number}",
            daemon=True,
        )
        for number in range(settings.scheduler.threads)
    ]
