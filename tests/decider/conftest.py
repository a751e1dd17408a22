"""An engine in memory for every test, with one set of script processes for all."""

from collections.abc import Iterator

import pytest

from conductor_py.adapters.quickjs.scripts import QuickJsScripts
from conductor_py.testing import MemoryEngine, memory_engine
from conductor_py.testing import adapters as kit


@pytest.fixture(scope="session")
def scripts() -> Iterator[QuickJsScripts]:
    running = QuickJsScripts(workers=1)
    yield running
    running.close()


@pytest.fixture(autouse=True)
def _shared_scripts(scripts: QuickJsScripts, monkeypatch: pytest.MonkeyPatch) -> None:
    """Engines of the test kit use the running processes: a start costs more than a story."""
    monkeypatch.setattr(kit, "QuickJsScripts", lambda: scripts)


@pytest.fixture
def engine() -> MemoryEngine:
    return memory_engine()
