"""How much the tasks come to that workflows use: each is stored once, and may be used by the
thousand; a definition that is put together has it as often.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Final

from conductor_py.errors import InvalidInput, Violation
from conductor_py.model.catalog import Entry
from conductor_py.model.json_bounds import MAX_VALUES, values_in

MOST_BYTES: Final = 32 << 20
"""As stored, of the tasks that one save or import uses, each as often as it does."""


def check_weight(
    entries: Iterable[Entry], documents: Mapping[tuple[int, int], bytes], path: str
) -> None:
    """``InvalidInput``, at ``path``, when the tasks that ``entries`` use come to more than anybody
    could send as a definition; ``documents`` are these tasks as stored, by code and version.
    """
    times = Counter((entry.code, entry.version) for entry in entries if entry.is_use)
    used = [(documents[key], count) for key, count in times.items() if key in documents]
    if (
        sum(len(document) * count for document, count in used) > MOST_BYTES
        or sum(values_in(document) * count for document, count in used) > MAX_VALUES
    ):
        message = (
            f"must not use tasks that come to more than {MOST_BYTES >> 20} MB, or {MAX_VALUES} JSON"
            " values, each counted as often as it is used"
        )
        raise InvalidInput(violations=(Violation(path=path, message=message),))
