"""What happens when a service cannot be had: skip on a laptop, fail on a build machine."""

import importlib.util
import os
from typing import NoReturn

import pytest


def absent(sentence: str) -> NoReturn:
    """Skip the test with `sentence`; fail it where CI=true, where every service must be there."""
    if os.environ.get("CI", "").lower() in {"1", "true", "yes"}:
        pytest.fail(sentence, pytrace=False)
    pytest.skip(sentence)


def needs(module: str) -> None:
    """Go on where `module` is installed; `absent` where it is not."""
    if importlib.util.find_spec(module) is None:
        absent(f"{module} is not installed")
