"""What a setting is: declared once, beside the attribute that holds it.

A section is a frozen dataclass whose every field is declared by one of the functions here: key,
default as a user would write it, and a sentence. Reading, checking and documenting settings all
work from these declarations. Durations are kept in milliseconds, sizes in bytes.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Mapping
from typing import Any, Final, Literal, TypeAlias, cast

from conductor_py.model.codes import CodeLayout, layout_from
from conductor_py.records import dataclass

Kind: TypeAlias = Literal[
    "text", "flag", "count", "duration", "size", "choice", "names", "hosts", "layout"
]

_DURATION_MS: Final[Mapping[str, float]] = {
    "ns": 1e-6,
    "us": 1e-3,
    "ms": 1,
    "s": 1_000,
    "m": 60_000,
    "h": 3_600_000,
    "d": 86_400_000,
}
_SIZE_BYTES: Final[Mapping[str, int]] = {
    "B": 1,
    "KB": 1 << 10,
    "MB": 1 << 20,
    "GB": 1 << 30,
    "TB": 1 << 40,
}
_FLAGS: Final[Mapping[str, bool]] = {
    **dict.fromkeys(("true", "yes", "on", "1"), True),
    **dict.fromkeys(("false", "no", "off", "0"), False),
}
_NUMBER_AND_UNIT: Final = re.compile(r"([+-]?\d+)\s*([A-Za-z]*)")
_ISO_DURATION: Final = re.compile(
    r"P(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+(?:\.\d+)?)S)?)?", re.IGNORECASE
)
_PLAIN: Final = re.compile(r"[A-Za-z0-9._:-]+")
_PLAIN_LETTERS: Final = "letters, digits, '-', '_', '.' and ':', without blanks"
_HOST: Final = re.compile(r"(\[[^\]]+\]|[^:\[\]]+):(\d{1,5})(?::([^:]*)(?::(.*))?)?")


@dataclass(frozen=True, slots=True, kw_only=True)
class RedisHost:
    """One Redis node, as ``host:port:rack[:password]`` names it."""

    host: str
    port: int
    rack: str = ""
    password: str = dataclasses.field(default="", repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """One setting: ``default`` as text, ``unit`` that of bare numbers, bounds in the kept unit."""

    key: str
    kind: Kind
    default: str
    sentence: str
    unit: str = ""
    minimum: int = 0
    maximum: int | None = None
    choices: tuple[str, ...] = ()
    secret: bool = False
    plain: bool = False
    """Whether it names something in a record, where other letters would not be read back."""
    secret_path: bool = False
    """Whether it is a URL, or a part of one, whose path lets in whoever knows it."""

    @property
    def is_credential(self) -> bool:
        """Whether the value is a secret, or a URL that may hold one."""
        is_url = self.kind == "text" and self.key.lower().endswith(".url")
        return self.secret or self.secret_path or is_url

    def parse(self, text: str) -> object:
        """Turn text into the value; raises ValueError whose message says what would be right."""
        value = _PARSERS[self.kind](self, text.strip())
        if isinstance(value, int) and self.kind != "flag":
            if value < self.minimum:
                raise ValueError(f"at least {self.render(self.minimum)}")
            if self.maximum is not None and value > self.maximum:
                raise ValueError(f"at most {self.render(self.maximum)}")
        if self.plain and not all(map(_PLAIN.fullmatch, _words(value))):
            raise ValueError(f"names of {_PLAIN_LETTERS}")
        return value

    def render(self, value: int) -> str:
        """Write a number of this setting as a user would."""
        if self.kind == "duration":
            return f"{value}ms" if value % 1_000 else f"{value // 1_000}s"
        if self.kind == "size":
            return f"{value}B" if value % 1_024 else f"{value // 1_024}KB"
        return str(value)


def setting_of(field: dataclasses.Field[Any]) -> Setting:
    """Return the declaration behind a section's field."""
    return cast("Setting", field.metadata["setting"])


def _declare(setting: Setting) -> object:
    default = setting.parse(setting.default)
    return dataclasses.field(
        default=default, metadata={"setting": setting}, repr=not setting.is_credential
    )


def text(
    key: str, default: str, sentence: str, *, secret: bool = False, plain: bool = False
) -> str:
    """Declare a text; a secret one is in no log, page or representation, a plain one is a name."""
    setting = Setting(
        key=key, kind="text", default=default, sentence=sentence, secret=secret, plain=plain
    )
    return cast("str", _declare(setting))


def hook(key: str, default: str, sentence: str) -> str:
    """Declare a URL whose path may be a secret, or a part of one: its host is all that is shown."""
    setting = Setting(key=key, kind="text", default=default, sentence=sentence, secret_path=True)
    return cast("str", _declare(setting))


def flag(key: str, default: str, sentence: str) -> bool:
    """Declare a switch, ``true`` or ``false``."""
    return cast("bool", _declare(Setting(key=key, kind="flag", default=default, sentence=sentence)))


def count(
    key: str, default: str, sentence: str, *, minimum: int = 0, maximum: int | None = None
) -> int:
    """Declare a whole number."""
    setting = Setting(
        key=key, kind="count", default=default, sentence=sentence, minimum=minimum, maximum=maximum
    )
    return cast("int", _declare(setting))


def duration(key: str, default: str, sentence: str, *, unit: str = "ms", minimum: int = 0) -> int:
    """Declare a duration, kept in ms; ``unit`` is that of a bare number, ``minimum`` in ms."""
    setting = Setting(
        key=key, kind="duration", default=default, sentence=sentence, unit=unit, minimum=minimum
    )
    return cast("int", _declare(setting))


def size(key: str, default: str, sentence: str, *, unit: str = "B", minimum: int = 1) -> int:
    """Declare a data size, kept in bytes; ``unit`` is that of a bare number."""
    setting = Setting(
        key=key, kind="size", default=default, sentence=sentence, unit=unit, minimum=minimum
    )
    return cast("int", _declare(setting))


def choice(key: str, default: str, choices: tuple[str, ...], sentence: str) -> Any:  # noqa: ANN401 - the type is the annotation of the field, a Literal
    """Declare one word of a few."""
    return _declare(
        Setting(key=key, kind="choice", default=default, choices=choices, sentence=sentence)
    )


def names(key: str, default: str, sentence: str, *, plain: bool = False) -> tuple[str, ...]:
    """Declare a list of words, separated by commas; plain ones have no blanks."""
    setting = Setting(key=key, kind="names", default=default, sentence=sentence, plain=plain)
    return cast("tuple[str, ...]", _declare(setting))


def hosts(key: str, default: str, sentence: str) -> tuple[RedisHost, ...]:
    """Declare a list of Redis nodes; they may carry passwords."""
    setting = Setting(key=key, kind="hosts", default=default, sentence=sentence, secret=True)
    return cast("tuple[RedisHost, ...]", _declare(setting))


def layout(key: str, default: str, sentence: str) -> CodeLayout:
    """Declare the layout of codes: bits of time, worker and sequence."""
    setting = Setting(key=key, kind="layout", default=default, sentence=sentence)
    return cast("CodeLayout", _declare(setting))


def _words(value: object) -> tuple[str, ...]:
    return value if isinstance(value, tuple) else (str(value),)


def _parse_text(_setting: Setting, value: str) -> str:
    return value


def _parse_flag(_setting: Setting, value: str) -> bool:
    if value.lower() not in _FLAGS:
        raise ValueError("true or false")
    return _FLAGS[value.lower()]


def _parse_count(_setting: Setting, value: str) -> int:
    try:
        return int(value)
    except ValueError:
        raise ValueError("a whole number") from None


def _parse_duration(setting: Setting, value: str) -> int:
    match = _NUMBER_AND_UNIT.fullmatch(value)
    unit = (match.group(2).lower() or setting.unit) if match else ""
    if match and unit in _DURATION_MS:
        return round(int(match.group(1)) * _DURATION_MS[unit])
    iso = _ISO_DURATION.fullmatch(value)
    if iso and any(iso.groups()):
        days, hours, minutes, seconds = (float(part or 0) for part in iso.groups())
        return round((((days * 24 + hours) * 60 + minutes) * 60 + seconds) * 1_000)
    raise ValueError(f"a duration: 500ms, 60s, 10m, 1h or 2d (a bare number: {setting.unit})")


def _parse_size(setting: Setting, value: str) -> int:
    match = _NUMBER_AND_UNIT.fullmatch(value)
    unit = (match.group(2).upper() or setting.unit) if match else ""
    if match is None or unit not in _SIZE_BYTES:
        raise ValueError(f"a size such as 512B, 5120KB or 10MB (a bare number: {setting.unit})")
    return int(match.group(1)) * _SIZE_BYTES[unit]


def _parse_choice(setting: Setting, value: str) -> str:
    for word in setting.choices:
        if word.lower() == value.lower():
            return word
    raise ValueError(f"one of {', '.join(setting.choices)}")


def _parse_names(_setting: Setting, value: str) -> tuple[str, ...]:
    return tuple(name for part in value.split(",") if (name := part.strip()))


def _parse_hosts(_setting: Setting, value: str) -> tuple[RedisHost, ...]:
    found = []
    for part in filter(None, (part.strip() for part in value.split(";"))):
        match = _HOST.fullmatch(part)
        if match is None or not 0 < int(match.group(2)) < 65_536:
            raise ValueError("host:port:rack[:password], several separated by ';'")
        host, port, rack, password = match.groups()
        if rack and not _PLAIN.fullmatch(rack):
            raise ValueError(f"racks of {_PLAIN_LETTERS}")
        found.append(
            RedisHost(
                host=host.strip("[]"), port=int(port), rack=rack or "", password=password or ""
            )
        )
    return tuple(found)


def _parse_layout(_setting: Setting, value: str) -> CodeLayout:
    return layout_from(value)


_PARSERS: Final[Mapping[Kind, Callable[[Setting, str], object]]] = {
    "text": _parse_text,
    "flag": _parse_flag,
    "count": _parse_count,
    "duration": _parse_duration,
    "size": _parse_size,
    "choice": _parse_choice,
    "names": _parse_names,
    "hosts": _parse_hosts,
    "layout": _parse_layout,
}
