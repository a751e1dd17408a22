"""The table of locks says what its test plays."""

from tests.anomalies.test_lock_and_fencing import ROWS
from tests.docs.pages import page


def test_every_row_of_the_table_of_locks_is_played() -> None:
    listed = [row for row in page("docs/explanation/consistency.md").rows() if len(row) == 5]
    played = {"-".join(combination): gives for combination, gives in ROWS.items()}

    assert {row[-1] for row in listed} == set(played)
    for lock, fencing, alone, slept, name in listed:
        assert fencing.split()[0] == name.rpartition("-")[2], lock
        assert alone.startswith("no") is not played[name].alone, name
        assert slept.startswith("is refused; nothing changes") is played[name].ended_stays, name
