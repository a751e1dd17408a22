"""A fixture for pytest: an engine in memory, new for each test.

Name this module in the ``conftest.py`` at the root of your tests::

    pytest_plugins = ["conductor_py.testing.pytest"]
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from conductor_py.adapters.quickjs.scripts import QuickJsScripts
from conductor_py.testing.engine import MemoryEngine, memory_engine


@pytest.fixture(scope="session")
def conductor_scripts() -> Iterator[QuickJsScripts]:
    """The processes that evaluate scripts: they start with the first script and end with the
    session.
    """
    scripts = QuickJsScripts()
    yield scripts
    scripts.close()


@pytest.fixture
def engine(conductor_scripts: QuickJsScripts) -> MemoryEngine:
    """A whole engine in memory, empty, whose clock stands still until the test moves it."""
    return memory_engine(scripts=conductor_scripts)
