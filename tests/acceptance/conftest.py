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


@pytest.fixture
def say(capsys: pytest.CaptureFixture[str]) -> Say:
    def told(sentence: str) -> None:
        with capsys.disabled():
            sys.stdout.write(f"\n  {sentence}")

    return told
