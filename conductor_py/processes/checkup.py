"""A check-up before the first start, or after a failed one: is everything there that the settings
speak of? It changes nothing; a payload that it stores in a bucket, it deletes again.
"""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
import time
import urllib.request
from collections.abc import Callable, Iterator
from enum import StrEnum
from http.client import HTTPException
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Final

from conductor_py.config import Settings
from conductor_py.config.extras import missing_extras
from conductor_py.errors import ConductorError, ConfigurationError
from conductor_py.processes.listening import await_port, refuse_strangers
from conductor_py.processes.redis_binary import find_binary, read_engine
from conductor_py.records import dataclass
from conductor_py.wiring import check_lock, check_payloads, check_search, describe_redis

_REQUEST_S: Final = 2.0
_ANSWER_BYTES: Final = 65_536
_ROOM_BYTES: Final = 1_000_000_000
_SKEW_MS: Final = 1_000
_JAVA: Final = 17
_JAVA_S: Final = 30


class Verdict(StrEnum):
    """How a look ended."""

    OK = "ok"
    WARNING = "warning"
    FAILURE = "failure"


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """What one look found, and what to do about it when it is not as it should be."""

    verdict: Verdict
    about: str
    said: str
    remedy: str = ""


def check_up(settings: Settings) -> Iterator[Finding]:
    """Look at one thing after the other."""
    looks: tuple[tuple[str, Callable[[Settings], Iterator[Finding]]], ...] = (
        ("this software", _software),
        ("settings", _settings),
        ("packages", _packages),
        ("data directory", _data),
        ("address", _address),
        ("Redis", _redis),
        ("lock", _lock),
        ("search", _search),
        ("payload storage", _payloads),
        ("Spark", _spark),
    )
    absent = frozenset(missing_extras(settings))
    for about, look in looks:
        try:
            yield from look(settings)
        except ConductorError as error:
            if error.message not in absent:  # it has been said of the packages
                yield _failed(about, error.message)
        except OSError as error:
            yield _failed(about, error.strerror or str(error))


def _software(_: Settings) -> Iterator[Finding]:
    said = f"conductor-py {version('conductor-py')}, Python {platform.python_version()}"
    yield _fine("this software", f"{said}, {platform.system()} {platform.machine()}")


def _settings(settings: Settings) -> Iterator[Finding]:
    yield _fine("settings", "they can be read")
    for key in settings.without_effect:
        yield _odd("settings", f"{key} is known and changes nothing here", "leave it out")
    for sentence in settings.ignored:
        yield _odd("settings", sentence, "leave it out")
    for file in settings.open_files:
        yield _odd("settings", f"every user of this machine can read {file}", f"chmod o= {file}")


def _packages(settings: Settings) -> Iterator[Finding]:
    for sentence in missing_extras(settings):
        yield _failed("packages", sentence)


def _data(settings: Settings) -> Iterator[Finding]:
    directory = Path(settings.data.directory).absolute()
    there = next(each for each in (directory, *directory.parents) if each.exists())
    if not there.is_dir() or not os.access(there, os.W_OK | os.X_OK):
        yield _failed("data directory", f"{there} cannot be written", "name another with --data")
        return
    free = shutil.disk_usage(there).free
    said = f"{directory}, {free / 1e9:.1f} GB free"
    if free < _ROOM_BYTES:
        yield _odd("data directory", said, "Redis stops taking writes when the disk is full")
    elif there == directory and directory.stat().st_mode & 0o077:
        yield _odd(
            "data directory",
            f"{directory} can be entered by other users of this machine",
            f"chmod -R go= {directory}, unless it is shared on purpose",
        )
    else:
        yield _fine("data directory", said)


def _address(settings: Settings) -> Iterator[Finding]:
    host, port = settings.server.host, settings.server.port
    try:
        refuse_strangers(settings.server)
    except ConfigurationError as error:
        yield _failed("address", error.message)
        return
    try:
        await_port(host, port)
        yield _fine("address", f"{host}:{port} is free")
    except ConfigurationError as error:
        running = _running(host, port)
        if running:
            yield _fine("address", f"conductor-py {running} answers at {host}:{port}")
        else:
            yield _failed("address", error.message)


def _running(host: str, port: int) -> str:
    """The version of the server of this kind that answers there; empty when none does."""
    try:
        with urllib.request.urlopen(
            f"http://{host}:{port}/actuator/info", timeout=_REQUEST_S
        ) as answer:
            found = re.search(
                rb'"name":\s*"conductor-py",\s*"version":\s*"([^"]+)"', answer.read(_ANSWER_BYTES)
            )
    except (OSError, ValueError, HTTPException):  # it may speak something else than HTTP
        return ""
    return found[1].decode() if found else ""


def _redis(settings: Settings) -> Iterator[Finding]:
    if settings.redis.type == "embedded":
        binary = find_binary(settings.data.redis_binary or None)
        yield _fine("Redis", f"embedded: {read_engine(binary)}, {binary}")
        return
    began_ms = time.time() * 1000
    found = describe_redis(settings)
    took_ms = time.time() * 1000 - began_ms
    yield _fine("Redis", f"{found.version}, answers after {took_ms:.0f} ms")
    for warning in found.warnings:
        yield _odd("Redis", warning, "what it has accepted may be lost when it stops")
    skew_ms = abs(found.now_ms - began_ms - took_ms / 2)
    if skew_ms > _SKEW_MS + took_ms:
        said = f"its clock and that of this machine are {skew_ms / 1000:.1f} s apart"
        yield _odd("Redis", said, "set both by NTP: times that people see come from both")


def _lock(settings: Settings) -> Iterator[Finding]:
    if settings.lock.type in {"redis", "none"}:
        return
    warnings = check_lock(settings)
    yield _fine("lock", f"{settings.lock.type} answers")
    for warning in warnings:
        yield _odd("lock", warning)


def _search(settings: Settings) -> Iterator[Finding]:
    check_search(settings)
    yield _fine("search", f"{settings.index.type} answers")


def _payloads(settings: Settings) -> Iterator[Finding]:
    if settings.payload_storage.type == "files":
        yield _fine("payload storage", "files in the data directory")
        return
    bucket = settings.payload_storage.bucket
    check_payloads(settings)
    yield _fine("payload storage", f"bucket {bucket}: a document was stored, read and deleted")


def _spark(_: Settings) -> Iterator[Finding]:
    try:
        spark = version("pyspark")
    except PackageNotFoundError:
        yield _fine("Spark", "not installed; pip install '.[spark]' on machines with Spark workers")
        return
    home = os.environ.get("JAVA_HOME")
    java = str(Path(home) / "bin/java") if home else shutil.which("java")
    if java is None:
        yield _odd("Spark", f"pyspark {spark}, and no Java", "install Java 17 or newer")
        return
    try:
        ended = subprocess.run(
            (java, "-version"), capture_output=True, text=True, timeout=_JAVA_S, check=False
        )
    except subprocess.TimeoutExpired:
        said = f"pyspark {spark}, and {java} -version does not end within {_JAVA_S} s"
        yield _odd("Spark", said, f"set JAVA_HOME to a Java {_JAVA} or newer that works")
        return
    found = re.search(r'version "(\d+)', ended.stderr)
    said = f"pyspark {spark}, Java {found[1] if found else 'of unknown version'}"
    if found and int(found[1]) < _JAVA:
        yield _odd("Spark", said, f"Spark needs Java {_JAVA} or newer: set JAVA_HOME")
    else:
        yield _fine("Spark", said)


def _fine(about: str, said: str) -> Finding:
    return Finding(verdict=Verdict.OK, about=about, said=said)


def _odd(about: str, said: str, remedy: str = "") -> Finding:
    return Finding(verdict=Verdict.WARNING, about=about, said=said, remedy=remedy)


def _failed(about: str, said: str, remedy: str = "") -> Finding:
    return Finding(verdict=Verdict.FAILURE, about=about, said=said, remedy=remedy)
