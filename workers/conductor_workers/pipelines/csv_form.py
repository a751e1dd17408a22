"""CSV as the worker writes and reads it, whoever does: by RFC 4180, where Spark has its own way.

A quote inside a quoted value is written twice; Spark would put a backslash before it, and read back
no other form. Blanks at the ends of a value stay; Spark would write it without. Whoever wants
Spark's ways sets ``escape`` and ``ignoreLeadingWhiteSpace``.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping
from typing import Any

_QUOTE = '"'
_TIMES = ("dateFormat", "timestampFormat")
_FLAGS = ("header", "inferSchema", "multiLine")
#: Options that readers of pieces heed as Spark does.
_HEEDED = {
    "csv": ("header", "sep", "delimiter", "quote", "nullValue", "inferSchema", *_TIMES),
    "json": _TIMES,
}


def form_options(format: str, given: Mapping[str, object]) -> dict[str, str]:
    """Return Spark's options of a format as the texts that Spark takes, completed."""
    options = {
        name: str(value).lower() if isinstance(value, bool) or name in _FLAGS else str(value)
        for name, value in given.items()
    }
    if format != "csv":
        return options
    kept = {"ignoreLeadingWhiteSpace": "false", "ignoreTrailingWhiteSpace": "false"}
    return {"escape": quote_of(options), **kept, **options}


def whole_only(format: str, options: Mapping[str, str]) -> list[str]:
    """List the options that Spark alone heeds: files read with them are not cut."""
    if format not in _HEEDED:
        return []
    plain = form_options(format, {"quote": quote_of(options), "multiLine": "false"})
    return sorted(
        name
        for name, text in options.items()
        if (name not in _HEEDED[format] and plain.get(name) != text)
        or (name in {"sep", "delimiter"} and len(separator_of(options)) != 1)
    )


def quote_of(options: Mapping[str, str]) -> str:
    """Return the character around values; empty for none."""
    return options.get("quote", _QUOTE)


def separator_of(options: Mapping[str, str]) -> str:
    """Return what stands between values."""
    separator = options.get("sep", options.get("delimiter", ","))
    return "\t" if separator == "\\t" else separator


def escape_of(options: Mapping[str, str]) -> str:
    """Return what stands before a quote inside a value; empty where the quote is written twice."""
    escape = options.get("escape", "")
    return "" if escape == quote_of(options) else escape


def header_line(names: Iterable[str], options: Mapping[str, str]) -> str:
    """Return the line that names the columns."""
    line, separator = io.StringIO(), separator_of(options)
    if len(separator) != 1:
        return separator.join(names)
    csv.writer(line, lineterminator="", **dialect_of(options)).writerow(names)
    return line.getvalue()


def names_in(line: str, options: Mapping[str, str]) -> tuple[str, ...]:
    """Return the column names that a first line gives."""
    separator = separator_of(options)
    if len(separator) != 1:
        return tuple(line.split(separator))
    return tuple(next(csv.reader([line], **dialect_of(options)), []))


def dialect_of(options: Mapping[str, str]) -> dict[str, Any]:
    """Return what tells Python's reader and writer of CSV how values are written."""
    quote = quote_of(options)
    return {
        "delimiter": separator_of(options),
        "quotechar": quote or None,
        "quoting": csv.QUOTE_MINIMAL if quote else csv.QUOTE_NONE,
        "escapechar": escape_of(options) or None,
        "doublequote": not escape_of(options),
    }
