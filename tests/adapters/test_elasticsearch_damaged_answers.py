"""What a search server answers may be damaged: nothing ends, or is said to be gone, for that."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import pytest

from conductor_py.adapters.elasticsearch.client import ElasticsearchSettings
from conductor_py.adapters.elasticsearch.search import ElasticsearchSearch
from conductor_py.errors import StoreDamaged, StoreUnavailable
from conductor_py.model.search import SearchRequest
from tests.services.fixed_answers import answering, response

_DAMAGED: Final = {
    "nothing": response(b"{}"),
    "a list": response(b"[]"),
    "null": response(b"null"),
    "a page": response(b"<html>all is well</html>", kind="text/html"),
    "a page that is not there": response(b"not found", status="404 No", kind="text/html"),
    "no JSON": response(b"{nope"),
    "deep": response(b"[" * 200_000),
    "other members": response(
        b'{"found": true, "_version": "x", "_source": {"document": "AAAA", "kept": "AAAA"},'
        b' "hits": {"total": {"value": "many"}, "hits": [{}]}, "errors": true, "items": [{}]}'
    ),
    "an archive that does not unpack": response(
        b'{"found": true, "_version": 1,'
        b' "_source": {"workflowId": "e", "document": "AAAA", "kept": 1},'
        b' "hits": 7, "errors": false, "items": []}'
    ),
}
_ASKED: Final[dict[str, Callable[[ElasticsearchSearch], object]]] = {
    "search": lambda index: index.search(SearchRequest()),
    "search tasks": lambda index: index.search_tasks(SearchRequest()),
    "archived": lambda index: index.archived("e"),
    "kept": lambda index: index.kept("e"),
    "ended before": lambda index: index.ended_before(1, 10),
    "delete": lambda index: index.delete("e", 1),
}
_SECRET: Final = "dXNlcjpoaWRkZW4="


@pytest.fixture(autouse=True)
def _asked_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("conductor_py.adapters.elasticsearch.client._RETRIES", 0)


def _index(url: str) -> ElasticsearchSearch:
    return ElasticsearchSearch(ElasticsearchSettings(urls=(url,), manage=False))


@pytest.mark.parametrize("damage", _DAMAGED)
@pytest.mark.parametrize("asked", _ASKED)
def test_a_damaged_answer_is_no_answer(asked: str, damage: str) -> None:
    with answering(_DAMAGED[damage]) as url, pytest.raises(StoreUnavailable):
        _ASKED[asked](_index(url))


@pytest.mark.parametrize(
    "refusal",
    [
        response(
            f"<html>Authorization: Basic {_SECRET}".encode(), status="403 No", kind="text/html"
        ),
        response(f'{{"error": "Basic {_SECRET}"}}'.encode(), status="403 No"),
        response(b'{"error": "' + b"x" * 200_000 + b'"}', status="403 No"),
    ],
    ids=["page", "error", "long"],
)
def test_what_a_server_says_of_a_refusal_is_not_said_on(refusal: bytes) -> None:
    with answering(refusal) as url, pytest.raises(StoreUnavailable) as refused:
        _index(url).search(SearchRequest())
    assert _SECRET not in str(refused.value)
    assert len(str(refused.value)) < 200


def test_a_page_that_does_not_unpack_is_damaged() -> None:
    damage = _DAMAGED["an archive that does not unpack"]
    with answering(damage) as url, pytest.raises(StoreDamaged, match="page of e"):
        _index(url).page("e", 1, 0)


def test_a_document_that_is_absent_is_absent() -> None:
    with answering(response(b'{"found": false}', status="404 Not Found")) as url:
        assert _index(url).archived("e") is None
