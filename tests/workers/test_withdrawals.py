"""What an attempt has staged is taken back at its end; what cannot be is told, no more."""

from __future__ import annotations

import logging
from types import SimpleNamespace
from typing import Any

import pytest

from conductor_workers.pipelines import coordinator as module
from conductor_workers.pipelines.connectors import Epoch, Owner, SinkProblem
from conductor_workers.pipelines.coordinator import PipelineCoordinator
from conductor_workers.pipelines.storage import StoreAway
from conductor_workers.pipelines.store import Fenced


class _Sink:
    """Takes back, or cannot."""

    def __init__(self, error: Exception | None = None) -> None:
        self.error = error
        self.asked: list[int] = []

    def withdraw(self, epoch: Epoch) -> None:
        self.asked.append(epoch.number)
        if self.error is not None:
            raise self.error


def _fenced(monkeypatch: pytest.MonkeyPatch, **sinks: object) -> None:
    """Run a pipeline that finds, after none of its epochs is decided, that another attempt has its
    task.
    """

    def epoch(sink: str, number: int) -> Epoch:
        return Epoch(owner=Owner(task="t"), pipeline="p", sink=sink, number=number, token=7)

    def fenced(*_: object) -> None:
        raise Fenced

    plan = SimpleNamespace(id="p", plan_hash="h", nodes=())
    ground: Any = SimpleNamespace(plan=plan, job=None, sinks=sinks, dead_letter=None, epoch=epoch)
    nothing: Any = SimpleNamespace()
    view: Any = SimpleNamespace(group="", state="")
    monkeypatch.setattr(module, "Pace", lambda *_: None)
    monkeypatch.setattr(PipelineCoordinator, "_ran", fenced)
    with pytest.raises(Fenced):
        PipelineCoordinator(ground, nothing, nothing, view).run(nothing)
    assert view.state == "FENCED"


@pytest.mark.parametrize(
    ("error", "level"),
    [
        (SinkProblem("SINK_UNAVAILABLE", "it is away"), logging.WARNING),
        (StoreAway("it is away"), logging.WARNING),
        (TypeError("a bug"), logging.ERROR),
    ],
)
def test_a_sink_that_takes_nothing_back_is_named_and_neither_others_nor_the_fence_are_kept_waiting(
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    error: Exception,
    level: int,
) -> None:
    broken, other = _Sink(error), _Sink()
    _fenced(monkeypatch, broken=broken, other=other)

    assert (broken.asked, other.asked) == ([1], [1])
    (told,) = caplog.records
    assert told.levelno == level
    assert (told.__dict__["sink"], told.__dict__["epoch"]) == ("broken", "1")
    assert bool(told.exc_info) == (level == logging.ERROR)


def test_what_is_taken_back_is_not_spoken_of(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    sink = _Sink()
    _fenced(monkeypatch, sink=sink, plain=object())

    assert sink.asked == [1]
    assert caplog.records == []
