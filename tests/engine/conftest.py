"""The same engine in memory as the tests of the decider use."""

from tests.decider.conftest import _shared_scripts, engine, scripts

__all__ = ["_shared_scripts", "engine", "scripts"]
