"""Programs that took long are on probation for a while, the longer the more often."""

from conductor_py.adapters.quickjs.programs import LongPrograms
from conductor_py.testing.clock import FakeClock


def _programs() -> tuple[LongPrograms, FakeClock]:
    clock = FakeClock()
    return LongPrograms(clock.monotonic), clock


def test_an_unknown_program_is_not_on_probation() -> None:
    programs, _ = _programs()
    assert not programs.has("javascript", "1")
    programs.add("javascript", "1")
    assert programs.has("javascript", "1")
    assert not programs.has("jq", "1")
    assert not programs.has("javascript", "2")


def test_probation_ends_and_doubles_with_every_time_in_a_row() -> None:
    programs, clock = _programs()
    for term_s in (60, 120, 240):
        programs.add("jq", ".")
        clock.advance(seconds=term_s - 1)
        assert programs.has("jq", ".")
        clock.advance(seconds=1)
        assert not programs.has("jq", ".")
    for _ in range(20):
        programs.add("jq", ".")
    clock.advance(seconds=3600)
    assert not programs.has("jq", ".")


def test_a_program_that_ended_quickly_is_forgotten() -> None:
    programs, clock = _programs()
    programs.add("jq", ".", failed=True)
    programs.add("jq", ".")
    assert programs.has_failed("jq", ".")
    programs.forgive("jq", ".")
    assert not programs.has("jq", ".")
    assert not programs.has_failed("jq", ".")
    programs.add("jq", ".")
    clock.advance(seconds=60)
    assert not programs.has("jq", ".")


def test_only_the_newest_programs_are_remembered() -> None:
    programs, _ = _programs()
    for number in range(5_000):
        programs.add("javascript", str(number))
    assert not programs.has("javascript", "0")
    assert programs.has("javascript", "4999")


def test_a_program_that_succeeded_with_all_its_time_has_not_failed() -> None:
    programs, _ = _programs()
    programs.add("jq", ".", failed=True)
    programs.add("jq", ".", failed=False)
    assert programs.has("jq", ".")
    assert not programs.has_failed("jq", ".")
