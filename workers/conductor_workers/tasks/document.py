"""Strict reading of a task's input: every key is known, has its type, and errors name the JSON
path.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from conductor_py.errors import InvalidInput, Violation
from conductor_py.model.json import JsonObject, JsonValue
from conductor_py.pipelines.format_options import option_findings
from conductor_workers.pipelines.csv_form import form_options


def invalid(path: str, message: str) -> InvalidInput:
    """Return the error for one thing wrong at that path."""
    return InvalidInput(violations=(Violation(path=path, message=message),))


class Document:
    """An object of the input and its path; ``done`` refuses the keys that nobody asked for."""

    def __init__(self, value: JsonValue, path: str = "$") -> None:
        """Take that value, which must be an object."""
        if not isinstance(value, Mapping):
            raise invalid(path, "must be an object.")
        self._fields: JsonObject = value
        self._asked: set[str] = set()
        self.path = path

    def at(self, key: str) -> str:
        """Return the path of that key."""
        return f"{self.path}.{key}"

    def get(self, key: str) -> JsonValue:
        """Return what is there, None for what is absent."""
        self._asked.add(key)
        return self._fields.get(key)

    def text(self, key: str) -> str | None:
        """Return a non-empty string, None for what is absent."""
        value = self.get(key)
        if value is None:
            return None
        if not isinstance(value, str) or not value.strip():
            raise invalid(self.at(key), "must be a non-empty string.")
        return value

    def required_text(self, key: str) -> str:
        """Return a non-empty string that must be there."""
        value = self.text(key)
        if value is None:
            raise invalid(self.at(key), "is required.")
        return value

    def options_of(self, format: str) -> dict[str, str]:
        """Return Spark's options of a file format, completed."""
        options = self.named_texts("options")
        for name, why in option_findings(format, options):
            raise invalid(f"{self.at('options')}['{name}']", f"{why}.")
        return form_options(format, options)

    def choice(self, key: str, allowed: tuple[str, ...], default: str | None) -> str:
        """Return one of the allowed words; without a default it must be there."""
        value = self.text(key) or default
        if value not in allowed:
            raise invalid(self.at(key), f"must be one of {', '.join(allowed)}.")
        return value

    def whole(self, key: str, *, least: int, most: int) -> int | None:
        """Return a whole number in that range, None for what is absent."""
        value = self.get(key)
        if value is None:
            return None
        if isinstance(value, bool) or not isinstance(value, int) or not least <= value <= most:
            raise invalid(self.at(key), f"must be a whole number from {least} to {most}.")
        return value

    def texts(self, key: str) -> tuple[str, ...]:
        """Return a list of non-empty strings; empty for what is absent."""
        value = self.get(key)
        if value is None:
            return ()
        if isinstance(value, str) or not isinstance(value, list | tuple):
            raise invalid(self.at(key), "must be a list of strings.")
        for index, item in enumerate(value):
            if not isinstance(item, str) or not item.strip():
                raise invalid(f"{self.at(key)}[{index}]", "must be a non-empty string.")
        return tuple(str(item) for item in value)

    def named_texts(self, key: str) -> dict[str, str]:
        """Return an object of strings, numbers and booleans as text; empty for what is absent."""
        value = self.get(key)
        if value is None:
            return {}
        if not isinstance(value, Mapping):
            raise invalid(self.at(key), "must be an object.")
        texts: dict[str, str] = {}
        for name, item in value.items():
            if isinstance(item, bool):
                texts[name] = "true" if item else "false"
            elif isinstance(item, str | int | float):
                texts[name] = str(item)
            else:
                raise invalid(f"{self.at(key)}.{name}", "must be a string, a number or a boolean.")
        return texts

    def child(self, key: str) -> Document | None:
        """Return the object at that key, None for what is absent."""
        value = self.get(key)
        return None if value is None else Document(value, self.at(key))

    def children(self, key: str) -> Iterator[tuple[str, Document]]:
        """Return the objects by name below that key."""
        parent = self.child(key)
        if parent is not None:
            for name in parent._fields:
                yield name, Document(parent.get(name), parent.at(name))

    def done(self) -> None:
        """Refuse what is there and was not asked for."""
        for key in self._fields:
            if key not in self._asked:
                known = ", ".join(sorted(self._asked))
                raise invalid(self.at(key), f"is not known here; known are {known}.")
