"""Members of a task definition that the server does not know: what was likely meant.

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
#: What a server reads beside the definition.
_CARRIED: Final = frozenset({"tags", "overwriteTags"})
#: What clients of other servers send, and those may read.
_OF_OTHERS: Final = frozenset({"accessPolicy", "version"})
_LIKENESS: Final = 0.6


def unknown_members(definition: Mapping[str, object]) -> Iterator[str]:
    """Say of each member that a task definition does not have which one was likely meant, or that
    it has no effect.
    """
    known = _known()
    for name in definition:
        if name in _OF_OTHERS:
            yield f"{name} is for other servers; conductor-py does nothing with it"
        elif name not in known:
            meant = _meant(str(name), known)
            hint = f"did you mean {meant}?" if meant else "it has no effect"
            yield f"{name} is not a known member; {hint}"


def _known() -> frozenset[str]:
    # Only who registers something needs the model of definitions.
    from conductor_py.model.definitions import TaskDef  # noqa: PLC0415

    members = (
        re.sub(r"_([a-z])", lambda letter: letter[1].upper(), each.name) for each in fields(TaskDef)
    )
    return _CARRIED.union(members)


def _meant(name: str, known: frozenset[str]) -> str:
    plain = {each.lower(): each for each in sorted(known)}
    wanted = re.sub(r"[^a-z]", "", name.lower())
    if wanted in _OTHER_WORDS:
        return _OTHER_WORDS[wanted]
    near = nearest(wanted, plain, _LIKENESS)
    return plain[near] if near else ""
