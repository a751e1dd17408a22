"""A reader of the documentation: an empty directory, a shell, and nothing that was set before."""

import os
import re
import sys
from collections.abc import Iterator
from pathlib import Path

from tests.docs.pages import Page

_KEPT = ("LANG", "PYTHONPATH", "TMPDIR", "JAVA_HOME", "LD_LIBRARY_PATH")
_NEXT = re.compile(r"^```(\w+)\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def environment_of(folder: Path) -> dict[str, str]:
    """The variables of somebody who has activated an environment with conductor-py in it."""
    kept = {name: os.environ[name] for name in _KEPT if name in os.environ}
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return kept | {"PATH": path, "HOME": str(folder), "PYTHONUNBUFFERED": "1"}


def files_of(page: Page) -> dict[str, str]:
    """The files that a page has its reader write: *Put this into `name`:* names one, and the blocks
    of Python that follow are put into it, too, until another is named.
    """
    files: dict[str, str] = {}
    for name, text in _pieces(page):
        files[name] = f"{files[name]}\n{text}" if name in files else text
    return files


def _pieces(page: Page) -> Iterator[tuple[str, str]]:
    name = ""
    for block in _NEXT.finditer(page.text):
        said = page.text[: block.start()].rstrip().rpartition("\n\n")[2].replace("\n", " ")
        named = re.search(r"[Pp]ut this\b[^`]* into `([\w.-]+)`:$", said)
        name = named[1] if named else name
        if named or (name.endswith(".py") and block[1] == "python"):
            yield name, block[2]
