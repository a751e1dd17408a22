"""The sweeper process: fires due timers, hands due effects on, drops plans that nothing uses and
archived executions that are too old.

Beside API nodes it sweeps the shards of all of them and holds none (under local-only those that no
server sweeps itself); as a part of a server it sweeps those of its server, and fires schedules. Any
number may run: a timer or effect that was taken is another's no more.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from functools import partial
from typing import Final

from conductor_py.config import Settings
from conductor_py.engine import Engine
from conductor_py.engine.quiet import MOST_S, Looking
from conductor_py.engine.sweeping.sweeper import Relay
from conductor_py.engine.sweeping.ticking import run_ticks
from conductor_py.processes.identity import new_name
from conductor_py.processes.readiness import await_redis
from conductor_py.processes.scheduler import scheduler_loops
from conductor_py.processes.stopping import run_until, stop_on_signals
from conductor_py.wiring import build_engine

_FURTHER_IDLE_S: Final = 1.0
_LONGEST_IDLE_MS: Final = 500
"""What is taken a second after it was due counts as late."""
_RELAY_IDLE_S: Final = 0.2
_RELAY_BUSY_S: Final = 0.1
"""A pause between two hand-overs makes batches worth a job each. It is the longer one behind a
batch that no execution waits for.
"""
_MENDING_S = 5.0
_CLEANING_IDLE_S: Final = 600.0
_CLEANING_BUSY_S: Final = 0.1
_ERASING_IDLE_S: Final = 60.0
_TELLING_S: Final = 10.0
_SCRIPT_WAIT_S: Final = 0.5


def run_sweeper(settings: Settings, *, server: str | None = None) -> int:
    """Sweep until a stop signal; ``server`` names the server that this process is part of."""
    stop = threading.Event()
    stop_on_signals(stop)
    await_redis(settings, stop)
    engine = build_engine(
        settings,
        server=server or new_name(),
        serves_all_shards=server is None,
        sweeps=True,
        evaluates_long_scripts=True,
    )
    loops = sweeper_loops(settings, engine, stop)
    if server is not None and settings.scheduler.enabled:
        loops += scheduler_loops(settings, engine, stop)
    run_until(stop, loops)
    return 0


def sweeper_loops(
    settings: Settings, engine: Engine, stop: threading.Event
) -> list[threading.Thread]:
    """Make the threads that sweep until ``stop``."""
    loops = [*_sweeping(settings, engine, stop), _relaying(engine, stop)]
    cleaning = [
        threading.Thread(
            target=run_ticks,
            args=(tick, stop),
            kwargs={"busy_s": _CLEANING_BUSY_S, "idle_s": _CLEANING_IDLE_S},
            name=name,
            daemon=True,
        )
        for name, tick in (
            ("collector", engine.collector.tick),
            ("retention", engine.retention.tick),
            ("file-retention", engine.file_retention.tick),
            ("payload-retention", engine.payload_retention.tick),
        )
    ]
    cleaning.append(_erasing(settings, engine, stop))
    loops += [*_audit_loops(settings, engine, stop), *_telling_loops(settings, engine, stop)]
    loops += [
        _mending(engine, stop),
        _forgetting(engine, stop),
        *cleaning,
        *_script_loops(settings, engine, stop),
    ]
    return loops


def _sweeping(
    settings: Settings, engine: Engine, stop: threading.Event
) -> Iterator[threading.Thread]:
    """Fire timers. One thread sees quickly what is due; the others help when there is much."""
    for number in range(settings.sweeper.threads):
        idle_s = min(settings.sweeper.idle_ms, _LONGEST_IDLE_MS) / 1000
        if number:
            idle_s = max(idle_s, _FURTHER_IDLE_S)
        looking = Looking(
            engine.sweeper.tick,
            stop,
            engine.quiet,
            _late if number else engine.sweeper.due_in_s,
        )
        yield threading.Thread(
            target=run_ticks,
            args=(looking.tick, stop),
            kwargs={"idle_s": idle_s, "wait": looking.wait},
            name=f"sweeper-{number}",
            daemon=True,
        )


def _late() -> float:
    return MOST_S


def _relaying(engine: Engine, stop: threading.Event) -> threading.Thread:
    """Hand on what is due of effects."""
    looking = Looking(
        partial(hurried_tick, engine.relay),
        stop,
        engine.quiet,
        engine.relay.due_in_s,
    )
    return threading.Thread(
        target=run_ticks,
        args=(looking.tick, stop),
        kwargs={"busy_s": _RELAY_BUSY_S, "idle_s": _RELAY_IDLE_S, "wait": looking.wait},
        name="relay",
        daemon=True,
    )


def hurried_tick(relay: Relay) -> int:
    """Hand over what is due; how many effects, 0 when the next of them can wait for more."""
    handed = relay.tick()
    return handed if relay.hurried else 0


def _mending(engine: Engine, stop: threading.Event) -> threading.Thread:
    """Set damaged keys aside, and tell of what cannot be read."""
    return threading.Thread(
        target=run_ticks,
        args=(engine.quarantine.tick, stop),
        kwargs={"idle_s": _MENDING_S},
        name="mending",
        daemon=True,
    )


def _forgetting(engine: Engine, stop: threading.Event) -> threading.Thread:
    """Forget the names of queues that nothing is in."""
    return threading.Thread(
        target=run_ticks,
        args=(engine.queue_names.tick, stop),
        kwargs={"busy_s": _CLEANING_BUSY_S, "idle_s": _MENDING_S},
        name="queue-names",
        daemon=True,
    )


def _erasing(settings: Settings, engine: Engine, stop: threading.Event) -> threading.Thread:
    """Write files anew some time after something was removed."""
    idle_s = min(max(settings.erasure.interval_ms / 4000, 0.1), _ERASING_IDLE_S)
    return threading.Thread(
        target=run_ticks,
        args=(engine.erasure.tick, stop),
        kwargs={"busy_s": _CLEANING_BUSY_S, "idle_s": idle_s},
        name="erasure",
        daemon=True,
    )


def _audit_loops(
    settings: Settings, engine: Engine, stop: threading.Event
) -> list[threading.Thread]:
    """Audit the store by and by, if that is wanted."""
    if not settings.audit.interval_ms:
        return []
    idle_s = min(max(settings.audit.interval_ms / 4000, 1.0), _CLEANING_IDLE_S)
    waits = {"busy_s": _CLEANING_BUSY_S, "idle_s": idle_s}
    tick = engine.auditor.tick
    return [
        threading.Thread(
            target=run_ticks, args=(tick, stop), kwargs=waits, name="audit", daemon=True
        )
    ]


def _telling_loops(
    settings: Settings, engine: Engine, stop: threading.Event
) -> list[threading.Thread]:
    """Tell partitions of changes of definitions that they have not heard of."""
    if settings.redis.partitions == 1:
        return []
    tick = engine.definitions.retell
    waits = {"busy_s": _TELLING_S, "idle_s": _TELLING_S}
    return [
        threading.Thread(
            target=run_ticks, args=(tick, stop), kwargs=waits, name="telling", daemon=True
        )
    ]


def _script_loops(
    settings: Settings, engine: Engine, stop: threading.Event
) -> list[threading.Thread]:
    """Evaluate the scripts that take long, as many at once as there are processes for them."""

    def tick(*, slow: bool) -> int:
        return engine.long_scripts.tick(engine.executor.follow, _SCRIPT_WAIT_S, slow=slow)

    ticks = {"slow-scripts": partial(tick, slow=True)}
    for number in range(settings.scripts.long_workers):
        ticks[f"long-scripts-{number}"] = partial(tick, slow=False)
    return [
        threading.Thread(
            target=run_ticks,
            args=(tick, stop),
            kwargs={"idle_s": 0.0},
            name=name,
            daemon=True,
        )
        for name, tick in ticks.items()
    ]
