"""Tags of definitions: key, type and value, for people and their tools.

One tag has a meaning: type ``RATE_LIMIT`` with the workflow's name as its key is how clients that
know no ``rateLimitConfig`` set one. Its value is how many executions may be under way at once; a
``rateLimitConfig`` in the definition wins.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import orjson

from conductor_py.codec.execution import dump_json
from conductor_py.engine.definitions.readable import readable
from conductor_py.errors import Conflict, InvalidInput, NotFound
from conductor_py.model.definitions import WorkflowDef
from conductor_py.model.json import JsonObject
from conductor_py.ports.metadata import MetadataStore

_MOST = 100
_TRIES = 10
_RATE_LIMIT = "RATE_LIMIT"

_Change = Callable[[list[JsonObject]], list[JsonObject]]


def with_rate_limit(
    definition: WorkflowDef, tags: Callable[[str, str], dict[str, bytes]]
) -> WorkflowDef:
    """Give a registered definition the rate limit that its tags say, if it has none itself."""
    if definition.rate_limit_config:
        return definition
    stored = tags("workflow", definition.name).get(definition.name)
    for tag in orjson.loads(stored) if stored else ():
        limit = str(tag.get("value", ""))
        meant = tag.get("type") == _RATE_LIMIT and tag["key"] == definition.name
        if meant and limit.isascii() and limit.isdecimal() and len(limit) < 10:
            return replace(definition, rate_limit_config={"concurrentExecLimit": int(limit)})
    return definition


class Tags:
    """The verbs of tags; ``noun`` is ``workflow`` or ``task``."""

    def __init__(self, metadata: MetadataStore, forget: Callable[[], None]) -> None:
        """Keep them beside the definitions; ``forget`` drops the snapshots made before a change."""
        self._metadata = metadata
        self._forget = forget

    def of(self, noun: str, name: str) -> tuple[JsonObject, ...]:
        """List the tags of a definition (``NotFound``)."""
        self._known(noun, name)
        stored = self._metadata.tags(noun, name).get(name)
        return tuple(orjson.loads(stored)) if stored else ()

    def all(self) -> tuple[JsonObject, ...]:
        """List the tags of all definitions, each once."""
        found: dict[bytes, JsonObject] = {}
        for noun in ("workflow", "task"):
            for tags in readable("tags", self._metadata.tags(noun).items(), _tags):
                found |= {dump_json(tag): tag for tag in tags}
        return tuple(found[key] for key in sorted(found))

    def add(self, noun: str, name: str, tags: Sequence[JsonObject]) -> None:
        """Add tags; one that is there already changes nothing (``NotFound``)."""
        self._change(noun, name, lambda before: before + [t for t in tags if t not in before])

    def set(self, noun: str, name: str, tags: Sequence[JsonObject]) -> None:
        """Put tags in the place of all that were there (``NotFound``)."""
        self._change(noun, name, lambda _: [t for i, t in enumerate(tags) if t not in tags[:i]])

    def remove(self, noun: str, name: str, tags: Sequence[JsonObject]) -> None:
        """Remove tags; one that is not there changes nothing (``NotFound``)."""
        self._change(noun, name, lambda before: [t for t in before if t not in tags])

    def _change(self, noun: str, name: str, change: _Change) -> None:
        self._known(noun, name)
        for _ in range(_TRIES):
            stored = self._metadata.tags(noun, name).get(name)
            after = change(orjson.loads(stored) if stored else [])
            if len(after) > _MOST:
                raise InvalidInput(f"A definition has at most {_MOST} tags")
            document = dump_json(after) if after else None
            if self._metadata.put_tags(noun, name, stored, document):
                self._forget()
                return
        raise Conflict(f"The tags of {name} kept changing; try again")

    def _known(self, noun: str, name: str) -> None:
        if noun == "workflow":
            known = self._metadata.workflow(name, None) is not None
        else:
            known = name in self._metadata.tasks((name,))
        if not known:
            raise NotFound(f"No such {noun} definition found by name: {name}")


def _tags(stored: bytes) -> list[JsonObject]:
    tags = orjson.loads(stored)
    if not isinstance(tags, list) or not all(isinstance(tag, dict) for tag in tags):
        raise TypeError("they are no list of tags")
    return tags
