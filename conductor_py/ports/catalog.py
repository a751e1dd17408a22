"""The catalog's tables: small documents under names, changed some at once or not at all."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import Protocol

from conductor_py.records import dataclass


class Table(StrEnum):
    """What there is a table of, its row, and the field within it."""

    HEAD = "head"
    """Row: kind. Field: code, with leading zeros. What is changed of a definition."""
    DOCUMENT = "document"
    """Row: kind and code. Field: version. Written once."""
    LOG = "log"
    """Row: kind and code. Field: version. What the list of versions says of it."""
    USE = "use"
    """Row: code of a task. Field: code of a workflow, a version of which has it."""
    CALL = "call"
    """Row: name of a workflow. Field: code of a workflow, a version of which starts it."""
    NAME = "name"
    """Row: kind. Field: name. Who has the name. Tasks that stand by themselves may share one. Row:
    kind and name. Field: code.
    """
    REGISTERED = "registered"
    """Row: name of a workflow. Field: version, or ``PUBLISHED`` for the one that is meant without
    one. The same documents that a ``MetadataStore`` reads; a change of one raises its revision.
    """


PUBLISHED = "published"
"""The field of ``Table.REGISTERED`` that holds the version which is meant where none is named.
While it is there a ``MetadataStore`` refuses to change the row; checked for nothing, the whole row
must be empty.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """Where a document stands."""

    table: Table
    row: str
    field: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Write:
    """Put ``after`` in the place of what is in a cell, ``None``: empty it. When it is ``checked``,
    the cell must hold ``before``, ``None``: nothing.
    """

    cell: Cell
    after: bytes | None
    checked: bool = False
    before: bytes | None = None


class CatalogStore(Protocol):
    """The tables; all in one place, so that one step changes several."""

    def change(self, writes: Sequence[Write]) -> bool:
        """Carry out all of them, or none when a cell does not hold what was checked for (false)."""

    def read(self, cells: Sequence[Cell]) -> tuple[bytes | None, ...]:
        """Read cells; ``None`` for an empty one."""

    def rows(self, table: Table, rows: Sequence[str]) -> tuple[dict[str, bytes], ...]:
        """Read whole rows, each by field."""

    def page(self, row: str, first: str, last: str, limit: int) -> tuple[tuple[str, bytes], ...]:
        """Read fields of a row of ``Table.HEAD`` from ``first`` to ``last``, both inclusive, in
        their order, no more than ``limit``.
        """
