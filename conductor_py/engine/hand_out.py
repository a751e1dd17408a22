"""What leaves the engine with a task, and must not stay in it: secrets and the environment.

A definition names them (``${workflow.secrets.NAME}``, ``${workflow.env.NAME}``); the text stays as
it is written in everything that is stored, and becomes the value only in what a worker or a system
task is handed. Only what the definition itself wrote is replaced, at the place where it wrote it: a
text of the same form in somebody's data stays a text. What comes back is searched for the secrets,
and they are masked.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

import orjson

from conductor_py.codec.execution import dump_json
from conductor_py.decider.compile import input_template
from conductor_py.decider.expressions import named_value
from conductor_py.decider.java_text import text_of
from conductor_py.errors import InvalidInput
from conductor_py.model.definitions import WorkflowTask
from conductor_py.model.execution import External
from conductor_py.model.json import JsonObject, JsonValue
from conductor_py.model.masking import Masker
from conductor_py.model.requests import TaskResult
from conductor_py.model.view import TaskView
from conductor_py.ports.named_values import NamedValues
from conductor_py.wire.body import parse
from conductor_py.wire.execution import task_to_json

_NAMED: Final = re.compile(r"\$\{\s*workflow\.(secrets|env)\.([^{}]+)\}")
_PLACEHOLDER: Final = re.compile(rf"(?<!\$){_NAMED.pattern}")
_REMEMBERED: Final = 4_096

_Place = tuple[str | int, ...]


@dataclass(frozen=True, slots=True)
class _Spot:
    """Where a definition's text names a value, and the placeholders that stand there."""

    place: _Place
    texts: tuple[str, ...]


class HandOut:
    """Dresses tasks for whoever works on them, and masks what they send back. Safe for threads."""

    def __init__(self, secrets: NamedValues, environment: NamedValues) -> None:
        """``environment`` is not secret: its values are not masked."""
        self._secrets = secrets
        self._environment = environment
        hidden = (secrets.value(name) or "" for name in secrets.names())
        self._masker = Masker(hidden, most=None)
        self._needles = [json.dumps(one, ensure_ascii=False)[1:-1] for one in self._masker.needles]
        self._known: dict[int, tuple[WorkflowTask, tuple[_Spot, ...]]] = {}

    def document(self, view: TaskView) -> JsonObject:
        """Write a task for the one who is to work on it."""
        definition = view.task.task_definition
        names = definition.runtime_metadata if definition else ()
        document = task_to_json(self._dressed(view))
        if names:
            values = ((name, self._either(name)) for name in names)
            document["runtimeMetadata"] = {
                name: value for name, value in values if value is not None
            }
        return document

    def masked(self, result: TaskResult) -> TaskResult:
        """Mask the secrets in a result: output, reason and log lines."""
        if not self._masker:
            return result
        return replace(
            result,
            output=self.masked_document(result.output),
            reason=self._masker.reason(result.reason) if result.reason else result.reason,
            logs=tuple(replace(log, line=self.masked_text(log.line)) for log in result.logs),
        )

    def masked_text(self, text: str) -> str:
        """Mask the secrets in a text."""
        return self._masker.text(text)

    def masked_document(self, document: JsonObject) -> JsonObject:
        """Mask the secrets in a document, the same one when it has none."""
        if not self._masker or not self._is_in(dump_json(document)):
            return document
        found = self._masker.document(document)
        return found if isinstance(found, Mapping) else document

    def masked_upload(self, stored: bytes) -> bytes | None:
        """Mask the secrets in an uploaded document; ``None`` when it has none."""
        try:
            # Written anew, so that its texts are escaped as they are looked for.
            document = dump_json(parse(stored))
        except InvalidInput:
            text = stored.decode(errors="replace")
            found = self.masked_text(text)
            return None if found == text else found.encode()
        if not self._is_in(document):
            return None
        return dump_json(self._masker.document(orjson.loads(document)))

    @property
    def hides(self) -> bool:
        """Whether there are secrets to look for."""
        return bool(self._masker)

    def _is_in(self, stored: bytes) -> bool:
        text = stored.decode()
        for needle in self._needles:  # noqa: SIM110 - every result comes here
            if needle in text:
                return True
        return False

    def _dressed(self, view: TaskView) -> TaskView:
        if isinstance(view.input, External) or not view.authored:
            return view
        spots = self._spots(view.task)
        if not spots:
            return view
        value: JsonValue = view.input
        for spot in spots:
            value = _changed(value, spot.place, partial(self._filled, spot))
        return replace(view, input=value) if isinstance(value, Mapping) else view

    def _filled(self, spot: _Spot, text: str) -> JsonValue:
        if len(spot.texts) == 1 and text == spot.texts[0]:
            return self._value(text)
        written = frozenset(spot.texts)
        return _NAMED.sub(partial(self._in_words, written), text)

    def _in_words(self, written: frozenset[str], found: re.Match[str]) -> str:
        """In one walk over the text: what stands in a value is not looked at again."""
        if found[0] not in written:
            return found[0]
        value = self._value(found[0])
        return "" if value is None else text_of(value)

    def _value(self, placeholder: str) -> JsonValue:
        found = _PLACEHOLDER.fullmatch(placeholder)
        if found is None:
            return None
        values = self._secrets if found[1] == "secrets" else self._environment
        return named_value(found[2].rstrip(), values.value)

    def _either(self, name: str) -> str | None:
        secret = self._secrets.value(name)
        return self._environment.value(name) if secret is None else secret

    def _spots(self, task: WorkflowTask) -> tuple[_Spot, ...]:
        known = self._known.get(id(task))
        if known is None or known[0] is not task:
            known = (task, tuple(_spots_in(input_template(task))))
            if len(self._known) >= _REMEMBERED:
                self._known.clear()
            self._known[id(task)] = known
        return known[1]


def _spots_in(template: JsonObject) -> Iterator[_Spot]:
    pending: list[tuple[_Place, JsonValue]] = [((), template)]
    while pending:
        place, item = pending.pop()
        if isinstance(item, str):
            texts = tuple(dict.fromkeys(found[0] for found in _PLACEHOLDER.finditer(item)))
            if texts:
                yield _Spot(place, texts)
        elif isinstance(item, Mapping):
            pending += [((*place, name), inner) for name, inner in item.items()]
        elif isinstance(item, Sequence):
            pending += [((*place, at), inner) for at, inner in enumerate(item)]


def _changed(value: JsonValue, place: _Place, change: Callable[[str], JsonValue]) -> JsonValue:
    """Change the text at a place; the rest is shared, and a place that is not there is left."""
    if not place:
        return change(value) if isinstance(value, str) else value
    key, rest = place[0], place[1:]
    if isinstance(value, Mapping) and isinstance(key, str) and key in value:
        return {**value, key: _changed(value[key], rest, change)}
    if isinstance(value, list | tuple) and isinstance(key, int) and key < len(value):
        return [*value[:key], _changed(value[key], rest, change), *value[key + 1 :]]
    return value
