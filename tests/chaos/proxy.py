"""A proxy between some of the processes and Redis: it cuts connections, loses replies, delays.

A reply that is lost after its command was carried out is what no kill of a client or of Redis
brings about reliably, and what a repeated command must survive.
"""

from __future__ import annotations

import asyncio
import random
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

_CHUNK = 1 << 16
_LONGEST_DELAY_S = 0.2


class Proxy:
    """Listens on `socket` and forwards to `target`, in a thread of its own."""

    def __init__(self, socket: Path, target: Path, chance: random.Random) -> None:
        self.socket = socket
        self._target = target
        self._chance = chance
        self._pairs: set[_Pair] = set()
        self._slow_until = 0.0
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run, name="proxy", daemon=True)
        self._ready = threading.Event()

    @property
    def url(self) -> str:
        return f"unix://{self.socket}"

    def start(self) -> None:
        """Listen; returns when it does."""
        self._thread.start()
        assert self._ready.wait(5), "the proxy does not listen"

    def stop(self) -> None:
        """Close everything."""
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(5)

    def cut(self) -> None:
        """Close all connections at once."""
        self._soon(self._close_all)

    def lose_replies(self) -> None:
        """Close each connection instead of handing on the next reply."""

        def mark() -> None:
            for pair in self._pairs:
                pair.loses_reply = True

        self._soon(mark)

    def slow_down(self, seconds: float) -> None:
        """Hold every chunk back for a moment, for so long."""

        def mark() -> None:
            self._slow_until = self._loop.time() + seconds

        self._soon(mark)

    def _close_all(self) -> None:
        for pair in list(self._pairs):
            pair.close()

    def _soon(self, act: Callable[[], object]) -> None:
        self._loop.call_soon_threadsafe(act)

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        server = self._loop.run_until_complete(
            asyncio.start_unix_server(self._accept, path=self.socket)
        )
        self._ready.set()
        try:
            self._loop.run_forever()
        finally:
            server.close()
            self._close_all()
            waiting = asyncio.all_tasks(self._loop)
            for task in waiting:
                task.cancel()
            self._loop.run_until_complete(asyncio.gather(*waiting, return_exceptions=True))
            self._loop.close()

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            target_reader, target_writer = await asyncio.open_unix_connection(self._target)
        except OSError:
            writer.close()
            return
        pair = _Pair(writer, target_writer)
        self._pairs.add(pair)
        try:
            with suppress(asyncio.CancelledError):  # the proxy itself ends
                await asyncio.gather(
                    self._forward(pair, reader, target_writer, replies=False),
                    self._forward(pair, target_reader, writer, replies=True),
                )
        finally:
            pair.close()
            self._pairs.discard(pair)

    async def _forward(
        self,
        pair: _Pair,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        *,
        replies: bool,
    ) -> None:
        with suppress(OSError):
            while chunk := await reader.read(_CHUNK):
                if replies and pair.loses_reply:
                    break
                if self._loop.time() < self._slow_until:
                    await asyncio.sleep(self._chance.uniform(0, _LONGEST_DELAY_S))
                writer.write(chunk)
                await writer.drain()
        pair.close()


class _Pair:
    """The two halves of one connection."""

    def __init__(self, *writers: asyncio.StreamWriter) -> None:
        self._writers = writers
        self.loses_reply = False

    def close(self) -> None:
        for writer in self._writers:
            writer.close()
