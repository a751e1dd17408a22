"""The catalog in Redis: hashes in partition 0, beside the definitions, changed by one script."""

from __future__ import annotations

from collections.abc import Sequence

from conductor_py.adapters.redis.connection import Argument
from conductor_py.adapters.redis.names import name_of, pairs_of
from conductor_py.adapters.redis.scripts import Scripts
from conductor_py.ports.catalog import Cell, Table, Write

_READ_AT_ONCE = 500


class RedisCatalogStore:
    """``CatalogStore`` on Redis."""

    def __init__(self, scripts: Scripts) -> None:
        """Share the scripts of the namespace."""
        self._scripts = scripts
        self._connection = scripts.connection
        self._home = scripts.prefix(0)

    def change(self, writes: Sequence[Write]) -> bool:
        arguments: list[Argument] = [self._scripts.now()]
        for each in writes:
            cell = each.cell
            checked = _held(each.before) if each.checked else b""
            arguments += (cell.table, cell.row, cell.field, checked, _held(each.after))
        changed, revision = self._scripts.run("change_catalog", 0, arguments, again=False)
        if revision:
            for partition in range(1, self._scripts.namespace.partitions):
                self._scripts.run("raise_revision", partition, (revision,))
        return bool(changed)

    def read(self, cells: Sequence[Cell]) -> tuple[bytes | None, ...]:
        found: list[bytes | None] = []
        for first in range(0, len(cells), _READ_AT_ONCE):
            wanted = cells[first : first + _READ_AT_ONCE]
            found += self._connection.pipeline(
                [("HGET", self._key(each.table, each.row), each.field) for each in wanted]
            )
        return tuple(found)

    def rows(self, table: Table, rows: Sequence[str]) -> tuple[dict[str, bytes], ...]:
        found: list[dict[str, bytes]] = []
        for first in range(0, len(rows), _READ_AT_ONCE):
            replies = self._connection.pipeline(
                [("HGETALL", self._key(table, row)) for row in rows[first : first + _READ_AT_ONCE]]
            )
            found += [_by_field(flat) for flat in replies]
        return tuple(found)

    def page(self, row: str, first: str, last: str, limit: int) -> tuple[tuple[str, bytes], ...]:
        fields = self._connection.command(
            *("ZRANGE", f"{self._home}catalog:order:{row}", f"[{first}", f"[{last}"),
            *("BYLEX", "LIMIT", 0, limit),
        )
        if not fields:
            return ()
        heads = self._connection.command("HMGET", self._key(Table.HEAD, row), *fields)
        found = zip(fields, heads, strict=True)
        return tuple(
            (name, head)
            for field, head in found
            if head is not None and (name := name_of(field)) is not None
        )

    def _key(self, table: Table, row: str) -> str:
        if table is Table.REGISTERED:
            return f"{self._home}meta:workflow:{row}"
        return f"{self._home}catalog:{table}:{row}"


def _by_field(flat: Sequence[bytes]) -> dict[str, bytes]:
    return dict(sorted(pairs_of(flat)))


def _held(document: bytes | None) -> bytes:
    return b"-" if document is None else b"=" + document
