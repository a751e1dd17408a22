"""The parts of a server that work beside its API, as threads of the API's process.

They are what the commands ``sweeper``, ``scheduler``, ``system-worker`` and ``effects`` run alone,
on one engine together with the API. Effects go from the relay to those who carry them out without
a job queue between. Killed at any moment they lose nothing, as the processes do.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from functools import partial
from typing import Final

from conductor_py.adapters.threads.effect_queue import ThreadEffectQueue
from conductor_py.config import Settings
from conductor_py.engine import Engine
from conductor_py.ports.system_tasks import SystemTask
from conductor_py.processes.identity import new_name
from conductor_py.processes.scheduler import scheduler_loops
from conductor_py.processes.stopping import join_all
from conductor_py.processes.sweeper import sweeper_loops
from conductor_py.processes.system_worker import work_on_system_tasks

_ENDED_S: Final = 1.0
"""For system tasks to end in once they may not go on."""


class Parts:
    """The threads of one process's parts."""

    def __init__(
        self,
        settings: Settings,
        engine: Engine,
        effects: ThreadEffectQueue,
        system_tasks: Sequence[SystemTask],
        stop: threading.Event,
    ) -> None:
        """Start nothing yet. ``effects`` is the queue that ``engine`` hands effects to."""
        self._stop = stop
        self._drain_s = settings.system_tasks.drain_ms / 1000
        self._effects = effects
        self._quiet = engine.quiet
        self._loops: list[threading.Thread] = []
        self._system_worker: threading.Thread | None = None
        if settings.sweeper.enabled:
            self._loops += sweeper_loops(settings, engine, stop)
        if settings.scheduler.enabled:
            self._loops += scheduler_loops(settings, engine, stop)
        if engine.quiet is not None:
            self._loops.append(_thread("lookout", partial(engine.lookout.keep, stop)))
        for number in range(settings.effects.workers):
            target = partial(effects.carry_out, engine.effects.run, stop)
            self._loops.append(_thread(f"effects-{number}", target))
        if system_tasks:
            work = partial(work_on_system_tasks, settings, engine, system_tasks, stop)
            self._system_worker = _thread("system-worker", partial(work, name=new_name()))

    def start(self) -> None:
        """Begin."""
        for loop in self._loops:
            loop.start()
        if self._system_worker is not None:
            self._system_worker.start()

    def end(self) -> None:
        """Stop, and wait for what is under way: system tasks as long as the settings say, the rest
        for some seconds.
        """
        self._stop.set()
        self._effects.close()
        if self._quiet is not None:
            self._quiet.note()
        began_s = time.monotonic()
        join_all(self._loops)
        if self._system_worker is not None:
            drained_s = began_s + self._drain_s + _ENDED_S
            self._system_worker.join(max(drained_s - time.monotonic(), 0.0))


def _thread(name: str, target: partial[None]) -> threading.Thread:
    return threading.Thread(target=target, name=name, daemon=True)
