"""What both languages of a search share: reading text piece by piece, and conditions of typed
values.

Nothing is dropped: an unknown field, a value of the wrong type or a stray character is
``InvalidInput`` with its position, where Conductor's SQL indexes would answer as if the clause
were not there.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from types import MappingProxyType

from conductor_py.errors import InvalidInput, Violation
from conductor_py.model.search import (
    FieldKind,
    Matches,
    Missing,
    Not,
    OneOf,
    Query,
    Words,
    query_words,
)
from conductor_py.records import dataclass

MAX_LENGTH = 32_768
"""Characters of a query."""
MAX_DEPTH = 32
"""Parentheses within parentheses."""
MAX_CONDITIONS = 256
MAX_STARS = 8
"""Stars in one value."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_BLANKS = re.compile(r"\s*")
_INTEGER = re.compile(r"[+-]?[0-9]{1,18}")
_ALIASES: Mapping[str, str] = MappingProxyType(
    {
        "workflowName": "workflowType",
        "taskReferenceName": "referenceTaskName",
        "modifiedTime": "updateTime",
    }
)
"""Names that Conductor's pages give to fields of its index."""


def field_named(name: str, fields: Mapping[str, FieldKind]) -> str | None:
    """The field of this name, or of one that Conductor's pages have for it."""
    name = name if name in fields else _ALIASES.get(name, name)
    return name if name in fields else None


def unknown_field(name: str, fields: Mapping[str, FieldKind]) -> str:
    """What is said of a field that does not exist."""
    return f"there is no field '{name}'; the fields are {', '.join(fields)}"


def invalid(sentence: str, *, parameter: str, value: str | None = None) -> InvalidInput:
    """Refuse a parameter of a search."""
    return InvalidInput(
        violations=(Violation(path=f"$.{parameter}", message=sentence, invalid_value=value),)
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Value:
    """A value as written: ``parts`` are its unescaped pieces between stars."""

    at: int
    parts: tuple[str, ...]

    @property
    def text(self) -> str:
        return "*".join(self.parts)


class Terms:
    """Reads a text from the left; ``_at`` is the index of the next character."""

    parameter = "query"
    compared_by = "=, !=, IN, STARTS_WITH and IS NULL"

    def __init__(self, text: str, fields: Mapping[str, FieldKind]) -> None:
        self._text = text
        self._fields = fields
        self._at = 0
        self._conditions = 0

    # -- conditions ------------------------------------------------------------------------------

    def _count_condition(self) -> None:
        self._conditions += 1
        if self._conditions > MAX_CONDITIONS:
            raise self._error(f"the query has more than {MAX_CONDITIONS} conditions")

    def _known(self, name: str, at: int | None = None) -> str:
        field = field_named(name, self._fields)
        if field is None:
            raise self._error(unknown_field(name, self._fields), at=at, value=name)
        return field

    def _equal(self, field: str, value: Value) -> Query:
        """The field is this value, in which a star stands for anything."""
        if value.parts == ("",):
            return Missing(field=field)
        if not any(value.parts):
            return Not(term=Missing(field=field))
        if len(value.parts) == 1 or self._fields[field] is FieldKind.TEXT:
            return self._exactly(field, value)
        if self._fields[field] is not FieldKind.KEYWORD:
            raise self._error(f"'*' does not apply to the number '{field}'", at=value.at)
        if len(value.parts) > MAX_STARS + 1:
            raise self._error(f"a value has at most {MAX_STARS} stars", at=value.at)
        return Matches(field=field, parts=value.parts)

    def _exactly(self, field: str, value: Value) -> Query:
        if value.text == "":
            return Missing(field=field)
        match self._fields[field]:
            case FieldKind.TEXT:
                return Words(field=field, words=query_words(value.text))
            case FieldKind.KEYWORD:
                return OneOf(field=field, values=(value.text,))
            case _:
                return OneOf(field=field, values=(self._number(field, value),))

    def _number(self, field: str, value: Value) -> int:
        match self._fields[field]:
            case FieldKind.INTEGER | FieldKind.INSTANT if _INTEGER.fullmatch(value.text):
                return int(value.text)
            case FieldKind.INTEGER:
                raise self._error(f"'{field}' is a whole number", at=value.at, value=value.text)
            case FieldKind.INSTANT:
                return self._instant(field, value)
            case _:
                raise self._error(
                    f"'{field}' is text: it compares by {self.compared_by}", at=value.at
                )

    def _instant(self, field: str, value: Value) -> int:
        try:
            instant = datetime.fromisoformat(value.text)
        except ValueError:
            raise self._error(
                f"'{field}' is a time: epoch milliseconds or ISO 8601 (2026-01-31T12:00:00Z)",
                at=value.at,
                value=value.text,
            ) from None
        aware = instant if instant.tzinfo else instant.replace(tzinfo=UTC)
        return (aware - _EPOCH) // timedelta(milliseconds=1)

    # -- text ------------------------------------------------------------------------------------

    def _symbol(self, symbol: str) -> bool:
        at = self._skip_blanks()
        if not self._text.startswith(symbol, at):
            return False
        self._at += len(symbol)
        return True

    def _match(self, pattern: re.Pattern[str]) -> str | None:
        return self._taken(pattern.match(self._text, self._skip_blanks()))

    def _taken(self, found: re.Match[str] | None) -> str | None:
        if found is None:
            return None
        self._at = found.end()
        return found[0]

    def _skip_blanks(self) -> int:
        blanks = _BLANKS.match(self._text, self._at)
        assert blanks is not None
        self._at = blanks.end()
        return self._at

    def _error(
        self, sentence: str, *, at: int | None = None, value: str | None = None
    ) -> InvalidInput:
        position = self._skip_blanks() if at is None else at
        found = value if value is not None else self._text[position : position + 20]
        where = f"position {position + 1}" if position < len(self._text) else "the end"
        sentence = f"At {where}: {sentence}."
        return invalid(sentence, parameter=self.parameter, value=found or None)


def parts_of(raw: str, unescaped: str = "\\*'\"") -> tuple[str, ...]:
    """Split at the stars that no backslash escapes, and unescape the pieces: these characters only,
    so that a Windows path keeps its backslashes.
    """
    pieces = [""]
    at = 0
    while at < len(raw):
        if raw[at] == "\\" and at + 1 < len(raw):
            escaped = raw[at + 1]
            pieces[-1] += escaped if escaped in unescaped else raw[at : at + 2]
            at += 2
        elif raw[at] == "*":
            pieces.append("")
            at += 1
        else:
            pieces[-1] += raw[at]
            at += 1
    return tuple(pieces)
