"""Whether a job would read what it writes: then there is no end to it.

Names are compared as text, step by step: what a link leads to is not known here.
"""

from __future__ import annotations

from collections.abc import Iterator
from fnmatch import fnmatchcase
from types import MappingProxyType
from typing import Final

from conductor_py.pipelines.spec import Sink, Source

_BUCKETS: Final = ("s3://", "s3a://")
_MAGIC: Final = "*?["
_ANY: Final = "**"
_SOME: Final = "\0"
"""Whatever value the column of a folder has."""
_COMPRESSED_INSIDE: Final = MappingProxyType(
    {
        "parquet": ("snappy", "gz", "zstd", "lz4", "lz4raw", "lz4hadoop", "br", "lzo"),
        "orc": ("snappy", "zlib", "zstd", "lz4", "lzo", "brotli"),
    }
)
_ENDS: Final = MappingProxyType(
    {
        "bzip2": "bz2",
        "deflate": "deflate",
        "gzip": "gz",
        "lz4": "lz4",
        "snappy": "snappy",
        "zstd": "zst",
    }
)


def reads_back(source: Source, sink: Sink) -> str | None:
    """Return the pattern of a source that takes files of a sink in; ``None`` when none does."""
    folder = sink.settings.get("path")
    if source.kind != "file" or sink.kind != "file" or not isinstance(folder, str):
        return None
    written = tuple(_written(sink, folder))
    for pattern in source.settings.get("paths", ()):
        if isinstance(pattern, str) and "${" not in pattern + folder and _takes(pattern, written):
            return pattern
    return None


def _written(sink: Sink, folder: str) -> Iterator[str]:
    """List names such as a sink gives to its files."""
    staged = "data/x/x/x/" if sink.settings.get("visibility") == "manifest" else ""
    columns = (f"{name}={_SOME}/" for name in sink.settings.get("partition_by", ()))
    stem = f"{folder.rstrip('/')}/{staged}{''.join(columns)}part-x"
    form, options = str(sink.settings.get("format")), sink.settings.get("options", {})
    yield f"{stem}.{form}"
    if form in _COMPRESSED_INSIDE:
        yield from (f"{stem}.{codec}.{form}" for codec in _COMPRESSED_INSIDE[form])
    elif codec := _ENDS.get(str(options.get("compression")).lower()):
        yield f"{stem}.{form}.{codec}"


def _takes(pattern: str, names: tuple[str, ...]) -> bool:
    in_bucket = pattern.startswith(_BUCKETS)
    if in_bucket and pattern.endswith("/"):
        pattern += _ANY
    steps = _steps(pattern)
    named = next((at for at, step in enumerate(steps) if set(_MAGIC) & set(step)), len(steps))
    for name in map(_steps, names):
        if any(map(_is_hidden, name[named:])):
            continue
        # A folder on a disk that matches is read with all that is below it.
        shortest = len(name) if in_bucket else 1
        if any(_match(steps, name[:end]) for end in range(shortest, len(name) + 1)):
            return True
    return False


def _steps(path: str) -> tuple[str, ...]:
    path = path.removeprefix("file:")
    for scheme in _BUCKETS:
        path = path.replace(scheme, "/s3:/") if path.startswith(scheme) else path
    steps = ["/"]
    for step in path.split("/"):
        if step == ".." and steps[1:2] != ["s3:"]:
            steps[1:] = steps[1:-1]
        elif step not in {"", "."}:
            steps.append(step)
    return tuple(steps)


def _match(pattern: tuple[str, ...], name: tuple[str, ...]) -> bool:
    """Walk all places that the pattern may be at, one step of the name after the other."""
    here = _open(pattern, {0})
    for step in name:
        onward = {at if pattern[at] == _ANY else at + 1 for at in here if _fits(pattern, at, step)}
        here = _open(pattern, onward)
    return len(pattern) in here


def _open(pattern: tuple[str, ...], places: set[int]) -> set[int]:
    for at in sorted(places):
        while at < len(pattern) and pattern[at] == _ANY:
            at += 1  # noqa: PLW2901 - any number of steps may be none
            places.add(at)
    return places


def _fits(pattern: tuple[str, ...], at: int, step: str) -> bool:
    if at == len(pattern):
        return False
    wanted = pattern[at]
    if step.endswith(f"={_SOME}") and wanted.startswith(step.removesuffix(_SOME)):
        return True
    return wanted in {_ANY, step} or fnmatchcase(step, wanted)


def _is_hidden(step: str) -> bool:
    """Whether nothing below is read where a pattern does not name the step itself."""
    return step.startswith(".") or (step.startswith("_") and "=" not in step)
