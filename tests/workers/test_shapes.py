"""A value that a column's type would cut short is refused by name, and one that fits is taken."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

from conductor_workers.pipelines.shapes import Instant, NotOfType, WrittenFloat, shaped

_MOMENT = pa.timestamp("us", "UTC")
_NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


def _shaped(value: object, type_: pa.DataType) -> Any:
    """What becomes of a value in a column whose other values are as they should be."""
    schema = pa.schema([("c", type_)])
    return shaped([[None], [value]], schema).to_pylist()[1]["c"]


@pytest.mark.parametrize(
    ("value", "type_"),
    [
        (1.5, pa.int64()),
        (Decimal("1.5"), pa.int64()),
        (WrittenFloat("1.5"), pa.int32()),
        (float("nan"), pa.int64()),
        (float("inf"), pa.int64()),
        ("7", pa.int64()),
        (True, pa.int64()),
        (300, pa.int8()),
        (2.7, pa.bool_()),
        (Decimal("0.5"), pa.bool_()),
        ([1], pa.bool_()),
        (2.7, _MOMENT),
        (Decimal("2.7"), _MOMENT),
        (1_767_225_600, _MOMENT),
        (2.7, pa.date32()),
        (20_000, pa.date32()),
        (datetime(2026, 1, 1, 12), pa.date32()),  # noqa: DTZ001
        ([1, 1.5], pa.list_(pa.int64())),
        ({"a": 1.5}, pa.struct([("a", pa.int64())])),
        ({"a": [2.7]}, pa.map_(pa.string(), pa.list_(_MOMENT))),
        ((1, 2), pa.struct([("a", pa.int64())])),
        ([("a", 1)], pa.map_(pa.string(), pa.int64())),
        ([["a", (1, 2)]], pa.list_(pa.list_(pa.struct([("a", pa.int64())])))),
        ({1.5: 1}, pa.map_(pa.int64(), pa.int64())),
        (1.25, pa.decimal128(3, 1)),
    ],
)
def test_a_value_that_a_type_would_cut_short_is_refused(value, type_):
    with pytest.raises(NotOfType, match="the column c holds ") as caught:
        _shaped(value, type_)
    told = str(caught.value)
    assert str(value)[:60] in told or isinstance(value, dict)
    assert "_Unfit" not in told
    assert told.endswith(f", which is no {type_}")


@pytest.mark.parametrize(
    ("value", "type_", "taken"),
    [
        (2.0, pa.int64(), 2),
        (Decimal("2.00"), pa.int64(), 2),
        (WrittenFloat("1e3"), pa.int64(), 1000),
        (-(2**63), pa.int64(), -(2**63)),
        (1, pa.bool_(), True),
        (0.0, pa.bool_(), False),
        (_NOON, _MOMENT, _NOON),
        ("2026-01-01 12:00:00", _MOMENT, _NOON),
        (Instant(1_767_268_800_000_000), _MOMENT, _NOON),
        (date(2026, 1, 1), pa.date32(), date(2026, 1, 1)),
        (datetime(2026, 1, 1), pa.date32(), date(2026, 1, 1)),  # noqa: DTZ001
        ([1, 2.0, None], pa.list_(pa.int64()), [1, 2, None]),
        ({"a": 2.0}, pa.struct([("a", pa.int64()), ("b", _MOMENT)]), {"a": 2, "b": None}),
        ({"a": 2.0}, pa.map_(pa.string(), pa.int64()), [("a", 2)]),
        ([WrittenFloat("1.10")], pa.list_(pa.decimal128(4, 2)), [Decimal("1.10")]),
        (1.5, pa.decimal128(4, 2), Decimal("1.50")),
        (b"caf\xe9", pa.string(), "caf\ufffd"),
        (True, pa.string(), "true"),
        ([{"a": [1, "é"]}, False, "x"], pa.list_(pa.string()), ['{"a":[1,"é"]}', "false", "x"]),
        ({1.0: 1}, pa.map_(pa.int64(), pa.int64()), [(1, 1)]),
    ],
)
def test_a_value_that_fits_is_taken(value, type_, taken):
    assert _shaped(value, type_) == taken
