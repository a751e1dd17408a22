"""Completions of one wide execution: combined in its inbox, and one decision each.

Many completers report the branches of one fork as fast as they are answered. What is measured is
how long it takes until the last of these results is decided. The same once more with scripts that
bring one event to a decision: what there would be without combining. Servers are processes.

Completers take the next branch that is left, whichever server they ask: with a fixed share each,
those of the server that decides just now would be late, and end with fewer at once than are wanted.
"""

from __future__ import annotations

import multiprocessing
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing import get_context
from multiprocessing.sharedctypes import Synchronized
from multiprocessing.synchronize import Barrier, Event
from typing import Final, TypeAlias

from benchmarks.figures import Figure, quantile
from benchmarks.fork_part import FORK
from benchmarks.place import NAMESPACE, Place, complete, engine_at, engine_module, poll
from conductor_py.adapters.redis import scripts
from conductor_py.adapters.redis.keys import Namespace
from conductor_py.engine import Engine
from conductor_py.model.requests import StartRequest

_PART: Final = "Many at once"
_COMPLETERS: Final = 64
_SERVERS: Final = 4
_TAKEN_AT_ONCE: Final = 5
_ALL_EVENTS: Final = "'inbox:' .. id, 0, 999)"
_ONE_EVENT: Final = "'inbox:' .. id, 0, 0)"
_GIVE_UP_S: Final = 300.0
_READY_S: Final = 60.0
_context = get_context("spawn")
_Answers: TypeAlias = "multiprocessing.Queue[list[float]]"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Run:
    """What came of completing all branches but one: seconds until all were decided, and how long
    each completer waited for its answers, in ms.
    """

    seconds: float
    answers_ms: Sequence[float]


def measure_combining(at: Place, branches: int, rounds: int = 1) -> list[Figure]:
    """Measure both kinds in turn, ``rounds`` times; the middle ratio counts."""
    _run(at, min(branches, 500), combining=True)
    pairs = []
    for _ in range(rounds):
        alone = _run(at, branches, combining=False)
        pairs.append((_run(at, branches, combining=True), alone))
    together, alone = sorted(pairs, key=lambda pair: pair[1].seconds / pair[0].seconds)[rounds // 2]
    ratio = alone.seconds / together.seconds
    return [
        Figure(
            key="combining",
            part=_PART,
            title=f"completions by {_COMPLETERS} at once of one FORK of {branches:,} "
            f"({branches / together.seconds:,.0f} /s) over the same without combining "
            f"({branches / alone.seconds:,.0f} /s)",
            value=ratio,
            unit="x",
            ratio=ratio,
            target=3.0,
            bound="at least",
        ),
        Figure(
            key="combining_p99",
            part=_PART,
            title="how long one of them waits for its answer, p99",
            value=quantile(together.answers_ms, 0.99),
            unit="ms",
        ),
    ]


def _run(at: Place, branches: int, *, combining: bool) -> _Run:
    execution, tasks = _claimed(at.engine, branches)
    last = tasks.pop()
    inbox = f"{Namespace(NAMESPACE, 1).prefixes[0]}inbox:{execution}"
    with _servers(at, tasks, combining=combining) as (ready, answers):
        ready.wait(_READY_S)
        began = time.perf_counter()
        answers_ms: list[float] = []
        for _ in range(_SERVERS):
            answers_ms += answers.get(timeout=_GIVE_UP_S)
        while at.connection.call("EXISTS", inbox):
            time.sleep(0.002)
        seconds = time.perf_counter() - began
    complete(at.engine, last, {})
    _await_end(at.engine, execution)
    if len(answers_ms) != branches - 1:
        raise RuntimeError(f"{len(answers_ms)} of {branches - 1} completions were answered")
    return _Run(seconds=seconds, answers_ms=answers_ms)


def _claimed(engine: Engine, branches: int) -> tuple[str, list[dict[str, str]]]:
    """Start a fork and claim all its branches."""
    forked = [
        {"name": "branch", "taskReferenceName": f"b{number}", "type": "SIMPLE"}
        for number in range(branches)
    ]
    execution = engine.executions.start(
        StartRequest(name="fork", definition=FORK, input={"tasks": forked, "inputs": {}})
    )
    tasks: list[dict[str, str]] = []
    while len(tasks) < branches:
        found = poll(engine, "branch", 100)
        if not found and not engine.sweeper.tick():
            raise RuntimeError(f"{branches - len(tasks)} branches never came")
        tasks += found
    return execution, tasks


def _await_end(engine: Engine, execution: str) -> None:
    until = time.monotonic() + _GIVE_UP_S
    while time.monotonic() < until:
        status = engine.executions.document(execution, include_tasks=False)["status"]
        if status == "COMPLETED":
            return
        if not engine.sweeper.tick():
            time.sleep(0.01)
    raise RuntimeError("the execution does not end")


# -- the servers -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class _Kind:
    """Where the servers are at work, and whether a decision may take many events."""

    socket: str
    data: str
    combining: bool

    def choose(self) -> None:
        """Without combining a decision is brought one event; everything else stays as it is."""
        if self.combining:
            return
        written = scripts.source_of

        def alone(name: str) -> str:
            return written(name).replace(_ALL_EVENTS, _ONE_EVENT)

        if alone("commit_decision") == written("commit_decision"):
            raise RuntimeError("the bound of events is not where this benchmark looks for it")
        scripts.source_of = alone


@contextmanager
def _servers(
    at: Place, tasks: Sequence[dict[str, str]], *, combining: bool
) -> Iterator[tuple[Barrier, _Answers]]:
    """Run servers whose threads complete the tasks, and a sweeper beside them."""
    ready, done = _context.Barrier(_SERVERS + 2), _context.Event()
    answers, taken = _context.Queue(), _context.Value("i", 0)
    kind = _Kind(socket=at.socket, data=at.data, combining=combining)
    processes = [
        _context.Process(target=_complete_all, args=(kind, ready, answers, tasks, taken))
        for _ in range(_SERVERS)
    ]
    processes.append(_context.Process(target=_sweep, args=(kind, ready, done)))
    for process in processes:
        process.start()
    try:
        yield ready, answers
    finally:
        done.set()
        for process in processes:
            process.join(10)
            if process.is_alive():
                process.kill()


def _complete_all(
    kind: _Kind,
    ready: Barrier,
    answers: _Answers,
    tasks: Sequence[dict[str, str]],
    taken: Synchronized[int],
) -> None:
    """Be a server: complete tasks that nobody has ``taken``, from as many threads as its share of
    the completers.
    """
    kind.choose()
    took_ms: list[float] = []
    with engine_at(kind.socket, kind.data) as (engine, _):

        def work() -> None:
            while mine := _take(tasks, taken):
                for task in mine:
                    began = time.perf_counter()
                    complete(engine, task, {})
                    took_ms.append((time.perf_counter() - began) * 1000)

        threads = [threading.Thread(target=work) for _ in range(_COMPLETERS // _SERVERS)]
        ready.wait(_READY_S)
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    answers.put(took_ms)


def _take(tasks: Sequence[dict[str, str]], taken: Synchronized[int]) -> Sequence[dict[str, str]]:
    """Take the next few tasks; none are left when there are none."""
    with taken.get_lock():
        first = taken.value
        taken.value = first + _TAKEN_AT_ONCE
    return tasks[first : first + _TAKEN_AT_ONCE]


def _sweep(kind: _Kind, ready: Barrier, done: Event) -> None:
    """Be the sweeper, looking as often as the server's does."""
    kind.choose()
    with engine_at(kind.socket, kind.data) as (engine, _):
        ready.wait(_READY_S)
        run_ticks = engine_module("ticking", "sweeper").run_ticks
        run_ticks(engine.sweeper.tick, done, idle_s=0.1)
