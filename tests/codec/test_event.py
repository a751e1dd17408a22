"""The stored form of events."""

from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from conductor_py.codec.event import dump_event, load_event
from conductor_py.codec.execution import UnknownFormat
from conductor_py.model.event import (
    ChildEnded,
    ChildRevived,
    Claimed,
    Continue,
    DeadlinePassed,
    Event,
    Operation,
    ResultReported,
    Started,
)
from conductor_py.model.execution import External
from conductor_py.model.status import TaskStatus, WorkflowStatus

_NUMBER = st.integers(min_value=0, max_value=2**53)
_TEXT = st.text(max_size=20)
_MAYBE = st.none() | _TEXT
_DOCUMENTS: Any = st.dictionaries(_TEXT, _NUMBER | _TEXT | st.none(), max_size=3)

_EVENTS = st.one_of(
    st.builds(Started),
    st.builds(Claimed, seq=_NUMBER),
    st.builds(
        ResultReported,
        seq=_NUMBER,
        status=st.sampled_from(TaskStatus),
        worker=_TEXT,
        reason=_MAYBE,
        callback_after_s=_NUMBER,
    ),
    st.builds(DeadlinePassed, seq=_NUMBER, claim=_NUMBER, until=_NUMBER),
    st.builds(
        ChildEnded,
        seq=_NUMBER,
        child=_TEXT,
        child_generation=_NUMBER,
        status=st.sampled_from(WorkflowStatus),
        reason=_MAYBE,
        output=_DOCUMENTS | st.builds(External, st.text(min_size=1, max_size=20)),
    ),
    st.builds(
        ChildRevived,
        seq=_NUMBER,
        child=_TEXT,
        child_generation=_NUMBER,
        through=_TEXT,
    ),
    st.builds(Continue, generation=_NUMBER, kind=_TEXT, plan=_TEXT, ref=_TEXT, vector=_TEXT),
    st.builds(Operation, id=_TEXT, name=_TEXT, arguments=_DOCUMENTS),
)


@given(_EVENTS)
def test_event_reads_back(event: Event) -> None:
    assert load_event(dump_event(event)) == event


@given(_EVENTS)
def test_number_in_front_is_the_attempt_it_names(event: Event) -> None:
    number, _, text = dump_event(event).partition(b" ")
    assert int(number) == getattr(event, "seq", 0)
    assert isinstance(orjson.loads(text), dict)


@pytest.mark.parametrize(
    "stored",
    [b'3 {"t":"unheard of"}', b"3 {}", b"3 [", b'{"t":"start"}', b'3 {"t":"result"}', b"3 7"],
)
def test_event_that_cannot_be_read_is_refused(stored: bytes) -> None:
    with pytest.raises(UnknownFormat):
        load_event(stored)


def test_deadline_reads_what_the_store_writes() -> None:
    assert load_event(b'3 {"t":"due","k":5,"d":9}') == DeadlinePassed(seq=3, claim=5, until=9)
