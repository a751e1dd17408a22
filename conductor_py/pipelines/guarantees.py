"""What the readers of each sink can rely on, and why, in words for people."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from conductor_py.pipelines.spec import Guarantee, Sink
from conductor_py.records import dataclass

_RANKS: Final = (Guarantee.AT_LEAST_ONCE, Guarantee.IDEMPOTENT, Guarantee.EXACTLY_ONCE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Promise:
    """A guarantee and its reason; ``None`` when only the connector itself can tell."""

    guarantee: Guarantee | None
    reason: str


_BY_KIND: Final[Mapping[str, Promise]] = MappingProxyType(
    {
        "jdbc": Promise(
            guarantee=Guarantee.EXACTLY_ONCE,
            reason="the rows of an epoch, its number and the fence are one transaction",
        ),
        "kafka": Promise(
            guarantee=Guarantee.EXACTLY_ONCE,
            reason="the messages of an epoch and its marker are one transaction;"
            " consumers must read with isolation read_committed",
        ),
        "elasticsearch": Promise(
            guarantee=Guarantee.IDEMPOTENT,
            reason="a document's id comes from its row and its version from the epoch, so writing"
            " again changes nothing; documents may be seen before the commit",
        ),
        "console": Promise(
            guarantee=Guarantee.AT_LEAST_ONCE,
            reason="what is printed cannot be taken back; for trials only",
        ),
        "assert": Promise(
            guarantee=Guarantee.AT_LEAST_ONCE,
            reason="it looks at rows and keeps none; for tests only",
        ),
    }
)
_FILES: Final = {
    "publish": Promise(
        guarantee=Guarantee.EXACTLY_ONCE,
        reason="files get their final names after the commit, names that the commit has fixed",
    ),
    "manifest": Promise(
        guarantee=Guarantee.EXACTLY_ONCE,
        reason="only files that a manifest lists count, and an epoch has one manifest",
    ),
}
_FILES_IN_A_STORE: Final = Promise(
    guarantee=Guarantee.EXACTLY_ONCE,
    reason="uploads are completed after the commit; until then the store shows no object",
)
_FOREIGN: Final = Promise(guarantee=None, reason="the connector says it when it is opened")


def promise_of(sink: Sink) -> Promise:
    """Say what a sink promises."""
    if sink.kind == "file":
        visibility = str(sink.settings.get("visibility", "publish"))
        if visibility == "publish" and str(sink.settings.get("path", "")).startswith("s3://"):
            return _FILES_IN_A_STORE
        return _FILES.get(visibility, _FOREIGN)
    return _BY_KIND.get(sink.kind, _FOREIGN)


def weaker(promised: Guarantee, required: Guarantee) -> bool:
    """Tell whether a promise is less than what is required."""
    return _RANKS.index(promised) < _RANKS.index(required)
