"""Many items of which one is there at a time: made anew whenever they are gone through."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from typing import Generic, TypeVar

from conductor_py.records import dataclass

_T = TypeVar("_T")
_Other = TypeVar("_Other")


@dataclass(frozen=True, slots=True, kw_only=True)
class Afresh(Collection[_T], Generic[_T]):
    """So many items that all of them at once would fill the memory. ``make`` makes them, the same
    ones each time, and ``count`` says how many they are.
    """

    make: Callable[[], Iterator[_T]]
    count: int

    def __iter__(self) -> Iterator[_T]:
        return self.make()

    def __len__(self) -> int:
        return self.count

    def __contains__(self, item: object) -> bool:
        return any(each == item for each in self.make())


def mapped(change: Callable[[_T], _Other], items: Collection[_T]) -> Collection[_Other]:
    """Change each of some items: at once, or as they are gone through when they are made anew."""
    if isinstance(items, Afresh):
        return Afresh(make=lambda: map(change, items), count=len(items))
    return tuple(map(change, items))
