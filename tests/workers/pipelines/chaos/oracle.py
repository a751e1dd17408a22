"""What must be true of a job's outputs however often its workers were killed.

The outputs equal what one plain query makes of the whole inputs: rows, sum of hashes, distinct
rows. Every visible file belongs to exactly one epoch, a table knows every epoch once, nothing is
left in staging, every split is done or set aside, and epochs and tokens in the engine's history
only grow.
"""

from __future__ import annotations

import json
import sqlite3
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from conductor_py.pipelines.intervals import Intervals
from conductor_py.pipelines.record_form import record_from_json
from conductor_workers.manifest import visible_files
from conductor_workers.pipelines.storage.local import LocalStorage
from tests.workers.pipelines.jobs import figures
from tests.workers.pipelines.stores import Keeper


def mismatches(
    spark: SparkSession,
    *,
    wanted: dict[str, tuple[int, int, int]],
    outputs: dict[str, tuple[Path, str]],
    place: Path,
) -> list[str]:
    """Return what is wrong with what is there, in sentences; ``outputs`` are path and format by
    sink, ``place`` is where the job works.
    """
    found: list[str] = []
    for name, (path, data_format) in outputs.items():
        seen = figures(_visible(spark, path, data_format))
        if seen != wanted[name]:
            found.append(f"{name}: rows, hashes and keys are {seen}, not {wanted[name]}")
        found += [f"{name}: {sentence}" for sentence in _untidy(path)]
    return [*found, *_staged(place / "work"), *_gaps(place / "table.db")]


def disorder(keeper: Keeper) -> list[str]:
    """Return what is wrong with what the engine was told."""
    records = {pipeline: part["record"] for pipeline, part in keeper.parts.items()}
    return [*_disordered(keeper.history), *undone(records)]


def undone(records: Mapping[str, Mapping[str, Any]]) -> Iterator[str]:
    """Say which splits are neither done nor set aside, by the last record of each pipeline."""
    for pipeline, record in records.items():
        for name, state in record_from_json(record).sources.items():
            if state.done | state.quarantined != Intervals.range(0, state.discovered):
                yield f"{pipeline}: of {state.discovered} splits of {name} {state.done} are done"


def _staged(work: Path) -> Iterator[str]:
    left = [str(file) for file in (work / "staged").rglob("*") if file.is_file()]
    if left:
        yield f"staged objects are left: {left}"


def _gaps(database: Path) -> Iterator[str]:
    if not database.exists():
        return
    with closing(sqlite3.connect(database)) as connection:
        rows = connection.execute("SELECT task, node, epoch FROM _df_epochs").fetchall()
    epochs: dict[tuple[str, str], list[int]] = {}
    for task, node, epoch in rows:
        epochs.setdefault((task, node), []).append(epoch)
    for name, known in epochs.items():
        if sorted(known) != list(range(1, len(known) + 1)):
            yield f"the table knows epochs {sorted(known)} of {name}"


def _visible(spark: SparkSession, path: Path, data_format: str) -> DataFrame:
    if (path / "_manifests").exists():
        paths = [str(path / name) for name in visible_files(LocalStorage(path))]
        return spark.read.format(data_format).load(paths)
    return spark.read.format(data_format).load(str(path))


def _untidy(path: Path) -> Iterator[str]:
    if (path / "_staging").exists():
        yield f"staging is left: {sorted(map(str, (path / '_staging').rglob('*')))}"
    named: Counter[str] = Counter()
    for proof in [*path.glob("_commits/*/*.json"), *path.glob("_manifests/*/*.json")]:
        named.update(file["path"] for file in json.loads(proof.read_text())["files"])
    there = {
        str(file.relative_to(path))
        for file in path.rglob("*")
        if file.is_file()
        and not file.name.startswith((".", "_"))
        and not file.relative_to(path).parts[0].startswith("_")
    }
    if twice := [name for name, times in named.items() if times > 1]:
        yield f"files are named in two epochs: {twice}"
    if strangers := there - named.keys():
        yield f"files that no epoch names: {sorted(strangers)}"
    if lost := named.keys() - there:
        yield f"files that an epoch names are gone: {sorted(lost)}"


def _disordered(history: list[tuple[str, int, int, str]]) -> Iterator[str]:
    newest: dict[str, tuple[int, int]] = {}
    for pipeline, epoch, token, _state in history:
        before_epoch, before_token = newest.get(pipeline, (0, 0))
        if epoch not in (before_epoch, before_epoch + 1) or token < before_token:
            yield f"{pipeline}: epoch {epoch} of token {token} after {before_epoch}"
        newest[pipeline] = (epoch, token)
