"""The descriptors of discovered splits, by source and ord.

They are found in pages. A page rides in the record until pages grow long; then they become an
object (JSON lines) that the record names. Objects are read once and kept in memory. Sixteen of one
level become one of the next, so a record names few however many splits there are; whoever goes on
from an older record finds the former ones as long as that record is kept.

    objects/<pipeline>/splits-<source>/...     of pages
    objects/<pipeline>/splits1-<source>/...    of sixteen such, and so on
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Final

from conductor_py.pipelines.intervals import Intervals
from conductor_py.pipelines.record import SourceState, SplitDescriptor
from conductor_py.pipelines.record_form import canonical, split_from_json, split_to_json
from conductor_py.records import dataclass
from conductor_workers.pipelines.storage import fetch, keep
from conductor_workers.pipelines.workplace import Workplace

_TOGETHER: Final = 16
_HIGHEST: Final = 2
"""No object is of more pages: one must fit into memory, and be written in one request."""
_LEVEL: Final = re.compile(r"/splits(?P<level>\d*)-")


@dataclass(frozen=True, slots=True, kw_only=True)
class Amount:
    """How much some splits are together: as the source estimates it, in rows and bytes."""

    splits: int = 0
    rows: int = 0
    bytes: int = 0


class SplitTable:
    """All descriptors of one pipeline's sources; lives in its coordinator's thread."""

    def __init__(self, workplace: Workplace) -> None:
        """Begin with none."""
        self._workplace = workplace
        self._splits: dict[str, list[SplitDescriptor]] = {}
        self._before: dict[str, list[tuple[int, int]]] = {}
        """Rows and bytes before each split, and of all."""

    def load(self, states: Mapping[str, SourceState]) -> None:
        """Take up what a record keeps. Raises ``ObjectLost``."""
        self._splits, self._before = {}, {}
        for name, state in states.items():
            self.add(name, self._kept(state))

    def add(self, source: str, found: Iterable[SplitDescriptor]) -> None:
        """Append a page."""
        splits = self._splits.setdefault(source, [])
        before = self._before.setdefault(source, [(0, 0)])
        for split in found:
            splits.append(split)
            rows, size = before[-1]
            before.append((rows + split.rows, size + split.bytes))

    def all_of(self, source: str) -> Sequence[SplitDescriptor]:
        """Return all splits of a source, by ord."""
        return self._splits.get(source, ())

    def of(self, source: str, number: int) -> SplitDescriptor:
        """Return one split."""
        return self._splits[source][number]

    def known(self, source: str) -> int:
        """Return how many splits of a source are known."""
        return len(self._splits.get(source, ()))

    def amount(self, source: str, ords: Intervals) -> Amount:
        """Return how much these splits are; costs what the intervals cost."""
        before = self._before.get(source, [(0, 0)])
        spans = [(before[first], before[last + 1]) for first, last in ords.spans]
        return Amount(
            splits=len(ords),
            rows=sum(after[0] - start[0] for start, after in spans),
            bytes=sum(after[1] - start[1] for start, after in spans),
        )

    def packed(self, source: str, state: SourceState, *, limit: int, epoch: int) -> SourceState:
        """Move a state's pages into an object when they have more bytes than ``limit``.

        Raises ``ObjectLost`` when an object that is to become part of a larger one is gone.
        """
        lines = [canonical(split_to_json(split)) for split in state.pages]
        if sum(map(len, lines)) <= limit:
            return state
        tables = [*state.tables, self._kept_object(f"splits-{source}", epoch, lines)]
        for level in range(_HIGHEST):
            last = tables[-_TOGETHER:]
            if len(last) < _TOGETHER or {_level(each) for each in last} != {level}:
                break
            parts = [fetch(self._workplace.storage, each) for each in last]
            tables[-_TOGETHER:] = [self._kept_object(f"splits{level + 1}-{source}", epoch, parts)]
        return replace(state, tables=tuple(tables), pages=())

    def _kept_object(self, what: str, epoch: int, parts: list[bytes]) -> str:
        workplace = self._workplace
        return keep(workplace.storage, workplace.object(what, epoch), b"\n".join(parts))

    def _kept(self, state: SourceState) -> Iterator[SplitDescriptor]:
        for reference in state.tables:
            for line in fetch(self._workplace.storage, reference).splitlines():
                yield split_from_json(json.loads(line))
        yield from state.pages


def _level(reference: str) -> int:
    found = _LEVEL.search(reference)
    return int(found["level"] or 0) if found else 0
