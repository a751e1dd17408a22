"""Which regular expressions take more than linear time, by the automaton of each.

``slow_text`` looks for two different ways around one loop, or a way from one loop into a later one,
that read the same word: by such a word, repeated, the engine of Python backtracks through all ways
to divide it. The question is decided, not guessed: states p and q, and a word that leads p to p,
p to q and q to q.

A pattern that is searched for begins with a loop over everything: where a first loop can begin at
every character of its own text, the search begins again at each of them.

What is bounded by a number is no loop. Look-arounds are taken to hold.
"""

from __future__ import annotations

import operator
import re
from collections import deque
from dataclasses import dataclass, field
from functools import cache, partial
from importlib import import_module
from typing import Any

# The engine's own parser: it has no types, and no other name.
sre: Any = import_module("re._constants")
sre_parser: Any = import_module("re._parser")
#: Copies that stand for a bounded repetition: what is bounded cannot loop.
_COPIES = 3

GUARD = object()
"""What an edge has that reads nothing and may yet not be passed: an end, a look-around."""


@dataclass(slots=True)
class _Automaton:
    """Edges by state; one without a test reads nothing."""

    edges: list[list[tuple[Any, int]]] = field(default_factory=list)

    def state(self) -> int:
        self.edges.append([])
        return len(self.edges) - 1

    def join(self, source: int, target: int, test: Any = None) -> None:
        self.edges[source].append((test, target))


def slow_text(text: str, flags: int, *, searched: bool) -> str | None:
    """A word that, repeated, takes the pattern more than linear time; ``None``: there is none."""
    automaton, alphabet = _Automaton(), _alphabet(text)
    start = automaton.state()
    parsed = sre_parser.parse(text, flags)
    first = automaton.state()
    line_wise = _is_anchored(parsed) and parsed.state.flags & re.MULTILINE
    if searched and (line_wise or not _is_anchored(parsed)):
        automaton.join(start, start, _Test(lambda _: True))
    if line_wise:
        automaton.join(start, first, _Test(lambda character: character == "\n"))
        start = automaton.state()
    automaton.join(start, first)
    end = _build(automaton, parsed, first, parsed.state.flags)
    steps = _steps(automaton, alphabet)
    loops = [state for state in steps if _loops(steps, state)]
    for p in loops:
        for q in loops:
            if (searched and q == start) or not _reaches(steps, p, q):
                continue
            if searched and p == start and end in _closure(automaton, q, guards=False):
                continue  # what has come so far has matched, and the search goes on behind it
            word = _two_ways(steps, p) if p == q else _word(steps, p, q)
            if word is not None:
                return word
    return None


def _is_anchored(parsed: Any) -> bool:
    return bool(len(parsed)) and parsed[0] == (sre.AT, sre.AT_BEGINNING)


@dataclass(frozen=True, slots=True)
class _Test:
    accepts: Any


def _build(automaton: _Automaton, items: Any, state: int, flags: int) -> int:
    """Add what reads the items from a state on; returns where it ends."""
    for kind, value in items:
        if kind in (sre.LITERAL, sre.NOT_LITERAL, sre.IN, sre.ANY):
            target = automaton.state()
            automaton.join(state, target, _Test(_single(kind, value, flags)))
            state = target
        elif kind is sre.SUBPATTERN:
            _, added, removed, inner = value
            state = _build(automaton, inner, state, (flags | added) & ~removed)
        elif kind is sre.ATOMIC_GROUP:
            state = _build(automaton, value, state, flags)
        elif kind is sre.BRANCH:
            end = automaton.state()
            for branch in value[1]:
                automaton.join(_build(automaton, branch, state, flags), end)
            state = end
        elif kind in (sre.MAX_REPEAT, sre.MIN_REPEAT, sre.POSSESSIVE_REPEAT):
            state = _repeat(automaton, value, state, flags)
        elif kind is sre.GROUPREF:
            target = automaton.state()  # what it repeats is not known: anything, once
            automaton.join(state, target, _Test(lambda _: True))
            automaton.join(state, target)
            state = target
        elif kind in (sre.AT, sre.ASSERT, sre.ASSERT_NOT):
            target = automaton.state()
            automaton.join(state, target, GUARD)
            state = target
        else:
            raise NotImplementedError(kind)
    return state


def _repeat(automaton: _Automaton, value: Any, state: int, flags: int) -> int:
    least, most, inner = value
    for _ in range(min(least, _COPIES)):
        state = _build(automaton, inner, state, flags)
    if most is sre.MAXREPEAT:
        begin = automaton.state()
        automaton.join(state, begin)
        automaton.join(_build(automaton, inner, begin, flags), begin)
        end = automaton.state()
        automaton.join(begin, end)
        return end
    for _ in range(min(most - least, _COPIES)):
        end = _build(automaton, inner, state, flags)
        automaton.join(state, end)
        state = end
    return state


def _single(kind: Any, value: Any, flags: int) -> Any:
    """What one character has to be, asked of the engine itself."""
    fold = bool(flags & re.IGNORECASE)
    plain = flags & (re.ASCII | re.UNICODE)
    classes = {
        sre.CATEGORY_DIGIT: r"\d",
        sre.CATEGORY_NOT_DIGIT: r"\D",
        sre.CATEGORY_SPACE: r"\s",
        sre.CATEGORY_NOT_SPACE: r"\S",
        sre.CATEGORY_WORD: r"\w",
        sre.CATEGORY_NOT_WORD: r"\W",
    }

    def holds(item: tuple[Any, Any], character: str) -> bool:
        name, wanted = item
        if name is sre.LITERAL:
            return ord(character) == wanted
        if name is sre.RANGE:
            return bool(wanted[0] <= ord(character) <= wanted[1])
        if name is sre.CATEGORY:
            return re.match(classes[wanted], character, plain & re.ASCII) is not None
        return False

    def accepts(character: str) -> bool:
        kinds = {character, character.lower(), character.upper()} if fold else {character}
        kinds = {one for one in kinds if len(one) == 1}
        if kind is sre.ANY:
            return bool(flags & re.DOTALL) or character != "\n"
        if kind is sre.LITERAL:
            return any(ord(one) == value for one in kinds)
        if kind is sre.NOT_LITERAL:
            return all(ord(one) != value for one in kinds)
        negated = value[0][0] is sre.NEGATE
        return negated != any(holds(item, one) for item in value for one in kinds)

    return cache(accepts)


def _alphabet(text: str) -> list[str]:
    """Characters that the pattern may tell apart, and some of each common kind."""
    near = {
        chr(point)
        for found in text
        for point in (ord(found) - 1, ord(found), ord(found) + 1)
        if point > 0
    }
    return sorted(near | set("aZ09_ \t\n-.'\"\\é٣\u2028!"))


def _closure(automaton: _Automaton, state: int, *, guards: bool = True) -> set[int]:
    seen, pending = {state}, [state]
    while pending:
        for test, target in automaton.edges[pending.pop()]:
            free = test is None or (guards and test is GUARD)
            if free and target not in seen:
                seen.add(target)
                pending.append(target)
    return seen


_Steps = dict[int, dict[str, frozenset[int]]]


def _steps(automaton: _Automaton, alphabet: list[str]) -> _Steps:
    """From each state that reads, by each character, the states that read next.

    Characters that no test tells apart are one.
    """
    reading = [
        s
        for s, edges in enumerate(automaton.edges)
        if any(isinstance(test, _Test) for test, _ in edges)
    ]
    tests = [test for edges in automaton.edges for test, _ in edges if isinstance(test, _Test)]
    kinds: dict[tuple[bool, ...], str] = {}
    for character in alphabet:
        kinds.setdefault(tuple(test.accepts(character) for test in tests), character)
    after = {
        s: frozenset(_closure(automaton, s)) & set(reading) for s in range(len(automaton.edges))
    }
    return {
        s: {
            c: frozenset(
                t
                for test, e in automaton.edges[s]
                if isinstance(test, _Test) and test.accepts(c)
                for t in after[e]
            )
            for c in kinds.values()
        }
        for s in reading
    }


def _reaches(steps: _Steps, source: int, target: int) -> bool:
    seen, pending = {source}, [source]
    while pending:
        for found in steps[pending.pop()].values():
            if target in found:
                return True
            pending += found - seen
            seen |= found
    return False


def _loops(steps: _Steps, state: int) -> bool:
    return _reaches(steps, state, state)


def hostile_words(text: str, flags: int) -> list[tuple[str, str]]:
    """For each loop of a pattern what leads to it, and a word that leads around it."""
    automaton = _Automaton()
    first = automaton.state()
    parsed = sre_parser.parse(text, flags)
    _build(automaton, parsed, first, parsed.state.flags)
    steps = _steps(automaton, _alphabet(text))
    begins = {s: "" for s in steps if s in _closure(automaton, first)}
    pending = deque(begins)
    while pending:
        at = pending.popleft()
        for c, found in steps[at].items():
            for target in found - begins.keys():
                begins[target] = begins[at] + c
                pending.append(target)
    around = ((p, _path(steps, (p, p, p), partial(operator.eq, (p, p, p)))) for p in steps)
    return [(begins[p], word) for p, word in around if word is not None and p in begins]


def _word(steps: _Steps, p: int, q: int) -> str | None:
    """A word that leads p to p, p to q and q to q."""
    return _path(steps, (p, p, q), lambda at: at == (p, q, q))


def _two_ways(steps: _Steps, p: int) -> str | None:
    """A word that leads p to p by two ways that differ in between."""
    seen, pending = {(p, p, False)}, deque([((p, p, False), "")])
    while pending:
        (a, b, apart), word = pending.popleft()
        for c in steps[a]:
            for x in steps[a][c]:
                for y in steps[b][c]:
                    at = (x, y, apart or x != y)
                    if at == (p, p, True):
                        return word + c
                    if at not in seen:
                        seen.add(at)
                        pending.append((at, word + c))
    return None


def _path(steps: _Steps, start: tuple[int, ...], ends: Any) -> str | None:
    seen, pending = {start}, deque([(start, "")])
    while pending:
        at, word = pending.popleft()
        for c in steps[at[0]]:
            for x in steps[at[0]][c]:
                for y in steps[at[1]][c]:
                    for z in steps[at[2]][c]:
                        new = (x, y, z)
                        if ends(new):
                            return word + c
                        if new not in seen:
                            seen.add(new)
                            pending.append((new, word + c))
    return None
