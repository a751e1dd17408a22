"""Values are taken out of texts and documents in every form, in linear time."""

import base64
import json
import re
import time
import tracemalloc
from urllib.parse import quote, quote_plus

import pytest

from conductor_py.model.json import JsonValue
from conductor_py.model.masking import LONGEST, MASK, MOST, Masker, masked, values_in

_SECRET = 'tök/e"n+\\1234 &x'


@pytest.mark.parametrize(
    "form",
    [
        _SECRET,
        json.dumps(_SECRET)[1:-1],
        json.dumps(_SECRET, ensure_ascii=False)[1:-1],
        json.dumps(_SECRET).replace("/", "\\/")[1:-1],
        json.dumps(json.dumps(_SECRET)[1:-1])[1:-1],
        quote(_SECRET),
        quote(_SECRET, safe=""),
        quote_plus(_SECRET),
        re.sub("%..", lambda hit: hit[0].lower(), quote(_SECRET, safe="")),
        _SECRET.encode().hex(),
        _SECRET.encode().hex().upper(),
    ],
)
def test_each_form_of_a_value_is_masked(form: str) -> None:
    assert Masker([_SECRET]).text(f"<{form}> and {form}") == "<***> and ***"


@pytest.mark.parametrize("before", ["", "u", "us", "user:"])
@pytest.mark.parametrize("encode", [base64.b64encode, base64.urlsafe_b64encode])
def test_base64_is_masked_at_each_alignment(before: str, encode: object) -> None:
    assert callable(encode)
    shown = Masker([_SECRET]).text(encode(f"{before}{_SECRET}!".encode()).decode())
    plain = shown.replace("***", "").replace("-", "+").replace("_", "/")
    assert "***" in shown
    assert len(plain) <= len(before) * 2 + 6


def test_value_that_is_short_is_not_looked_for() -> None:
    assert Masker(["abc"]).text("abcdef") == "abcdef"
    assert not Masker(["abc", ""])
    assert Masker(["abcde"]).text("YWJjZGU= abcde") == "YWJjZGU= ***"


def test_lines_of_a_key_and_texts_of_a_json_value_are_masked_by_themselves() -> None:
    key = "-----BEGIN KEY-----\nMIIEvQIBADANBg\nend\n"
    assert Masker([key]).text("got MIIEvQIBADANBg, end") == "got ***, end"
    value = '{"user": "me", "password": "hunter2hunter2"}'
    assert Masker([value]).text("me hunter2hunter2") == "me ***"


def test_beginning_of_a_value_at_the_end_of_a_reason_is_masked() -> None:
    masker = Masker(["s3cr3t-token"])
    assert masker.reason("no s3cr3t-to") == "no ***"
    assert masker.reason('500: "no s3cr3t-to"') == '500: "no ***"'
    assert masker.reason("a s3c") == "a s3c"
    assert masker.reason("s3cr3t-token s3cr3t is it") == "*** s3cr3t is it"


def test_documents_are_masked_in_names_texts_and_numbers() -> None:
    masker = Masker(["4111222233334444"])
    assert masker.document(
        {"4111222233334444": [4111222233334444, "no 4111222233334444", 4111, True, None, 1.5]}
    ) == {"***": ["***", "no ***", 4111, True, None, 1.5]}


def test_values_are_those_below_masked_members() -> None:
    document: dict[str, JsonValue] = {
        "card": {"n": [1234, True, None, "text"]},
        "x": "no",
        "y": [{"card": "two"}],
    }
    assert sorted(values_in(document, ["card"])) == ["1234", "text", "two"]
    assert masked(document, ["card"]) == {"card": "***", "x": "no", "y": [{"card": "***"}]}


class _LookedThrough(list[str]):
    """Names that count how often they are gone through for one of them."""

    times = 0

    def __contains__(self, name: object) -> bool:
        self.times += 1
        return super().__contains__(name)


def test_text_is_withheld_where_there_are_too_many_values_to_look_for() -> None:
    values = [f"value-{number}" for number in range(MOST + 1)]
    assert Masker(values[:-1]).text("any text") == "any text"
    assert Masker(values).text("any text") == Masker(values).reason("any text") == "***"
    document = {"a": ["any text", "value-7", "of value-7"]}
    assert Masker(values).document(document) == {"a": ["any text", "***", "of value-7"]}
    assert Masker(values, most=None).text("is value-7") == "is ***"


@pytest.mark.thorough(target="timing")
def test_a_hundred_values_are_looked_for_in_a_long_text_in_linear_time() -> None:
    values = ["a" * 50 + str(number) for number in range(MOST)]
    masker, text = Masker(values), "a" * 49 + "b"
    used = []
    for times in (2_000, 8_000):
        long = text * times
        began = time.process_time()
        assert masker.reason(long) == long
        used.append(time.process_time() - began)
    assert used[1] < 12 * used[0] + 0.1


def test_values_are_joined_and_known_ones_cost_nothing() -> None:
    masker = Masker(["value-1"])
    assert masker.joined(["value-1", "abc"]) is masker
    both = masker.joined(["value-2"])
    assert both.text("value-1 value-2") == "*** ***"
    assert both.needles == Masker(["value-2", "value-1"]).needles
    assert Masker([]).joined(f"value-{at}" for at in range(MOST + 1)).text("any") == "***"
    many = Masker(f"value-{at}" for at in range(MOST + 1))
    assert many.joined(["value-x"]).text("any") == "***"


def test_thousands_of_masked_names_are_looked_up_and_not_gone_through() -> None:
    names = _LookedThrough(f"name-{at}" for at in range(3_000))
    document: dict[str, JsonValue] = {f"other-{at}": {"x": "y"} for at in range(3_000)}
    assert masked(document, names) == document
    assert list(values_in(document, names)) == []
    assert "name-0" in names
    assert names.times == 1, "which was here"


def test_value_of_megabytes_is_looked_for_by_its_beginning() -> None:
    value = "é/" * 1_000_000
    masker = Masker([value])
    assert sum(map(len, masker.needles)) < 100 * LONGEST
    assert masker.text(f"got {value} here") == MASK
    assert masker.text(f"got {quote(value, safe='')} here") == MASK
    assert masker.text(f"got {value[: LONGEST // 2]}") == f"got {value[: LONGEST // 2]}"
    assert masker.document({"a": [value, "other"]}) == {"a": [MASK, "other"]}


def test_texts_are_masked_as_a_whole_when_the_work_is_done(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("conductor_py.model.masking.MOST_WORK", 1_000_000)
    masker = Masker([f"value-{at}" for at in range(10)])
    assert masker.text("of value-7") == "of ***"
    both = masker.joined(["value-x"])
    found = {both.text(f"text {at}") for at in range(2_000)}
    assert MASK in found
    assert masker.text("any text") == masker.reason("any text") == MASK
    assert masker.document({"any name": "any text"}) == {MASK: MASK}


def test_values_of_the_deployment_are_looked_for_whatever_it_takes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("conductor_py.model.masking.MOST_WORK", 1)
    masker = Masker(["value-1"], most=None)
    assert {masker.text("a value-1") for _ in range(100)} == {"a ***"}


def test_many_values_of_an_execution_are_not_copied_for_each_of_its_tasks() -> None:
    many = Masker(f"value-{at}" for at in range(200_000))
    tracemalloc.start()
    try:
        for at in range(50):
            joined = many.joined([f"own value {at}"])
            assert joined.document([f"own value {at}", "value-7", "x"]) == [MASK, MASK, "x"]
        _, most_bytes = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert most_bytes < 1_000_000, "a copy has 8 MB"


def test_texts_of_a_value_that_is_json_without_end_are_not_parsed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("conductor_py.model.masking.json.loads", None)
    masker = Masker(["[" + "[]," * 200_000 + "[]]"])
    assert masker.text("any text") == MASK, "the texts in it are not known"
