"""What the page offers for each cause: the script against the engine's codes, without a browser."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pytest
import quickjs

import conductor_py.ui
from conductor_py.engine.explaining.causes import CAUSES
from tests.stalls.planted import ALONE, OF_EXECUTIONS, OF_TASKS, plant

_SCRIPT: Final = Path(conductor_py.ui.__file__).parent / "static" / "helps.js"
_NEVER_HEADLINES: Final = {"sub-workflow", "loop", "join"}
_NOTHING_TO_PRESS: Final = {
    *("unknown-format", "store-clock", "store-full", "worker-lost", "rate-limit", "start-order"),
}
"""Another version has to run, memory be had, or time to pass."""
Call = Callable[..., Any]


@pytest.fixture(scope="module")
def call() -> Call:
    source = re.sub(r"^export ", "", _SCRIPT.read_text(encoding="utf-8"), flags=re.MULTILINE)
    context = quickjs.Context()
    context.eval(
        f"""
        const H = (() => {{ {source}; return {{isActedOn, helpOf, holderOf}}; }})();
        function call(name, given) {{ return JSON.stringify(H[name](...JSON.parse(given))); }}
        """
    )

    def of(name: str, *given: object) -> Any:
        return json.loads(context.get("call")(name, json.dumps(given)))

    return of


def test_whatever_somebody_has_to_act_on_has_a_button_or_a_page_to_look_at(call: Call) -> None:
    acted = {code for code in CAUSES if call("isActedOn", code)} - _NEVER_HEADLINES
    assert {code for code in acted if call("helpOf", code) is None} == _NOTHING_TO_PRESS


def test_nobody_is_said_to_have_to_act_where_the_advice_is_to_do_nothing(call: Call) -> None:
    by_itself = {code for code in CAUSES if not call("isActedOn", code)}
    waiting = {code for code, told in CAUSES.items() if told.advice.startswith("Nothing: it goes")}
    assert by_itself - waiting == {"callback", "running", "finished", "archived"}
    assert waiting <= by_itself


def test_the_script_knows_no_code_that_the_engine_does_not_know() -> None:
    text = _SCRIPT.read_text(encoding="utf-8")
    named = set(re.findall(r'^  "?([a-z-]+)"?: ', text, re.MULTILINE))
    named |= set(re.findall(r'"([a-z-]+)"', "".join(re.findall(r"new Set\((.*?)\)", text))))
    assert named
    assert named <= set(CAUSES)


@pytest.mark.parametrize("code", ["concurrency-limit", "workflow-rate-limit"])
def test_the_execution_that_is_in_the_way_is_found_in_the_evidence(call: Call, code: str) -> None:
    (stall,) = (one for one in (*OF_TASKS, *OF_EXECUTIONS, *ALONE) if one.code == code)
    scene = plant(stall)
    found = call("holderOf", scene.explained()["cause"])
    assert scene.engine.workflow(found)["status"] == "RUNNING"
    assert found != scene.started
    assert call("holderOf", {}) == ""
