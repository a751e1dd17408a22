"""Chromium: the machine's, or Debian's package where we may install it."""

import os
import shutil
from pathlib import Path

from tests.services.cache import Unobtainable, alone, run, tool

_ENV = {"DEBIAN_FRONTEND": "noninteractive"}


def chromium() -> str:
    """The path of a Chromium; Unobtainable without one."""
    if found := _installed():
        return found
    if os.environ.get("CI", "").lower() not in {"1", "true", "yes"} or os.geteuid() != 0:
        sentence = (
            "the pages need a browser: install chromium, or name one: CONDUCTOR_TEST_CHROMIUM"
        )
        raise Unobtainable(sentence)
    with alone():
        return _installed() or _install()


def _installed() -> str | None:
    return os.environ.get("CONDUCTOR_TEST_CHROMIUM") or shutil.which("chromium")


def _install() -> str:
    apt, here = tool("apt-get"), Path("/")
    run(apt, "update", "-qq", cwd=here, env=_ENV)
    options = ("install", "-y", "-qq", "--no-install-recommends")
    run(apt, *options, "chromium", cwd=here, env=_ENV)
    return tool("chromium")
