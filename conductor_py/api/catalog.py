"""The catalog: workflows and tasks that have versions.

An answer about one definition carries its etag; who sends that back as ``If-Match`` changes what
was read, or gets 409.
"""

from __future__ import annotations

import re

from flask import Blueprint, request

from conductor_py.api.answers import Answer, empty, json_answer
from conductor_py.api.front import Front, Route, blueprint
from conductor_py.errors import InvalidInput, Violation
from conductor_py.model.catalog import Head, Kind
from conductor_py.wire.catalog import (
    diff_body,
    head_body,
    read_content,
    read_draft,
    saved_body,
    split_body,
)
from conductor_py.wire.codes import read_code
from conductor_py.wire.lineage import lineage_body
from conductor_py.wire.parameters import flag, number, number_segment, text

_ETAG = re.compile(r'"(\d{1,15})"')
_MOST = 1_000
_DEEPEST = 20
_LAST = 2**63 - 1


def catalog(front: Front) -> Blueprint:
    """Make the endpoints below ``/api/catalog``."""
    workflows, tasks = _Workflows(front), _Tasks(front)
    own: tuple[Route, ...] = (
        ("GET", "/workflows/<code>/versions/<version>", workflows.split),
        ("GET", "/workflows/<code>/diff", workflows.diff),
        ("GET", "/workflows/<code>/lineage", workflows.lineage),
        ("POST", "/workflows/<code>/publish", workflows.publish),
        ("POST", "/workflows/<code>/withdraw", workflows.withdraw),
        ("GET", "/tasks/<code>/uses", tasks.uses),
        ("POST", "/tasks/<code>/apply", tasks.apply),
    )
    routes = (*_routes("workflows", workflows), *_routes("tasks", tasks), *own)
    return blueprint("catalog", "/api/catalog", routes)


def _routes(noun: str, views: _Workflows | _Tasks) -> tuple[Route, ...]:
    return (
        ("GET", f"/{noun}", views.page),
        ("POST", f"/{noun}", views.create),
        ("GET", f"/{noun}/<code>", views.read),
        ("PUT", f"/{noun}/<code>", views.save),
        ("GET", f"/{noun}/<code>/head", views.head),
        ("GET", f"/{noun}/<code>/versions", views.versions),
        ("POST", f"/{noun}/<code>/switch", views.switch),
        ("DELETE", f"/{noun}/<code>", views.delete),
        ("DELETE", f"/{noun}/<code>/versions/<version>", views.purge),
    )


class _Versioned:
    """What both kinds have."""

    kind: Kind

    def __init__(self, front: Front) -> None:
        self._front = front
        self._catalog = front.engine.catalog

    def page(self) -> Answer:
        layout = self._front.engine.codes.layout
        after = text(request.args, "after")
        first = read_code(after, "?after") + 1 if after else 1
        since = number(request.args, "createdFrom", least=0)
        until = number(request.args, "createdTo", -1, least=0)
        first = max(first, layout.first_at(since)) if since else first
        last = layout.first_at(until + 1) - 1 if until >= 0 else _LAST
        size = number(request.args, "size", 100, least=1, most=_MOST)
        shared = flag(request.args, "shared")
        heads = self._catalog.heads(self.kind, first, last, size, shared=shared)
        return json_answer([head_body(head) for head in heads])

    def head(self, code: str) -> Answer:
        return _answer(self._catalog.head(self.kind, _code(code)))

    def versions(self, code: str) -> Answer:
        head, saved = self._catalog.log(self.kind, _code(code))
        return _tagged(json_answer([saved_body(each, head) for each in saved]), head)

    def switch(self, code: str) -> Answer:
        version = number(request.args, "version", least=1)
        if not version:
            raise _wrong("version", "must be given")
        return _answer(self._catalog.switch(self.kind, _code(code), version, etag=_etag()))

    def delete(self, code: str) -> Answer:
        return _answer(self._catalog.delete(self.kind, _code(code), etag=_etag()))

    def purge(self, code: str, version: str) -> Answer:
        self._catalog.purge(self.kind, _code(code), number_segment("version", version))
        return empty()


class _Workflows(_Versioned):
    kind = Kind.WORKFLOW

    def page(self) -> Answer:
        name = text(request.args, "name")
        if not name:
            return super().page()
        found = self._catalog.named(name)
        return json_answer([head_body(found)] if found is not None else [])

    def create(self) -> Answer:
        draft = read_draft(self._front.body_object())
        return _answer(self._catalog.save(draft, self._front.definitions.check))

    def read(self, code: str) -> Answer:
        version = number(request.args, "version", least=1) or None
        head, document = self._catalog.workflow(_code(code), version)
        return _tagged(json_answer(document), head)

    def save(self, code: str) -> Answer:
        draft = read_draft(self._front.body_object())
        saved = self._catalog.save(
            draft,
            self._front.definitions.check,
            code=_code(code),
            etag=_etag(),
            as_draft=flag(request.args, "draft"),
        )
        return _answer(saved)

    def split(self, code: str, version: str) -> Answer:
        wanted, of = _code(code), number_segment("version", version)
        split, edges = self._catalog.split(wanted, of)
        return json_answer(split_body(wanted, of, split.pins, edges))

    def diff(self, code: str) -> Answer:
        wanted = _code(code)
        now = number(request.args, "to", least=1) or self._catalog.head(self.kind, wanted).version
        was = number(request.args, "from", least=1) or now - 1
        if was < 1:
            raise _wrong("from", "must be given: there is no version before the first")
        self._front.be_heavy()
        return json_answer(diff_body(was, now, self._catalog.diff(wanted, was, now)))

    def lineage(self, code: str) -> Answer:
        depth = number(request.args, "depth", 1, least=1, most=_DEEPEST)
        return json_answer(lineage_body(self._front.engine.lineages.of(_code(code), depth)))

    def publish(self, code: str) -> Answer:
        version = number(request.args, "version", least=1)
        return _answer(
            self._front.engine.publishing.publish(_code(code), version=version, etag=_etag())
        )

    def withdraw(self, code: str) -> Answer:
        version = number(request.args, "version", least=1)
        publishing = self._front.engine.publishing
        return _answer(publishing.withdraw(_code(code), version=version, etag=_etag()))


class _Tasks(_Versioned):
    kind = Kind.TASK

    def create(self) -> Answer:
        return _answer(self._catalog.save_task(read_content(self._front.body_object())))

    def read(self, code: str) -> Answer:
        version = number(request.args, "version", least=1) or None
        head, content = self._catalog.task(_code(code), version)
        return _tagged(json_answer(content), head)

    def save(self, code: str) -> Answer:
        saved = self._catalog.save_task(
            read_content(self._front.body_object()),
            code=_code(code),
            etag=_etag(),
            as_draft=flag(request.args, "draft"),
        )
        return _answer(saved)

    def apply(self, code: str) -> Answer:
        drafts = self._front.engine.applying.apply(
            _code(code),
            self._front.definitions.check,
            version=number(request.args, "version", least=1),
            dry_run=flag(request.args, "dryRun"),
        )
        return json_answer([head_body(head) for head in drafts])

    def uses(self, code: str) -> Answer:
        found = self._catalog.uses(_code(code))
        return json_answer(
            [{"workflow": head_body(head), "versions": list(of)} for head, of in found]
        )


def _code(segment: str) -> int:
    return read_code(segment, "{code}")


def _etag() -> int:
    given = request.headers.get("If-Match", "").strip()
    if given in {"", "*"}:
        return 0
    found = _ETAG.fullmatch(given)
    if found is None or int(found[1]) == 0:
        message = "must be the ETag of an answer about this definition, quotes included, or *"
        violation = Violation(path="If-Match", message=message, invalid_value=given[:100])
        raise InvalidInput(violations=(violation,))
    return int(found[1])


def _wrong(name: str, message: str) -> InvalidInput:
    return InvalidInput(violations=(Violation(path=f"?{name}", message=message),))


def _answer(head: Head) -> Answer:
    return _tagged(json_answer(head_body(head)), head)


def _tagged(answer: Answer, head: Head) -> Answer:
    answer.headers["ETag"] = f'"{head.etag}"'
    return answer
