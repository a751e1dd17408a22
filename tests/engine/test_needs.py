"""What decide is told: all of it of the version that it decides on."""

from __future__ import annotations

import pytest

from conductor_py.decider.need import Evaluated, Need, Read, Refusal, ScriptWanted
from conductor_py.engine.decisions.needs import Fetcher
from conductor_py.engine.definitions.snapshots import snapshots_of
from conductor_py.engine.payloads.reading import PayloadReader
from conductor_py.model.ids import ExecutionId
from conductor_py.testing import MemoryEngine
from tests.builders import simple, workflow

_WANTED = Need({"vars": Read("vars")})


def _fetcher(engine: MemoryEngine, *, keeps_lines: bool = True) -> Fetcher:
    ports = engine.ports
    snapshots = snapshots_of(ports)
    return Fetcher(
        ports.store,
        snapshots,
        PayloadReader(ports.payloads),
        ports.scripts,
        lambda _, __: "",
        ports.cache,
        keeps_lines=keeps_lines,
    )


def test_what_is_read_is_of_the_version_that_is_decided_on(engine: MemoryEngine) -> None:
    """I9: once a commit came in between, nothing of what was asked for is told."""
    started = ExecutionId(engine.start(workflow("w", simple("a"), simple("b"))))
    found = engine.ports.store.load(started, ["h"])
    assert found is not None
    known: dict[str, object] = {}
    assert _fetcher(engine).fulfil(started, _WANTED, known, found[0])
    engine.run("a")
    known = {}
    assert not _fetcher(engine).fulfil(started, _WANTED, known, found[0])
    assert known == {}


@pytest.mark.parametrize("keeps", [True, False])
def test_what_scripts_print_is_kept_where_logs_are(engine: MemoryEngine, *, keeps: bool) -> None:
    wanted = {
        "well": ScriptWanted("javascript", "console.log('x'); 5", {}),
        "ill": ScriptWanted("javascript", "console.log('x'); throw 'no'", {}),
    }
    known: dict[str, object] = {}
    fetcher = _fetcher(engine, keeps_lines=keeps)
    assert fetcher.fulfil(ExecutionId("e"), Need(wanted), known, None)
    lines = ("x",) if keeps else ()
    assert known == {"well": Evaluated(5, lines), "ill": Refusal("no", lines=lines)}
