"""Searches: the parameters that all of them share, and pages of whole documents."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from flask import request

from conductor_py.api.documents import Documents
from conductor_py.api.facade import FoundPage
from conductor_py.errors import NotFound
from conductor_py.model.json import JsonObject
from conductor_py.wire.parameters import number, text
from conductor_py.wire.summaries import search_result


def run_search(search: Callable[..., FoundPage], query: str, *, most: int) -> FoundPage:
    """Search with the paging, order and free text of the request; ``most`` bounds a page."""
    return search(
        query=query,
        free_text=text(request.args, "freeText", "*"),
        # Repeated options mean the same as options joined by a pipe.
        sort="|".join(option for option in request.args.getlist("sort") if option),
        start=number(request.args, "start", 0, least=0),
        size=number(request.args, "size", min(100, most), least=0, most=most),
    )


def loaded(page: FoundPage, id_name: str, read: Callable[[str], JsonObject]) -> dict[str, Any]:
    """Replace summaries by the documents they are about."""
    documents, found = Documents(), []
    for summary in page.results:
        try:
            found.append(documents.add(read(str(summary[id_name]))))
        except NotFound:
            # The index may lag behind: what was removed since then is not counted.
            continue
    return search_result(page.total_hits - len(page.results) + len(found), found)
