"""What `CheckpointStore` promises, on every store."""

import hashlib
from dataclasses import replace
from typing import Any

import orjson
import pytest

from conductor_py.codec.checkpoints import load_place, load_places, load_wanted
from conductor_py.model.checkpoints import KeptPlace, StartingPoint, Wanted
from conductor_py.model.ids import ExecutionId
from conductor_py.ports.checkpoints import Checkpoint, Holder, Notes, Reply, Request, Verdict
from conductor_py.ports.restore import Restore
from conductor_py.ports.store import Outcome
from tests.conformance.stores import (
    NOW,
    RESPONSE_MS,
    Store,
    attempt,
    completed,
    header,
    offering,
    running,
)


def held(store: Store, number: int = 1, **state: Any) -> Holder:
    """The holder of the only attempt of a new execution."""
    execution = store.started(number, **state)
    (claimed,) = store.poll()
    return Holder(execution=execution, seq=1, token=claimed.claim)


def retried(store: Store, before: Holder, *, seq: int = 2, **state: Any) -> Holder:
    """The holder of the attempt that follows, as a decision makes it."""
    loaded = store.sent(before.execution)
    facts = {name: value for name, value in {"root": 1, **state}.items() if value}
    changes = offering(seq, **facts)
    former = {one: str(one) if "it" in state else "" for one in range(1, seq)}
    ended = {f"a:{one}": attempt(st="FAILED", it=it) for one, it in former.items()}
    fields = {**changes.fields, **ended}
    wanted = running(
        fields=fields, ended=tuple(range(1, seq)), offers=changes.offers[seq - 1 :], generation=1
    )
    assert store.commit(loaded, wanted).outcome is Outcome.OK
    (claimed,) = store.poll()
    return Holder(execution=before.execution, seq=seq, token=claimed.claim)


def a_record(text: str, expected: int = 0, epoch: int | None = None, **more: Any) -> Checkpoint:
    """A record of part p."""
    record = orjson.dumps({"r": text})
    made = Checkpoint(
        part="p",
        record=record,
        hash=hashlib.sha256(record).hexdigest(),
        expected=expected,
        epoch=expected + 1 if epoch is None else epoch,
        retain=3,
    )
    return replace(made, **more)


def notes(*texts: str, part: str = "p", **more: int) -> Notes:
    """Notes of part p."""
    return Notes(part=part, notes=tuple(orjson.dumps({"n": text}) for text in texts), **more)


def acquired(store: Store, holder: Holder) -> KeptPlace:
    reply = store.checkpoints.acquire(holder)
    assert reply.verdict is Verdict.OK
    return load_place(reply.shown or {})


def read(store: Store, holder: Holder) -> KeptPlace:
    reply = store.checkpoints.read(holder.execution, holder.seq, whole=True)
    assert reply.verdict is Verdict.OK
    return load_place(reply.shown or {})


def ok(reply: Reply) -> int:
    assert reply.verdict is Verdict.OK
    return reply.number


def size(store: Store, holder: Holder) -> tuple[int, int]:
    """What is counted, and what there is."""
    fields = store.reader.beside(holder.execution).checkpoints
    there = sum(len(value) for name, value in fields.items() if name[:2] in {"e:", "n:", "k:"})
    return int(fields.get("b", b"0")), there


def test_a_task_that_kept_nothing_finds_nothing(store: Store) -> None:
    holder = held(store)
    place = acquired(store, holder)
    assert (place.token, place.parts, place.savepoints) == (holder.token, (), ())


def test_a_record_and_the_notes_since_are_found_again(store: Store) -> None:
    holder = held(store)
    ok(store.checkpoints.put(holder, a_record("one")))
    assert ok(store.checkpoints.append(holder, notes("a", "b"))) == 2
    assert ok(store.checkpoints.append(holder, notes("c"))) == 3
    part = acquired(store, holder).part("p")
    assert (part.epoch, part.record) == (1, {"r": "one"})
    assert part.notes == ({"n": "a"}, {"n": "b"}, {"n": "c"})
    assert part.token == holder.token
    assert [past.at_ms for past in part.history] == [NOW]


def test_a_record_deletes_the_notes_before_it(store: Store) -> None:
    holder = held(store)
    ok(store.checkpoints.append(holder, notes("a", "b")))
    ok(store.checkpoints.put(holder, a_record("one")))
    assert read(store, holder).part("p").notes == ()
    assert size(store, holder) == (len(b'{"r":"one"}'),) * 2


def test_parts_are_apart(store: Store) -> None:
    holder = held(store)
    ok(store.checkpoints.put(holder, a_record("one")))
    ok(store.checkpoints.put(holder, a_record("other", part="q")))
    ok(store.checkpoints.append(holder, notes("a", part="q")))
    ok(store.checkpoints.put(holder, a_record("two", 1)))
    place = read(store, holder)
    assert [(part.name, part.epoch, part.note_count) for part in place.parts] == [
        ("p", 2, 0),
        ("q", 1, 1),
    ]


def test_only_the_expected_epoch_is_replaced(store: Store) -> None:
    holder = held(store)
    ok(store.checkpoints.put(holder, a_record("one")))
    reply = store.checkpoints.put(holder, a_record("other"))
    assert (reply.verdict, reply.number) == (Verdict.EPOCH, 1)
    reply = store.checkpoints.put(holder, a_record("three", 2))
    assert (reply.verdict, reply.number) == (Verdict.EPOCH, 1)
    assert read(store, holder).part("p").record == {"r": "one"}


def test_the_same_record_again_is_done_already(store: Store) -> None:
    holder = held(store)
    ok(store.checkpoints.put(holder, a_record("one")))
    ok(store.checkpoints.append(holder, notes("a")))
    before = store.reader.beside(holder.execution).checkpoints
    store.clock.advance(1)
    assert ok(store.checkpoints.put(holder, a_record("one"))) == 1
    assert store.reader.beside(holder.execution).checkpoints == before


def test_a_record_may_replace_another_of_its_epoch(store: Store) -> None:
    holder = held(store)
    ok(store.checkpoints.put(holder, a_record("zero", 0, 0)))
    ok(store.checkpoints.put(holder, a_record("one")))
    ok(store.checkpoints.put(holder, a_record("one, over", 1, 1)))
    part = read(store, holder).part("p")
    assert (part.epoch, part.record) == (1, {"r": "one, over"})
    assert [past.epoch for past in part.history] == [1, 0]
    assert size(store, holder)[0] == size(store, holder)[1]


def test_a_lower_token_is_refused_everywhere(store: Store) -> None:
    first = held(store)
    ok(store.checkpoints.put(first, a_record("one")))
    second = retried(store, first)
    assert second.token > first.token
    assert acquired(store, second).part("p").record == {"r": "one"}
    for stale in (first, replace(second, token=first.token)):
        for reply in (
            store.checkpoints.acquire(stale),
            store.checkpoints.append(stale, notes("a")),
            store.checkpoints.put(stale, a_record("two", 1)),
        ):
            assert reply.verdict in {Verdict.IGNORED, Verdict.SUPERSEDED}
    ok(store.checkpoints.put(second, a_record("two", 1)))
    assert read(store, second).part("p").token == second.token


def test_a_token_that_nobody_issued_is_refused(store: Store) -> None:
    holder = held(store)
    above = replace(holder, token=holder.token + 1)
    assert store.checkpoints.acquire(above).verdict is Verdict.SUPERSEDED
    assert store.checkpoints.put(above, a_record("one")).verdict is Verdict.SUPERSEDED


def test_past_its_end_a_claim_writes_nothing(store: Store) -> None:
    holder = held(store)
    ok(store.checkpoints.put(holder, a_record("one")))
    store.clock.advance(RESPONSE_MS)
    assert store.checkpoints.append(holder, notes("a")).verdict is Verdict.SUPERSEDED
    assert store.checkpoints.put(holder, a_record("two", 1)).verdict is Verdict.SUPERSEDED
    assert store.checkpoints.acquire(holder).verdict is Verdict.SUPERSEDED


def test_after_its_result_an_attempt_writes_nothing(store: Store) -> None:
    holder = held(store)
    store.report(holder.execution, 1, holder.token)
    assert store.checkpoints.put(holder, a_record("one")).verdict is Verdict.IGNORED
    assert store.reader.beside(holder.execution).checkpoints == {}


def test_what_is_not_there_gets_no_key(store: Store) -> None:
    holder = held(store)
    gone = replace(holder, execution=ExecutionId("00000000-0000-0000-0000-00000000dead"))
    unknown = replace(holder, seq=7)
    for other, verdict in ((gone, Verdict.GONE), (unknown, Verdict.UNKNOWN_TASK)):
        for reply in (
            store.checkpoints.acquire(other),
            store.checkpoints.append(other, notes("a")),
            store.checkpoints.put(other, a_record("one")),
            store.checkpoints.read(other.execution, other.seq, whole=True),
            store.checkpoints.request(other.execution, other.seq, Request(action="STOP")),
            store.checkpoints.drop_savepoint(other.execution, other.seq, "s"),
        ):
            assert reply.verdict is verdict
        assert store.checkpoints.record(other.execution, other.seq, "p", 1) is None
        assert store.checkpoints.wanted(other.execution, other.seq) is None
    assert store.reader.beside(gone.execution).checkpoints == {}


def test_notes_at_a_position_stand_there_once(store: Store) -> None:
    holder = held(store)
    assert ok(store.checkpoints.append(holder, notes("a", "b", epoch=0, position=0))) == 2
    assert ok(store.checkpoints.append(holder, notes("a", "b", epoch=0, position=0))) == 2
    assert ok(store.checkpoints.append(holder, notes("c", epoch=0, position=2))) == 3
    for wrong in (notes("x", epoch=0, position=1), notes("d", epoch=0, position=4)):
        reply = store.checkpoints.append(holder, wrong)
        assert (reply.verdict, reply.number) == (Verdict.POSITION, 3)
    assert read(store, holder).part("p").note_count == 3


def test_notes_of_an_epoch_that_is_over_are_refused(store: Store) -> None:
    holder = held(store)
    ok(store.checkpoints.put(holder, a_record("one")))
    reply = store.checkpoints.append(holder, notes("late", epoch=0, position=0))
    assert (reply.verdict, reply.number) == (Verdict.EPOCH, 1)
    assert read(store, holder).part("p").notes == ()


def test_the_history_keeps_the_newest_records(store: Store) -> None:
    holder = held(store)
    for epoch in range(5):
        ok(store.checkpoints.put(holder, a_record(f"r{epoch + 1}", epoch)))
    assert [past.epoch for past in read(store, holder).part("p").history] == [5, 4, 3]
    records = [store.checkpoints.record(holder.execution, 1, "p", epoch) for epoch in (2, 3, 5)]
    assert records == [None, b'{"r":"r3"}', b'{"r":"r5"}']
    assert size(store, holder)[0] == size(store, holder)[1]


def test_another_line_of_attempts_finds_nothing(store: Store) -> None:
    first = held(store)
    ok(store.checkpoints.put(first, a_record("one")))
    ok(store.checkpoints.append(first, notes("a")))
    ok(store.checkpoints.request(first.execution, 1, Request(action="SAVEPOINT", savepoint="s")))
    assert acquired(store, first).root == 1
    second = retried(store, first, root=0)
    assert read(store, second) == KeptPlace()
    assert store.checkpoints.record(second.execution, 2, "p", 1) is None
    found = acquired(store, second)
    assert (found.root, found.parts) == (2, ())
    fields = store.reader.beside(first.execution).checkpoints
    assert sorted(fields) == ["b", "l", "t:t1"]
    assert fields["b"] == b"0"


def test_another_line_writes_on_top_of_nothing_without_having_acquired(store: Store) -> None:
    first = held(store)
    ok(store.checkpoints.put(first, a_record("one")))
    second = retried(store, first, root=0)
    assert store.checkpoints.put(second, a_record("two", 1)).verdict is Verdict.EPOCH
    ok(store.checkpoints.append(second, notes("a", epoch=0, position=0)))
    ok(store.checkpoints.put(second, a_record("new")))
    part = read(store, second).part("p")
    assert (part.epoch, part.record, len(part.history)) == (1, {"r": "new"}, 1)
    assert size(store, second)[0] == size(store, second)[1]


def test_iterations_are_apart(store: Store) -> None:
    first = held(store, it="1")
    ok(store.checkpoints.put(first, a_record("one")))
    second = retried(store, first, it="2", root=0)
    assert acquired(store, second).parts == ()
    assert read(store, first).part("p").record == {"r": "one"}
    assert store.checkpoints.places(first.execution) == ("t1#1", "t1#2")


@pytest.mark.parametrize(
    ("what", "given"),
    [
        ("notes", notes(*"abcdefg")),
        ("note-bytes", notes("x" * 200)),
    ],
)
def test_notes_are_bounded(store: Store, what: str, given: Notes) -> None:
    holder = held(store)
    reply = store.checkpoints.append(holder, given)
    assert (reply.verdict, reply.what) == (Verdict.FULL, what)
    assert store.reader.beside(holder.execution).checkpoints == {}


def test_parts_and_bytes_are_bounded(store: Store) -> None:
    holder = held(store)
    for part in "pqr":
        ok(store.checkpoints.put(holder, a_record("one", part=part)))
    for reply in (
        store.checkpoints.put(holder, a_record("one", part="s")),
        store.checkpoints.append(holder, notes("one", part="s")),
    ):
        assert (reply.verdict, reply.what) == (Verdict.FULL, "parts")
    reply = store.checkpoints.put(holder, a_record("x" * 1_000, 1))
    assert (reply.verdict, reply.what) == (Verdict.FULL, "bytes")
    assert read(store, holder).part("p").record == {"r": "one"}


def test_places_are_bounded(store: Store) -> None:
    holder = held(store, it="1")
    ok(store.checkpoints.put(holder, a_record("one")))
    for seq, iteration in ((2, "2"), (3, "3")):
        holder = retried(store, holder, seq=seq, it=iteration, root=0)
        last = store.checkpoints.acquire(holder)
        assert (last.verdict is Verdict.FULL) == (iteration == "3")
    assert store.checkpoints.put(holder, a_record("one")).what == "places"


def test_a_savepoint_keeps_its_records(store: Store) -> None:
    holder = held(store)
    ok(store.checkpoints.put(holder, a_record("one")))
    ok(store.checkpoints.put(holder, a_record("other", part="q")))
    saving = Request(action="SAVEPOINT", savepoint="before")
    ok(store.checkpoints.request(holder.execution, 1, saving))
    for epoch in range(1, 5):
        ok(store.checkpoints.put(holder, a_record(f"r{epoch}", epoch)))
    place = read(store, holder)
    assert place.wanted is None
    (savepoint,) = place.savepoints
    assert (savepoint.name, savepoint.at_ms) == ("before", NOW)
    assert savepoint.epochs == {"p": 1, "q": 1}
    assert store.checkpoints.record(holder.execution, 1, "p", 1) is None
    assert store.checkpoints.record(holder.execution, 1, "p", "before") == b'{"r":"one"}'
    assert size(store, holder)[0] == size(store, holder)[1]


def test_savepoints_have_names_of_their_own_and_a_bound(store: Store) -> None:
    holder = held(store)
    saving = Request(action="SAVEPOINT", savepoint="s1")
    execution = holder.execution
    assert store.checkpoints.request(execution, 1, saving).verdict is Verdict.EMPTY
    ok(store.checkpoints.put(holder, a_record("one")))
    ok(store.checkpoints.request(execution, 1, saving))
    assert store.checkpoints.request(execution, 1, saving).verdict is Verdict.EXISTS
    ok(store.checkpoints.request(execution, 1, replace(saving, savepoint="s2")))
    reply = store.checkpoints.request(execution, 1, replace(saving, savepoint="s3"))
    assert (reply.verdict, reply.what) == (Verdict.FULL, "savepoints")
    ok(store.checkpoints.drop_savepoint(execution, 1, "s1"))
    assert store.checkpoints.drop_savepoint(execution, 1, "s1").verdict is Verdict.UNKNOWN_SAVEPOINT
    assert [savepoint.name for savepoint in read(store, holder).savepoints] == ["s2"]
    assert size(store, holder)[0] == size(store, holder)[1]


def test_a_request_stays_until_the_next(store: Store) -> None:
    holder = held(store)
    execution = holder.execution
    assert store.checkpoints.wanted(execution, 1) is None
    assert ok(store.checkpoints.request(execution, 1, Request(action="PAUSE"))) == 1
    assert store.checkpoints.wanted(execution, 1)
    assert ok(store.checkpoints.request(execution, 1, Request(action="STOP", at_once=True))) == 2
    wanted = acquired(store, holder).wanted
    assert wanted == Wanted(action="STOP", number=2, at_ms=NOW, at_once=True)
    second = retried(store, holder)
    assert acquired(store, second).wanted == wanted
    assert ok(store.checkpoints.request(execution, 2, Request(action="RUN"))) == 3
    assert store.checkpoints.wanted(execution, 2) is None
    assert read(store, second).wanted is None


def test_a_pause_is_asked_for_while_the_execution_is_paused(store: Store) -> None:
    holder = held(store)
    execution = holder.execution
    store.commit(store.sent(execution), replace(running(), status="PAUSED"))
    assert load_wanted(store.checkpoints.wanted(execution, 1) or b"") == Wanted(
        action="PAUSE", number=0, at_ms=0
    )
    ok(store.checkpoints.request(execution, 1, Request(action="CANCEL")))
    wanted = load_wanted(store.checkpoints.wanted(execution, 1) or b"")
    assert wanted is not None
    assert wanted.action == "CANCEL"
    ok(store.checkpoints.request(execution, 1, Request(action="RUN")))
    store.commit(store.sent(execution), running())
    assert store.checkpoints.wanted(execution, 1) is None


def test_a_request_ends_with_its_generation(store: Store) -> None:
    holder = held(store)
    ok(store.checkpoints.request(holder.execution, 1, Request(action="CANCEL")))
    loaded = store.sent(holder.execution)
    fields = {"h": header(), "a:1": attempt(gen=2)}
    store.commit(loaded, running(fields=fields, generation=2))
    assert store.checkpoints.wanted(holder.execution, 1) is None


def test_nothing_is_asked_of_an_attempt_that_has_ended(store: Store) -> None:
    holder = held(store)
    ok(store.checkpoints.put(holder, a_record("one")))
    loaded = store.sent(holder.execution)
    store.commit(loaded, completed(ended=(1,)))
    reply = store.checkpoints.request(holder.execution, 1, Request(action="STOP"))
    assert reply.verdict is Verdict.IGNORED
    saving = Request(action="SAVEPOINT", savepoint="last")
    ok(store.checkpoints.request(holder.execution, 1, saving))


def test_the_savepoint_of_a_stop_follows_the_last_records(store: Store) -> None:
    holder = held(store)
    ok(store.checkpoints.put(holder, a_record("one")))
    stopping = Request(action="STOP", savepoint="end")
    ok(store.checkpoints.request(holder.execution, 1, stopping))
    ok(store.checkpoints.put(holder, a_record("two", 1)))
    ok(store.checkpoints.put(holder, a_record("new", part="q")))
    assert read(store, holder).savepoints[0].epochs == {"p": 2, "q": 1}
    dropped = store.checkpoints.drop_savepoint(holder.execution, 1, "end")
    assert dropped.verdict is Verdict.IN_USE
    ok(store.checkpoints.request(holder.execution, 1, Request(action="RUN")))
    ok(store.checkpoints.put(holder, a_record("three", 2)))
    assert read(store, holder).savepoints[0].epochs == {"p": 2, "q": 1}
    assert size(store, holder)[0] == size(store, holder)[1]


def test_a_part_goes_on_from_an_older_record_until_the_next_one(store: Store) -> None:
    holder = held(store)
    for epoch in range(3):
        ok(store.checkpoints.put(holder, a_record(f"r{epoch + 1}", epoch)))
    from_two = Request(action="RUN", epoch=2)
    busy = store.checkpoints.request(holder.execution, 1, from_two)
    assert busy.verdict is Verdict.HELD
    store.clock.advance(RESPONSE_MS)
    ok(store.checkpoints.request(holder.execution, 1, from_two))
    second = retried(store, holder)
    part = acquired(store, second).part("p")
    assert (part.epoch, part.record) == (3, {"r": "r3"})
    assert part.start == StartingPoint(epoch=2, record={"r": "r2"})
    ok(store.checkpoints.put(second, a_record("r4", 3)))
    assert read(store, second).part("p").start is None


def test_to_run_on_from_the_newest_record_forgets_an_older_one(store: Store) -> None:
    holder = held(store)
    for epoch in range(3):
        ok(store.checkpoints.put(holder, a_record(f"r{epoch + 1}", epoch)))
    store.clock.advance(RESPONSE_MS)
    ok(store.checkpoints.request(holder.execution, 1, Request(action="RUN", epoch=2)))
    ok(store.checkpoints.request(holder.execution, 1, Request(action="RUN")))
    assert read(store, holder).part("p").start is None


def test_whether_the_past_may_be_taken_back_stands_beside_the_older_record(store: Store) -> None:
    holder = held(store)
    ok(store.checkpoints.put(holder, a_record("one")))
    saving = Request(action="SAVEPOINT", savepoint="s")
    ok(store.checkpoints.request(holder.execution, 1, saving))
    ok(store.checkpoints.put(holder, a_record("two", 1)))
    store.clock.advance(RESPONSE_MS)
    back = Request(action="RUN", savepoint="s", rewind=True)
    ok(store.checkpoints.request(holder.execution, 1, back))
    start = StartingPoint(savepoint="s", record={"r": "one"}, rewind=True)
    assert read(store, holder).part("p").start == start
    dropped = store.checkpoints.drop_savepoint(holder.execution, 1, "s")
    assert dropped.verdict is Verdict.IN_USE
    ok(store.checkpoints.request(holder.execution, 1, replace(back, savepoint="", epoch=1)))
    start = StartingPoint(epoch=1, record={"r": "one"}, rewind=True)
    assert read(store, holder).part("p").start == start


def test_all_parts_of_a_savepoint_go_on_from_it(store: Store) -> None:
    holder = held(store)
    ok(store.checkpoints.put(holder, a_record("one")))
    saving = Request(action="SAVEPOINT", savepoint="s")
    ok(store.checkpoints.request(holder.execution, 1, saving))
    ok(store.checkpoints.put(holder, a_record("two", 1)))
    ok(store.checkpoints.put(holder, a_record("later", part="q")))
    store.clock.advance(RESPONSE_MS)
    ok(store.checkpoints.request(holder.execution, 1, Request(action="RUN", savepoint="s")))
    place = read(store, holder)
    assert place.part("p").start == StartingPoint(savepoint="s", record={"r": "one"})
    assert place.part("q").start is None
    dropped = store.checkpoints.drop_savepoint(holder.execution, 1, "s")
    assert dropped.verdict is Verdict.IN_USE


def test_what_is_not_kept_any_more_is_no_place_to_go_on_from(store: Store) -> None:
    holder = held(store)
    store.clock.advance(RESPONSE_MS)
    execution = holder.execution
    asked = {
        Verdict.UNKNOWN_SAVEPOINT: Request(action="RUN", savepoint="s"),
        Verdict.WHICH_PART: Request(action="RUN", epoch=1),
        Verdict.UNKNOWN_EPOCH: Request(action="RUN", epoch=1, part="p"),
    }
    for verdict, request in asked.items():
        assert store.checkpoints.request(execution, 1, request).verdict is verdict
    assert store.reader.beside(execution).checkpoints == {}


def test_it_goes_with_its_execution_and_comes_back_with_it(store: Store) -> None:
    holder = held(store)
    ok(store.checkpoints.put(holder, a_record("one")))
    ok(store.checkpoints.append(holder, notes("a")))
    loaded = store.sent(holder.execution)
    reply = store.commit(loaded, completed(ended=(1,)))
    found = store.reader.snapshot(holder.execution)
    kept = store.reader.beside(holder.execution).checkpoints
    assert found is not None
    assert load_places(kept)["t1"].part("p").epoch == 1
    assert store.reader.remove(holder.execution, reply.version) is Outcome.OK
    assert store.reader.beside(holder.execution).checkpoints == {}
    restore = Restore(
        execution=holder.execution,
        token="t1",
        version=reply.version,
        home="s0",
        status="COMPLETED",
        generation=1,
        claim=holder.token,
        fields=found[1],
        effect=f"{holder.execution}:remove",
        checkpoints=kept,
    )
    assert store.reader.begin_restore(holder.execution, "t1") == "t1"
    assert store.reader.restore(restore) is Outcome.OK
    assert store.reader.beside(holder.execution).checkpoints == kept
    assert read(store, holder).part("p").notes == ({"n": "a"},)
