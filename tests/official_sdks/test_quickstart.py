"""The first programs that official SDKs show their users, as they stand in the packages."""

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

_GO_FENCE = re.compile(r"^```go\n(.*?)^```", re.MULTILINE | re.DOTALL)
# The page shows the declarations of three files, and leaves out their heads.
_GO_SDK = "github.com/conductor-sdk/conductor-go/sdk"
_GO_HEADS = {
    "src/workflow.go": f"""package hello_world
import (
    "{_GO_SDK}/workflow"
    "{_GO_SDK}/workflow/executor"
)
""",
    "src/worker.go": f"""package hello_world
import (
    "fmt"
    "{_GO_SDK}/model"
)
""",
    "main.go": f"""package main
import (
    "time"
    hello_world "story/hello/src"
    "{_GO_SDK}/client"
    "{_GO_SDK}/model"
    "{_GO_SDK}/worker"
    "{_GO_SDK}/workflow/executor"
    log "github.com/sirupsen/logrus"
)
""",
}
_PROGRAM = re.compile(r"`quickstart\.py`[^`]*```python\n(.*?)^```", re.MULTILINE | re.DOTALL)


def _described(place: Path) -> str:
    """The page of the package, which is installed with it."""
    (file,) = place.glob("env/lib/python*/site-packages/conductor_python-*.dist-info/METADATA")
    return str(message_from_string(file.read_text()).get_payload())


def test_the_first_program_of_the_python_sdk_runs_as_it_is_shown(tmp_path: Path) -> None:
    try:
        (python, _), place = obtained.python_story(obtained.PYTHON_1)
    except Unobtainable as error:
        absent(f"conductor-python cannot be had: {error}")
    (program,) = _PROGRAM.findall(_described(place))
    (tmp_path / "quickstart.py").write_text(program)
    with deployed(tmp_path) as deployment:
        url = f"http://127.0.0.1:{deployment.server().port}/api"
        command = (python, "quickstart.py")
        done = _run(url, command, tmp_path)
        while "KeyError: 'result'" in done.stderr:  # it waits ten seconds for its worker's process
            done = _run(url, command, tmp_path)
        assert done.returncode == 0, done.stderr[-4000:]
        assert "result: Hello Conductor" in done.stdout.splitlines()
        ((page, workflow),) = re.findall(
            r"^execution: (http://\S+/execution/(\S+))$", done.stdout, re.MULTILINE
        )
        with urlopen(page, timeout=PATIENCE_S) as answer:
            assert answer.status == 200
        assert _status(url, workflow) == "COMPLETED"


def test_the_first_program_of_the_go_sdk_runs_as_it_is_shown(tmp_path: Path) -> None:
    try:
        page, place = obtained.go_readme()
    except Unobtainable as error:
        absent(f"the Go SDK cannot be had: {error}")
    workflow_go, worker_go, variables, main = _GO_FENCE.findall(page)
    shown = {
        "src/workflow.go": workflow_go,
        "src/worker.go": worker_go,
        "main.go": variables + main,
    }
    for file, text in shown.items():
        (place / "hello" / file).parent.mkdir(parents=True, exist_ok=True)
        (place / "hello" / file).write_text(_GO_HEADS[file] + text)
    program = obtained.built_in_go(place, "./hello")
    with deployed(tmp_path) as deployment:
        url = f"http://127.0.0.1:{deployment.server().port}/api"
        done = _run(url, (program,), tmp_path)
        assert done.returncode == 0, done.stderr[-4000:]
        assert "Output of the workflow: map[greetings:Hello, Gopher]" in done.stderr
        (workflow,) = re.findall(r"Started workflow with Id: ([-0-9a-f]+)", done.stderr)
        assert _status(url, workflow) == "COMPLETED"


def _status(url: str, workflow: str) -> str:
    with urlopen(f"{url}/workflow/{workflow}/status", timeout=PATIENCE_S) as answer:
        return str(json.load(answer)["status"])


def _run(url: str, command: tuple[str, ...], folder: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command,
        cwd=folder,
        env=obtained.environment() | {"CONDUCTOR_SERVER_URL": url},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
