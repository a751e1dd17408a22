"""The tests of the how-to on tests pass, as a reader has them: files in an empty directory."""

import re
import subprocess
from pathlib import Path

from tests.docs.installed import extras_of, with_extras
from tests.docs.pages import page
from tests.docs.reader import environment_of, files_of


def test_the_tests_of_the_page_pass(tmp_path: Path) -> None:
    found = page("docs/how-to/test-a-workflow.md")
    for name, text in files_of(found).items():
        (tmp_path / name).write_text(text)
    (command,) = found.blocks("sh")
    done = subprocess.run(
        ["bash", "-c", command.text],
        cwd=tmp_path,
        env=with_extras(environment_of(tmp_path), extras_of(found), "pytest")
        | {"PYTHONWARNINGS": "error"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    shown = len(re.findall(r"^def test_", found.text, re.MULTILINE))
    assert f"{shown + 1} passed" in done.stdout  # one of them has two parameters
