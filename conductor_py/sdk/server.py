"""The server as a client sees it: a base URL, paths below it, JSON and text answers, and when to
send again.

Only a call that its caller declares repeatable is ever sent twice, and only when the server is
away; every other error is raised at once as its type. Redirections are not followed: a configured
URL is meant literally.
"""

from __future__ import annotations

import random
import threading
from typing import TYPE_CHECKING
from urllib.parse import quote, urlencode

from conductor_py.errors import Overloaded, StoreFull, StoreUnavailable
from conductor_py.sdk.backoff import Backoff
from conductor_py.sdk.document import decode
from conductor_py.sdk.errors import AnswerTooLarge, UnexpectedAnswer, error_from
from conductor_py.sdk.transport import ANSWER_S, MOST_BYTES, Transport

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from conductor_py.model.json import JsonObject
    from conductor_py.sdk.clock import Clock
    from conductor_py.sdk.transport import Answer

    QueryValue = str | int | bool | Sequence[str] | None


class Server:
    """One Conductor server; threads may share it."""

    def __init__(
        self,
        url: str,
        *,
        timeout_s: float,
        headers: Mapping[str, str],
        clock: Clock,
        backoff: Backoff | None = None,
        answer_timeout_s: float = ANSWER_S,
        most_bytes: int = MOST_BYTES,
    ) -> None:
        """Remember where the server is; nothing is sent yet. An answer that has begun ends within
        ``answer_timeout_s``, and has at most ``most_bytes``.
        """
        self.url = url.rstrip("/")
        self.transport = Transport(most_bytes=most_bytes, clock=clock)
        self._timeout_s = timeout_s
        self._answer_s = answer_timeout_s
        self._headers = dict(headers)
        self._clock = clock
        self._backoff = backoff or Backoff()
        self._random = random.Random()  # noqa: S311 - jitter, not a secret
        self._never = threading.Event()

    def call(
        self,
        method: str,
        *path: str,
        query: Mapping[str, QueryValue] | None = None,
        body: bytes | None = None,
        resend: bool,
        timeout_s: float | None = None,
        wait_s: float = 0.0,
        headers: Mapping[str, str] | None = None,
        accept: int = 0,
    ) -> Answer:
        """Send one request and return its 2xx answer, or one of status ``accept``; ``headers`` go
        beside those of all.

        ``timeout_s`` bounds the answer to its end, in place of the client's own times; ``wait_s``
        is how much longer the server was asked to wait before it answers. ``path`` holds unescaped
        segments. With ``resend`` the request is sent again, a few times and with pauses, while the
        server is away. Raises the typed error of the answer, ``StoreUnavailable`` without one,
        ``AnswerTooLarge``.
        """
        url = "/".join((self.url, *(quote(segment, safe="") for segment in path)))
        if query and (text := _query(query)):
            url = f"{url}?{text}"
        asked = f"{method} {self.url}/{'/'.join(path)}"
        timeout = self._timeout_s + wait_s if timeout_s is None else timeout_s
        answer_s = self._answer_s if timeout_s is None else timeout_s
        return self.repeat(
            lambda: self._once(
                method,
                url,
                body,
                timeout_s=timeout,
                answer_s=answer_s,
                asked=asked,
                more=headers or {},
                accept=accept,
            ),
            resend=resend,
        )

    def repeat(self, send: Callable[[], Answer], *, resend: bool) -> Answer:
        """Run ``send``; with ``resend``, again while it raises ``StoreUnavailable``, a bounded
        number of times. What a server that is overloaded, or whose store is full, has refused was
        not done, and is always sent again.
        """
        failures = 0
        while True:
            try:
                return send()
            except StoreUnavailable as error:
                failures += 1
                harmless = resend or isinstance(error, (Overloaded, StoreFull))
                if not harmless or failures >= self._backoff.tries:
                    raise
                self._pause(failures, error)

    def _once(
        self,
        method: str,
        url: str,
        body: bytes | None,
        *,
        timeout_s: float,
        answer_s: float,
        asked: str,
        more: Mapping[str, str],
        accept: int,
    ) -> Answer:
        headers = {"Accept": "application/json, text/plain", **self._headers, **more}
        if body is not None:
            headers["Content-Type"] = "application/json"
        try:
            answer = self.transport.exchange(
                method, url, body=body, headers=headers, timeout_s=timeout_s, answer_s=answer_s
            )
        except AnswerTooLarge as error:
            message = f"{asked}: {error.message}"
            raise AnswerTooLarge(message, status=error.status) from error
        except StoreUnavailable as error:
            message = f"{asked}: {error.message}"
            raise StoreUnavailable(message) from error
        if not answer.is_success and answer.status != accept:
            raise error_from(answer, asked, self.url)
        return answer

    def _pause(self, failures: int, error: StoreUnavailable) -> None:
        chance = self._random.random()
        delay_ms = self._backoff.delay_ms(failures, chance)
        if error.__cause__ is None:  # an answer: the server itself said when to come back
            delay_ms = self._backoff.asked_ms(failures, chance, error.retry_after_s)
        self._clock.wait(self._never, delay_ms)


def text_of(answer: Answer) -> str:
    """Return a text answer; the JSON-quoted form that some servers send is accepted too."""
    text = answer.body.decode("utf-8", "replace")
    if text.startswith('"') and text.endswith('"'):
        value = value_of(answer)
        return value if isinstance(value, str) else text
    return text


def value_of(answer: Answer) -> object:
    """Return a JSON answer of any type, None for an empty body; raises ``UnexpectedAnswer``."""
    if not answer.body:
        return None
    try:
        return decode(answer.body)
    except ValueError as error:
        message = "the server answered something that is not JSON; does its URL end with /api?"
        raise UnexpectedAnswer(message, status=answer.status) from error


def object_of(answer: Answer) -> JsonObject:
    """Return a JSON object, empty for an empty body; raises ``UnexpectedAnswer``."""
    value = value_of(answer)
    if value is None:
        return {}
    if isinstance(value, dict):
        return value
    message = "the server answered JSON that is not an object"
    raise UnexpectedAnswer(message, status=answer.status)


def warnings_of(answer: Answer) -> list[JsonObject]:
    """Return the warnings of a check; raises ``UnexpectedAnswer``."""
    found = object_of(answer).get("warnings")
    return [each for each in found if isinstance(each, dict)] if isinstance(found, list) else []


def objects_of(answer: Answer) -> list[JsonObject]:
    """Return a JSON array of objects, empty for an empty body; raises ``UnexpectedAnswer``."""
    value = value_of(answer)
    if value is None:
        return []
    if isinstance(value, list) and all(isinstance(entry, dict) for entry in value):
        return value
    message = "the server answered JSON that is not an array of objects"
    raise UnexpectedAnswer(message, status=answer.status)


def _query(parameters: Mapping[str, QueryValue]) -> str:
    pairs: list[tuple[str, str]] = []
    for name, value in parameters.items():
        if value is None:
            continue
        if isinstance(value, bool):
            pairs.append((name, "true" if value else "false"))
        elif isinstance(value, str | int):
            pairs.append((name, str(value)))
        else:
            pairs.extend((name, entry) for entry in value)
    return urlencode(pairs)
