"""Findings of an audit: the stable codes, the invariant each breaks, and what to do about it.

A code that breaks no invariant (``invariant`` is empty) is a remark: something that is as it should
be and that an operator may want to know. ``docs/how-to/audit.md`` is checked against this table.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Final

from conductor_py.model.json import JsonObject


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of finding."""

    invariant: str
    meaning: str


@dataclass(frozen=True, slots=True, order=True)
class Finding:
    """What was found, about which execution or key, in a sentence. Equal findings of two looks are
    the same one.
    """

    code: str
    subject: str
    place: str = ""
    detail: str = ""

    @property
    def invariant(self) -> str:
        """The invariant that it breaks; empty: none."""
        return KINDS[self.code].invariant

    @property
    def same(self) -> tuple[str, str, str]:
        """What stays the same when it is looked at again; numbers in the sentence may not."""
        return self.code, self.subject, self.place

    def to_json(self) -> JsonObject:
        """Write it for people and programs."""
        return {
            "code": self.code,
            "invariant": self.invariant,
            "meaning": KINDS[self.code].meaning,
            "subject": self.subject,
            "task": self.place,
            "detail": self.detail,
        }


KINDS: Final[Mapping[str, Kind]] = MappingProxyType(
    {
        "record-differs": Kind("I2", "Header and record of an execution disagree"),
        "reopened": Kind("I2", "An execution has ended and drained, and an attempt of it is open"),
        "walk-without-end": Kind("I2", "An execution has ended within a walk over its attempts"),
        "no-place": Kind("I3", "An open attempt is in no queue, not claimed and not parked"),
        "several-places": Kind("I3", "An open attempt is in more than one place"),
        "unknown-queue": Kind("I3", "An attempt that no worker takes is in a queue"),
        "unasked-result": Kind("I3", "A closed claim and a result in the inbox do not match"),
        "no-wake-up": Kind("I4", "Nothing will wake an execution, or one of its attempts"),
        "unheard-events": Kind("I4", "Events wait in an inbox and no timer will have them read"),
        "drain-stopped": Kind("I4", "An ended execution is not cleaned up"),
        "walk-stopped": Kind("I4", "A walk over the attempts does not go on"),
        "steps-stopped": Kind("I4", "Steps that a pause put off do not go on"),
        "child-unheard": Kind("I4", "A task waits for a sub-workflow that has ended"),
        "place-doubled": Kind("I5", "One reference and iteration has two open attempts"),
        "identity-doubled": Kind("I5", "One identity of an attempt exists twice"),
        "miscounted": Kind("I5", "A count of a header, loop or join is not what a recount gives"),
        "not-listed": Kind("I5", "The list of running executions does not have this one right"),
        "archive-unordered": Kind("I7", "An execution has ended and nothing will archive it"),
        "effect-without-text": Kind("I7", "An effect is due and nobody knows what it is"),
        "effect-never-due": Kind("I7", "An effect waits and will never be due"),
        "child-missing": Kind("I8", "A task waits for a sub-workflow that does not exist"),
        "plan-missing": Kind("I9", "A definition that an execution was started with is not stored"),
        "plan-uncounted": Kind("I9", "A definition in use does not count as used"),
        "above-limit": Kind("I10", "More tasks hold permits than their limit allows"),
        "permit-of-nobody": Kind("I10", "A permit is held by an attempt that knows nothing of it"),
        "admission-lost": Kind("I10", "An execution waits for admission that nobody owes to it"),
        "not-admitted": Kind("I10", "An execution runs and does not count under its rate limit"),
        "admitted-dead": Kind("I10", "An ended execution counts under a rate limit"),
        "waits-with-room": Kind("I10", "Executions wait for their rate limit though there is room"),
        "left-over": Kind("I7", "A key of an execution is left that is not in the store"),
        "unreadable": Kind("", "What is stored of an execution, or in a key, cannot be read"),
        "quarantined": Kind("", "An execution is in quarantine"),
        "parent-gone": Kind("", "A sub-workflow runs whose parent was removed, or is lost"),
        "dead-entry": Kind("", "A queue entry of an ended attempt; the next poll drops it"),
        "dead-timer": Kind("", "A timer of what has ended; its firing drops it"),
        "overdue": Kind("", "A timer is overdue by more than a minute: does a sweeper run?"),
        "effect-overdue": Kind(
            "",
            "An effect is overdue by more than a minute (two, of what can wait): does one relay?",
        ),
        "in-motion": Kind("", "An execution changed at every look and was not judged"),
    }
)
