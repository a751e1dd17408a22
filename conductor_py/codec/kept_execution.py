"""What an archived execution is restored from: its stored fields, its plans and its logs.

One JSON object, compressed. Fields are text already (JSON, numbers, hashes); a plan stands under
its hash as it is stored.
"""

from __future__ import annotations

import zlib
from collections.abc import Mapping, Sequence
from typing import Final

import orjson

from conductor_py.codec.execution import UnknownFormat
from conductor_py.records import dataclass, field

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


class KeptWriter:
    """Writes it down, its fields some after the other: no more is held than what has come of it."""

    def __init__(self) -> None:
        self._pack = zlib.compressobj(1)
        self._packed: list[bytes] = []
        self._size = 0
        self._begun = False
        self._add(b'{"f":%d,"fields":{' % _FORMAT)

    def fields(self, fields: Mapping[str, bytes]) -> None:
        """Write some fields; of one that comes again the last holds."""
        if fields:
            self._add(b"," * self._begun + orjson.dumps(_texts(fields))[1:-1])
            self._begun = True

    def done(self, rest: KeptExecution) -> bytes | None:
        """Write what there is beside fields; the whole, or ``None`` when it is too large."""
        end = orjson.dumps(
            {
                "plans": _texts(rest.plans),
                "logs": [list(line) for line in rest.logs],
                "claim": rest.claim,
                "checkpoints": _texts(rest.checkpoints),
            }
        )
        self._add(b"}," + end[1:])
        self._keep(self._pack.flush())
        packed = b"".join(self._packed) if self._size <= MOST_BYTES else None
        self._packed.clear()
        return packed

    def _add(self, piece: bytes) -> None:
        if self._size <= MOST_BYTES:
            self._keep(self._pack.compress(piece))

    def _keep(self, packed: bytes) -> None:
        self._size += len(packed)
        if self._size > MOST_BYTES:
            self._packed.clear()
        elif packed:
            self._packed.append(packed)


def dump_kept(kept: KeptExecution) -> bytes | None:
    """Write it down; ``None`` when it is too large."""
    writer = KeptWriter()
    writer.fields(kept.fields)
    return writer.done(kept)


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


def _texts(values: Mapping[str, bytes]) -> dict[str, str]:
    return {name: value.decode() for name, value in values.items()}
