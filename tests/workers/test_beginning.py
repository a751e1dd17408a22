"""What a pipeline begins with when it begins once more."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from conductor_py.pipelines.record import Record
from conductor_py.pipelines.record_form import record_to_json
from conductor_workers.pipelines.beginning import Beginning
from conductor_workers.pipelines.store import Kept, Resume


def test_a_changed_pipeline_goes_on_from_the_former_one_until_it_has_kept_something() -> None:
    former = Record(pipeline="p-former", plan_hash="f")
    begun = Beginning(successor_of=former)
    assert begun.again(Kept(), token=2) == begun
    kept = Kept(epoch=1, record=_document(epoch=1, token=2))
    assert begun.again(kept, token=2) == Beginning(kept=kept)


def test_a_wish_to_go_back_stands_until_the_attempt_has_decided_something() -> None:
    wish = Resume(record=_document(epoch=1, token=1), epoch=1, rewind=True)
    begun = Beginning(kept=Kept(epoch=3, record=_document(epoch=3, token=1), resume=wish))
    adopted = Kept(epoch=5, record=_document(epoch=5, token=1))
    assert begun.again(adopted, token=2).kept == replace(adopted, resume=wish)
    decided = Kept(epoch=6, record=_document(epoch=6, token=2))
    assert begun.again(decided, token=2).kept == decided


def _document(*, epoch: int, token: int) -> dict[str, Any]:
    return record_to_json(Record(pipeline="p", plan_hash="h", epoch=epoch, token=token))
