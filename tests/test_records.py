"""A record behaves as a dataclass of the standard library: both are asked the same."""

import copy
import dataclasses
import inspect
import threading
import typing
from collections.abc import Callable
from dataclasses import FrozenInstanceError, dataclass, field, fields, replace
from typing import Any, Generic, TypeVar

import pytest

from conductor_py import records
from conductor_py.records import changed, made

T = TypeVar("T")
Decorator = Callable[..., Any]

both = pytest.mark.parametrize("decorate", [dataclass, records.dataclass], ids=["std", "ours"])
sealed = pytest.mark.parametrize("frozen", [True, False], ids=["frozen", "open"])


def _record(decorate: Decorator, **options: Any) -> Any:
    @decorate(slots=True, **options)
    class Record:
        name: str
        number: int = 0
        more: tuple[int, ...] = field(default=(), repr=False)
        names: list[str] = field(default_factory=list)
        note: str = field(default="", compare=False)
        seen: int = field(init=False, default=7)

    return Record


def _small(decorate: Decorator, **options: Any) -> Any:
    @decorate(slots=True, **options)
    class Small:
        key: str = ""
        value: int = field(default=0, hash=False)

    return Small


@both
@sealed
def test_fields_are_filled_by_place_or_name_and_with_their_defaults(
    decorate: Decorator, *, frozen: bool
) -> None:
    kind = _record(decorate, frozen=frozen)

    for record in (kind("a", 1, (2,)), kind(more=(2,), number=1, name="a")):
        assert [getattr(record, f.name) for f in fields(record)] == ["a", 1, (2,), [], "", 7]
        assert type(record) is kind
    assert kind("a").names is not kind("a").names


@both
@pytest.mark.parametrize(
    ("args", "named", "told"),
    [
        ((), {}, "name"),
        (("a",), {"nothing": 1}, "nothing"),
        (("a",), {"name": "b"}, "name"),
        (("a",), {"seen": 1}, "seen"),
        ((1, 2, 3, 4, 5, 6), {}, "positional"),
    ],
)
def test_what_is_no_field_or_lacks_is_refused(
    decorate: Decorator, args: tuple[Any, ...], named: dict[str, Any], told: str
) -> None:
    with pytest.raises(TypeError, match=told):
        _record(decorate, frozen=True)(*args, **named)


@both
def test_fields_by_name_only_may_stand_in_any_order(decorate: Decorator) -> None:
    @decorate(frozen=True, slots=True, kw_only=True)
    class Pair:
        key: str = ""
        value: int

    pair: Any = Pair
    assert pair(value=1) == pair(key="", value=1)
    with pytest.raises(TypeError):
        pair("a", 1)


@both
@pytest.mark.parametrize("make", [_record, _small])
def test_a_frozen_one_is_not_written_to(decorate: Decorator, make: Decorator) -> None:
    one = make(decorate, frozen=True)("a")
    first = fields(one)[0].name

    with pytest.raises(FrozenInstanceError, match=first):
        setattr(one, first, "b")
    with pytest.raises(FrozenInstanceError, match=first):
        delattr(one, first)
    assert getattr(one, first) == "a"


@both
def test_an_open_one_is_written_to_and_has_no_hash(decorate: Decorator) -> None:
    small = _small(decorate)
    one = small("a")
    one.key = "b"

    assert one == small("b")
    with pytest.raises(TypeError, match="unhashable"):
        hash(one)
    with pytest.raises(AttributeError):
        one.nothing = 1


@both
@sealed
def test_equal_are_those_of_one_class_with_equal_fields_that_count(
    decorate: Decorator, *, frozen: bool
) -> None:
    kind, other = _record(decorate, frozen=frozen), _record(decorate, frozen=frozen)

    assert kind("a", note="x") == kind("a", note="y")
    assert kind("a") != kind("b")
    assert kind("a") != other("a")
    assert kind("a") != "a"


@both
def test_the_hash_is_of_the_fields_that_count(decorate: Decorator) -> None:
    small = _small(decorate, frozen=True)

    assert hash(small("a", 1)) == hash(small("a", 2))
    assert len({small("a", 1), small("a", 1), small("b", 1)}) == 2
    with pytest.raises(TypeError, match="unhashable"):
        hash(_record(decorate, frozen=True)("a"))


@both
def test_without_equality_each_is_itself(decorate: Decorator) -> None:
    small = _small(decorate, frozen=True, eq=False)
    one, another = small("a"), small("a")

    assert one != another
    assert len({one, another}) == 2


@both
def test_it_tells_its_fields_but_those_that_are_left_out(decorate: Decorator) -> None:
    kind = _record(decorate, frozen=True)

    told = repr(kind("a", 1, (2,)))
    assert told.endswith("Record(name='a', number=1, names=[], note='', seen=7)")
    assert told.startswith("_record.<locals>")


@both
def test_one_that_holds_itself_is_told(decorate: Decorator) -> None:
    one = _record(decorate)("a")
    one.names.append(one)

    assert "names=[...]" in repr(one)


@both
@sealed
def test_what_a_class_has_of_its_own_stays(decorate: Decorator, *, frozen: bool) -> None:
    @decorate(slots=True, frozen=frozen)
    class Own:
        name: str
        number: int = 0

        def __eq__(self, other: object) -> bool:
            return isinstance(other, Own) and self.name == other.name

        def __hash__(self) -> int:
            return 1

        def __repr__(self) -> str:
            return "own"

    own: Any = Own
    assert own("a", 1) == own("a", 2)
    assert hash(own("a")) == 1
    assert repr(own("a")) == "own"


@both
def test_what_follows_the_filling_sees_all_fields(decorate: Decorator) -> None:
    seen: list[Any] = []

    class Base:
        __slots__ = ()

        def __post_init__(self) -> None:
            seen.append(tuple(getattr(self, each.name) for each in fields(self)))  # type: ignore[arg-type]
            raise ValueError(type(self).__name__)

    @decorate(frozen=True, slots=True)
    class Checked(Base):
        name: str
        number: int = 0
        more: int = 0
        rest: int = 0

    checked: Any = Checked
    with pytest.raises(ValueError, match="Checked"):
        checked("a", 1)
    assert seen == [("a", 1, 0, 0)]


@both
def test_a_record_may_derive_from_a_record_and_from_a_generic_class(decorate: Decorator) -> None:
    @decorate(frozen=True, slots=True)
    class First(Generic[T]):
        value: T
        number: int = 0

    @decorate(frozen=True, slots=True)
    class Second(First[str]):
        more: int = 1
        rest: int = 2
        last: int = 3

        def total(self) -> int:
            return self.number + self.more

    first: Any = First
    second: Any = Second
    one = second("a", 5, rest=9)
    assert one == second("a", number=5, more=1, rest=9, last=3)
    assert one.total() == 6
    assert first("a") == first("a")
    assert repr(one).endswith("(value='a', number=5, more=1, rest=9, last=3)")
    with pytest.raises(FrozenInstanceError):
        one.value = "b"


def test_a_class_that_derives_without_being_a_record_has_attributes_of_its_own() -> None:
    class Plain(_small(records.dataclass, frozen=True)):  # type: ignore[misc]
        pass

    one = Plain("a")
    one.own = 1
    del one.own

    assert one.key == "a"
    with pytest.raises(FrozenInstanceError):
        one.key = "b"


@both
@sealed
def test_it_is_copied_replaced_matched_and_read_as_any_dataclass(
    decorate: Decorator, *, frozen: bool
) -> None:
    kind = _record(decorate, frozen=frozen)
    one = kind("a", 1, names=["b"])

    assert copy.copy(one) == one
    deep = copy.deepcopy(one)
    assert deep == one
    assert deep.names is not one.names
    assert replace(one, number=2) == kind("a", 2, names=["b"])
    assert dataclasses.asdict(one)["names"] == ["b"]
    assert kind.__match_args__ == ("name", "number", "more", "names", "note")
    with pytest.raises(ValueError, match="seen"):
        replace(one, seen=1)


@both
def test_its_constructor_can_be_looked_at(decorate: Decorator) -> None:
    @decorate(frozen=True, slots=True)
    class Looked:
        name: str
        number: int = 3
        names: list[str] = field(default_factory=list)

    parameters = inspect.signature(Looked).parameters
    assert list(parameters) == ["name", "number", "names"]
    assert parameters["number"].default == 3
    assert parameters["name"].default is inspect.Parameter.empty
    assert typing.get_type_hints(Looked.__init__)["names"] == list[str]
    assert Looked.__init__.__qualname__.endswith("Looked.__init__")


@both
def test_fields_may_be_called_like_what_the_constructor_uses(decorate: Decorator) -> None:
    @decorate(frozen=True, slots=True, kw_only=True)
    class Odd:
        make: int
        kind: int = 1
        record: int = 2
        copy: list[int] = field(default_factory=list)

    odd: Any = Odd
    one = odd(make=0)
    assert (one.make, one.kind, one.record, one.copy) == (0, 1, 2, [])
    assert one == odd(make=0)


def test_methods_are_made_when_they_are_first_used_and_once() -> None:
    kind = _record(records.dataclass, frozen=True)
    before = {name: vars(kind)[name] for name in ("__init__", "__eq__", "__hash__")}
    kind("a")

    assert inspect.isfunction(vars(kind)["__init__"])
    assert vars(kind)["__eq__"] is before["__eq__"]
    first = vars(kind)["__init__"]
    kind("b")
    assert vars(kind)["__init__"] is first


def test_threads_that_use_a_class_for_the_first_time_at_once_all_make_records() -> None:
    for _ in range(20):
        kind = _record(records.dataclass, frozen=True)
        barrier, found = threading.Barrier(4), list[Any]()

        def make(kind: Any = kind, barrier: Any = barrier, found: list[Any] = found) -> None:
            barrier.wait()
            found.append(kind("a", 1))

        threads = [threading.Thread(target=make) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert found == [kind("a", 1)] * 4


def test_a_class_is_told_to_have_slots() -> None:
    with pytest.raises(TypeError, match="slots"):
        records.dataclass(frozen=True)(type("Plain", (), {}))


# -- made and changed at a lower price -------------------------------------------------------------


@records.dataclass(frozen=True, slots=True)
class _Record:
    name: str
    number: int = 0
    more: tuple[int, ...] = ()
    names: list[str] = field(default_factory=list)


@records.dataclass(frozen=True, slots=True, kw_only=True)
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
