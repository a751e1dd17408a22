"""The first program that the official Python SDK shows its users, as it stands in the package."""

import json
import re
import subprocess
from email import message_from_string
from pathlib import Path
from urllib.request import urlopen

import pytest

from tests.acceptance.deployment import deployed
from tests.official_sdks import obtained
from tests.services.absence import absent
from tests.services.cache import Unobtainable
from tests.waiting import PATIENCE_S

pytestmark = [
    pytest.mark.acceptance,
    pytest.mark.thorough(target="versions"),
    pytest.mark.timeout(300),
]

_PROGRAM = re.compile(r"`quickstart\.py`[^`]*```python\n(.*?)^```", re.MULTILINE | re.DOTALL)


def _described(place: Path) -> str:
    """The page of the package, which is installed with it."""
    (file,) = place.glob("env/lib/python*/site-packages/conductor_python-*.dist-info/METADATA")
    return str(message_from_string(file.read_text()).get_payload())


def test_the_first_program_of_the_official_sdk_runs_as_it_is_shown(tmp_path: Path) -> None:
    try:
        (python, _), place = obtained.python_story(obtained.PYTHON_1)
    except Unobtainable as error:
        absent(f"conductor-python cannot be had: {error}")
    (program,) = _PROGRAM.findall(_described(place))
    (tmp_path / "quickstart.py").write_text(program)
    with deployed(tmp_path) as deployment:
        url = f"http://127.0.0.1:{deployment.server().port}/api"
        done = _run(url, python, tmp_path)
        while "KeyError: 'result'" in done.stderr:  # it waits ten seconds for its worker's process
            done = _run(url, python, tmp_path)
        assert done.returncode == 0, done.stderr[-4000:]
        assert "result: Hello Conductor" in done.stdout.splitlines()
        ((page, workflow),) = re.findall(
            r"^execution: (http://\S+/execution/(\S+))$", done.stdout, re.MULTILINE
        )
        with urlopen(page, timeout=PATIENCE_S) as answer:
            assert answer.status == 200
        with urlopen(f"{url}/workflow/{workflow}/status", timeout=PATIENCE_S) as answer:
            assert json.load(answer)["status"] == "COMPLETED"


def _run(url: str, python: str, folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        (python, "quickstart.py"),
        cwd=folder,
        env=obtained.environment() | {"CONDUCTOR_SERVER_URL": url},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
