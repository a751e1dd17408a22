"""Requests of every route of the published interface, near what it wants, and far from it."""

from __future__ import annotations

import re
from typing import Any, Final

from conductor_py.wire.examples import EXAMPLES
from conductor_py.wire.openapi import document
from tests.fuzz.known import Known
from tests.fuzz.requests import Request, escaped
from tests.fuzz.values import JQ, QUERIES, SCRIPTS, URLS, Chance, Json

_KIND: Final = "routes"
_PARAMETER: Final = re.compile(r"\{(\w+)\}")
_SHORT: Final = frozenset({"timeout", "timeoutMillis", "waitForSeconds"})
_REFERENCE: Final = "#/components/schemas/"
#: Ends the connection of who sends a body: nobody reads one there.
_READS_NO_BODY: Final = ("/health", "/api/health", "/actuator/")
_BROWSER: Final = (
    ("Origin", "http://evil.example"),
    ("Origin", "null"),
    ("Sec-Fetch-Site", "cross-site"),
    ("Host", "evil.example"),
    ("Host", ""),
    ("Referer", "http://evil.example/"),
    ("Accept", "text/html;q=x, */*"),
    ("Accept-Encoding", "gzip, br, x;q=9"),
    ("Range", "bytes=-1-5"),
    ("If-None-Match", '"' + "x" * 2_000),
    ("Content-Encoding", "gzip"),
    ("Expect", "100-continue"),
    ("X-Forwarded-For", "127.0.0.1, \u00e9"),
    ("Cookie", "a=" + "b" * 5_000),
    ("Authorization", "Bearer " + "x" * 3_000),
    ("Content-Type", "text/plain"),
    ("Content-Type", "multipart/form-data"),
    ("Content-Type", "application/json; charset=utf-16"),
    ("Content-Type", "\u00ff"),
)


class Routes:
    """Draws requests from the interface."""

    def __init__(self) -> None:
        published = document("fuzz")
        self._schemas: dict[str, Json] = published["components"]["schemas"]
        self.operations = [
            (method.upper(), path, told)
            for path, methods in sorted(published["paths"].items())
            for method, told in methods.items()
        ]

    def draw(self, chance: Chance, known: Known) -> Request:
        """A request of any route."""
        return self.request(chance, known, *chance.one(self.operations))

    def request(self, chance: Chance, known: Known, method: str, path: str, told: Json) -> Request:
        """A request of one operation; `told` is what the interface says of it."""
        target = _PARAMETER.sub(lambda each: self._part(chance, known, each[1]), path)
        pairs = [
            f"{escaped(one['name'])}={escaped(self._queried(chance, known, one))}"
            for one in told["parameters"]
            if one["in"] == "query" and chance.often(0.5)
        ]
        if chance.often(0.05):
            pairs += [pairs[0]] if pairs else [f"{escaped(chance.text())}=%ff%00"]
        headers, body = self._body(chance, known, told)
        if path.startswith(_READS_NO_BODY) or path == "/health":
            headers, body = [], None
        if chance.often(0.1):
            headers.append(chance.one(_BROWSER))
        return Request(
            kind=_KIND,
            method=method,
            target=target + ("?" + "&".join(pairs) if pairs else ""),
            route=path,
            headers=tuple(headers),
            body=body,
        )

    def _part(self, chance: Chance, known: Known, name: str) -> str:
        if name == "status":
            return str(chance.one(("COMPLETED", "FAILED", "IN_PROGRESS", "x")))
        if name in {"version", "part_number"} and chance.often(0.8):
            return str(chance.one((0, 1, 1, 2)))
        return escaped(known.one(chance, name))

    def _queried(self, chance: Chance, known: Known, told: Json) -> Any:
        name, schema = told["name"], told["schema"]
        if name in _SHORT:
            return chance.one((0, 1, 50, -1, "x"))
        if chance.often(0.15):
            return chance.text()
        if name == "query":
            return chance.one(QUERIES)
        if schema.get("type") == "integer":
            return chance.count()
        return self.value(chance, known, schema, name)

    def _body(
        self, chance: Chance, known: Known, told: Json
    ) -> tuple[list[tuple[str, str]], bytes | None]:
        contents = told.get("requestBody", {}).get("content", {})
        if not contents:
            return ([], None) if chance.often(0.9) else ([], chance.body(chance.value()))
        if chance.often(0.03):
            return [], None
        kind, content = next(iter(contents.items()))
        if kind != "application/json":
            return [("Content-Type", kind)], chance.text().encode("utf-8", "surrogatepass")
        drawn = self.value(chance, known, content["schema"], "")
        if chance.often(0.3):
            drawn = chance.mutated(drawn, 0.08)
        return [("Content-Type", kind)], chance.body(drawn)

    def value(self, chance: Chance, known: Known, schema: Json, name: str, depth: int = 0) -> Json:
        """A value of a schema; one in thirty is of none."""
        if chance.often(0.03):
            return chance.value(2)
        if reference := schema.get("$ref"):
            named = reference.removeprefix(_REFERENCE)
            if named in EXAMPLES and chance.often(0.2):
                return EXAMPLES[named]
            return self.value(chance, known, self._schemas[named], name, depth)
        for choice in ("anyOf", "oneOf"):
            if choice in schema:
                return self.value(chance, known, chance.one(schema[choice]), name, depth)
        if "enum" in schema:
            return chance.one(schema["enum"])
        kind = schema.get("type", "object")
        if isinstance(kind, list):
            kind = chance.one(kind)
        return self._of_type(chance, known, schema | {"type": kind}, name, depth)

    def _of_type(self, chance: Chance, known: Known, schema: Json, name: str, depth: int) -> Json:
        match schema["type"]:
            case "string":
                return _text(chance, known, name)
            case "integer":
                return chance.count()
            case "number":
                return chance.random.uniform(-1, 100)
            case "boolean":
                return chance.often(0.5)
            case "array":
                count = chance.random.randrange(4) if depth < 4 else 0
                items = schema.get("items", {})
                return [self.value(chance, known, items, name, depth + 1) for _ in range(count)]
            case "null":
                return None
            case _:
                return self._object(chance, known, schema, depth)

    def _object(self, chance: Chance, known: Known, schema: Json, depth: int) -> Json:
        properties = schema.get("properties")
        if properties is None:
            return {"v": chance.value(2)} if chance.often(0.7) else chance.mutated({}, 0.9)
        required = schema.get("required", ())
        return {
            name: self.value(chance, known, told, name, depth + 1)
            for name, told in properties.items()
            if chance.often(0.97 if name in required else 0.35 / (1 + depth))
        }


def _text(chance: Chance, known: Known, name: str) -> str:
    if known.has(name) and chance.often(0.7):
        return known.one(chance, name)
    if name in {"expression", "loopCondition", "caseExpression", "condition"}:
        return str(chance.one(SCRIPTS))
    if name == "queryExpression":
        return str(chance.one(JQ))
    if name == "uri":
        return str(chance.one(URLS))
    return chance.text() if chance.often(0.4) else str(chance.one(("x", "a1", "work", "1", "UTC")))
