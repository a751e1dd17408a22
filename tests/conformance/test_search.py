"""The contract of the search port, for every adapter; queries are written as users write them."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from conductor_py.adapters.elasticsearch import search as elasticsearch_search
from conductor_py.adapters.elasticsearch.client import ElasticsearchSettings
from conductor_py.adapters.elasticsearch.indices import page_id
from conductor_py.adapters.elasticsearch.search import ElasticsearchSearch
from conductor_py.adapters.memory.search import MemorySearch
from conductor_py.adapters.sqlite.search import SqliteSearch
from conductor_py.errors import StoreUnavailable
from conductor_py.model.search import (
    EXECUTION_FIELDS,
    TASK_FIELDS,
    Archived,
    ArchivedId,
    ExecutionDocument,
    ExecutionSummary,
    SearchRequest,
    TaskPage,
    TaskSummary,
)
from conductor_py.ports.search import Search
from conductor_py.wire.search_query import parse_query
from conductor_py.wire.search_requests import read_search
from tests.waiting import until

T0 = 1_700_000_000_000

_REAL = (pytest.mark.service, pytest.mark.xdist_group("search"))
_ADAPTERS = (
    "memory",
    "sqlite",
    pytest.param("opensearch", marks=[*_REAL, pytest.mark.thorough(target="versions")]),
    pytest.param("elasticsearch", marks=_REAL),
)


@contextmanager
def opened(adapter: str, request: pytest.FixtureRequest, folder: Path) -> Iterator[Search]:
    match adapter:
        case "memory":
            yield MemorySearch()
        case "sqlite":
            search = SqliteSearch(folder / "search.sqlite")
            yield search
            search.close()
        case server:
            url = request.getfixturevalue(f"{server}_server")
            prefix = f"test-{uuid.uuid4().hex[:12]}"
            cluster = ElasticsearchSearch(
                ElasticsearchSettings(urls=(url,), prefix=prefix, shards=1, replicas=0)
            )
            yield cluster
            client = cluster._connection.get()
            for kind in ("executions", "tasks", "archive"):
                client.indices.delete(index=f"{prefix}-{kind}-1")
                client.indices.delete_index_template(name=f"{prefix}-{kind}-1")
            client.close()


@pytest.fixture(params=_ADAPTERS)
def index(request, tmp_path):
    with opened(request.param, request, tmp_path) as search:
        yield search


def summary(name: str, **fields) -> ExecutionSummary:
    defaults = {
        "workflow_type": "orders",
        "workflow_version": 1,
        "status": "RUNNING",
        "start_ms": T0,
    }
    return ExecutionSummary(execution_id=name, **{**defaults, **fields})


def task(name: str, execution: str = "e1", **fields) -> TaskSummary:
    defaults = {
        "workflow_type": "orders",
        "task_type": "SIMPLE",
        "status": "SCHEDULED",
        "scheduled_ms": T0,
    }
    return TaskSummary(task_id=name, execution_id=execution, **{**defaults, **fields})


NOW_MS = 1_800_000_000_000


def document(version: int, shown: ExecutionSummary, **parts) -> ExecutionDocument:
    return ExecutionDocument(version=version, summary=shown, **parts)


def put(index: Search, *summaries: ExecutionSummary) -> None:
    index.put([document(1, shown) for shown in summaries])
    index.refresh()


def found(index: Search, query: str | None = None, *, free_text: str = "*", sort: str = "", **page):
    asked = read_search(
        EXECUTION_FIELDS, query=query or "", free_text=free_text, sort=sort, now_ms=NOW_MS
    )
    return [shown.execution_id for shown in index.search(replace(asked, **page)).results]


def matching(index: Search, query: str, *, free_text: str = "*") -> set[str]:
    return set(found(index, query, free_text=free_text))


def tasks_found(index: Search, query: str | None = None, *, free_text: str = "*") -> list[str]:
    asked = read_search(TASK_FIELDS, query=query or "", free_text=free_text, sort="", now_ms=NOW_MS)
    return [shown.task_id for shown in index.search_tasks(asked).results]


# ------------------------------------------------------------------------------ what comes back


def test_an_index_that_answers_is_well(index: Search) -> None:
    def is_well() -> bool:
        try:
            index.check()
        except StoreUnavailable:  # it is asked by a thread, and answers a moment later
            return False
        return True

    until(is_well)


def test_an_empty_index_answers_an_empty_page(index):
    page = index.search(SearchRequest())
    assert (page.total_hits, page.results) == (0, ())
    assert index.search_tasks(SearchRequest()).total_hits == 0


def test_a_summary_comes_back_with_every_field(index):
    shown = summary(
        "e1",
        workflow_version=7,
        status="FAILED",
        correlation_id="c-1",
        update_ms=T0 + 5,
        end_ms=T0 + 10,
        execution_ms=10,
        priority=3,
        parent_id="p1",
        reason="it broke",
        input='{"a": "é\\n"}',
        output="{}",
        input_size=10,
        output_size=2,
        failed_references=("b_ref", "a_ref"),
        failed_tasks=("b", "a"),
        event="kafka:topic",
        created_by="me",
        classifier="agent",
        idempotency_key="k",
        external_input_path="workflow/input/x.json",
        external_output_path="workflow/output/x.json",
        task_to_domain=(("a", "blue"), ("*", "green")),
    )
    put(index, shown)
    assert index.search(SearchRequest()).results == (shown,)


def test_a_summary_of_the_least_comes_back_the_same(index):
    shown = summary("e1")
    put(index, shown)
    assert index.search(SearchRequest()).results == (shown,)


def test_a_task_comes_back_with_every_field(index):
    shown = task(
        "t1",
        status="COMPLETED",
        task_definition="charge",
        reference="charge_ref",
        correlation_id="c-1",
        start_ms=T0 + 1,
        update_ms=T0 + 2,
        end_ms=T0 + 3,
        execution_ms=2,
        queue_wait_ms=1,
        reason="why not",
        input="{}",
        output="{}",
        workflow_priority=9,
        domain="blue",
        external_input_path="task/input/x.json",
        external_output_path="task/output/x.json",
    )
    index.put([document(1, summary("e1"), tasks=(shown, task("t2", scheduled_ms=T0 - 1)))])
    index.refresh()
    page = index.search_tasks(SearchRequest())
    assert page.total_hits == 2
    assert page.results[0] == shown


# ------------------------------------------------------------------------------------ versions


def test_a_newer_document_replaces_an_older_one(index):
    index.put([document(1, summary("e1"))])
    index.put([document(5, summary("e1", status="COMPLETED", output="done well"))])
    index.refresh()
    assert found(index, "status=COMPLETED") == ["e1"]
    assert found(index, "status=RUNNING") == []
    assert found(index, free_text="done") == ["e1"]
    assert found(index, free_text="running") == []
    assert index.search(SearchRequest()).total_hits == 1


def test_a_late_older_document_changes_nothing(index):
    index.put([document(5, summary("e1", status="COMPLETED"))])
    index.put([document(4, summary("e1", status="RUNNING", input="stale"))])
    index.refresh()
    assert found(index, "status=COMPLETED") == ["e1"]
    assert found(index, free_text="stale") == []


def test_a_newer_document_that_says_the_same_is_newer(index):
    index.put([document(3, summary("e1"), tasks=(task("t1"),))])
    index.put([document(6, summary("e1"), tasks=(task("t1"),))])
    late = summary("e1", status="COMPLETED", output="late")
    index.put([document(5, late, tasks=(task("t1", status="FAILED"),))])
    index.refresh()
    assert found(index, "status=RUNNING") == ["e1"]
    assert found(index, free_text="late") == []
    tasks = index.search_tasks(SearchRequest()).results
    assert [(one.task_id, one.status) for one in tasks] == [("t1", task("t1").status)]


def test_a_repeated_document_is_no_error(index):
    index.put([document(5, summary("e1"))] * 2)
    index.put([document(5, summary("e1"))])
    index.refresh()
    assert found(index) == ["e1"]


def test_the_newest_of_one_batch_stays_whatever_its_place(index):
    index.put(
        [
            document(2, summary("e1", status="FAILED")),
            document(3, summary("e1", status="COMPLETED")),
            document(1, summary("e1", status="RUNNING")),
        ]
    )
    index.refresh()
    assert found(index, "status=COMPLETED") == ["e1"]


def test_a_claim_makes_a_task_newer_at_the_same_version(index):
    claimed = task("t1", status="IN_PROGRESS", claims=1)
    index.put([document(2, summary("e1"), tasks=(task("t1"),))])
    index.put([document(2, summary("e1"), tasks=(claimed,))])
    index.put([document(2, summary("e1"), tasks=(task("t1"),))])
    index.refresh()
    assert tasks_found(index, "status=IN_PROGRESS") == ["t1"]
    index.put([document(3, summary("e1"), tasks=(task("t1", status="COMPLETED", claims=1),))])
    index.put([document(2, summary("e1"), tasks=(task("t1", claims=5_000),))])
    index.refresh()
    assert tasks_found(index, "status=COMPLETED") == ["t1"]


def test_tasks_that_are_no_more_are_removed_with_the_others_left(index):
    index.put([document(2, summary("e1"), tasks=(task("t1", claims=3), task("t2")))])
    index.put([document(3, summary("e1"), tasks=(task("t2"), task("t3")), removed=("t1", "no"))])
    index.put([document(2, summary("e1"), removed=("t2",))])
    index.refresh()
    assert set(tasks_found(index)) == {"t2", "t3"}


def test_tasks_leave_with_their_execution_however_often_they_were_claimed(index):
    index.put([document(2, summary("e1"), tasks=(task("t1", claims=7),))])
    assert index.delete("e1", 2)
    index.refresh()
    assert tasks_found(index) == []


def test_an_older_document_still_brings_the_tasks_that_only_it_has(index):
    index.put([document(2, summary("e1"), tasks=(task("t1", status="COMPLETED"),))])
    index.put([document(1, summary("e1"), tasks=(task("t0"), task("t1", status="SCHEDULED")))])
    index.refresh()
    assert set(tasks_found(index)) == {"t0", "t1"}
    assert tasks_found(index, "status=COMPLETED") == ["t1"]


def test_a_new_start_time_moves_the_execution_in_the_order(index):
    put(index, summary("e1"), summary("e2", start_ms=T0 + 10))
    index.put([document(2, summary("e1", start_ms=T0 + 20, input="moved"))])
    index.refresh()
    assert found(index) == ["e1", "e2"]
    assert found(index, free_text="moved") == ["e1"]
    assert index.search(SearchRequest()).total_hits == 2


def test_an_empty_batch_is_nothing_to_do(index):
    index.put([])
    assert index.search(SearchRequest()).total_hits == 0


# ------------------------------------------------------------------------------------ order, pages


def test_the_newest_come_first_unless_asked_otherwise(index):
    put(index, *(summary(f"e{n}", start_ms=T0 + n, priority=n % 2) for n in (2, 0, 1, 3)))
    assert found(index) == ["e3", "e2", "e1", "e0"]
    assert found(index, sort="startTime:ASC") == ["e0", "e1", "e2", "e3"]
    assert found(index, sort="priority:DESC|startTime") == ["e1", "e3", "e0", "e2"]
    assert found(index, sort="workflowId:DESC") == ["e3", "e2", "e1", "e0"]


@pytest.mark.parametrize("order", ["ASC", "DESC"])
def test_what_has_no_value_is_sorted_last(index, order):
    put(index, summary("none"), summary("one", end_ms=T0 + 1), summary("two", end_ms=T0 + 2))
    ended = ["one", "two"] if order == "ASC" else ["two", "one"]
    assert found(index, sort=f"endTime:{order}") == [*ended, "none"]


def test_pages_cut_one_order_and_count_all(index):
    put(index, *(summary(f"e{n}", start_ms=T0) for n in range(7)))
    pages = [found(index, start=start, size=3) for start in (0, 3, 6)]
    assert [len(page) for page in pages] == [3, 3, 1]
    assert len({id_ for page in pages for id_ in page}) == 7
    page = index.search(SearchRequest(start=6, size=3))
    assert page.total_hits == 7
    assert index.search(SearchRequest(size=0)).total_hits == 7
    assert found(index, start=50) == []


# ------------------------------------------------------------------------------------ queries


@pytest.fixture(scope="module", params=_ADAPTERS)
def shop(request, tmp_path_factory):
    with opened(request.param, request, tmp_path_factory.mktemp("shop")) as search:
        fill(search)
        yield search


def fill(index: Search) -> None:
    """Three executions that differ in every way the queries below ask for; nobody changes them."""
    put(
        index,
        summary(
            "a",
            workflow_type="orders",
            status="RUNNING",
            start_ms=T0,
            correlation_id="c*1",
            input='{"customer": "Ada Lovelace", "sku": "x-17"}',
        ),
        summary(
            "b",
            workflow_type="orders_eu",
            status="FAILED",
            start_ms=T0 + 1000,
            end_ms=T0 + 1500,
            reason="Task charge timed out",
            failed_references=("charge_ref", "ship_ref"),
            priority=5,
            parent_id="a",
        ),
        summary(
            "c",
            workflow_type="returns",
            status="COMPLETED",
            start_ms=T0 + 2000,
            end_ms=T0 + 2600,
            correlation_id="c2",
            output='{"refund": 17, "to": "Ada"}',
            priority=9,
        ),
    )


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("workflowType=orders", "a"),
        ("workflowType='orders'", "a"),
        ('workflowType = "orders"', "a"),
        ("workflowType=ORDERS", ""),
        ("workflowType=ord*", "ab"),
        ("workflowType='*_eu'", "b"),
        ("workflowType=o*r*s", "a"),
        ("workflowType=*r*u*", "bc"),
        ("workflowType=order", ""),
        ("workflowType STARTS_WITH 'ord'", "ab"),
        ("workflowType!=orders", "bc"),
        ("workflowType!=ord*", "c"),
        ("workflowType IN (orders,returns)", "ac"),
        ("workflowType IN (orders, 'returns', nothing)", "ac"),
        ("workflowType NOT IN (orders)", "bc"),
        ("status IN (FAILED,TIMED_OUT)", "b"),
        (r"correlationId='c\*1'", "a"),
        ("correlationId='c*1'", "a"),
        ("correlationId=c*", "ac"),
        ("correlationId=c?1", ""),
        ("correlationId=[c]*", ""),
        ("correlationId=*", "ac"),
        ("correlationId IS NULL", "b"),
        ("correlationId IS NOT NULL", "ac"),
        ("correlationId=''", "b"),
        ("correlationId!=c2", "ab"),
        ("correlationId IN ('', c2)", "bc"),
        ('parentWorkflowId=""', "ac"),
        ('parentWorkflowId!=""', "b"),
        ("parentWorkflowId=a", "b"),
        ("failedReferenceTaskNames=ship_ref", "b"),
        ("failedReferenceTaskNames=ship*", "b"),
        ("failedReferenceTaskNames='charge_ref,ship_ref'", ""),
        ("failedReferenceTaskNames IS NULL", "ac"),
        ("priority=5", "b"),
        ("priority=0", "a"),
        ("priority>5", "c"),
        ("priority>=5", "bc"),
        ("priority<5", "a"),
        ("priority<=5", "ab"),
        ("priority!=5", "ac"),
        ("priority BETWEEN 5 AND 9", "bc"),
        ("priority IN (0, 9)", "ac"),
        (f"startTime>{T0}", "bc"),
        (f"startTime>{T0} AND startTime<{T0 + 2000}", "b"),
        (f"startTime BETWEEN {T0 + 1000} AND {T0 + 2000}", "bc"),
        ("startTime>='2023-11-14T22:13:21.000Z'", "bc"),
        ("startTime<2023-11-14T22:13:21.000Z", "a"),
        ("startTime<2023-11-14T23:13:21+01:00", "a"),
        (f"endTime<{T0 + 9999}", "bc"),
        (f"endTime>{T0 + 9999}", ""),
        ("endTime IS NULL", "a"),
        ("reasonForIncompletion='timed out'", "b"),
        ("reasonForIncompletion='OUT Timed'", "b"),
        ("reasonForIncompletion=tim*", "b"),
        ("reasonForIncompletion='charged'", ""),
        ("reasonForIncompletion STARTS_WITH 'task char'", "b"),
        ("reasonForIncompletion IS NULL", "ac"),
        ("reasonForIncompletion IS NOT NULL", "b"),
        ("input=ada", "a"),
        ("output=ada", "c"),
        ("input!=ada", "bc"),
        ("input IN (lovelace, nobody)", "a"),
        ("input='---'", ""),
        ("input=ada OR output=ada", "ac"),
        ("workflowType=returns AND output=refund", "c"),
        ("status=RUNNING AND output=refund", ""),
        ("status=RUNNING OR status=FAILED AND priority=0", "a"),
        ("(status=RUNNING OR status=FAILED) AND priority=5", "b"),
        ("status=COMPLETED OR (priority=5 AND (endTime IS NULL OR status=FAILED))", "bc"),
        ("", "abc"),
    ],
)
def test_a_query_finds_what_it_says_and_nothing_else(shop, query, expected):
    assert matching(shop, query) == set(expected)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("*", "abc"),
        ("", "abc"),
        ("ada", "ac"),
        ("ADA 17", "ac"),
        ("ada love*", "a"),
        ("adalovelace", ""),
        ("x-17", "a"),
        ("charge_ref", "b"),
        ("failed", "b"),
        ("completed refund", "c"),
        ("nobody", ""),
        ("!?", ""),
        ('" OR tags : NOT (', ""),
        ("AND", ""),
    ],
)
def test_free_text_finds_documents_with_all_its_words(shop, text, expected):
    assert matching(shop, "", free_text=text) == set(expected)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("status:COMPLETED ada", "c"),
        ("workflowType:orders* AND NOT status:FAILED AND ada", "a"),
        ("nobody OR refund", "c"),
        ("priority:[9 TO *] OR status:FAILED", "bc"),
        ("-_exists_:endTime", "a"),
    ],
)
def test_conditions_in_a_free_text_hold_as_those_of_a_query_do(shop, text, expected):
    assert matching(shop, "", free_text=text) == set(expected)


def test_query_and_free_text_both_hold(shop):
    assert matching(shop, "status=COMPLETED", free_text="ada") == {"c"}
    assert matching(shop, "status IN (RUNNING, FAILED)", free_text="ada") == {"a"}
    assert matching(shop, "priority>=9 AND output=ada", free_text="refund") == {"c"}
    assert matching(shop, "workflowType=orders_eu", free_text="ada") == set()


def test_free_text_results_are_sorted_and_paged_like_all_others(shop):
    assert found(shop, free_text="ada") == ["c", "a"]
    assert found(shop, free_text="ada", sort="startTime:ASC") == ["a", "c"]
    assert found(shop, free_text="ada", sort="priority:ASC", size=1) == ["a"]


def test_tasks_are_searched_by_their_own_fields(index):
    index.put(
        [
            document(
                1,
                summary("e1"),
                tasks=(
                    task("t1", task_definition="charge", reference="a", output="paid"),
                    task("t2", task_definition="ship", status="FAILED", scheduled_ms=T0 + 5),
                ),
            ),
            document(1, summary("e2"), tasks=(task("t3", "e2", task_definition="charge"),)),
        ]
    )
    index.refresh()
    assert set(tasks_found(index, "taskDefName=charge")) == {"t1", "t3"}
    assert tasks_found(index, "workflowId=e1 AND status=FAILED") == ["t2"]
    assert tasks_found(index, "workflowId=e1") == ["t2", "t1"]
    assert tasks_found(index, "taskDefName=charge", free_text="paid") == ["t1"]
    assert tasks_found(index, "referenceTaskName=a") == ["t1"]


def test_many_documents_are_found_by_page_and_count(index):
    index.put(
        [
            document(1, summary(f"e{n:04}", start_ms=T0 + n, status=("RUNNING", "FAILED")[n % 2]))
            for n in range(1_200)
        ]
    )
    index.refresh()
    asked = SearchRequest(query=parse_query("status=FAILED", EXECUTION_FIELDS), start=595, size=10)
    page = index.search(asked)
    assert page.total_hits == 600
    assert [shown.execution_id for shown in page.results] == [
        "e0009",
        "e0007",
        "e0005",
        "e0003",
        "e0001",
    ]


# ------------------------------------------------------------------------------------ archive


def test_an_archived_execution_is_read_back_at_once(index):
    whole = b'{"tasks": []}' * 1000
    index.put([document(4, summary("e1", end_ms=T0), archive=whole)])
    assert index.archived("e1") == Archived(version=4, document=whole)
    assert index.archived("e2") is None
    assert (index.archived_version("e1"), index.archived_version("e2")) == (4, None)


def test_what_an_execution_is_restored_from_comes_with_its_archive(index):
    index.put([document(4, summary("e1", end_ms=T0), archive=b"{}", kept=b"\x00packed")])
    assert index.kept("e1") == Archived(version=4, document=b"\x00packed")
    assert index.archived("e1") == Archived(version=4, document=b"{}")
    assert index.kept("e2") is None
    index.put([document(5, summary("e1"))])
    index.put([document(3, summary("e1", end_ms=T0), archive=b"{}", kept=b"older")])
    assert index.kept("e1") == Archived(version=4, document=b"\x00packed")
    index.put([document(6, summary("e1", end_ms=T0), archive=b"{}")])
    assert index.kept("e1") is None
    index.put([document(7, summary("e1", end_ms=T0), archive=b"{}", kept=b"new")])
    assert index.delete("e1", 7)
    assert index.kept("e1") is None


def test_a_document_without_archive_leaves_the_archived_one(index):
    index.put([document(4, summary("e1", end_ms=T0), archive=b"{}")])
    index.put([document(5, summary("e1"))])
    assert index.archived("e1") == Archived(version=4, document=b"{}")


def test_a_late_older_archive_changes_nothing(index):
    index.put([document(4, summary("e1", end_ms=T0), archive=b'{"v": 4}')])
    index.put([document(3, summary("e1", end_ms=T0), archive=b'{"v": 3}')])
    assert index.archived("e1") == Archived(version=4, document=b'{"v": 4}')


def _page(version: int, number: int, **parts) -> TaskPage:
    """A page of the tasks of an execution, which says what it is."""
    written = b'[{"v": %d}]' % (100 * version + number)
    return TaskPage(
        execution_id="e1", version=version, number=number, **{"document": written, **parts}
    )


def _pages(index, version: int, count: int) -> list[bytes | None]:
    return [index.page("e1", version, number) for number in range(count)]


def _put_wide(index, version: int, count: int, **parts) -> None:
    index.put([document(version - 1, summary("e1", end_ms=T0))])
    for number in range(count):
        index.put_page(_page(version, number))
    index.put([document(version, summary("e1", end_ms=T0), archive=b"{}", **parts)])


def test_tasks_of_a_wide_execution_are_read_by_pages_at_once(index):
    _put_wide(index, 4, 3, kept=b"packed")
    assert index.archived("e1") == Archived(version=4, document=b"{}")
    assert index.kept("e1") == Archived(version=4, document=b"packed")
    assert _pages(index, 4, 4) == [b'[{"v": 400}]', b'[{"v": 401}]', b'[{"v": 402}]', None]
    assert (index.page("e1", 3, 0), index.page("e2", 4, 0)) == (None, None)
    index.refresh()
    assert found(index) == ["e1"]
    assert index.ended_before(T0 + 1, 10) == (ArchivedId(execution_id="e1", version=4, end_ms=T0),)


def test_the_id_of_a_page_is_that_of_no_execution(index):
    _put_wide(index, 4, 1, kept=b"packed")
    assert index.archived(page_id("e1", 4, 0)) is None
    assert index.archived_version(page_id("e1", 4, 0)) is None
    assert index.kept(page_id("e1", 4, 0)) is None


def test_tasks_of_a_page_are_found_and_the_newer_of_each_stays(index):
    index.put([document(5, summary("e1"), tasks=(task("t2", status="COMPLETED"),))])
    index.put_page(_page(4, 0, tasks=(task("t1"), task("t2", status="FAILED"))))
    index.refresh()
    assert set(tasks_found(index)) == {"t1", "t2"}
    assert tasks_found(index, "status=FAILED") == []


def test_pages_of_another_version_change_nothing(index):
    _put_wide(index, 4, 2)
    index.put_page(_page(3, 0))
    index.put_page(_page(6, 0))
    index.put_page(_page(4, 0))
    assert _pages(index, 4, 2) == [b'[{"v": 400}]', b'[{"v": 401}]']
    assert index.page("e1", 6, 0) == b'[{"v": 600}]'
    _put_wide(index, 6, 1)
    index.put([document(5, summary("e1", end_ms=T0), archive=b'{"late": 1}')])
    assert index.archived("e1").version == 6
    assert _pages(index, 6, 2) == [b'[{"v": 600}]', None]


def test_a_page_that_is_written_again_is_there_once_as_it_was_written_last(index):
    _put_wide(index, 4, 2)
    index.put_page(_page(4, 1, document=b'["again"]', tasks=(task("t1"),)))
    assert _pages(index, 4, 3) == [b'[{"v": 400}]', b'["again"]', None]


def test_deleting_removes_every_page_and_no_later_one_comes(index, monkeypatch):
    monkeypatch.setattr(elasticsearch_search, "_PAGE", 2)
    _put_wide(index, 4, 3)
    _put_wide(index, 5, 5)
    assert not index.delete("e1", 4)
    assert _pages(index, 5, 5) == [b'[{"v": %d}]' % n for n in range(500, 505)]
    assert index.delete("e1", 5)
    index.put([document(4, summary("e1", end_ms=T0))])
    for number in (0, 7):
        index.put_page(_page(5, number, tasks=(task("t1"),)))
    assert index.archived("e1") is None
    assert [_pages(index, version, 8) for version in (4, 5)] == [[None] * 8] * 2
    index.refresh()
    assert tasks_found(index) == []


def test_a_page_of_an_execution_that_the_index_does_not_know_is_not_written(index):
    index.put_page(_page(4, 0, tasks=(task("t1"),)))
    assert index.page("e1", 4, 0) is None
    index.refresh()
    assert tasks_found(index) == []


def test_retention_lists_what_ended_before_the_oldest_first(index):
    index.put([document(n + 10, summary(f"e{n}", end_ms=T0 - n), archive=b"{}") for n in range(4)])
    index.put([document(1, summary("open"))])
    index.refresh()
    assert index.ended_before(T0, 2) == (
        ArchivedId(execution_id="e3", version=13, end_ms=T0 - 3),
        ArchivedId(execution_id="e2", version=12, end_ms=T0 - 2),
    )
    (*_, second) = index.ended_before(T0, 2)
    (third,) = index.ended_before(T0, 2, second)
    assert third == ArchivedId(execution_id="e1", version=11, end_ms=T0 - 1)
    assert index.ended_before(T0, 2, third) == ()
    assert len(index.ended_before(T0, 10)) == 3
    assert index.ended_before(T0 - 3, 10) == ()


# ------------------------------------------------------------------------------------ delete


def test_deleting_removes_summary_tasks_words_and_archive(index):
    shown = summary("e1", input="secret", end_ms=T0)
    index.put([document(4, shown, tasks=(task("t1", input="secret"),), archive=b"{}")])
    index.put([document(4, summary("e2"), tasks=(task("t2", "e2"),))])
    assert index.delete("e1", 4)
    index.refresh()
    assert found(index) == ["e2"]
    assert tasks_found(index) == ["t2"]
    assert found(index, free_text="secret") == []
    assert tasks_found(index, free_text="secret") == []
    assert index.archived("e1") is None
    assert index.archived_version("e1") is None
    assert index.ended_before(T0 + 1, 10) == ()


def test_deleting_refuses_when_something_newer_is_there(index):
    index.put([document(5, summary("e1"), tasks=(task("t1"),), archive=b"{}")])
    assert not index.delete("e1", 4)
    index.refresh()
    assert found(index) == ["e1"]
    assert tasks_found(index) == ["t1"]
    assert index.archived("e1") is not None


def test_deleting_what_is_not_there_is_done_already(index):
    assert index.delete("e1", 4)
    index.put([document(4, summary("e2"))])
    assert index.delete("e2", 4)
    assert index.delete("e2", 4)


def test_a_late_document_does_not_bring_a_deleted_execution_back(index):
    late = document(4, summary("e1"), tasks=(task("t1"), task("t9")), archive=b"{}")
    index.put([document(4, summary("e1"), tasks=(task("t1"),))])
    assert index.delete("e1", 4)
    index.put([late])
    index.refresh()
    assert found(index) == []
    assert tasks_found(index) == []
    assert index.archived("e1") is None


def test_a_deleted_execution_that_goes_on_is_indexed_again(index):
    index.put([document(4, summary("e1"))])
    assert index.delete("e1", 4)
    index.put([document(5, summary("e1"), tasks=(task("t1"),))])
    index.refresh()
    assert found(index) == ["e1"]
    assert tasks_found(index) == ["t1"]
