"""What happens when a service cannot be had: skip on a laptop, fail on a build machine."""

import importlib.util
import os
from collections.abc import Mapping
from typing import NoReturn

import pytest


def demanded(environment: Mapping[str, str] = os.environ) -> bool:
    """Whether every service must be there."""
    return environment.get("CI", "").lower() in {"1", "true", "yes"}


def absent(sentence: str) -> NoReturn:
    """Skip the test with `sentence`; fail it where CI=true, where every service must be there."""
    if demanded():
        pytest.fail(sentence, pytrace=False)
    pytest.skip(sentence)


def needs(module: str) -> None:
    """Go on where `module` is installed; `absent` where it is not."""
    if importlib.util.find_spec(module) is None:
        absent(f"{module} is not installed")
