"""Slots: as many threads as allowed, and a count that never lies."""

from __future__ import annotations

import asyncio
import threading

import pytest

from conductor_py.sdk.slots import Slots
from tests.waiting import PATIENCE_S, until


def test_free_slots_are_what_is_not_busy():
    slots, release = Slots("t", 2), threading.Event()
    assert slots.wait_free(0) == 2
    slots.submit(lambda: release.wait(PATIENCE_S))
    assert slots.wait_free(0) == 1
    slots.submit(lambda: release.wait(PATIENCE_S))
    assert slots.wait_free(0) == 0
    assert not slots.wait_idle(0)
    release.set()
    assert slots.wait_idle(PATIENCE_S)
    assert slots.wait_free(0) == 2
    slots.close()


def test_a_job_that_raises_frees_its_slot():
    slots = Slots("t", 1)
    slots.submit(lambda: int("absent"))
    assert slots.wait_idle(PATIENCE_S)
    done = threading.Event()
    slots.submit(done.set)
    assert done.wait(PATIENCE_S)
    slots.close()


@pytest.mark.parametrize("error", [asyncio.CancelledError(), SystemExit(3), KeyboardInterrupt()])
def test_a_job_that_raises_what_is_no_exception_does_not_take_its_thread_along(error):
    slots, done = Slots("t", 1), threading.Event()

    def job():
        raise error

    slots.submit(job)
    assert slots.wait_idle(PATIENCE_S)
    slots.submit(done.set)
    assert done.wait(PATIENCE_S)
    slots.close()


def test_a_thread_that_cannot_start_takes_no_slot(monkeypatch):
    slots, done = Slots("t", 1), threading.Event()

    def refuse(_):
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", refuse)
        with pytest.raises(RuntimeError, match="start new thread"):
            slots.submit(done.set)
    assert (slots.busy, slots.wait_free(0)) == (0, 1)
    slots.submit(done.set)
    assert done.wait(PATIENCE_S)
    slots.close()


def test_one_thread_serves_jobs_that_follow_each_other():
    slots, names = Slots("t", 3), set()
    for _ in range(5):
        slots.submit(lambda: names.add(threading.current_thread().name))
        assert slots.wait_idle(PATIENCE_S)
    assert len(names) == 1
    slots.close()


def test_closed_slots_offer_nothing_and_their_threads_end():
    slots = Slots("closing", 1)
    slots.submit(lambda: None)
    assert slots.wait_idle(PATIENCE_S)
    slots.close()
    assert slots.wait_free(0) == 0
    until(
        lambda: not any(t.name.startswith("conductor-closing") for t in threading.enumerate()),
        what="the threads have ended",
    )
