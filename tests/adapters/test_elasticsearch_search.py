"""What the adapter for Elasticsearch does where no server is needed to see it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, ClassVar

import pytest

from conductor_py.adapters.elasticsearch.client import ElasticsearchSettings
from conductor_py.adapters.elasticsearch.indices import (
    EXECUTIONS,
    MAX_PAGE_END,
    archive_body,
    archive_document,
)
from conductor_py.adapters.elasticsearch.search import ElasticsearchSearch, _batches, _Write
from conductor_py.adapters.elasticsearch.statement import search_body
from conductor_py.adapters.process_local import ProcessLocal
from conductor_py.errors import InvalidInput, StoreUnavailable
from conductor_py.model.search import SearchRequest, TaskPage
from tests.services import free_port


def test_a_server_that_is_away_is_an_unavailable_store():
    search = ElasticsearchSearch(
        ElasticsearchSettings(urls=(f"http://127.0.0.1:{free_port()}",), password="hidden")
    )
    with pytest.raises(StoreUnavailable) as away:
        search.search(SearchRequest())
    assert "hidden" not in str(away.value)


def test_settings_do_not_show_their_secrets():
    shown = repr(ElasticsearchSettings(urls=("http://x",), password="hidden", api_key="hidden"))
    assert "hidden" not in shown


def test_a_page_beyond_the_deepest_is_refused_and_not_cut():
    search_body(EXECUTIONS, SearchRequest(start=MAX_PAGE_END - 10, size=10))
    with pytest.raises(InvalidInput):
        search_body(EXECUTIONS, SearchRequest(start=MAX_PAGE_END - 9, size=10))


def test_a_batch_is_cut_by_number_and_by_size():
    def write(size: int) -> _Write:
        return _Write(index=EXECUTIONS, id="e", version=1, body={}, size=size)

    assert [len(batch) for batch in _batches([write(1)] * 2_500, 1_000)] == [1_000, 1_000, 500]
    assert [len(batch) for batch in _batches([write(5_000_000)] * 3, 1_000)] == [1, 1, 1]
    assert [len(batch) for batch in _batches([write(50_000_000), write(1)], 1_000)] == [1, 1]
    assert list(_batches([], 1_000)) == []


def test_an_archived_document_is_compressed_and_comes_back():
    whole = b'{"tasks": [1, 2, 3]}' * 1_000
    body = archive_body("e1", 17, whole)
    assert len(body["document"]) < len(whole) / 10
    assert archive_document(body) == whole


def test_a_search_that_takes_the_server_too_long_is_refused_and_not_answered_in_part(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    class Client:
        asked: ClassVar[list[str]] = []

        def search(self, *, index: str, body: dict[str, Any]) -> dict[str, Any]:
            self.asked.append(body["timeout"])
            return {"timed_out": True, "hits": {"total": {"value": 1}, "hits": []}}

    search = ElasticsearchSearch(ElasticsearchSettings(urls=("http://x",)))
    monkeypatch.setattr(search, "_connection", ProcessLocal(Client))
    with pytest.raises(InvalidInput, match="narrow it"):
        search.search(SearchRequest())
    assert Client.asked == ["10s"]


def test_a_page_of_what_is_deleted_while_it_is_written_goes_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    search = ElasticsearchSearch(ElasticsearchSettings(urls=("http://x",)))
    absent = iter([frozenset[str](), frozenset({"e"})])
    sent: list[tuple[str, int, bool]] = []

    def bulk(writes: Iterable[_Write]) -> tuple[str, ...]:
        sent.extend((write.id, write.version, write.body is None) for write in writes)
        return ()

    monkeypatch.setattr(search, "_absent", lambda _: next(absent))
    monkeypatch.setattr(search, "_bulk", bulk)
    search.put_page(TaskPage(execution_id="e", version=4, number=2, document=b"[]"))
    assert sent == [("e-4-2", 4, False), ("e-4-2", 4, True)]
