"""Counts rows while a job runs, without a job more.

Spark tells the figures of an observed frame when the first action over it has succeeded; retried
tasks are not counted twice. A frame that is computed once for several readers tells its figures
then (``told_by``): what reads it later sees the rows, and no longer where they came from.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Final

from conductor_py.records import dataclass, field

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, Observation

_LATEST_AFTER_S: Final = 10.0
_LOOK_EVERY_S: Final = 0.005


class NotObserved(Exception):
    """Spark never told the figures of a frame: no action ran over it."""


@dataclass(slots=True, kw_only=True)
class Figures:
    """The measures of one observed frame, once they are known."""

    name: str
    measures: tuple[str, ...]
    observation: Observation
    found: dict[str, Any] | None = field(default=None)

    def read(self) -> Mapping[str, Any]:
        """Return them after the action. Raises ``NotObserved`` when there was none."""
        if self.found is not None:
            return self.found
        # The public property waits for ever when the optimizer has removed the frame.
        deadline = time.monotonic() + _LATEST_AFTER_S
        future = self.observation._jo.future()  # type: ignore[union-attr]  # noqa: SLF001
        while not future.isCompleted():
            if time.monotonic() > deadline:
                raise NotObserved("Spark told no figures of a frame that was written.")
            time.sleep(_LOOK_EVERY_S)
        return self.observation.get


def observed(frame: DataFrame, **measures: Column) -> tuple[DataFrame, Figures]:
    """Return a frame to use instead, and its figures."""
    from pyspark.sql import Observation

    name = uuid.uuid4().hex
    observation = Observation(name)
    watched = frame.observe(observation, *(column.alias(each) for each, column in measures.items()))
    return watched, Figures(name=name, measures=tuple(measures), observation=observation)


def counted(frame: DataFrame) -> tuple[DataFrame, Figures]:
    """Return a frame to use instead, and figures with its ``rows``."""
    from pyspark.sql import functions as f

    return observed(frame, rows=f.count(f.lit(1)))


def told_by(frame: DataFrame, wanted: Iterable[Figures]) -> None:
    """Take the figures that the computation of this frame has told."""
    told = frame._jdf.queryExecution().observedMetrics()  # noqa: SLF001
    for figures in wanted:
        row = told.get(figures.name)
        if figures.found is None and row.isDefined():
            values = row.get()
            figures.found = {name: values.get(at) for at, name in enumerate(figures.measures)}
