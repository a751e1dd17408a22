"""An event loop by the clock of the test: what an ``async`` function waits for by time passes at
once, and the clock goes on as far.

What comes from outside (a thread, a socket, a process) takes the time that it takes, for which the
clock stands still. So a time limit around such a wait does not end it at once.
"""

from __future__ import annotations

import asyncio
from asyncio import Future
from collections.abc import Callable
from concurrent.futures import Executor
from contextvars import Context
from math import ceil
from selectors import DefaultSelector, SelectorKey
from typing import Any, Final, TypeVar, TypeVarTuple

from conductor_py.testing.clock import FakeClock

OUTSIDE_S: Final = 10.0
"""How long what is outside is waited for before time passes all the same, in real seconds: it may
be a connection that is kept open, and will never say anything.
"""

_HALF_S: Final = 0.0005
_T = TypeVar("_T")
_Arguments = TypeVarTuple("_Arguments")


class VirtualLoop(asyncio.SelectorEventLoop):
    """A loop whose time is that of a fake clock, which it moves."""

    def __init__(self, clock: FakeClock, outside_s: float = OUTSIDE_S) -> None:
        """Begin at the instant that ``clock`` shows."""
        self._clock = clock
        self._began_ms = clock.now_ms
        self._outside = 0
        self._children: list[asyncio.SubprocessTransport] = []
        super().__init__(_Selector(self._let_pass, self._awaits_others, outside_s))

    def time(self) -> float:
        """Seconds of the clock since the loop began."""
        return (self._clock.now_ms - self._began_ms) / 1000

    def call_at(
        self,
        when: float,
        callback: Callable[[*_Arguments], object],
        *args: *_Arguments,
        context: Context | None = None,
    ) -> asyncio.TimerHandle:
        """Call it when the clock shows the millisecond nearest to ``when``: half of one before is
        surely over then, however large the numbers are.
        """
        return super().call_at(when - _HALF_S, callback, *args, context=context)

    def run_in_executor(
        self, executor: Executor | None, func: Callable[[*_Arguments], _T], *args: *_Arguments
    ) -> Future[_T]:
        """Remember that a thread is at work."""
        future = super().run_in_executor(executor, func, *args)
        self._outside += 1
        future.add_done_callback(self._came_back)
        return future

    async def subprocess_exec(self, *given: Any, **more: Any) -> Any:  # noqa: ANN401 - handed on
        """Remember that a process is at work."""
        return self._started(await super().subprocess_exec(*given, **more))

    async def subprocess_shell(self, *given: Any, **more: Any) -> Any:  # noqa: ANN401 - handed on
        """Remember that a process is at work."""
        return self._started(await super().subprocess_shell(*given, **more))

    async def shutdown_default_executor(self, *given: Any) -> None:  # noqa: ANN401 - handed on
        """Wait for the threads in real time."""
        self._outside += 1
        await super().shutdown_default_executor(*given)

    def _let_pass(self, seconds: float) -> None:
        self._clock.advance(milliseconds=ceil(seconds * 1000))

    def _awaits_others(self) -> bool:
        return self._outside > 0 or any(each.get_returncode() is None for each in self._children)

    def _came_back(self, _: Future[Any]) -> None:
        self._outside -= 1

    def _started(self, made: tuple[Any, Any]) -> tuple[Any, Any]:
        self._children.append(made[0])
        return made


class _Selector(DefaultSelector):
    """Waits for what is outside, and lets time pass when there is nothing such."""

    def __init__(
        self, let_pass: Callable[[float], None], awaits: Callable[[], bool], outside_s: float
    ) -> None:
        super().__init__()
        self._let_pass = let_pass
        self._awaits = awaits
        self._outside_s = outside_s

    def select(self, timeout: float | None = None) -> list[tuple[SelectorKey, int]]:
        if timeout is None or timeout <= 0:
            return super().select(timeout)
        # The loop itself has one, by which threads wake it.
        outside = self._awaits() or len(self.get_map()) > 1
        found = super().select(min(timeout, self._outside_s) if outside else 0)
        if not found:
            self._let_pass(timeout)
        return found
