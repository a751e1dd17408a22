"""The error tree: what went wrong, whose fault it is, where, and what to do about it.

Every error carries a stable ``code`` (part of the public contract), a message for people and its
data in attributes. The HTTP status of each code stands in one table, in
``conductor_py.api.errors``. Nothing in here imports anything else of the package.
"""

from __future__ import annotations

from typing import ClassVar, Final

from conductor_py.records import dataclass

_SHOWN: Final = 10
"""How many findings an error says as text; ``violations`` has them all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Violation:
    """One thing wrong with a request or definition.

    ``path`` is a JSON path from the root of the body (``$.tasks[2].joinOn[0]``), ``message`` a
    sentence that says what is wrong and what would be right, ``invalid_value`` the scalar found
    there, when there is one.
    """

    path: str
    message: str
    invalid_value: str | None = None


class ConductorError(Exception):
    """Something went wrong in the engine."""

    code: ClassVar[str] = "INTERNAL"
    retryable: ClassVar[bool] = False

    def __init__(self, message: str | None = None) -> None:
        """Take the class's docstring as the message when none is given."""
        self.message = message or (type(self).__doc__ or type(self).__name__).strip()
        super().__init__(self.message)


class InvalidInput(ConductorError):
    """The request is not valid; nothing was changed."""

    code: ClassVar[str] = "INVALID_INPUT"

    def __init__(
        self, message: str | None = None, *, violations: tuple[Violation, ...] = ()
    ) -> None:
        """Carry every violation found, not only the first."""
        self.violations = violations
        if message is None and violations:
            message = f"{violations[0].path}: {violations[0].message}"
        super().__init__(message)

    def __str__(self) -> str:
        """Say the message, then each finding that it does not say itself, up to a bound."""
        found = [f"{each.path}: {each.message}" for each in self.violations]
        lines = [line for line in found if line not in self.message]
        if len(lines) > _SHOWN:
            lines[_SHOWN:] = [f"and {len(lines) - _SHOWN} more"]
        return "\n  ".join([self.message, *lines])


class DefinitionError(InvalidInput):
    """The definition is not valid; nothing was stored."""

    code: ClassVar[str] = "INVALID_DEFINITION"


class Forbidden(ConductorError):
    """This is not to be had here; nothing was changed."""

    code: ClassVar[str] = "FORBIDDEN"


class ReadOnly(ConductorError):
    """What is asked for is read here and written elsewhere; nothing was changed."""

    code: ClassVar[str] = "READ_ONLY"


class UnsupportedContent(ConductorError):
    """The body is not announced as JSON: send it with Content-Type: application/json."""

    code: ClassVar[str] = "UNSUPPORTED_CONTENT"


class NotFound(ConductorError):
    """There is nothing by that name or id."""

    code: ClassVar[str] = "NOT_FOUND"


class Conflict(ConductorError):
    """The present state does not allow this; nothing was changed."""

    code: ClassVar[str] = "CONFLICT"


class ClaimLost(Conflict):
    """Another attempt holds the task, or it has ended; nothing was changed, nor ever will be under
    this claim.
    """

    code: ClassVar[str] = "CLAIM_LOST"


class EpochConflict(Conflict):
    """The newest record has another epoch than the one expected; nothing was changed."""

    code: ClassVar[str] = "EPOCH_CONFLICT"

    def __init__(self, message: str | None = None, *, epoch: int = 0) -> None:
        """Carry the epoch that is there."""
        self.epoch = epoch
        super().__init__(message)


class NotesConflict(Conflict):
    """There is another number of notes than the one expected; nothing was changed."""

    code: ClassVar[str] = "NOTES_CONFLICT"

    def __init__(self, message: str | None = None, *, notes: int = 0) -> None:
        """Carry how many there are."""
        self.notes = notes
        super().__init__(message)


class PayloadTooLarge(ConductorError):
    """The payload is larger than the configured limit; nothing was stored."""

    code: ClassVar[str] = "PAYLOAD_TOO_LARGE"


class LimitExceeded(ConductorError):
    """A configured limit is reached; try again later."""

    code: ClassVar[str] = "LIMIT_EXCEEDED"
    retryable: ClassVar[bool] = True


class StoreFailure(ConductorError):
    """The store did not do what it was asked: it is away, or what it holds cannot be read."""


class StoreUnavailable(StoreFailure):
    """The store does not answer; nothing is known to be lost. Try again."""

    code: ClassVar[str] = "STORE_UNAVAILABLE"
    retryable: ClassVar[bool] = True

    def __init__(
        self, message: str | None = None, *, retry_after_s: int = 1, unanswered: bool = False
    ) -> None:
        """Say after how many seconds it is worth trying again; ``unanswered`` when the store that
        everything needs was asked, and nothing came back.
        """
        self.retry_after_s = retry_after_s
        self.unanswered = unanswered
        super().__init__(message)


class StoreDamaged(StoreFailure):
    """What the store holds of this one thing cannot be read; others are not concerned. See
    ``conductor-py quarantine``.
    """

    code: ClassVar[str] = "STORE_DAMAGED"


class StoreFull(StoreUnavailable):
    """The store holds as much as it may, and takes nothing new until something has left it; what it
    has taken goes on. Try again.
    """

    code: ClassVar[str] = "STORE_FULL"

    def __init__(self, message: str | None = None, *, retry_after_s: int = 5) -> None:
        """Say when to try again: executions leave some seconds after they have ended."""
        super().__init__(message, retry_after_s=retry_after_s)


class NotYet(StoreUnavailable):
    """It is accepted, and carried out later. Do not send it again as something else."""


class Overloaded(StoreUnavailable):
    """The server has more to do than it can; nothing of the request was done. Try again."""

    code: ClassVar[str] = "OVERLOADED"


class ClockSetBack(StoreUnavailable):
    """The store's clock was set back; what has to be later than what is there waits for it.

    It is the store's fault and none of the configuration's, and it passes by itself: so it is
    answered as a store that is away is, with the time until it is worth trying again.
    """


class ConfigurationError(ConductorError):
    """The process cannot start with this configuration (exit code 2)."""

    code: ClassVar[str] = "CONFIGURATION"


class MissingExtra(ConfigurationError):
    """A package is not installed that one of the extras brings."""

    def __init__(self, needs: str, *, extra: str) -> None:
        """Add to ``needs``, who needs what, how the extra is installed."""
        super().__init__(f"{needs}: pip install '.[{extra}]' in the directory of conductor-py")
