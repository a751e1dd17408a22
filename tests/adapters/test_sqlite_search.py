"""What only the adapter for SQLite promises: processes side by side, and no surprises in SQL."""

from __future__ import annotations

import multiprocessing
import os
import sqlite3
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from conductor_py.adapters.memory.search import MemorySearch
from conductor_py.adapters.sqlite import rows
from conductor_py.adapters.sqlite.search import SqliteSearch
from conductor_py.errors import ConfigurationError, InvalidInput, StoreDamaged, StoreUnavailable
from conductor_py.model.search import (
    EXECUTION_FIELDS,
    And,
    Archived,
    Between,
    ExecutionDocument,
    ExecutionSummary,
    FieldKind,
    Matches,
    Missing,
    Not,
    OneOf,
    Or,
    Query,
    SearchRequest,
    SortKey,
    TaskPage,
    TaskSummary,
    Words,
    anywhere,
    is_everything,
    query_words,
)

_PROCESSES = 3
_BATCHES = 5
_PER_BATCH = 40


def _documents(first: int, number: int) -> list[ExecutionDocument]:
    return [
        ExecutionDocument(
            version=1,
            summary=ExecutionSummary(
                execution_id=f"e{n:06}",
                workflow_type="orders",
                workflow_version=1,
                status="RUNNING",
                start_ms=1_000,
                input=f"number {n}",
            ),
        )
        for n in range(first, first + number)
    ]


@pytest.fixture
def search(tmp_path):
    made = SqliteSearch(tmp_path / "search.sqlite")
    yield made
    made.close()


def _write(file: Path, number: int) -> None:
    search = SqliteSearch(file)
    for batch in range(_BATCHES):
        search.put(_documents(number * 1_000 + batch * _PER_BATCH, _PER_BATCH))
    search.close()


def test_processes_that_write_at_once_lose_nothing_while_another_reads(tmp_path):
    file = tmp_path / "search.sqlite"
    context = multiprocessing.get_context("spawn")
    writers = [context.Process(target=_write, args=(file, n)) for n in range(_PROCESSES)]
    for writer in writers:
        writer.start()
    reader = SqliteSearch(file)
    seen = [0]
    while any(writer.is_alive() for writer in writers):
        page = reader.search(SearchRequest(query=anywhere("number"), size=1_000))
        assert page.total_hits == len(page.results)
        assert page.total_hits % _PER_BATCH == 0
        assert page.total_hits >= seen[-1]
        seen.append(page.total_hits)
    for writer in writers:
        writer.join()
        assert writer.exitcode == 0
    total = _PROCESSES * _BATCHES * _PER_BATCH
    assert reader.search(SearchRequest(size=0)).total_hits == total
    assert reader.search(SearchRequest(query=anywhere("number"), size=0)).total_hits == total
    reader.close()


def test_search_that_looks_at_too_much_is_refused_and_the_next_one_answered(tmp_path):
    search = SqliteSearch(tmp_path / "search.sqlite", most_steps=10_000)
    search.put(_documents(0, 5_000))
    broad = Matches(field="input", parts=("", "no such", ""))
    for _ in range(3):
        with pytest.raises(InvalidInput, match="narrow it"):
            search.search(SearchRequest(query=broad))
        narrow = OneOf(field="workflowId", values=("e000007",))
        assert search.search(SearchRequest(query=narrow)).total_hits == 1
    search.put(_documents(5_000, 1_000))  # what is no search has no bound
    search.close()


def test_a_forked_process_reads_and_writes_on_connections_of_its_own(search):
    search.put(_documents(0, 1))
    search.search(SearchRequest())
    child = os.fork()
    if child == 0:
        status = 1
        try:
            search.put(_documents(1, 1))
            status = 0 if search.search(SearchRequest()).total_hits == 2 else 2
        finally:
            os._exit(status)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    search.put(_documents(2, 1))
    assert search.search(SearchRequest()).total_hits == 3


def test_a_batch_that_fails_leaves_nothing_of_itself(search):
    broken = ExecutionDocument(
        version=2**70,
        summary=_documents(9, 1)[0].summary,
    )
    with pytest.raises(OverflowError):
        search.put([*_documents(0, 3), broken])
    assert search.search(SearchRequest()).total_hits == 0
    search.put(_documents(0, 1))
    assert search.search(SearchRequest()).total_hits == 1


def test_a_newer_document_that_says_the_same_is_not_written_anew(search):
    def changes() -> int:
        return search._connections._writer.total_changes

    (first,) = _documents(0, 1)
    search.put([first])
    written = changes()
    search.put([replace(first, version=2)])
    assert changes() - written == 1
    search.put([replace(first, version=3, summary=replace(first.summary, status="FAILED"))])
    assert changes() - written > 3


def test_only_an_archive_waits_for_the_disk(search):
    def level() -> int:
        return search._connections._writer.execute("PRAGMA synchronous").fetchone()[0]

    search.put(_documents(0, 1))
    normal = level()
    (plain,) = _documents(1, 1)
    whole = ExecutionDocument(version=1, summary=plain.summary, archive=b"{}")
    search.put([whole])
    assert (normal, level()) == (1, 2)
    search.put(_documents(2, 1))
    assert level() == 1


def test_a_file_that_is_no_database_is_an_unavailable_store(tmp_path):
    file = tmp_path / "search.sqlite"
    file.write_bytes(b"not a database" * 100)
    with pytest.raises(StoreUnavailable):
        SqliteSearch(file).search(SearchRequest())


def test_a_file_of_another_format_is_left_alone(tmp_path):
    file = tmp_path / "search.sqlite"
    with sqlite3.connect(file) as connection:
        connection.execute("PRAGMA user_version = 99")
    connection.close()
    with pytest.raises(ConfigurationError):
        SqliteSearch(file).put(_documents(0, 1))


def test_the_newest_page_needs_no_sorting(search):
    """Newest first is the order of the file, with and without words and conditions."""
    from conductor_py.adapters.sqlite.schema import EXECUTIONS
    from conductor_py.adapters.sqlite.statement import select

    search.put(_documents(0, 50))
    status = OneOf(field="status", values=("RUNNING",))
    kind = OneOf(field="workflowType", values=("orders",))
    for request in (
        SearchRequest(),
        SearchRequest(query=anywhere("number")),
        SearchRequest(query=And(terms=(anywhere("number"), status))),
        SearchRequest(query=And(terms=(status, kind))),
    ):
        page = select(EXECUTIONS, request).page
        with search._connections.reading() as connection:
            plan = connection.execute(f"EXPLAIN QUERY PLAN {page.sql}", page.parameters).fetchall()
        assert not [step for step in plan if "TEMP B-TREE" in step[3]], plan


_TEXTS = st.sampled_from(["", "a", "b", "Ab", "a b", "a*", "[a]", "a?", "é", "a-b", "ab c d"])
_NUMBERS = st.integers(min_value=0, max_value=3)
_SUMMARIES = st.builds(
    ExecutionSummary,
    execution_id=st.uuids().map(str),
    workflow_type=_TEXTS.filter(bool),
    workflow_version=_NUMBERS,
    status=st.sampled_from(["RUNNING", "FAILED"]),
    start_ms=_NUMBERS,
    end_ms=st.none() | _NUMBERS,
    correlation_id=st.none() | _TEXTS,
    priority=_NUMBERS,
    reason=st.none() | _TEXTS,
    input=_TEXTS,
    failed_references=st.lists(_TEXTS.filter(bool), max_size=2).map(tuple),
)


def _fields(*kinds: FieldKind) -> st.SearchStrategy[str]:
    return st.sampled_from([name for name, kind in EXECUTION_FIELDS.items() if kind in kinds])


_PARTS = st.lists(st.sampled_from(["", "a", "b", "[", "?", "*"]), min_size=2, max_size=3).map(tuple)
_LEAVES = st.one_of(
    st.builds(
        OneOf,
        field=_fields(FieldKind.KEYWORD),
        values=st.lists(_TEXTS.filter(bool) | st.just("RUNNING"), min_size=1).map(tuple),
    ),
    st.builds(
        OneOf,
        field=_fields(FieldKind.INTEGER, FieldKind.INSTANT),
        values=st.lists(_NUMBERS, min_size=1).map(tuple),
    ),
    st.builds(Matches, field=_fields(FieldKind.KEYWORD), parts=_PARTS),
    st.builds(
        Between, field=_fields(FieldKind.INTEGER, FieldKind.INSTANT), least=_NUMBERS, most=_NUMBERS
    ),
    st.builds(Between, field=_fields(FieldKind.INTEGER, FieldKind.INSTANT), least=_NUMBERS),
    st.builds(Missing, field=_fields(*FieldKind)),
    st.builds(Words, field=st.none() | _fields(FieldKind.TEXT), words=_TEXTS.map(query_words)),
)
_QUERIES = st.recursive(
    _LEAVES,
    lambda inner: st.one_of(
        st.builds(Not, term=inner),
        st.builds(And, terms=st.lists(inner, min_size=1, max_size=3).map(tuple)),
        st.builds(Or, terms=st.lists(inner, min_size=1, max_size=3).map(tuple)),
    ),
    max_leaves=5,
)
_SORTS = st.lists(
    st.builds(
        SortKey,
        field=st.sampled_from(["startTime", "priority", "endTime"]),
        descending=st.booleans(),
    ),
    max_size=2,
).map(tuple)


def _both(query: Query, text: str) -> Query:
    return query if is_everything(text) else And(terms=(query, anywhere(text)))


@pytest.mark.thorough(target="fuzz")
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    summaries=st.lists(_SUMMARIES, max_size=6),
    queries=st.lists(_QUERIES, min_size=1, max_size=6),
    free_text=_TEXTS,
    sort=_SORTS,
)
def test_any_query_answers_as_the_reference_does(
    tmp_path_factory, summaries, queries, free_text, sort
):
    file = tmp_path_factory.mktemp("search") / "search.sqlite"
    reference, tried = MemorySearch(), SqliteSearch(file)
    documents = [ExecutionDocument(version=1, summary=shown) for shown in summaries]
    for index in (reference, tried):
        index.put(documents)
    for query in queries:
        asked = SearchRequest(query=_both(query, free_text), sort=sort)
        expected, answered = reference.search(asked), tried.search(asked)
        assert answered.total_hits == expected.total_hits
        assert {s.execution_id for s in answered.results} == {
            s.execution_id for s in expected.results
        }
        keys = [[_key(shown, key.field) for key in sort] for shown in answered.results]
        assert keys == [[_key(shown, key.field) for key in sort] for shown in expected.results]
    tried.close()


def _key(shown: ExecutionSummary, field: str) -> int | None:
    return {"startTime": shown.start_ms, "priority": shown.priority, "endTime": shown.end_ms}[field]


def _total(search: SqliteSearch) -> int:
    return search.search(SearchRequest(size=0)).total_hits


def test_the_number_of_all_is_kept_through_changes_and_deletions(search: SqliteSearch) -> None:
    search.put(_documents(0, 30))
    search.put(_documents(20, 30))  # of these the first ten are there at this version
    assert _total(search) == 50
    newer = [replace(each, version=2) for each in _documents(10, 10)]
    search.put([replace(each, summary=replace(each.summary, start_ms=9_000)) for each in newer[:5]])
    search.put(newer[5:])
    assert _total(search) == 50
    for number in range(15):
        assert search.delete(f"e{number:06}", 2)
    assert _total(search) == 35
    assert len(search.search(SearchRequest(size=100)).results) == 35


def test_the_number_of_all_is_counted_once_in_a_file_that_lacks_it(
    search: SqliteSearch, tmp_path: Path
) -> None:
    search.put(_documents(0, 30))
    search.close()
    with closing(sqlite3.connect(tmp_path / "search.sqlite")) as file:
        for name in ("execution", "task"):
            file.execute(f"DROP TRIGGER {name}_comes")
            file.execute(f"DROP TRIGGER {name}_goes")
        file.execute("DROP TRIGGER archive_goes")
        for table in ("counted", "archive_page"):
            file.execute(f"DROP TABLE {table}")
        file.commit()
    opened = SqliteSearch(tmp_path / "search.sqlite")
    assert _total(opened) == 30
    opened.put(_documents(30, 5))
    opened.close()
    again = SqliteSearch(tmp_path / "search.sqlite")
    assert _total(again) == 35
    again.close()


def _page_of(document: ExecutionDocument, tasks: bytes) -> TaskPage:
    """The first page of its tasks."""
    return TaskPage(
        execution_id=document.execution_id, version=document.version, number=0, document=tasks
    )


def test_a_file_that_an_earlier_version_made_gets_room_for_pages_of_tasks(
    search: SqliteSearch, tmp_path: Path
) -> None:
    (plain,) = _documents(0, 1)
    search.put([replace(plain, archive=b'{"tasks": [1]}')])
    search.close()
    with closing(sqlite3.connect(tmp_path / "search.sqlite")) as file:
        file.execute("DROP TRIGGER archive_goes")
        file.execute("DROP TABLE archive_page")
        file.commit()
    opened = SqliteSearch(tmp_path / "search.sqlite")
    found = opened.archived(plain.execution_id)
    assert found == Archived(version=plain.version, document=b'{"tasks": [1]}')
    newer = plain.version + 1
    opened.put_page(_page_of(replace(plain, version=newer), b"[1]"))
    assert opened.page(plain.execution_id, newer, 0) == b"[1]"
    opened.close()


def test_pages_of_older_archives_go_with_the_next_one(search: SqliteSearch, tmp_path: Path) -> None:
    (plain,) = _documents(0, 1)
    search.put([plain])
    for version in (plain.version, plain.version + 1, plain.version + 2):
        search.put_page(_page_of(replace(plain, version=version), b"[]"))
    search.put([replace(plain, version=plain.version + 1, archive=b"{}")])
    with closing(sqlite3.connect(tmp_path / "search.sqlite")) as file:
        left = file.execute("SELECT version FROM archive_page ORDER BY version").fetchall()
    assert left == [(plain.version + 1,), (plain.version + 2,)]


def test_pages_go_with_an_archive_that_an_earlier_version_deletes(
    search: SqliteSearch, tmp_path: Path
) -> None:
    (plain,) = _documents(0, 1)
    search.put([plain])
    search.put_page(_page_of(replace(plain, version=plain.version + 1), b"[]"))
    for version in (1, 2):  # the second replaces the first, and takes nothing away
        search.put([replace(plain, version=plain.version + version, archive=b"{}")])
        search.put_page(_page_of(replace(plain, version=plain.version + version), b"[]"))
    with closing(sqlite3.connect(tmp_path / "search.sqlite")) as file:
        pages = "SELECT count(*) FROM archive_page"
        assert file.execute(pages).fetchone() == (1,)
        file.execute("DELETE FROM archive WHERE workflowId = ?", (plain.execution_id,))
        assert file.execute(pages).fetchone() == (0,)
        file.commit()


def test_a_page_that_is_damaged_says_so(search: SqliteSearch, tmp_path: Path) -> None:
    (plain,) = _documents(0, 1)
    search.put([plain])
    search.put_page(_page_of(plain, b"[]"))
    with closing(sqlite3.connect(tmp_path / "search.sqlite")) as file:
        file.execute("UPDATE archive_page SET document = x'00ff'")
        file.commit()
    with pytest.raises(StoreDamaged):
        search.page(plain.execution_id, plain.version, 0)
    search.put_page(_page_of(plain, b"[2]"))
    assert search.page(plain.execution_id, plain.version, 0) == b"[2]"


@pytest.mark.parametrize("damage", ["= '{no'", "= '[]'", "= '{}'", "= x'ff00'", None])
def test_a_damaged_document_in_the_search_file_hides_no_other_from_a_search(
    tmp_path: Path, damage: str | None
) -> None:
    file = tmp_path / "search.db"
    search = SqliteSearch(file)
    search.put(_documents(0, 3))
    row = "(SELECT row FROM execution WHERE workflowId = 'e000001')"
    change = (
        f"UPDATE execution_body SET document {damage}" if damage else "DELETE FROM execution_body"
    )
    with closing(sqlite3.connect(file)) as connection:
        connection.execute(f"{change} WHERE row = {row}")
        connection.commit()

    found = search.search(SearchRequest()).results
    assert {one.execution_id for one in found} == {"e000000", "e000002"}


def test_a_damaged_archive_is_said_to_be_damaged(tmp_path: Path) -> None:
    file = tmp_path / "search.db"
    search = SqliteSearch(file)
    search.put([replace(one, archive=b"{}") for one in _documents(0, 2)])
    with closing(sqlite3.connect(file)) as connection:
        connection.execute("UPDATE archive SET document = x'00ff' WHERE workflowId = 'e000001'")
        connection.commit()

    with pytest.raises(StoreDamaged, match="e000001"):
        search.archived("e000001")
    assert search.archived("e000000") is not None


def _statements(search: SqliteSearch, documents: list[ExecutionDocument]) -> int:
    carried_out: list[str] = []
    connection = search._connections._writer
    assert connection is not None
    connection.set_trace_callback(carried_out.append)
    search.put(documents)
    connection.set_trace_callback(None)
    # What the word index does is told as a comment, and a statement again for each trigger of it.
    return len({sql for sql in carried_out if not sql.startswith("--")})


def test_a_batch_takes_statements_by_kind_and_not_by_document(search: SqliteSearch) -> None:
    search.put(_documents(999, 1))
    alone = _statements(search, _documents(0, 1))
    assert _statements(search, _documents(1, 16)) == alone
    assert _statements(search, [replace(d, version=2) for d in _documents(1, 16)]) < alone


def test_documents_of_one_instant_whose_rows_are_the_same_get_rows_of_their_own(
    search: SqliteSearch, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rows, "SLOTS", 4)
    for one in _documents(0, 4):  # the last has one row left, wherever it begins to look
        search.put([one])
    search.put([replace(d, summary=replace(d.summary, start_ms=2_000)) for d in _documents(10, 4)])
    assert search.search(SearchRequest()).total_hits == 8
    with pytest.raises(StoreUnavailable, match="More than 4 documents"):
        search.put(_documents(4, 1))
    search.put([replace(d, version=2) for d in _documents(0, 4)])
    assert search.search(SearchRequest()).total_hits == 8


def test_what_was_written_last_is_not_kept_in_memory(search: SqliteSearch) -> None:
    """A compiled statement keeps what was bound to it: it must not be a batch of archives."""
    bound: list[int] = []
    write = sqlite3.Connection.execute

    def noted(connection: sqlite3.Connection, sql: str, given: Any = ()) -> Any:
        bound.append(sum(len(value) for value in given if isinstance(value, bytes)))
        return write(connection, sql, given)

    noting = type("Noting", (sqlite3.Connection,), {"execute": noted})
    search.put(_documents(99, 1))
    file = search._connections._file
    search._connections._writer = sqlite3.connect(file, isolation_level=None, factory=noting)
    large = os.urandom(100_000)
    search.put([replace(d, archive=large, kept=large) for d in _documents(0, 16)])
    assert sum(bound) > 2 * 16 * len(large)
    assert max(bound) < 3 * len(large)


def test_versions_of_one_execution_in_a_batch_leave_the_newest_and_its_tasks(
    search: SqliteSearch,
) -> None:
    def task(name: str, status: str) -> TaskSummary:
        return TaskSummary(
            task_id=name,
            execution_id="e000000",
            workflow_type="orders",
            task_type="pack",
            scheduled_ms=1_000,
            status=status,
        )

    (first,) = _documents(0, 1)
    search.put(
        [
            replace(first, version=3, tasks=(task("a", "COMPLETED"), task("b", "SCHEDULED"))),
            replace(first, version=1, tasks=(task("a", "SCHEDULED"), task("c", "SCHEDULED"))),
            replace(first, version=2, removed=("c",)),
        ]
    )
    found = search.search_tasks(SearchRequest()).results
    assert {each.task_id: each.status for each in found} == {"a": "COMPLETED", "b": "SCHEDULED"}
    assert search.search(SearchRequest()).total_hits == 1
