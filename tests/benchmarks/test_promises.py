"""An embedded server is as quick to start, as small and as quiet as is promised.

Loads are a tenth of what ``make bench-lean`` and ``make bench-scale`` measure, so that these tests
take a few minutes; what is idle is allowed twice what was measured.
"""

import pytest

from benchmarks.idle_part import measure_idle
from benchmarks.memory_part import measure_memory
from benchmarks.scale_timers import measure_timers
from benchmarks.server_part import server
from benchmarks.start_part import starts_s

pytestmark = [pytest.mark.thorough(target="timing"), pytest.mark.timeout(600)]


def test_an_embedded_server_is_ready_within_a_second_of_its_command() -> None:
    assert min(starts_s(5)) < 1.0


def test_an_embedded_server_stays_below_150_mb_and_does_not_grow_with_what_has_ended() -> None:
    with server() as at:
        _, once, twice = measure_memory(at, 1_000, settle_s=90)
    assert once.all.resident < 150
    assert twice.all.resident - once.all.resident < 5


def test_an_embedded_server_at_which_everything_waits_uses_a_thirtieth_of_a_core_at_most() -> None:
    with server() as at:
        figures = {each.key: each.value for each in measure_idle(at, 1_000, 50, 20)}
    assert figures["idle"] < 1
    assert figures["idle_waiting"] < 100 / 30


def test_timers_of_an_embedded_server_fire_within_a_second() -> None:
    with server() as at:
        figures = {each.key: each.value for each in measure_timers(at, 10_000)}
    assert figures["scale_timers_p99"] < 1000
