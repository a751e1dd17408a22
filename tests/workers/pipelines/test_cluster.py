"""A job on a Spark cluster: what is killed of the cluster, and the driver itself."""

from __future__ import annotations

import zipfile
from contextlib import suppress
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from tests.acceptance.deployment import with_descendants
from tests.services import SparkCluster
from tests.services.processes import is_running
from tests.services.spark_cluster import EXECUTOR_SETTINGS
from tests.waiting import until
from tests.workers.pipelines.chaos.bounded_scene import BoundedScene
from tests.workers.pipelines.chaos.oracle import disorder
from tests.workers.pipelines.crews import Crew
from tests.workers.pipelines.host import FENCED, FINISHED
from tests.workers.pipelines.jobs import Job, files, generated

pytestmark = [
    pytest.mark.spark,
    pytest.mark.acceptance,
    pytest.mark.thorough(target="pipelines"),
    pytest.mark.timeout(900),
]

_WITHIN_S = 150.0
_GONE_WITHIN_S = 30.0
_ROOT = Path(__file__).parents[3]
_SHIPPED = '''
def marked(frames, arguments):
    """Have the executors call a function of this module."""
    (frame,) = frames.values()
    return frame.mapInArrow(_passed, frame.schema)


def _passed(batches):
    yield from batches
'''


def _shipped(folder: Path) -> Path:
    """A package that nobody has installed, as it is sent to executors."""
    made = folder / "shipped.zip"
    with zipfile.ZipFile(made, "w") as archive:
        archive.writestr("shipped.py", _SHIPPED)
    return made


def _with_shipped(job: Job, place: Path) -> Job:
    """The job, with a third pipeline whose function was sent along."""
    transform = {
        "id": "mark",
        "kind": "python",
        "inputs": {"i": "few_rows"},
        "output": "marked_out",
        "function": "shipped:marked",
    }
    return job | {
        "sources": [*job["sources"], generated("few", 40, split=20)],
        "transforms": [*job["transforms"], transform],
        "sinks": [*job["sinks"], files("marked", "marked_out", place / "marked")],
    }


def _executors(cluster: SparkCluster) -> list[int]:
    """The processes below the cluster's workers: executors, and the Python of their tasks."""
    return [
        process
        for worker in cluster.worker_pids()
        for process in with_descendants(worker)[1:]
        if is_running(process)
    ]


def _has_parts(staging: Path) -> bool:
    """Whether a file of a task is there. Rounds remove directories while one looks."""
    with suppress(FileNotFoundError):
        return any(staging.rglob("part-*"))
    return False


def test_a_job_on_a_cluster_outlives_a_worker_of_the_cluster_and_its_driver(
    spark: SparkSession, spark_cluster: SparkCluster, tmp_path: Path
) -> None:
    scene = BoundedScene.made(spark, tmp_path / "inputs")
    job = _with_shipped(scene.job(tmp_path, splits=4), tmp_path)
    settings = EXECUTOR_SETTINGS | {
        "spark.driver.memory": "512m",
        "spark.submit.pyFiles": str(_shipped(tmp_path)),
        "spark.executorEnv.PYTHONPATH": f"{_ROOT}:{_ROOT / 'workers'}",
    }
    with Crew(tmp_path, job, settings=settings, master=spark_cluster.url) as crew:
        first = crew.start(1, cores=2)
        crew.await_epochs(2)
        until(lambda: len(_executors(spark_cluster)) >= 2, _WITHIN_S, what="two executors")

        spark_cluster.kill_worker(0)
        crew.await_epochs(len(crew.server.keeper.history) + 2)
        assert first.process.poll() is None, first.said()
        spark_cluster.start_worker(0)

        first.process.kill()
        until(lambda: not _executors(spark_cluster), _GONE_WITHIN_S, what="executors have ended")
        left = scene.left(crew.server.keeper)
        second = crew.start(2, cores=2)

        assert second.ended() == FINISHED, second.said()
        assert scene.misread(left, crew.result(2)) == []
        assert scene.mismatches(tmp_path) + disorder(crew.server.keeper) == []
        shipped = spark.read.parquet(str(tmp_path / "marked"))
        assert sorted(row["id"] for row in shipped.collect()) == list(range(40))


def test_a_driver_that_wakes_on_a_cluster_after_its_task_was_given_away_changes_nothing(
    spark: SparkSession, spark_cluster: SparkCluster, tmp_path: Path
) -> None:
    """Its executors are not frozen: what they were told to write, they write meanwhile."""
    scene = BoundedScene.made(spark, tmp_path / "inputs")
    settings = EXECUTOR_SETTINGS | {
        "spark.driver.memory": "512m",
        "spark.cores.max": "1",  # each of the two gets an executor
        "spark.executorEnv.PYTHONPATH": f"{_ROOT}:{_ROOT / 'workers'}",
    }
    job = scene.job(tmp_path, splits=4)
    with Crew(tmp_path, job, settings=settings, master=spark_cluster.url) as crew:
        keeper = crew.server.keeper
        zombie = crew.start(1, cores=1)
        crew.await_epochs(2)
        staging = tmp_path / "files" / "_staging"
        until(lambda: _has_parts(staging), _WITHIN_S, what="tasks write")
        zombie.freeze()
        left = scene.left(keeper)

        second = crew.start(2, cores=1)
        crew.await_epochs(len(keeper.history) + 1)
        zombie.wake()
        assert zombie.ended() == FENCED, zombie.said()
        assert second.ended() == FINISHED, second.said()

        assert {token for _, _, token, _ in keeper.history} == {1, 2}
        assert scene.misread(left, crew.result(2)) == []
        assert scene.mismatches(tmp_path) + disorder(crew.server.keeper) == []
