"""Records: dataclasses with slots, frozen or not, whose methods are made when first used.

``dataclasses.dataclass`` writes and compiles up to six methods of each class. A server has more
than four hundred such classes, and by the time it is ready it has used eighty: that was a third of
its start (docs/decisions/0030). Here a class gets what it declares at once, and each method when
somebody first looks it up; both from the standard library. What is called ``dataclass`` here is its
own for type checkers, and behaves so.

``made`` and ``changed`` do what a constructor and ``dataclasses.replace`` do, for those who do so
all the time, at about a quarter of their price. Being frozen makes ``__init__`` go the long way for
each field; a record is therefore filled while it belongs to an open twin of its class, with the
same slots, and becomes one of its own class when it is whole.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import MISSING, Field, FrozenInstanceError, field, fields, make_dataclass
from functools import cache
from operator import attrgetter
from reprlib import recursive_repr
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar

__all__ = ["changed", "dataclass", "field", "made"]

_T = TypeVar("_T")
_Given = ParamSpec("_Given")

_Kind = type[Any]


def _dataclass(
    kind: _Kind | None = None,
    /,
    *,
    slots: bool,
    frozen: bool = False,
    kw_only: bool = False,
    eq: bool = True,
) -> Any:  # noqa: ANN401 - a class, or what decorates one
    """Make a class a record, as ``dataclasses.dataclass`` would; it must be told to have slots."""
    if kind is None:
        return lambda one: _dataclass(one, slots=slots, frozen=frozen, kw_only=kw_only, eq=eq)
    if not slots:
        raise TypeError(f"{kind.__name__} is a record and must have slots")
    own = {name for name, value in vars(kind).items() if value is not None}
    declares = dataclasses.dataclass(init=False, repr=False, eq=False, slots=True, kw_only=kw_only)
    made: _Kind = declares(kind)
    wanted: dict[str, Any] = {"__repr__": _told}
    wanted["__init__"] = _Later(made, "__init__", {"init": True, "eq": False, "frozen": frozen})
    if eq:
        compares = {"init": False, "eq": True, "frozen": frozen}
        wanted["__eq__"] = _Later(made, "__eq__", compares)
        wanted["__hash__"] = _Later(made, "__hash__", compares) if frozen else None
    if frozen:
        wanted |= _sealed(made)
    for name, method in wanted.items():
        if name not in own:
            setattr(made, name, method)
    return made


class _Later:
    """A method that is made when it is first looked up, and then takes this place."""

    __slots__ = ("_kind", "_name", "_options")

    def __init__(self, kind: _Kind, name: str, options: dict[str, bool]) -> None:
        self._kind = kind
        self._name = name
        self._options = options

    def __get__(self, record: object, kind: _Kind | None = None) -> Any:  # noqa: ANN401 - a method
        method = vars(_twin(self._kind, self._options))[self._name]
        method.__qualname__ = f"{self._kind.__qualname__}.{self._name}"
        setattr(self._kind, self._name, method)
        return method.__get__(record, kind)


def _twin(kind: _Kind, options: dict[str, bool]) -> _Kind:
    """A class with the same fields, and the methods that are asked for."""
    declared = {each.name: _declared(each) for each in fields(kind)}
    types = {each.name: each.type for each in fields(kind)}
    follows = {"__post_init__": None} if hasattr(kind, "__post_init__") else {}
    names = {**declared, **follows, "__annotations__": types, "__module__": kind.__module__}
    twin = type(kind.__name__, (), {**names, "__doc__": ""})
    return dataclasses.dataclass(repr=False, slots=True, **options)(twin)


def _declared(each: Field[Any]) -> Any:  # noqa: ANN401 - what stands for a field
    said = ("default", "default_factory", "init", "hash", "compare", "kw_only")
    known: dict[str, Any] = {name: getattr(each, name) for name in said}
    return field(**known)


def _sealed(kind: _Kind) -> dict[str, Any]:
    """What makes it frozen; a copy gets its state past that."""

    def refuse(record: object, name: str, doing: str) -> None:
        if type(record) is kind or name in kind.__dataclass_fields__:
            raise FrozenInstanceError(f"cannot {doing} field {name!r}")

    def set_one(record: object, name: str, value: object) -> None:
        refuse(record, name, "assign to")
        super(kind, record).__setattr__(name, value)

    def delete_one(record: object, name: str) -> None:
        refuse(record, name, "delete")
        super(kind, record).__delattr__(name)

    return {
        "__setattr__": set_one,
        "__delattr__": delete_one,
        "__getstate__": _state,
        "__setstate__": _set_state,
    }


def _state(record: Any) -> list[Any]:  # noqa: ANN401 - of any record
    return [getattr(record, each.name) for each in fields(record)]


def _set_state(record: Any, state: list[Any]) -> None:  # noqa: ANN401 - of any record
    for each, value in zip(fields(record), state, strict=True):
        object.__setattr__(record, each.name, value)


@recursive_repr()
def _told(record: Any) -> str:  # noqa: ANN401 - any record
    shown = (f"{f.name}={getattr(record, f.name)!r}" for f in fields(record) if f.repr)
    return f"{record.__class__.__qualname__}({', '.join(shown)})"


# -- made and changed at a lower price -------------------------------------------------------------


def made(kind: Callable[_Given, _T], *_: _Given.args, **values: _Given.kwargs) -> _T:
    """Make a record of a class; its fields by name only.

    The class has slots, two fields or more and no ``__post_init__``. An unknown field is a
    TypeError, and so is one that lacks.
    """
    record: Any = _open(kind)[0](**values)
    record.__class__ = kind
    whole: _T = record
    return whole


def changed(record: _T, **changes: Any) -> _T:  # noqa: ANN401 - any field of any record
    """Copy a record with some of its fields changed.

    Its class is as ``made`` wants it. An unknown field is a TypeError.
    """
    kind: Any = type(record)
    twin, read = _open(kind)
    copy: Any = twin(*read(record))
    for name, value in changes.items():
        try:
            setattr(copy, name, value)
        except AttributeError as unknown:
            raise TypeError(f"{kind.__name__} has no field {name}") from unknown
    copy.__class__ = kind
    whole: _T = copy
    return whole


@cache
def _open(kind: Any) -> tuple[type[Any], Callable[[Any], tuple[Any, ...]]]:  # noqa: ANN401
    """The open twin of a class, and how to read a record in the order of the twin's fields."""
    assert not hasattr(kind, "__post_init__"), kind
    ordered = sorted(fields(kind), key=_has_default)
    declared = [(each.name, Any, _default_of(each)) for each in ordered]
    twin = make_dataclass(kind.__name__, declared, slots=True, eq=False, repr=False)
    return twin, attrgetter(*(each.name for each in ordered))


def _has_default(each: Field[Any]) -> bool:
    return each.default is not MISSING or each.default_factory is not MISSING


def _default_of(each: Field[Any]) -> Any:  # noqa: ANN401 - what stands for a field
    if each.default_factory is not MISSING:
        return field(default_factory=each.default_factory)
    return field(default=each.default)


if TYPE_CHECKING:
    from dataclasses import dataclass
else:
    dataclass = _dataclass
