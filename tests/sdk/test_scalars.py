"""Moments, days, ids and decimals: from the text of an input, and to the text of an output."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from uuid import UUID
from zoneinfo import ZoneInfo

import pytest

from conductor_py.sdk import ConfigurationError, ResultStatus, TaskContext, Worker, worker_task
from conductor_py.sdk.document import decode, encode
from conductor_py.sdk.inputs import InputError, Inputs
from tests.sdk.stub import TaskQueue
from tests.sdk.tasks import polled, task

ID = "0189f7a4-5b1c-7c3e-9f00-3c1f2a9d4e11"


def bind(annotation, value):
    def work(when) -> None: ...

    work.__annotations__["when"] = annotation
    return Inputs(work).arguments(task(), {"when": value})["when"]


@pytest.mark.parametrize(
    ("annotation", "value", "expected"),
    [
        (datetime, "2030-01-31T08:00:00Z", datetime(2030, 1, 31, 8, tzinfo=UTC)),
        (
            datetime,
            "2030-01-31 08:00:00.5+02:00",
            datetime(2030, 1, 31, 8, 0, 0, 500_000, tzinfo=timezone(timedelta(hours=2))),
        ),
        (datetime, "2030-01-31T08:00", datetime(2030, 1, 31, 8)),  # noqa: DTZ001 - none was given
        (datetime, 1_700_000_000_123, datetime(2023, 11, 14, 22, 13, 20, 123_000, tzinfo=UTC)),
        (datetime, -1, datetime(1969, 12, 31, 23, 59, 59, 999_000, tzinfo=UTC)),
        (date, "2030-01-31", date(2030, 1, 31)),
        (UUID, ID, UUID(ID)),
        (UUID, ID.replace("-", "").upper(), UUID(ID)),
        (Decimal, "12.50", Decimal("12.50")),
        (Decimal, 12, Decimal(12)),
        (datetime | None, None, None),
        (list[date], ["2030-01-31"], [date(2030, 1, 31)]),
    ],
)
def test_an_input_becomes_the_value_that_its_text_stands_for(annotation, value, expected):
    found = bind(annotation, value)
    assert found == expected
    assert type(found) is type(expected)


def test_a_moment_keeps_the_offset_that_it_was_given_and_gets_no_other():
    assert bind(datetime, "2030-01-31T08:00:00").tzinfo is None
    assert bind(datetime, "2030-01-31T08:00:00+02:00").utcoffset() == timedelta(hours=2)


@pytest.mark.parametrize(
    ("annotation", "value", "sentence"),
    [
        (datetime, "tomorrow", "input 'when' must be a date and time in ISO 8601.*not 'tomorrow'"),
        (datetime, "2030-01-31", "must be a date and time"),
        (datetime, "2030-01-31x08:00", "must be a date and time"),
        (datetime, "2030-02-31T08:00:00", "must be a date and time"),
        (datetime, 1.5, "or milliseconds since 1970, not a number"),
        (datetime, True, "not a boolean"),
        (datetime, 10**18, "not an integer"),
        (date, "2030-01-31T08:00:00Z", "must be a date in ISO 8601"),
        (date, 1_700_000_000_000, "must be a date in ISO 8601.*not an integer"),
        (UUID, "0189", "must be a UUID.*not '0189'"),
        (UUID, "{" + ID + "}", "must be a UUID"),
        (UUID, 5, "must be a UUID.*not an integer"),
        (Decimal, 1.1, "must be a decimal number as text.*not a number"),
        (Decimal, "NaN", "must be a decimal number"),
        (Decimal, "x", "must be a decimal number"),
        (Decimal, "9" * 100 + "x", "not '9{40}'"),
        (list[date], ["2030-01-31", "x"], r"input 'when\[1\]' must be a date"),
    ],
)
def test_a_text_that_is_none_is_refused_by_its_key(annotation, value, sentence):
    with pytest.raises(InputError, match=sentence):
        bind(annotation, value)


def test_a_class_that_no_text_stands_for_is_refused_when_the_worker_is_made():
    with pytest.raises(ConfigurationError, match="timedelta"):
        bind(timedelta, "PT5M")


def test_a_bad_moment_fails_the_task_for_good_and_names_the_parameter(clock):
    @worker_task("greet")
    def work(due: datetime) -> None: ...

    result = work.run(TaskContext(task(), clock), {"due": "soon"})
    assert result is not None
    assert result.status is ResultStatus.FAILED_WITH_TERMINAL_ERROR
    assert str(result.reason).startswith("input 'due' must be a date and time")


@dataclass(frozen=True)
class Receipt:
    id: UUID
    total: Decimal
    at: datetime


def test_outputs_are_reported_as_text(stub, client):
    @worker_task("greet", poll_timeout_ms=50)
    def work(at: datetime) -> Receipt:
        return Receipt(UUID(ID), Decimal("12.50"), at)

    tasks = TaskQueue(stub)
    tasks.put(polled(inputData={"at": "2030-01-31T08:00:00Z"}))
    with Worker(client, [work]):
        report = tasks.next_report()
    assert report["outputData"] == {"id": ID, "total": "12.50", "at": "2030-01-31T08:00:00+00:00"}


def test_a_moment_alone_is_the_result(clock):
    result = worker_task("greet")(lambda: date(2030, 1, 31)).run(TaskContext(task(), clock), {})
    assert result is not None
    assert decode(encode(result.to_json()["outputData"])) == {"result": "2030-01-31"}


class Stamp(datetime):
    """A kind of moment, as other libraries have them."""


@pytest.mark.parametrize(
    "moment",
    [
        datetime(2030, 1, 31, 8, 0, 0, 5_000, tzinfo=UTC),
        datetime(2030, 7, 31, 8, tzinfo=ZoneInfo("Europe/Berlin")),
        datetime(2030, 1, 31, 8),  # noqa: DTZ001 - the case without an offset
        Stamp(2030, 1, 31, 8, tzinfo=UTC),
    ],
)
def test_a_moment_that_was_written_is_read_as_the_same_moment(moment):
    assert bind(datetime, decode(encode(moment))) == moment
