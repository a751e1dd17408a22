"""Options of file formats that may be given: those that say how values are read and written.

Spark hands every option on to file systems and codecs, where some name a class to load, a server
to ask, or what all later tasks of the worker get. So there is a list, in Spark's spelling.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Final

_FILES: Final = (
    *("compression", "ignoreCorruptFiles", "ignoreMissingFiles", "maxRecordsPerFile"),
    *("mergeSchema", "modifiedAfter", "modifiedBefore", "pathGlobFilter", "recursiveFileLookup"),
)
_TEXT: Final = (
    *("columnNameOfCorruptRecord", "dateFormat", "enableDateTimeParsingFallback", "encoding"),
    *("lineSep", "locale", "mode", "multiLine", "samplingRatio", "timestampFormat"),
    *("timestampNTZFormat", "timeZone"),
)
_CSV: Final = (
    *("charToEscapeQuoteEscaping", "comment", "delimiter", "emptyValue", "enforceSchema"),
    *("escape", "escapeQuotes", "header", "ignoreLeadingWhiteSpace", "ignoreTrailingWhiteSpace"),
    *("inferSchema", "maxCharsPerColumn", "maxColumns", "nanValue", "negativeInf", "nullValue"),
    *("positiveInf", "preferDate", "quote", "quoteAll", "sep", "unescapedQuoteHandling"),
)
_JSON: Final = (
    *("allowBackslashEscapingAnyCharacter", "allowComments", "allowNonNumericNumbers"),
    *("allowNumericLeadingZeros", "allowSingleQuotes", "allowUnquotedControlChars"),
    *("allowUnquotedFieldNames", "dropFieldIfAllNull", "ignoreNullFields", "prefersDecimal"),
    *("primitivesAsString", "writeNonAsciiCharacterAsCodePoint"),
)
_PARQUET: Final = ("datetimeRebaseMode", "int96RebaseMode")
_KNOWN: Final = MappingProxyType(
    {
        "csv": (*_FILES, *_TEXT, *_CSV),
        "json": (*_FILES, *_TEXT, *_JSON),
        "parquet": (*_FILES, *_PARQUET),
        "orc": _FILES,
    }
)
_CODECS: Final = frozenset(
    (
        *("brotli", "bzip2", "deflate", "gzip", "lz4", "lz4_raw", "lzo", "none", "snappy"),
        *("uncompressed", "zlib", "zstd"),
    )
)
#: Spark takes one character for each, or none.
_SIGNS: Final = frozenset({"charToEscapeQuoteEscaping", "comment", "escape", "quote"})
_SEPARATORS: Final = frozenset({"delimiter", "sep"})
#: Characters, and the escapes that Spark knows in a separator.
_SEPARATOR: Final = re.compile(r"""(?:[^\\]|\\[trbf"'\\])+""", re.DOTALL)

_LISTED: Final = "is not heeded: paths say which files are read"
_TYPED: Final = "is not heeded: text is given its type by SQL's own rules, and dateFormat and"
_WRITTEN: Final = "has a meaning for sinks only"
_BY_SCHEMA: Final = "is not heeded: schema says what is done about rows that do not fit"
#: Options that a source of a pipeline takes no notice of, for each format or for one; with why.
_UNHEEDED: Final[Mapping[str, str]] = MappingProxyType(
    {
        **dict.fromkeys(
            (
                *("ignoreCorruptFiles", "ignoreMissingFiles", "modifiedAfter", "modifiedBefore"),
                *("pathGlobFilter", "recursiveFileLookup"),
            ),
            _LISTED,
        ),
        **dict.fromkeys(
            (
                *("compression", "maxRecordsPerFile", "escapeQuotes", "quoteAll"),
                *("ignoreNullFields", "writeNonAsciiCharacterAsCodePoint"),
            ),
            _WRITTEN,
        ),
        **dict.fromkeys(("columnNameOfCorruptRecord", "enforceSchema", "mode"), _BY_SCHEMA),
        **dict.fromkeys(
            (
                *("enableDateTimeParsingFallback", "locale", "nanValue", "negativeInf"),
                *("positiveInf", "preferDate", "timestampNTZFormat"),
            ),
            f"{_TYPED} timestampFormat",
        ),
        "timeZone": "is not heeded; set spark.sql.session.timeZone in env.spark",
    }
)
#: What an option may say, since it says what is done.
_SO_ANYWAY: Final = frozenset({("mode", "permissive"), ("enforceSchema", "true")})
_OF_ROWS: Final = ("dateFormat", "timestampFormat")


def source_option_findings(
    format: str, options: Mapping[str, object], *, by: str, keys_matter: bool
) -> Iterator[tuple[str, str]]:
    """List the options that a source of a pipeline does not heed, beside those it does not take.

    ``keys_matter``: its schema says something about columns that come or go.
    """
    refused = set[str]()
    for name, why in option_findings(format, options):
        refused.add(name)
        yield name, why
    for name, value in options.items():
        text = str(value)
        if name in refused or (name, text.lower()) in _SO_ANYWAY:
            continue
        if name in _UNHEEDED:
            yield name, _UNHEEDED[name]
        elif name in _PARQUET and by == "row_groups":
            yield name, "is heeded for whole files only; set split.by to file"
        elif format == "json" and keys_matter and name not in _OF_ROWS:
            yield name, "cannot be heeded while schema tells of columns that come or go"
        elif name == "encoding" and _needs_whole(text, format, options):
            yield name, f"must be UTF-8, ISO-8859-1 or US-ASCII, not {text}, without multiLine"


def _needs_whole(encoding: str, format: str, options: Mapping[str, object]) -> bool:
    """Say whether the ends of lines cannot be told by bytes."""
    whole = str(options.get("multiLine", "false")).lower() == "true"
    told = format == "json" and "lineSep" in options
    return encoding.upper().startswith(("UTF-16", "UTF-32")) and not whole and not told


def option_findings(format: str, options: Mapping[str, object]) -> Iterator[tuple[str, str]]:
    """List the options that a format does not take: the name, and why."""
    known = _KNOWN.get(format)
    if known is None:
        return
    spelt = {name.lower(): name for name in known}
    for name, value in options.items():
        if name not in known:
            meant = spelt.get(name.lower())
            hint = f"is written {meant}" if meant else f"is no option of {format}"
            yield name, f"{hint}; known are {', '.join(sorted(known))}"
        elif "${" not in str(value):
            yield from ((name, wrong) for wrong in _wrong_value(name, str(value)))


def _wrong_value(name: str, text: str) -> Iterator[str]:
    """Say why an option cannot have this value."""
    if name == "compression" and text not in _CODECS:
        yield f"must be one of {', '.join(sorted(_CODECS))}"
    elif name in _SIGNS and len(text) > 1:
        yield f"must be one character, not {len(text)}"
    elif name in _SEPARATORS and not text:
        yield "must be one character or more"
    elif name in _SEPARATORS and not _SEPARATOR.fullmatch(text):
        yield r"has a backslash that begins no escape; to separate by a backslash, write \\"
