"""What a failure workflow is told: the failed execution, whole, as the commit that ends it leaves
it.

decide names the child that wants it; the execution is only known in full here, where the stored
fields and those of the decision come together.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Final

from conductor_py.codec.execution import UnknownFormat, load_header
from conductor_py.engine.reading.loading import load_all
from conductor_py.engine.reading.reading import HEAD
from conductor_py.engine.reading.views import Views
from conductor_py.errors import NotFound
from conductor_py.model.decision import Decision, NewChild
from conductor_py.model.execution import Document
from conductor_py.model.ids import ExecutionId
from conductor_py.model.json import JsonObject
from conductor_py.ports.reader import ExecutionReader
from conductor_py.ports.store import Changes, Child, ExecutionStore
from conductor_py.wire.execution import workflow_to_json

_LOG = logging.getLogger(__name__)
_MOST_TASKS: Final = 10_000
_MOST_BYTES: Final = 10 << 20

Encode = Callable[[str, Document], bytes | str]
"""Encode a document field; a sentence when it is above its hard limit."""


class _TooLarge(Exception):
    """The execution is not read whole."""


class FailureReports:
    """Adds ``failedWorkflow`` to the input of failure workflows."""

    def __init__(
        self, store: ExecutionStore, reader: ExecutionReader, views: Views, encode: Encode
    ) -> None:
        """Work over these collaborators."""
        self._store = store
        self._reader = reader
        self._views = views
        self._encode = encode

    def add(self, execution: ExecutionId, decision: Decision, changes: Changes) -> Changes:
        """Add what the decision's failure workflow, if any, is to be told."""
        wanting = {child.id: child for child in decision.children if child.reports}
        if not wanting:
            return changes
        report = self._report(execution, changes)
        children = tuple(
            self._told(child, wanting[child.execution], report)
            if child.execution in wanting
            else child
            for child in changes.children
        )
        return replace(changes, children=children)

    def _report(self, execution: ExecutionId, changes: Changes) -> JsonObject | None:
        try:
            header = load_header(changes.fields["h"])
            few = header.next_seq - header.first_seq <= _MOST_TASKS
            found = self._whole(execution) if few else None
            whole = found is not None
            version, before = found or self._head(execution)
            fields = {**before, **changes.fields}
            view = self._views.execution(execution, version, fields, include_tasks=whole)
        except (NotFound, UnknownFormat):
            _LOG.exception(
                "A failure workflow is started without the execution that failed",
                extra={"action": "failure_report_failed", "workflow_id": execution},
            )
            return None
        return workflow_to_json(view)

    def _whole(self, execution: ExecutionId) -> tuple[int, Mapping[str, bytes]] | None:
        """``None`` when it is larger than an input may be: its tasks are not told of."""

        def before_more(size: int) -> None:
            if size > _MOST_BYTES:
                raise _TooLarge

        try:
            return self._reader.snapshot(execution, before_more=before_more) or (0, {})
        except _TooLarge:
            return None

    def _head(self, execution: ExecutionId) -> tuple[int, Mapping[str, bytes]]:
        return load_all(self._store, execution, HEAD) or (0, {})

    def _told(self, child: Child, new: NewChild, report: JsonObject | None) -> Child:
        """The most of it that is not larger than an input may be: without tasks, or not at all."""
        given = new.input
        if report is None or not isinstance(given, Mapping):
            return child
        for told in (report, {**report, "tasks": []}):
            stored = self._encode("input", {**given, "failedWorkflow": told})
            if isinstance(stored, bytes):
                return replace(child, fields={**child.fields, "input": stored})
        return child
