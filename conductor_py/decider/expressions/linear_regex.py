r"""Regular expressions of ``=~`` filters, matched in time linear in the text.

A pattern is written by whoever writes a definition and runs on data that somebody else sends,
inside a decision: a backtracking engine would let ``(a+)+$`` hold an execution's lease for hours.
The set of states is therefore walked in step with the text (Thompson's construction), and every
step is charged to the budget of the path that asked.

Understood: literals, ``.``, ``[...]``, ``\d \w \s`` and their opposites, groups, ``|``, ``* + ?
{m,n}`` (greedy or not makes no difference to a whole match), ``^`` and ``$`` at the ends, a
leading ``(?i)``, flags ``i`` and ``s``. Refused: look-around, back-references, ``\b``, and
patterns of more than ``MAX_PATTERN`` characters or ``MAX_STATES`` states. As in Java's
``matches()``, the whole text must match.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import chain
from typing import Final, TypeAlias

from conductor_py.records import dataclass

MAX_PATTERN: Final = 200
MAX_STATES: Final = 2_000
_MAX_DEPTH: Final = 20

_CLASS: Final = re.compile(r"\[\^?\]?(?:\\.|[^\\\]])*\]", re.DOTALL)
_REPEAT: Final = re.compile(r"\{([0-9]{1,4})(,([0-9]{0,4}))?\}")
_CONTROL: Final = {"n": "\n", "t": "\t", "r": "\r", "f": "\f"}

# What one character must satisfy; None: an empty step, or the end.
_Test: TypeAlias = "re.Pattern[str] | str | None"


class _Refused(ValueError):
    """The pattern is malformed or outside of what is understood."""


@dataclass(frozen=True, slots=True)
class Regex:
    """A compiled pattern: per state its test and the states that may follow."""

    pattern: str
    tests: tuple[_Test, ...]
    after: tuple[tuple[int, ...], ...]
    start: int
    end: int
    fold: bool

    def matches(self, text: str, spend: Callable[[int], None]) -> bool:
        """Tell whether the whole text matches; ``spend`` is charged with every state looked at."""
        states = self._closure((self.start,))
        spend(len(states) + 1)
        # Letter by letter: most texts are left long before their end.
        for char in chain.from_iterable(map(str.lower, text)) if self.fold else text:
            following: set[int] = set()
            for state in states:
                if _passes(self.tests[state], char):
                    following.update(self.after[state])
            if not following:
                return False
            states = self._closure(following)
            spend(len(states) + 1)
        return self.end in states

    def _closure(self, states: tuple[int, ...] | set[int]) -> set[int]:
        seen = set(states)
        pending = list(states)
        while pending:
            state = pending.pop()
            if self.tests[state] is None:
                fresh = [one for one in self.after[state] if one not in seen]
                seen.update(fresh)
                pending.extend(fresh)
        return seen


def compile_regex(pattern: str, flags: str = "") -> Regex | str:
    """Compile a pattern, or return the sentence that says why it is refused."""
    if len(pattern) > MAX_PATTERN:
        return f"The pattern is longer than {MAX_PATTERN} characters."
    try:
        return _Builder(pattern, flags).build()
    except (_Refused, re.error) as reason:
        return f"The pattern /{pattern}/ is not understood: {reason}."


def _passes(test: _Test, char: str) -> bool:
    if isinstance(test, str):
        return test == char
    return test is not None and test.fullmatch(char) is not None


_Part: TypeAlias = tuple[int, int]


class _Builder:
    """Parses a pattern into states by recursive descent."""

    def __init__(self, pattern: str, flags: str) -> None:
        self.pattern = pattern
        self.at = 0
        self.depth = 0
        self.tests: list[_Test] = []
        self.after: list[list[int]] = []
        if pattern.startswith("(?i)"):
            flags += "i"
            self.at = 4
        self.fold = "i" in flags
        self.any = re.compile(".", re.DOTALL if "s" in flags else 0)

    def build(self) -> Regex:
        if self._next() == "^":
            self.at += 1
        start, end = self._alternatives()
        if self.at < len(self.pattern):
            raise _Refused(f"unexpected '{self.pattern[self.at]}' at position {self.at}")
        return Regex(
            self.pattern,
            tuple(self.tests),
            tuple(tuple(states) for states in self.after),
            start,
            end,
            self.fold,
        )

    def _next(self) -> str:
        return self.pattern[self.at : self.at + 1]

    def _state(self, test: _Test = None) -> int:
        if len(self.tests) >= MAX_STATES:
            raise _Refused("it is too large")
        self.tests.append(test)
        self.after.append([])
        return len(self.tests) - 1

    def _single(self, test: _Test) -> _Part:
        start, end = self._state(test), self._state()
        self.after[start].append(end)
        return start, end

    def _alternatives(self) -> _Part:
        start, end = self._state(), self._state()
        while True:
            first, last = self._sequence()
            self.after[start].append(first)
            self.after[last].append(end)
            if self._next() != "|":
                return start, end
            self.at += 1

    def _sequence(self) -> _Part:
        start = end = self._state()
        while self.at < len(self.pattern) and self._next() not in "|)":
            if self._next() == "$" and self.at == len(self.pattern) - 1:
                self.at += 1
                break
            first, last = self._repeated()
            self.after[end].append(first)
            end = last
        return start, end

    def _repeated(self) -> _Part:
        begin = self.at
        part = self._atom()
        finish = self.at
        low, high = self._counts()
        if (low, high) == (1, 1):
            return part
        resume = self.at
        copies = [part]
        for _ in range(max(low, high or 0, 1) - 1):
            self.at = begin
            copies.append(self._atom())
            if self.at != finish:  # pragma: no cover - an atom reads the same text each time
                raise _Refused("it reads differently when repeated")
        self.at = resume
        return self._chain(copies, low, high)

    def _chain(self, copies: list[_Part], low: int, high: int | None) -> _Part:
        start = end = self._state()
        finish = self._state()
        if high == 0:
            copies = []
        for number, (first, last) in enumerate(copies):
            if number >= low:
                self.after[end].append(finish)
            self.after[end].append(first)
            end = last
        if high is None:
            first, last = copies[-1]
            self.after[last].append(first)
        self.after[end].append(finish)
        return start, finish

    def _counts(self) -> tuple[int, int | None]:
        char = self._next()
        low: int
        high: int | None
        if char and char in "*+?":
            self.at += 1
            low, high = {"*": (0, None), "+": (1, None), "?": (0, 1)}[char]
        elif found := _REPEAT.match(self.pattern, self.at):
            self.at = found.end()
            low = int(found[1])
            high = low if found[2] is None else int(found[3]) if found[3] else None
            if high is not None and high < low:
                raise _Refused("a repeat ends before it begins")
        else:
            return 1, 1
        if self._next() == "?":
            self.at += 1
        elif self._next() and self._next() in "*+":
            raise _Refused(f"nothing to repeat at position {self.at}")
        return low, high

    def _atom(self) -> _Part:
        char = self._next()
        if char == "(":
            return self._group()
        if char == "[":
            found = _CLASS.match(self.pattern, self.at)
            if found is None:
                raise _Refused("a '[' is not closed")
            self.at = found.end()
            return self._single(self._class(found[0]))
        if char == "\\":
            return self._escape()
        if char in "*+?{}^$":
            raise _Refused(f"unexpected '{char}' at position {self.at}")
        self.at += 1
        return self._single(self.any if char == "." else self._folded(char))

    def _class(self, text: str) -> _Test:
        if "[" in text[1:] or "&&" in text:
            raise _Refused("nested classes are not supported")
        return re.compile(text, re.ASCII | (re.IGNORECASE if self.fold else 0))

    def _group(self) -> _Part:
        self.at += 1
        if self.pattern.startswith("?:", self.at):
            self.at += 2
        elif self._next() == "?":
            raise _Refused("look-around and named groups are not supported")
        self.depth += 1
        if self.depth > _MAX_DEPTH:
            raise _Refused("it is nested too deeply")
        part = self._alternatives()
        if self._next() != ")":
            raise _Refused("a '(' is not closed")
        self.at += 1
        self.depth -= 1
        return part

    def _escape(self) -> _Part:
        char = self.pattern[self.at + 1 : self.at + 2]
        self.at += 2
        if char and char in "dDwWsS":
            return self._single(re.compile("\\" + char, re.ASCII))
        if char in _CONTROL:
            return self._single(_CONTROL[char])
        if not char or char.isalnum():
            raise _Refused(f"'\\{char}' is not supported")
        return self._single(self._folded(char))

    def _folded(self, char: str) -> str:
        return char.lower()[:1] if self.fold else char
