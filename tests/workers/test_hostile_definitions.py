"""What a definition may not make a worker do: read and write elsewhere, call what was only
imported, see the worker's secrets.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from pyspark.sql import SparkSession

from conductor_py.pipelines.record import SplitDescriptor
from conductor_py.wire.pipelines import read_job
from conductor_workers import jvm
from conductor_workers.jvm import passed
from conductor_workers.paths import ANYWHERE, AllowedPaths, PathRefused
from conductor_workers.pipelines.faults import ARMED_BY
from conductor_workers.pipelines.judging import refuse_other_files, refuse_other_places
from conductor_workers.tasks.outcome import Status, settle
from conductor_workers.tasks.python import run_python
from conductor_workers.tasks.sql import run_sql
from tests.workers.attempts import FakeAttempt
from tests.workers.pipelines.jobs import Job, Trial, files, generated, job_of

_PLACES = AllowedPaths.below(["/data", "s3://lake/in"])


@pytest.mark.spark
def test_a_query_reads_no_file_that_the_worker_was_not_given(
    spark: SparkSession, tmp_path: Path
) -> None:
    given = {"p": {"format": "csv", "path": "/etc/passwd"}}
    attempt = FakeAttempt({"inputs": given, "sql": "SELECT * FROM p", "collect": 5})
    places = AllowedPaths.below([str(tmp_path)])
    outcome = settle(attempt, lambda: run_sql(spark, attempt, paths=places))
    assert outcome is not None
    assert (outcome.status, outcome.output) == (Status.FAILED_WITH_TERMINAL_ERROR, {})
    assert outcome.reason.startswith("$.inputs.p.path: /etc/passwd is not below a place")


@pytest.mark.spark
def test_a_result_is_written_nowhere_else(spark: SparkSession, tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    attempt = FakeAttempt({"sql": "SELECT 1 AS n", "output": {"path": str(elsewhere / "out")}})
    places = AllowedPaths.below([str(tmp_path / "data")])
    outcome = settle(attempt, lambda: run_sql(spark, attempt, paths=places))
    assert outcome is not None
    assert outcome.reason.startswith("$.output.path: ")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.spark
@pytest.mark.parametrize("name", ["getcwd", "Path"])
def test_what_an_allowed_module_has_imported_is_not_called(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.syspath_prepend(str(Path(__file__).with_name("modules")))
    attempt = FakeAttempt({"function": f"lending:{name}"})
    outcome = settle(attempt, lambda: run_python(spark, attempt, ("lending",), paths=ANYWHERE))
    assert outcome is not None
    assert outcome.status is Status.FAILED_WITH_TERMINAL_ERROR
    assert f"$.function: lending does not define {name}" in outcome.reason


@pytest.mark.spark
def test_a_transform_of_an_imported_function_is_refused(
    spark: SparkSession, tmp_path: Path
) -> None:
    trial = Trial(spark=spark, place=tmp_path)
    transform = {
        "id": "t",
        "kind": "python",
        "inputs": {"i": "a_rows"},
        "output": "t_out",
        "function": "tests.workers.pipelines.jobs:read_job",
    }
    out = files("out", "t_out", trial.place / "out")
    result = trial.run(job_of([generated("a", 10)], [out], [transform]))
    assert not result.finished
    said = json.dumps(result.document)
    assert "t.function: tests.workers.pipelines.jobs does not define read_job" in said


def _with(edit: dict[str, Any]) -> Job:
    job = job_of(
        [generated("a", 10), _source("/data/in/*.csv")],
        [files("out", "a_rows", Path("/data/out")), files("b_out", "b_rows", Path("/data/b"))],
    )
    job["sources"][1] |= edit.pop("source", {})
    job["sinks"][0] |= edit.pop("sink", {})
    job["env"] |= edit.pop("env", {})
    return {**job, **edit}


def _source(path: str) -> Job:
    return {"id": "b", "kind": "file", "output": "b_rows", "paths": [path], "format": "csv"}


@pytest.mark.parametrize(
    ("edit", "said"),
    [
        ({"source": {"paths": ["/data/a", "/etc/*"]}}, r"b\.paths: /etc/\* "),
        ({"source": {"paths": ["s3://lake/other"]}}, r"b\.paths: s3://lake/other "),
        ({"sink": {"path": "/srv/out"}}, r"out\.path: /srv/out "),
        ({"sink": {"path": "/data/../root"}}, r"out\.path: /data/\.\./root "),
        ({"env": {"work_dir": "/srv/work"}}, r"env\.work_dir: /srv/work "),
        (
            {
                "env": {"errors": {"bad_rows": "dead_letter"}},
                "dead_letter": {"kind": "file", "path": "/srv/bad", "format": "json"},
            },
            r"dead_letter\.path: /srv/bad ",
        ),
    ],
)
def test_a_job_names_no_place_that_the_worker_was_not_given(
    edit: dict[str, Any], said: str
) -> None:
    refuse_other_places(read_job(_with({})), _PLACES)
    with pytest.raises(PathRefused, match=said):
        refuse_other_places(read_job(_with(edit)), _PLACES)


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ({"kind": "jdbc", "url": "sqlite:////srv/x.db", "table": "t"}, r"c\.url: /srv/x\.db "),
        (
            {"kind": "jdbc", "url": "postgresql://h/d?sslkey=/srv/k.pem", "table": "t"},
            r"c\.url: /srv/k\.pem ",
        ),
        (
            {
                "kind": "kafka",
                "servers": "k:9092",
                "topics": ["t"],
                "options": {"ssl.ca.location": "/srv/ca.pem"},
            },
            r"c\.options\['ssl\.ca\.location'\]: /srv/ca\.pem ",
        ),
    ],
)
def test_files_of_databases_and_certificates_are_files_too(source: Job, said: str) -> None:
    node = {"id": "c", "output": "c_rows", **source}
    job = read_job(job_of([node], [files("out", "c_rows", Path("/data/out"))]))
    with pytest.raises(PathRefused, match=said):
        refuse_other_places(job, _PLACES)


def test_a_url_that_is_none_is_for_its_connector_to_refuse() -> None:
    url = "postgresql://h:port/d"
    node = {"id": "c", "kind": "jdbc", "output": "c_rows", "url": url, "table": "t"}
    job = job_of([node], [files("out", "c_rows", Path("/data/out"))])
    refuse_other_places(read_job(job), _PLACES)


def test_what_a_secret_of_the_worker_holds_is_its_owners_business() -> None:
    url = {"secret": "crm"}
    node = {"id": "c", "kind": "jdbc", "output": "c_rows", "url": url, "table": "t"}
    job = job_of([node], [files("out", "c_rows", Path("/data/out"))])
    refuse_other_places(read_job(job), _PLACES)


@pytest.mark.spark
def test_nothing_of_a_job_is_touched_that_names_a_place_of_others(
    spark: SparkSession, tmp_path: Path
) -> None:
    places = AllowedPaths.below([str(tmp_path / "data")])
    trial = Trial(spark=spark, place=tmp_path, paths=places)
    job = job_of([generated("a", 10)], [files("out", "a_rows", trial.place / "out")])
    with pytest.raises(PathRefused, match=r"^out\.path: "):
        trial.run(job)
    assert trial.keeper.parts == {}
    assert not (trial.place / "out").exists()


@pytest.mark.parametrize(
    ("path", "found"),
    [
        ("/data/in/*.csv", "/etc/shadow"),
        ("/data/in/*.csv", "/data/in/../../etc/shadow"),
        ("s3://lake/in/*.csv", "other/a.csv"),
    ],
)
def test_a_record_that_somebody_forged_brings_no_other_file_into_a_round(
    path: str, found: str
) -> None:
    ground: Any = SimpleNamespace(job=read_job(_with({"source": _source(path)})), paths=_PLACES)
    own = path.removeprefix("s3://lake/").replace("*", "a [1]{b}")
    refuse_other_files(ground, {"b": [_split(own)]})
    with pytest.raises(PathRefused, match=r"^b: .* is not below a place"):
        refuse_other_files(ground, {"b": [_split(own), _split(found)]})


def _split(path: str) -> SplitDescriptor:
    return SplitDescriptor(ord=0, descriptor={"path": path}, bytes=1)


def test_the_jvm_gets_what_spark_reads_and_none_of_the_workers_secrets() -> None:
    secrets = {"CONDUCTOR_SECRET_CRM": "a", "CONDUCTOR_SECRETS_DIR": "/s", "MAIL_PASSWORD": "b"}
    needed = {
        "PATH": "/bin",
        "LC_ALL": "C",
        "JAVA_HOME": "/java",
        "PYTHONPATH": "/jobs",
        "SPARK_CONF_DIR": "/conf",
        "AWS_REGION": "eu",
    }
    wanted = {"RATES_URL": "http://rates"}
    assert passed(secrets | needed | wanted, ["RATES_URL"]) == needed | wanted


def test_the_document_names_what_the_jvm_gets_of_the_environment() -> None:
    text = (Path(__file__).parents[2] / "docs/explanation/security.md").read_text()
    listed = text.partition("get these variables of the worker's environment")[2]
    listed = listed.partition("those of `--pass-env`:")[2].partition(". ")[0]
    names, _, prefixes = listed.partition("all that begin with")
    assert frozenset(re.findall("`([^`]+)`", names)) == jvm._PASSED
    # Tests alone set that one: where a worker is to break.
    assert set(re.findall("`([^`]+)`", prefixes)) == set(jvm._PASSED_PREFIXES) - {ARMED_BY}


def test_keys_of_stores_are_handed_on_and_no_other_secret() -> None:
    keys = {"AWS_ACCESS_KEY_ID": "k", "AWS_SECRET_ACCESS_KEY": "s", "AWS_SESSION_TOKEN": "t"}
    others = (
        *("CONDUCTOR_SECRET_CRM", "CONDUCTOR_REDIS_HOSTS", "AZURE_CLIENT_SECRET", "GH_TOKEN"),
        *("GOOGLE_APPLICATION_CREDENTIALS", "PGPASSWORD", "MYSQL_PWD", "DATABASE_URL"),
        *("XAWS_SECRET_ACCESS_KEY", "aws_secret_access_key", "MY_SPARK_TOKEN", "SSH_AUTH_SOCK"),
    )
    assert passed(keys | dict.fromkeys(others, "secret")) == keys
