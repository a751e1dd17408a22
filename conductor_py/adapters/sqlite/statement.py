"""From a search request to SQL: parameters for every value, names only from the catalogue."""
# ruff: noqa: S608 - every name is of the catalogue, every value a parameter

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TypeAlias, assert_never

from conductor_py.adapters.sqlite.schema import Table
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
    free_words,
)

Parameters: TypeAlias = tuple[str | int, ...]

_NOTHING = "0"
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

    Words that must hold anyway drive the search, together with the tags of the other conditions;
    all else filters narrow rows.
    """
    terms = _required(
        And(terms=tuple(t for t in (request.query, free_words(request.free_text)) if t))
    )
    words = tuple(term for term in terms if isinstance(term, Words))
    conditions = [_condition(table, term) for term in terms if not isinstance(term, Words)]
    source, row = f"{table.name} e", "e.row"
    if words:
        source, row = (
            f"{table.name}_words w CROSS JOIN {table.name} e ON e.row = w.rowid",
            "w.rowid",
        )
        match = _match(table, words, terms)
        conditions.insert(0, Statement(sql=f"{table.name}_words MATCH ?", parameters=(match,)))
    where = " AND ".join(f"({condition.sql})" for condition in conditions) or "1"
    parameters = tuple(p for condition in conditions for p in condition.parameters)
    order = _order(table, request.sort, row)
    return Selection(
        count=Statement(sql=f"SELECT count(*) FROM {source} WHERE {where}", parameters=parameters),
        page=Statement(
            sql=f"SELECT {row} FROM {source} WHERE {where} ORDER BY {order} LIMIT ? OFFSET ?",
            parameters=(*parameters, request.size, request.start),
        ),
    )


def tag(field: str, value: str) -> str:
    """Make the one word that stands for a field's value in the word index; it only narrows."""
    return hashlib.blake2b(f"{field}={value}".encode(), digest_size=8).hexdigest()


def _required(query: Query) -> tuple[Query, ...]:
    if isinstance(query, And):
        return tuple(inner for term in query.terms for inner in _required(term))
    return (query,)


def _match(table: Table, words: tuple[Words, ...], terms: tuple[Query, ...]) -> str:
    parts = [_phrase(table, term) for term in words]
    for term in terms:
        if isinstance(term, OneOf) and term.field in table.tags:
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
    for key in sort:
        direction = "DESC" if key.descending else "ASC"
        if key.field == table.time:
            # Row numbers follow the time; nothing after this can still be a tie.
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
            given = [(operator, end) for operator, end in ends if end is not None]
            return Statement(
                sql=" AND ".join(f"e.{name} {operator} ?" for operator, _ in given),
                parameters=tuple(end for _, end in given),
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
