"""What scripts print: kept in bounded number and length, whatever they do to their console."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from conductor_py.adapters.quickjs import QuickJsScripts
from conductor_py.adapters.quickjs.scripts import _lines_of
from conductor_py.ports.scripts import Evaluation, Failure, ScriptResult, Value


@pytest.fixture(scope="module")
def scripts() -> Iterator[QuickJsScripts]:
    made = QuickJsScripts()
    yield made
    made.close()


def _run(scripts: QuickJsScripts, expression: str, **bindings: str) -> ScriptResult:
    asked = Evaluation(
        evaluator="javascript", expression=expression, input={"a": 1}, bindings=bindings
    )
    (result,) = scripts.evaluate([asked])
    return result


@pytest.mark.parametrize(
    ("printed", "line"),
    [
        ("console.log('a', 1, true)", "a 1 true"),
        ("console.info($, [null])", '{"a":1} [null]'),
        ("console.debug()", ""),
        ("console.warn('w')", "[WARN] w"),
        ("console.error(new TypeError('e'))", "[ERROR] TypeError: e"),
        ("console.log(undefined, Symbol('s'), 5n, () => 1)", "undefined Symbol(s) 5 () => 1"),
        ("const c = {}; c.c = c; console.log(c)", "[object Object]"),
        ("console.log('two\\nlines')", "two\nlines"),
        ("console.log('\\ud800')", "\ufffd"),
        ("const o = Object.create(null); o.o = o; console.log(o)", "[object Object]"),
        ("console.log({toJSON() { throw 1 }, toString() { throw 2 }})", "[object Object]"),
        ("console.log(Object.assign(new Error(), {toString: null}))", "[object Object]"),
        ("console.table([1]); console.count(); console.assert(true, 'a')", "[1]"),
        ("console.time('t'); console.assert(1 > 2, 'b', 3)", "[ERROR] Assertion failed b 3"),
    ],
)
def test_what_is_printed_is_a_line(scripts: QuickJsScripts, printed: str, line: str) -> None:
    assert _run(scripts, f"{printed}; 7") == Value(value=7, lines=(line,))


def test_lines_before_an_error_are_kept(scripts: QuickJsScripts) -> None:
    found = _run(scripts, "console.log('so far'); throw new Error('no')")
    assert isinstance(found, Failure)
    assert (found.message, found.lines) == ("Error: no (line 1)", ("so far",))


def test_lines_are_bounded_in_number_and_length(scripts: QuickJsScripts) -> None:
    found = _run(scripts, "for (let n = 0; n < 60; n += 1) console.log('x'.repeat(9000), n)")
    assert len(found.lines) == 51
    assert set(found.lines[:50]) == {"x" * 500 + "…"}
    assert found.lines[50] == "… and 10 more lines"


def test_each_program_has_its_own_lines(scripts: QuickJsScripts) -> None:
    assert _run(scripts, "console.log('one')").lines == ("one",)
    assert _run(scripts, "1").lines == ()


@pytest.mark.parametrize(
    "broken",
    [
        "Array.prototype.toJSON = () => { throw 1 }",
        "Array.prototype.toJSON = () => ({})",
        "delete globalThis.console",
        "console = {log() {}}",
    ],
)
def test_a_script_that_breaks_its_console_has_its_result(
    scripts: QuickJsScripts, broken: str
) -> None:
    found = _run(scripts, f"console.log('a'); {broken}; 7")
    assert isinstance(found, Value)
    assert found.value == 7
    assert found.lines in {(), ("a",)}


def test_a_binding_of_that_name_is_the_callers(scripts: QuickJsScripts) -> None:
    assert _run(scripts, "console", console="mine") == Value(value="mine")


@pytest.mark.parametrize(
    ("printed", "lines"),
    [
        (b"[", ()),
        (b"7", ()),
        (b'["a", 1, null, {}, "b"]', ("a", "b")),
        (b'["' + b"x" * 9_000 + b'"]', ("x" * 501,)),
        (b"[" + b'"x",' * 900 + b'"x"]', ("x",) * 51),
    ],
)
def test_lines_that_no_console_has_written_are_bounded_too(
    printed: bytes, lines: tuple[str, ...]
) -> None:
    assert _lines_of(printed) == lines
