"""Lines of CSV on their way to Spark: those that all readers understand alike are taken apart in
tasks, fast; the others go on as lines, which Spark takes apart by its own rules.

All readers agree on rows with as many values as there are columns, whose quotes stand around whole
values, or twice in such a one.
"""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from conductor_py.pipelines.record import SplitDescriptor
from conductor_py.records import dataclass
from conductor_workers.pipelines.csv_form import quote_of, separator_of
from conductor_workers.pipelines.sources.pieces import LINE, ROWS, Lines, as_texts

if TYPE_CHECKING:
    import pyarrow as pa

#: Bytes that are judged together: one odd value sends no more than these the long way.
_BLOCK_BYTES: Final = 1 << 20
_NEWLINES: Final = (b"\n", b"\r")
#: Bytes that some readers see more in than others: a comment, a byte order mark.
_ODD: Final = (b"\0", b"\xef\xbb\xbf")
_MOST_COLUMNS: Final = 20_000


@dataclass(frozen=True, slots=True, kw_only=True)
class PlainRows:
    """Rows of a split, in order: their values in columns that are named by number, or the whole row
    in ``_line``.
    """

    lines: Lines
    columns: int
    options: Mapping[str, str]

    @property
    def made(self) -> tuple[str, ...]:
        """The columns of the batches, all text."""
        return (*map(str, range(self.columns)), LINE)

    def read(self, split: SplitDescriptor) -> Iterator[pa.RecordBatch]:
        """See ``SplitReader``."""
        content, at = self.lines.content(split), 0
        while at < len(content):
            end = content.find(b"\n", at + _BLOCK_BYTES) + 1 or len(content)
            block, at = content[at:end], end
            yield from self._plain(block) or self._others(block)

    def head(self, split: SplitDescriptor) -> bytes:
        """See ``Lines``."""
        return self.lines.head(split)

    def _others(self, block: bytes) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa

        lines = self.lines.shown(block)
        for at in range(0, len(lines), ROWS):
            texts = as_texts(lines[at : at + ROWS])
            none = pa.nulls(len(texts), pa.string())
            columns = [*[none] * self.columns, texts]
            yield pa.RecordBatch.from_arrays(columns, names=list(self.made))

    def _plain(self, block: bytes) -> list[pa.RecordBatch]:
        """Return the rows of a block that is plain; nothing for another."""
        import pyarrow as pa
        from pyarrow import csv

        if not self._is_plain(block):
            return []
        names = list(self.made[:-1])
        try:
            table = csv.read_csv(
                io.BytesIO(block),
                read_options=csv.ReadOptions(
                    column_names=names, use_threads=False, block_size=len(block) + 1
                ),
                parse_options=csv.ParseOptions(
                    delimiter=separator_of(self.options),
                    quote_char=quote_of(self.options) or False,
                ),
                convert_options=csv.ConvertOptions(
                    column_types=dict.fromkeys(names, pa.string()),
                    strings_can_be_null=True,
                    quoted_strings_can_be_null=False,
                    null_values=["", self.options.get("nullValue", "")],
                ),
            )
        except pa.ArrowInvalid:  # another count of values, or no UTF-8
            return []
        rows = table.append_column(LINE, pa.nulls(table.num_rows, pa.string()))
        return list(rows.to_batches(max_chunksize=ROWS))

    def _is_plain(self, block: bytes) -> bool:
        separator, quote = separator_of(self.options).encode(), quote_of(self.options).encode()
        if not 1 < self.columns < _MOST_COLUMNS or any(odd in block for odd in _ODD):
            return False
        # Where blanks stand between or around values a line of them is a row to some; what Spark
        # does not take for a separator is for it to refuse.
        if len(separator) != 1 or separator <= b" " or separator == b"\\":
            return False
        if len(quote) > 1 or (quote and quote <= b" "):
            return False
        if not quote or quote not in block:
            return True
        return not self.options.get("nullValue") and _around_values(block.split(quote), separator)


def _around_values(parts: Sequence[bytes], separator: bytes) -> bool:
    """Say whether the quotes between these parts stand around whole values, or twice in them."""
    ends = (separator, *_NEWLINES)
    first, last = parts[0], parts[-1]
    if len(parts) % 2 == 0 or (first and not first.endswith(ends)):
        return False
    if last and not last.startswith(ends):
        return False
    # What is empty between two quotes makes them one that is written twice.
    outside = set(parts[2:-1:2]) - {b""}
    if not all(part.startswith(ends) and part.endswith(ends) for part in outside):
        return False
    within = b"".join(parts[1::2])
    return not any(newline in within for newline in _NEWLINES)
