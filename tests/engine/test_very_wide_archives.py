"""Very wide executions are archived, read, taken up again and removed without being read whole."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from itertools import pairwise
from typing import Any

import orjson
import pytest

from conductor_py.adapters.memory import store
from conductor_py.adapters.memory.space import MemorySpace
from conductor_py.codec import kept_execution
from conductor_py.engine.effects import indexing
from conductor_py.engine.reading import pieces, reading, wide_archiving
from conductor_py.engine.reading.archives import pages_of
from conductor_py.engine.reading.latest import Latest
from conductor_py.engine.reading.views import Views
from conductor_py.errors import (
    NotFound,
    Overloaded,
    PayloadTooLarge,
    StoreDamaged,
    StoreUnavailable,
)
from conductor_py.model.ids import ExecutionId, partition_of, task_id
from conductor_py.model.requests import RerunRequest
from conductor_py.model.search import ExecutionDocument, SearchRequest, TaskPage
from conductor_py.ports.outbox import Pending
from conductor_py.ports.reader import ExecutionChanged
from conductor_py.testing import FakeClock, MemoryEngine, memory_engine
from conductor_py.wire.outside import PLACE
from tests.builders import (
    dag,
    fork,
    fork_inputs,
    join,
    pass_time,
    run_failing,
    simple,
    status_of,
    workflow,
)
from tests.heavy import another_has, few_are_many, wide_execution

_BRANCHES = 30


@pytest.fixture(autouse=True)
def _little_is_much(monkeypatch: pytest.MonkeyPatch) -> None:
    few_are_many(monkeypatch)
    monkeypatch.setattr(wide_archiving, "PAGE_TASKS", 7)
    monkeypatch.setattr(indexing, "_WHOLE_BYTES", 0)


@pytest.fixture
def wide(engine: MemoryEngine) -> str:
    return wide_execution(engine, _BRANCHES)


def _last(number: int = _BRANCHES - 1) -> str:
    return f"b{number}"


def _leave(engine: MemoryEngine, execution: str) -> None:
    for _ in range(3):
        pass_time(engine, seconds=61)
    assert engine.engine.executions.view(execution) is None


def _json(document: Any) -> Any:
    return orjson.loads(orjson.dumps(document, default=dict))


def test_it_is_read_in_pieces_and_archived_as_it_was(
    engine: MemoryEngine, wide: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    task = engine.run(_last())
    engine.engine.tasks.log(task["taskId"], "paid with 4111")
    before, logs = engine.workflow(wide), engine.engine.tasks.logs(task["taskId"])
    loaded: list[int] = []
    load = engine.ports.store.load

    def noted(execution: ExecutionId, reads: Any) -> Any:
        loaded.append(sum(name.startswith("a:") for name in reads))
        return load(execution, reads)

    monkeypatch.setattr(engine.ports.store, "load", noted)
    _leave(engine, wide)
    assert max(loaded) <= 7
    after = engine.workflow(wide)
    assert _json(after) == _json(before)
    assert b"4111" not in orjson.dumps(after, default=dict)
    assert _json(engine.engine.tasks.logs(task["taskId"])) == _json(logs)
    found = engine.ports.search.search_tasks(SearchRequest(size=100))
    assert found.total_hits == _BRANCHES + 2
    assert {each.status for each in found.results} == {"COMPLETED"}
    kept = engine.ports.search.archived(wide)
    assert kept is not None
    assert pages_of(kept.document) == (7, 7, 7, 7, 4)


def test_readers_get_the_same_of_the_archive_as_of_the_store(
    engine: MemoryEngine, wide: str
) -> None:
    run_failing(engine, _last())
    executions, tasks = engine.engine.executions, engine.engine.tasks

    def read() -> list[Any]:
        pages = [
            executions.tasks(wide, start=start, count=9, statuses=statuses)
            for statuses in ((), {"COMPLETED"}, {"FAILED"}, {"SKIPPED"})
            for start in (0, 5, 7, 27, 31, 99)
        ]
        ids = [each["taskId"] for each in executions.tasks(wide, start=0, count=99).results]
        one_by_one = [tasks.document(str(each)) for each in ids]
        without = executions.document(wide, include_tasks=False)
        whole = orjson.loads(executions.json(wide))
        bare = orjson.loads(executions.json(wide, include_tasks=False))
        found = [(page.total_hits, page.results) for page in pages]
        return [_json(each) for each in (found, one_by_one, without, whole, bare)]

    before = read()
    assert before[2]["failedReferenceTaskNames"] == [_last()]
    _leave(engine, wide)
    assert read() == before
    for seq in (0, 1_000):
        with pytest.raises(NotFound):
            tasks.document(task_id(ExecutionId(wide), seq))
    nobody = f"{wide[:-1]}{'0' if wide[-1] != '0' else '1'}"
    with pytest.raises(NotFound):
        executions.tasks(nobody, start=0, count=5)


def test_it_comes_back_with_all_that_it_had_and_goes_on(engine: MemoryEngine, wide: str) -> None:
    run_failing(engine, _last())
    before = engine.workflow(wide)
    _leave(engine, wide)
    engine.engine.recovery.retry(wide)
    tasks = engine.workflow(wide)["tasks"]
    # Of the JOIN and the branch that failed, new tries.
    assert _json(tasks)[:_BRANCHES] == _json(before["tasks"])[:_BRANCHES]
    engine.run(_last())
    assert status_of(engine, wide) == "COMPLETED"
    _leave(engine, wide)
    assert status_of(engine, wide) == "COMPLETED"
    assert len(engine.workflow(wide)["tasks"]) > len(before["tasks"])


def test_plans_of_its_forks_are_kept_with_it_and_go_with_it() -> None:
    clock = FakeClock()
    space = MemorySpace(clock=clock)
    engine = memory_engine(clock=clock, space=space)
    spread = fork_inputs("g", list(range(12)), forkTaskName="many")
    started = engine.start(workflow("w", spread, join("j"), simple("z")))
    for task in engine.poll("many", 12):
        engine.complete(task)
    run_failing(engine, "z")
    _leave(engine, started)
    space.partition(0).plans.clear()
    space.partition(0).plans_in_order.scores.clear()
    tasks = engine.workflow(started)["tasks"]
    assert {task["workflowTask"]["name"] for task in tasks} >= {"many", "z"}
    engine.engine.recovery.retry(started)
    engine.run("z")
    assert status_of(engine, started) == "COMPLETED"
    _leave(engine, started)
    assert len(engine.workflow(started)["tasks"]) == len(tasks) + 1


def test_one_that_is_too_large_to_come_back_can_be_read(
    engine: MemoryEngine, wide: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kept_execution, "MOST_BYTES", 100)
    engine.run(_last())
    before = engine.workflow(wide)
    _leave(engine, wide)
    assert _json(engine.workflow(wide)) == _json(before)
    assert engine.ports.search.kept(wide) is None


@pytest.mark.parametrize("verb", ["restart", "retry"])
@pytest.mark.parametrize("before_page", [0, 2, None])
def test_what_is_taken_up_again_meanwhile_is_archived_when_it_has_ended_again(
    engine: MemoryEngine,
    wide: str,
    monkeypatch: pytest.MonkeyPatch,
    verb: str,
    before_page: int | None,
) -> None:
    put, put_page = engine.ports.search.put, engine.ports.search.put_page
    again = iter([True])

    def page_put(page: TaskPage) -> None:
        if page.number == before_page and next(again, False):
            getattr(engine.engine.recovery, verb)(wide)
        put_page(page)

    def rest_put(documents: Sequence[ExecutionDocument]) -> None:
        ended = any(document.archive is not None for document in documents)
        if ended and before_page is None and next(again, False):
            getattr(engine.engine.recovery, verb)(wide)
        put(documents)

    monkeypatch.setattr(engine.ports.search, "put_page", page_put)
    monkeypatch.setattr(engine.ports.search, "put", rest_put)
    run_failing(engine, _last())
    pass_time(engine, seconds=5)
    assert next(again, None) is None
    assert engine.engine.executions.view(wide) is not None
    if before_page is not None:
        assert engine.ports.search.archived(wide) is None
    for number in range(_BRANCHES) if verb == "restart" else (_BRANCHES - 1,):
        engine.run(_last(number), {"turn": 2})
    _leave(engine, wide)
    found = engine.workflow(wide)
    assert found["status"] == "COMPLETED"
    turns = [task["outputData"].get("turn") for task in found["tasks"]]
    assert turns.count(2) == (_BRANCHES if verb == "restart" else 1)


def test_what_is_taken_up_again_between_two_looks_at_it_is_not_archived_as_it_runs(
    engine: MemoryEngine, wide: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    snapshot, again = engine.ports.reader.snapshot, iter([True])

    def taken_up(execution: ExecutionId, **more: Any) -> Any:
        if "before_more" in more and next(again, False):
            with pytest.raises(indexing.TakesLong):
                snapshot(execution, **more)
            engine.engine.recovery.restart(wide)
            raise indexing.TakesLong
        return snapshot(execution, **more)

    monkeypatch.setattr(engine.ports.reader, "snapshot", taken_up)
    engine.run(_last())
    pass_time(engine, seconds=5)
    assert next(again, None) is None
    assert status_of(engine, wide) == "RUNNING"
    pass_time(engine, seconds=61)
    assert engine.ports.search.archived(wide) is None
    (found,) = engine.ports.search.search(SearchRequest()).results
    assert found.status == "RUNNING"


def _slow_pages(engine: MemoryEngine, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Let each page take longer than a batch may; grows by the numbers of those written."""
    put_page, numbers = engine.ports.search.put_page, list[int]()

    def slowly(page: TaskPage) -> None:
        engine.clock.advance(seconds=6)
        put_page(page)
        numbers.append(page.number)

    monkeypatch.setattr(engine.ports.search, "put_page", slowly)
    return numbers


def test_others_do_not_wait_for_all_of_it(
    engine: MemoryEngine, wide: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    numbers = _slow_pages(engine, monkeypatch)
    before: list[int] = []
    put = engine.ports.search.put

    def noted(documents: Sequence[ExecutionDocument]) -> None:
        before.extend(len(numbers) for each in documents if each.execution_id == other)
        put(documents)

    other = engine.start(workflow("other", simple("a")))
    monkeypatch.setattr(engine.ports.search, "put", noted)
    engine.complete(engine.poll(_last())[0])
    engine.run("a")
    pass_time(engine, seconds=60)
    assert numbers == [0, 1, 2, 3, 4]
    assert max(before) < 4
    assert engine.ports.search.archived(wide) is not None


def test_several_of_them_take_turns_and_a_batch_ends_in_time(
    engine: MemoryEngine, wide: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    branches = [[simple(f"c{number}")] for number in range(20)]
    more = [
        engine.start(workflow("v", fork("f", *branches), join("j", "c0")), input={"number": number})
        for number in range(2)
    ]
    for number in range(20):
        for task in engine.poll(f"c{number}", 5):
            engine.complete(task)
    pages = _slow_pages(engine, monkeypatch)
    page, read, turns = engine.ports.search.page, engine.ports.outbox.read, list[list[str]]()

    def slow_read(id_: str, version: int, number: int) -> bytes | None:
        engine.clock.advance(seconds=6)
        turns[-1].append(id_)
        return page(id_, version, number)

    def begun(partition: int, ids: Sequence[str]) -> Any:
        turns.append([])
        return read(partition, ids)

    monkeypatch.setattr(engine.ports.search, "page", slow_read)
    monkeypatch.setattr(engine.ports.outbox, "read", begun)
    engine.complete(engine.poll(_last())[0])
    for _ in range(4):
        pass_time(engine, seconds=61)
    assert {engine.engine.executions.view(each) for each in (wide, *more)} == {None}
    assert len(pages) == 5 + 4 + 4
    assert max(map(len, turns)) == 1
    looks = [turn[0] for turn in turns if turn]
    last = [len(looks) - looks[::-1].index(each) for each in (wide, *more)]
    assert max(map(looks.index, (wide, *more))) < min(last)


def test_nobody_else_begins_with_it_meanwhile(
    engine: MemoryEngine, wide: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    put_page, due = engine.ports.search.put_page, list[str]()

    def looked(page: TaskPage) -> None:
        engine.clock.advance(seconds=1)
        taken = engine.ports.outbox.take(0, 100, 30_000)
        due.extend(each.id for each in taken if each.id.startswith(wide))
        put_page(page)

    monkeypatch.setattr(engine.ports.search, "put_page", looked)
    engine.engine.relay._lease_ms = 500
    engine.run(_last())
    pass_time(engine, seconds=5)
    assert due == []
    assert engine.ports.search.archived(wide) is not None


@pytest.mark.parametrize("remembers", [True, False], ids=["the same process", "another"])
def test_after_an_index_that_was_away_it_goes_on_behind_what_is_written(
    engine: MemoryEngine, wide: str, monkeypatch: pytest.MonkeyPatch, *, remembers: bool
) -> None:
    put_page, numbers = engine.ports.search.put_page, list[int]()

    def failing(page: TaskPage) -> None:
        if len(numbers) == 3:
            raise StoreUnavailable("away")
        put_page(page)
        numbers.append(page.number)

    def noted(page: TaskPage) -> None:
        put_page(page)
        numbers.append(page.number)

    monkeypatch.setattr(engine.ports.search, "put_page", failing)
    engine.complete(engine.poll(_last())[0])
    with pytest.raises(StoreUnavailable):
        pass_time(engine, seconds=5)
    assert numbers == [0, 1, 2]
    before = engine.workflow(wide)
    if not remembers:
        monkeypatch.setattr(Latest, "pop", lambda *_: None)
    monkeypatch.setattr(engine.ports.search, "put_page", noted)
    _leave(engine, wide)
    assert numbers == [0, 1, 2, 3, 4]
    assert _json(engine.workflow(wide)) == _json(before)


def test_two_at_once_write_the_same(
    engine: MemoryEngine, wide: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    put_page, inner = engine.ports.search.put_page, list[bool]()

    def meanwhile(page: TaskPage) -> None:
        if page.number == 2 and not inner:
            inner.append(False)
            with ThreadPoolExecutor(1) as other:
                effect = Pending(id=f"{wide}:index", stamp=0, document=b"")
                go_on = engine.engine.effects._goes_on["index"]
                inner[0] = bool(other.submit(go_on, 0, [effect]).result().done)
        put_page(page)

    monkeypatch.setattr(engine.ports.search, "put_page", meanwhile)
    task = engine.poll(_last())[0]
    engine.complete(task)
    before = engine.workflow(wide)
    _leave(engine, wide)
    assert inner == [True]
    assert _json(engine.workflow(wide)) == _json(before)


@pytest.mark.parametrize("lost", ["archive", "pages"])
def test_one_whose_archive_is_lost_is_archived_again_and_leaves_at_once(
    engine: MemoryEngine, wide: str, lost: str
) -> None:
    engine.run(_last())
    pass_time(engine, seconds=5)
    before = engine.workflow(wide)
    del getattr(engine.ports.search._state, lost)[wide]  # type: ignore[attr-defined]
    pass_time(engine, seconds=61)
    pass_time(engine, seconds=61)
    assert engine.engine.executions.view(wide) is None
    assert _json(engine.workflow(wide)) == _json(before)


def test_one_that_the_index_was_told_to_forget_later_is_given_a_version_above(
    engine: MemoryEngine, wide: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    scan, looks = engine.ports.reader.scan, list[int]()

    def noted(execution: ExecutionId, version: int) -> Any:
        looks.append(version)
        return scan(execution, version)

    monkeypatch.setattr(engine.ports.reader, "scan", noted)
    engine.ports.search.delete(wide, engine.clock.now_ms + 300_000)
    engine.run(_last())
    for _ in range(15):
        pass_time(engine, seconds=61)
        if engine.ports.search.archived(wide) is None:
            assert engine.engine.executions.view(wide) is not None
    assert engine.engine.executions.view(wide) is None
    assert engine.workflow(wide)["status"] == "COMPLETED"
    assert len(looks) <= 6


def test_what_is_older_than_a_task_before_it_is_so_in_the_archive_however_long_that_takes_to_find(
    engine: MemoryEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    refs = [_last(number) for number in range(20)]
    edges = [f"{one} > {next_}" for one, next_ in pairwise(refs)]
    started = engine.start(dag("d", [simple(ref) for ref in refs], *edges))
    for ref in refs:
        engine.run(ref)
    engine.engine.recovery.rerun(started, RerunRequest(from_ref=refs[3], mode="TASK_ONLY"))
    engine.settle()
    find, searches = Views.stale, list[str]()

    def slowly(self: Views, execution: ExecutionId, *of: Any) -> Any:
        searches.append(execution)
        engine.clock.advance(seconds=60)
        return find(self, execution, *of)

    monkeypatch.setattr(Views, "stale", slowly)
    pages = _slow_pages(engine, monkeypatch)
    engine.run(refs[3])
    before = engine.workflow(started)
    assert [task.get("stale", False) for task in before["tasks"]].count(True) == 16
    _leave(engine, started)
    assert (len(pages), searches) == (3, [started])
    assert _json(engine.workflow(started)) == _json(before)


def test_a_page_ends_where_definitions_make_it_long(
    engine: MemoryEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(wide_archiving, "PAGE_JSON", 20_000)
    refs = [_last(number) for number in range(12)]
    wordy = [[simple(ref, inputParameters={"text": "x" * 6_000})] for ref in refs[:6]]
    plain = [[simple(ref)] for ref in refs[6:]]
    started = engine.start(workflow("w", fork("f", *wordy, *plain), join("j", *refs)))
    for ref in refs:
        engine.run(ref)
    before = engine.workflow(started)
    put_page, pages = engine.ports.search.put_page, list[TaskPage]()

    def noted(page: TaskPage) -> None:
        put_page(page)
        pages.append(page)

    monkeypatch.setattr(engine.ports.search, "put_page", noted)
    _leave(engine, started)
    assert _json(engine.workflow(started)) == _json(before)
    lengths = [len(page.document) for page in pages]
    assert max(lengths) < 100_000
    assert [len(page.tasks) for page in pages] != [7, 7]


def test_a_page_ends_where_it_has_many_bytes(
    engine: MemoryEngine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(wide_archiving, "PAGE_BYTES", 5_000)
    monkeypatch.setattr(pieces, "_READ_BYTES", 5_000)
    monkeypatch.setattr(store, "READ_BYTES", 9_000)
    refs = [_last(number) for number in range(12)]
    started = engine.start(workflow("w", fork("f", *[[simple(r)] for r in refs]), join("j", "b0")))
    for number, ref in enumerate(refs):
        engine.run(ref, {"x": "y" * (12_000 if number == 5 else 2_000)})
    before = engine.workflow(started)
    _leave(engine, started)
    kept = engine.ports.search.archived(started)
    assert kept is not None
    counts = pages_of(kept.document)
    assert sum(counts) == 14
    assert max(counts) <= 4
    assert _json(engine.workflow(started)) == _json(before)


def test_what_is_forgotten_meanwhile_leaves_nothing(
    engine: MemoryEngine, wide: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    put_page, pages = engine.ports.search.put_page, list[TaskPage]()

    def late(page: TaskPage) -> None:
        pages.append(page)
        if page.number == 2:
            engine.engine.steering.remove(wide, archive=False)
            engine.settle()
            pass_time(engine, seconds=61)
        put_page(page)

    monkeypatch.setattr(engine.ports.search, "put_page", late)
    engine.run(_last())
    for _ in range(3):
        pass_time(engine, seconds=61)
    assert engine.ports.search.archived(wide) is None
    assert engine.ports.search.search(SearchRequest()).total_hits == 0
    assert engine.ports.search.search_tasks(SearchRequest()).total_hits == 0
    assert [page.number for page in pages] == [0, 1, 2]
    assert [engine.ports.search.page(wide, p.version, p.number) for p in pages] == [None] * 3


@pytest.mark.parametrize(
    ("damage", "mended"),
    [
        ("absent", [2]),
        ("no JSON", [2]),
        ("no tasks", [2]),
        ("damaged", [2]),
        ("fewer", [0, 1, 2, 3, 4]),  # nothing says which of them is wrong
        ("those before", [2]),
    ],
)
def test_one_of_which_a_page_is_lost_stays_in_the_store_until_that_is_written_again(
    engine: MemoryEngine,
    wide: str,
    monkeypatch: pytest.MonkeyPatch,
    damage: str,
    mended: list[int],
) -> None:
    engine.run(_last())
    before = engine.workflow(wide)
    page, put_page = engine.ports.search.page, engine.ports.search.put_page
    again = list[int]()

    def read(id_: str, version: int, number: int) -> bytes | None:
        found = page(id_, version, number)
        if number != 2 or 2 in again or found is None:
            return found
        if damage == "damaged":
            raise StoreDamaged("damaged")
        if damage == "those before":
            return page(id_, version, number - 1)
        fewer = orjson.dumps(orjson.loads(found)[:-1])
        return {"absent": None, "no tasks": b"[{}]", "no JSON": b"[{", "fewer": fewer}[damage]

    def noted(page: TaskPage) -> None:
        assert engine.engine.executions.view(wide) is not None
        put_page(page)
        again.append(page.number)

    pass_time(engine, seconds=5)
    assert engine.ports.search.archived(wide) is not None
    monkeypatch.setattr(engine.ports.search, "page", read)
    monkeypatch.setattr(engine.ports.search, "put_page", noted)
    _leave(engine, wide)
    assert again == mended
    assert _json(engine.workflow(wide)) == _json(before)


def test_what_is_away_for_another_does_not_keep_it_from_being_archived(
    engine: MemoryEngine, wide: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    archived = engine.ports.search.archived

    def away(execution: str) -> Any:
        if execution == narrow:
            raise StoreUnavailable("away")
        return archived(execution)

    monkeypatch.setattr(engine.ports.search, "archived", away)
    narrow = wide
    while partition_of(ExecutionId(narrow)) != partition_of(ExecutionId(wide)) or narrow == wide:
        narrow = engine.start(workflow("narrow", simple("a")))
        engine.run("a")
    engine.complete(engine.poll(_last())[0])
    for _ in range(3):
        with suppress(StoreUnavailable):
            pass_time(engine, seconds=31)
    assert archived(wide) is not None


def test_a_look_at_its_pages_that_is_held_up_goes_on_where_it_was(
    engine: MemoryEngine, wide: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine.run(_last())
    pass_time(engine, seconds=5)
    page, looks = engine.ports.search.page, list[int]()

    def busy(id_: str, version: int, number: int) -> bytes | None:
        looks.append(number)
        if len(looks) % 2 == 0:
            raise Overloaded("busy")
        return page(id_, version, number)

    monkeypatch.setattr(engine.ports.search, "page", busy)
    for _ in range(10):
        pass_time(engine, seconds=15)
    assert engine.engine.executions.view(wide) is None
    assert looks == [0, 1, 1, 2, 2, 3, 3, 4, 4]


def test_pages_that_end_elsewhere_than_the_archive_says_get_an_archive_of_their_own(
    engine: MemoryEngine, wide: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine.run(_last())
    pass_time(engine, seconds=5)
    before = engine.workflow(wide)
    monkeypatch.setattr(wide_archiving, "PAGE_TASKS", 5)  # another version of the server
    pages = engine.ports.search._state.pages[wide]  # type: ignore[attr-defined]
    del pages[max(pages)]
    for _ in range(25):
        pass_time(engine, seconds=61)
    assert engine.engine.executions.view(wide) is None
    after = engine.workflow(wide)
    assert _json(after["tasks"]) == _json(before["tasks"])


def test_an_archive_newer_than_the_store_is_looked_at_as_well(
    engine: MemoryEngine, wide: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine.run(_last())
    pass_time(engine, seconds=5)
    before = engine.workflow(wide)
    state = engine.ports.search._state  # type: ignore[attr-defined]
    state.archive[wide] = replace(state.archive[wide], version=state.archive[wide].version + 1)
    for _ in range(4):
        pass_time(engine, seconds=61)
    assert engine.engine.executions.view(wide) is None
    assert _json(engine.workflow(wide)["tasks"]) == _json(before["tasks"])


def test_a_field_of_a_number_that_no_task_has_yet_is_no_task_of_it(
    engine: MemoryEngine, wide: str
) -> None:
    fields = engine.space.of(ExecutionId(wide)).executions[ExecutionId(wide)].fields
    fields["a:5000"] = fields["a:5"]
    engine.run(_last())
    _leave(engine, wide)
    assert engine.engine.executions.tasks(wide, start=0, count=5).total_hits == _BRANCHES + 2


def test_one_that_changes_whenever_it_is_looked_at_waits_between_two_looks(
    engine: MemoryEngine, wide: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks = list[str]()

    def changed(execution: ExecutionId, _version: int) -> Any:
        looks.append(execution)
        raise ExecutionChanged

    engine.complete(engine.poll(_last())[0])
    with monkeypatch.context() as context:
        context.setattr(engine.ports.reader, "scan", changed)
        for _ in range(5):
            pass_time(engine, seconds=1)
    assert len(looks) == 5
    _leave(engine, wide)


def test_an_archive_whose_page_is_lost_again_and_again_is_not_looked_at_all_the_time(
    engine: MemoryEngine, wide: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine.run(_last())
    pass_time(engine, seconds=5)
    looks = list[int]()

    def lost(_id: str, _version: int, number: int) -> None:
        looks.append(number)

    monkeypatch.setattr(engine.ports.search, "page", lost)
    pass_time(engine, seconds=600)
    assert engine.engine.executions.view(wide) is not None
    assert 5 <= len(looks) <= 120


@pytest.mark.parametrize(
    ("version", "expected"), [(None, NotFound), (1, Overloaded), ("own", StoreDamaged)]
)
def test_a_page_that_goes_while_it_is_read_is_told_as_what_it_is(
    engine: MemoryEngine,
    wide: str,
    monkeypatch: pytest.MonkeyPatch,
    version: Any,
    expected: type[Exception],
) -> None:
    engine.run(_last())
    _leave(engine, wide)
    own = engine.ports.search.archived_version(wide)
    now = own if version == "own" else version
    monkeypatch.setattr(engine.ports.search, "page", lambda *_: None)
    monkeypatch.setattr(engine.ports.search, "archived_version", lambda _: now)
    with pytest.raises(expected):
        engine.engine.executions.tasks(wide, start=0, count=5)


def test_one_that_is_archived_is_read_whole_by_one_at_a_time(
    engine: MemoryEngine, wide: str
) -> None:
    engine.run(_last())
    _leave(engine, wide)
    executions = engine.engine.executions
    with another_has(PLACE):
        for read in (
            lambda: executions.json(wide, patient=False),
            lambda: executions.tasks(wide, start=0, count=5, statuses={"FAILED"}, patient=False),
        ):
            with pytest.raises(Overloaded, match="large execution"):
                read()
        assert executions.json(wide, include_tasks=False, patient=False)
        assert len(executions.tasks(wide, start=3, count=5, patient=False).results) == 5
    assert not PLACE.is_own
    assert len(orjson.loads(executions.json(wide, patient=False))["tasks"]) == _BRANCHES + 2
    assert not PLACE.is_own


def test_an_archive_that_is_too_large_to_be_read_whole_is_read_by_pages(
    engine: MemoryEngine, wide: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine.run(_last())
    _leave(engine, wide)
    monkeypatch.setattr(reading, "_MOST_BYTES", 1_000)
    for read in (engine.engine.executions.json, engine.engine.executions.document):
        with pytest.raises(PayloadTooLarge, match="includeTasks=false"):
            read(wide)
    assert engine.engine.executions.document(wide, include_tasks=False)["tasks"] == []
    page = engine.engine.executions.tasks(wide, start=30, count=9)
    assert (page.total_hits, len(page.results)) == (_BRANCHES + 2, 2)


def test_one_that_runs_is_put_into_the_index_without_its_tasks_being_read(
    engine: MemoryEngine, wide: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unread(*_: object, **__: object) -> None:
        raise AssertionError("it was read whole")

    monkeypatch.setattr(engine.ports.reader, "snapshot", unread)
    monkeypatch.setattr(engine.ports.reader, "scan", unread)
    engine.engine.steering.pause(wide)
    pass_time(engine, seconds=5)
    (found,) = engine.ports.search.search(SearchRequest(size=5)).results
    assert found.status == "PAUSED"
