"""A payload that cannot be deleted costs itself, and no delivery."""

from collections.abc import Callable
from typing import Any

import pytest

from conductor_py.errors import StoreUnavailable
from conductor_py.model.event_handlers import EventMessage
from conductor_py.testing import MemoryEngine, memory_engine
from tests.builders import fork, join, simple, typed, workflow
from tests.engine.test_notifications import Hook, listening


class Topic:
    """A broker that remembers."""

    def __init__(self) -> None:
        self.got: list[EventMessage] = []

    def publish(self, messages: Any) -> None:
        self.got += messages


class Kept:
    """Payloads that are not deleted as long as ``refuses`` is set."""

    def __init__(self, engine: MemoryEngine, monkeypatch: pytest.MonkeyPatch) -> None:
        self.refuses, self.tried = True, 0
        self.deleted: list[str] = []
        delete: Callable[[str], None] = engine.ports.payloads.delete

        def refused(_: Any, path: str) -> None:
            self.tried += 1
            if self.refuses:
                raise StoreUnavailable("the bucket takes nothing away")
            delete(path)
            self.deleted.append(path)

        monkeypatch.setattr(type(engine.ports.payloads), "delete", refused)


def passes(engine: MemoryEngine, *, hours: int) -> None:
    for _ in range(hours * 6):
        engine.settle()
        engine.clock.advance(seconds=600)
    engine.settle()


def test_a_notice_whose_payload_stays_is_told_once(monkeypatch: pytest.MonkeyPatch) -> None:
    hook = Hook()
    engine = listening(hook, tasks=True, workflows=False)
    kept = Kept(engine, monkeypatch)
    refs = [f"t{number}" for number in range(100)]
    engine.start(workflow("w", fork("f", *([simple(ref)] for ref in refs)), join("j", *refs)))
    passes(engine, hours=1)
    told = [identity for _, identity, _ in hook.posts]
    assert len(told) == len(set(told)) >= 100
    assert kept.tried > 1
    kept.refuses = False
    passes(engine, hours=1)
    assert len(kept.deleted) == 1
    tried = kept.tried
    passes(engine, hours=1)
    assert kept.tried == tried


def test_a_message_whose_payload_stays_is_published_once_and_given_up_in_the_end(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    topic = Topic()
    engine = memory_engine(sinks={"kafka": topic})
    kept = Kept(engine, monkeypatch)
    large = {"text": "x" * 200_000}
    engine.start(workflow("w", typed("EVENT", "e", sink="kafka:orders", inputParameters=large)))
    passes(engine, hours=1)
    assert [message.payload["text"] for message in topic.got] == [large["text"]]  # type: ignore[index, call-overload]
    passes(engine, hours=30)
    tried = kept.tried
    passes(engine, hours=30)
    assert kept.tried == tried
    assert len(topic.got) == 1
    assert "A payload stays in its storage" in caplog.text
