"""The parts of a server: which threads of the API's process work beside it."""

import threading
from types import SimpleNamespace
from typing import Any

import pytest

from conductor_py.adapters.threads.effect_queue import ThreadEffectQueue
from conductor_py.config import load
from conductor_py.engine.quiet import Quiet
from conductor_py.processes.parts import Parts


@pytest.mark.parametrize("is_alone", [True, False])
def test_one_thread_looks_out_for_long_polls_where_nobody_else_works_on_the_store(
    is_alone: bool,
) -> None:
    kept: list[threading.Event] = []
    engine: Any = SimpleNamespace(
        quiet=Quiet() if is_alone else None,
        lookout=SimpleNamespace(keep=kept.append),
        effects=SimpleNamespace(run=None),
    )
    off = dict.fromkeys(("conductor.app.sweeper.enabled", "conductor.scheduler.enabled"), "false")
    settings = load(environment={}, flags=off)
    stop = threading.Event()
    parts = Parts(settings, engine, ThreadEffectQueue(lease_ms=1_000), (), stop)
    parts.start()
    parts.end()
    assert kept == [stop] * is_alone
