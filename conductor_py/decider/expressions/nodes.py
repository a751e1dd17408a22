"""What a compiled template is made of: nodes that resolve themselves within a scope.

Nothing is parsed again while resolving, but the path of an expression that contains expressions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Final, TypeAlias

from conductor_py.decider.expressions.java_text import found_text_of, text_of
from conductor_py.decider.expressions.jsonpath import Budget, Lookup, read_from
from conductor_py.decider.expressions.jsonpath_operators import MISSING
from conductor_py.decider.expressions.jsonpath_steps import Path
from conductor_py.model.json import JsonValue
from conductor_py.records import dataclass

MAX_TEXT: Final = 2**26
"""Characters that the texts of one resolution may have together; what follows is cut off.

Far above what any payload may have: a text that was cut is refused for its size. Without the limit
a definition could ask for a megabyte ten thousand times before anybody measures. Where a bound for
the whole is given, that one holds, and nothing is cut: ``TooLarge``.
"""

_FREE: Final = 4
"""Maps and lists that plain paths may bring in before they are measured."""

MAX_VISITS: Final = 4_000_000
"""Nodes that all paths of one resolution may visit; a path that wants more finds nothing."""

TASK_ID: Final = "CPEWF_TASK_ID"

Root: TypeAlias = tuple[str, str]
"""A root of the document and its member, as a lookup takes them."""


class TooLarge(Exception):
    """What a resolution makes takes more than it may when it is written: the end of a sentence."""


@dataclass(slots=True)
class Scope:
    """What one resolution reads from; not frozen, for one is made for each. ``room`` is what may
    still be written; with ``most``, which it begins with, more is ``TooLarge``.
    """

    lookup: Lookup
    task_id: str | None
    budget: Budget | None = None
    room: int = MAX_TEXT
    most: int | None = None
    free: int = _FREE
    measured: dict[int, tuple[JsonValue, int]] | None = None

    def spend(self, size: int) -> None:
        """Take room; raises ``TooLarge`` when there is no more."""
        self.room -= size
        if self.room < 0 and self.most is not None:
            message = (
                f"of more than {self.most} bytes is larger than the limit of {self.most} bytes"
            )
            raise TooLarge(message)

    def weight(self, node: Node, value: JsonValue) -> int:
        """What a map or list takes at least when it is written. It is shared in memory, and written
        as often as it was brought in. What a few plain paths bring in is not looked at: it is a
        part of a document, and so it is bounded.
        """
        if self.free and isinstance(node, Reference) and node.rest.plain is not None:
            self.free -= 1
            return 0
        if self.measured is None:
            self.measured = {}
        known = self.measured.get(id(value))
        if known is None:
            # Kept with the value, or another one may get its id.
            known = self.measured[id(value)] = value, written(value, self.room)
        return known[1]


@dataclass(frozen=True, slots=True)
class Constant:
    """A value without expressions."""

    value: JsonValue

    def resolve(self, scope: Scope) -> JsonValue:
        return self.value


@dataclass(frozen=True, slots=True)
class Reference:
    """A path in the document, cut after the part that the lookup answers."""

    root: str
    member: str
    rest: Path
    roots: tuple[Root, ...]

    def resolve(self, scope: Scope) -> JsonValue:
        start = scope.lookup(self.root, self.member) if self.root else MISSING
        if self.rest.plain is None and scope.budget is None:
            scope.budget = Budget(MAX_VISITS)
        return read_from(self.rest, start, scope.lookup, scope.budget)


@dataclass(frozen=True, slots=True)
class TaskId:
    """The id of the task; where there is none it stays as it is written."""

    def resolve(self, scope: Scope) -> JsonValue:
        return f"${{{TASK_ID}}}" if scope.task_id is None else scope.task_id


@dataclass(frozen=True, slots=True)
class Computed:
    """An expression whose path contains expressions."""

    path: Joined
    leading: tuple[Root, ...]
    compile: Callable[[str], Node]

    def compiled(self, scope: Scope) -> Node:
        """What it is when the expressions within are resolved."""
        return self.compile(text_of(self.path.resolve(scope)))

    def resolve(self, scope: Scope) -> JsonValue:
        return self.compiled(scope).resolve(scope)


@dataclass(frozen=True, slots=True)
class Joined:
    """Text and expressions in turn."""

    parts: tuple[str | Node, ...]

    def resolve(self, scope: Scope) -> JsonValue:
        texts: list[str] = []
        for part in self.parts:
            if scope.room < 0:
                break
            texts.append(part if isinstance(part, str) else self._text(part, scope))
            scope.spend(len(texts[-1]))
        return "".join(texts)

    @staticmethod
    def _text(part: Node, scope: Scope) -> str:
        if isinstance(part, Computed):
            part = part.compiled(scope)
        value = part.resolve(scope)
        # A text is charged when it is there, but has to be within the room to be made.
        if scope.most is not None and isinstance(value, Mapping | list | tuple):
            weight = scope.weight(part, value)
            if weight > scope.room:
                scope.spend(weight)
        if isinstance(part, Reference) and not part.rest.definite and isinstance(value, list):
            return found_text_of(value)
        return text_of(value)


@dataclass(frozen=True, slots=True)
class Members:
    """A map: ``base`` as it stands, and the members that are resolved into a copy of it."""

    base: Mapping[str, JsonValue]
    changing: tuple[tuple[str, Node], ...]

    def resolve(self, scope: Scope) -> JsonValue:
        resolved = dict(self.base)
        for key, node in self.changing:
            resolved[key] = brought(node, scope)
        return resolved


@dataclass(frozen=True, slots=True)
class Elements:
    """A list: ``base`` as it stands, and the elements that are resolved into a copy of it."""

    base: tuple[JsonValue, ...]
    changing: tuple[tuple[int, Node], ...]

    def resolve(self, scope: Scope) -> JsonValue:
        resolved = list(self.base)
        for index, node in self.changing:
            resolved[index] = brought(node, scope)
        return resolved


Node: TypeAlias = Constant | Reference | TaskId | Computed | Joined | Members | Elements


def brought(node: Node, scope: Scope) -> JsonValue:
    """Resolve a node whose value becomes part of a document."""
    value = node.resolve(scope)
    if scope.most is not None:
        kind = type(node)
        if kind is Reference or kind is Computed:
            if isinstance(value, str):
                scope.spend(len(value))
            elif value is not None and not isinstance(value, int | float):
                scope.spend(scope.weight(node, value))
    return value


def written(value: JsonValue, room: int) -> int:
    """What a value takes at least when it is written, in bytes; counting ends beyond ``room``."""
    if isinstance(value, str):
        return len(value) + 2
    size, pending = 0, [value]
    while pending and size <= room:
        item = pending.pop()
        size += 1
        if isinstance(item, str):
            size += len(item) + 1
        elif isinstance(item, int):
            size += item.bit_length() >> 2
        elif isinstance(item, list | tuple):
            pending.extend(item)
        elif isinstance(item, Mapping):
            size += sum(map(len, item))
            pending.extend(item.values())
    return size


def walk(node: Node) -> Iterable[Node]:
    """Visit a node and all within it, in the order in which they are resolved."""
    pending: list[Node] = [node]
    while pending:
        node = pending.pop()
        yield node
        if isinstance(node, Members | Elements):
            pending.extend(child for _, child in reversed(node.changing))
        elif isinstance(node, Joined):
            pending.extend(part for part in reversed(node.parts) if not isinstance(part, str))
        elif isinstance(node, Computed):
            pending.append(node.path)
