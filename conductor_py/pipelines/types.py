"""Types of columns, as Spark SQL writes them: ``decimal(12,2)``, ``array<struct<a: int>>``."""

from __future__ import annotations

import re
from typing import Final

_PLAIN: Final = {
    "boolean": "boolean",
    "tinyint": "tinyint",
    "byte": "tinyint",
    "smallint": "smallint",
    "short": "smallint",
    "int": "int",
    "integer": "int",
    "bigint": "bigint",
    "long": "bigint",
    "float": "float",
    "real": "float",
    "double": "double",
    "date": "date",
    "timestamp": "timestamp",
    "timestamp_ltz": "timestamp",
    "timestamp_ntz": "timestamp_ntz",
    "string": "string",
    "binary": "binary",
    "variant": "variant",
}
"""Names to the one name that types are compared by."""

NUMBERS: Final = frozenset({"tinyint", "smallint", "int", "bigint", "float", "double", "decimal"})
TIMES: Final = frozenset({"timestamp", "timestamp_ntz", "date"})
_TOKEN = re.compile(r"\s*([A-Za-z_][A-Za-z0-9_]*|`[^`]+`|\d+|[<>(),:])")
_DEEPEST: Final = 20


class TypeUnknown(ValueError):
    """The text is no type of Spark SQL; the message says where it stops being one."""


def read_type(text: str) -> str:
    """Return the type in one form: lower case, one name each, no blanks. Raises ``TypeUnknown``."""
    reader = _Reader(text)
    found = reader.type(0)
    if reader.at < len(reader.tokens):
        raise reader.wrong("an end")
    return found


def family(canonical: str) -> str:
    """Name what a type is comparable within: ``number``, ``time``, or itself."""
    name = canonical.partition("(")[0]
    if name in NUMBERS:
        return "number"
    return "time" if name in TIMES else "string" if name in {"char", "varchar"} else canonical


class _Reader:
    """One pass over the tokens."""

    def __init__(self, text: str) -> None:
        self.text, self.tokens, self.at = text, [], 0
        end = 0
        while end < len(text.rstrip()):
            match = _TOKEN.match(text, end)
            if match is None:
                raise TypeUnknown(
                    f"is no type of Spark SQL: {text[end : end + 10]!r} is unexpected"
                )
            self.tokens.append(match[1])
            end = match.end()

    tokens: list[str]

    def wrong(self, wanted: str) -> TypeUnknown:
        found = repr(self.tokens[self.at]) if self.at < len(self.tokens) else "the end"
        return TypeUnknown(f"is no type of Spark SQL: {wanted} is expected, not {found}")

    def taken(self) -> str:
        self.at += 1
        return self.tokens[self.at - 1] if self.at <= len(self.tokens) else ""

    def next_is(self, token: str) -> bool:
        return self.at < len(self.tokens) and self.tokens[self.at] == token

    def expect(self, token: str) -> None:
        if not self.next_is(token):
            raise self.wrong(repr(token))
        self.at += 1

    def number(self) -> int:
        if self.at >= len(self.tokens) or not self.tokens[self.at].isdigit():
            raise self.wrong("a number")
        return int(self.taken())

    def type(self, depth: int) -> str:
        if depth > _DEEPEST:
            raise TypeUnknown(f"is nested more than {_DEEPEST} levels deep")
        name = self.taken().lower()
        if name in _PLAIN:
            return _PLAIN[name]
        if name in {"decimal", "dec", "numeric"}:
            return self.decimal()
        if name in {"char", "varchar"}:
            self.expect("(")
            length = self.number()
            self.expect(")")
            return f"{name}({length})"
        if name == "array":
            self.expect("<")
            inner = self.type(depth + 1)
            self.expect(">")
            return f"array<{inner}>"
        if name == "map":
            return self.map(depth)
        if name == "struct":
            return self.struct(depth)
        self.at -= 1
        raise self.wrong("the name of a type")

    def decimal(self) -> str:
        precision, scale = 10, 0
        if self.next_is("("):
            self.at += 1
            precision = self.number()
            if self.next_is(","):
                self.at += 1
                scale = self.number()
            self.expect(")")
        if not 1 <= precision <= 38 or scale > precision:
            raise TypeUnknown(f"decimal({precision},{scale}): 38 digits at most, scale within them")
        return f"decimal({precision},{scale})"

    def map(self, depth: int) -> str:
        self.expect("<")
        key = self.type(depth + 1)
        self.expect(",")
        value = self.type(depth + 1)
        self.expect(">")
        return f"map<{key},{value}>"

    def struct(self, depth: int) -> str:
        self.expect("<")
        members: list[str] = []
        while not members or self.next_is(","):
            if members:
                self.at += 1
            name = self.taken()
            if not name or not (name[0].isalpha() or name[0] in "_`"):
                self.at -= 1
                raise self.wrong("the name of a member")
            if self.next_is(":"):
                self.at += 1
            members.append(f"{name}:{self.type(depth + 1)}")
        self.expect(">")
        return f"struct<{','.join(members)}>"
