"""What the stories share: a deployment of their own, and a way to tell what they saw."""

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.acceptance.deployment import (
    A_PROCESS_EACH,
    APART,
    ONE_PROCESS,
    Deployment,
    deployed,
)

Say = Callable[[str], None]


@pytest.fixture
def deployment(tmp_path: Path) -> Iterator[Deployment]:
    with deployed(tmp_path) as made:
        yield made


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """With SHAPE=apart, leave out the stories that run on both shapes by themselves."""
    if APART:
        both = [each for each in items if "shape" in getattr(each, "fixturenames", ())]
        items[:] = [each for each in items if each not in both]
        config.hook.pytest_deselected(items=both)


@pytest.fixture(params=[ONE_PROCESS, A_PROCESS_EACH], ids=["one process", "a process each"])
def shape(request: pytest.FixtureRequest) -> tuple[str, ...]:
    """How the parts of a server run: the options that say so."""
    return tuple(request.param)


@pytest.fixture
def say(capsys: pytest.CaptureFixture[str]) -> Say:
    def told(sentence: str) -> None:
        with capsys.disabled():
            sys.stdout.write(f"\n  {sentence}")

    return told
