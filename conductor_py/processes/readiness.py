"""What a process waits for before it begins: a Redis that is away is no reason to end.

A process that runs outlasts an outage of any length, so one that starts in the middle of it, or
beside a Redis that is still loading, does the same. What Redis then refuses is another matter.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from typing import Final

from conductor_py.config import Settings
from conductor_py.errors import StoreFailure
from conductor_py.processes.stopping import ended_by_signals
from conductor_py.wiring import check_redis

_log = logging.getLogger(__name__)

_FIRST_PAUSE_S: Final = 0.2
_LONGEST_PAUSE_S: Final = 5.0


def await_redis(
    settings: Settings,
    stop: threading.Event | None = None,
    *,
    check: Callable[[Settings], tuple[str, ...]] = check_redis,
) -> tuple[str, ...]:
    """Wait until Redis answers, and return what is not as it should be there; ``()`` when ``stop``
    was set before. Without ``stop``, on the main thread, a stop signal ends the process.

    Raises ConfigurationError when Redis answers and may not be used.
    """
    if stop is None:
        with ended_by_signals():
            return await_redis(settings, threading.Event(), check=check)
    pause_s = _FIRST_PAUSE_S
    while not stop.is_set():
        try:
            return check(settings)
        except StoreFailure as away:
            facts = {"action": "redis_awaited", "reason": str(away)}
            _log.warning("Redis is waited for", extra=facts)
        stop.wait(pause_s)
        pause_s = min(2 * pause_s, _LONGEST_PAUSE_S)
    return ()
