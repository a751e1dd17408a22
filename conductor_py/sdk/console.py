"""What a worker says on stderr when its program has not configured logging.

Python then shows warnings alone, without what they are about; a worker that cannot reach its server
would look as if it worked. This handler belongs to the logger ``conductor_py.sdk``, and leaves as
soon as the root logger has a handler: the program's own configuration is never added to.
"""

from __future__ import annotations

import logging
from typing import Final

LOGGER: Final = "conductor_py.sdk"
"""The logger above those of all modules of the SDK."""

_STANDARD: Final = frozenset(logging.makeLogRecord({}).__dict__) | {"message", "asctime", "action"}


def show_on_stderr() -> None:
    """Show what the SDK logs, from INFO on, unless a logger that would get it has a handler."""
    logger = logging.getLogger(LOGGER)
    if logger.hasHandlers():
        return
    if logger.getEffectiveLevel() == logging.WARNING:  # nobody has chosen a level either
        logger.setLevel(logging.INFO)
    logger.addHandler(_Stderr())


class FactsFormatter(logging.Formatter):
    """A line of time, level, sentence and reason, and then what it is about as ``name=value``."""

    def __init__(self) -> None:
        super().__init__("%(asctime)s %(levelname)s %(message)s", "%H:%M:%S")

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 - logging's name
        """Add the facts of the record."""
        facts = {
            name: value
            for name, value in vars(record).items()
            if name not in _STANDARD and value is not None
        }
        reason = facts.pop("error", None)
        line = super().formatMessage(record) + (f": {reason}" if reason else "")
        shown = ", ".join(f"{name}={_shown(value)}" for name, value in facts.items())
        return f"{line} ({shown})" if shown else line


class _Stderr(logging.StreamHandler):  # type: ignore[type-arg]  # generic for type checkers only
    def __init__(self) -> None:
        super().__init__()
        self.setFormatter(FactsFormatter())

    def emit(self, record: logging.LogRecord) -> None:
        if not logging.getLogger().handlers:
            super().emit(record)
            return
        logger = logging.getLogger(LOGGER)  # the program has configured logging meanwhile
        logger.removeHandler(self)
        logger.setLevel(logging.NOTSET)


def _shown(value: object) -> str:
    if isinstance(value, list | tuple):
        return " ".join(str(each) for each in value)
    return str(value)
