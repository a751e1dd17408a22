r"""Conductor's query syntax: from ``query=`` and ``sort=`` to the tree of ``model.search``.

    expression := conjunction { OR conjunction }
    conjunction := term { AND term }
    term := '(' expression ')' | condition
    condition := field ( = | != | > | >= | < | <= ) value
               | field [NOT] IN '(' value { ',' value } ')' | field BETWEEN value AND value
               | field IS [NOT] NULL | field STARTS_WITH value
    value := 'quoted' | "quoted" | unquoted, without blanks, commas and parentheses

AND binds tighter than OR, as in SQL. Conductor's parsers have no precedence and read from the
right: ``a=1 AND b=2 OR c=3`` means ``a=1 AND (b=2 OR c=3)`` there and ``(a=1 AND b=2) OR c=3``
here; parentheses say the same in both. A ``*`` in the value of = and != stands for anything
(``\*`` is the star itself, ``\\`` a backslash); in a list it is literal. Keywords are read in
either case. Times are epoch milliseconds or ISO 8601, UTC unless they say otherwise. Long texts
(input, output, reason) compare by their words. ``field = ""`` and ``field IS NULL`` are the same.

Nothing is dropped: an unknown field, a value of the wrong type or a stray character is
``InvalidInput`` with its position, where Conductor's SQL indexes would answer as if the clause
were not there.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from conductor_py.errors import InvalidInput, Violation
from conductor_py.model.search import (
    And,
    Between,
    FieldKind,
    Matches,
    Missing,
    Not,
    OneOf,
    Or,
    Query,
    SortKey,
    Words,
    query_words,
)

MAX_LENGTH = 32_768
"""Characters of a query."""
MAX_DEPTH = 32
"""Parentheses within parentheses."""
MAX_CONDITIONS = 256
MAX_LIST = 1_000
"""Values of one IN."""
MAX_STARS = 8
"""Stars in one value."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_BLANKS = re.compile(r"\s*")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.]*")
_OPERATOR = re.compile(r"!=|>=|<=|=|>|<")
_UNQUOTED = re.compile(r"[^\s(),\"']+")
_UNQUOTED_ITEM = re.compile(r"[^(),\"']+")
_QUOTED = re.compile(r"\"((?:[^\"\\]|\\.)*)\"|'((?:[^'\\]|\\.)*)'", re.DOTALL)
_ESCAPED = re.compile(r"\\(.)", re.DOTALL)
_INTEGER = re.compile(r"[+-]?[0-9]{1,18}")
_SORT_SEPARATOR = re.compile(r"[|,]")


def parse_query(text: str | None, fields: Mapping[str, FieldKind]) -> Query | None:
    """Read a query over ``fields``; blank text asks for everything (None).

    Raises:
        InvalidInput: with the position (counted from 1) and what would be right.
    """
    if text is None or not text.strip():
        return None
    if len(text) > MAX_LENGTH:
        raise _invalid(f"the query is longer than {MAX_LENGTH} characters")
    return _Parser(text, fields).parse()


def parse_sort(text: str | None, fields: Mapping[str, FieldKind]) -> tuple[SortKey, ...]:
    """Read ``field:ASC|field:DESC``; the order may be left out and is ascending then.

    A comma separates like ``|``, because that is what frameworks make of a repeated parameter.

    Raises:
        InvalidInput: for an unknown field, an unknown order, or a field of long text.
    """
    keys = []
    for option in _SORT_SEPARATOR.split(text or ""):
        if not option.strip():
            continue
        name, _, order = (part.strip() for part in option.partition(":"))
        if name not in fields:
            raise _invalid(_unknown_field(name, fields), parameter="sort", value=name)
        if fields[name] is FieldKind.TEXT:
            raise _invalid(f"one cannot sort by the text '{name}'", parameter="sort", value=name)
        if order.upper() not in ("", "ASC", "DESC"):
            raise _invalid("the order is ASC or DESC", parameter="sort", value=order)
        keys.append(SortKey(field=name, descending=order.upper() == "DESC"))
    return tuple(keys)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Value:
    """A value as written: ``parts`` are its unescaped pieces between stars."""

    at: int
    parts: tuple[str, ...]

    @property
    def text(self) -> str:
        return "*".join(self.parts)


class _Parser:
    """Recursive descent over one query; ``_at`` is the index of the next character."""

    def __init__(self, text: str, fields: Mapping[str, FieldKind]) -> None:
        self._text = text
        self._fields = fields
        self._at = 0
        self._conditions = 0

    def parse(self) -> Query:
        query = self._expression(depth=0)
        self._skip_blanks()
        if self._at < len(self._text):
            raise self._error("expected AND, OR or the end of the query")
        return query

    def _expression(self, depth: int) -> Query:
        terms = [self._conjunction(depth)]
        while self._keyword("OR"):
            terms.append(self._conjunction(depth))
        return terms[0] if len(terms) == 1 else Or(terms=tuple(terms))

    def _conjunction(self, depth: int) -> Query:
        terms = [self._term(depth)]
        while self._keyword("AND"):
            terms.append(self._term(depth))
        return terms[0] if len(terms) == 1 else And(terms=tuple(terms))

    def _term(self, depth: int) -> Query:
        if not self._symbol("("):
            return self._condition()
        if depth >= MAX_DEPTH:
            raise self._error(f"parentheses are nested deeper than {MAX_DEPTH}")
        query = self._expression(depth + 1)
        if not self._symbol(")"):
            raise self._error("expected ')'")
        return query

    def _condition(self) -> Query:
        self._conditions += 1
        if self._conditions > MAX_CONDITIONS:
            raise self._error(f"the query has more than {MAX_CONDITIONS} conditions")
        field = self._field()
        operator = self._match(_OPERATOR)
        if operator:
            return self._compared(field, operator)
        if self._keyword("IN"):
            return self._listed(field)
        if self._keyword("NOT"):
            self._expect("IN")
            return Not(term=self._listed(field))
        if self._keyword("BETWEEN"):
            least = self._number(field, self._value())
            self._expect("AND")
            return Between(field=field, least=least, most=self._number(field, self._value()))
        if self._keyword("IS"):
            negated = self._keyword("NOT")
            self._expect("NULL")
            missing = Missing(field=field)
            return Not(term=missing) if negated else missing
        if self._keyword("STARTS_WITH"):
            return self._prefixed(field, self._value())
        raise self._error(
            "expected =, !=, >, >=, <, <=, IN, NOT IN, BETWEEN, IS NULL, IS NOT NULL or STARTS_WITH"
        )

    def _field(self) -> str:
        at = self._skip_blanks()
        name = self._match(_NAME)
        if name is None:
            raise self._error("expected the name of a field or '('")
        if name not in self._fields:
            raise self._error(_unknown_field(name, self._fields), at=at, value=name)
        return name

    def _compared(self, field: str, operator: str) -> Query:
        value = self._value()
        if operator in ("=", "!="):
            equal = self._equal(field, value)
            return equal if operator == "=" else Not(term=equal)
        number = self._number(field, value)
        if operator in (">", ">="):
            return Between(field=field, least=number + (operator == ">"))
        return Between(field=field, most=number - (operator == "<"))

    def _equal(self, field: str, value: _Value) -> Query:
        if value.parts == ("",):
            return Missing(field=field)
        if not any(value.parts):
            return Not(term=Missing(field=field))
        if len(value.parts) == 1 or self._fields[field] is FieldKind.TEXT:
            return self._exactly(field, value)
        if self._fields[field] is not FieldKind.KEYWORD:
            raise self._error(f"'*' does not apply to the number '{field}'", at=value.at)
        if len(value.parts) > MAX_STARS + 1:
            raise self._error(f"a value has at most {MAX_STARS} stars", at=value.at)
        return Matches(field=field, parts=value.parts)

    def _exactly(self, field: str, value: _Value) -> Query:
        if value.text == "":
            return Missing(field=field)
        match self._fields[field]:
            case FieldKind.TEXT:
                return Words(field=field, words=query_words(value.text))
            case FieldKind.KEYWORD:
                return OneOf(field=field, values=(value.text,))
            case _:
                return OneOf(field=field, values=(self._number(field, value),))

    def _prefixed(self, field: str, value: _Value) -> Query:
        match self._fields[field]:
            case FieldKind.TEXT:
                return Words(field=field, words=query_words(value.text + "*"))
            case FieldKind.KEYWORD if value.text:
                return Matches(field=field, parts=(value.text, ""))
            case FieldKind.KEYWORD:
                return Not(term=Missing(field=field))
            case _:
                raise self._error(f"STARTS_WITH does not apply to the number '{field}'")

    def _listed(self, field: str) -> Query:
        if not self._symbol("("):
            raise self._error("expected '(' and a list of values")
        items = [self._exactly(field, self._value(_UNQUOTED_ITEM))]
        while self._symbol(","):
            if len(items) >= MAX_LIST:
                raise self._error(f"a list has at most {MAX_LIST} values")
            items.append(self._exactly(field, self._value(_UNQUOTED_ITEM)))
        if not self._symbol(")"):
            raise self._error("expected ',' or ')' after a value of the list")
        values = tuple(value for item in items if isinstance(item, OneOf) for value in item.values)
        others = tuple(item for item in items if not isinstance(item, OneOf))
        terms = ((OneOf(field=field, values=values),) if values else ()) + others
        return terms[0] if len(terms) == 1 else Or(terms=terms)

    def _number(self, field: str, value: _Value) -> int:
        match self._fields[field]:
            case FieldKind.INTEGER | FieldKind.INSTANT if _INTEGER.fullmatch(value.text):
                return int(value.text)
            case FieldKind.INTEGER:
                raise self._error(f"'{field}' is a whole number", at=value.at, value=value.text)
            case FieldKind.INSTANT:
                return self._instant(field, value)
            case _:
                raise self._error(
                    f"'{field}' is text: it compares by =, !=, IN, STARTS_WITH and IS NULL",
                    at=value.at,
                )

    def _instant(self, field: str, value: _Value) -> int:
        try:
            instant = datetime.fromisoformat(value.text)
        except ValueError:
            raise self._error(
                f"'{field}' is a time: epoch milliseconds or ISO 8601 (2026-01-31T12:00:00Z)",
                at=value.at,
                value=value.text,
            ) from None
        aware = instant if instant.tzinfo else instant.replace(tzinfo=UTC)
        return (aware - _EPOCH) // timedelta(milliseconds=1)

    def _value(self, unquoted: re.Pattern[str] = _UNQUOTED) -> _Value:
        at = self._skip_blanks()
        quoted = _QUOTED.match(self._text, at)
        if quoted:
            self._at = quoted.end()
            return _Value(at=at, parts=_parts(quoted[1] if quoted[1] is not None else quoted[2]))
        if self._text[at : at + 1] in ("'", '"') and at < len(self._text):
            raise self._error("the quotation mark is never closed", at=at)
        bare = self._match(unquoted)
        if bare is None or not bare.strip():
            raise self._error("expected a value", at=at)
        return _Value(at=at, parts=_parts(bare.rstrip()))

    def _keyword(self, word: str) -> bool:
        self._skip_blanks()
        found = _NAME.match(self._text, self._at)
        if found is None or found[0].upper() != word:
            return False
        self._at = found.end()
        return True

    def _expect(self, word: str) -> None:
        if not self._keyword(word):
            raise self._error(f"expected {word}")

    def _symbol(self, symbol: str) -> bool:
        at = self._skip_blanks()
        if not self._text.startswith(symbol, at):
            return False
        self._at += 1
        return True

    def _match(self, pattern: re.Pattern[str]) -> str | None:
        found = pattern.match(self._text, self._skip_blanks())
        if found is None:
            return None
        self._at = found.end()
        return found[0]

    def _skip_blanks(self) -> int:
        blanks = _BLANKS.match(self._text, self._at)
        assert blanks is not None
        self._at = blanks.end()
        return self._at

    def _error(
        self, sentence: str, *, at: int | None = None, value: str | None = None
    ) -> InvalidInput:
        position = self._skip_blanks() if at is None else at
        found = value if value is not None else self._text[position : position + 20]
        where = f"position {position + 1}" if position < len(self._text) else "the end"
        return _invalid(f"At {where}: {sentence}.", value=found or None)


def _parts(raw: str) -> tuple[str, ...]:
    """Split at the stars that no backslash escapes, and unescape the pieces."""
    pieces = [""]
    at = 0
    while at < len(raw):
        if raw[at] == "\\" and at + 1 < len(raw):
            # Only what needs escaping is unescaped: a Windows path keeps its backslashes.
            escaped = raw[at + 1]
            pieces[-1] += escaped if escaped in "\\*'\"" else raw[at : at + 2]
            at += 2
        elif raw[at] == "*":
            pieces.append("")
            at += 1
        else:
            pieces[-1] += raw[at]
            at += 1
    return tuple(pieces)


def _unknown_field(name: str, fields: Mapping[str, FieldKind]) -> str:
    return f"there is no field '{name}'; the fields are {', '.join(fields)}"


def _invalid(sentence: str, *, parameter: str = "query", value: str | None = None) -> InvalidInput:
    return InvalidInput(
        violations=(Violation(path=f"$.{parameter}", message=sentence, invalid_value=value),)
    )
