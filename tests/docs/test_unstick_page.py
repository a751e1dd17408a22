"""The page that unsticks five executions, as a reader follows it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

import pytest

from conductor_py.engine.explaining.causes import CAUSES
from tests.docs.pages import page
from tests.docs.reader import follow, steps_of

_PAGE: Final = page("docs/how-to/unstick.md")
_CAUSE: Final = re.compile(r"^([a-z-]+): ", re.MULTILINE)
_VARYING: Final = (
    (re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"), "<id>"),
    (re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\dZ"), "<instant>"),
    (re.compile(r"\b1\d{12}\b"), "<claim>"),
)


def test_five_stalls_are_walked_through_each_with_a_cause_that_exists() -> None:
    sections = re.findall(r"^## \d\. .*?(?=^## )", _PAGE.text, re.MULTILINE | re.DOTALL)
    told = [_CAUSE.findall(section) for section in sections]
    assert [causes[0] for causes in told] == [
        "no-worker-ever",
        "concurrency-limit",
        "paused",
        "wait-signal",
        "workflow-rate-limit",
    ]
    named = {code for causes in told for code in causes} - {"through sub-workflow"}
    assert named <= set(CAUSES)
    assert set(re.findall(r"`([a-z]+(?:-[a-z]+)+)`", _PAGE.prose)) <= set(CAUSES)


@pytest.mark.thorough(target="docs")
@pytest.mark.timeout(600)
def test_each_of_the_five_is_brought_to_its_end(tmp_path: Path) -> None:
    followed = follow(_PAGE, steps_of(_PAGE), tmp_path)
    shown = 0
    for step, printed in zip(followed.steps, followed.printed, strict=True):
        if step.prints is not None:
            assert _plain(printed) == _plain(step.prints)
            shown += 1
    assert shown == 8
    ended = [printed for printed in followed.printed if "COMPLETED" in printed]
    assert len(ended) == 5, "what is watched completes"
    assert "Traceback" not in followed.errors


def _plain(output: str) -> str:
    """What differs from run to run, as what it is; ends of lines left out."""
    for pattern, name in _VARYING:
        output = pattern.sub(name, output)
    return "\n".join(line.rstrip() for line in output.strip().splitlines())
