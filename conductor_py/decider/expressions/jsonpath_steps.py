"""What a JSONPath is made of: steps, conditions of filters and their operands, all immutable."""

from __future__ import annotations

from typing import TypeAlias

from conductor_py.decider.expressions.linear_regex import Regex
from conductor_py.model.json import JsonValue
from conductor_py.records import dataclass


@dataclass(frozen=True, slots=True)
class Keys:
    """Several members: one map of those present at the end of a path, each by itself before it.

    ``complete``: only of maps that have them all, as directly behind ``..``.
    """

    names: tuple[str, ...]
    merged: bool = False
    complete: bool = False


@dataclass(frozen=True, slots=True)
class Indexes:
    """Several elements."""

    numbers: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Slice:
    """A range of elements."""

    range: slice


@dataclass(frozen=True, slots=True)
class Wildcard:
    """Every member or element."""


@dataclass(frozen=True, slots=True)
class Descend:
    """The node and all below it, each before what it contains."""


@dataclass(frozen=True, slots=True)
class Filter:
    """The elements of a list that satisfy a condition; a map is tested itself."""

    condition: Condition
    descended: bool


@dataclass(frozen=True, slots=True)
class Call:
    """A function of the node."""

    name: str
    arguments: tuple[Operand, ...]


@dataclass(frozen=True, slots=True)
class Literal:
    """A value written in the path."""

    value: JsonValue


@dataclass(frozen=True, slots=True)
class Path:
    """A compiled path.

    ``plain``: its keys and indexes when it has nothing else, the common case. ``definite``: it has
    one result at most.
    """

    steps: tuple[Step, ...]
    from_root: bool
    definite: bool
    plain: tuple[str | int, ...] | None


@dataclass(frozen=True, slots=True)
class Logic:
    """``&&`` (all) or ``||`` (any) of conditions."""

    every: bool
    conditions: tuple[Condition, ...]


@dataclass(frozen=True, slots=True)
class Not:
    """The opposite of a condition."""

    condition: Condition


@dataclass(frozen=True, slots=True)
class Exists:
    """True when the operand leads to something (a null is something)."""

    operand: Operand


@dataclass(frozen=True, slots=True)
class Compare:
    """An operator between two operands."""

    operator: str
    left: Operand
    right: Operand


Step: TypeAlias = str | int | Keys | Indexes | Slice | Wildcard | Descend | Filter | Call
Operand: TypeAlias = Path | Literal | Regex
Condition: TypeAlias = Logic | Not | Exists | Compare


def is_definite(step: Step) -> bool:
    """Tell whether a step leads from one node to one node at most."""
    return isinstance(step, str | int | Call) or (isinstance(step, Keys) and step.merged)


def paths_in(path: Path) -> tuple[Path, ...]:
    """List the paths from the root of the document that filters and functions of this path read."""
    found: list[Path] = []
    pending: list[Step | Operand | Condition] = list(path.steps[::-1])
    while pending:
        match pending.pop():
            case Filter(condition=part) | Not(condition=part) | Exists(operand=part):
                pending.append(part)
            case Call(arguments=parts) | Logic(conditions=parts):
                pending.extend(parts[::-1])
            case Compare(left=left, right=right):
                pending.extend((right, left))
            case Path() as inner:
                if inner.from_root:
                    found.append(inner)
                pending.extend(inner.steps[::-1])
            case _:
                pass
    return tuple(found)
