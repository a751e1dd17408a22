"""The HTTP server, granian, started again when it gives up, and ended when it is told to.

Its own signal handlers set an event, and its main loop clears that event after it has looked at
what was asked. A handler runs between two lines of the main thread: there it may meet the event's
lock, which the main thread holds while it begins to wait, and then neither goes on; or what it
sets is cleared. So the handlers only put a note into a queue, which a handler may. A thread reads
it, and wakes the main loop until it has done what was asked.
"""

from __future__ import annotations

import logging
import queue
import signal
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from types import FrameType

    from granian.server.common import AbstractServer

_log = logging.getLogger(__name__)

_FIRST_PAUSE_S: Final = 0.5
_LONGEST_PAUSE_S: Final = 10.0
#: Who has served for so long starts again with the first pause.
_STABLE_S: Final = 60.0
_AGAIN_S: Final = 0.1


def serve_until_stopped(
    make: Callable[[], AbstractServer[Any]],
    loader: Callable[[], Callable[..., Any]],
    *,
    has_served: Callable[[], bool],
    monotonic: Callable[[], float] = time.monotonic,
) -> None:
    """Serve until a stop signal, with a new server each time that one gives up.

    It does when a worker dies twice within seconds, or cannot be forked: whatever that was may
    pass. Only workers that never ``has_served`` are not tried again: they are not set up right.
    """
    signals, pause_s = _Signals(), _FIRST_PAUSE_S
    try:
        while True:
            http, began = make(), monotonic()
            signals.go_to(http)
            try:
                http.serve(target_loader=loader, wrap_loader=False)
                return
            except (SystemExit, OSError) as error:
                if http.wrks:  # all but the one that could not be forked
                    with suppress(SystemExit):
                        http.shutdown()  # type: ignore[no-untyped-call]
                if http.interrupt_signal or not has_served():
                    raise
                facts = {"action": "api_gave_up", "error": repr(error)}
                _log.error("The API's workers cannot stay up and are started again.", extra=facts)
            if monotonic() - began >= _STABLE_S:
                pause_s = _FIRST_PAUSE_S
            if _is_stopped_within(pause_s, http):
                return
            pause_s = min(2 * pause_s, _LONGEST_PAUSE_S)
    finally:
        signals.end()


def _is_stopped_within(pause_s: float, http: AbstractServer[Any]) -> bool:
    """Wait; signals still go to the server that has ended."""
    http.main_loop_interrupt.clear()
    http.main_loop_interrupt.wait(pause_s)
    return http.interrupt_signal


def heed_the_first_stop() -> None:
    """Have the web server of this worker, which has yet to start, hear one stop signal and no more.

    It puts each into a channel that holds one, of which one is taken: a third waits for ever, with
    the interpreter's lock, and the whole process with it. Three come from a terminal at which
    somebody is impatient, and from the kernel when a parent of many threads is killed.
    """
    from granian import _signals

    install = _signals.set_main_signals
    heard: list[int] = []

    def install_once(stop: Callable[..., None], reload: Callable[..., None] | None = None) -> None:
        def first(number: int, frame: FrameType | None) -> None:
            if not heard:  # handlers run in one thread
                heard.append(number)
                stop(number, frame)

        install(first, reload)  # type: ignore[no-untyped-call]

    _signals.set_main_signals = install_once


class Wakes(threading.Event):
    """An event that is over when somebody has woken. Whoever sets it has set a flag before, and who
    wakes looks at all flags: so nothing is missed, and nobody wakes for what is done already.
    """

    def wait(self, timeout: float | None = None) -> bool:
        """Wait until it is set, and clear it."""
        found = super().wait(timeout)
        self.clear()
        return found


class _Signals:
    """Takes signals to the server that is there; a stop also to each that comes after it."""

    def __init__(self) -> None:
        self._noted = queue.SimpleQueue[signal.Signals | None]()
        self._is_stop = False
        self._http: AbstractServer[Any] | None = None
        self._thread = threading.Thread(target=self._listen, name="http-signals", daemon=True)
        self._thread.start()

    def go_to(self, http: AbstractServer[Any]) -> None:
        """Have this server's handlers note what they hear; it installs them when it starts."""
        stop, reload = signal.SIGTERM, signal.SIGHUP
        http.signal_handler_interrupt = lambda *_: self._noted.put(stop)  # type: ignore[method-assign]
        http.signal_handler_reload = lambda *_: self._noted.put(reload)  # type: ignore[method-assign]
        http.main_loop_interrupt = Wakes()
        self._http = http

    def end(self) -> None:
        """Hear no more."""
        self._noted.put(None)
        self._thread.join()

    def _listen(self) -> None:
        is_asked = False
        while True:
            with suppress(queue.Empty):
                number = self._noted.get(timeout=_AGAIN_S if is_asked else None)
                if number is None:
                    return
                self._is_stop |= number is signal.SIGTERM
                if number is signal.SIGHUP and self._http:
                    self._http.reload_signal = True
            is_asked = self._wake()

    def _wake(self) -> bool:
        """Wake the main loop for what it was asked and has not done; whether there is any."""
        http = self._http
        if http is None:
            return False
        http.interrupt_signal |= self._is_stop
        is_asked = http.interrupt_signal or http.reload_signal
        if is_asked:
            http.main_loop_interrupt.set()
        return is_asked
