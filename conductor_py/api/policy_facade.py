"""What the HTTP front needs of the engine for schemas, tags, secrets and the environment."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from conductor_py.model.json import JsonObject


class Schemas(Protocol):
    """The registry of schemas."""

    def save(self, schemas: Sequence[JsonObject], /, *, new_version: bool) -> None:
        """Store them; ``DefinitionError`` for one that cannot be used."""

    def all(self) -> Sequence[JsonObject]:
        """List every version of every schema."""

    def one(self, name: str, version: int | None, /) -> JsonObject:
        """Read one, the latest without a version; ``NotFound``."""

    def delete(self, name: str, version: int | None, /) -> None:
        """Forget one, or all versions; ``NotFound``."""


class Tags(Protocol):
    """Tags of definitions; ``noun`` is ``workflow`` or ``task``. All may raise ``NotFound``."""

    def of(self, noun: str, name: str, /) -> Sequence[JsonObject]:
        """List those of one."""

    def all(self) -> Sequence[JsonObject]:
        """List those of all."""

    def add(self, noun: str, name: str, tags: Sequence[Mapping[str, str]], /) -> None:
        """Add some."""

    def set(self, noun: str, name: str, tags: Sequence[Mapping[str, str]], /) -> None:
        """Replace all."""

    def remove(self, noun: str, name: str, tags: Sequence[Mapping[str, str]], /) -> None:
        """Remove some."""


class Values(Protocol):
    """Values by name."""

    def names(self) -> Sequence[str]:
        """List the names."""

    def value(self, name: str, /) -> str | None:
        """Read one."""


class PolicyFacade(Protocol):
    """That part of the engine."""

    @property
    def schemas(self) -> Schemas:
        """Schemas."""

    @property
    def tags(self) -> Tags:
        """Tags."""

    @property
    def secrets(self) -> Values:
        """Secrets; their values never leave through the front."""

    @property
    def environment(self) -> Values:
        """What definitions may read of the environment."""
