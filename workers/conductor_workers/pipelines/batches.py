"""What a streaming query of Spark has in its checkpoint, seen and copied from outside.

Spark writes each file aside and renames it: a file that is there is whole and never changes. The
state that batch ``n`` left has the version ``n + 1``.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import uuid
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from conductor_py.records import dataclass

_LOGS: Final = ("offsets", "commits")
_STATE: Final = "state"
_QUERY: Final = "metadata"
_VERSION: Final = re.compile(r"(?P<version>\d+)(_[\w-]+)?\.(delta|snapshot|changelog|zip)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """A batch that was committed. ``offsets`` are where each source stands after it, watermarks
    milliseconds since 1970: that which the batch worked with, and that which follows from it; 0
    before the first row.
    """

    number: int
    offsets: tuple[Mapping[str, Any], ...]
    watermark_ms: int
    next_watermark_ms: int


def committed(checkpoint: Path) -> Batch | None:
    """Return the newest batch that was committed."""
    number = max(_numbers(checkpoint / "commits"), default=None)
    if number is None:
        return None
    _, about, *offsets = (checkpoint / "offsets" / str(number)).read_text().splitlines()
    _, outcome = (checkpoint / "commits" / str(number)).read_text().splitlines()
    return Batch(
        number=number,
        offsets=tuple(json.loads(line) for line in offsets if line.startswith("{")),
        watermark_ms=int(json.loads(about)["batchWatermarkMs"]),
        next_watermark_ms=int(json.loads(outcome)["nextBatchWatermarkMs"]),
    )


def copy_as_of(checkpoint: Path, target: Path, batch: int) -> None:
    """Make a checkpoint of what another one had after that batch.

    Raises:
        FileNotFoundError: it has nothing of that batch.
    """
    for log in _LOGS:
        if not (checkpoint / log / str(batch)).exists():
            raise FileNotFoundError(checkpoint / log / str(batch))
    for file in _as_of(checkpoint, batch):
        place = target / file.relative_to(checkpoint)
        place.parent.mkdir(parents=True, exist_ok=True)
        try:
            os.link(file, place)
        except OSError:  # a file system without links
            shutil.copyfile(file, place)
    # Spark ends a query that has the name of one that begins; the two are no longer one query.
    (target / _QUERY).write_text(json.dumps({"id": str(uuid.uuid4())}))


def _as_of(checkpoint: Path, batch: int) -> Iterator[Path]:
    for log in _LOGS:
        numbers = (number for number in _numbers(checkpoint / log) if number <= batch)
        yield from (checkpoint / log / str(number) for number in numbers)
    for file in (checkpoint / _STATE).rglob("*"):
        # Hidden files are check sums, which may be missing, and what is still being written.
        if file.is_file() and not file.name.startswith("."):
            found = _VERSION.fullmatch(file.name)
            if found is None or int(found["version"]) <= batch + 1:
                yield file


def _numbers(log: Path) -> Iterator[int]:
    if log.is_dir():
        yield from (int(file.name) for file in log.iterdir() if file.name.isdecimal())
