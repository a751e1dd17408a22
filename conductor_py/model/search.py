"""Search: what may be asked of the index, what is put into it and what comes back.

A ``Query`` is a tree over the catalogues ``EXECUTION_FIELDS`` and ``TASK_FIELDS``; whoever builds
one has checked its fields and typed its values, so that an adapter never meets an unknown name.
Empty text and absence are the same thing here: ``parentWorkflowId = ""`` is ``Missing``. Nothing
in here parses Conductor's syntax (``wire`` does) or knows how a document is stored (``codec``
does).
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from enum import Enum
from types import MappingProxyType
from typing import TypeAlias

from conductor_py.errors import InvalidInput
from conductor_py.records import dataclass

MAX_WORD_LENGTH = 100
"""Longer words are cut, in documents and in queries alike."""

MAX_QUERY_WORDS = 100

_CLAIMS = 1024

_WORD = re.compile(r"[^\W_]+")
_QUERY_WORD = re.compile(r"([^\W_]+)(\*?)")


class FieldKind(Enum):
    """How the values of a field compare."""

    KEYWORD = "keyword"
    """Text compared whole and by case; a field may hold several, and matches when one of them
    does.
    """
    TEXT = "text"
    """Long text, compared by words without regard to case; cannot be sorted by."""
    INTEGER = "integer"
    INSTANT = "instant"
    """Milliseconds since the epoch."""


EXECUTION_FIELDS: Mapping[str, FieldKind] = MappingProxyType(
    {
        "workflowId": FieldKind.KEYWORD,
        "workflowType": FieldKind.KEYWORD,
        "version": FieldKind.INTEGER,
        "status": FieldKind.KEYWORD,
        "correlationId": FieldKind.KEYWORD,
        "startTime": FieldKind.INSTANT,
        "updateTime": FieldKind.INSTANT,
        "endTime": FieldKind.INSTANT,
        "executionTime": FieldKind.INTEGER,
        "priority": FieldKind.INTEGER,
        "parentWorkflowId": FieldKind.KEYWORD,
        "reasonForIncompletion": FieldKind.TEXT,
        "input": FieldKind.TEXT,
        "output": FieldKind.TEXT,
        "failedReferenceTaskNames": FieldKind.KEYWORD,
        "failedTaskNames": FieldKind.KEYWORD,
        "event": FieldKind.KEYWORD,
        "createdBy": FieldKind.KEYWORD,
        "classifier": FieldKind.KEYWORD,
        "idempotencyKey": FieldKind.KEYWORD,
        "externalInputPayloadStoragePath": FieldKind.KEYWORD,
        "externalOutputPayloadStoragePath": FieldKind.KEYWORD,
    }
)
"""What an execution can be searched by, under Conductor's names."""

TASK_FIELDS: Mapping[str, FieldKind] = MappingProxyType(
    {
        "taskId": FieldKind.KEYWORD,
        "workflowId": FieldKind.KEYWORD,
        "workflowType": FieldKind.KEYWORD,
        "correlationId": FieldKind.KEYWORD,
        "taskType": FieldKind.KEYWORD,
        "taskDefName": FieldKind.KEYWORD,
        "referenceTaskName": FieldKind.KEYWORD,
        "status": FieldKind.KEYWORD,
        "scheduledTime": FieldKind.INSTANT,
        "startTime": FieldKind.INSTANT,
        "updateTime": FieldKind.INSTANT,
        "endTime": FieldKind.INSTANT,
        "executionTime": FieldKind.INTEGER,
        "queueWaitTime": FieldKind.INTEGER,
        "reasonForIncompletion": FieldKind.TEXT,
        "input": FieldKind.TEXT,
        "output": FieldKind.TEXT,
        "workflowPriority": FieldKind.INTEGER,
        "domain": FieldKind.KEYWORD,
        "externalInputPayloadStoragePath": FieldKind.KEYWORD,
        "externalOutputPayloadStoragePath": FieldKind.KEYWORD,
    }
)
"""What a task can be searched by, under Conductor's names."""


# ------------------------------------------------------------------------------------ queries


@dataclass(frozen=True, slots=True, kw_only=True)
class Word:
    """A lower-case word; with ``prefix`` any word that begins with it."""

    text: str
    prefix: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Words:
    """All of ``words`` occur in the text field, or anywhere in the document when ``field`` is None.

    No words at all (text of punctuation only) match nothing.
    """

    field: str | None
    words: tuple[Word, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class OneOf:
    """The field holds one of these values; never empty, never the empty string."""

    field: str
    values: tuple[str | int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Matches:
    """The keyword is these literal parts with anything between two of them: ``ord*`` is ``("ord",
    "")``.
    """

    field: str
    parts: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Between:
    """The number or instant lies between both ends, inclusive; ``None`` leaves an end open."""

    field: str
    least: int | None = None
    most: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Missing:
    """The field is absent or empty."""

    field: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Not:
    """The term does not hold; true where its field is missing, too."""

    term: Query


@dataclass(frozen=True, slots=True, kw_only=True)
class And:
    """Every term holds."""

    terms: tuple[Query, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Or:
    """At least one term holds."""

    terms: tuple[Query, ...]


Query: TypeAlias = "Words | OneOf | Matches | Between | Missing | Not | And | Or"


@dataclass(frozen=True, slots=True, kw_only=True)
class SortKey:
    """One criterion of the order; documents without the field come last in both directions."""

    field: str
    descending: bool = False


EXECUTIONS_NEWEST_FIRST = SortKey(field="startTime", descending=True)
TASKS_NEWEST_FIRST = SortKey(field="scheduledTime", descending=True)


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchRequest:
    """What is asked; without a query, everything.

    Without ``sort`` the newest come first; ties come in an order that does not change. ``start``
    counts documents to leave out, ``size`` is the most that come back (0 only counts).
    """

    query: Query | None = None
    sort: tuple[SortKey, ...] = ()
    start: int = 0
    size: int = 100


def words_of(text: str) -> tuple[str, ...]:
    """Cut text into lower-case words of letters and digits, in order, repeats included."""
    words = _WORD.findall(text.lower())
    if len(text) > MAX_WORD_LENGTH:
        return tuple(word[:MAX_WORD_LENGTH] for word in words)
    return tuple(words)


def query_words(text: str) -> tuple[Word, ...]:
    """Cut what somebody typed into words; one that ends with ``*`` stands for all it begins.

    More than ``MAX_QUERY_WORDS`` are ``InvalidInput``.
    """
    found = dict.fromkeys(_QUERY_WORD.findall(text.lower()))
    if len(found) > MAX_QUERY_WORDS:
        raise InvalidInput(f"A search has at most {MAX_QUERY_WORDS} words, not {len(found)}.")
    return tuple(Word(text=word[:MAX_WORD_LENGTH], prefix=bool(star)) for word, star in found)


def anywhere(text: str) -> Words:
    """All words of a text, wherever they stand in a document."""
    return Words(field=None, words=query_words(text))


def is_everything(text: str) -> bool:
    """Whether a free text asks for everything: it is empty, or stars only."""
    return not text.strip("* \t\r\n")


# ---------------------------------------------------------------------------------- documents


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecutionSummary:
    """One execution as the index shows it. ``input`` and ``output`` are text."""

    execution_id: str
    workflow_type: str
    workflow_version: int
    status: str
    start_ms: int
    correlation_id: str | None = None
    update_ms: int | None = None
    end_ms: int | None = None
    execution_ms: int = 0
    priority: int = 0
    parent_id: str | None = None
    reason: str | None = None
    input: str = ""
    output: str = ""
    input_size: int = 0
    output_size: int = 0
    failed_references: tuple[str, ...] = ()
    failed_tasks: tuple[str, ...] = ()
    event: str | None = None
    created_by: str | None = None
    classifier: str | None = None
    idempotency_key: str | None = None
    external_input_path: str | None = None
    external_output_path: str | None = None
    task_to_domain: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskSummary:
    """One attempt as the index shows it. ``input`` and ``output`` are text."""

    task_id: str
    execution_id: str
    workflow_type: str
    task_type: str
    status: str
    scheduled_ms: int
    task_definition: str | None = None
    reference: str | None = None
    correlation_id: str | None = None
    start_ms: int | None = None
    update_ms: int | None = None
    end_ms: int | None = None
    execution_ms: int = 0
    queue_wait_ms: int = 0
    reason: str | None = None
    input: str = ""
    output: str = ""
    workflow_priority: int = 0
    domain: str | None = None
    external_input_path: str | None = None
    external_output_path: str | None = None
    claims: int = 0
    """How often it was claimed; not known of one that was found."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ExecutionDocument:
    """What is put into the index for one execution at one version.

    ``version`` is the execution's fencing token and decides which of two documents is newer, for
    the summary and for ``archive``; for each of ``tasks`` ``version_of`` does. ``tasks`` are the
    attempts that changed: those of earlier documents stay. ``removed`` are the ids of attempts that
    are no more. ``archive`` is the whole execution as JSON, given when it has ended, but for tasks
    that stand in pages; ``kept`` is what it can be restored from (opaque, compressed).
    """

    version: int
    summary: ExecutionSummary
    tasks: Collection[TaskSummary] = ()
    removed: tuple[str, ...] = ()
    archive: bytes | None = None
    kept: bytes | None = None

    @property
    def execution_id(self) -> str:
        """The execution this document is about."""
        return self.summary.execution_id

    def version_of(self, task: TaskSummary) -> int:
        """The version of a task's document: a claim changes a task, and no version."""
        return task_version(self.version, task)

    @property
    def last_version(self) -> int:
        """The version above which no document of a task at this version is."""
        return last_task_version(self.version)


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskPage:
    """Some tasks of an execution that is archived at that version: ``document`` is a JSON array of
    them for the archive, ``tasks`` are what the index is told. Numbers begin at 0.
    """

    execution_id: str
    version: int
    number: int
    document: bytes
    tasks: Sequence[TaskSummary] = ()


def task_version(version: int, task: TaskSummary) -> int:
    """The version of a task's document at this version of its execution."""
    return version * _CLAIMS + min(task.claims, _CLAIMS - 1)


def last_task_version(version: int) -> int:
    """The highest version of a task's document at this version of its execution."""
    return version * _CLAIMS + _CLAIMS - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class SearchPage:
    """A page of executions and how many match in all."""

    total_hits: int
    results: tuple[ExecutionSummary, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskSearchPage:
    """A page of tasks and how many match in all."""

    total_hits: int
    results: tuple[TaskSummary, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Archived:
    """A finished execution, whole, as it was at ``version``."""

    version: int
    document: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchivedId:
    """Which execution is archived, at which version (what ``delete`` wants), and when it ended."""

    execution_id: str
    version: int
    end_ms: int
