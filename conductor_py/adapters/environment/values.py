"""Named values out of environment variables: those whose name begins with a prefix, no others."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from conductor_py.ports.named_values import NAME


class EnvironmentValues:
    """``NamedValues`` of the variables that begin with ``prefix``, named without it."""

    def __init__(self, environment: Mapping[str, str], prefix: str) -> None:
        """Read once: a process does not notice a later change. An empty prefix allows nothing."""
        self._values = {
            name.removeprefix(prefix): value
            for name, value in environment.items()
            if prefix and name.startswith(prefix) and NAME.fullmatch(name.removeprefix(prefix))
        }

    def names(self) -> tuple[str, ...]:
        return tuple(sorted(self._values))

    def value(self, name: str) -> str | None:
        return self._values.get(name)


NO_VALUES: Final = EnvironmentValues({}, "")
"""Nothing can be read."""
