"""This server, as it ships, and once more with a disk that is waited for."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import version
from typing import Final

from benchmarks.peers.conductor import turn_of
from benchmarks.peers.peer import Peer, Ready
from benchmarks.peers.valkey import KEEPS
from benchmarks.server_part import server

_WARM: Final = 1000


@contextmanager
def _as_it_ships() -> Iterator[Ready]:
    with server() as at:
        store = at.bare.counters().version
        yield Ready(
            version=f"{version('conductor-py')}, Valkey {store}",
            pids=at.pids,
            turn=turn_of(at, warm=_WARM),
        )


@contextmanager
def _synced() -> Iterator[Ready]:
    with server(CONDUCTOR_EMBEDDED_REDIS_APPENDFSYNC="always") as at:
        yield Ready(version="the same", pids=at.pids, turn=turn_of(at, warm=_WARM, forks=False))


OURS: Final = Peer(
    name="ours",
    title="conductor-py",
    keeps=f"{KEEPS}; index",
    counted="all processes",
    start=_as_it_ships,
)
SYNCED: Final = Peer(
    name="ours",
    title="conductor-py, `appendfsync=always`",
    keeps="append-only file, on disk before each answer; index",
    counted="all processes",
    start=_synced,
)
