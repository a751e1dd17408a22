"""What the stories share: a deployment of their own, and a way to tell what they saw."""

import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.acceptance.deployment import Deployment, deployed

Say = Callable[[str], None]


@pytest.fixture
def deployment(tmp_path: Path) -> Iterator[Deployment]:
    with deployed(tmp_path) as made:
        yield made


ONE_PROCESS = ("--set", "conductor.server.oneProcess=true")
A_PROCESS_EACH = ("--set", "conductor.server.oneProcess=false")


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
