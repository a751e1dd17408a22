"""Event handlers and their records in memory: the reference implementation of the port."""

from __future__ import annotations

from collections.abc import Sequence

from conductor_py.adapters.memory.space import Held, MemorySpace


class MemoryEventStore:
    """``EventStore`` in memory; engines that share one store share the handlers."""

    def __init__(self, space: MemorySpace) -> None:
        """Use the clock and the lock of the space."""
        self._space = space
        self._state = space.events

    def put_handler(self, name: str, event: str, document: bytes, *, create: bool) -> bool:
        with self._space.lock:
            if create is (name in self._state.handlers):
                return False
            self._state.handlers[name] = (event, document)
            return True

    def delete_handler(self, name: str) -> bool:
        with self._space.lock:
            return self._state.handlers.pop(name, None) is not None

    def handlers(self, event: str | None) -> dict[str, bytes]:
        with self._space.lock:
            return {
                name: document
                for name, (of, document) in sorted(self._state.handlers.items())
                if event in {None, of}
            }

    def settled(self, actions: Sequence[str]) -> dict[str, str]:
        with self._space.lock:
            now, known = self._space.clock(), self._state.targets
            return {
                action: known[action][0]
                for action in actions
                if action in known and known[action][1] > now
            }

    def settle(self, action: str, target: str, life_ms: int) -> str:
        with self._space.lock:
            now = self._space.clock()
            known = self._state.targets.get(action)
            if known is None or known[1] <= now:
                known = self._state.targets[action] = (target, now + life_ms)
            return known[0]

    def hold(self, event: str, message: bytes, limit: int, life_ms: int) -> int:
        with self._space.lock:
            now = self._space.clock()
            held = self._live(event)
            held.messages.setdefault(message, now)
            held.until_ms = now + life_ms
            gone = sorted(held.messages, key=lambda one: (held.messages[one], one))
            gone = gone[: max(len(gone) - limit, 0)]
            for one in gone:
                del held.messages[one]
            return len(gone)

    def held(self, event: str, limit: int) -> tuple[bytes, ...]:
        with self._space.lock:
            messages = self._live(event).messages
            return tuple(sorted(messages, key=lambda one: (messages[one], one))[:limit])

    def drop_held(self, event: str, messages: Sequence[bytes]) -> None:
        with self._space.lock:
            for message in messages:
                self._live(event).messages.pop(message, None)

    def record(self, records: Sequence[tuple[str, bytes]], limit: int) -> None:
        with self._space.lock:
            for outcome, document in records:
                self._state.counts[outcome] += 1
                if document:
                    self._state.records.insert(0, document)
            del self._state.records[limit:]

    def records(self, limit: int) -> tuple[bytes, ...]:
        with self._space.lock:
            return tuple(self._state.records[:limit])

    def counts(self) -> dict[str, int]:
        with self._space.lock:
            return dict(self._state.counts)

    def _live(self, event: str) -> Held:
        held = self._state.held[event]
        if held.until_ms <= self._space.clock():
            held.messages.clear()
        return held
