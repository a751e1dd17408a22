r"""Free text of a search: words, and what Conductor's pages and documentation write in it.

    text := either { OR either }               (``||``)
    either := term { [AND] term }              (``&&``)
    term := ( NOT | ! | - | + ) term | '(' text ')' | field ':' given | word | "several words"
    given := value | "value" | '(' text ')' | [ least TO most ] | { least TO most } | >= value, …

This is the part of Lucene's syntax that the index can answer. Words without a field occur anywhere
in input, output and reason, all of them, in any order. Only the name of a field makes ``:`` mean
anything: in all other text it is punctuation, and text that is no expression (an odd parenthesis)
is its words. With a field nothing is guessed: what cannot be read is ``InvalidInput``. Times may
be ``now`` and ``now-24h``; a day without a time is the whole day.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType

from conductor_py.errors import InvalidInput
from conductor_py.model.search import (
    MAX_QUERY_WORDS,
    And,
    Between,
    FieldKind,
    Missing,
    Not,
    Or,
    Query,
    Word,
    Words,
    anywhere,
    is_everything,
    query_words,
)
from conductor_py.wire.search_terms import (
    MAX_DEPTH,
    MAX_LENGTH,
    Terms,
    Value,
    field_named,
    invalid,
    parts_of,
)

_EXISTS = "_exists_"
_FIELD = re.compile(r"([A-Za-z_][A-Za-z0-9_.]*):")
_JOINED = re.compile(r"(AND|OR)(?=[\s()]|$)|&&|\|\|")
_TO = re.compile(r"TO(?=\s)")
_NOT = re.compile(r"NOT(?=[\s(])|!|[-+](?=\(|\"|[A-Za-z_][A-Za-z0-9_.]*:)")
_QUOTED = re.compile(r"\"((?:[^\"\\]|\\.)*)\"", re.DOTALL)
_WORD = re.compile(r"(?:[^\s()\"\\]|\\.)+", re.DOTALL)
_VALUE = re.compile(r"(?:[^\s()\"\\\[\]{}]|\\.)+", re.DOTALL)
_ESCAPED = "\\*?:\"'()[]{}+-!&|^~/ <>="
_ODD = re.compile(r"(?<!\\)([?~^])")
_COMPARED = re.compile(r">=|<=|>|<")
_NOW = re.compile(r"now(?:([+-][0-9]{1,9})([smhdw]))?")
_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_DAY_MS = 86_400_000
_UNIT_MS: Mapping[str, int] = MappingProxyType(
    {"s": 1_000, "m": 60_000, "h": 3_600_000, "d": _DAY_MS, "w": 7 * _DAY_MS}
)


def parse_free_text(text: str, fields: Mapping[str, FieldKind], *, now_ms: int) -> Query | None:
    """Read a free text over ``fields``; ``None`` when it asks for everything (empty, stars only).

    Raises:
        InvalidInput: for a condition on a field that cannot be read, and for too many words.
    """
    if len(text) > MAX_LENGTH:
        raise invalid(f"the text is longer than {MAX_LENGTH} characters", parameter="freeText")
    if is_everything(text):
        return None
    try:
        return _Reader(text, fields, now_ms).read()
    except InvalidInput:
        if any(name == _EXISTS or field_named(name, fields) for name in _names(text)):
            raise
    return anywhere(text)


def _names(text: str) -> Iterator[str]:
    """What stands before a colon."""
    for word in text.replace("(", " ").split():
        name, colon, _ = word.lstrip("!+-").partition(":")
        if colon:
            yield name


class _Reader(Terms):
    """Recursive descent; ``None`` is what says nothing, such as a comma."""

    parameter = "freeText"
    compared_by = "value, with * for anything, and has no range"

    def __init__(self, text: str, fields: Mapping[str, FieldKind], now_ms: int) -> None:
        super().__init__(text, fields)
        self._now_ms = now_ms

    def read(self) -> Query:
        query = self._either("", 0)
        if self._skip_blanks() < len(self._text):
            raise self._error("expected a word, a condition or the end")
        return query or Words(field=None, words=())

    def _either(self, field: str, depth: int) -> Query | None:
        terms = [self._all(field, depth)]
        while self._joined("OR", "||"):
            terms.append(self._all(field, depth))
        return _together(terms, Or)

    def _all(self, field: str, depth: int) -> Query | None:
        """Terms side by side: all hold; of a field's values in parentheses one does."""
        either: list[Query | None] = []
        terms = [self._term(field, depth)]
        while (joined := self._joined("AND", "&&")) or self._goes_on():
            if field and not joined:
                either.append(_together(terms, And))
                terms = []
            terms.append(self._term(field, depth))
        return _together([*either, _together(_words_together(terms), And)], Or)

    def _goes_on(self) -> bool:
        at = self._skip_blanks()
        return at < len(self._text) and self._text[at] != ")" and not self._ahead("OR", "||")

    def _ahead(self, *words: str) -> bool:
        found = _JOINED.match(self._text, self._skip_blanks())
        return found is not None and found[0] in words

    def _joined(self, *words: str) -> bool:
        if not self._ahead(*words):
            return False
        self._match(_JOINED)
        return True

    def _term(self, field: str, depth: int) -> Query | None:
        sign = self._match(_NOT)
        if sign is not None:
            term = self._term(field, self._deeper(depth))
            return term if sign == "+" or term is None else Not(term=term)
        if self._symbol("("):
            return self._closed(field, depth)
        if field:
            return self._given(field, depth)
        name = _FIELD.match(self._text, self._skip_blanks())
        if name is not None:
            found = field_named(name[1], self._fields)
            if found is not None or name[1] == _EXISTS:
                self._at = name.end()
                return self._given(found, depth) if found else self._exists()
        return self._words()

    def _closed(self, field: str, depth: int) -> Query | None:
        query = self._either(field, self._deeper(depth))
        if not self._symbol(")"):
            raise self._error("expected ')'")
        return query

    def _deeper(self, depth: int) -> int:
        if depth >= MAX_DEPTH:
            raise self._error(f"parentheses and NOT are nested deeper than {MAX_DEPTH}")
        return depth + 1

    def _words(self) -> Query | None:
        quoted = _QUOTED.match(self._text, self._skip_blanks())
        if quoted is not None:
            self._at = quoted.end()
            found = query_words(quoted[1].replace("*", " "))
        else:
            is_word = not self._ahead("AND", "OR", "&&", "||")
            found_word = _WORD.match(self._text, self._skip_blanks()) if is_word else None
            word = self._taken(found_word)
            if word is None:
                raise self._error("expected a word or a condition")
            found = query_words(word)
        self._count_condition()
        return Words(field=None, words=found) if found else None

    def _exists(self) -> Query:
        name = self._taken(_VALUE.match(self._text, self._skip_blanks())) or ""
        field = self._known(name)
        self._count_condition()
        return Not(term=Missing(field=field))

    # -- what a field is -------------------------------------------------------------------------

    def _given(self, field: str, depth: int) -> Query | None:
        self._count_condition()
        at = self._skip_blanks()
        if self._symbol("("):
            return self._closed(field, depth)
        if self._text.startswith(("[", "{"), at):
            return self._range(field)
        quoted = _QUOTED.match(self._text, at)
        if quoted is not None:
            self._at = quoted.end()
            literal = "".join(parts_of(quoted[1].replace("*", "\\*"), _ESCAPED))
            return self._exactly(field, Value(at=at, parts=(literal,)))
        compared = self._match(_COMPARED)
        if compared is not None:
            return self._compared(field, compared)
        value = self._value()
        if self._is_day(field, value):
            return Between(
                field=field, least=self._least(field, value), most=self._most(field, value)
            )
        return self._equal(field, value)

    def _range(self, field: str) -> Query:
        above = self._symbol("{")
        if not above:
            self._symbol("[")
        least = self._value()
        if self._match(_TO) is None:
            raise self._error("expected TO")
        most = self._value()
        below = self._symbol("}")
        if not (below or self._symbol("]")):
            raise self._error("expected ']' or '}'")
        first, last = self._end(field, least, self._least), self._end(field, most, self._most)
        if above and first is not None:
            first = self._most(field, least) + 1
        if below and last is not None:
            last = self._least(field, most) - 1
        if first is None and last is None:
            return Not(term=Missing(field=field))
        return Between(field=field, least=first, most=last)

    def _end(self, field: str, value: Value, read: Callable[[str, Value], int]) -> int | None:
        if value.parts == ("", ""):
            self._number(field, Value(at=value.at, parts=("0",)))  # a text has no range
            return None
        return read(field, value)

    def _compared(self, field: str, operator: str) -> Query:
        value = self._value()
        match operator:
            case ">=":
                return Between(field=field, least=self._least(field, value))
            case ">":
                return Between(field=field, least=self._most(field, value) + 1)
            case "<=":
                return Between(field=field, most=self._most(field, value))
            case _:
                return Between(field=field, most=self._least(field, value) - 1)

    def _is_day(self, field: str, value: Value) -> bool:
        is_time = self._fields[field] is FieldKind.INSTANT
        return is_time and _DAY.fullmatch(value.text) is not None

    def _least(self, field: str, value: Value) -> int:
        return self._number(field, value)

    def _most(self, field: str, value: Value) -> int:
        return self._number(field, value) + (_DAY_MS - 1 if self._is_day(field, value) else 0)

    def _instant(self, field: str, value: Value) -> int:
        now = _NOW.fullmatch(value.text)
        if now is None:
            return super()._instant(field, value)
        return self._now_ms + (int(now[1]) * _UNIT_MS[now[2]] if now[1] else 0)

    def _value(self) -> Value:
        at = self._skip_blanks()
        quoted = _QUOTED.match(self._text, at)
        raw = quoted[1] if quoted is not None else self._taken(_VALUE.match(self._text, at))
        if quoted is not None:
            self._at = quoted.end()
        if not raw:
            raise self._error("expected a value", at=at)
        odd = None if quoted is not None else _ODD.search(raw)
        if odd is not None:
            said = f"'{odd[1]}' is no sign here; '\\{odd[1]}' is that character, '*' is anything"
            raise self._error(said, at=at)
        return Value(at=at, parts=parts_of(raw, _ESCAPED))


def _together(terms: list[Query | None], joined: type[And | Or]) -> Query | None:
    """What says nothing is left out."""
    said = tuple(term for term in terms if term is not None)
    return joined(terms=said) if len(said) > 1 else said[0] if said else None


def _words_together(terms: list[Query | None]) -> list[Query | None]:
    """Words that must all occur are one condition."""
    found: list[Query | None] = []
    words: dict[Word, None] = {}
    for term in terms:
        if isinstance(term, Words) and term.field is None:
            words |= dict.fromkeys(term.words)
        else:
            found.append(term)
    if len(words) > MAX_QUERY_WORDS:
        raise InvalidInput(f"A search has at most {MAX_QUERY_WORDS} words, not {len(words)}.")
    return [Words(field=None, words=tuple(words)), *found] if words else found
