"""Which older records a pipeline may go back to, judged by what is left in its work directory."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from conductor_py.pipelines.cutting import cut
from conductor_py.pipelines.intervals import Intervals
from conductor_py.pipelines.record import Decided, Record, SourceState
from conductor_py.pipelines.record_form import canonical, record_to_json
from conductor_py.wire.pipelines import read_job
from conductor_workers.pipelines.rewinds import refusal, stand_in
from conductor_workers.pipelines.storage import keep
from conductor_workers.pipelines.storage.local import LocalStorage
from conductor_workers.pipelines.store import Resume
from conductor_workers.pipelines.workplace import Workplace
from tests.workers.pipelines.jobs import files, generated, job_of

_NEWEST = 9


@pytest.fixture
def workplace(tmp_path: Path) -> Workplace:
    """With copies of five epochs, each of which names a table of its own."""
    made = Workplace(
        storage=LocalStorage(tmp_path), run="r", address=str(tmp_path), pipeline="p", token=3
    )
    for epoch in range(_NEWEST - 4, _NEWEST + 1):
        record = _record(made, epoch)
        made.storage.create(made.mirror(epoch, 3), canonical(record_to_json(record)))
    return made


def _record(workplace: Workplace, epoch: int) -> Record:
    name = f"objects/p/splits-a/{epoch:06d}-t3-once"
    table = keep(workplace.storage, name, b"{}")
    return Record(
        pipeline="p",
        plan_hash="h",
        epoch=epoch,
        token=3,
        sources={"a": SourceState(discovered=1, tables=(table,))},
        decided=Decided(epoch=epoch, sinks={}),
    )


def _refusal(workplace: Workplace, older: Record, newest: Record) -> str | None:
    sink = files("out", "a_rows", Path("/out"), visibility="manifest")
    job = read_job(job_of([generated("a", 10)], [sink]))
    (plan,) = cut(job).pipelines
    point = Resume(record=record_to_json(older), epoch=older.epoch, rewind=True)
    return refusal(newest, point, job, plan, workplace)


def test_an_epoch_whose_objects_are_there_can_be_reached(workplace: Workplace) -> None:
    newest = _record(workplace, _NEWEST)
    assert _refusal(workplace, _record(workplace, 6), newest) is None
    assert _refusal(workplace, newest, newest) is None


def test_one_whose_objects_are_swept_is_refused_with_those_that_can_be_reached(
    workplace: Workplace,
) -> None:
    older, newest = _record(workplace, 4), _record(workplace, _NEWEST)
    newest = replace(newest, taken_back=Intervals.of([7]))
    for epoch in (4, 5):
        workplace.storage.delete(f"objects/p/splits-a/{epoch:06d}-t3-once")
    said = str(_refusal(workplace, older, newest))
    assert "objects/p/splits-a/000004-t3-once" in said
    assert said.endswith("epochs that can be reached: 6,8")
    workplace.forget(before=_NEWEST)
    assert str(_refusal(workplace, older, newest)).endswith("no other can be reached")


def test_what_only_a_settled_sink_needs_is_not_missed(workplace: Workplace) -> None:
    older = _record(workplace, 6)
    staged = {"out": {"object": "objects/p/staged-out/000006-t3-x#hash", "rows": 1}}
    older = replace(older, decided=Decided(epoch=6, sinks=staged))
    assert _refusal(workplace, older, _record(workplace, _NEWEST)) is None


def test_an_epoch_that_the_engine_had_lost_is_nothing_to_go_on_from(workplace: Workplace) -> None:
    newest = _record(workplace, _NEWEST)
    lost = stand_in(8, newest)
    assert "the engine has lost epoch 8" in str(_refusal(workplace, lost, newest))
