"""What a caller asks a search for: from the texts of its parameters to a request."""

from __future__ import annotations

from collections.abc import Mapping

from conductor_py.model.search import And, FieldKind, SearchRequest
from conductor_py.wire.free_text import parse_free_text
from conductor_py.wire.search_query import parse_query, parse_sort


def read_search(
    fields: Mapping[str, FieldKind], *, query: str, free_text: str, sort: str, now_ms: int
) -> SearchRequest:
    """Read the parameters that all searches share; query and free text both hold.

    Raises ``InvalidInput`` with the place of what cannot be read.
    """
    asked = (parse_query(query, fields), parse_free_text(free_text, fields, now_ms=now_ms))
    terms = tuple(term for term in asked if term is not None)
    return SearchRequest(
        query=And(terms=terms) if len(terms) > 1 else terms[0] if terms else None,
        sort=parse_sort(sort, fields),
    )
