"""``console`` and ``assert``: sinks for trials and tests, which keep nothing.

``console`` writes the first ``rows`` rows of an epoch to the worker's log. ``assert`` fails the
epoch with ``ASSERTION_FAILED`` when a row does not meet one of ``checks`` (SQL conditions by name),
when this worker has seen more than ``rows`` rows, or when at the end of the pipeline all epochs of
the record had not exactly ``rows``. Redone work is shown and looked at again: the guarantee is at
least once.
"""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping
from typing import TYPE_CHECKING

from conductor_py.pipelines import spec
from conductor_py.pipelines.record import Staged
from conductor_py.pipelines.spec import Guarantee
from conductor_py.records import dataclass, field
from conductor_workers.pipelines.connectors import Epoch, Evidence, Owner, SinkProblem
from conductor_workers.pipelines.registry import Place

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

logger = logging.getLogger(__name__)


class _Forgetful:
    """What both have in common: nobody can look at what they did."""

    @property
    def guarantee(self) -> Guarantee:
        return Guarantee.AT_LEAST_ONCE

    def evidence(self, owner: Owner, pipeline: str) -> Evidence | None:
        return None

    def discard(self, owner: Owner, pipeline: str, *, below: int, keep: Staged | None) -> None:
        """Nothing was staged."""

    def close(self) -> None:
        """Nothing is open."""


@dataclass(frozen=True, slots=True)
class ConsoleSink(_Forgetful):
    """``Sink`` of the kind ``console``."""

    name: str
    most: int

    def stage(self, frame: DataFrame, epoch: Epoch) -> Staged:
        """See ``Sink``."""
        shown = [row.asDict(recursive=True) for row in frame.take(self.most)]
        return {"rows": frame.count(), "shown": [json.dumps(row, default=str) for row in shown]}

    def publish(self, staged: Staged, epoch: Epoch, record_hash: str) -> None:
        """See ``Sink``."""
        for row in staged["shown"]:
            about = {"sink": self.name, "epoch": epoch.number, "row": row}
            logger.info("A row", extra={"action": "console_row", **about})


@dataclass(slots=True)
class AssertSink(_Forgetful):
    """``Sink`` of the kind ``assert``."""

    name: str
    checks: Mapping[str, str]
    wanted: int | None = None
    seen: dict[int, int] = field(default_factory=dict)
    """Rows by epoch."""

    def stage(self, frame: DataFrame, epoch: Epoch) -> Staged:
        """See ``Sink``."""
        from pyspark.sql import functions as f

        broken = {
            name: f.count_if(f.coalesce(~f.expr(condition), f.lit(True)))
            for name, condition in self.checks.items()
        }
        columns = [column.alias(f"c{at}") for at, column in enumerate(broken.values())]
        found = frame.agg(f.count(f.lit(1)).alias("rows"), *columns).first()
        assert found is not None, "an aggregate without groups has one row"
        for at, name in enumerate(broken):
            if found[f"c{at}"]:
                raise self._failed(f"{found[f'c{at}']} rows do not meet {name}")
        self.seen[epoch.number] = int(found["rows"])
        rows = sum(self.seen.values())
        if self.wanted is not None and rows > self.wanted:
            raise self._failed(f"there are {rows} rows, more than {self.wanted}")
        return {"rows": int(found["rows"])}

    def publish(self, staged: Staged, epoch: Epoch, record_hash: str) -> None:
        """Nothing is shown."""

    def conclude(self, rows: int) -> None:
        """See ``Concluding``."""
        if self.wanted is not None and rows != self.wanted:
            raise self._failed(f"there were {rows} rows in all, and not {self.wanted}")

    def _failed(self, sentence: str) -> SinkProblem:
        return SinkProblem("ASSERTION_FAILED", f"{self.name}: {sentence}.", retryable=False)


def open_sink(node: spec.Sink, place: Place) -> ConsoleSink | AssertSink:
    """Make the sink of a node."""
    settings = place.settings(node)
    if node.kind == "console":
        return ConsoleSink(node.id, settings.whole("rows", 20))
    limited = node.settings.get("rows") is not None
    return AssertSink(
        node.id,
        settings.named_texts("checks"),
        settings.whole("rows", 0, least=0) if limited else None,
    )
