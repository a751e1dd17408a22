"""A session with ZooKeeper, and nodes that live and die with it.

Every session has an *anchor*, a node of its own that ends with it. A change names the anchor it was
meant under, and ZooKeeper makes it only while that is there: what a session of ours made is never
taken away in the name of the next one, which may come about at any moment.
"""

from __future__ import annotations

import logging
import secrets
import threading
import time
from collections.abc import Callable
from typing import Any, Final

from kazoo.client import KazooClient, TransactionRequest
from kazoo.exceptions import KazooException, NodeExistsError, NoNodeError
from kazoo.handlers.threading import KazooTimeoutError
from kazoo.protocol.states import KazooState

from conductor_py.errors import StoreUnavailable

_TRIES: Final = 3
_RECONNECT: Final = {"max_tries": -1, "delay": 0.1, "backoff": 2, "max_delay": 2.0}


class Session:
    """The connection of one process: one session after the other. Safe for threads."""

    def __init__(
        self,
        hosts: str,
        namespace: str,
        *,
        session_ms: int,
        connect_ms: int,
        on_lost: Callable[[], None],
    ) -> None:
        """Begin to connect. ``connect_ms`` bounds how long the first callers wait for that, and how
        long an answer may take; ``on_lost`` is told of the end of a session, and must not wait.
        """
        self._root = "/" + namespace.strip("/")
        self._answer_s = connect_ms / 1000
        self._on_lost = on_lost
        self._anchoring = threading.Lock()
        self._anchor = ""
        # It warns of every attempt to connect; what comes of it is said by who needs it.
        quiet = logging.getLogger(f"{__name__}.client")
        quiet.setLevel(logging.ERROR)
        self._client = KazooClient(
            hosts=hosts, timeout=session_ms / 1000, connection_retry=_RECONNECT, logger=quiet
        )
        self._client.add_listener(self._changed)
        self._patient_until = time.monotonic() + self._answer_s
        self._connected: threading.Event = self._client.start_async()

    def anchor(self) -> str:
        """The anchor of the session; made when it is new."""
        self._await_connection()
        if anchor := self._anchor:
            return anchor
        with self._anchoring:
            if not self._anchor:
                made = secrets.token_hex(16)
                self._ensure("locks")
                self._ensure("sessions")
                path = self._path("sessions", made)
                self._answer(self._client.create_async(path, b"", ephemeral=True))
                self._anchor = made
            return self._anchor

    def create(self, name: str, value: bytes) -> str:
        """Make a node that ends with the session; its anchor, empty when there is one already.

        After ``StoreUnavailable`` it may be there nevertheless.
        """
        path = self._path("locks", name)

        def make(request: TransactionRequest) -> None:
            request.create(path, value, ephemeral=True)

        for _ in range(_TRIES):
            anchor = self.anchor()
            alive, made = self._together(anchor, make)
            if not isinstance(made, Exception):
                return anchor
            if isinstance(made, NodeExistsError):
                return ""
            if isinstance(alive, NoNodeError):
                self._forget(anchor)
        raise StoreUnavailable("The session with ZooKeeper ends again and again.")

    def delete(self, name: str, anchor: str) -> bool:
        """Remove a node that was made under ``anchor``; false when that session has ended, and the
        node with it.
        """
        path = self._path("locks", name)
        results = self._together(anchor, lambda request: request.delete(path))
        return not any(isinstance(result, Exception) for result in results)

    def value(self, name: str) -> bytes | None:
        """Read a node; ``None`` when there is none."""
        self._await_connection()
        try:
            value, _ = self._answer(self._client.get_async(self._path("locks", name)))
        except NoNodeError:
            return None
        return bytes(value)

    def is_there(self, name: str, changed: Callable[[], object]) -> bool:
        """Whether there is a node; if so, ``changed`` is called when it goes, or the connection."""
        self._await_connection()
        path = self._path("locks", name)
        found = self._client.exists_async(path, watch=lambda _event: changed())
        return self._answer(found) is not None

    def lives(self, anchor: str) -> bool:
        """Whether, for all we know, the session of an anchor goes on."""
        return bool(anchor == self._anchor and self._client.connected)

    def close(self) -> None:
        """End the session, and all its nodes with it."""
        self._client.remove_listener(self._changed)
        self._client.stop()
        self._client.close()

    def _ensure(self, folder: str) -> None:
        self._answer(self._client.ensure_path_async(f"{self._root}/{folder}"))

    def _together(self, anchor: str, add: Callable[[TransactionRequest], None]) -> list[Any]:
        """Change something while the anchor is there, in one step; results, or what was refused."""
        self._await_connection()
        request = self._client.transaction()
        request.check(self._path("sessions", anchor), 0)
        add(request)
        results: list[Any] = self._answer(request.commit_async())
        return results

    def _await_connection(self) -> None:
        if not self._client.connected:
            self._connected.wait(max(self._patient_until - time.monotonic(), 0))
            if not self._client.connected:
                raise StoreUnavailable("There is no connection to ZooKeeper.")

    def _answer(self, pending: Any) -> Any:  # noqa: ANN401 - kazoo has no types
        try:
            return pending.get(timeout=self._answer_s)
        except NoNodeError:
            raise
        except (KazooException, KazooTimeoutError) as error:
            sentence = f"ZooKeeper does not answer ({type(error).__name__})."
            raise StoreUnavailable(sentence) from error

    def _changed(self, state: str) -> None:
        """Called by the thread of the connection, before a next session can begin."""
        if state == KazooState.CONNECTED:
            self._patient_until = 0.0
        elif state == KazooState.LOST:
            self._anchor = ""
            self._on_lost()

    def _forget(self, anchor: str) -> None:
        with self._anchoring:
            if self._anchor == anchor:
                self._anchor = ""

    def _path(self, folder: str, name: str) -> str:
        return f"{self._root}/{folder}/{name}"
