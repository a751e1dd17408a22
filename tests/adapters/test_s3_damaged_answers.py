"""What a bucket answers may be damaged: nothing that waits for it ends for that."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from conductor_py.adapters.s3.contents import S3Contents
from conductor_py.adapters.s3.payloads import S3Payloads, S3Settings
from conductor_py.engine.payloads.reading import PayloadReader
from conductor_py.errors import StoreUnavailable
from conductor_py.ports.payloads import PayloadKind, mint_path
from tests.services.fixed_answers import answering, response

_PATH = mint_path(PayloadKind.TASK_OUTPUT)
_HEAD = b'HTTP/1.1 200 OK\r\nETag: "tag"\r\n'
_DAMAGED = {
    "cut off": _HEAD + b"Content-Length: 200\r\n\r\n{}",
    "cut number": _HEAD + b"Content-Length: 6\r\n\r\n12",
    "no length": _HEAD + b"\r\n",
    "no number": _HEAD + b"Content-Length: many\r\n\r\n",
    "below nothing": _HEAD + b"Content-Length: -7\r\n\r\n{}",
    "chunks that are none": _HEAD + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n",
    "no time": _HEAD + b"Last-Modified: yesterday\r\nContent-Length: 2\r\n\r\n{}",
    "page of a proxy": response(b"<html>all is well</html>", kind="text/html"),
    "no answer of HTTP": b"hello\r\n\r\n",
    "head without end": _HEAD + b"x: " + b"y" * 70_000 + b"\r\nContent-Length: 2\r\n\r\n{}",
    "refusal that is no XML": response(b"<<", status="500 No"),
}


@pytest.fixture(autouse=True)
def _asked_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("conductor_py.adapters.s3.payloads._ATTEMPTS", 1)


def _settings(url: str) -> S3Settings:
    return S3Settings(bucket="b", endpoint=url, access_key="key", secret_key="hidden")


@pytest.mark.parametrize("damage", _DAMAGED)
def test_an_answer_that_is_cut_off_or_damaged_is_no_document_and_ends_no_execution(
    damage: str,
) -> None:
    with answering(_DAMAGED[damage]) as url, pytest.raises(StoreUnavailable):
        PayloadReader(S3Payloads(_settings(url))).value(_PATH)


@pytest.mark.parametrize("damage", sorted(set(_DAMAGED) - {"cut off", "cut number"}))
def test_a_damaged_answer_about_what_was_sent_does_not_refuse_it(damage: str) -> None:
    with answering(_DAMAGED[damage]) as url, pytest.raises(StoreUnavailable):
        S3Payloads(_settings(url)).accept(_PATH, 1_000, "The output")


def test_a_proxy_that_says_all_is_well_has_stored_nothing() -> None:
    with answering(_DAMAGED["page of a proxy"]) as url, pytest.raises(StoreUnavailable):
        S3Payloads(_settings(url)).put(PayloadKind.TASK_OUTPUT, b"{}")


@pytest.mark.parametrize(
    "ask",
    [
        lambda files: files.take("f"),
        lambda files: files.begin_parts("f"),
        lambda files: files.join_parts("f", "u", ("tag",)),
    ],
    ids=["take", "begin parts", "join parts"],
)
def test_a_damaged_answer_about_a_file_is_not_taken_for_one(
    ask: Callable[[S3Contents], object],
) -> None:
    for damage in ("no length", "page of a proxy", "no time"):
        with answering(_DAMAGED[damage]) as url, pytest.raises(StoreUnavailable):
            ask(S3Contents(_settings(url), now_ms=lambda: 0))


@pytest.mark.parametrize(
    "code", ["x" * 100_000, "key hidden", "", "a\nb"], ids=["long", "secret", "none", "lines"]
)
def test_what_a_store_says_for_a_code_is_not_said_on(code: str) -> None:
    body = f"<Error><Code>{code}</Code></Error>".encode()
    refusal = response(body, status="400 No", kind="application/xml")
    with answering(refusal) as url, pytest.raises(StoreUnavailable) as refused:
        S3Payloads(_settings(url)).put(PayloadKind.TASK_OUTPUT, b"{}")
    assert len(str(refused.value)) < 200
    assert "hidden" not in str(refused.value)
