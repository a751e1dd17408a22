"""Numbers of JSON keep the digits that they are written with."""

from __future__ import annotations

import json
from decimal import Decimal

import pyarrow as pa
import pytest

from conductor_workers.pipelines.shapes import WrittenFloat, shaped
from conductor_workers.pipelines.sources.line_reader import members_in

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


@pytest.mark.parametrize(
    "written",
    [
        _LONG,
        "1.50",
        "[1.5, 2]",
        "[1.50]",
        '{"p":12345678901234567890.123456789,"q":1.10}',
        '[{"p": 1e3}, -0, NaN]',
        "9" * 5_000,
    ],
)
def test_as_text_a_number_is_as_it_is_written(written):
    message = f' {{"n" : {written} , "o":true}} \n'.encode()
    assert members_in(message, ["o", "n", "p"]) == ["true", written, None]


@pytest.mark.parametrize(
    ("message", "texts"),
    [
        (b'{"n":"\\ud800x"}', ["?x"]),
        (b'{"n":["\xed\xa0\x80"]}', ['["?"]']),
        ('{"n":"\u00e9"}'.encode("utf-16"), ["\u00e9"]),
        (b'\xef\xbb\xbf{"n":null}', [None]),
        (b'{"n":1} x', None),
        (b"[1]", None),
        (b'{"n":"\xe9"}', None),
        (b"[" * 100_000, None),
        (b"", None),
    ],
)
def test_a_message_that_is_no_text_or_no_object_stops_nothing(message, texts):
    assert members_in(message, ["n"]) == texts
