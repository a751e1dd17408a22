"""Words and rows that were deleted leave the file, step by step.

SQLite overwrites what is deleted (``secure_delete``), but three things keep copies: segments of the
word index until they are merged, pages from which a row has moved to another until they are written
anew, and the write-ahead log until it is emptied.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Final

from conductor_py.adapters.sqlite.connections import Connections
from conductor_py.adapters.sqlite.schema import EXECUTIONS, TASKS

_PAGES: Final = 1_000
"""Pages that one step merges: some tens of milliseconds in which nobody else writes."""
_SOMETHING: Final = 2
"""Changes of a step that has merged something; the command itself counts as one."""


class Erasing:
    """Rounds over one file."""

    def __init__(self, connections: Connections, *, most_bytes: int) -> None:
        """A file of more than ``most_bytes`` is not written anew whole."""
        self._connections = connections
        self._most_bytes = most_bytes
        self._parts: list[Callable[[], bool]] = []
        self._merging = ""

    def step(self) -> bool:
        """Take one step; whether the round is done."""
        if not self._parts:
            merges = [partial(self._merged, f"{table.name}_words") for table in (EXECUTIONS, TASKS)]
            empty = self._connections.empty_log
            # Before, too: there may be no room to write the file anew.
            self._parts = [*merges, empty, self._rewritten, empty]
            self._merging = ""
        try:
            if self._parts[0]():
                del self._parts[0]
        except BaseException:
            self._parts.clear()
            raise
        return not self._parts

    def _merged(self, words: str) -> bool:
        """Merge some pages; whether nothing is left to merge. The first time, a negative number
        takes all segments that there are; those are gone on with.
        """
        pages = _PAGES if self._merging == words else -_PAGES
        with self._connections.writing() as connection:
            before = connection.total_changes
            connection.execute(
                f"INSERT INTO {words} ({words}, rank) VALUES ('merge', ?)",  # noqa: S608 - our own names
                (pages,),
            )
            self._merging = words
            return connection.total_changes - before < _SOMETHING

    def _rewritten(self) -> bool:
        self._connections.rewrite(self._most_bytes)
        return True
