"""A changed copy is what ``dataclasses.replace`` makes of the record."""

from dataclasses import FrozenInstanceError, dataclass, replace

import pytest

from conductor_py.model.changing import changed


@dataclass(frozen=True, slots=True)
class _Record:
    name: str
    number: int = 0
    more: tuple[int, ...] = ()


def test_a_changed_copy_has_the_changes_and_the_rest() -> None:
    record = _Record("a", 1, (2,))

    assert changed(record, number=3) == replace(record, number=3)
    assert changed(record) == record
    assert record == _Record("a", 1, (2,))


def test_a_changed_copy_is_frozen_too() -> None:
    with pytest.raises(FrozenInstanceError):
        changed(_Record("a"), number=1).number = 2  # type: ignore[misc]


def test_an_unknown_field_is_refused() -> None:
    with pytest.raises(TypeError, match="no field nothing"):
        changed(_Record("a"), nothing=1)
