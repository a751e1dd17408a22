"""How a server says that it is."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from conductor_py.engine.health import Check, health
from conductor_py.errors import ConductorError, StoreFull, StoreUnavailable


def _raising(error: ConductorError) -> Callable[[], None]:
    def ask() -> None:
        raise error

    return ask


def test_a_store_that_refuses_writes_takes_the_server_out_of_service() -> None:
    found = health([Check(name="store", ask=_raising(StoreUnavailable("its disk is full")))])
    assert found["healthy"] is False
    assert found["healthResults"] == [
        {"name": "store", "healthy": False, "status": "DOWN", "message": "its disk is full"}
    ]


@pytest.mark.parametrize(
    "check",
    [
        Check(name="store", ask=_raising(StoreFull("it is full"))),
        Check(name="search", ask=_raising(StoreUnavailable("it is full")), vital=False),
    ],
    ids=lambda check: check.name,
)
def test_what_executions_go_on_without_is_degraded(check: Check) -> None:
    found = health([check])
    assert found["healthy"] is True
    assert found["healthResults"] == [
        {"name": check.name, "healthy": True, "status": "DEGRADED", "message": "it is full"}
    ]


def test_what_answers_is_up() -> None:
    found = health([Check(name="store", ask=lambda: 1)])
    assert found["healthResults"] == [{"name": "store", "healthy": True, "status": "UP"}]
