"""Which lock stands around the store, and what is said about it at the start."""

from __future__ import annotations

import subprocess
import sys
from importlib.metadata import EntryPoint, EntryPoints
from pathlib import Path
from typing import Any

import pytest

from conductor_py.adapters.counted_lock import CountedLock
from conductor_py.api.metrics import Metrics
from conductor_py.config import Settings, load
from conductor_py.errors import ConfigurationError, StoreUnavailable
from conductor_py.model.ids import ExecutionId
from conductor_py.ports.lock import Lock
from conductor_py.wiring import build_engine, check_lock
from conductor_py.wiring import locks as wiring
from conductor_py.wiring.locks import lock_of
from tests.conftest import RealRedis

_ONE = ExecutionId("000" + "1" * 29)
_TYPE = "conductor.workflow-execution-lock.type"
_PACKAGE = """
class Ours:
    def __init__(self, settings):
        self.held = {}
        self.where = settings["conductor.zookeeper-lock.connectionString"]

    def acquire(self, execution, holder, *, wait_ms, lease_ms):
        return self.held.setdefault(execution, holder) == holder

    def renew(self, execution, holder, *, lease_ms):
        return self.held.get(execution) == holder

    def release(self, execution, holder):
        return self.held.pop(execution, None) == holder
"""


def _settings(kind: str, **flags: str) -> Settings:
    others = {f"conductor.{key.replace('__', '.')}": value for key, value in flags.items()}
    return load(flags={_TYPE: kind, **others})


def _points(monkeypatch: pytest.MonkeyPatch, **made: Any) -> None:
    points = EntryPoints(EntryPoint(n, f"somewhere:{n}", "conductor_py.locks") for n in made)
    monkeypatch.setattr(wiring, "entry_points", lambda **_: points)
    monkeypatch.setattr(EntryPoint, "load", lambda self: made[self.name])


@pytest.mark.parametrize("kind", ["redis", "none"])
def test_the_lease_of_the_store_and_no_lock_at_all_are_nothing_beside_the_store(kind: str) -> None:
    assert lock_of(_settings(kind)) is None


def test_processes_of_one_data_directory_lock_each_other_out(tmp_path: Path) -> None:
    settings = _settings("local_only", data__directory=str(tmp_path / "data"))
    elsewhere = _settings("local_only", data__directory=str(tmp_path / "other"))
    first, second, other = (lock_of(each) for each in (settings, settings, elsewhere))
    assert first is not None
    assert second is not None
    assert other is not None

    assert first.acquire(_ONE, "a", wait_ms=0, lease_ms=600_000)
    assert not second.acquire(_ONE, "b", wait_ms=0, lease_ms=600_000)
    assert other.acquire(_ONE, "c", wait_ms=0, lease_ms=600_000)


@pytest.mark.parametrize("known", [(), ("ours", "theirs")])
def test_a_lock_that_is_not_there_is_refused_with_those_that_are(
    known: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    _points(monkeypatch, **dict.fromkeys(known))
    listed = ", ".join(("redis, zookeeper, local_only, none", *known))

    with pytest.raises(ConfigurationError, match=f"no lock is called 'zookeper'; known: {listed}$"):
        check_lock(_settings("zookeper"))


@pytest.mark.parametrize(
    ("made", "sentence"),
    [
        (lambda _: 1 // 0, "the lock ours .somewhere:ours. cannot be made: .*by zero"),
        (lambda _: object(), "somewhere:ours makes no lock: it has no acquire"),
    ],
)
def test_an_installed_lock_that_is_none_is_refused(
    made: Any, sentence: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    _points(monkeypatch, ours=made)

    with pytest.raises(ConfigurationError, match=sentence):
        check_lock(_settings("ours"))


def test_a_lock_of_an_installed_package_is_found_by_its_name(
    newest_redis: RealRedis, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A tiny distribution as pip leaves it, and an engine that decides under its lock."""
    package = tmp_path / "site"
    information = package / "our_lock-1.0.dist-info"
    information.mkdir(parents=True)
    (package / "our_lock.py").write_text(_PACKAGE)
    (information / "METADATA").write_text("Metadata-Version: 2.1\nName: our-lock\nVersion: 1.0\n")
    (information / "entry_points.txt").write_text("[conductor_py.locks]\nours = our_lock:Ours\n")
    monkeypatch.syspath_prepend(str(package))
    settings = _settings(
        "ours",
        redis__socket=newest_redis.url.removeprefix("unix://"),
        data__directory=str(tmp_path),
        **{"zookeeper-lock__connectionString": "here:1"},
    )

    lock: Any = lock_of(settings)
    engine = build_engine(settings, server="one")

    assert (type(lock).__name__, lock.where) == ("Ours", "here:1")
    assert engine.executor._locking is not None
    assert type(engine.executor._locking._lock).__name__ == "Ours"


@pytest.mark.parametrize(
    ("kind", "fencing", "sentence"),
    [
        ("redis", "true", ""),
        ("none", "true", ""),
        ("local_only", "true", ""),
        ("redis", "false", "stood still longer than its lock lasts"),
        ("none", "false", "nothing keeps two servers from overwriting"),
        ("local_only", "false", "servers of other data directories"),
    ],
)
def test_what_is_not_safe_is_said(kind: str, fencing: str, sentence: str) -> None:
    said = check_lock(_settings(kind, app__fencing__enabled=fencing))

    assert len(said) == bool(sentence)
    assert all(sentence in one and "conductor.app.fencing.enabled" in one for one in said)


@pytest.mark.parametrize("command", ["server", "api", "sweeper"])
def test_a_process_whose_lock_is_not_there_does_not_start(
    newest_redis: RealRedis, tmp_path: Path, command: str
) -> None:
    ended = subprocess.run(
        (
            *(sys.executable, "-m", "conductor_py.cli", command, "--redis", newest_redis.url),
            *("--data", str(tmp_path), "--set", f"{_TYPE}=postgres"),
        ),
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    assert ended.returncode == 2
    (said,) = [line for line in ended.stderr.splitlines() if line.startswith("Error: ")]
    assert said.startswith(f"Error: {_TYPE}: no lock is called 'postgres'; known: redis, ")
    assert "Traceback" not in ended.stderr


class _Away:
    def acquire(self, execution: ExecutionId, holder: str, *, wait_ms: int, lease_ms: int) -> bool:
        raise StoreUnavailable("away")

    def renew(self, execution: ExecutionId, holder: str, *, lease_ms: int) -> bool:
        return False

    def release(self, execution: ExecutionId, holder: str) -> bool:
        return False


def test_what_comes_of_locks_is_counted(tmp_path: Path) -> None:
    metrics = Metrics()
    settings = _settings("local_only", data__directory=str(tmp_path))
    lock = lock_of(settings, metrics)
    assert isinstance(lock, CountedLock)

    assert lock.acquire(_ONE, "a", wait_ms=0, lease_ms=600_000)
    assert not lock.acquire(_ONE, "b", wait_ms=0, lease_ms=600_000)
    assert lock.release(_ONE, "a")
    assert not lock.release(_ONE, "a")
    away: Lock = CountedLock(_Away(), metrics.count)
    with pytest.raises(StoreUnavailable):
        away.acquire(_ONE, "a", wait_ms=0, lease_ms=600_000)

    shown = metrics.write().decode().splitlines()
    for outcome in ("HELD", "MISSED", "LOST", "AWAY"):
        assert f'conductor_locks_total{{outcome="{outcome}"}} 1.0' in shown
