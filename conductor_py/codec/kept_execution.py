"""What an archived execution is restored from: its stored fields, its plans and its logs.

One JSON object, compressed. Fields are text already (JSON, numbers, hashes); a plan stands under
its hash as it is stored.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import orjson

from conductor_py.codec.execution import UnknownFormat

MOST_BYTES: Final = 64 << 20
"""Compressed size above which an execution is archived without it: it can be read, not restored."""

_FORMAT: Final = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptExecution:
    """See the module. ``claim`` is the highest claim that was issued; logs are (seq, created ms,
    line).
    """

    fields: Mapping[str, bytes]
    plans: Mapping[str, bytes]
    logs: Sequence[tuple[int, int, str]] = ()
    claim: int = 0
    checkpoints: Mapping[str, bytes] = field(default_factory=dict)


def dump_kept(kept: KeptExecution) -> bytes | None:
    """Write it down; ``None`` when it is too large."""
    body = {
        "f": _FORMAT,
        "fields": {name: _text(value) for name, value in kept.fields.items()},
        "plans": {name: _text(value) for name, value in kept.plans.items()},
        "logs": [list(line) for line in kept.logs],
        "claim": kept.claim,
        "checkpoints": {name: _text(value) for name, value in kept.checkpoints.items()},
    }
    packed = zlib.compress(orjson.dumps(body), 1)
    return packed if len(packed) <= MOST_BYTES else None


def load_kept(stored: bytes) -> KeptExecution:
    """Read what ``dump_kept`` wrote (``UnknownFormat``)."""
    body = orjson.loads(zlib.decompress(stored))
    if body.get("f") != _FORMAT:
        raise UnknownFormat
    return KeptExecution(
        fields={name: value.encode() for name, value in body["fields"].items()},
        plans={name: value.encode() for name, value in body["plans"].items()},
        logs=tuple((seq, at, line) for seq, at, line in body["logs"]),
        claim=body["claim"],
        checkpoints={name: value.encode() for name, value in body.get("checkpoints", {}).items()},
    )


def _text(value: bytes) -> str:
    return value.decode()
