"""The interface as a page to read: made of the OpenAPI document, without scripts or other hosts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from html import escape
from typing import Any

Json = Mapping[str, Any]

_STYLE = """
:root { color-scheme: light dark; --line: #8884; --soft: #8881; }
body { font: 15px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
h2 { margin-top: 2.5rem; text-transform: capitalize; }
details { border: 1px solid var(--line); border-radius: 6px; margin: .4rem 0; }
summary { cursor: pointer; padding: .45rem .7rem; }
details > div { padding: 0 1rem .6rem; background: var(--soft); }
code { font: 13px ui-monospace, monospace; }
.method { display: inline-block; min-width: 4.2rem; font-weight: 700; }
.note { opacity: .75; }
table { border-collapse: collapse; } td { padding: .15rem .9rem .15rem 0; vertical-align: top; }
"""


def page(document: Json) -> str:
    """Write the page."""
    return "".join(_page(document))


def _page(document: Json) -> Iterator[str]:
    title = escape(f"{document['info']['title']} {document['info']['version']}")
    yield '<!doctype html><html lang="en"><head><meta charset="utf-8">'
    yield '<meta name="viewport" content="width=device-width, initial-scale=1">'
    yield f"<title>{title}</title><style>{_STYLE}</style></head><body><h1>{title}</h1>"
    yield f"<p>{escape(document['info']['description'])} "
    yield 'The same as a document: <a href="/api-docs"><code>/api-docs</code></a>.</p>'
    for tag, operations in _by_tag(document).items():
        yield f"<h2>{escape(tag)}</h2>"
        for method, path, operation in operations:
            yield from _operation(method, path, operation)
    yield "<h2>Schemas</h2>"
    for name, schema in document["components"]["schemas"].items():
        yield from _schema(name, schema)
    yield "</body></html>"


def _by_tag(document: Json) -> dict[str, list[tuple[str, str, Json]]]:
    grouped: dict[str, list[tuple[str, str, Json]]] = {}
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            grouped.setdefault(operation["tags"][0], []).append((method, path, operation))
    return grouped


def _operation(method: str, path: str, operation: Json) -> Iterator[str]:
    yield f'<details><summary><code><span class="method">{method.upper()}</span>{escape(path)}'
    yield f'</code> <span class="note">{escape(operation["summary"])}</span></summary><div>'
    parameters = operation["parameters"]
    if parameters:
        yield "<p>Parameters</p><table>"
        for one in parameters:
            must = "required" if one.get("required") else ""
            yield _row(one["name"], f"{one['in']}, {one['schema']['type']}", must)
        yield "</table>"
    if "requestBody" in operation:
        yield f"<p>Body: {_content(operation['requestBody'])}</p>"
    for status, answer in operation["responses"].items():
        yield f"<p>{escape(status)}: {escape(answer['description'])} {_content(answer)}</p>"
    yield "</div></details>"


def _schema(name: str, schema: Json) -> Iterator[str]:
    yield f'<details id="{escape(name)}"><summary><code>{escape(name)}</code> '
    yield f'<span class="note">{escape(schema["description"])}</span></summary><div><table>'
    required = schema.get("required", ())
    for member, described in schema["properties"].items():
        default = f"default {described['default']}" if "default" in described else ""
        note = "required" if member in required else default
        yield _row(member, _type(described), note, linked=True)
    yield "</table></div></details>"


def _row(name: str, kind: str, note: str, *, linked: bool = False) -> str:
    shown = kind if linked else escape(kind)
    return f"<tr><td><code>{escape(name)}</code><td>{shown}<td>{escape(note)}</tr>"


def _content(described: Json) -> str:
    for media, content in described.get("content", {}).items():
        return f"<code>{escape(media)}</code> {_type(content['schema'])}"
    return ""


def _type(schema: Json) -> str:
    """Write a type, as HTML."""
    if "$ref" in schema:
        name = escape(schema["$ref"].rpartition("/")[2])
        return f'<a href="#{name}">{name}</a>'
    for choice in ("oneOf", "anyOf"):
        if choice in schema:
            return " or ".join(_type(one) for one in schema[choice])
    if "enum" in schema:
        return escape(" | ".join(schema["enum"]))
    if schema.get("type") == "array":
        return f"list of {_type(schema['items'])}"
    if "results" in schema.get("properties", {}):
        return f"page of {_type(schema['properties']['results']['items'])}"
    kind = schema.get("type", "any")
    return escape(" or ".join(kind) if isinstance(kind, list) else kind)
