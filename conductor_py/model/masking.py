"""Masking: documents without the values of named members, and texts without those values.

A value is found by its place, under the name of its member, and wherever it comes back in a text:
as it is, escaped as JSON, encoded for a URL, in hexadecimal, in base64 at each of its three
alignments. Values that are too short to tell from other words are masked by their place alone.
"""

from __future__ import annotations

import json
import re
from base64 import b64encode
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from string import ascii_letters, digits
from typing import Final

from conductor_py.model.json import JsonObject, JsonValue
from conductor_py.model.json_bounds import is_heavy

MASK: Final = "***"
"""What stands in the place of a value."""

SHORTEST: Final = 4
"""Characters that a value has at least that is looked for in texts."""

MOST: Final = 100
"""Values of one execution that are looked for inside of texts. With more of them reasons and log
lines are not shown, and in documents a text is masked that is one of them as a whole.
"""

MOST_WORK: Final = 20_000_000_000
"""Characters that one masker, and those that are joined to it, look at for one form or another:
some seconds. After that a text is masked as a whole.
"""

LONGEST: Final = 4_096
"""Characters of a value that is looked for whole. Of a longer one these are, and a text that has
them is masked as a whole.
"""

_EACH: Final = 64
"""What it takes to look for a form in a text of nothing, in characters."""
_FORMED: Final = 3_000
"""What it takes to make the forms of a character of a value, in characters that are looked at."""
_SORTED: Final = 1_500
"""What it takes to put a form in order."""
_SHORTEST_PART: Final = 8
"""Characters of a line, or of a text inside a value that is JSON, that is looked for by itself."""
_SHORTEST_BYTES: Final = 6
"""Of a value whose base64 is looked for: a shorter one would be found in other data."""
_LONGEST_CUT: Final = 512
"""Characters at the end of a text among which the beginning of a value is looked for."""
_KEPT: Final = frozenset(map(ord, ascii_letters + digits + "_.-~"))
_KEPT_IN_PATHS: Final = frozenset({*_KEPT, ord("/")})
_KEPT_IN_URLS: Final = frozenset({*_KEPT, *map(ord, "!#$%&'()*+,/:;=?@[]")})
_ESCAPED: Final = re.compile(r"%[0-9A-F]{2}")


def masked(document: JsonObject, names: Collection[str]) -> JsonObject:
    """Give a document without the values of the named members, at any depth."""
    return _without(document, frozenset(names)) if names else document


def values_in(document: JsonValue, names: Collection[str]) -> Iterator[str]:
    """List the texts and numbers that stand below members of these names, as texts."""
    names = frozenset(names)
    pending: list[tuple[JsonValue, bool]] = [(document, False)]
    while pending:
        value, hidden = pending.pop()
        if isinstance(value, Mapping):
            pending += [(item, hidden or name in names) for name, item in value.items()]
        elif isinstance(value, list | tuple):
            pending += [(item, hidden) for item in value]
        elif hidden and isinstance(value, str):
            yield value
        elif hidden and isinstance(value, int | float) and not isinstance(value, bool):
            yield str(value)


class Masker:
    """Takes values out of texts and documents. Safe for threads; nothing of it changes but what
    is left of its work.

    It looks for each form of each value in turn: the time is that of the text times the number of
    values, which ``most`` bounds, and ``MOST_WORK`` that of all texts.
    """

    __slots__ = ("_beside", "_most", "_own", "needles", "openings", "size", "withholds", "work")

    def __init__(
        self, values: Iterable[str], *, most: int | None = MOST, beside: Masker | None = None
    ) -> None:
        """``most``: see ``MOST``; ``None``: whatever it takes (values of the deployment, not of a
        caller). ``beside`` has further values.
        """
        own: set[str] = set()
        bulk = False
        for value in values:
            if most is not None and _is_bulk(value):
                bulk = True
                own.add(value)
            else:
                own.update(_parts(value))
        if beside is not None:
            own = {part for part in own if part not in beside}
        self._own = frozenset(own)
        self._beside = beside
        self._most = most
        # How many values are taken out, whether that are too many, and what is left to be done.
        self.size: int = len(own) + (beside.size if beside is not None else 0)
        self.withholds: bool = most is not None and (
            bulk or self.size > most or (beside is not None and beside.withholds)
        )
        self.work: _Work = (
            beside.work if beside is not None else _Work(None if most is None else MOST_WORK)
        )
        # The forms that are looked for, the longest first, and those that longer values begin with.
        self.needles: tuple[str, ...] = ()
        self.openings: frozenset[str] = frozenset()
        if not self.withholds:
            self.needles, self.openings = self._looked_for()

    def _looked_for(self) -> tuple[tuple[str, ...], frozenset[str]]:
        beside = self._beside
        forms = set() if beside is None else {*beside.needles}
        openings = set() if beside is None else {*beside.openings}
        for part in self._own:
            shown = part[:LONGEST]
            if not self.work.goes_on(len(shown) * _FORMED):
                break
            found = tuple(_forms(shown))
            forms.update(found)
            openings.update(found if len(part) > LONGEST else ())
        self.work.goes_on(len(forms) * _SORTED)
        needles = sorted(forms, key=lambda form: (-len(form), form))
        return tuple(needles), frozenset(openings)

    def joined(self, values: Iterable[str]) -> Masker:
        """Give one that knows these values, too: itself where it does."""
        new = [value for value in values if value not in self and len(value) >= SHORTEST]
        return Masker(new, most=self._most, beside=self) if new else self

    def __bool__(self) -> bool:
        """Whether there is anything to look for."""
        return self.size > 0

    def __contains__(self, value: object) -> bool:
        """Whether it is one of the values that are taken out."""
        return value in self._own or (self._beside is not None and value in self._beside)

    def text(self, text: str) -> str:
        """Give a text without the values."""
        if self.withholds or not self.work.goes_on((len(text) + _EACH) * len(self.needles)):
            return MASK if text else text
        for needle in self.needles:
            if needle in text:
                if needle in self.openings:
                    return MASK
                text = text.replace(needle, MASK)
        return text

    def reason(self, text: str) -> str:
        """Give a text that may have been cut off: without the beginning of a value at its end."""
        text = self.text(text)
        tail = text[-_LONGEST_CUT:].removesuffix('"')
        for needle in self.needles:
            if needle[:SHORTEST] in tail:
                if not self.work.goes_on(_LONGEST_CUT * _EACH):
                    return MASK
                for size in range(min(len(needle) - 1, len(tail)), SHORTEST - 1, -1):
                    if tail.endswith(needle[:size]):
                        end = len(text) - (text[-1] == '"')
                        return text[: end - size] + MASK + text[end:]
        return text

    def document(self, value: JsonValue) -> JsonValue:
        """Give a document without the values, in names of members, too."""
        if not self:
            return value
        change = self._equal if self.withholds else self.text
        return _mapped(value, change, self)

    def _equal(self, text: str) -> str:
        return MASK if text in self else text


class _Work:
    """What is left of the work that may be done, if that is bounded."""

    __slots__ = ("_left",)

    def __init__(self, most: int | None) -> None:
        self._left = most

    def goes_on(self, characters: int) -> bool:
        """Whether so many characters may still be looked at."""
        if self._left is None:
            return True
        self._left -= characters
        return self._left >= 0


def _without(document: JsonObject, names: frozenset[str]) -> JsonObject:
    return {
        name: MASK if name in names else _inside(item, names) for name, item in document.items()
    }


def _inside(value: JsonValue, names: frozenset[str]) -> JsonValue:
    if isinstance(value, Mapping):
        return _without(value, names)
    if isinstance(value, list | tuple):
        return [_inside(item, names) for item in value]
    return value


def _mapped(value: JsonValue, change: Callable[[str], str], numbers: Masker) -> JsonValue:
    if isinstance(value, str):
        return change(value)
    if isinstance(value, Mapping):
        return {change(name): _mapped(item, change, numbers) for name, item in value.items()}
    if isinstance(value, list | tuple):
        return [_mapped(item, change, numbers) for item in value]
    if isinstance(value, int | float) and not isinstance(value, bool) and str(value) in numbers:
        return MASK
    return value


def _parts(value: str) -> Iterator[str]:
    """The value, and what of it comes back by itself: the lines of a key, the texts of JSON."""
    if len(value) < SHORTEST:
        return
    yield value
    if "\n" in value:
        lines = (line.strip() for line in value.splitlines())
        yield from (line for line in lines if len(line) >= _SHORTEST_PART)
    if value[0] in "{[":
        yield from (text for text in _texts_of(value) if len(text) >= _SHORTEST_PART)


def _is_bulk(value: str) -> bool:
    """Whether it is JSON of so many values that the texts in it are too many to be looked for."""
    return value[:1] in {"{", "["} and is_heavy(value.encode(errors="surrogatepass"))


def _texts_of(value: str) -> Iterator[str]:
    try:
        pending = [json.loads(value)]
    except (ValueError, RecursionError):
        return
    while pending:
        item = pending.pop()
        if isinstance(item, dict):
            pending += item.values()
        elif isinstance(item, list):
            pending += item
        elif isinstance(item, str):
            yield item


def _forms(value: str) -> Iterator[str]:
    yield value
    for ascii_only in (True, False):
        escaped = json.dumps(value, ensure_ascii=ascii_only)[1:-1]
        yield escaped
        yield escaped.replace("/", "\\/")
        yield json.dumps(escaped, ensure_ascii=ascii_only)[1:-1]
    raw = value.encode(errors="surrogatepass")
    quoted = {_quoted(raw, kept) for kept in (_KEPT, _KEPT_IN_PATHS, _KEPT_IN_URLS)}
    for form in quoted | {_quoted(raw, _KEPT).replace("%20", "+")}:
        yield form
        yield _ESCAPED.sub(lambda found: found[0].lower(), form)
    yield raw.hex()
    yield raw.hex().upper()
    if len(raw) >= _SHORTEST_BYTES:
        yield from _base64(raw)


def _quoted(raw: bytes, kept: Collection[int]) -> str:
    return "".join(chr(byte) if byte in kept else f"%{byte:02X}" for byte in raw)


def _base64(raw: bytes) -> Iterator[str]:
    """What of its base64 does not depend on what stands before and behind, wherever it begins."""
    for before in range(3):
        first, end = (before * 8 + 5) // 6, (before + len(raw)) * 8 // 6
        form = b64encode(bytes(before) + raw)[first:end].decode()
        yield form
        yield form.replace("+", "-").replace("/", "_")
