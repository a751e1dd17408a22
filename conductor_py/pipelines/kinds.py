"""The kinds of nodes that come with the product, and the settings of each.

One table is read by the form that checks a job, by the published schema, and by the hash that tells
whether a change gives the data another meaning. A third party's kind contains a dot (``acme.sap``).
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import Any, Final, Literal

from conductor_py.records import dataclass, field


class Form(StrEnum):
    """What a setting looks like in JSON."""

    TEXT = "text"
    SECRET = "text or secret"  # noqa: S105 - the name of a form
    WHOLE = "whole number"
    NUMBER = "number"
    FLAG = "true or false"
    SIZE = "size"
    CHOICE = "choice"
    TEXTS = "list of texts"
    SECRETS = "list of texts or secrets"
    TEXT_MAP = "texts by name"
    OPTIONS = "options by name"
    SECRET_OPTIONS = "options or secrets by name"  # noqa: S105 - the name of a form
    PAIRS = "pairs of columns"
    OBJECT = "object"


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """One setting. ``meaning``: a change of it changes which rows there are or what is in them."""

    form: Form
    doc: str
    required: bool = False
    default: Any = None
    choices: tuple[str, ...] = ()
    least: float | None = None
    meaning: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Kind:
    """A kind of node. ``splits`` are the ways to cut it, the first is the default; ``inputs`` the
    names of a transform's inputs, empty when its author chooses them.
    """

    role: Literal["source", "transform", "sink"]
    doc: str
    settings: Mapping[str, Setting] = field(default_factory=dict)
    splits: tuple[str, ...] = ()
    inputs: tuple[str, ...] = ()
    least_inputs: int = 1
    most_inputs: int | None = 1


def _needed(form: Form, doc: str, **more: Any) -> Setting:  # noqa: ANN401 - members of Setting
    return Setting(form=form, doc=doc, required=True, **more)


def _choice(doc: str, *choices: str, default: str | None = None) -> Setting:
    return Setting(
        form=Form.CHOICE, doc=doc, choices=choices, default=default, required=default is None
    )


def _secret(doc: str, **more: Any) -> Setting:  # noqa: ANN401 - members of Setting
    """Make a setting of access: another password gives the same rows."""
    return Setting(form=Form.SECRET, doc=doc, **{"meaning": False, **more})


def _tuning(form: Form, doc: str, default: Any, least: float | None = None) -> Setting:  # noqa: ANN401
    return Setting(form=form, doc=doc, default=default, least=least, meaning=False)


_FORMATS: Final = ("csv", "json", "parquet", "orc")
_HOW: Final = ("inner", "left", "right", "full", "semi", "anti")

_S3: Final = {
    "endpoint": Setting(
        form=Form.TEXT, doc="URL of the object store; absent: Amazon's", meaning=False
    ),
    "region": _tuning(Form.TEXT, "region of the bucket", "us-east-1"),
    "access_key": _secret("access key; absent: what the machine offers"),
    "secret_key": _secret("secret key; absent: what the machine offers"),
}

_REACH: Final = _choice(
    "how much of its input it must see: single rows of it, or everything at once",
    *("row", "blocking"),
    default="row",
)

_TIME: Final = Setting(form=Form.TEXT, doc="column with the time of the event")
_LATENESS: Final = Setting(
    form=Form.NUMBER, doc="seconds behind the newest that rows are waited for", default=0, least=0
)


def _seconds(doc: str) -> Setting:
    return Setting(form=Form.NUMBER, doc=doc, least=0.001)


_JDBC: Final = {
    "url": _secret(
        "sqlite:///path, postgresql://…, mysql://… or mariadb://…", required=True, meaning=True
    ),
    "user": _secret("user, when the URL has none"),
    "password": _secret("password, when the URL has none"),
}

_LOCK_WAIT: Final = _tuning(Form.NUMBER, "seconds to wait for a locked table", 30, 0)

_KAFKA: Final = {
    "servers": _secret("host:port of brokers, separated by commas", required=True),
    "options": _tuning(Form.SECRET_OPTIONS, "options of the Kafka client, those on a list", {}),
}

SOURCES: Final[Mapping[str, Kind]] = MappingProxyType(
    {
        "file": Kind(
            role="source",
            doc="Files on a disk or in an object store.",
            splits=("file", "bytes", "row_groups", "stripes"),
            settings={
                # Another path is more of the same: what was discovered stays discovered.
                "paths": _needed(
                    Form.TEXTS, "patterns or folders, local or s3://bucket/prefix", meaning=False
                ),
                "format": _choice("form of the files; json is one object a line", *_FORMATS),
                "options": Setting(form=Form.OPTIONS, doc="Spark's for the format", default={}),
                "watch": Setting(
                    form=Form.FLAG, doc="go on looking for new files; unbounded only", default=False
                ),
                "poll_s": _tuning(Form.NUMBER, "seconds between two looks", 10, 0.1),
                "changed_file": _choice(
                    "what to do about a file that changed after it was found",
                    "fail",
                    default="fail",
                ),
                **_S3,
            },
        ),
        "jdbc": Kind(
            role="source",
            doc="A table or a query of a database.",
            splits=("whole", "key_range"),
            settings={
                **_JDBC,
                "table": Setting(form=Form.TEXT, doc="table, with its schema; or query"),
                "query": Setting(form=Form.TEXT, doc="a SELECT; or table"),
                "columns": Setting(form=Form.TEXTS, doc="columns; empty: all", default=()),
                "where": Setting(form=Form.TEXT, doc="condition in the database's SQL"),
                "fetch_rows": _tuning(Form.WHOLE, "rows fetched at once", 10_000, 1),
                "lock_wait_s": _LOCK_WAIT,
            },
        ),
        "kafka": Kind(
            role="source",
            doc="Topics of Kafka.",
            splits=("offsets",),
            settings={
                **_KAFKA,
                "topics": _needed(Form.TEXTS, "names of topics"),
                "start": _choice(
                    "where partitions begin that were never read",
                    *("earliest", "latest"),
                    default="earliest",
                ),
                "format": _choice(
                    "raw: bytes, text: strings, json: the columns of the declared schema",
                    *("raw", "text", "json"),
                    default="raw",
                ),
                "data_lost": _choice(
                    "when what was to be read has expired", "fail", "skip", default="fail"
                ),
                "isolation": _choice(
                    "whether transactions that are open or aborted are read",
                    *("read_committed", "read_uncommitted"),
                    default="read_committed",
                ),
                "timeout_s": _tuning(Form.NUMBER, "seconds to wait for a broker", 30, 0.1),
            },
        ),
        "generator": Kind(
            role="source",
            doc="Rows made from their number, for trials and tests.",
            splits=("range",),
            settings={
                "rows": _needed(Form.WHOLE, "how many", least=0),
                "seed": Setting(form=Form.WHOLE, doc="what the numbers come from", default=0),
                "in_python": _tuning(Form.FLAG, "made by Python instead of Spark", default=False),
            },
        ),
    }
)

TRANSFORMS: Final[Mapping[str, Kind]] = MappingProxyType(
    {
        "sql": Kind(
            role="transform",
            doc="A query; its inputs are views of those names.",
            most_inputs=None,
            settings={"query": _needed(Form.TEXT, "a SELECT of Spark SQL"), "reach": _REACH},
        ),
        "map": Kind(
            role="transform",
            doc="Columns computed from each row.",
            settings={
                "select": _needed(Form.TEXT_MAP, "SQL expressions by column"),
                "keep_others": Setting(
                    form=Form.FLAG, doc="keep the columns that are not named", default=False
                ),
            },
        ),
        "filter": Kind(
            role="transform",
            doc="Rows that meet a condition.",
            settings={"where": _needed(Form.TEXT, "an SQL condition")},
        ),
        "lookup": Kind(
            role="transform",
            doc="Each row beside its partners in a small source that is read whole, once.",
            inputs=("main", "side"),
            least_inputs=2,
            most_inputs=2,
            settings={
                "on": _needed(Form.PAIRS, "columns that must be equal: [main, side]"),
                "how": _choice(
                    "rows without a partner stay, or go", "left", "inner", default="left"
                ),
            },
        ),
        "union": Kind(
            role="transform",
            doc="The rows of all inputs, columns by name.",
            least_inputs=2,
            most_inputs=None,
        ),
        "dedup": Kind(
            role="transform",
            doc="One row for each key.",
            settings={
                "keys": _needed(Form.TEXTS, "columns"),
                "keep": _choice(
                    "first: as rows come; last: the input must have ended",
                    *("first", "last"),
                    default="first",
                ),
                "time": _TIME,
                "within_s": _seconds("seconds after which a key is forgotten; needs time"),
            },
        ),
        "aggregate": Kind(
            role="transform",
            doc="Sums over groups of rows.",
            settings={
                "group_by": Setting(form=Form.TEXTS, doc="columns; empty: one group", default=()),
                "measures": _needed(Form.TEXT_MAP, "SQL aggregates by column"),
                "emit": _choice(
                    "final: once, at the end; running: changed groups, each epoch",
                    *("final", "running"),
                    default="final",
                ),
                "time": _TIME,
                "window_s": _seconds("seconds of a window of time; a group is one of each"),
                "slide_s": _seconds("seconds between two windows; absent: they follow each other"),
                "lateness_s": _LATENESS,
            },
        ),
        "join": Kind(
            role="transform",
            doc="Pairs of rows of two inputs; both are seen whole, unless within_s bounds them.",
            inputs=("left", "right"),
            least_inputs=2,
            most_inputs=2,
            settings={
                "on": _needed(Form.PAIRS, "columns that must be equal: [left, right]"),
                "how": _choice("the join", *_HOW, default="inner"),
                "left_time": _TIME,
                "right_time": _TIME,
                "within_s": _seconds("most seconds between partners; needs both times"),
                "lateness_s": _LATENESS,
            },
        ),
        "python": Kind(
            role="transform",
            doc="A function of frames, from a module that the worker allows.",
            most_inputs=None,
            settings={
                "function": _needed(Form.TEXT, "package.module:function"),
                "arguments": Setting(form=Form.OBJECT, doc="its arguments", default={}),
                "reach": _REACH,
            },
        ),
    }
)

SINKS: Final[Mapping[str, Kind]] = MappingProxyType(
    {
        "file": Kind(
            role="sink",
            doc="Files on a disk or in an object store.",
            settings={
                "path": _needed(Form.TEXT, "folder, local or s3://bucket/prefix"),
                "format": _choice("form of the files", *_FORMATS),
                "options": Setting(form=Form.OPTIONS, doc="Spark's for the format", default={}),
                "partition_by": Setting(
                    form=Form.TEXTS, doc="columns that become folders", default=()
                ),
                "visibility": _choice(
                    "publish: files appear with the commit; manifest: files count that it lists",
                    *("publish", "manifest"),
                    default="publish",
                ),
                "target_file_size": _tuning(Form.SIZE, "bytes of a file", 128 << 20, 1 << 16),
                **_S3,
            },
        ),
        "jdbc": Kind(
            role="sink",
            doc="A table of a database.",
            settings={
                **_JDBC,
                "table": _needed(Form.TEXT, "table, with its schema"),
                "write": _choice(
                    "new rows, or rows replaced by key", "append", "upsert", default="append"
                ),
                "key": Setting(form=Form.TEXTS, doc="columns of the key, for upsert", default=()),
                "create": _tuning(Form.FLAG, "make the table when it is missing", default=False),
                "batch_rows": _tuning(Form.WHOLE, "rows a statement", 1_000, 1),
                "lock_wait_s": _LOCK_WAIT,
            },
        ),
        "elasticsearch": Kind(
            role="sink",
            doc="An index of Elasticsearch or OpenSearch.",
            settings={
                "hosts": _needed(Form.SECRETS, "URLs of servers", meaning=False),
                "index": _needed(Form.TEXT, "name of the index"),
                "id_from": Setting(
                    form=Form.TEXTS, doc="columns that make a document's id", default=()
                ),
                "auth": _secret("user:password, or ApiKey …"),
                "refresh": _tuning(Form.FLAG, "make documents searchable at once", default=False),
                "bulk_bytes": _tuning(Form.SIZE, "bytes a request", 5 << 20),
                "evidence_index": Setting(
                    form=Form.TEXT, doc="index that keeps the epochs", default="conductor-epochs"
                ),
                "timeout_s": _tuning(Form.NUMBER, "seconds to wait for an answer", 30, 0.1),
            },
        ),
        "kafka": Kind(
            role="sink",
            doc="A topic of Kafka, an epoch a transaction.",
            settings={
                **_KAFKA,
                "topic": _needed(Form.TEXT, "name of the topic"),
                "key": Setting(form=Form.TEXT, doc="column of the message's key"),
                "value": Setting(
                    form=Form.TEXT, doc="column of the message; absent: all columns as JSON"
                ),
                "control_topic": Setting(
                    form=Form.TEXT, doc="topic that keeps the epochs", default="conductor-epochs"
                ),
                "transaction_timeout_s": _tuning(
                    Form.NUMBER, "seconds that a transaction may take", 300, 1
                ),
            },
        ),
        "console": Kind(
            role="sink",
            doc="The worker's log, for trials.",
            settings={"rows": _tuning(Form.WHOLE, "most rows an epoch", 20, 1)},
        ),
        "assert": Kind(
            role="sink",
            doc="Conditions that rows must meet, for tests.",
            settings={
                "rows": Setting(form=Form.WHOLE, doc="how many there must be in all", least=0),
                "checks": Setting(
                    form=Form.TEXT_MAP, doc="SQL conditions that each row must meet", default={}
                ),
            },
        ),
    }
)


def is_foreign(kind: str) -> bool:
    """Tell whether a kind is a third party's."""
    return "." in kind
