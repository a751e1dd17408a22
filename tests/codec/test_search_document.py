"""Summaries as the indexes store them."""

from __future__ import annotations

import dataclasses

from conductor_py.codec.search_document import (
    LIST_FIELDS,
    MAX_WORDS,
    decode_execution,
    decode_task,
    encode_execution,
    encode_task,
    field_values,
    keyword_words,
    text_words,
)
from conductor_py.model.search import (
    EXECUTION_FIELDS,
    TASK_FIELDS,
    ExecutionSummary,
    FieldKind,
    TaskSummary,
)


def _full(kind):
    """A summary whose every field holds something of its type."""
    values: dict[str, object] = {}
    for field in dataclasses.fields(kind):
        annotation = str(field.type)
        if annotation.startswith("tuple[tuple"):
            values[field.name] = (("a", "b"),)
        elif annotation.startswith("tuple"):
            values[field.name] = ("x", "y")
        else:
            values[field.name] = 7 if "int" in annotation else f"text of {field.name}"
    return kind(**values)


def test_every_searchable_field_is_written_with_values_of_its_kind():
    for stored, fields in (
        (encode_execution(_full(ExecutionSummary)), EXECUTION_FIELDS),
        (encode_task(_full(TaskSummary)), TASK_FIELDS),
    ):
        assert fields.keys() <= stored.keys()
        for name, kind in fields.items():
            expected = int if kind in (FieldKind.INTEGER, FieldKind.INSTANT) else str
            assert all(isinstance(value, expected) for value in field_values(stored, name)), name


def test_what_was_written_reads_as_it_was():
    for shown in (_full(ExecutionSummary), ExecutionSummary(
        execution_id="e", workflow_type="w", workflow_version=1, status="RUNNING", start_ms=0
    )):  # fmt: skip
        assert decode_execution(encode_execution(shown)) == shown
    task = dataclasses.replace(_full(TaskSummary), claims=0)  # they decide what is newer, only
    assert decode_task(encode_task(task)) == task


def test_fields_of_a_newer_version_are_ignored():
    shown = _full(ExecutionSummary)
    assert decode_execution({**encode_execution(shown), "invented": 1}) == shown


def test_the_fields_that_hold_several_values_are_known():
    stored = encode_execution(_full(ExecutionSummary))
    assert {name for name, value in stored.items() if isinstance(value, tuple)} == LIST_FIELDS


def test_words_are_distinct_and_bounded():
    stored = {"input": "B a b A " + " ".join(f"w{n}" for n in range(3 * MAX_WORDS))}
    words = text_words(stored, "input")
    assert words[:3] == ("b", "a", "w0")
    assert len(words) == MAX_WORDS


def test_keyword_words_are_those_of_all_keywords():
    stored = {
        "workflowId": "a-b",
        "status": "TIMED_OUT",
        "input": "text",
        "failedTaskNames": ("c",),
    }
    assert set(keyword_words(stored, EXECUTION_FIELDS)) == {"a", "b", "timed", "out", "c"}
