"""The engine of these tests is the fixture that comes with the package."""

from conductor_py.testing.pytest import conductor_scripts, engine

__all__ = ["conductor_scripts", "engine"]
