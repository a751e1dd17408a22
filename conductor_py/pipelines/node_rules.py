"""What a node of a kind asks of its own settings."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import Final

from conductor_py.pipelines.chance import moments
from conductor_py.pipelines.client_options import database_findings, kafka_findings
from conductor_py.pipelines.format_options import option_findings, source_option_findings
from conductor_py.pipelines.kinds import SOURCES, is_foreign
from conductor_py.pipelines.measures import NEEDED, read_measure
from conductor_py.pipelines.spec import Job, Schema, Sink, Source, Transform

Finding = tuple[str, str]
"""A path below the node, and a sentence."""

_CUT_FORMATS: Final = {
    "bytes": ("csv", "json"),
    "row_groups": ("parquet",),
    "stripes": ("orc",),
}


_TIMED: Final[Mapping[str, tuple[str, tuple[str, ...], tuple[str, ...]]]] = MappingProxyType(
    {
        "aggregate": ("window_s", ("time",), ("slide_s", "lateness_s")),
        "dedup": ("within_s", ("time",), ()),
        "join": ("within_s", ("left_time", "right_time"), ("lateness_s",)),
    }
)
"""Kinds that can bound by time: the setting that does, the columns it needs, what goes with it."""
_IN_BUCKETS: Final = ("s3://", "s3a://")

_PLACE: Final = re.compile(r"/|file:/|s3a?://[^/]")
_DATABASE: Final = re.compile(r"(sqlite|postgres|postgresql|mysql|mariadb)://")


def place_findings(path: str, text: object) -> Iterator[Finding]:
    """Refuse a place for files that means another one on each worker, or that none can reach."""
    if isinstance(text, str) and "${" not in text and not _PLACE.match(text):
        yield path, f"must be an absolute path or s3://bucket/prefix, not {text!r}"


def source_findings(node: Source, job: Job) -> Iterator[Finding]:
    """List what is wrong with a source by itself."""
    if is_foreign(node.kind):
        return
    ways = SOURCES[node.kind].splits
    if node.split is not None and node.split.by not in ways:
        yield ".split.by", f"must be one of {', '.join(ways)}"
    if node.schema is not None and not node.schema.columns:
        yield ".schema.columns", "must hold at least one column"
    if node.read_as == "lookup":
        yield from _lookup_findings(node)
    yield from _SOURCES.get(node.kind, _nothing)(node, job)


def transform_findings(node: Transform, job: Job) -> Iterator[Finding]:
    """List what is wrong with a transform by itself."""
    if node.settings.get("emit") == "running":
        for name, text in node.settings["measures"].items():
            if read_measure(text) is None and "${" not in text:
                yield f".measures.{name}", NEEDED
    rule = _TIMED.get(node.kind)
    if rule is None:
        return
    span, times, others = rule
    if node.settings.get(span) is None:
        for name in (*times, *others):
            if node.settings.get(name):
                yield f".{name}", f"has a meaning beside {span} only"
        return
    for name in times:
        if not node.settings.get(name):
            yield f".{name}", f"must be given beside {span}: the column with the time of the event"
    yield from _of_event_time(node, job)


def _of_event_time(node: Transform, job: Job) -> Iterator[Finding]:
    settings, unbounded = node.settings, job.mode == "unbounded"
    if settings.get("emit") == "running":
        yield ".emit", "must be final for windows: each is sent once, when it is over"
    if settings.get("slide_s", 0) > settings.get("window_s", 0):
        yield ".slide_s", "must not be more than window_s; what lies between would be in no window"
    if settings.get("keep") == "last":
        yield ".keep", "must be first beside within_s"
    if settings.get("how") == "anti" and unbounded:
        yield ".how", "must not be anti in an unbounded job; take left, and keep rows without one"
    for path, word in moments(node) if unbounded else ():
        yield path, f"{word} has no meaning for a window that lasts; take the time from the row"
    if unbounded and job.env.work_dir.startswith(_IN_BUCKETS):
        message = f"must be a directory: Spark keeps the event-time state of {node.id} there itself"
        yield ".kind", f"env.work_dir {message}"


def sink_findings(node: Sink) -> Iterator[Finding]:
    """List what is wrong with a sink by itself."""
    settings = node.settings
    if node.kind == "file":
        yield from place_findings(".path", settings.get("path"))
        yield from _options(node)
        yield from _store_findings(node)
    if node.kind == "jdbc":
        yield from _database_findings(node)
        upserts = settings.get("write") == "upsert"
        if upserts and not settings.get("key"):
            yield ".key", "must be given for upsert: the columns that a row is found by"
        if not upserts and settings.get("key"):
            yield ".key", "has a meaning for upsert only; set write to upsert, or remove it"
    if node.kind == "kafka":
        yield from _client_options(node)
    if node.kind == "assert" and "rows" not in settings and not settings.get("checks"):
        yield "", "must have rows or checks; without them it asserts nothing"


def _lookup_findings(node: Source) -> Iterator[Finding]:
    if node.event_time is not None:
        yield ".event_time", "must not be given: a lookup is read whole, before the others"
    if node.kind == "kafka" or node.settings.get("watch"):
        yield ".read_as", "must be splits: this source never ends, so it is never read whole"


def _database_findings(node: Source | Sink) -> Iterator[Finding]:
    url = node.settings.get("url")
    if isinstance(url, str) and "${" not in url and not _DATABASE.match(url):
        yield ".url", "must begin with sqlite://, postgresql://, mysql:// or mariadb://"
    elif isinstance(url, str):
        for name, why in database_findings(url):
            yield ".url", f"{name} {why}"


def _client_options(node: Source | Sink) -> Iterator[Finding]:
    for name, why in kafka_findings(node.settings.get("options", {})):
        yield f".options['{name}']", why


def _file(node: Source, job: Job) -> Iterator[Finding]:
    for number, path in enumerate(node.settings.get("paths", ())):
        yield from place_findings(f".paths[{number}]", path)
    by = node.split.by if node.split else "file"
    formats, file_format = _CUT_FORMATS.get(by), node.settings.get("format")
    if formats is not None and file_format not in formats:
        yield ".split.by", f"{by} cuts {' and '.join(formats)} files; use file for {file_format}"
    options, form = node.settings.get("options", {}), str(file_format or "parquet")
    keys_matter = node.schema is not None and _drifts(node.schema)
    for name, why in source_option_findings(form, options, by=by, keys_matter=keys_matter):
        yield f".options['{name}']", why
    yield from _store_findings(node)
    lines = node.settings.get("options", {}).get("multiLine", "false")
    if by == "bytes" and str(lines).lower() == "true":
        yield ".split.by", "must be file when a value may hold an end of line (multiLine)"
    if node.settings.get("watch") and job.mode != "unbounded":
        yield ".watch", "must be false in a bounded job; set the job's mode to unbounded"


def _store_findings(node: Source | Sink) -> Iterator[Finding]:
    settings = node.settings
    if settings.get("endpoint") and not (settings.get("access_key") and settings.get("secret_key")):
        yield (
            ".endpoint",
            "needs access_key and secret_key: what the machine has is for the machine's own store",
        )


def _drifts(schema: Schema) -> bool:
    return schema.extra_columns != "ignore" or schema.missing_columns != "null"


def _options(node: Sink) -> Iterator[Finding]:
    given = node.settings.get("options", {})
    for name, why in option_findings(str(node.settings.get("format", "parquet")), given):
        yield f".options['{name}']", why


def _jdbc(node: Source, _: Job) -> Iterator[Finding]:
    yield from _database_findings(node)
    if node.schema is not None and node.schema.cast_errors == "null":
        yield ".schema.cast_errors", "must not be null: a value that is not of its type fails"
    yield from _columns_as_asked(node, "a query gives the columns that it names")
    if ("table" in node.settings) == ("query" in node.settings):
        yield ".table", "exactly one of table and query must be given"
    if "query" in node.settings:
        for name in ("columns", "where"):
            if node.settings.get(name):
                yield f".{name}", "goes with table only; write it into the query"
    split = node.split
    if split is not None and split.by == "key_range" and not split.column:
        yield ".split.column", "must be given for key_range: the column whose values are cut"


def _kafka(node: Source, _: Job) -> Iterator[Finding]:
    yield from _client_options(node)
    if node.settings.get("format") == "json" and node.schema is None:
        yield ".schema", "must be given for the format json: columns cannot be guessed"
    if node.settings.get("format") != "json" and node.schema is not None:
        yield ".schema", "has a meaning for the format json only"
    else:
        yield from _columns_as_asked(node, "of a message the declared columns are taken")


def _columns_as_asked(node: Source, why: str) -> Iterator[Finding]:
    """Refuse what files alone heed."""
    if node.schema is None:
        return
    if node.schema.extra_columns != "ignore":
        yield ".schema.extra_columns", f"must be ignore: {why}"
    if node.kind == "kafka" and node.schema.missing_columns != "null":
        yield ".schema.missing_columns", f"must be null: {why}"


def _generator(node: Source, _: Job) -> Iterator[Finding]:
    if node.schema is not None:
        yield ".schema", "must not be given: the generator's columns are id, number, text and at"


def _nothing(_node: Source, _job: Job) -> Iterator[Finding]:
    return iter(())


_SOURCES: Final[Mapping[str, Callable[[Source, Job], Iterator[Finding]]]] = MappingProxyType(
    {"file": _file, "jdbc": _jdbc, "kafka": _kafka, "generator": _generator}
)
