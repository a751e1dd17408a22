"""The settings of a node, as a connector reads them: typed, with the node's name in every refusal.

Names and types were checked when the job was registered; a connector still says what it cannot use,
because a value may have come from a secret or from an expression.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from conductor_py.errors import ConductorError
from conductor_workers.pipelines.secrets import Secrets


class SettingRefused(ConductorError):
    """A node's setting is missing or has a value that its connector cannot use."""

    code = "SETTING_REFUSED"


class NodeSettings:
    """Reads one node's settings; secrets are resolved when they are asked for."""

    def __init__(self, node: str, values: Mapping[str, Any], secrets: Secrets) -> None:
        """Read for the node of that id."""
        self._node = node
        self._values = values
        self._secrets = secrets

    def text(self, name: str, default: str | None = None) -> str:
        """Return a text, or the value of the secret that stands there."""
        return self._revealed(name, self._values.get(name, default))

    def optional(self, name: str) -> str | None:
        """Return a text, None where there is none."""
        return None if self._values.get(name) is None else self.text(name)

    def texts(self, name: str) -> tuple[str, ...]:
        """Return a list of texts; empty where there is none, one for a single text."""
        value = self._values.get(name, ())
        if isinstance(value, str | Mapping):
            return (self.text(name),)
        return tuple(self._revealed(name, item) for item in value)

    def whole(self, name: str, default: int, *, least: int = 1) -> int:
        """Return a whole number."""
        value = self._values.get(name, default)
        if not isinstance(value, int) or isinstance(value, bool) or value < least:
            raise self.refused(name, f"must be a whole number of at least {least}")
        return value

    def seconds(self, name: str, default: float) -> float:
        """Return a length of time in seconds, above 0."""
        value = self._values.get(name, default)
        if not isinstance(value, int | float) or isinstance(value, bool) or value <= 0:
            raise self.refused(name, "must be a number of seconds above 0")
        return float(value)

    def flag(self, name: str, *, default: bool) -> bool:
        """Return true or false."""
        value = self._values.get(name, default)
        if not isinstance(value, bool):
            raise self.refused(name, "must be true or false")
        return value

    def choice(self, name: str, choices: tuple[str, ...], default: str) -> str:
        """Return one of these texts."""
        value = self._values.get(name, default)
        if value not in choices:
            raise self.refused(name, f"must be one of {', '.join(choices)}")
        return str(value)

    def named_texts(self, name: str) -> dict[str, str]:
        """Return an object of texts, secrets resolved."""
        value = self._values.get(name) or {}
        if not isinstance(value, Mapping):
            raise self.refused(name, "must be an object of texts")
        inner = NodeSettings(f"{self._node}.{name}", value, self._secrets)
        return {
            key: inner.text(key) if isinstance(text, str | Mapping) else _plain(text)
            for key, text in value.items()
        }

    def _revealed(self, name: str, value: object) -> str:
        if isinstance(value, Mapping) and set(value) == {"secret"}:
            value = self._secrets(str(value["secret"]))
        if not isinstance(value, str):
            raise self.refused(name, "must be a text or {'secret': name}")
        return value

    def refused(self, name: str, problem: str) -> SettingRefused:
        """Say what is wrong with a setting."""
        return SettingRefused(f"{self._node}.{name} {problem}.")


def _plain(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
