"""The same script processes as the tests of the decider use, and two servers over one store."""

import pytest

from tests.anomalies.world import World
from tests.decider.conftest import _shared_scripts, engine, scripts

__all__ = ["_shared_scripts", "engine", "scripts"]


@pytest.fixture
def world() -> World:
    return World()
