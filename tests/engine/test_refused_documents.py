"""A document that the index will never take costs its own execution, and no other."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace

import pytest

from conductor_py.adapters.elasticsearch.client import ElasticsearchSettings
from conductor_py.adapters.elasticsearch.search import ElasticsearchSearch, _parts
from conductor_py.model.search import ExecutionDocument, SearchRequest
from conductor_py.testing import memory_engine
from tests.builders import typed, workflow
from tests.services.fixed_answers import answering, response

_TOO_LARGE = response(b"{}", status="413 Too Large")
_WRONG = response(
    b'{"errors": true, "items": [{"index": {"_id": "x", "status": 400,'
    b' "error": {"type": "mapper_parsing_exception"}}}]}'
)


@pytest.mark.parametrize("answer", [_TOO_LARGE, _WRONG], ids=["too large", "wrong"])
def test_a_document_that_the_search_server_refuses_keeps_no_other_out_of_index_and_archive(
    answer: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("conductor_py.adapters.elasticsearch.client._RETRIES", 0)
    engine = memory_engine()
    started = [engine.start(workflow("w", typed("NOOP", "n"))) for _ in range(5)]
    refused, put = started[2], engine.ports.search.put
    with answering(answer) as url:
        server = ElasticsearchSearch(ElasticsearchSettings(urls=(url,), manage=False))

        def putting(documents: Sequence[ExecutionDocument]) -> None:
            if any(one.execution_id == refused for one in documents):
                server.put([one for one in documents if one.execution_id == refused])
            put(documents)

        monkeypatch.setattr(engine.ports.search, "put", putting)
        outbox = engine.ports.outbox
        ids = [effect.id for effect in outbox.take(0, 500, 30_000)]
        engine.engine.effects.run(0, ids)

    found = engine.ports.search.search(SearchRequest()).results
    assert {one.execution_id for one in found} == set(started) - {refused}
    assert {effect.id.split(":")[0] for effect in outbox.read(0, ids)} == {refused}
    # It is not packed and sent again each half minute.
    engine.clock.advance(seconds=540)
    assert not {effect.id for effect in outbox.take(0, 500, 30_000)} & set(ids)
    engine.clock.advance(seconds=61)
    assert {effect.id for effect in outbox.take(0, 500, 30_000)} & set(ids)


def test_an_archive_that_is_larger_than_a_request_may_be_goes_without_what_it_is_restored_from(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("conductor_py.adapters.elasticsearch.search._MOST_BYTES", 400_000)
    engine = memory_engine()
    engine.start(workflow("w", typed("NOOP", "n")))
    sent: list[ExecutionDocument] = []
    monkeypatch.setattr(engine.ports.search, "put", sent.extend)
    engine.engine.effects.run(0, [one.id for one in engine.ports.outbox.take(0, 500, 30_000)])
    noise = random.Random(1).randbytes(200_000)

    (archive,) = [
        write
        for write in _parts(replace(sent[-1], tasks=(), archive=noise, kept=noise))
        if write.body is not None
    ]
    assert archive.size <= 400_000
    assert archive.body is not None
    assert "kept" not in archive.body
