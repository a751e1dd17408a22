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
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache, partial
from typing import Final

import orjson

from conductor_py.codec.execution import dump_json
from conductor_py.decider.compile import input_template
from conductor_py.decider.expressions.expressions import named_value
from conductor_py.decider.expressions.java_text import text_of
from conductor_py.errors import InvalidInput
from conductor_py.model.definitions import WorkflowTask
from conductor_py.model.execution import External
from conductor_py.model.json import JsonObject, JsonValue
from conductor_py.model.masking import Masker
from conductor_py.model.requests import TaskResult
from conductor_py.model.view import TaskView
from conductor_py.ports.named_values import NamedValues
from conductor_py.records import dataclass
from conductor_py.wire.body import parse
from conductor_py.wire.execution import task_to_json

_NAMED: Final = re.compile(r"\$\{\s*workflow\.(secrets|env)\.([^{}]+)\}")
_PLACEHOLDER: Final = re.compile(rf"(?<!\$){_NAMED.pattern}")
_REMEMBERED: Final = 4_096


@dataclass(frozen=True, slots=True)
class _Spot:
    """A definition's text that names values: the placeholders that stand there."""

    texts: frozenset[str]


@dataclass(frozen=True, slots=True)
class _Branch:
    """What of an object or a list of a definition leads to such texts, by member or number."""

    inner: Mapping[str | int, _Tree]


_Tree = _Spot | _Branch


class HandOut:
    """Dresses tasks for whoever works on them, and masks what they send back. Safe for threads."""

    def __init__(self, secrets: NamedValues, environment: NamedValues) -> None:
        """``environment`` is not secret: its values are not masked."""
        self._secrets = secrets
        self._environment = environment
        hidden = (secrets.value(name) or "" for name in secrets.names())
        self._masker = Masker(hidden, most=None)
        self._needles = [json.dumps(one, ensure_ascii=False)[1:-1] for one in self._masker.needles]
        self._known: dict[int, tuple[WorkflowTask, _Tree | None]] = {}

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

    def missing(self, view: TaskView) -> tuple[str, ...]:
        """Name what the definition of a task names and this server does not have."""
        tree = self._tree(view.task) if view.authored else None
        texts = () if tree is None else _texts_of(tree)
        named = [text[2:-1].strip() for text in texts if self._value(text) is None]
        definition = view.task.task_definition
        wanted = definition.runtime_metadata if definition else ()
        named += [f"runtimeMetadata {name}" for name in wanted if self._either(name) is None]
        return tuple(sorted(set(named)))

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
        tree = self._tree(view.task)
        if tree is None:
            return view
        # A name may stand there by the thousand, and for a part of a large text.
        value = _changed(view.input, tree, partial(_filled, cache(self._value)))
        return replace(view, input=value) if isinstance(value, Mapping) else view

    def _value(self, placeholder: str) -> JsonValue:
        found = _PLACEHOLDER.fullmatch(placeholder)
        if found is None:
            return None
        values = self._secrets if found[1] == "secrets" else self._environment
        return named_value(found[2].rstrip(), values.value)

    def _either(self, name: str) -> str | None:
        secret = self._secrets.value(name)
        return self._environment.value(name) if secret is None else secret

    def _tree(self, task: WorkflowTask) -> _Tree | None:
        known = self._known.get(id(task))
        if known is None or known[0] is not task:
            known = (task, _tree_of(input_template(task)))
            if len(self._known) >= _REMEMBERED:
                self._known.clear()
            self._known[id(task)] = known
        return known[1]


def _filled(value_of: Callable[[str], JsonValue], spot: _Spot, text: str) -> JsonValue:
    if len(spot.texts) == 1 and text in spot.texts:
        return value_of(text)

    def in_words(found: re.Match[str]) -> str:
        if found[0] not in spot.texts:
            return found[0]
        value = value_of(found[0])
        return "" if value is None else text_of(value)

    # In one walk over the text: what stands in a value is not looked at again.
    return _NAMED.sub(in_words, text)


def _tree_of(template: JsonValue) -> _Tree | None:
    """Find the texts of a definition that name values; ``None``: there are none."""
    if isinstance(template, str):
        texts = frozenset(found[0] for found in _PLACEHOLDER.finditer(template))
        return _Spot(texts) if texts else None
    entries: Iterable[tuple[str | int, JsonValue]] = ()
    if isinstance(template, Mapping):
        entries = template.items()
    elif isinstance(template, Sequence):
        entries = enumerate(template)
    inner = {key: tree for key, item in entries if (tree := _tree_of(item)) is not None}
    return _Branch(inner) if inner else None


def _texts_of(tree: _Tree) -> Iterator[str]:
    """All placeholders that a tree leads to."""
    pending = [tree]
    while pending:
        found = pending.pop()
        if isinstance(found, _Spot):
            yield from found.texts
        else:
            pending += found.inner.values()


def _changed(value: JsonValue, tree: _Tree, change: Callable[[_Spot, str], JsonValue]) -> JsonValue:
    """Change the texts that a tree leads to, each object and list once; the rest is shared, and a
    place that is not there is left.
    """
    if isinstance(tree, _Spot):
        return change(tree, value) if isinstance(value, str) else value
    inner = tree.inner
    if isinstance(value, Mapping):
        made = dict(value)
        made |= {
            key: _changed(value[key], leads, change)
            for key, leads in inner.items()
            if isinstance(key, str) and key in value
        }
        return made
    if isinstance(value, list | tuple):
        return [
            _changed(item, inner[at], change) if at in inner else item
            for at, item in enumerate(value)
        ]
    return value
