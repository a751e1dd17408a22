"""The syntax of JSONPath as Conductor's users write it (Jayway's dialect): text to immutable steps.

Dot and bracket notation, quoted keys, ``[n]``, ``[-1]``, ``[a:b:c]``, ``[*]``, ``.*``, ``..``,
unions, filters and functions. A text without ``$`` starts at the document, as inside ``${...}``.
Parsing never throws: what cannot be read comes back as the sentence that says why. Nesting and
length are bounded.
"""

from __future__ import annotations

import re
from typing import Final

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
    Not,
    Operand,
    Path,
    Slice,
    Step,
    Wildcard,
    is_definite,
)
from conductor_py.decider.expressions.linear_regex import Regex, compile_regex
from conductor_py.model.json import JsonValue
from conductor_py.model.json_text import whole

MAX_PATH: Final = 4_096
_MAX_DEPTH: Final = 16

FUNCTIONS: Final = frozenset(
    {"length", "size", "min", "max", "avg", "stddev", "sum", "concat", "append", "keys", "first"}
    | {"last", "index"}
)

_WORD_OPERATORS: Final = frozenset(
    {"in", "nin", "contains", "size", "empty", "all", "anyof", "noneof", "subsetof"}
)
_OPERATOR: Final = re.compile(r"===|!==|==|!=|<=|>=|<|>|=~|[a-zA-Z]+(?![a-zA-Z0-9_.])")
_NUMBER: Final = re.compile(r"-?[0-9]{1,18}(?![0-9])(\.[0-9]{1,32})?([eE][+-]?[0-9]{1,3})?")
_INTEGER: Final = re.compile(r"\s*(-?[0-9]{1,18})\s*")
_SLICE: Final = re.compile(
    r"\s*(?:(-?[0-9]{1,18})\s*)?:\s*(?:(-?[0-9]{1,18})\s*)?(?::\s*(?:(-?[0-9]{1,18})\s*)?)?"
)
_LAST: Final = re.compile(r"\s*\(\s*@\.(?:length|size)(?:\(\))?\s*-\s*([0-9]{1,18})\s*\)\s*")
_NAME: Final = re.compile(r"[^\s.\[(*]+")
_NAME_IN_FILTER: Final = re.compile(r"[^\s.\[(*\])=<>!~&|,]+")
_QUOTED: Final = re.compile(r"""'((?:[^'\\]|\\.)*)'|"((?:[^"\\]|\\.)*)\"""", re.DOTALL)
_ESCAPE: Final = re.compile(r"\\(?:u([0-9a-fA-F]{4})|(.))", re.DOTALL)
_CONTROL: Final = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f"}
_REGEX: Final = re.compile(r"/((?:[^/\\]|\\.)*)/([a-zA-Z]*)", re.DOTALL)
_WORDS: Final[dict[str, JsonValue]] = {"true": True, "false": False, "null": None}


class _Malformed(ValueError):
    """The path cannot be read."""


def parse_path(text: str) -> Path | str:
    """Parse a path, or return the sentence that says what is wrong with it."""
    if len(text) > MAX_PATH:
        return f"The path is longer than {MAX_PATH} characters."
    try:
        return _Parser(text.strip()).whole()
    except _Malformed as reason:
        return f"The path '{text}' cannot be read: {reason}."


class _Parser:
    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0
        self.depth = 0

    def whole(self) -> Path:
        """Parse the whole text as a path from the root of the document."""
        steps: list[Step] = []
        if self._peek() == ".":
            # A Java engine puts "$." before the text, so that this becomes "..".
            self.text = f"$.{self.text}"
        if self._take("$"):
            if self.at < len(self.text) and self._peek() not in ".[":
                raise _Malformed("after '$' comes '.' or '['")
        elif self._peek() not in ".[":
            self._dotted(steps, _NAME)
        self._steps(steps, _NAME)
        if self.at < len(self.text):
            raise self._unexpected()
        return _path(steps, from_root=True)

    # ------------------------------------------------------------------------------------ reading

    def _peek(self) -> str:
        return self.text[self.at : self.at + 1]

    def _take(self, token: str) -> bool:
        if self.text.startswith(token, self.at):
            self.at += len(token)
            return True
        return False

    def _need(self, token: str) -> None:
        self._blanks()
        if not self._take(token):
            raise self._unexpected(f"'{token}'")

    def _blanks(self) -> None:
        while self._peek().isspace():
            self.at += 1

    def _match(self, pattern: re.Pattern[str]) -> re.Match[str] | None:
        found = pattern.match(self.text, self.at)
        if found is not None:
            self.at = found.end()
        return found

    def _unexpected(self, expected: str = "") -> _Malformed:
        wanted = f", {expected} expected" if expected else ""
        if self.at >= len(self.text):
            return _Malformed(f"it ends too early{wanted}")
        hint = "; a key with blanks is written ['my key']" if self._peek() == " " else ""
        return _Malformed(f"unexpected '{self._peek()}' at position {self.at}{wanted}{hint}")

    def _deeper(self) -> None:
        self.depth += 1
        if self.depth > _MAX_DEPTH:
            raise _Malformed(f"it is nested more than {_MAX_DEPTH} deep")

    # -------------------------------------------------------------------------------------- steps

    def _steps(self, steps: list[Step], name: re.Pattern[str]) -> None:
        while (char := self._peek()) and char in ".[":
            if char == "[":
                self._bracket(steps)
                continue
            self.at += 1
            if self._take("."):
                steps.append(Descend())
                self._take(".")
            if self._peek() != "[":
                self._dotted(steps, name)

    def _dotted(self, steps: list[Step], name: re.Pattern[str]) -> None:
        if self._take("*"):
            steps.append(Wildcard())
            return
        found = self._match(name)
        if found is None:
            raise self._unexpected("a name")
        steps.append(self._call(found[0]) if self._take("(") else found[0])

    def _bracket(self, steps: list[Step]) -> None:
        self.at += 1
        self._blanks()
        char = self._peek()
        if char and char in "'\"":
            steps.append(self._keys())
        elif char == "?":
            self.at += 1
            descended = bool(steps) and isinstance(steps[-1], Descend)
            self._deeper()
            steps.append(Filter(self._any_of(), descended))
            self.depth -= 1
        elif self._take("*"):
            steps.append(Wildcard())
        elif last := self._match(_LAST):
            steps.append(-int(last[1]) if int(last[1]) else Indexes(()))
        else:
            steps.append(self._elements())
        self._need("]")

    def _keys(self) -> str | Keys:
        names = [self._string()]
        while self._comma():
            names.append(self._string())
        return names[0] if len(names) == 1 else Keys(tuple(names))

    def _comma(self) -> bool:
        self._blanks()
        taken = self._take(",")
        self._blanks()
        return taken

    def _elements(self) -> int | Slice | Indexes:
        if found := self._match(_SLICE):
            begin, end, step = (int(part) if part else None for part in found.groups())
            if step == 0:
                raise _Malformed("the step of a slice cannot be 0")
            return Slice(slice(begin, end, step))
        numbers = []
        while number := self._match(_INTEGER):
            numbers.append(int(number[1]))
            if not self._comma():
                return numbers[0] if len(numbers) == 1 else Indexes(tuple(numbers))
        raise self._unexpected("a number, a quoted key, '*' or '?'")

    def _string(self) -> str:
        found = self._match(_QUOTED)
        if found is None:
            raise self._unexpected("a quoted key")
        inner = found[1] if found[1] is not None else found[2]
        try:
            return whole(_ESCAPE.sub(_unescaped, inner) if "\\" in inner else inner)
        except ValueError:
            raise _Malformed("a text holds half of a surrogate pair") from None

    def _call(self, name: str) -> Call:
        if name not in FUNCTIONS:
            raise _Malformed(f"there is no function '{name}'")
        self._deeper()
        arguments: list[Operand] = []
        self._blanks()
        if self._peek() != ")":
            arguments.append(self._operand())
            while self._comma():
                arguments.append(self._operand())
        self._need(")")
        self.depth -= 1
        return Call(name, tuple(arguments))

    # ------------------------------------------------------------------------------------ filters

    def _any_of(self) -> Condition:
        conditions = [self._all_of()]
        while self._operator_follows("||"):
            conditions.append(self._all_of())
        return conditions[0] if len(conditions) == 1 else Logic(False, tuple(conditions))

    def _all_of(self) -> Condition:
        conditions = [self._condition()]
        while self._operator_follows("&&"):
            conditions.append(self._condition())
        return conditions[0] if len(conditions) == 1 else Logic(True, tuple(conditions))

    def _operator_follows(self, token: str) -> bool:
        self._blanks()
        return self._take(token)

    def _condition(self) -> Condition:
        self._deeper()
        self._blanks()
        condition: Condition
        if self._take("!"):
            condition = Not(self._condition())
        elif self._take("("):
            condition = self._any_of()
            self._need(")")
        else:
            condition = self._comparison()
        self.depth -= 1
        return condition

    def _comparison(self) -> Condition:
        left = self._operand()
        self._blanks()
        found = self._match(_OPERATOR)
        if found is None:
            return Exists(left)
        operator = found[0].lower()
        if operator[0].isalpha() and operator not in _WORD_OPERATORS:
            raise _Malformed(f"there is no operator '{found[0]}'")
        return Compare(operator, left, self._operand())

    def _operand(self) -> Operand:
        self._blanks()
        char = self._peek()
        if char and char in "@$":
            self.at += 1
            steps: list[Step] = []
            self._steps(steps, _NAME_IN_FILTER)
            return _path(steps, from_root=char == "$")
        if char == "/":
            return self._regex()
        return Literal(self._value())

    def _regex(self) -> Regex:
        found = self._match(_REGEX)
        if found is None:
            raise _Malformed("a regular expression is not closed")
        regex = compile_regex(found[1].replace("\\/", "/"), found[2])
        if isinstance(regex, str):
            raise _Malformed(regex.rstrip("."))
        return regex

    def _value(self) -> JsonValue:
        char = self._peek()
        if char and char in "'\"":
            return self._string()
        if char == "[":
            return self._list()
        if number := self._match(_NUMBER):
            fraction, exponent = number[1], number[2]
            return float(number[0]) if fraction or exponent else int(number[0])
        for word, value in _WORDS.items():
            if self._take(word):
                return value
        raise self._unexpected("a value")

    def _list(self) -> list[JsonValue]:
        self._deeper()
        self.at += 1
        self._blanks()
        values: list[JsonValue] = []
        if self._peek() != "]":
            values.append(self._value())
            while self._comma():
                values.append(self._value())
        self._need("]")
        self.depth -= 1
        return values


def _unescaped(found: re.Match[str]) -> str:
    return chr(int(found[1], 16)) if found[1] else _CONTROL.get(found[2], found[2])


def _path(steps: list[Step], *, from_root: bool) -> Path:
    if steps and isinstance(steps[-1], Descend):
        raise _Malformed("it must not end with '..'")
    if steps and isinstance(steps[-1], Keys):
        descended = len(steps) > 1 and isinstance(steps[-2], Descend)
        steps[-1] = Keys(steps[-1].names, merged=True, complete=descended)
    plain = tuple(step for step in steps if isinstance(step, str | int))
    return Path(
        tuple(steps),
        from_root,
        all(map(is_definite, steps)),
        plain if len(plain) == len(steps) else None,
    )
