"""Each kind of fault really happens, does what it says, and costs nothing that was promised."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

from conductor_py.testing.simulation.faults import AT_CALLS, WEATHERS, Fault, Kind
from conductor_py.testing.simulation.runner import simulate, simulate_seeds
from conductor_py.testing.simulation.runs import Run
from conductor_py.testing.simulation.space import SimulatedSpace
from tests.simulation.scenes import scene

_SOMEWHERE = [
    *(
        Fault(kind=kind, process="api-1", call="store.commit", number=1, ms=6_000)
        for kind in sorted(AT_CALLS - {Kind.TWICE, Kind.LATE}, key=lambda kind: kind.name)
    ),
    *(
        Fault(kind=kind, process="worker-1", call="ask.report", number=1, ms=3_000)
        for kind in (Kind.TWICE, Kind.LATE, Kind.CRASH_BEFORE, Kind.CRASH_AFTER)
    ),
    *(
        Fault(kind=kind, process="api-1", at_ms=60, ms=2_000)
        for kind in (Kind.KILL, Kind.FREEZE, Kind.CUT_OFF, Kind.DEAF)
    ),
    *(Fault(kind=kind, at_ms=100, ms=80) for kind in (Kind.STORE_AWAY, Kind.INDEX_AWAY)),
    Fault(kind=Kind.LOST_TAIL, at_ms=120, ms=30),
    Fault(kind=Kind.CLOCK, at_ms=60, ms=20_000),
    Fault(kind=Kind.CLOCK, at_ms=60, ms=-20_000),
]


def _words(run: Run) -> str:
    return "\n".join(map(str, run.journal.entries))


@pytest.mark.parametrize("fault", _SOMEWHERE, ids=lambda fault: f"{fault.kind.name}-{fault.ms}")
def test_a_fault_happens_and_everything_ends_all_the_same(fault: Fault) -> None:
    run = simulate(scene(fault), keeps_words=True)
    assert run.faults == {fault.kind: 1}, _words(run)
    assert not run.violations, _words(run)
    statuses = Counter(document["status"] for document in run.outcomes.values())
    assert statuses["COMPLETED"] == len(run.outcomes) >= 2


def test_a_crash_kills_the_process_and_it_comes_back() -> None:
    crash = Fault(kind=Kind.CRASH_AFTER, process="api-1", call="store.commit", number=1)
    run = simulate(scene(crash), keeps_words=True)
    said = _words(run)
    assert "dies: after store.commit" in said
    assert "is there again" in said
    assert run.counts["crashes"] == 1


def test_a_lost_reply_is_sent_again_and_changes_nothing_more() -> None:
    lost = Fault(kind=Kind.REPEATED, process="api-1", call="store.commit", number=1)
    run, plain = simulate(scene(lost)), simulate(scene())
    assert run.counts["commit OK"] >= plain.counts["commit OK"] > 0
    assert not run.violations


def test_a_lost_tail_takes_back_what_was_committed() -> None:
    lost = Fault(kind=Kind.LOST_TAIL, at_ms=400, ms=350)
    run = simulate(scene(lost, starts=4), keeps_words=True)
    assert "dies and comes back as it was 0.35 s ago" in _words(run)
    assert not run.violations


def test_a_store_that_loses_more_than_its_tail_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """I12: what was acknowledged before is there."""
    go_back = SimulatedSpace.go_back

    def forgets_more(space: SimulatedSpace, saved: dict[str, Any]) -> None:
        go_back(space, saved)
        for partition in space.partitions:
            partition.executions.clear()

    monkeypatch.setattr(SimulatedSpace, "go_back", forgets_more)
    run = simulate(scene(Fault(kind=Kind.LOST_TAIL, at_ms=400, ms=50), starts=4))
    assert "I12" in {violation.invariant for violation in run.violations}


@pytest.mark.thorough(target="simulation")
@pytest.mark.timeout(300)
def test_a_stopped_process_wakes_to_a_commit_that_is_refused() -> None:
    stopped = Fault(kind=Kind.SLOW, process="api-1", call="store.commit", number=2, ms=9_000)
    refusals: Counter[str] = Counter()
    for seed in range(30):
        refusals += simulate(scene(stopped, seed=seed, span_ms=15_000)).counts
    assert refusals["commit STALE"] > 0


@pytest.mark.thorough(target="simulation")
@pytest.mark.timeout(300)
def test_every_kind_and_every_refusal_is_met_in_a_few_hundred_seeds() -> None:
    found = simulate_seeds(0, 250)
    assert found.failures == []
    assert set(found.faults) == {kind.value for kind in Kind}
    assert set(found.weathers) == {weather.name for weather in WEATHERS}
    for met in (
        "commit STALE",
        "commit NEED_PLAN",
        "report IGNORED",
        "start EXISTS",
        "start META_MOVED",
        "extension OK",
        "extension SUPERSEDED",
    ):
        assert found.counts[met] > 0, met
