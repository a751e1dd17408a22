"""JSONPath: Jayway's answers, and a bound on what a path may cost."""

from __future__ import annotations

import re
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conductor_py.decider.expressions.jsonpath import MAX_VISITS, compile_path, read
from conductor_py.decider.expressions.jsonpath_operators import holds
from conductor_py.decider.expressions.jsonpath_steps import Call, Filter, Path
from conductor_py.decider.expressions.linear_regex import Regex, compile_regex
from conductor_py.model.json import JsonValue

STORE: JsonValue = {
    "books": [
        {"title": "Sayings", "price": 8.95, "tags": ["old", "quotes"], "isbn": None},
        {"title": "Sword", "price": 12.99, "tags": [], "author": "Waugh"},
        {"title": "Moby Dick", "price": 8.99, "author": "Melville", "isbn": "0-553"},
        {"title": "Rings", "price": "22", "author": "Tolkien", "tags": ["long"]},
    ],
    "bike": {"color": "red", "price": 19.95},
    "numbers": [3, 1, 2],
    "words": ["a", "b"],
    "odd key": {"a.b": 1, "it's": 2},
    "rare-name": "x",
    "empty": [],
    "nothing": None,
}


def found(path: str, document: JsonValue = STORE) -> JsonValue:
    compiled = compile_path(path)
    assert isinstance(compiled, Path), compiled
    return read(compiled, document)


def titles(condition: str) -> list[Any]:
    result = found(f"$.books[?({condition})].title")
    assert isinstance(result, list)
    return result


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("$", STORE),
        ("bike.color", "red"),
        ("$.bike['price']", 19.95),
        ("$['odd key'][\"a.b\"]", 1),
        (r"$['odd key']['it\'s']", 2),
        ("rare-name", "x"),
        ("numbers[0]", 3),
        ("numbers[-1]", 2),
        ("numbers[(@.length-1)]", 2),
        ("books[1].tags", []),
        ("nothing", None),
        ("numbers[3]", None),
        ("numbers[-4]", None),
        ("bike.color.length", None),
        ("bike.color[0]", None),
        ("bike[0]", None),
        ("books.title", None),
        ("books['0']", None),
        ("absent.deeper[0].still", None),
        ("bike['color','price','absent']", {"color": "red", "price": 19.95}),
    ],
)
def test_definite_path_answers_with_the_value_or_null(path: str, value: JsonValue) -> None:
    assert found(path) == value


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("books[*].price", [8.95, 12.99, 8.99, "22"]),
        ("books.*.author", ["Waugh", "Melville", "Tolkien"]),
        ("bike.*", ["red", 19.95]),
        ("numbers[0,2]", [3, 2]),
        ("numbers[0,9]", [3]),
        ("numbers[1:]", [1, 2]),
        ("numbers[:2]", [3, 1]),
        ("numbers[-2:]", [1, 2]),
        ("numbers[::2]", [3, 2]),
        ("numbers[ 0 : 1 ]", [3]),
        ("$..color", ["red"]),
        ("$..author", ["Waugh", "Melville", "Tolkien"]),
        ("$..tags[0]", ["old", "long"]),
        ("$..[?(@.color)].price", [19.95]),
        ("bike[?(@.color == 'red')].price", [19.95]),
        (
            "books[1,2]['title','author']",
            [{"title": "Sword", "author": "Waugh"}, {"title": "Moby Dick", "author": "Melville"}],
        ),
        ("$..['color','price']", [{"color": "red", "price": 19.95}]),
        ("$..['color','absent']", []),
        ("absent[*]", []),
        ("absent..x", []),
        ("empty[*].x", []),
        ("bike.color[*]", []),
        ("absent[1:2].x", []),
        ("books[?(@.absent)]", []),
    ],
)
def test_indefinite_path_answers_with_a_list(path: str, value: JsonValue) -> None:
    assert found(path) == value


def test_descent_visits_each_node_before_what_it_contains() -> None:
    document: JsonValue = {"a": {"x": {"x": 1}}, "x": [{"x": 2}]}
    assert found("$..x", document) == [[{"x": 2}], {"x": 1}, 1, 2]
    assert found("$..*", {"a": [1, {"b": 2}]}) == [[1, {"b": 2}], 1, {"b": 2}, 2]


@pytest.mark.parametrize(
    ("condition", "expected"),
    [
        ("@.price < 9", ["Sayings", "Moby Dick"]),
        ("@.price == 12.99", ["Sword"]),
        ("@.price == '12.99'", ["Sword"]),
        ("@.price == 22", ["Rings"]),
        ("@.price === 22", []),
        ("@.price < 10 && @.author", ["Moby Dick"]),
        ("@.author == 'Waugh' || @.price < 8.96", ["Sayings", "Sword"]),
        ("!(@.author)", ["Sayings"]),
        ("!@.author", ["Sayings"]),
        ("@.isbn", ["Sayings", "Moby Dick"]),
        ("@.isbn == null", ["Sayings", "Sword", "Rings"]),
        ("@.isbn != null", ["Moby Dick"]),
        ("@.title.x == null", ["Sayings", "Sword", "Moby Dick", "Rings"]),
        ("@.absent == @.missing", ["Sayings", "Sword", "Moby Dick", "Rings"]),
        ("@.isbn in [null]", ["Sayings", "Sword", "Rings"]),
        ("@.tags noneof ['old']", ["Sword", "Rings"]),
        ("@.title noneof ['old']", []),
        ("@.author =~ /w.*/i", ["Sword"]),
        ("@.author =~ /w.*/", []),
        ("@['author'] in ['Waugh', 'Tolkien']", ["Sword", "Rings"]),
        ("@.author nin ['Waugh', 'Tolkien']", ["Sayings", "Moby Dick"]),
        ("@.tags contains 'long'", ["Rings"]),
        ("@.author contains 'elvi'", ["Moby Dick"]),
        ("@.tags size 2", ["Sayings"]),
        ("@.tags empty true", ["Sword"]),
        ("@.tags empty false", ["Sayings", "Rings"]),
        ("@.tags.length() >= 1", ["Sayings", "Rings"]),
        ("@.tags[0] == 'old'", ["Sayings"]),
        ("@.tags[*]", ["Sayings", "Rings"]),
        ("@.tags anyof ['old', 'long']", ["Sayings", "Rings"]),
        ("@.tags subsetof ['old', 'quotes', 'long']", ["Sayings", "Sword", "Rings"]),
        ("@.price > $.numbers[0] && @.price < $.bike.price", ["Sayings", "Sword", "Moby Dick"]),
        ("(@.price > 9 || @.isbn) && !(@.tags empty true)", ["Sayings", "Moby Dick"]),
        ("'Sword' == @.title", ["Sword"]),
        ('@.title == "Sword"', ["Sword"]),
        ("@.price < 'x'", ["Rings"]),
    ],
)
def test_filter(condition: str, expected: list[str]) -> None:
    assert titles(condition) == expected


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("numbers.length()", 3),
        ("bike.size()", 2),
        ("numbers.min()", 1.0),
        ("numbers.max()", 3.0),
        ("numbers.avg()", 2.0),
        ("numbers.sum()", 6.0),
        ("$.sum($.numbers, 4)", 10.0),
        ("numbers.stddev()", 0.816496580927726),
        ("words.concat('-', 3, $.rare-name)", "ab-3x"),
        ("words.append('c')", ["a", "b", "c"]),
        ("bike.keys()", ["color", "price"]),
        ("bike.keys().length()", 2),
        ("numbers.first()", 3),
        ("numbers.last()", 2),
        ("numbers.index(1)", 1),
        ("books.last().title", "Rings"),
        ("books[*].price.sum()", 30.93),
        ("books[*].tags.length()", [2, 0, 1]),
        ("empty.first()", None),
        ("empty.sum()", None),
        ("bike.first()", None),
        ("absent.length()", None),
        ("absent[*].sum()", []),
    ],
)
def test_function(path: str, value: JsonValue) -> None:
    assert found(path) == pytest.approx(value) if isinstance(value, float) else found(path) == value


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("rare-name.length()", None),
        ("books[*].title.size()", [None, None, None, None]),
        ("books[*].price.keys()", [None, None, None, None]),
        ("rare-name.append(1)", "x"),
        ("bike.append(1)", {"color": "red", "price": 19.95}),
        ("numbers[*].append(1)", [3, 1, 2]),
        ("numbers[*].first()", None),
        ("words[*].sum()", None),
        ("books[?(@.price.sum() > 1)].title", None),
        ("rare-name[?(@.x)]", None),
        ("nothing[?(@.x)].x", None),
        ("numbers[0][?(@.x)].length()", None),
        ("absent[?(@.x)]", []),
        ("numbers[*][?(@.x)]", []),
        ("books[?(@.title[?(@.x)])].title", []),
    ],
)
def test_what_cannot_be_asked_of_a_value_is_null(path: str, value: JsonValue) -> None:
    """As Conductor's server answered."""
    assert found(path) == value


@pytest.mark.parametrize("name", ["sum", "avg", "stddev"])
def test_what_no_double_holds_is_null(name: str) -> None:
    assert found(f"a.{name}()", {"a": [1.7e308, 1.7e308]}) is None


def test_equal_numbers_do_not_deviate() -> None:
    assert found("a.stddev()", {"a": [0.1, 0.1, 0.1]}) == pytest.approx(0, abs=1e-8)


def test_a_deviation_has_the_last_digit_of_javas() -> None:
    assert found("numbers.stddev()") == 0.8164965809277263


def test_functions_leave_the_value_alone() -> None:
    words: JsonValue = {"words": ["a"]}
    assert found("words.append('b')", words) == ["a", "b"]
    assert words == {"words": ["a"]}


@pytest.mark.parametrize(
    "path",
    [
        "a..",
        "a.",
        "a[",
        "a[]",
        "a[x]",
        "a b",
        "a['x]",
        "a[?(@.x ==)]",
        "a[?(@.x ~ 1)]",
        "a.nope()",
        "a[1:2:0]",
        "$x",
        "a[?(@.x =~ /(?=a)/)]",
        "a[?(@.x like 'y')]",
        "a['x',1]",
        "x" * 5000,
        r"concat('\ud800')",
        r"a['x\udfff']",
        r"a[?(@.b == '\udc00\ud800')]",
        "concat('\ud800')",
    ],
)
def test_malformed_path_is_told_in_a_sentence(path: str) -> None:
    sentence = compile_path(path)
    assert isinstance(sentence, str)
    assert sentence.endswith(".")


def test_runaway_descent_finds_nothing_within_its_budget() -> None:
    wide: JsonValue = {"a": [[list(range(10)) for _ in range(30)] for _ in range(10)]}
    assert found("$..*..*..*..*..*", wide) == []
    many: JsonValue = list(range(MAX_VISITS // 2 + 10))
    assert found("$[*]", many) == many
    assert found("$[?(@ > -1)]", many) == []


def test_runaway_regular_expression_is_linear() -> None:
    hostile: JsonValue = ["a" * 20_000 + "b", "aaa"]
    assert found("$[?(@ =~ /(a+)+/)]", hostile) == ["aaa"]
    assert found("$[?(@ =~ /(a|aa)+$/)]", hostile) == ["aaa"]


def test_path_nested_in_itself_is_refused_not_recursed_into() -> None:
    assert isinstance(compile_path("a" + "[?(@.a" * 500), str)
    assert isinstance(compile_path("a[?(" + "(" * 500 + "@.a" + ")" * 500 + ")]"), str)
    assert isinstance(compile_path("a[?(" + "!" * 500 + "@.a)]"), str)
    assert isinstance(compile_path("a[?(@.x in " + "[" * 500 + "]" * 500 + ")]"), str)


KEYS = st.text(alphabet="abcXYZ_-0 .'\\é", min_size=1, max_size=4)
DOCUMENTS = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=12,
)


@given(DOCUMENTS)
def test_every_node_is_reached_by_its_own_path_and_by_descent(document: Any) -> None:
    nodes: list[Any] = []

    def visit(path: str, node: Any) -> None:
        assert found(path, document) is node
        nodes.append(node)
        if isinstance(node, dict):
            for key, child in node.items():
                quoted = key.replace("\\", "\\\\").replace("'", "\\'")
                visit(f"{path}['{quoted}']", child)
        elif isinstance(node, list):
            for index, child in enumerate(node):
                visit(f"{path}[{index}]", child)

    visit("$", document)
    assert found("$..*", document) is not None
    reached = found("$..*", document)
    assert isinstance(reached, list)
    assert len(reached) == len(nodes) - 1


FRAGMENTS = st.sampled_from(
    [
        "$",
        "@",
        ".",
        "..",
        "[",
        "]",
        "(",
        ")",
        "?",
        "*",
        "'",
        '"',
        "a",
        "b",
        "0",
        "-1",
        ":",
        ",",
        " ",
        "==",
        "!=",
        "<",
        "=~",
        "/a+/",
        "&&",
        "||",
        "!",
        "in",
        "size",
        "empty",
        "true",
        "null",
        "1.5",
        "length()",
        "sum(",
        "keys()",
        "[?(@.a",
        "[*]",
        "\\",
        "['a']",
        "[?(@.b == 1)]",
    ]
)


@given(st.lists(FRAGMENTS, max_size=14).map("".join), DOCUMENTS)
def test_no_path_and_no_document_make_it_throw(path: str, document: Any) -> None:
    compiled = compile_path(path)
    if isinstance(compiled, str):
        assert compiled.endswith(".")
    else:
        result = read(compiled, document)
        numeric = isinstance(result, float)
        assert compiled.definite or numeric or isinstance(result, list | dict | str | int | None)
        asks = any(isinstance(step, Call | Filter) for step in compiled.steps)
        assert compiled.definite or asks or result is not None


PATTERNS = st.recursive(
    st.sampled_from(["a", "b", ".", "[ab]", "[^a]", r"\d", r"\w", "1", r"\.", "B"]),
    lambda inner: st.one_of(
        st.tuples(inner, inner).map("".join),
        st.tuples(inner, inner).map(lambda two: f"(?:{two[0]}|{two[1]})"),
        st.tuples(
            inner, st.sampled_from(["*", "+", "?", "{2}", "{1,3}", "{2,}", "{0,1}", "*?"])
        ).map(lambda two: f"({two[0]}){two[1]}"),
    ),
    max_leaves=6,
)


@given(PATTERNS, st.text(alphabet="abAB1.\n", max_size=8), st.sampled_from(["", "i", "s"]))
def test_linear_regex_agrees_with_a_backtracking_one(pattern: str, text: str, flags: str) -> None:
    regex = compile_regex(pattern, flags)
    assert isinstance(regex, Regex)
    options = (re.IGNORECASE if "i" in flags else 0) | (re.DOTALL if "s" in flags else 0)
    expected = re.fullmatch(pattern, text, options | re.ASCII) is not None
    assert regex.matches(text, lambda _states: None) is expected


@pytest.mark.parametrize(
    "pattern",
    [
        "(",
        ")",
        "a{2,1}",
        "[",
        "*a",
        r"\b",
        "(?!a)",
        r"(a)\1",
        "a" * 201,
        "(a{99}){99}",
        "a**",
        "[a&&b]",
    ],
)
def test_pattern_that_is_not_understood_is_refused(pattern: str) -> None:
    assert isinstance(compile_regex(pattern), str)


def test_long_text_may_be_searched() -> None:
    document: JsonValue = [{"text": "x" * 2_000_000 + "needle"}, {"text": "hay"}]
    (text,) = cast(list[str], found("$[?(@.text contains 'needle')].text", document))
    assert len(text) == 2_000_006


def test_halves_of_a_surrogate_pair_that_follow_each_other_are_one_letter() -> None:
    assert found(r"$.concat('\ud83d\ude00')", []) == "\N{GRINNING FACE}"


class _Spent:
    """A budget that only counts."""

    def __init__(self) -> None:
        self.visits = 0

    def __call__(self, visits: int) -> None:
        self.visits += visits


def _cost(operator: str, left: Any, right: Any) -> int:
    spent = _Spent()
    holds(operator, left, right, spent)
    return spent.visits


_LONG = "a" * 1_000_000


def _short(given: object) -> str:
    return str(given)[:20]


@pytest.mark.parametrize(
    ("operator", "left", "right"),
    [
        ("<=", _LONG, _LONG),
        (">", _LONG, _LONG + "b"),
        ("==", [_LONG], [_LONG]),
        ("==", {"a": {"b": [_LONG]}}, {"a": {"b": [_LONG]}}),
        ("==", {_LONG: 1}, {_LONG: 1}),
        ("==", [[0] * 10_000], [[0] * 10_000]),
        ("in", _LONG, ["b", _LONG]),
        ("in", [0] * 10_000, [[0] * 10_000]),
        ("contains", ["b", _LONG], _LONG),
        ("contains", _LONG, "b"),
        ("anyof", [_LONG], [_LONG]),
        ("=~", [None] * 10_000, compile_regex("q")),
        ("=~", _LONG, compile_regex("a*")),
    ],
    ids=_short,
)
def test_each_comparison_of_much_text_costs_its_length(
    operator: str, left: Any, right: Any
) -> None:
    assert _cost(operator, left, right) >= 10_000


def test_a_regular_expression_of_many_states_costs_them_on_a_text_of_nothing() -> None:
    hostile = compile_regex("((a?b?c?d?e?){9}){9}.q")
    assert isinstance(hostile, Regex)
    assert _cost("=~", "", hostile) > 500
    behind = compile_regex(".((a?b?c?d?e?){9}){9}q")
    assert _cost("=~", "x", behind) > 500


def test_a_long_text_is_not_lowered_before_a_regular_expression_has_left_it() -> None:
    class Lowered(str):
        __slots__ = ()

        def lower(self) -> str:
            raise AssertionError

    regex = compile_regex("q", "i")
    assert isinstance(regex, Regex)
    assert not regex.matches(Lowered("A" * 1_000), _Spent())
    assert regex.matches("Q", _Spent())


def test_texts_that_are_joined_cost_what_they_make() -> None:
    joins = ", ".join(["$.x"] * 150)
    assert found(f"$.l[?(@.concat({joins}) == 'a')]", {"x": _LONG, "l": [1]}) == []
    assert found(f"$.x.concat({joins})", {"x": _LONG}) is None
    assert found("$.concat($.x, $.x)", {"x": _LONG}) == 2 * _LONG
