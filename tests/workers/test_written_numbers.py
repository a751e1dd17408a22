"""Numbers of JSON keep the digits that they are written with."""

from __future__ import annotations

import json
from decimal import Decimal

import pyarrow as pa
import pytest

from conductor_workers.pipelines.shapes import WrittenFloat, shaped
from conductor_workers.pipelines.sources.line_reader import text_of

_LONG = "123456789012345678.91"


@pytest.mark.parametrize(
    ("type_", "written", "value"),
    [
        (pa.decimal128(20, 2), _LONG, Decimal(_LONG)),
        (pa.float64(), "2.5e3", 2500.0),
        (pa.string(), "1.50", "1.50"),
        (pa.list_(pa.float64()), "[1.5, 2]", [1.5, 2.0]),
    ],
)
def test_a_number_becomes_what_is_declared(type_, written, value):
    read = json.loads(written, parse_float=WrittenFloat)
    batch = shaped([[read]], pa.schema([("n", type_)]))
    assert batch.to_pylist() == [{"n": value}]


@pytest.mark.parametrize("written", [_LONG, "1.50", "[1.5, 2]"])
def test_as_text_a_number_is_as_it_is_written(written):
    assert text_of(json.loads(written, parse_float=WrittenFloat)) == written
