"""A job of data pipelines on a real server: its worker is killed, stopped, resumed, sent back."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from conductor_py.pipelines.intervals import Intervals
from conductor_py.sdk import Client
from conductor_workers.manifest import visible_files
from conductor_workers.pipelines.storage.local import LocalStorage
from tests.acceptance.deployment import Api, Deployment
from tests.acceptance.pipeline_worker import PipelineWorker, started
from tests.acceptance.stories import status
from tests.waiting import PATIENCE_S, until

pytestmark = [
    pytest.mark.acceptance,
    pytest.mark.thorough(target="stories"),
    pytest.mark.spark,
    pytest.mark.timeout(600),
]

_RUN_S = 180.0
_ROWS = 40_000
_ROWS_PER_SECOND = 1000
"""So that a job outlasts what is done to it."""
_JVM_DIED = 1


def _worker(deployment: Deployment, api: Api, name: str) -> PipelineWorker:
    url, shared = f"http://127.0.0.1:{api.port}/api", deployment.folder / "shared"
    worker = PipelineWorker(deployment.folder / name, url, work_dir=shared)
    deployment.processes.append(worker)
    worker.start()
    return worker


def _job(place: Path) -> dict[str, Any]:
    return {
        "version": 1,
        "name": "numbers",
        "sources": [
            {
                "id": "numbers",
                "kind": "generator",
                "output": "rows",
                "rows": _ROWS,
                "split": {"by": "range", "rows": 1000},
                "rate": {"rows_per_second": _ROWS_PER_SECOND},
            }
        ],
        "sinks": [
            {
                "id": "out",
                "kind": "file",
                "input": "rows",
                "path": str(place / "out"),
                "format": "parquet",
            }
        ],
        "env": {"round": {"max_splits": 2}, "work_dir": str(place / "work")},
    }


def _epochs(client: Client, workflow: str) -> Callable[[], int]:
    def newest() -> int:
        kept: Any = client.workflow_checkpoints(workflow)
        parts = [part for place in kept.values() for part in place["parts"].values()]
        return max((part["epoch"] for part in parts), default=0)

    return newest


def _ids(place: Path) -> list[int]:
    tables = [pq.read_table(file, columns=["id"]) for file in (place / "out").glob("*.parquet")]
    return sorted(number for table in tables for number in table["id"].to_pylist())


def test_a_job_completes_though_it_is_stopped_and_all_that_runs_it_is_killed(
    deployment: Deployment, tmp_path: Path
) -> None:
    """Stopped and resumed; then the server, the JVM and the worker are killed, each while it runs.
    None of it uses up a retry, and there is none to use. In the end it is restarted.
    """
    api = deployment.server()

    def await_more(epochs: int) -> None:
        wanted = newest() + epochs
        until(lambda: newest() >= wanted, _RUN_S, what=f"{epochs} epochs more are decided")

    first = _worker(deployment, api, "first")
    workflow = started(api.client, _job(tmp_path))
    newest = _epochs(api.client, workflow)
    await_more(2)

    api.client.stop_task(workflow, "load", savepoint="before")
    until(lambda: _state(api.client, workflow) == "STOPPED", _RUN_S, what="stopped")
    assert len(_ids(tmp_path)) < _ROWS
    api.client.resume_task(workflow, "load")
    await_more(2)

    api.kill()
    api.start()
    await_more(2)

    os.kill(first.member("org.apache.spark.deploy.SparkSubmit"), signal.SIGKILL)
    assert first.wait() == _JVM_DIED
    second = _worker(deployment, api, "second")
    await_more(2)

    second.kill()
    _worker(deployment, api, "third")
    until(lambda: status(api.client, workflow) == "COMPLETED", _RUN_S, what="completed")
    assert _ids(tmp_path) == list(range(_ROWS))
    tasks: Any = api.client.get_workflow(workflow)["tasks"]
    *lost, last = [task["status"] for task in tasks]
    assert (set(lost), last) == ({"CANCELED"}, "COMPLETED")
    (pipeline,) = tasks[-1]["outputData"]["pipelines"]
    assert pipeline["splits"]["done"] == 40
    assert pipeline["rows"]["read"] == _ROWS
    assert not (tmp_path / "out" / "_staging").exists()

    # A restart adopts nothing of it: the whole job is done again, by the worker that is there.
    api.client.restart_workflow(workflow)
    until(lambda: len(_ids(tmp_path)) > _ROWS, _RUN_S, what="it has begun anew")
    until(lambda: status(api.client, workflow) == "COMPLETED", _RUN_S, what="completed again")
    assert _ids(tmp_path) == sorted([*range(_ROWS)] * 2)
    again: Any = api.client.get_workflow(workflow)["tasks"]
    (pipeline,) = again[-1]["outputData"]["pipelines"]
    assert (pipeline["splits"]["done"], pipeline["rows"]["read"]) == (40, _ROWS)


def _state(client: Client, workflow: str) -> str:
    return str(_record(client, workflow)["state"])


def _record(client: Client, workflow: str) -> dict[str, Any]:
    kept: Any = client.workflow_checkpoints(workflow)
    tasks: Any = client.get_workflow(workflow)["tasks"]
    (part,) = kept["load"]["parts"]
    found: Any = client.get_checkpoint(tasks[-1]["taskId"], part)
    record: dict[str, Any] = found["record"]
    return record


def _once_each(place: Path) -> dict[str, Any]:
    """A job that remembers keys, of a sink that can take back."""
    job = _job(place)
    map_ = {"id": "halves", "kind": "map", "inputs": {"i": "rows"}, "output": "halves_out"}
    once = {"id": "once", "kind": "dedup", "inputs": {"i": "halves_out"}, "output": "keys"}
    job["transforms"] = [map_ | {"select": {"id": "id div 2"}}, once | {"keys": ["id"]}]
    job["sinks"][0] |= {"input": "keys", "visibility": "manifest"}
    job["env"]["buckets"] = 2
    return job


def _shown(place: Path) -> list[int]:
    """What those see who read by the manifests."""
    out = place / "out"
    tables = [
        pq.read_table(out / name, columns=["id"]) for name in visible_files(LocalStorage(out))
    ]
    return sorted(number for table in tables for number in table["id"].to_pylist())


def test_a_job_that_was_sent_back_to_a_savepoint_ends_like_one_that_was_not(
    deployment: Deployment, tmp_path: Path
) -> None:
    api = deployment.server()
    _worker(deployment, api, "worker")
    ask = ("--server", f"http://127.0.0.1:{api.port}/api")
    back, straight = tmp_path / "back", tmp_path / "straight"
    workflow = started(api.client, _once_each(back))
    newest = _epochs(api.client, workflow)

    def told(*command: str) -> tuple[int, str]:
        process = deployment.run(command[0], "workflow", *command, *ask)
        return process.wait(PATIENCE_S), process.log

    def stopped_after(epochs: int, *options: str) -> int:
        until(lambda: newest() >= epochs, _RUN_S, what=f"{epochs} epochs are decided")
        assert told("stop-task", workflow, "load", *options)[0] == 0
        until(lambda: _state(api.client, workflow) == "STOPPED", _RUN_S, what="stopped")
        return newest()

    early = stopped_after(2, "--savepoint", "early")
    seen = _shown(back)
    assert told("resume-task", workflow, "load")[0] == 0
    late = stopped_after(early + 3)
    assert len(seen) < len(_shown(back)) < _ROWS // 2

    # Nobody takes back by mistake what is published.
    refused, reason = told("resume-task", workflow, "load", "--savepoint", "early")
    assert refused != 0
    assert f"epoch {late} is published already; --rewind would take it back" in reason
    assert told("resume-task", workflow, "load", "--savepoint", "early", "--rewind")[0] == 0
    control = started(api.client, _once_each(straight))
    both = (workflow, control)
    until(
        lambda: {status(api.client, each) for each in both} == {"COMPLETED"},
        _RUN_S,
        what="both have completed",
    )

    assert _shown(back) == _shown(straight) == list(range(_ROWS // 2))
    taken_back = _record(api.client, workflow)["taken_back"]
    assert Intervals.parse(taken_back) == Intervals.range(early + 1, late + 1)
    files = {str(file.relative_to(back / "out")) for file in (back / "out").rglob("*.parquet")}
    assert files == set(visible_files(LocalStorage(back / "out")))


def _in_form(place: Path, form: str) -> dict[str, Any]:
    """A job whose rows say which form they were given."""
    job = _job(place)
    shape = {"id": "shape", "kind": "map", "inputs": {"i": "rows"}, "output": "shaped"}
    job["transforms"] = [shape | {"select": {"id": "id", "form": f"'{form}'"}}]
    job["sinks"][0] |= {"input": "shaped"}
    return job


def test_a_job_that_is_edited_while_it_is_stopped_goes_on_as_it_was_edited(
    deployment: Deployment, tmp_path: Path
) -> None:
    api = deployment.server()
    _worker(deployment, api, "worker")
    edited = _in_form(tmp_path, "new")
    del edited["sources"][0]["rate"]
    for version, job, more in (
        (1, _in_form(tmp_path, "old"), {}),
        (2, edited, {"acceptPlanChange": True}),
    ):
        task = {
            "name": "load",
            "taskReferenceName": "load",
            "type": "SPARK_PIPELINE",
            "inputParameters": {"job": job, **more},
        }
        definition: Any = {"name": "edited", "version": version, "tasks": [task]}
        api.client.register_workflow(definition)
    workflow = api.client.start_workflow("edited", version=1, input={})
    newest = _epochs(api.client, workflow)
    until(lambda: newest() >= 2, _RUN_S, what="two epochs are decided")
    api.client.stop_task(workflow, "load")
    until(lambda: _state(api.client, workflow) == "STOPPED", _RUN_S, what="stopped")
    before = _ids(tmp_path)

    api.client.upgrade_workflow(workflow, 2)
    api.client.resume_task(workflow, "load")

    until(lambda: status(api.client, workflow) == "COMPLETED", _RUN_S, what="completed")
    assert _ids(tmp_path) == list(range(_ROWS))
    rows = [
        row
        for file in (tmp_path / "out").glob("*.parquet")
        for row in pq.read_table(file).to_pylist()
    ]
    assert sorted(row["id"] for row in rows if row["form"] == "old") == before
    assert 0 < len(before) < _ROWS
    assert {row["form"] for row in rows} == {"old", "new"}


def test_a_pause_of_the_workflow_holds_its_pipelines_and_its_end_frees_the_worker(
    deployment: Deployment, tmp_path: Path
) -> None:
    api = deployment.server()
    _worker(deployment, api, "worker")
    held, endless, small = (tmp_path / name for name in ("held", "endless", "small"))
    workflow = started(api.client, _job(held))
    newest = _epochs(api.client, workflow)
    until(lambda: newest() >= 2, _RUN_S, what="two epochs are decided")

    def shows() -> str:
        tasks: Any = api.client.get_workflow(workflow)["tasks"]
        (pipeline,) = tasks[-1].get("progress", {}).get("pipelines", [{}])
        return str(pipeline.get("state"))

    api.client.pause_workflow(workflow)
    until(lambda: shows() == "PAUSED", _RUN_S, what="the pipeline rests")
    rested = newest()
    until(lambda: shows() == "PAUSED", _RUN_S)
    assert newest() == rested
    api.client.resume_workflow(workflow)
    until(lambda: newest() > rested, _RUN_S, what="it goes on")
    api.client.terminate_workflow(workflow, "enough")

    # It has all cores of the worker, and for days: what comes after it runs when it is gone.
    busy = _job(endless)
    days = "SELECT max(hash(id)) FROM range(0, 9000000000000, 1, 4)"
    node = {"id": "busy", "kind": "sql", "inputs": {"i": "rows"}, "output": "made"}
    busy["transforms"] = [node | {"query": f"SELECT id FROM i WHERE id > ({days})"}]
    busy["sinks"][0]["input"] = "made"
    workflow = started(api.client, busy)
    until(lambda: shows() == "RUNNING", _RUN_S, what="it is busy")
    api.client.terminate_workflow(workflow, "enough")
    little = _job(small)
    little["sources"][0] |= {"rows": 2000}
    after = started(api.client, little)
    until(lambda: status(api.client, after) == "COMPLETED", _RUN_S, what="the next is done")
    assert _ids(small) == list(range(2000))
    assert _ids(endless) == []
    assert 0 < len(_ids(held)) < _ROWS
