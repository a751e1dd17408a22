"""Every Python example of the README, the tutorials and the how-tos runs and prints what it says.

The blocks of a page are one program. They meet a real server, started by the public command.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.pages import Page, all_pages

_PROGRAM_S = 240
_MARK = "=== next block ==="
_FOLDERS = ("docs/tutorials/", "docs/how-to/", "docs/reference/parameters.md")
_PAGES = [
    page
    for page in all_pages()
    if (page.name == "README.md" or page.name.startswith(_FOLDERS)) and page.blocks("python")
]


@pytest.mark.thorough(target="docs")
@pytest.mark.timeout(600)
@pytest.mark.parametrize("page", _PAGES, ids=lambda page: page.name)
def test_examples_of_a_page_print_what_it_says(page: Page, server_url: str, tmp_path: Path) -> None:
    blocks = page.blocks("python")
    program = tmp_path / "example.py"
    program.write_text(f"\nprint({_MARK!r})\n".join(block.text for block in blocks))
    found = subprocess.run(
        [sys.executable, "-W", "error", str(program)],
        cwd=tmp_path,
        env={**os.environ, "CONDUCTOR_SERVER_URL": f"{server_url}/api", "PYTHONUNBUFFERED": "1"},
        capture_output=True,
        text=True,
        timeout=_PROGRAM_S,
        check=False,
    )
    assert found.returncode == 0, found.stderr
    printed = found.stdout.split(f"{_MARK}\n")
    for block, output in zip(blocks, printed, strict=True):
        if block.prints is not None:
            assert _plain(output) == _plain(block.prints)


def test_an_example_of_the_readme_is_short() -> None:
    (readme,) = (page for page in _PAGES if page.name == "README.md")
    (example,) = readme.blocks("python")
    assert len(example.text.splitlines()) < 20


def _plain(output: str) -> str:
    """Ids differ from run to run; a page shows some id in their place."""
    return re.sub(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", "<id>", output.strip())
