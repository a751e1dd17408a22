"""Compressed files of lines, as who reads them in a task sees them: whole, and never cut."""

from __future__ import annotations

import bz2
import gzip
import lzma
from contextlib import AbstractContextManager, nullcontext
from typing import BinaryIO, Final, cast

from conductor_workers.pipelines.connectors import SourceProblem

COMPRESSED: Final = (".gz", ".bz2", ".zst", ".lz4", ".snappy", ".xz", ".deflate")
"""Ends of names that say so, as Spark knows them."""


def is_compressed(path: str) -> bool:
    """Say whether a file's name says so."""
    return path.endswith(COMPRESSED)


def decompressed(file: BinaryIO, path: str) -> AbstractContextManager[BinaryIO]:
    """Return the content of a file of that name. Raises ``SOURCE_CHANGED`` for a compression that
    Spark alone reads, as it does with local files.
    """
    if not is_compressed(path):
        return nullcontext(file)
    if path.endswith(".gz"):
        return cast("AbstractContextManager[BinaryIO]", gzip.GzipFile(fileobj=file))
    if path.endswith(".bz2"):
        return cast("AbstractContextManager[BinaryIO]", bz2.BZ2File(file))
    if path.endswith(".xz"):
        return cast("AbstractContextManager[BinaryIO]", lzma.LZMAFile(file))
    ending = path.rpartition(".")[2]
    raise SourceProblem(
        "SOURCE_UNREADABLE",
        f"The file {path} is compressed as .{ending}, and only .gz, .bz2 and .xz can be read here.",
    )
