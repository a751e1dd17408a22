"""Very many archived executions, with two tasks each, in the embedded index: how long a search
takes.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

from benchmarks.figures import Figure, quantile
from conductor_py.adapters.sqlite.search import SqliteSearch
from conductor_py.model.search import (
    And,
    Between,
    ExecutionDocument,
    ExecutionSummary,
    OneOf,
    Query,
    SearchRequest,
    SortKey,
    TaskSummary,
    anywhere,
)

_PART: Final = "Very many archived executions of two tasks, embedded index"
_BATCH: Final = 500
_SEARCHES: Final = 60
_TYPES: Final = 50
_CUSTOMERS: Final = 20_000
_WORDS: Final = 5_000
_APART_MS: Final = 1000
_TASKS: Final = 2
_LATEST: Final = SortKey(field="startTime", descending=True)


def measure_archive(folder: Path, count: int) -> list[Figure]:
    """Fill an index, and search it as pages and programs do."""
    search = SqliteSearch(folder / "search.sqlite")
    try:
        began = time.perf_counter()
        for first in range(0, count, _BATCH):
            search.put([_document(number) for number in range(first, min(first + _BATCH, count))])
        filled = time.perf_counter() - began
        figures = [
            Figure(
                key="scale_archive_put",
                part=_PART,
                title=f"putting {count:,} into it, {_BATCH} at a time: each",
                value=filled * 1000 / count,
                unit="ms",
            ),
            Figure(
                key="scale_archive_size",
                part=_PART,
                title="size of its files for one",
                value=sum(each.stat().st_size for each in folder.iterdir()) / count,
                unit="B",
            ),
        ]
        return figures + list(_searches(search, count))
    finally:
        search.close()


def _searches(search: SqliteSearch, count: int) -> Iterator[Figure]:
    drawn = random.Random(1)  # noqa: S311 - which ones are asked for
    for name, title, ask, run in (
        ("id", "one correlation id", _by_correlation, search.search),
        ("recent", "the latest of a workflow that failed", _failed, search.search),
        ("range", "a workflow in an hour", _within, search.search),
        ("word", "a word of the input", _word, search.search),
        ("all", "the latest of all", _all, search.search),
        (
            "task",
            "the latest tasks of a definition that failed",
            _failed_tasks,
            search.search_tasks,
        ),
        ("tasks", "the tasks of an execution", _tasks_of, search.search_tasks),
        ("task_word", "a word of a task's output", _word, search.search_tasks),
    ):
        yield Figure(
            key=f"scale_search_{name}",
            part=_PART,
            title=f"search among {count:,}: {title}, p99",
            value=_p99(run, [ask(drawn, count) for _ in range(_SEARCHES)]),
            unit="ms",
            target=50,
        )


def _p99(run: Callable[[SearchRequest], object], asked: list[SearchRequest]) -> float:
    took = []
    for request in asked:
        began = time.perf_counter()
        run(request)
        took.append((time.perf_counter() - began) * 1000)
    return quantile(took, 0.99)


def _by_correlation(drawn: random.Random, count: int) -> SearchRequest:
    return _request(OneOf(field="correlationId", values=(f"order-{drawn.randrange(count)}",)))


def _failed(drawn: random.Random, _: int) -> SearchRequest:
    kind = OneOf(field="workflowType", values=(f"type_{drawn.randrange(_TYPES)}",))
    return _request(And(terms=(kind, OneOf(field="status", values=("FAILED",)))))


def _within(drawn: random.Random, count: int) -> SearchRequest:
    since = drawn.randrange(count) * _APART_MS
    kind = OneOf(field="workflowType", values=(f"type_{drawn.randrange(_TYPES)}",))
    return _request(
        And(terms=(kind, Between(field="startTime", least=since, most=since + 3_600_000)))
    )


def _word(drawn: random.Random, _: int) -> SearchRequest:
    return SearchRequest(
        query=anywhere(f"word{drawn.randrange(_WORDS)}"), sort=(_LATEST,), size=100
    )


def _failed_tasks(drawn: random.Random, _: int) -> SearchRequest:
    kind = OneOf(field="taskDefName", values=(f"step_{drawn.randrange(_TYPES)}_1",))
    return _request(And(terms=(kind, OneOf(field="status", values=("FAILED",)))))


def _tasks_of(drawn: random.Random, count: int) -> SearchRequest:
    return _request(OneOf(field="workflowId", values=(_id_of(drawn.randrange(count)),)))


def _all(_drawn: random.Random, _: int) -> SearchRequest:
    return SearchRequest(sort=(_LATEST,), size=100)


def _request(query: Query) -> SearchRequest:
    return SearchRequest(query=query, sort=(_LATEST,), size=100)


def _document(number: int) -> ExecutionDocument:
    started = number * _APART_MS
    summary = ExecutionSummary(
        execution_id=_id_of(number),
        workflow_type=f"type_{number % _TYPES}",
        workflow_version=1,
        status=_status(number),
        correlation_id=f"order-{number}",
        start_ms=started,
        update_ms=started + 900,
        end_ms=started + 900,
        input=f"{{customer=customer{number % _CUSTOMERS}, word={_word_of(number)}}}",
        output=f"{{total={number}}}",
    )
    return ExecutionDocument(
        version=1, summary=summary, tasks=[_task(number, which) for which in range(_TASKS)]
    )


def _task(number: int, which: int) -> TaskSummary:
    """The tasks follow each other; where an execution failed, it is the last that did."""
    began = number * _APART_MS + 400 * which
    return TaskSummary(
        task_id=f"{number * _TASKS + which:032x}",
        execution_id=_id_of(number),
        workflow_type=f"type_{number % _TYPES}",
        task_type="SIMPLE",
        task_definition=f"step_{number % _TYPES}_{which}",
        reference=f"step_{which}",
        status=_status(number) if which == _TASKS - 1 else "COMPLETED",
        scheduled_ms=began,
        start_ms=began + 20,
        update_ms=began + 400,
        end_ms=began + 400,
        execution_ms=380,
        queue_wait_ms=20,
        input=f"{{customer=customer{number % _CUSTOMERS}}}",
        output=f"{{word={_word_of(number)}, total={number}}}",
    )


def _id_of(number: int) -> str:
    return f"{number:032x}"


def _word_of(number: int) -> str:
    return f"word{number * 7919 % _WORDS}"


def _status(number: int) -> str:
    return "FAILED" if number // _TYPES % 100 == 7 else "COMPLETED"
