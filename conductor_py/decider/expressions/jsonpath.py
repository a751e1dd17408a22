"""JSONPath on payloads: compile once, read many times.

Jayway's results: a definite path answers with the value or None, an indefinite one (``..``,
``[*]``, a filter, a slice, a union) always with a list. A path of keys and indexes is a loop of
subscriptions; only the rest pays for a walk. Reading never throws and never changes a value;
results share structure with what was read.

A walk may visit ``MAX_VISITS`` nodes (states of regular expressions count); one that wants more
finds nothing. Functions after an indefinite path apply to each result; an aggregate (such as
``sum()``) over results that are numbers applies to all of them together. A path that asks for what
cannot be (the members of a number by a filter, the ``first()`` of a text) is null, indefinite too.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any, Final, TypeAlias

from conductor_py.decider.expressions.jsonpath_functions import AGGREGATES, Inapplicable, call
from conductor_py.decider.expressions.jsonpath_operators import (
    MISSING,
    Missing,
    Side,
    holds,
    is_number,
    is_scalar,
    items_of,
)
from conductor_py.decider.expressions.jsonpath_steps import (
    Call,
    Compare,
    Condition,
    Descend,
    Exists,
    Filter,
    Indexes,
    Keys,
    Literal,
    Logic,
    Operand,
    Path,
    Slice,
    Step,
    Wildcard,
    is_definite,
)
from conductor_py.decider.expressions.jsonpath_syntax import parse_path
from conductor_py.decider.expressions.linear_regex import Regex
from conductor_py.model.json import JsonValue

MAX_VISITS: Final = 1_000_000

Lookup: TypeAlias = Callable[[str, str], "JsonValue | Missing"]
"""Reads ``(root, member)`` of a document; with member ``""`` the whole root."""


def compile_path(text: str) -> Path | str:
    """Compile a path, or return the sentence that says what is wrong with it.

    Short texts are remembered.
    """
    return _remembered(text) if len(text) <= 500 else parse_path(text)


_remembered = lru_cache(maxsize=2_048)(parse_path)


def read(path: Path, document: JsonValue) -> JsonValue:
    """Read a path in one document, as ``$``."""

    def lookup(root: str, member: str) -> JsonValue | Missing:
        return _plain(document, (root, member) if member else (root,))

    return read_from(path, document, lookup)


class Budget:
    """How many nodes may still be visited; several paths may share one."""

    __slots__ = ("left",)

    def __init__(self, visits: int = MAX_VISITS) -> None:
        self.left = visits

    def spend(self, visits: int) -> None:
        """Take visits; more than are left end the walk."""
        self.left -= visits
        if self.left < 0:
            raise _Exhausted


def read_from(
    path: Path, start: JsonValue | Missing, lookup: Lookup, budget: Budget | None = None
) -> JsonValue:
    """Read the steps of a path from a value.

    Paths in its filters and functions that begin with ``$`` read through ``lookup``; what that
    raises passes through.
    """
    if path.plain is not None:
        found = _plain(start, path.plain)
        return None if found is MISSING else found
    nothing: JsonValue = None if path.definite else []
    try:
        nodes = _Walk(lookup, budget or Budget()).nodes(path.steps, start, outer=True)
    except (_Exhausted, RecursionError):
        return nothing
    except Inapplicable:
        return None
    if isinstance(nodes, tuple):
        return nodes[0]
    return nodes[-1] if path.definite and nodes else nothing if path.definite else nodes


class _Exhausted(Exception):
    """The walk wants to visit more than it may."""


def _plain(value: JsonValue | Missing, steps: Sequence[str | int]) -> JsonValue | Missing:
    node: Any = value
    for step in steps:
        if type(node) is str:
            return MISSING
        try:
            node = node[step]
        except (KeyError, IndexError, TypeError):
            return MISSING
    found: JsonValue | Missing = node
    return found


class _Walk:
    """One reading of one path: the nodes reached, step by step, and what may still be spent."""

    __slots__ = ("lookup", "spend")

    def __init__(self, lookup: Lookup, budget: Budget) -> None:
        self.lookup = lookup
        self.spend = budget.spend

    def nodes(
        self, steps: Sequence[Step], start: JsonValue | Missing, *, outer: bool = False
    ) -> list[JsonValue] | tuple[JsonValue]:
        """Follow the steps; a tuple of one when an aggregate made one value of many.

        ``outer``: not of a path within a filter, where a filter of a scalar finds nothing.
        """
        nodes: list[JsonValue] = [] if start is MISSING else [start]
        single = False
        definite = True
        for number, step in enumerate(steps):
            self.spend(1)
            if isinstance(step, Call):
                if number == 0 and not nodes:
                    nodes = self._called(step, [MISSING])
                elif not definite and step.name in AGGREGATES and any(map(is_number, nodes)):
                    nodes = self._called(step, [nodes])
                    single = definite = bool(nodes)
                else:
                    nodes = self._called(step, nodes)
            else:
                if outer and definite and isinstance(step, Filter) and any(map(is_scalar, nodes)):
                    raise Inapplicable
                nodes = self._stepped(step, nodes)
                definite = definite and is_definite(step)
        return (nodes[0],) if single and definite and nodes else nodes

    def _stepped(self, step: Step, nodes: list[JsonValue]) -> list[JsonValue]:
        out: list[JsonValue] = []
        for node in nodes:
            found = self._step(step, node)
            self.spend(len(found) or 1)
            out.extend(found)
        return out

    def _step(self, step: Step, node: JsonValue) -> Sequence[JsonValue]:
        if isinstance(step, str):
            return (node[step],) if isinstance(node, Mapping) and step in node else ()
        if isinstance(step, Keys):
            return _members(step, node)
        if isinstance(step, Descend):
            return self._descended(node)
        if isinstance(step, Wildcard):
            return _children(node)
        if isinstance(step, Filter):
            return self._filtered(step, node)
        return _elements(step, node)

    def _descended(self, node: JsonValue) -> list[JsonValue]:
        found: list[JsonValue] = []
        pending = [node]
        while pending:
            node = pending.pop()
            found.append(node)
            children = _children(node)
            self.spend(len(children))
            pending.extend(reversed(children))
        return found

    def _filtered(self, step: Filter, node: JsonValue) -> list[JsonValue]:
        if isinstance(node, Mapping):
            return [node] if self._satisfied(step.condition, node) else []
        return [
            item
            for item in items_of(node) or ()
            # After '..' the maps come by themselves.
            if not (step.descended and isinstance(item, Mapping))
            and self._satisfied(step.condition, item)
        ]

    def _satisfied(self, condition: Condition, node: JsonValue) -> bool:
        # A condition costs about three times the time of a node.
        self.spend(3)
        if isinstance(condition, Compare):
            sides = self._side(condition.left, node), self._side(condition.right, node)
            return holds(condition.operator, *sides, self.spend)
        if isinstance(condition, Exists):
            found = self._operand(condition.operand, node)
            indefinite = isinstance(condition.operand, Path) and not condition.operand.definite
            return found is not MISSING and not (indefinite and found == [])
        if isinstance(condition, Logic):
            verdicts = (self._satisfied(one, node) for one in condition.conditions)
            return all(verdicts) if condition.every else any(verdicts)
        return not self._satisfied(condition.condition, node)

    def _side(self, operand: Operand, node: JsonValue) -> Side:
        found = self._operand(operand, node)
        return None if found is MISSING else found

    def _operand(self, operand: Operand, node: JsonValue) -> Side | Missing:
        if isinstance(operand, Regex):
            return operand
        if isinstance(operand, Literal):
            return operand.value
        return self._inner(operand, node)

    def _inner(self, path: Path, node: JsonValue) -> JsonValue | Missing:
        steps: Sequence[Step] = path.steps
        start: JsonValue | Missing = node
        if path.plain is not None and not path.from_root:
            return _plain(node, path.plain)
        if path.from_root:
            root, member, steps = rooted(path)
            start = self.lookup(root, member) if root else MISSING
        found = self.nodes(steps, start)
        if isinstance(found, tuple):
            return found[0]
        if not path.definite:
            return found
        return found[-1] if found else MISSING

    def _called(self, step: Call, nodes: Sequence[JsonValue | Missing]) -> list[JsonValue]:
        out: list[JsonValue] = []
        for node in nodes:
            given = None if node is MISSING else node
            sides = [self._operand(operand, given) for operand in step.arguments]
            arguments = [side for side in sides if not isinstance(side, Missing | Regex)]
            self.spend(len(_children(given)) + sum(len(_children(one)) + 1 for one in arguments))
            found = call(step.name, node, arguments, self.spend)
            if found is not MISSING:
                out.append(found)
        return out


def rooted(path: Path) -> tuple[str, str, tuple[Step, ...]]:
    """Split a path from the document into root, member and the steps after them.

    The root is ``""`` when the path names none, the member when the second step is not a key.
    """
    first, *others = path.steps or ("",)
    if not isinstance(first, str) or not first:
        return "", "", path.steps
    if others and isinstance(others[0], str):
        return first, others[0], path.steps[2:]
    return first, "", path.steps[1:]


def _children(node: JsonValue) -> Sequence[JsonValue]:
    if isinstance(node, Mapping):
        return list(node.values())
    return items_of(node) or ()


def _members(step: Keys, node: JsonValue) -> Sequence[JsonValue]:
    if not isinstance(node, Mapping):
        return ()
    present = {name: node[name] for name in step.names if name in node}
    if step.complete and len(present) < len(set(step.names)):
        return ()
    return [present] if step.merged else list(present.values())


def _elements(step: Step, node: JsonValue) -> Sequence[JsonValue]:
    items = items_of(node)
    if items is None:
        return ()
    if isinstance(step, Slice):
        return items[step.range]
    numbers = (
        (step,) if isinstance(step, int) else step.numbers if isinstance(step, Indexes) else ()
    )
    return [items[number] for number in numbers if -len(items) <= number < len(items)]
