"""Members of a task definition that no server knows: what was likely meant.

A server takes them and does nothing with them, so a worker says so when it registers one.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import fields
from typing import Final

from conductor_py.wire.likeness import nearest

#: What people call them who know other systems.
_OTHER_WORDS: Final[Mapping[str, str]] = {
    "retries": "retryCount",
    "maxretries": "retryCount",
    "attempts": "retryCount",
    "retrydelay": "retryDelaySeconds",
    "timeout": "timeoutSeconds",
    "responsetimeout": "responseTimeoutSeconds",
    "polltimeout": "pollTimeoutSeconds",
    "totaltimeout": "totalTimeoutSeconds",
    "concurrency": "concurrentExecLimit",
    "concurrencylimit": "concurrentExecLimit",
    "ratelimit": "rateLimitPerFrequency",
    "backoff": "backoffScaleFactor",
    "jitter": "backoffJitterMs",
    "owner": "ownerEmail",
}
_LIKENESS: Final = 0.6


def unknown_members(definition: Mapping[str, object]) -> Iterator[tuple[str, str]]:
    """Name the members that a task definition does not have, each with the one that was likely
    meant; empty when none is alike.
    """
    known = _known()
    for name in definition:
        if name not in known:
            yield str(name), _meant(str(name), known)


def _known() -> frozenset[str]:
    # Only who registers something needs the model of definitions.
    from conductor_py.model.definitions import TaskDef  # noqa: PLC0415

    return frozenset(
        re.sub(r"_([a-z])", lambda letter: letter[1].upper(), each.name) for each in fields(TaskDef)
    )


def _meant(name: str, known: frozenset[str]) -> str:
    plain = {each.lower(): each for each in sorted(known)}
    wanted = re.sub(r"[^a-z]", "", name.lower())
    if wanted in _OTHER_WORDS:
        return _OTHER_WORDS[wanted]
    near = nearest(wanted, plain, _LIKENESS)
    return plain[near] if near else ""
