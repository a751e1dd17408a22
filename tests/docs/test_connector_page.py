"""The connectors of the how-to pass the contract suite that it tells of."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.docs.installed import with_extras
from tests.docs.reader import environment_of

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs/how-to/write-a-connector.md"

pytestmark = [pytest.mark.spark, pytest.mark.thorough(target="docs"), pytest.mark.timeout(900)]


def test_the_connectors_of_the_page_keep_their_promises(tmp_path: Path) -> None:
    text = PAGE.read_text()
    blocks = re.findall(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    others = re.findall(r"^```py\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    (tmp_path / "test_acme.py").write_text("\n".join(blocks))
    (tmp_path / "conftest.py").write_text(next(b for b in others if "spark_session" in b))
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "test_acme.py"],
        cwd=tmp_path,
        env=with_extras(environment_of(tmp_path), {"spark"}, "pytest"),
        capture_output=True,
        text=True,
        timeout=840,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-3000:]
    assert re.search(r"\b2\d passed", done.stdout), done.stdout[-500:]
