"""Files leave with their execution, and what cannot be looked at keeps no other from it."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from conductor_py.adapters.files.contents import DirectoryContents
from conductor_py.adapters.memory.file_records import MemoryFileRecords
from conductor_py.adapters.memory.space import MemorySpace
from conductor_py.engine.payloads.files import CHECK_MS, Files
from conductor_py.engine.port_set import FilePorts
from conductor_py.errors import NotFound, StoreUnavailable
from conductor_py.model.files import FileRequest
from conductor_py.ports.files import Changed, RecordChange
from conductor_py.testing import FakeClock, MemoryEngine, memory_engine
from tests.builders import simple, workflow


@pytest.fixture
def contents(tmp_path: Path) -> DirectoryContents:
    return DirectoryContents(tmp_path, now_ms=lambda: 0)


@pytest.fixture
def engine(contents: DirectoryContents) -> MemoryEngine:
    clock = FakeClock()
    records = MemoryFileRecords(MemorySpace(clock=clock))
    ports = FilePorts(records=records, contents=contents, served=contents)
    return memory_engine(clock=clock, files=ports)


def files_of(engine: MemoryEngine) -> Files:
    assert engine.engine.files is not None
    return engine.engine.files


def ports_of(engine: MemoryEngine) -> FilePorts:
    assert engine.ports.files is not None
    return engine.ports.files


def started(engine: MemoryEngine) -> str:
    return engine.start(workflow("w", simple("a")))


def uploaded(engine: MemoryEngine, owner: str, body: bytes = b"bytes") -> str:
    """A file of an execution that was sent and completed."""
    file = begun(engine, owner, body)
    files_of(engine).complete(owner, file)
    return file


def begun(engine: MemoryEngine, owner: str, body: bytes = b"bytes") -> str:
    """A file of an execution that was sent, and not completed."""
    created = files_of(engine).create(FileRequest(workflow_id=owner))
    file = str(created["fileHandleId"]).rpartition("/")[2]
    files_of(engine).receive(owner, file, [body], upload_id="", part=0)
    return file


def archived(engine: MemoryEngine) -> tuple[str, str]:
    """An execution with one file that has ended and left the store."""
    owner = started(engine)
    file = uploaded(engine, owner)
    engine.run("a")
    engine.settle()
    engine.clock.advance(seconds=61)
    engine.settle()
    return owner, file


def remove(engine: MemoryEngine, owner: str) -> None:
    engine.engine.steering.remove(owner, archive=False)
    engine.settle()


def passes(engine: MemoryEngine, ms: int = CHECK_MS) -> int:
    """Let time go by, and one tick look at files; how many it looked at."""
    engine.clock.advance(milliseconds=ms)
    return engine.engine.file_retention.tick()


def is_known(engine: MemoryEngine, file: str) -> bool:
    return ports_of(engine).records.read(file) is not None


def on_disk(root: Path) -> list[bytes]:
    return [one.read_bytes() for one in root.rglob("*") if one.is_file()]


def away(*_: Any, **__: Any) -> Any:
    raise StoreUnavailable("the storage is away")


# -- what cannot be looked at ----------------------------------------------------------------------


def damaged(engine: MemoryEngine, file: str) -> None:
    """A record that no version reads, due now."""
    change = RecordChange(
        file_id=file, owner="nobody", before=None, after=b"{", check_ms=engine.clock()
    )
    assert ports_of(engine).records.change(change, most=1_000) is Changed.OK


def test_records_that_cannot_be_read_keep_no_other_file_from_going(
    engine: MemoryEngine, caplog: pytest.LogCaptureFixture
) -> None:
    owner = started(engine)
    file = uploaded(engine, owner)
    for number in range(100):  # as many as a tick looks at
        damaged(engine, f"{number}")
    remove(engine, owner)
    passes(engine)
    assert is_known(engine, file)
    passes(engine, 0)
    assert not is_known(engine, file)
    assert caplog.text.count("cannot be looked at") == 100

    assert passes(engine, CHECK_MS - 1) == 0
    assert caplog.text.count("cannot be looked at") == 100
    passes(engine, 1)
    assert caplog.text.count("cannot be looked at") == 200


def test_files_without_a_record_are_looked_for_once(engine: MemoryEngine) -> None:
    """As when a store has lost some of what it was given."""
    owner = started(engine)
    file = uploaded(engine, owner)
    records: Any = ports_of(engine).records
    for number in range(100):
        damaged(engine, f"{number}")
        del records._records[f"{number}"]
    remove(engine, owner)
    passes(engine)
    passes(engine, 0)
    assert not is_known(engine, file)
    assert records._due == {}


def test_a_file_whose_bytes_cannot_be_removed_keeps_no_other_from_going(
    engine: MemoryEngine, contents: DirectoryContents, monkeypatch: pytest.MonkeyPatch
) -> None:
    owner = started(engine)
    stuck, other = uploaded(engine, owner), uploaded(engine, owner)
    drop_all = contents.drop_all
    monkeypatch.setattr(
        contents, "drop_all", lambda file: away() if file == stuck else drop_all(file)
    )
    remove(engine, owner)
    with pytest.raises(StoreUnavailable):
        passes(engine)
    assert (is_known(engine, stuck), is_known(engine, other)) == (True, False)
    assert passes(engine, CHECK_MS - 1) == 0
    monkeypatch.undo()
    passes(engine, 1)
    assert not is_known(engine, stuck)


def test_an_index_that_does_not_answer_removes_no_file(
    engine: MemoryEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, file = archived(engine)
    monkeypatch.setattr(type(engine.ports.search), "archived", away)
    with pytest.raises(StoreUnavailable):
        passes(engine)
    assert passes(engine, CHECK_MS - 1) == 0
    assert is_known(engine, file)
