"""The server: everything in one command, over an embedded Redis unless another one is configured.

This process holds the embedded Redis and supervises what does the work: one process with all parts
as threads, or one each for API, sweeper with relay, system-task worker and effects workers, the
same commands that a larger deployment runs by themselves. What can be wrong with the configuration
is found before any of them starts.
"""

from __future__ import annotations

import contextlib
import http.client
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from pathlib import Path
from typing import Final

from conductor_py.config import Settings, environment_name, environment_of, load
from conductor_py.config.extras import check_extras
from conductor_py.processes.embedded_redis import EmbeddedRedis
from conductor_py.processes.identity import kept_name, new_name
from conductor_py.processes.listening import await_port, refuse_strangers
from conductor_py.processes.supervision import ChildSpec, Supervisor

#: The API of an owner that was killed needs a moment to close its port.
_PORT_S: Final = 3.0
_LOOK_S: Final = 0.02
_REQUEST_S: Final = 2.0
#: Nothing is lost while nobody sweeps, but somebody waits for the API.
_API_FIRST_MS: Final = 700
_STOP_MARGIN_MS: Final = 3_000
_EVERYWHERE: Final = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 - what it means, not a use
#: Read by expressions of definitions, not settings.
_FOR_EXPRESSIONS: Final = ("CONDUCTOR_SECRET_", "CONDUCTOR_ENV_")

Say = Callable[[str], None]


def run_server(settings: Settings, say: Say) -> int:
    """Run until a stop signal and return the exit code; only on the main thread.

    ``say`` is told where the server is once it answers. Raises ConfigurationError or
    ``StoreUnavailable``, one sentence, before anything runs.
    """
    began = time.monotonic()
    refuse_strangers(settings.server)
    check_extras(settings)
    if settings.lock.type not in {"redis", "none"}:
        from conductor_py.wiring import check_lock

        check_lock(settings)
    # Before a store begins beside another server that has one, and again: that may take a while.
    await_port(settings.server.host, settings.server.port, timeout_s=_PORT_S)
    is_one = settings.server.one_process and settings.server.workers == 1
    if is_one:  # the store takes as long to start as that takes to import
        threading.Thread(target=import_module, args=("granian.server",), daemon=True).start()
    with _store(settings) as (reached, name):
        await_port(settings.server.host, settings.server.port, timeout_s=_PORT_S)
        threading.Thread(
            target=_announce, args=(settings, say, began), name="announce", daemon=True
        ).start()
        if is_one:
            from conductor_py.processes.api import serve

            serve(
                load(environment={**environment_of(settings), **reached}),
                name,
                with_parts=True,
                is_alone=settings.redis.type == "embedded",
            )
            return 0
        return Supervisor(_children(settings, reached, name)).run()


@contextlib.contextmanager
def _store(settings: Settings) -> Iterator[tuple[Mapping[str, str], str]]:
    """Have a Redis; yield the settings, as variables, that lead to it, and this server's name."""
    if settings.redis.type != "embedded":
        from conductor_py.wiring import check_redis, release_shards

        check_redis(settings)
        name = new_name()
        yield {}, name
        release_shards(settings, name)
        return
    data = settings.data
    directory = Path(data.directory).absolute()
    with EmbeddedRedis(
        directory / "redis",
        binary=data.redis_binary or None,
        appendfsync=data.appendfsync,
        max_bytes=data.redis_bytes,
    ) as store:
        reached = {
            "conductor.db.type": "redis_standalone",
            "conductor.redis.socket": str(store.socket),
            "conductor.data.directory": str(directory),
            "conductor.erasure.rewriteAppendOnlyFile": "true",
        }
        variables = {environment_name(key): value for key, value in reached.items()}
        yield variables, kept_name(directory / "server-name")


def _children(settings: Settings, reached: Mapping[str, str], server: str) -> tuple[ChildSpec, ...]:
    """What runs beside this process; what it depends on first."""
    environment = {
        variable: value
        for variable, value in os.environ.items()
        if not variable.startswith("CONDUCTOR_") or variable.startswith(_FOR_EXPRESSIONS)
    }
    environment |= {**environment_of(settings), **reached}

    def child(
        name: str, *command: str, start_after_ms: int = 0, stop_timeout_ms: int = 10_000
    ) -> ChildSpec:
        return ChildSpec(
            name=name,
            argv=(sys.executable, "-m", "conductor_py.cli", *command),
            environment=environment,
            start_after_ms=start_after_ms,
            stop_timeout_ms=stop_timeout_ms,
        )

    stop_ms = settings.server.stop_timeout_ms + _STOP_MARGIN_MS
    children = [child("api", "api", "--server-name", server, stop_timeout_ms=stop_ms)]
    if settings.sweeper.enabled:
        children.append(
            child("sweeper", "sweeper", "--server-name", server, start_after_ms=_API_FIRST_MS)
        )
    elif settings.scheduler.enabled:
        children.append(
            child("scheduler", "scheduler", "--server-name", server, start_after_ms=_API_FIRST_MS)
        )
    if settings.system_tasks.enabled:
        children.append(
            child(
                "system-worker",
                "system-worker",
                *("--server-name", server),
                start_after_ms=2 * _API_FIRST_MS,
                stop_timeout_ms=settings.system_tasks.drain_ms + _STOP_MARGIN_MS,
            )
        )
    children += [
        child(f"effects-{number + 1}", "effects", start_after_ms=2 * _API_FIRST_MS)
        for number in range(settings.effects.workers)
    ]
    return tuple(children)


def _announce(settings: Settings, say: Say, began: float) -> None:
    """Tell where everything is, once the API says that it is healthy."""
    host, port = settings.server.host, settings.server.port
    host = _EVERYWHERE.get(host, host)
    while _status(host, port, "/health") != 200:
        threading.Event().wait(_LOOK_S)
    base = f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
    seconds = time.monotonic() - began
    say(f"The server is ready on {base} (after {seconds:.1f} s).")
    if settings.server.ui and _status(host, port, "/") in {200, 302}:
        say(f"  UI    {base}/")
    say(f"  API   {base}/api")
    say(f"  docs  {base}/swagger-ui/index.html")


def _status(host: str, port: int, path: str) -> int:
    """Ask for a page; 0 while nobody answers."""
    connection = http.client.HTTPConnection(host, port, timeout=_REQUEST_S)
    try:
        connection.request("GET", path)
        return connection.getresponse().status
    except (OSError, http.client.HTTPException):
        return 0
    finally:
        connection.close()
