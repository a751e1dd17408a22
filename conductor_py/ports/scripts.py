"""Scripts: user-written JavaScript and jq, evaluated where it can hurt nobody.

A script is a pure function of its input: it reaches no host object, no file, no network and nothing
that an earlier script left behind. What it costs is bounded in time and memory, and charged to its
own evaluation.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, Protocol, TypeAlias

from conductor_py.model.json import JsonObject, JsonValue
from conductor_py.records import dataclass, field

FailureKind: TypeAlias = Literal["error", "time", "memory", "killed"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluation:
    """One program to run.

    ``evaluator`` is ``javascript`` (or ``graaljs``, the same), where ``input`` is bound as ``$``
    and each of ``bindings`` as a global of its name; or ``jq``, where ``input`` is the filter's
    input and the value is the list of all its outputs.
    """

    evaluator: str
    expression: str
    input: JsonObject
    bindings: Mapping[str, JsonValue] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Value:
    """The completion value of the program, as JSON, and the lines that it has printed."""

    value: JsonValue
    lines: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """The program gave no value.

    ``kind`` says why: it raised or does not parse (``error``), ran over time (``time``), over
    memory (``memory``), or took its process down (``killed``). ``terminal`` means that trying again
    is pointless; only running over time is not terminal. ``lines`` were printed before an error.
    """

    message: str
    terminal: bool
    kind: FailureKind
    lines: tuple[str, ...] = ()


ScriptResult: TypeAlias = Value | Failure


class Scripts(Protocol):
    """Evaluates scripts; safe to call from any thread."""

    def evaluate(self, requests: Sequence[Evaluation]) -> tuple[ScriptResult, ...]:
        """Evaluate each request on its own and answer in their order, one result a request.

        In JavaScript the program's completion value is the result, and ``console`` (``log``,
        ``info``, ``debug``, ``warn``, ``error``) keeps lines, 50 of 500 characters at most. The
        program sees copies: what it changes is seen by nobody. ``undefined``, ``null`` and what is
        no number become None, integral numbers within 64 bits int, functions empty objects; an
        evaluator that is not known, or a result that JSON cannot hold, is a Failure of kind
        ``error``. Nothing that a script does raises, and one that fails or is killed does not touch
        the others.

        Raises LimitExceeded (retryable; nothing was evaluated that counts) when too many callers
        wait already, or no process came free in time.
        """

    def attempt(self, request: Evaluation) -> ScriptResult | None:
        """Evaluate a request if it can be had at once: within a fraction of a second.

        ``None`` when the program takes longer, has taken longer or did damage lately, or too many
        wait; ``evaluate`` then gives it all the time it may have. Raises nothing.
        """

    def is_slow(self, request: Evaluation) -> bool:
        """Whether ``evaluate`` would give the program a very small share of a processor, because it
        has failed with all its time before.
        """

    def check(
        self, expression: str, evaluator: str = "javascript", *, briefly: bool = False
    ) -> str | None:
        """Parse without running: None when the program parses, else what is wrong.

        ``briefly``: within a second at most and raising nothing; None, too, when that does not
        tell.
        """

    def close(self) -> None:
        """End what runs; evaluations under way may answer ``killed``. Repeating it does nothing."""
