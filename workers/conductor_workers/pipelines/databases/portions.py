"""Rows in portions, so that no statement grows without bound."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from conductor_workers.pipelines.databases.dialect import Row


def portions(rows: Iterator[Row], size: int) -> Iterator[list[Row]]:
    """Return the rows in lists of ``size``, the last one shorter."""
    while portion := list(islice(rows, size)):
        yield portion
