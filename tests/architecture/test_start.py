"""What a server loads before it is ready."""

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

_PROBE = Path(__file__).with_name("start_probe.py")
_FOR_FEW = (
    "jsonschema",
    "conductor_py.wire.openapi",
    *("boto3", "elasticsearch", "kafka", "pyspark", "hypothesis"),
    # The place of a trial: a whole engine in memory, and the SDK by which tests write workflows.
    *("conductor_py.testing", "conductor_py.testing.bench", "conductor_py.adapters.memory"),
    "conductor_py.sdk",
)
_ALWAYS = (
    "conductor_py.api.app",
    "conductor_py.engine.sweeping.sweeper",
    "conductor_py.systemtasks.http",
)


def _loaded(folder: Path, *settings: str) -> set[str]:
    started = subprocess.run(
        [sys.executable, str(_PROBE), str(folder), *settings],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    loaded = set(started.stdout.split())
    assert loaded.issuperset(_ALWAYS), "what is looked at is a start"
    return loaded


def test_what_few_requests_need_is_not_loaded_by_a_start(tmp_path: Path) -> None:
    assert sorted(_loaded(tmp_path).intersection(_FOR_FEW)) == []


def test_a_server_without_metrics_does_not_load_what_counts(tmp_path: Path) -> None:
    key = "conductor.metrics-prometheus.enabled"

    assert "prometheus_client" not in _loaded(tmp_path, f"{key}=false")
    assert "prometheus_client" in _loaded(tmp_path, f"{key}=true")


def test_what_a_start_must_not_load_is_called_so_today() -> None:
    ours = [name for name in _FOR_FEW if name.startswith("conductor_py.")]

    assert [name for name in ours if find_spec(name) is None] == []
