"""The embedded server is ready in the time that is promised."""

import pytest

from benchmarks.start_part import starts_s


@pytest.mark.thorough(target="timing")
def test_an_embedded_server_is_ready_within_a_second_of_its_command() -> None:
    assert min(starts_s(5)) < 1.0
