"""What the first line of a CSV file calls its columns."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from conductor_workers.pipelines import csv_form
from conductor_workers.pipelines.connectors import SourceProblem
from conductor_workers.pipelines.sources.drift import spelt


def names_in(line: bytes, options: Mapping[str, str]) -> tuple[str, ...]:
    """Return the values of a first line."""
    return csv_form.names_in(line.decode("utf-8", "replace"), options)


def columns_of(
    names: Sequence[str | None], options: Mapping[str, str], wanted: Sequence[str], path: str
) -> tuple[str, ...]:
    """Return the columns that a first line names; those ``wanted`` are spelt as they are there.

    What has no name, or one that is there twice, gets what Spark calls it when it looks for the
    columns itself. Raises ``SCHEMA_CHANGED``.
    """
    given = ["" if name in (None, options.get("nullValue")) else str(name) for name in names]
    found = spelt(given, wanted, path)
    times = Counter(name.lower() for name in found)
    called = tuple(
        f"_c{at}" if not name else f"{name}{at}" if times[name.lower()] > 1 else name
        for at, name in enumerate(found)
    )
    if called and not set(called) & set(wanted):
        raise SourceProblem(
            "SCHEMA_CHANGED",
            f"The file {path} has none of the columns {', '.join(wanted)}: its first line names "
            f"{', '.join(called)}. Look at options.sep and options.header.",
        )
    return called
