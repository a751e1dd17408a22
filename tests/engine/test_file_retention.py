"""Files leave with their execution, and what cannot be looked at keeps no other from it."""

from pathlib import Path
from typing import Any

import pytest

from conductor_py.adapters.files.contents import DirectoryContents
from conductor_py.adapters.memory.file_records import MemoryFileRecords
from conductor_py.adapters.memory.space import MemorySpace
from conductor_py.codec.files import load_file
from conductor_py.engine.clock import StoreClock
from conductor_py.engine.payloads.file_retention import UPLOAD_MS, FileRetention
from conductor_py.engine.payloads.files import CHECK_MS, Files
from conductor_py.engine.payloads.retention import MISSED_MS
from conductor_py.engine.port_set import FilePorts
from conductor_py.errors import Conflict, NotFound, StoreUnavailable
from conductor_py.model.files import FileRequest, UploadStatus
from conductor_py.ports.files import Changed, RecordChange, StoredContent
from conductor_py.ports.payload_holders import PRESENT
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


# -- leaving ---------------------------------------------------------------------------------------


def looking(engine: MemoryEngine, removed: list[int], batch: int = 100) -> FileRetention:
    """A retention that adds to ``removed`` what it was told."""
    return FileRetention(
        ports_of(engine),
        StoreClock(engine.clock, engine.clock.monotonic),
        workflow=engine.engine.executions.document,
        removed=lambda: removed.append(engine.clock()),
        batch=batch,
    )


def test_a_file_that_changes_while_it_leaves_keeps_its_bytes_and_is_not_counted(
    engine: MemoryEngine,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    owner = started(engine)
    file = begun(engine, owner)
    records, removed = ports_of(engine).records, list[int]()
    retention, change = looking(engine, removed), records.change

    def overtaken(*given: Any, **more: Any) -> Changed:
        monkeypatch.undo()
        files_of(engine).complete(owner, file)
        return change(*given, **more)

    remove(engine, owner)
    engine.clock.advance(milliseconds=CHECK_MS)
    monkeypatch.setattr(records, "change", overtaken)
    retention.tick()
    assert on_disk(tmp_path) == [b"bytes"]
    assert (removed, "was removed" in caplog.text) == ([], False)

    engine.clock.advance(milliseconds=CHECK_MS)
    with caplog.at_level("INFO"):
        retention.tick()
    assert (on_disk(tmp_path), is_known(engine, file)) == ([], False)
    assert (removed, caplog.text.count("was removed")) == ([engine.clock()], 1)


@pytest.mark.parametrize("at", ["the bytes", "the record"])
def test_a_removal_that_is_cut_off_is_ended_by_the_next_look(
    engine: MemoryEngine,
    contents: DirectoryContents,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    at: str,
) -> None:
    owner = started(engine)
    file = uploaded(engine, owner)
    records, removed = ports_of(engine).records, list[int]()
    retention, change = looking(engine, removed), records.change

    def cut_off(given: RecordChange, *, most: int) -> Changed:
        return change(given, most=most) if given.after else away()

    remove(engine, owner)
    engine.clock.advance(milliseconds=CHECK_MS)
    if at == "the bytes":
        monkeypatch.setattr(contents, "drop_all", away)
    else:
        monkeypatch.setattr(records, "change", cut_off)
    with pytest.raises(StoreUnavailable):
        retention.tick()
    monkeypatch.undo()
    stored = records.read(file)
    assert stored is not None
    left = load_file(stored)
    assert (left.status, left.content) == (UploadStatus.FAILED, ""), "nobody reads what may be gone"
    assert (on_disk(tmp_path), removed) == ([b"bytes"] if at == "the bytes" else [], [])

    engine.clock.advance(milliseconds=CHECK_MS)
    retention.tick()
    assert (on_disk(tmp_path), is_known(engine, file), len(removed)) == ([], False, 1)


def test_bytes_that_come_while_their_file_leaves_are_not_kept(
    engine: MemoryEngine,
    contents: DirectoryContents,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The bytes are gone and the record is still there: it would go without another look."""
    owner = started(engine)
    file = begun(engine, owner)
    records = ports_of(engine).records
    change, open_upload = records.change, contents.open_upload

    def cut_off(given: RecordChange, *, most: int) -> Changed:
        return change(given, most=most) if given.after else away()

    def opened_late(*given: Any) -> Any:
        remove(engine, owner)
        with pytest.raises(StoreUnavailable):
            passes(engine)
        assert on_disk(tmp_path) == []
        return open_upload(*given)

    monkeypatch.setattr(records, "change", cut_off)
    monkeypatch.setattr(contents, "open_upload", opened_late)
    with pytest.raises(Conflict):
        files_of(engine).receive(owner, file, [b"late"], upload_id="", part=0)
    assert on_disk(tmp_path) == []


def test_a_copy_that_is_ready_after_its_file_was_removed_is_not_kept(
    engine: MemoryEngine,
    contents: DirectoryContents,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A bucket copies for as long as it takes."""
    owner = started(engine)
    file = begun(engine, owner)
    take = contents.take

    def taken_late(file_id: str) -> StoredContent | None:
        found = take(file_id)
        assert found is not None
        remove(engine, owner)
        passes(engine)
        assert on_disk(tmp_path) == []
        folder = tmp_path / file_id[:2] / file_id
        folder.mkdir()
        (folder / found.content).write_bytes(b"bytes")
        return found

    monkeypatch.setattr(contents, "take", taken_late)
    with pytest.raises(NotFound):
        files_of(engine).complete(owner, file)
    assert on_disk(tmp_path) == []


def test_an_upload_that_is_completed_while_it_is_given_up_is_not_said_to_be_given_up(
    engine: MemoryEngine, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    owner = started(engine)
    file = begun(engine, owner)
    records = ports_of(engine).records
    change = records.change

    def overtaken(*given: Any, **more: Any) -> Changed:
        monkeypatch.undo()
        files_of(engine).complete(owner, file)
        return change(*given, **more)

    monkeypatch.setattr(records, "change", overtaken)
    with caplog.at_level("INFO"):
        passes(engine, UPLOAD_MS)
    assert files_of(engine).document(owner, file)["uploadStatus"] == "UPLOADED"
    assert "given up" not in caplog.text


def test_what_another_version_wrote_in_a_record_keeps_no_file_from_going(
    engine: MemoryEngine, tmp_path: Path
) -> None:
    owner = started(engine)
    file = uploaded(engine, owner)
    records = ports_of(engine).records
    stored = records.read(file)
    assert stored is not None
    newer = RecordChange(
        file_id=file, owner=owner, before=stored, after=stored[:-1] + b', "more": 1}', check_ms=0
    )
    assert records.change(newer, most=1) is Changed.OK
    assert passes(engine) == 1
    assert passes(engine, 0) == 0
    assert records.read(file) == newer.after
    remove(engine, owner)
    passes(engine)
    assert (is_known(engine, file), on_disk(tmp_path)) == (False, [])


# -- executions that nobody called gone ------------------------------------------------------------


def lost(monkeypatch: pytest.MonkeyPatch, engine: MemoryEngine) -> None:
    """An index that has nothing, as while it is being restored."""
    monkeypatch.setattr(type(engine.ports.search), "archived", lambda *_: None)


def test_an_index_that_is_away_for_weeks_costs_no_file(
    engine: MemoryEngine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    owner, file = archived(engine)
    with monkeypatch.context() as patch:
        lost(patch, engine)
        passes(engine)
        assert ports_of(engine).records.noted(owner) == -engine.clock()
        passes(engine, MISSED_MS - 1)
    for _ in range(3):
        passes(engine, MISSED_MS)
    assert files_of(engine).document(owner, file)["uploadStatus"] == "UPLOADED"
    assert on_disk(tmp_path) == [b"bytes"]


def test_each_time_that_an_execution_is_missed_counts_by_itself(
    engine: MemoryEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, file = archived(engine)
    for _ in range(3):
        with monkeypatch.context() as patch:
            lost(patch, engine)
            passes(engine)
            passes(engine, MISSED_MS - 1)
        passes(engine)
    assert is_known(engine, file)


def test_a_file_leaves_when_its_execution_has_been_missed_for_a_month(
    engine: MemoryEngine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever deletes documents in the index tells nobody."""
    owner, file = archived(engine)
    lost(monkeypatch, engine)
    passes(engine)
    passes(engine, MISSED_MS - 1)
    assert is_known(engine, file)
    passes(engine, 1)
    assert is_known(engine, file), "looked at an hour ago"
    passes(engine)
    assert (is_known(engine, file), on_disk(tmp_path)) == (False, [])
    assert ports_of(engine).records.noted(owner) == PRESENT


@pytest.mark.parametrize("missed", [False, True], ids=["at once", "after it was missed"])
def test_a_file_leaves_soon_when_its_execution_is_said_to_be_gone(
    engine: MemoryEngine, monkeypatch: pytest.MonkeyPatch, missed: bool
) -> None:
    owner, file = archived(engine)
    if missed:
        with monkeypatch.context() as patch:
            lost(patch, engine)
            passes(engine)
    remove(engine, owner)
    passes(engine)
    assert not is_known(engine, file)


def test_files_leave_when_the_archive_lets_their_execution_go(
    engine: MemoryEngine,
) -> None:
    _, file = archived(engine)
    engine.engine.retention._keep_ms = 1
    assert engine.engine.retention.tick() == 1
    passes(engine)
    assert not is_known(engine, file)


def test_an_execution_that_is_back_keeps_its_files_though_it_was_said_to_be_gone(
    engine: MemoryEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    owner, file = archived(engine)
    ports_of(engine).records.let_go(owner, engine.clock(), 0)
    passes(engine)
    assert is_known(engine, file)
    lost(monkeypatch, engine)
    passes(engine)
    assert is_known(engine, file)


def test_a_removal_that_nobody_told_of_files_is_told_by_the_next_that_is_tried(
    engine: MemoryEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    owner = started(engine)
    file = uploaded(engine, owner)
    with monkeypatch.context() as patch:
        patch.setattr(ports_of(engine).records, "let_go", away)
        engine.engine.steering.remove(owner, archive=False)
    engine.clock.advance(seconds=61)
    engine.settle()
    passes(engine)
    assert not is_known(engine, file)


# -- batches ---------------------------------------------------------------------------------------


def test_a_tick_looks_at_as_many_files_as_it_may(engine: MemoryEngine) -> None:
    owner = started(engine)
    files = [uploaded(engine, owner) for _ in range(5)]
    remove(engine, owner)
    engine.clock.advance(milliseconds=CHECK_MS)
    removed = list[int]()
    retention = looking(engine, removed, batch=2)
    assert [retention.tick() for _ in range(4)] == [2, 2, 1, 0]
    assert len(removed) == 5
    assert not any(is_known(engine, file) for file in files)
