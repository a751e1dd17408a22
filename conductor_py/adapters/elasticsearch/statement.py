"""From a search request to the server's query language; filters only, so that nothing is scored.

Only forms that mean the same on Elasticsearch 7 to 9 and OpenSearch 2 and 3.
"""

from __future__ import annotations

from typing import Final, assert_never

from conductor_py.adapters.elasticsearch.indices import MAX_PAGE_END, Body, Index
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
    SearchRequest,
    Word,
    Words,
)

_LONGEST: Final = "10s"
"""Of one search in the server, which then answers with what it has found."""
_WILDCARD = str.maketrans({"*": r"\*", "?": r"\?", "\\": r"\\"})


def search_body(index: Index, request: SearchRequest) -> Body:
    """Write a search down; ``InvalidInput`` beyond what the server pages through."""
    if request.start + request.size > MAX_PAGE_END:
        raise InvalidInput(
            violations=(
                Violation(
                    path="$.start",
                    message=f"start + size is at most {MAX_PAGE_END}; narrow the query instead",
                    invalid_value=str(request.start),
                ),
            )
        )
    keys = request.sort or (index.newest_first,)
    return {
        "query": _filter(index, request.query or And(terms=())),
        "sort": [
            *(
                {key.field: {"order": "desc" if key.descending else "asc", "missing": "_last"}}
                for key in keys
            ),
            {index.identity: "asc"},
        ],
        "from": request.start,
        "size": request.size,
        "timeout": _LONGEST,
        "track_total_hits": True,
        "_source": {"excludes": ["words", "texts"]},
    }


def _filter(index: Index, query: Query) -> Body:
    match query:
        case And(terms=terms):
            return {"bool": {"filter": [_filter(index, term) for term in terms]}}
        case Or(terms=terms):
            inner = [_filter(index, term) for term in terms]
            return {"bool": {"should": inner, "minimum_should_match": 1}}
        case Not(term=term):
            return {"bool": {"must_not": [_filter(index, term)]}}
        case Missing(field=name):
            return {"bool": {"must_not": [_present(index, name)]}}
        case OneOf(field=name, values=values):
            return {"terms": {name: list(values)}}
        case Matches(field=name, parts=parts):
            pattern = "*".join(part.translate(_WILDCARD) for part in parts)
            return {"wildcard": {name: {"value": pattern}}}
        case Between(field=name, least=least, most=most):
            ends = (("gte", least), ("lte", most))
            return {"range": {name: {key: end for key, end in ends if end is not None}}}
        case Words(field=name, words=words):
            return _spoken(f"words.{name}" if name else "words_all", words)
        case _:
            assert_never(query)


def _present(index: Index, name: str) -> Body:
    if index.fields[name] is FieldKind.TEXT:
        return {"term": {"texts": name}}
    return {"exists": {"field": name}}


def _spoken(field: str, words: tuple[Word, ...]) -> Body:
    if not words:
        return {"match_none": {}}
    return {
        "bool": {"filter": [{"prefix" if w.prefix else "term": {field: w.text}} for w in words]}
    }
