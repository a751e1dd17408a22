"""Each stall is named rightly: by the API, by the command and, in words, for the page."""

from __future__ import annotations

import json
from typing import Any
from urllib.request import urlopen

import pytest

from conductor_py.engine.explaining.causes import CAUSES
from tests.cli.conftest import Run, run
from tests.stalls.planted import ALONE, OF_EXECUTIONS, OF_TASKS, Stall, plant

__all__ = ["run"]
_ALL = (*OF_TASKS, *OF_EXECUTIONS, *ALONE)


def test_more_than_twenty_classes_of_stall_are_planted() -> None:
    assert len({stall.code for stall in _ALL}) > 30
    for stalls in (OF_TASKS, OF_EXECUTIONS):
        codes = [stall.code for stall in stalls]
        assert codes == [code for code in CAUSES if code in codes], "the most urgent first"


@pytest.mark.parametrize("stall", _ALL, ids=lambda stall: stall.code)
def test_the_api_and_the_command_name_it_with_what_to_do(
    stall: Stall, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    scene = plant(stall)
    with scene.serve() as url:
        with urlopen(f"{url}/workflow/{scene.started}/why", timeout=60) as answer:
            cause: dict[str, Any] = json.load(answer)["cause"]
        monkeypatch.setenv("CONDUCTOR_SERVER_URL", url)
        said = run("workflow", "why", scene.started)
    assert cause["code"] == stall.code, cause
    assert said.code == 0
    assert f"{stall.code}: {cause['sentence']}" in said.out
    assert f"what to do: {cause['advice']}" in said.out
    assert " ID" not in cause["advice"], "it names the execution"
