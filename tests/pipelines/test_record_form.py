"""Records and notes come back as they were written, and only as they were written."""

import hashlib
import json
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conductor_py.pipelines.intervals import Intervals
from conductor_py.pipelines.record import (
    Blame,
    Decided,
    Note,
    NoteKind,
    PipelineState,
    Record,
    SourceState,
    SplitDescriptor,
)
from conductor_py.pipelines.record_form import (
    RecordUnreadable,
    canonical,
    note_from_json,
    note_to_json,
    record_from_json,
    record_hash,
    record_to_json,
)

_names = st.text("abc/", min_size=1, max_size=4)
_numbers = st.integers(0, 2**40)
_intervals = st.builds(Intervals.of, st.sets(st.integers(0, 500), max_size=20))
_json = st.recursive(
    st.none()
    | st.booleans()
    | _numbers
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)
_objects = st.dictionaries(st.text(), _json, max_size=3)
_splits = st.builds(
    SplitDescriptor, ord=_numbers, descriptor=_objects, bytes=_numbers, rows=_numbers
)
_pages = st.lists(_splits, max_size=3).map(tuple)
_states = st.builds(
    SourceState,
    discovered=_numbers,
    complete=st.booleans(),
    tables=st.lists(st.text(min_size=1), max_size=2).map(tuple),
    pages=_pages,
    done=_intervals,
    quarantined=_intervals,
    blame=st.dictionaries(
        st.integers(0, 99), st.builds(Blame, failures=st.integers(0, 9), deaths=st.integers(0, 9))
    ),
    enumerator=_objects,
    schema=st.none() | _objects.filter(bool),
    event_time=st.none() | st.floats(0, 1e10),
)
_records = st.builds(
    Record,
    pipeline=_names,
    plan_hash=_names,
    epoch=_numbers,
    token=_numbers,
    state=st.sampled_from(PipelineState),
    stage=st.integers(0, 9),
    sources=st.dictionaries(_names, _states, max_size=2),
    lookups=_objects,
    keyed_state=_objects,
    exchanges=_objects,
    node_hashes=st.dictionaries(_names, _names, max_size=2),
    decided=st.none()
    | st.builds(Decided, epoch=_numbers, sinks=st.dictionaries(_names, _objects, max_size=2)),
    published=_numbers,
    counters=_objects,
    reason=st.text(),
)
_notes = st.builds(
    Note,
    kind=st.sampled_from(NoteKind),
    at_ms=st.none() | st.integers(1, 2**50),
    epoch=_numbers,
    token=_numbers,
    splits=st.dictionaries(_names, _intervals, max_size=2),
    attempt=st.integers(1, 9),
    reason=st.text(),
    pages=st.dictionaries(_names, _pages, max_size=2),
    enumerators=st.dictionaries(_names, _objects, max_size=2),
    complete=st.lists(_names, max_size=2).map(tuple),
)


@given(_records)
def test_record_comes_back_from_its_bytes_with_the_same_hash(record):
    read = record_from_json(json.loads(canonical(record_to_json(record))))
    assert read == record
    assert record_hash(read) == record_hash(record)


@given(_notes)
def test_note_comes_back_from_its_bytes(note):
    assert note_from_json(json.loads(canonical(note_to_json(note)))) == note


def test_order_of_members_does_not_change_the_hash():
    one = Record(pipeline="p", plan_hash="h", counters={"a": 1, "b": {"x": 1, "y": 2}})
    other = Record(pipeline="p", plan_hash="h", counters={"b": {"y": 2, "x": 1}, "a": 1})
    assert record_hash(one) == record_hash(other)
    assert record_hash(one) != record_hash(Record(pipeline="p", plan_hash="h"))


def test_million_finished_splits_are_a_short_record():
    state = SourceState(discovered=10**6, done=Intervals.range(0, 10**6) - Intervals.of([9]))
    record = Record(pipeline="p", plan_hash="h", sources={"a": state})
    assert len(canonical(record_to_json(record))) < 300


_SPLITS = 10**6


def _scattered(seed: int) -> Intervals:
    """Nine tenths in order, and of the rest every other one by chance."""
    chance = random.Random(seed)
    rest = range(_SPLITS * 9 // 10, _SPLITS)
    return Intervals.range(0, rest.start) | Intervals.of(n for n in rest if chance.random() < 0.5)


def _of(done: Intervals) -> Record:
    state = SourceState(discovered=_SPLITS, complete=True, done=done)
    return Record(pipeline="p", plan_hash="h", sources={"a": state})


@pytest.mark.parametrize(
    ("done", "version"),
    [
        (Intervals.range(0, _SPLITS), 1),
        (Intervals.of(range(0, _SPLITS, 2)), 2),
        (Intervals.of(range(1, _SPLITS, 97)), 2),
        (_scattered(1), 2),
    ],
    ids=["all", "every second", "every 97th", "scattered"],
)
def test_million_splits_need_less_than_64_kb_however_they_are_finished(done, version):
    record = _of(done)
    document = record_to_json(record)
    assert document["v"] == version
    written = canonical(document)
    assert len(written) <= 64 << 10
    assert record_from_json(json.loads(written)) == record


def test_a_record_that_was_written_out_is_read_and_has_the_hash_that_it_had():
    record = _of(Intervals.of(range(0, 1000, 3)))
    former = record_to_json(record) | {"v": 1}
    former["sources"] = {
        "a": former["sources"]["a"] | {"done": ",".join(map(str, range(0, 1000, 3)))}
    }
    assert record_from_json(former) == record
    assert record_hash(record) == hashlib.sha256(canonical(former)).hexdigest()
    assert len(canonical(record_to_json(record))) < len(canonical(former)) / 4


_GOOD = record_to_json(Record(pipeline="p", plan_hash="h", sources={"a": SourceState()}))


@pytest.mark.parametrize(
    "damage",
    [
        {"v": 3},
        {"v": None},
        {"state": "ASLEEP"},
        {"epoch": None, "sources": {"a": {}}},
        {"sources": {"a": {"discovered": 1, "done": "2-1"}}},
        {"sources": {"a": {"discovered": 1, "done": "z"}}},
        {"sources": {"a": {"discovered": 1, "done": "zNot packed"}}},
        {"sources": {"a": {"discovered": 1, "blame": {"0": [1]}}}},
        {"sources": ["a"]},
        {"decided": {"sinks": {}}},
    ],
)
def test_damaged_record_is_refused(damage):
    with pytest.raises(RecordUnreadable):
        record_from_json({**_GOOD, **damage})


def test_number_that_is_none_is_refused_before_it_is_written():
    with pytest.raises(ValueError, match="JSON"):
        canonical({"lag": float("nan")})
