"""The worker process: poll loops, the lease keeper, and an orderly end.

``run()`` owns the main thread and its signals; ``start()`` and ``stop()`` are for embedding. A stop
polls no more, lets running tasks finish within the grace and then lets go: what is still running is
cancelled and not reported, and the server gives it to another worker when its lease ends.
"""

from __future__ import annotations

import itertools
import logging
import os
import random
import signal
import socket
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Self

from conductor_py.errors import ConductorError, ConfigurationError, NotFound
from conductor_py.sdk.backoff import RECONNECT_CAP_MS, Backoff
from conductor_py.sdk.clock import SystemClock
from conductor_py.sdk.console import show_on_stderr
from conductor_py.sdk.definition_names import unknown_members
from conductor_py.sdk.event_loop import EventLoop
from conductor_py.sdk.lease import LeaseKeeper
from conductor_py.sdk.outage import Outage
from conductor_py.sdk.poll_loop import PollLoop
from conductor_py.sdk.presence import Presence, sdk_name
from conductor_py.sdk.report import Reporter
from conductor_py.sdk.worker import WorkerTask

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from types import FrameType

    from conductor_py.model.json import JsonObject
    from conductor_py.sdk.client import Client
    from conductor_py.sdk.clock import Clock

_log = logging.getLogger(__name__)

#: Workers of this process: each has an id of its own.
_NUMBERS = itertools.count(1)
_STOP_SIGNALS = (signal.SIGTERM, signal.SIGINT)
#: How often the drain looks whether a second signal asked it to hurry.
_DRAIN_STEP_S = 0.2


class Worker:
    """Runs tasks of any number of types in this process."""

    def __init__(
        self,
        client: Client,
        tasks: Iterable[WorkerTask[..., object]],
        *,
        worker_id: str | None = None,
        version: str = "",
        grace_s: float = 30.0,
        clock: Clock | None = None,
    ) -> None:
        """Check the tasks; nothing is sent yet. Raises ``ConfigurationError``.

        ``worker_id`` is what the server shows, by default host and process id; ``version``, that of
        your program, it shows beside. ``grace_s`` is how long a stop waits for running tasks.
        """
        self._client = client
        self._clock = clock or SystemClock()
        self._grace_s = grace_s
        self._stopping = threading.Event()
        self._hurry = False
        self._started = False
        self._tasks = _distinct(tasks)
        self._version = version
        self.worker_id = worker_id or _new_id()
        self._keeper = LeaseKeeper(client, self._clock)
        self._event_loop = EventLoop()
        reporter = Reporter(client, worker_id=self.worker_id, clock=self._clock)
        self._loops = [
            PollLoop(
                task,
                client=client,
                keeper=self._keeper,
                reporter=reporter,
                worker_id=self.worker_id,
                clock=self._clock,
                stopping=self._stopping,
                event_loop=self._event_loop,
            )
            for task in self._tasks
        ]
        self._presence = Presence(client, self.worker_id, self._sign, self._clock)

    def start(self) -> None:
        """Register the task definitions that were given, then poll, all in threads; a worker starts
        once.

        Waits for the server only when there is something to register. Raises what the server says
        of a definition. Where nobody has configured logging, what the worker logs is shown on
        stderr (``sdk.console``).
        """
        if self._started:
            raise ConfigurationError("this worker was started before; make another one")
        self._started = True
        show_on_stderr()
        for task in self._tasks:
            if task.options.task_definition is not None:
                _warn_of_members(task.options.name, task.options.task_definition)
                self._register({**task.options.task_definition, "name": task.options.name})
        self._keeper.start()
        for loop in self._loops:
            loop.start()
        self._presence.start()
        _log.info(
            "the worker has started",
            extra={
                "action": "worker_started",
                "server": self._client.server_url,
                "worker_id": self.worker_id,
                "task_types": [task.options.name for task in self._tasks],
            },
        )

    def stop(self, grace_s: float | None = None) -> bool:
        """Stop polling, let running tasks finish for ``grace_s``, let go; tell whether all
        finished.
        """
        self._stopping.set()
        end_ms = self._clock.monotonic_ms() + int(
            1000 * (self._grace_s if grace_s is None else grace_s)
        )
        for loop in self._loops:
            loop.slots.close()
        ended = [self._drained(loop, end_ms) for loop in self._loops]
        drained = all(ended)
        self._keeper.stop()
        self._event_loop.close()  # after the keeper, which cancels what is left for good
        self._presence.stop()
        _log.info("the worker has stopped", extra={"action": "worker_stopped", "drained": drained})
        return drained

    def run(self) -> bool:
        """Work until SIGTERM or SIGINT, or ``stop()`` in another thread; for the main thread only.

        A second signal ends the grace. Tells whether all running tasks finished.
        """
        with _signals_noted() as notes:
            listening = threading.Thread(
                target=self._listen, args=(notes,), name="conductor-signals", daemon=True
            )
            listening.start()
            self.start()
            self._stopping.wait()
            return self.stop()

    def __enter__(self) -> Self:
        """Start."""
        self.start()
        return self

    def __exit__(self, *_exc: object) -> None:
        """Stop, with the worker's own grace."""
        self.stop()

    def _sign(self) -> JsonObject:
        """Say where it runs, what it takes and how busy it is."""
        return {
            "host": socket.gethostname(),
            "version": self._version,
            "sdk": sdk_name(),
            "taskTypes": [loop.load() for loop in self._loops],
        }

    def _drained(self, loop: PollLoop, end_ms: int) -> bool:
        polls_ended = False
        while not self._hurry:
            left_s = (end_ms - self._clock.monotonic_ms()) / 1000
            step_s = min(_DRAIN_STEP_S, left_s)
            polls_ended = polls_ended or loop.join(step_s)
            if polls_ended and loop.slots.wait_idle(step_s):
                return True
            if left_s <= 0:
                break
        return False

    def _register(self, definition: JsonObject) -> None:
        """Register the definition if what it says differs from what the server has."""
        backoff = Backoff(base_ms=500, cap_ms=RECONNECT_CAP_MS)
        failures = 0
        facts = {"action": "registration_delayed", "task_type": definition["name"]}
        outage = Outage(_log, "a task definition cannot be registered yet", "it is registered")
        while not self._stopping.is_set():
            try:
                if self._is_new(definition):
                    self._client.register_tasks([definition])
            except ConductorError as error:
                if not error.retryable:
                    raise
                failures += 1
                outage.failed(error, facts)
                chance = random.random()  # noqa: S311 - jitter, not a secret
                self._clock.wait(self._stopping, backoff.delay_ms(failures, chance))
            else:
                outage.ended({**facts, "action": "registered"})
                return

    def _is_new(self, definition: JsonObject) -> bool:
        try:
            known = self._client.get_task_definition(str(definition["name"]))
        except NotFound:
            return True
        return any(known.get(key) != value for key, value in definition.items())

    def _listen(self, notes: socket.socket) -> None:
        with notes:
            while noted := notes.recv(64):
                for _ in filter(_STOP_SIGNALS.__contains__, noted):
                    self._hurry = self._stopping.is_set()
                    self._stopping.set()


@contextmanager
def _signals_noted() -> Iterator[socket.socket]:
    """Have stop signals written to a socket, the other end of which is given.

    The system may deliver a signal to any thread, as it does to a process that has just been
    continued. Then a handler runs when the main thread comes by, and one that waits does not.
    """
    reading, writing = socket.socketpair()
    writing.setblocking(False)
    handlers = {number: signal.signal(number, _noted) for number in _STOP_SIGNALS}
    descriptor = signal.set_wakeup_fd(writing.fileno(), warn_on_full_buffer=False)
    try:
        yield reading
    finally:
        signal.set_wakeup_fd(descriptor)
        for number, handler in handlers.items():
            signal.signal(number, handler)
        writing.close()


def _noted(_number: int, _frame: FrameType | None) -> None:
    """Have a handler, so that the signal is written to the socket."""


def _new_id() -> str:
    number = next(_NUMBERS)
    name = f"{socket.gethostname()}-{os.getpid()}"
    return name if number == 1 else f"{name}-{number}"


def _warn_of_members(name: str, definition: JsonObject) -> None:
    for said in unknown_members(definition):
        sentence = f"task_definition of {name}: {said}"
        _log.warning(sentence, extra={"action": "unknown_member", "task_type": name})


def _distinct(tasks: Iterable[object]) -> tuple[WorkerTask[..., object], ...]:
    listed: list[WorkerTask[..., object]] = []
    for task in tasks:
        if not isinstance(task, WorkerTask):
            name = getattr(task, "__qualname__", repr(task))
            raise ConfigurationError(f'{name} is no worker task: decorate it, @worker_task("name")')
        listed.append(task)
    if not listed:
        raise ConfigurationError("a worker needs at least one task")
    keys = [(task.options.name, task.options.domain) for task in listed]
    for key in keys:
        if keys.count(key) > 1:
            raise ConfigurationError(f"two functions are given for task {key[0]}")
    return tuple(listed)
