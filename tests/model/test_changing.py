"""A made record is what its constructor makes, a changed copy what ``dataclasses.replace`` does."""

from dataclasses import FrozenInstanceError, dataclass, field, replace

import pytest

from conductor_py.model.changing import changed, made


@dataclass(frozen=True, slots=True)
class _Record:
    name: str
    number: int = 0
    more: tuple[int, ...] = ()
    names: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Pair:
    key: str = ""
    value: int


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


def test_a_made_record_is_what_the_constructor_makes() -> None:
    record = made(_Record, name="a", more=(2,))

    assert record == _Record("a", 0, (2,))
    assert type(record) is _Record
    assert hash(made(_Pair, key="a", value=1)) == hash(_Pair(key="a", value=1))


def test_fields_may_stand_in_any_order_where_they_are_given_by_name() -> None:
    assert made(_Pair, value=1) == _Pair(value=1)
    assert changed(_Pair(value=1), key="b") == _Pair(key="b", value=1)


def test_made_records_share_no_default() -> None:
    made(_Record, name="a").names.append("b")

    assert made(_Record, name="a").names == []


def test_a_made_record_is_frozen_too() -> None:
    with pytest.raises(FrozenInstanceError):
        made(_Record, name="a").number = 2  # type: ignore[misc]


def test_a_record_is_not_made_of_unknown_or_of_too_few_fields() -> None:
    with pytest.raises(TypeError, match="nothing"):
        made(_Record, name="a", nothing=1)  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="name"):
        made(_Record)  # type: ignore[call-arg]
