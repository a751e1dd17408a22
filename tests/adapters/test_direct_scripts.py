"""Scripts in this process give what they give in a child process."""

from __future__ import annotations

from collections.abc import Iterator
from types import MappingProxyType
from typing import Any

import pytest

from conductor_py.adapters.quickjs import QuickJsScripts
from conductor_py.adapters.quickjs.direct import DirectScripts
from conductor_py.ports.scripts import Evaluation, Failure, Value

_PROGRAMS = (
    ("javascript", "$.a + 1"),
    ("javascript", "({sum: $.a, twice: [b, b]})"),
    ("javascript", "x.y"),
    ("javascript", "1 +"),
    ("javascript", "console.log('a', {b}, 2n); console.error('no'); 1"),
    ("javascript", "console.log('before'); x.y"),
    ("jq", ".a, .a + 1"),
    ("jq", ".a["),
    ("cobol", "1"),
)


@pytest.fixture
def child() -> Iterator[QuickJsScripts]:
    scripts = QuickJsScripts()
    yield scripts
    scripts.close()


def test_results_are_those_of_a_child_process(child: QuickJsScripts) -> None:
    asked = [
        Evaluation(evaluator=evaluator, expression=text, input={"a": 2}, bindings={"b": "x"})
        for evaluator, text in _PROGRAMS
    ]
    direct = DirectScripts()
    assert direct.evaluate(asked) == child.evaluate(asked)
    assert [direct.attempt(one) for one in asked] == list(child.evaluate(asked))
    assert direct.check("1 +") == child.check("1 +") is not None


def test_what_a_script_does_to_its_globals_ends_with_it() -> None:
    direct = DirectScripts()
    spoil = Evaluation(
        evaluator="javascript", expression="Math.abs = null; JSON = null; 1", input={}
    )
    use = Evaluation(evaluator="javascript", expression="Math.abs(-3)", input={})
    assert direct.evaluate([spoil, use]) == (Value(value=1), Value(value=3))


def test_an_endless_script_is_ended() -> None:
    direct = DirectScripts(time_limit_ms=50)
    endless = Evaluation(evaluator="javascript", expression="for (;;) {}", input={})
    (found,) = direct.evaluate([endless])
    assert isinstance(found, Failure)
    assert found.kind == "time"


@pytest.mark.parametrize(("evaluator", "expression"), [("javascript", "[$]"), ("jq", ".")])
def test_what_nothing_can_be_written_to_is_an_input_as_any(
    evaluator: str, expression: str, child: QuickJsScripts
) -> None:
    given: Any = MappingProxyType({"a": MappingProxyType({}), "b": (1, 2)})
    asked = [Evaluation(evaluator=evaluator, expression=expression, input=given)]

    for scripts in (DirectScripts(), child):
        assert scripts.evaluate(asked) == (Value(value=[{"a": {}, "b": [1, 2]}]),)
