"""A process that starts while Redis is away waits for it."""

import threading

import pytest

from conductor_py.config import Settings, load
from conductor_py.errors import ConfigurationError, StoreUnavailable
from conductor_py.processes.readiness import await_redis

_SETTINGS = load(environment={})


class Redis:
    """Is away for the first looks at it."""

    def __init__(self, away_for: int) -> None:
        self.left = away_for

    def check(self, settings: Settings) -> tuple[str, ...]:
        assert settings is _SETTINGS
        self.left -= 1
        if self.left >= 0:
            raise StoreUnavailable("Redis does not answer: nobody is there")
        return ("the append-only file is off",)


class Stop(threading.Event):
    """Writes the pauses down in place of sleeping, and is set in the middle of one of them."""

    def __init__(self, set_in: int = 1_000) -> None:
        super().__init__()
        self.set_in = set_in
        self.pauses: list[float | None] = []

    def wait(self, timeout: float | None = None) -> bool:
        self.pauses.append(timeout)
        if len(self.pauses) == self.set_in:
            self.set()
        return self.is_set()


def test_what_is_away_is_asked_again_after_growing_pauses() -> None:
    stop = Stop()

    found = await_redis(_SETTINGS, stop, check=Redis(away_for=7).check)

    assert found == ("the append-only file is off",)
    assert stop.pauses == [0.2, 0.4, 0.8, 1.6, 3.2, 5.0, 5.0]


def test_who_is_asked_to_stop_waits_no_longer() -> None:
    redis = Redis(away_for=1_000)

    assert await_redis(_SETTINGS, Stop(set_in=3), check=redis.check) == ()

    assert redis.left == 997


def test_what_may_not_be_used_is_not_waited_for() -> None:
    def check(_settings: Settings) -> tuple[str, ...]:
        raise ConfigurationError("Redis 5.0 is too old; 6.2 or newer is needed")

    with pytest.raises(ConfigurationError, match="too old"):
        await_redis(_SETTINGS, Stop(), check=check)
