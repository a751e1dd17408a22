"""Who keeps two servers from deciding on one execution at the same time, chosen by settings.

Drivers are imported when they are chosen; nothing is sent anywhere before the first use.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib.metadata import entry_points
from typing import TYPE_CHECKING, Final

from conductor_py.config import Settings
from conductor_py.config.extras import ZOOKEEPER, require_extra
from conductor_py.errors import ConfigurationError
from conductor_py.ports.lock import Lock
from conductor_py.wiring.installation import data_directory

if TYPE_CHECKING:
    from conductor_py.api.metrics import Metrics

_LOCKS: Final = "conductor_py.locks"
"""The entry points of locks: each makes a ``ports.lock.Lock`` of the settings that were given."""
_KEY: Final = "conductor.workflow-execution-lock.type"
_BUILT_IN: Final = ("redis", "zookeeper", "local_only", "none")
_UNFENCED: Final[Mapping[str, str]] = {
    "none": "nothing keeps two servers from overwriting each other's decisions",
    "local_only": "servers of other data directories may overwrite each other's decisions, and so "
    "may one that stood still longer than its lock lasts",
}
_UNFENCED_OTHERWISE: Final = (
    "a server that stood still longer than its lock lasts may overwrite what another has decided"
)


def lock_of(settings: Settings, metrics: Metrics | None = None) -> Lock | None:
    """Make the lock that is asked around the store, if it is not the lease inside of it.

    Raises ConfigurationError for one that is not there.
    """
    lock = _made(settings)
    if lock is None or metrics is None:
        return lock
    from conductor_py.adapters.counted_lock import CountedLock

    return CountedLock(lock, metrics.count)


def check_lock(settings: Settings) -> tuple[str, ...]:
    """Say what lock and fencing, as they are set, do not give; nothing when they are safe.

    Raises ConfigurationError for a lock that is not there.
    """
    lock_of(settings)
    if settings.app.fencing:
        return ()
    what = _UNFENCED.get(settings.lock.type, _UNFENCED_OTHERWISE)
    return (f"conductor.app.fencing.enabled is false: {what}",)


def _made(settings: Settings) -> Lock | None:
    match settings.lock.type:
        case "redis" | "none":
            return None
        case "local_only":
            from conductor_py.adapters.machine_lock import MachineLock

            return MachineLock(data_directory(settings) / "locks")
        case "zookeeper":
            return _zookeeper(settings)
        case name:
            return _installed(name, settings)


def _zookeeper(settings: Settings) -> Lock:
    require_extra("zookeeper", ZOOKEEPER)
    from conductor_py.adapters.zookeeper.lock import ZookeeperLock

    lock = settings.lock
    return ZookeeperLock(
        lock.zookeeper,
        namespace=lock.zookeeper_namespace,
        session_ms=lock.zookeeper_session_ms,
        connect_ms=lock.zookeeper_connect_ms,
    )


def _installed(name: str, settings: Settings) -> Lock:
    points = {point.name: point for point in entry_points(group=_LOCKS)}
    if name not in points:
        known = ", ".join((*_BUILT_IN, *sorted(points)))
        raise ConfigurationError(f"{_KEY}: no lock is called '{name}'; known: {known}")
    try:
        lock: Lock = points[name].load()(settings.given)
    except Exception as error:
        raise ConfigurationError(
            f"{_KEY}: the lock {name} ({points[name].value}) cannot be made: {error}"
        ) from error
    absent = [verb for verb in ("acquire", "renew", "release") if not hasattr(lock, verb)]
    if absent:
        raise ConfigurationError(f"{points[name].value} makes no lock: it has no {absent[0]}")
    return lock
