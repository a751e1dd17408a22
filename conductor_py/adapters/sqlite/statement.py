"""From a search request to SQL: parameters for every value, names only from the catalogue."""
# ruff: noqa: S608 - every name is of the catalogue, every value a parameter

from __future__ import annotations

import hashlib
from typing import TypeAlias, assert_never

from conductor_py.adapters.sqlite.schema import Table, first_row, last_row
from conductor_py.codec.search_document import LIST_FIELDS
from conductor_py.model.search import (
    And,
    Between,
    Matches,
    Missing,
    Not,
    OneOf,
    Or,
    Query,
    SearchRequest,
    SortKey,
    Words,
)
from conductor_py.records import dataclass

Parameters: TypeAlias = tuple[str | int, ...]

_GLOB = str.maketrans({"*": "[*]", "?": "[?]", "[": "[[]"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Statement:
    """SQL and its parameters."""

    sql: str
    parameters: Parameters = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """The two statements of a search: how many there are, and the row numbers of one page."""

    count: Statement
    page: Statement


def select(table: Table, request: SearchRequest) -> Selection:
    """Write a search down.

    Words that must hold anyway drive the search, together with the tags of other conditions that
    must hold; all else filters narrow rows, which are not read where nothing is left to filter.
    """
    terms = _required(request.query) if request.query else ()
    words = tuple(term for term in terms if isinstance(term, Words))
    tagged = tuple(t for t in terms if isinstance(t, OneOf) and words and t.field in table.tags)
    rest = tuple(term for term in terms if term not in words and term not in tagged)
    conditions = [_condition(table, term) for term in rest]
    source, row = f"{table.name} e", "e.row"
    counted = source
    if words:
        source, row = f"{table.name}_words w", "w.rowid"
        joined = f"{source} CROSS JOIN {table.name} e ON e.row = w.rowid"
        counted = joined if rest else source
        source = joined if rest or _sorts_by_more_than_time(table, request.sort) else source
        match = _match(table, words, tagged)
        conditions.insert(0, Statement(sql=f"{table.name}_words MATCH ?", parameters=(match,)))
    where = " AND ".join(f"({condition.sql})" for condition in conditions) or "1"
    parameters = tuple(p for condition in conditions for p in condition.parameters)
    order = _order(table, request.sort, row)
    count = Statement(sql=f"SELECT count(*) FROM {counted} WHERE {where}", parameters=parameters)
    if not conditions:
        count = Statement(sql="SELECT number FROM counted WHERE name = ?", parameters=(table.name,))
    return Selection(
        count=count,
        page=Statement(
            sql=f"SELECT {row} FROM {source} WHERE {where} ORDER BY {order} LIMIT ? OFFSET ?",
            parameters=(*parameters, request.size, request.start),
        ),
    )


def tag(field: str, value: str) -> str:
    """Make the one word that stands for a field's value in the word index."""
    return hashlib.blake2b(f"{field}={value}".encode(), digest_size=8).hexdigest()


def _required(query: Query) -> tuple[Query, ...]:
    if isinstance(query, And):
        return tuple(inner for term in query.terms for inner in _required(term))
    return (query,)


def _sorts_by_more_than_time(table: Table, sort: tuple[SortKey, ...]) -> bool:
    return bool(sort) and (len(sort) > 1 or sort[0].field != table.time)


def _match(table: Table, words: tuple[Words, ...], tagged: tuple[OneOf, ...]) -> str:
    parts = [_phrase(table, term) for term in words]
    for term in tagged:
        tags = " OR ".join(f'"{tag(term.field, str(value))}"' for value in term.values)
        parts.append(f"tags : ({tags})")
    return " AND ".join(f"({part})" for part in parts)


def _phrase(table: Table, term: Words) -> str:
    if not term.words:
        return 'tags : "nothing"'
    columns = term.field or f"{{keywords {' '.join(table.texts)}}}"
    phrases = " AND ".join(f'"{word.text}"{"*" if word.prefix else ""}' for word in term.words)
    return f"{columns} : ({phrases})"


def _order(table: Table, sort: tuple[SortKey, ...], row: str) -> str:
    keys: list[str] = []
    for at, key in enumerate(sort, start=1):
        direction = "DESC" if key.descending else "ASC"
        if key.field == table.time and at == len(sort):
            # Row numbers follow the time, and differ where times are the same.
            return ", ".join([*keys, f"{row} {direction}"])
        keys.append(f"e.{key.field} {direction} NULLS LAST")
    return ", ".join([*keys, f"{row} DESC"])


def _condition(table: Table, query: Query) -> Statement:
    match query:
        case And(terms=terms):
            return _joined(table, " AND ", terms)
        case Or(terms=terms):
            return _joined(table, " OR ", terms)
        case Not(term=term):
            inner = _condition(table, term)
            # A comparison with an absent value is unknown in SQL, and false here.
            return Statement(sql=f"({inner.sql}) IS NOT TRUE", parameters=inner.parameters)
        case Words():
            match = _match(table, (query,), ())
            name = f"{table.name}_words"
            return Statement(
                sql=f"e.row IN (SELECT rowid FROM {name} WHERE {name} MATCH ?)",
                parameters=(match,),
            )
        case Missing(field=name):
            return Statement(sql=f"e.{name} IS NULL")
        case Between(field=name, least=least, most=most):
            ends = ((">=", least), ("<=", most))
            given = [(f"e.{name} {op} ?", end) for op, end in ends if end is not None]
            if name == table.time:
                # Row numbers follow the time: the file is read from one end to the other.
                rows = (("e.row >= ?", first_row(least)), ("e.row <= ?", last_row(most)))
                given += [rows[at] for at, (_, end) in enumerate(ends) if end is not None]
            return Statement(
                sql=" AND ".join(sql for sql, _ in given), parameters=tuple(e for _, e in given)
            )
        case OneOf(field=name, values=values):
            marks = ", ".join("?" * len(values))
            return _valued(name, f"IN ({marks})", values)
        case Matches(field=name, parts=parts):
            pattern = "*".join(part.translate(_GLOB) for part in parts)
            return _valued(name, "GLOB ?", (pattern,))
        case _:
            assert_never(query)


def _valued(field: str, comparison: str, parameters: Parameters) -> Statement:
    if field in LIST_FIELDS:
        sql = f"EXISTS (SELECT 1 FROM json_each(e.{field}) WHERE value {comparison})"
    else:
        sql = f"e.{field} {comparison}"
    return Statement(sql=sql, parameters=parameters)


def _joined(table: Table, operator: str, terms: tuple[Query, ...]) -> Statement:
    inner = [_condition(table, term) for term in terms]
    return Statement(
        sql=operator.join(f"({statement.sql})" for statement in inner),
        parameters=tuple(p for statement in inner for p in statement.parameters),
    )
