"""Options of file formats that may be given: those that say how values are read and written.

Spark hands every option on to file systems and codecs, where some name a class to load, a server
to ask, or what all later tasks of the worker get. So there is a list, in Spark's spelling.
"""

from __future__ import annotations

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
        elif name == "compression" and "${" not in str(value) and str(value) not in _CODECS:
            yield name, f"must be one of {', '.join(sorted(_CODECS))}"
