"""Takes lines apart in Python: JSON where each row's own keys matter, which Spark does not tell,
and whatever is read without a session.
"""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from conductor_py.pipelines.record import SplitDescriptor
from conductor_py.records import dataclass, field
from conductor_workers.pipelines.connectors import RAW
from conductor_workers.pipelines.csv_form import dialect_of
from conductor_workers.pipelines.shapes import WrittenFloat
from conductor_workers.pipelines.sources.drift import EXTRA, LENIENT, DriftRule
from conductor_workers.pipelines.sources.header import columns_of, names_in
from conductor_workers.pipelines.sources.pieces import ROWS, Lines, as_text

if TYPE_CHECKING:
    import pyarrow as pa

#: Numbers stay as they are written: a decimal that has been a float is another one.
_DECODER: Final = json.JSONDecoder(parse_float=str, parse_int=str, parse_constant=str)
_BLANKS: Final = " \t\r\n"
#: Texts, to be passed over, and numbers that Spark reads and Python does not.
_ENDLESS: Final = re.compile(
    r'"(?:[^"\\]++|\\.)*+"?|(?<![\w.+-])(?:[+-]INF|\+Infinity)(?![\w.])', re.DOTALL
)


@dataclass(frozen=True, slots=True, kw_only=True)
class LineReader:
    """CSV or JSON lines; ``columns`` are the columns wanted, in order, each as text."""

    lines: Lines
    columns: tuple[str, ...]
    options: Mapping[str, str] = field(default_factory=dict)
    drift: DriftRule = LENIENT

    @property
    def made(self) -> tuple[str, ...]:
        """The columns of the batches."""
        return (*self.columns, *((EXTRA,) if self.drift.captures else ()), RAW)

    def read(self, split: SplitDescriptor) -> Iterator[pa.RecordBatch]:
        """See ``SplitReader``; the batches have ``columns``, ``_extra`` if it is captured, and
        ``_raw``, all text.
        """
        import pyarrow as pa

        path, names = str(split.descriptor["path"]), self.columns
        if self.lines.header:
            head = names_in(self.lines.head(split), self.options)
            names = columns_of(head, self.options, self.columns, path) or names
        lines = self.lines.of(split)
        for at in range(0, len(lines), ROWS):
            rows = [
                row
                for line in lines[at : at + ROWS]
                for row in (
                    self._objects(line, path)
                    if self.lines.format == "json"
                    else [self._values(as_text(line), names)]
                )
            ]
            columns = [[row[at] for row in rows] for at in range(len(self.made))]
            arrays = [pa.array(column, pa.string()) for column in columns]
            yield pa.RecordBatch.from_arrays(arrays, names=list(self.made))

    def _values(self, line: str, names: Sequence[str]) -> list[str | None]:
        values = next(csv.reader([line], **dialect_of(self.options)), [])
        if len(values) != len(names):
            return self._unreadable(line)
        found = dict(zip(names, values, strict=True))
        none = ("", self.options.get("nullValue", ""))
        texts = (found.get(name) for name in self.columns)
        return [*(None if text in none else text for text in texts), None]

    def _objects(self, line: bytes, path: str) -> list[list[str | None]]:
        """Return the rows of a line as Spark does: a list of objects is as many, and what follows
        the first value is not looked at.
        """
        try:
            text = line.decode("utf-8-sig").lstrip(_BLANKS)
            document, read = _first(text)
        except (ValueError, RecursionError):
            return [self._unreadable(as_text(line))]
        if isinstance(document, dict):
            return [self._fields(document, text, read, path)]
        if not isinstance(document, list) or not all(isinstance(each, dict) for each in document):
            return [self._unreadable(as_text(line))]
        pairs = zip(document, _elements(read), strict=True)
        return [self._fields(each, text[part], read[part], path) for each, part in pairs]

    def _fields(
        self, document: Mapping[str, Any], text: str, read: str, path: str
    ) -> list[str | None]:
        self.drift.check(document, self.columns, f"{path}, a row of it,")
        found = _named(document, text, read, self.columns)
        if self.drift.captures:
            more = [name for name in document if name not in self.columns]
            written = _members(text, read) if more else {}
            found.append(_object({n: written[n] for n in more if document[n] is not None}, more))
        return [*found, None]

    def _unreadable(self, line: str) -> list[str | None]:
        return [*[None] * (len(self.made) - 1), line]


@dataclass(frozen=True, slots=True)
class TypedLines:
    """Lines with the types of the schema; a value that does not fit is NULL."""

    rows: LineReader
    schema: pa.Schema

    def read(self, split: SplitDescriptor) -> Iterator[pa.RecordBatch]:
        """See ``SplitReader``."""
        import pyarrow as pa

        for batch in self.rows.read(split):
            columns = [
                _cast(batch.column(batch.schema.get_field_index(each.name)), each.type)
                if each.name in batch.schema.names
                else pa.nulls(batch.num_rows, each.type)
                for each in self.schema
            ]
            yield pa.RecordBatch.from_arrays(columns, schema=self.schema)


def _cast(column: Any, kind: Any) -> Any:  # noqa: ANN401 - pyarrow has no types
    import pyarrow as pa

    try:
        return column.cast(kind)
    except pa.ArrowInvalid:
        return pa.array([_scalar(value, kind) for value in column], kind)


def _scalar(value: Any, kind: Any) -> Any:  # noqa: ANN401 - pyarrow has no types
    import pyarrow as pa

    try:
        return value.cast(kind).as_py()
    except pa.ArrowInvalid:
        return None


def members_in(message: bytes, names: Sequence[str]) -> list[str | None] | None:
    """Return the members of a message's object that have these names, each as it is written; None
    where it is no object.
    """
    try:
        text = _decoded(message)
        document = _DECODER.decode(text)
    except (ValueError, RecursionError):
        return None
    return _named(document, text, text, names) if isinstance(document, dict) else None


def object_in(message: bytes) -> dict[str, Any] | None:
    """Return a message's object, whose numbers remember how they are written; None where it is no
    object.
    """
    try:
        document = json.loads(_decoded(message), parse_float=WrittenFloat)
    except (ValueError, RecursionError):
        return None
    return document if isinstance(document, dict) else None


def _decoded(message: bytes) -> str:
    return message.decode(json.detect_encoding(message), "surrogatepass")


def _first(text: str) -> tuple[Any, str]:
    """Return the first value of a text, and the text that it was read from, which is as long: other
    numbers stand there for those that Spark alone reads. Raises ``ValueError``.
    """
    try:
        return _DECODER.raw_decode(text)[0], text
    except ValueError:
        read = _ENDLESS.sub(_passed, text)
        if read == text:
            raise
        return _DECODER.raw_decode(read)[0], read


def _passed(found: re.Match[str]) -> str:
    return found[0] if found[0].startswith('"') else "1" * len(found[0])


def _named(
    document: Mapping[str, Any], text: str, read: str, names: Sequence[str]
) -> list[str | None]:
    deep = any(isinstance(document.get(name), dict | list) for name in names)
    written = _members(text, read) if deep or read != text else {}
    return [_text(document.get(name), written.get(name)) for name in names]


def _text(value: Any, written: str | None) -> str | None:  # noqa: ANN401 - any JSON
    if value is None:
        return None
    if written is None or written.startswith('"'):
        written = value if isinstance(value, str) else json.dumps(value)
    # Half of a surrogate pair is no text; Spark makes it a question mark, too.
    return written.encode("utf-8", "replace").decode()


def _members(text: str, read: str) -> dict[str, str]:
    """Return the members of an object that could be read, each value as it is written."""
    found, at = dict[str, str](), read.index("{") + 1
    while read[at := _shown(read, at)] != "}":
        at = _shown(read, at + 1) if read[at] == "," else at
        name, at = _DECODER.raw_decode(read, at)
        begin = _shown(read, _shown(read, at) + 1)
        _, at = _DECODER.raw_decode(read, begin)
        found[name] = text[begin:at]
    return found


def _elements(read: str) -> list[slice]:
    """Return where the elements of a list that could be read stand."""
    found, at = list[slice](), read.index("[") + 1
    while read[at := _shown(read, at)] != "]":
        begin = _shown(read, at + 1) if read[at] == "," else at
        _, at = _DECODER.raw_decode(read, begin)
        found.append(slice(begin, at))
    return found


def _shown(text: str, at: int) -> int:
    """Return where the next character stands that is no blank."""
    while text[at] in _BLANKS:
        at += 1
    return at


def _object(members: Mapping[str, str], named: Sequence[str]) -> str | None:
    """Return members as one object; None where a row has none but the columns."""
    if not named:
        return None
    pairs = (f"{json.dumps(name, ensure_ascii=False)}:{text}" for name, text in members.items())
    text = f"{{{','.join(pairs)}}}"
    return text.encode("utf-8", "replace").decode()
