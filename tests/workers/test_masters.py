"""Which masters a worker can have, and what follows from each for its session."""

from __future__ import annotations

import pytest
from click.testing import CliRunner

from conductor_py.errors import ConfigurationError
from conductor_workers.launcher import main
from conductor_workers.masters import (
    Manager,
    lacking,
    master_settings,
    read_master,
    task_python,
)
from conductor_workers.session import chosen_settings

_IMAGE = {"spark.kubernetes.container.image": "registry/spark:4"}


@pytest.mark.parametrize(
    ("text", "manager", "near"),
    [
        ("local", Manager.LOCAL, True),
        ("local[*]", Manager.LOCAL, True),
        ("local[2,4]", Manager.LOCAL, True),
        ("spark://127.0.0.1:7077", Manager.STANDALONE, True),
        ("spark://localhost:7077", Manager.STANDALONE, True),
        ("spark://[::1]:7077", Manager.STANDALONE, True),
        ("spark://one:7077,two:7077", Manager.STANDALONE, False),
        ("spark://localhost.example.org:7077", Manager.STANDALONE, False),
        ("yarn", Manager.YARN, False),
        ("k8s://https://cluster.example:6443", Manager.KUBERNETES, False),
    ],
)
def test_a_master_is_known_by_its_address(text: str, manager: Manager, near: bool) -> None:
    master = read_master(text)
    assert (master.address, master.manager, master.on_this_machine) == (text, manager, near)


@pytest.mark.parametrize("text", ["", "local-cluster[2,1,512]", "mesos://one:5050", "yarn-client"])
def test_what_is_no_master_is_refused_with_those_that_are(text: str) -> None:
    with pytest.raises(ConfigurationError, match="must be local"):
        read_master(text)


def test_spark_connect_is_refused_since_its_server_owns_the_driver() -> None:
    with pytest.raises(ConfigurationError, match="owns the driver") as refused:
        read_master("sc://one:15002")
    assert "spark://, yarn or k8s://" in refused.value.message
    assert "sc://one" in str(lacking(read_master("local"), {"spark.remote": "sc://one"}, {}))


@pytest.mark.parametrize("text", ["local[2]", "spark://127.0.0.1:7077"])
def test_nothing_of_a_master_on_this_machine_leaves_it(text: str) -> None:
    settings = master_settings(read_master(text), cores=4)
    assert settings["spark.driver.host"] == settings["spark.driver.bindAddress"] == "127.0.0.1"


@pytest.mark.parametrize("text", ["spark://one:7077", "yarn", "k8s://https://one"])
def test_executors_of_a_cluster_end_with_a_driver_that_is_silent_for_half_a_minute(
    text: str,
) -> None:
    settings = master_settings(read_master(text), cores=4)
    every = int(settings["spark.executor.heartbeatInterval"].removesuffix("s"))
    assert every * int(settings["spark.executor.heartbeat.maxFailures"]) == 30
    assert settings["spark.submit.deployMode"] == "client"
    assert "spark.driver.host" not in settings
    assert "spark.sql.shuffle.partitions" not in settings


def test_a_master_that_is_given_as_a_setting_decides_what_follows_from_it() -> None:
    given = {"spark.master": "spark://one:7077"}
    far = chosen_settings(master="local[*]", concurrency=1, given=given)
    assert far["spark.master"] == "spark://one:7077"
    assert far.keys().isdisjoint({"spark.driver.host", "spark.driver.bindAddress"})
    assert far["spark.executor.heartbeat.maxFailures"] == "6"
    near = chosen_settings(master="yarn", concurrency=1, given={"spark.master": "local[2]"})
    assert near["spark.driver.bindAddress"] == "127.0.0.1"
    assert "spark.yarn.maxAppAttempts" not in near
    host = {"spark.driver.host": "10.0.0.1"}
    kept = chosen_settings(master="local[2]", concurrency=1, given=host)
    assert kept["spark.driver.host"] == "10.0.0.1"


def test_yarn_does_not_try_an_application_again() -> None:
    assert master_settings(read_master("yarn"), cores=4)["spark.yarn.maxAppAttempts"] == "1"


def test_a_local_master_has_as_many_shuffle_partitions_as_cores() -> None:
    assert master_settings(read_master("local[*]"), cores=8)["spark.sql.shuffle.partitions"] == "8"


@pytest.mark.parametrize(
    ("text", "settings", "environment", "sentence"),
    [
        ("yarn", {}, {}, "HADOOP_CONF_DIR"),
        ("yarn", {}, {"HADOOP_CONF_DIR": "/etc/hadoop"}, None),
        ("yarn", {}, {"YARN_CONF_DIR": "/etc/yarn"}, None),
        ("k8s://https://one", {}, {}, "spark.kubernetes.container.image"),
        ("k8s://https://one", _IMAGE, {}, None),
        ("spark://one:7077", {}, {}, None),
        ("spark://one:7077", {"spark.submit.deployMode": "cluster"}, {}, "must be client"),
    ],
)
def test_what_a_master_lacks_is_said_before_anything_starts(
    text: str, settings: dict[str, str], environment: dict[str, str], sentence: str | None
) -> None:
    said = lacking(read_master(text), settings, environment)
    assert said is None if sentence is None else sentence in str(said)


def test_tasks_run_in_the_python_that_was_chosen_or_in_this_one_where_it_can_be_had() -> None:
    near, far = read_master("local[2]"), read_master("yarn")
    chosen = {"spark.pyspark.python": "./env/bin/python"}
    declared = {"PYSPARK_PYTHON": "/usr/bin/python3.12"}
    assert task_python(far, chosen, declared, "/own") == "./env/bin/python"
    assert task_python(far, {}, declared, "/own") == "/usr/bin/python3.12"
    assert task_python(near, {}, {}, "/own") == "/own"
    assert task_python(far, {}, {}, "/own") is None


def test_a_worker_says_in_one_sentence_why_it_cannot_start_on_a_master() -> None:
    told = CliRunner().invoke(main, ["--server", "http://localhost/api", "--master", "sc://one"])
    assert told.exit_code == 2
    assert told.stderr.startswith("conductor-spark-worker: A worker cannot use Spark Connect")
