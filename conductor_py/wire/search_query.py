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
here; parentheses say the same in both. A ``*`` in the value of =, != and IN stands for anything
(``\*`` is the star itself, ``\\`` a backslash). Keywords are read in either case. Times are epoch
milliseconds or ISO 8601, UTC unless they say otherwise. Long texts (input, output, reason) compare
by their words. ``field = ""`` and ``field IS NULL`` are the same.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

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
from conductor_py.wire.search_terms import (
    MAX_DEPTH,
    MAX_LENGTH,
    Terms,
    Value,
    field_named,
    invalid,
    parts_of,
    unknown_field,
)

MAX_LIST = 1_000
"""Values of one IN."""

_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_.]*")
_OPERATOR = re.compile(r"!=|>=|<=|=|>|<")
_UNQUOTED = re.compile(r"[^\s(),\"']+")
_UNQUOTED_ITEM = re.compile(r"[^(),\"']+")
_OF_ONE_WORD = frozenset({"status", "workflowId", "parentWorkflowId", "taskId"})
"""Fields in whose values a blank is a comma that is missing."""
_QUOTED = re.compile(r"\"((?:[^\"\\]|\\.)*)\"|'((?:[^'\\]|\\.)*)'", re.DOTALL)
_SORT_SEPARATOR = re.compile(r"[|,]")


def parse_query(text: str | None, fields: Mapping[str, FieldKind]) -> Query | None:
    """Read a query over ``fields``; blank text asks for everything (None).

    Raises:
        InvalidInput: with the position (counted from 1) and what would be right.
    """
    if text is None or not text.strip():
        return None
    if len(text) > MAX_LENGTH:
        raise invalid(f"the query is longer than {MAX_LENGTH} characters", parameter="query")
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
        field = field_named(name, fields)
        if field is None:
            raise invalid(unknown_field(name, fields), parameter="sort", value=name)
        if fields[field] is FieldKind.TEXT:
            raise invalid(f"one cannot sort by the text '{name}'", parameter="sort", value=name)
        if order.upper() not in ("", "ASC", "DESC"):
            raise invalid("the order is ASC or DESC", parameter="sort", value=order)
        keys.append(SortKey(field=field, descending=order.upper() == "DESC"))
    return tuple(keys)


class _Parser(Terms):
    """Recursive descent over one query."""

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
        self._count_condition()
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
        return self._known(name, at)

    def _compared(self, field: str, operator: str) -> Query:
        value = self._value()
        if operator in ("=", "!="):
            equal = self._equal(field, value)
            return equal if operator == "=" else Not(term=equal)
        number = self._number(field, value)
        if operator in (">", ">="):
            return Between(field=field, least=number + (operator == ">"))
        return Between(field=field, most=number - (operator == "<"))

    def _prefixed(self, field: str, value: Value) -> Query:
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
        items = [self._item(field)]
        while self._symbol(","):
            if len(items) >= MAX_LIST:
                raise self._error(f"a list has at most {MAX_LIST} values")
            items.append(self._item(field))
        if not self._symbol(")"):
            raise self._error("expected ',' or ')' after a value of the list")
        values = tuple(value for item in items if isinstance(item, OneOf) for value in item.values)
        others = tuple(item for item in items if not isinstance(item, OneOf))
        terms = ((OneOf(field=field, values=values),) if values else ()) + others
        return terms[0] if len(terms) == 1 else Or(terms=terms)

    def _item(self, field: str) -> Query:
        unquoted = _UNQUOTED if field in _OF_ONE_WORD else _UNQUOTED_ITEM
        item = self._equal(field, self._value(unquoted))
        if isinstance(item, Matches):
            self._count_condition()
        return item

    def _value(self, unquoted: re.Pattern[str] = _UNQUOTED) -> Value:
        at = self._skip_blanks()
        quoted = _QUOTED.match(self._text, at)
        if quoted:
            self._at = quoted.end()
            return Value(at=at, parts=parts_of(quoted[1] if quoted[1] is not None else quoted[2]))
        if self._text[at : at + 1] in ("'", '"') and at < len(self._text):
            raise self._error("the quotation mark is never closed", at=at)
        bare = self._match(unquoted)
        if bare is None or not bare.strip():
            raise self._error("expected a value", at=at)
        return Value(at=at, parts=parts_of(bare.rstrip()))

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
