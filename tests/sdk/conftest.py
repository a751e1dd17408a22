from __future__ import annotations

from collections.abc import Iterator

import pytest

from conductor_py.sdk import Client
from tests.decider.conftest import _shared_scripts, scripts
from tests.sdk.clock import FakeClock
from tests.sdk.stub import StubServer
from tests.waiting import PATIENCE_S

__all__ = ["_shared_scripts", "scripts"]


@pytest.fixture
def stub() -> Iterator[StubServer]:
    server = StubServer()
    yield server
    server.close()


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def client(stub: StubServer, clock: FakeClock) -> Iterator[Client]:
    """A client whose pauses cost no time."""
    with Client(stub.url, timeout_s=PATIENCE_S, clock=clock) as connected:
        yield connected
