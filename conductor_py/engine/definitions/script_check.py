"""Whether the programs of a definition parse, asked when it is registered or started inline."""

from __future__ import annotations

from functools import lru_cache

from conductor_py.errors import LimitExceeded
from conductor_py.ports.scripts import Scripts

_REMEMBERED = 1_000


class ScriptCheck:
    """Asks the sandbox, once a program."""

    def __init__(self, scripts: Scripts) -> None:
        """Parse in ``scripts``."""
        self._asked = lru_cache(_REMEMBERED)(scripts.check)

    def __call__(self, program: str) -> str | None:
        """Say why a JavaScript program does not parse. ``None`` when it does, or when the sandbox
        is too busy to tell: then its task fails with the same words.
        """
        try:
            return self._asked(program)
        except LimitExceeded:
            return None
