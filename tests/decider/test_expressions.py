"""Expressions: what ``${...}`` finds and leaves alone, and that no text makes it throw."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conductor_py.decider.expressions.expressions import (
    MAX_DEPTH,
    MISSING,
    Missing,
    check,
    compile_template,
    named_value,
    resolve,
    text_of,
)
from conductor_py.decider.expressions.nodes import MAX_TEXT, MAX_VISITS
from conductor_py.model.json import JsonValue

DOCUMENT: Mapping[str, Mapping[str, JsonValue]] = {
    "workflow": {
        "input": {
            "n": 5,
            "name": "Ada",
            "yes": True,
            "nothing": None,
            "ratio": 1.0,
            "items": [{"id": 1, "price": 2.5}, {"id": 2, "price": 3}],
            "member": {"k": "v", "k2": [1, None]},
            "tricky": "${workflow.input.n} $${x}",
            "where": "workflow.input.name",
            "a.b": {"c d": 7},
        },
        "variables": {"total": 9},
    },
    "fetch": {"output": {"key": "name", "1": {"inner": {"x": 3}}}, "status": "COMPLETED"},
    "my ref": {"output": {"x": 9}},
}


def lookup(root: str, member: str) -> JsonValue | Missing:
    found = DOCUMENT.get(root, MISSING)
    if found is MISSING or not member:
        return found
    return found.get(member, MISSING)


def resolved(value: JsonValue, *, task_id: str | None = None) -> JsonValue:
    return resolve(compile_template(value), lookup, task_id=task_id)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("${workflow.input.n}", 5),
        ("${workflow.input.yes}", True),
        ("${workflow.input.nothing}", None),
        ("${workflow.input.member}", {"k": "v", "k2": [1, None]}),
        ("${workflow.variables.total}", 9),
        ("${fetch.status}", "COMPLETED"),
        ("${fetch}", DOCUMENT["fetch"]),
        ("${fetch.output.1.inner.x}", 3),
        ("${fetch.output['1'].inner.x}", 3),
        ("${['my ref'].output.x}", 9),
        ("${$.workflow.input.n}", 5),
        ("${workflow['input']['a.b']['c d']}", 7),
        ("${ workflow.input.n }", 5),
        ("${not_run_yet.output.x}", None),
        ("${workflow.input.absent.deeper}", None),
    ],
)
def test_whole_expression_keeps_the_type_of_what_it_finds(text: str, value: JsonValue) -> None:
    found = resolved(text)
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("v=${workflow.input.absent}", "v=null"),
        ("v=${workflow.input.member}", "v={k=v, k2=[1, null]}"),
        ("${workflow.input.yes}/${workflow.input.n}", "true/5"),
        ("${workflow.input.n} ", "5 "),
        ("r=${workflow.input.ratio}", "r=1.0"),
        ("a${}b${  }c", "abc"),
        ("${}", ""),
    ],
)
def test_expression_within_a_text_is_written_as_java_writes_it(text: str, value: str) -> None:
    assert resolved(text) == value


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("$${x}", "${x}"),
        ("a $${x} ${workflow.input.n}", "a ${x} 5"),
        ("$$${x}", "$${x}"),
        ("$${a${workflow.input.n}}", "${a5}"),
        ("cost: 5$ {x}", "cost: 5$ {x}"),
    ],
)
def test_escaped_opener_becomes_text(text: str, value: str) -> None:
    assert resolved(text) == value


@pytest.mark.parametrize("text", ["${workflow.input.n", "a ${b {c}", "}${", "${${workflow.input.n"])
def test_unbalanced_text_stays_as_it_is(text: str) -> None:
    assert resolved(text) == text


def test_unbalanced_opener_does_not_hide_a_balanced_expression_after_it() -> None:
    assert resolved("${x ${workflow.input.n}") == "${x 5"


def test_inner_expression_is_resolved_first() -> None:
    assert resolved("${workflow.input.${fetch.output.key}}") == "Ada"
    assert resolved("hello ${workflow.input.${fetch.output.${}key}}") == "hello Ada"
    assert resolved("${${workflow.input.where}}") == "Ada"


def test_value_brought_in_is_never_read_again() -> None:
    assert resolved("${workflow.input.tricky}") == "${workflow.input.n} $${x}"
    assert resolved("<${workflow.input.tricky}>") == "<${workflow.input.n} $${x}>"


def test_maps_and_lists_are_resolved_but_keys_are_not() -> None:
    value: JsonValue = {
        "${workflow.input.n}": "${workflow.input.n}",
        "list": [1, "${workflow.input.n}", ["$${x}"]],
        "same": "text",
    }
    assert resolved(value) == {
        "${workflow.input.n}": 5,
        "list": [1, 5, ["${x}"]],
        "same": "text",
    }
    assert list(_map(resolved(value))) == ["${workflow.input.n}", "list", "same"]


def test_template_without_expressions_is_returned_itself() -> None:
    value: JsonValue = {"a": [1, {"b": "text"}], "c": None}
    template = compile_template(value)
    assert template.constant
    assert resolve(template, lookup, task_id=None) is value


def test_resolving_shares_what_it_finds_and_leaves_the_template_alone() -> None:
    fixed: JsonValue = {"deep": ["x"]}
    value: dict[str, JsonValue] = {"fixed": fixed, "found": "${workflow.input.member}"}
    template = compile_template(value)
    first, second = (_map(resolve(template, lookup, task_id=None)) for _ in range(2))
    assert first is not second
    assert first["fixed"] is fixed
    assert first["found"] is _map(DOCUMENT["workflow"]["input"])["member"]
    assert value["found"] == "${workflow.input.member}"


def test_secrets_stay_as_they_are_written() -> None:
    assert resolved("${workflow.secrets.DB}") == "${workflow.secrets.DB}"
    assert resolved("u ${workflow.secrets.DB.user} ${workflow.input.n}") == (
        "u ${workflow.secrets.DB.user} 5"
    )


def test_task_id_is_known_only_where_there_is_a_task() -> None:
    assert resolved("${CPEWF_TASK_ID}", task_id="t-1") == "t-1"
    assert resolved("id ${CPEWF_TASK_ID}", task_id="t-1") == "id t-1"
    assert resolved("${CPEWF_TASK_ID}") == "${CPEWF_TASK_ID}"
    assert resolved("id ${CPEWF_TASK_ID}") == "id ${CPEWF_TASK_ID}"


def test_no_variable_of_the_server_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HIDDEN", "NETFLIX_STACK", "CPEWF_TASK_ID"):
        monkeypatch.setenv(name, "secret")
    assert resolved("${HIDDEN}") is None
    assert resolved("a ${HIDDEN}") == "a null"
    assert resolved("${workflow.env.HIDDEN}") == "${workflow.env.HIDDEN}"
    for text in ("${NETFLIX_STACK}", "a ${NETFLIX_ENV} b", "${CPEWF_TASK_ID}"):
        assert resolved(text) == text


def test_a_named_value_is_read_whole_or_by_a_path_in_its_json() -> None:
    assert named_value("REGION", {"REGION": "eu"}.get) == "eu"
    assert named_value("CONF.hosts[1]", {"CONF": '{"hosts": ["a", "b"]}'}.get) == "b"
    assert named_value("CONF.hosts[1]", {"CONF": "not json"}.get) is None
    assert named_value("HIDDEN", dict[str, str]().get) is None


def test_indefinite_path_is_a_list_even_when_nothing_is_there() -> None:
    assert resolved("${workflow.input.items[*].id}") == [1, 2]
    assert resolved("${workflow.input.no_such_list[*].id}") == []
    assert resolved("${not_run_yet.output.list[*].id}") == []


def test_filters_and_functions_may_read_the_document() -> None:
    assert resolved("${workflow.input.items[?(@.id == $.fetch.output.1.inner.x)]}") == []
    assert resolved("${workflow.input.items[?(@.id < $.workflow.input.n)].id}") == [1, 2]
    assert resolved("${concat($.workflow.input.name, '-', 3)}") == "Ada-3"
    assert resolved("${workflow.input.items[*].price.sum()}") == 5.5


def test_roots_are_known_before_resolving() -> None:
    template = compile_template(
        {
            "a": "${t1.output.x} ${workflow.input.a}",
            "b": ["${t1.output.y}", "${['t 2']}", "${concat($.t3.output.x, 'y')}"],
            "c": "${NAME} ${workflow.secrets.S} ${CPEWF_TASK_ID}",
        }
    )
    assert template.roots == (
        ("t1", "output"),
        ("workflow", "input"),
        ("t 2", ""),
        ("t3", "output"),
        ("NAME", ""),
    )
    assert not template.dynamic
    assert not template.constant


def test_computed_path_says_what_it_knows_and_that_more_may_come() -> None:
    template = compile_template("${workflow.input.${t1.output.key}}")
    assert template.dynamic
    assert template.roots == (("workflow", "input"), ("t1", "output"))
    assert compile_template("${${t1.output.key}}").roots == (("t1", "output"),)


def test_lookup_may_interrupt_the_resolution() -> None:
    class Needed(Exception):
        pass

    def interrupt(root: str, member: str) -> JsonValue | Missing:
        raise Needed((root, member))

    for text in (
        "${t.output.x}",
        "a ${t.output[*].x} b",
        "${concat($.t.output.x)}",
        "${${t.output}}",
    ):
        with pytest.raises(Needed):
            resolve(compile_template({"deep": [text]}), interrupt, task_id=None)


def test_check_says_where_and_what() -> None:
    complaints = check(
        {
            "good": "${workflow.input.a} $${x} ${workflow.secrets.S} ${CPEWF_TASK_ID} ${}",
            "list": [{"odd key": "${t.output.my key}"}],
            "open": "${t.output",
            "inner": "${a.output.${b.output[}}",
        }
    )
    assert [place for place, _ in complaints] == [".list[0]['odd key']", ".open", ".inner"]
    assert "my key" in complaints[0][1]
    assert "not closed" in complaints[1][1]


def test_too_deep_nesting_is_left_alone_and_reported() -> None:
    value: Any = "${workflow.input.n}"
    inner: Any = None
    for _ in range(MAX_DEPTH + 1):
        inner, value = value, [value]
    assert resolved(value) is value
    assert len(check(value)) == 1
    assert resolved(inner) != inner


def test_very_deep_values_and_expressions_do_not_throw() -> None:
    value: Any = "${workflow.input.n}"
    for _ in range(20_000):
        value = {"a": value}
    assert resolved(value) is value
    assert text_of(value).startswith("{a={a=")
    assert check(value)
    nested = "${" * 5_000 + "}" * 5_000
    assert isinstance(resolved(nested), str | None)
    assert check(nested)


def test_all_paths_of_a_template_share_one_budget() -> None:
    many: JsonValue = list(range(MAX_VISITS // 4 - 100))

    def payload(_root: str, _member: str) -> JsonValue | Missing:
        return many

    template = compile_template([*["${t.output[*]}"] * 5, "${t.output[7]}"])
    assert resolve(template, payload, task_id=None) == [many, many, many, many, [], 7]


def test_text_cannot_be_multiplied_without_end() -> None:
    def payload(_root: str, _member: str) -> JsonValue | Missing:
        return "x" * 2**20

    found = resolve(compile_template("${t.output}" * 5_000), payload, task_id=None)
    assert isinstance(found, str)
    assert MAX_TEXT < len(found) < MAX_TEXT + 2**21


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "null"),
        (True, "true"),
        (10, "10"),
        (1.0, "1.0"),
        (-0.0, "-0.0"),
        (0.001, "0.001"),
        (0.0001, "1.0E-4"),
        (9999999.0, "9999999.0"),
        (12345678.0, "1.2345678E7"),
        (1e21, "1.0E21"),
        (-1.5e-10, "-1.5E-10"),
        (float("inf"), "Infinity"),
        (float("nan"), "NaN"),
        ({"a": "x", "b": [1, 2.0, None, {"c": False}]}, "{a=x, b=[1, 2.0, null, {c=false}]}"),
        ([], "[]"),
        ({}, "{}"),
    ],
)
def test_text_of_a_value_is_javas(value: JsonValue, text: str) -> None:
    assert text_of(value) == text


_TEXTS: list[JsonValue] = ["a/b", 'q"\\', "\x00\t\x7f\u2028"]
_VALUES: list[JsonValue] = [1e7, None, {"a/b": [True, "\xe9"], "n": {}}]


def test_what_an_indefinite_path_finds_is_json_within_a_text_as_javas_library_writes_it() -> None:
    """As Conductor's server answered: a list that is named is not."""
    template = compile_template("x ${t.odd[*]} ${t.${t.which}} ${t.odd}")
    document: dict[str, JsonValue] = {"odd": _TEXTS, "which": "odd[2:]"}
    assert resolve(template, lambda _, member: document[member], task_id=None) == (
        r'x ["a\/b","q\"\\","\u0000\t\u007F\u2028"] ["\u0000\t\u007F\u2028"] '
        '[a/b, q"\\, \x00\t\x7f\u2028]'
    )
    document["odd"] = _VALUES
    assert resolve(template, lambda _, member: document[member], task_id=None) == (
        r'x [1.0E7,null,{"a\/b":[true,"é"],"n":{}}] [{"a\/b":[true,"é"],"n":{}}] '
        "[1.0E7, null, {a/b=[true, é], n={}}]"
    )


def test_text_of_an_enormous_integer_is_its_digits() -> None:
    assert text_of(10**5_000) == "1" + "0" * 5_000


FRAGMENTS = st.sampled_from(
    [
        "${",
        "$${",
        "}",
        "{",
        "$",
        "workflow",
        ".",
        "input",
        "n",
        "[",
        "]",
        "'",
        "*",
        "..",
        "?(@.",
        ")",
        "==",
        " ",
        "1",
        ":",
        "length()",
        "concat(",
        ",",
        "items",
        "\n",
        "=~/a/",
        "&&",
        "!",
        "\\",
        "é",
    ]
)
TEXTS = st.lists(FRAGMENTS, max_size=25).map("".join)


@given(TEXTS)
def test_nothing_a_user_writes_makes_resolving_throw(text: str) -> None:
    value: JsonValue = {"a": [text], text: None}
    template = compile_template(value)
    found = _map(resolve(template, lookup, task_id="t"))
    assert list(found) == list(_map(value))
    assert isinstance(check(value), tuple)
    assert template.constant or not (check(value) and found == value) or "${" in text


@given(TEXTS.filter(lambda text: "$$" not in text))
def test_escaping_every_opener_brings_the_text_back(text: str) -> None:
    assert resolved(text.replace("${", "$${")) == text


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | TEXTS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=10,
)


@given(JSON)
def test_whatever_a_payload_holds_comes_through_unchanged(value: Any) -> None:
    def payload(_root: str, _member: str) -> JsonValue | Missing:
        return {"x": value}

    template = compile_template({"out": "${t.output.x}", "text": "<${t.output.x}>"})
    found = _map(resolve(template, payload, task_id=None))
    assert found["out"] is value
    assert found["text"] == f"<{text_of(value)}>"


def _map(value: JsonValue) -> Mapping[str, JsonValue]:
    assert isinstance(value, Mapping)
    return value
