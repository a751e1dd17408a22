"""What stands behind a kind, and where its secrets come from."""

from __future__ import annotations

from importlib.metadata import EntryPoint

import pytest

from conductor_py.errors import ConfigurationError
from conductor_py.pipelines import spec
from conductor_workers.pipelines import registry
from conductor_workers.pipelines.connectors import Owner, SinkProblem
from conductor_workers.pipelines.databases.dialect import read_address
from conductor_workers.pipelines.databases.keys import key_from_json, key_to_json
from conductor_workers.pipelines.registry import Place, open_sink, open_source
from conductor_workers.pipelines.secrets import SecretMissing, WorkerSecrets
from conductor_workers.pipelines.settings import SettingRefused
from conductor_workers.pipelines.sinks.elasticsearch import ElasticsearchSink
from conductor_workers.testing import SinkTarget
from conductor_workers.testing.sinks import rows_of


def place(**environment: str) -> Place:
    return Place(
        owner=Owner(task="e/r"),
        pipeline="p",
        work_dir="/nowhere",
        secrets=WorkerSecrets(environment),
    )


def jdbc(**settings: object) -> spec.Source:
    return spec.Source(id="in", kind="jdbc", output="o", settings={"table": "t", **settings})


def made_by_a_third_party(node: spec.Source, where: Place) -> tuple[str, str]:
    return node.id, where.owner.task


def test_a_third_partys_kind_is_found_by_its_entry_point(monkeypatch):
    point = EntryPoint("acme.sap", f"{__name__}:made_by_a_third_party", "conductor_py.sources")
    monkeypatch.setattr(
        registry,
        "entry_points",
        lambda group, name: [point] if (group, name) == (point.group, point.name) else [],
    )
    monkeypatch.setattr(EntryPoint, "load", lambda _: made_by_a_third_party)
    node = spec.Source(id="in", kind="acme.sap", output="o")
    made: object = open_source(node, place())
    assert made == ("in", "e/r")


def test_an_unknown_kind_says_what_is_missing():
    with pytest.raises(ConfigurationError, match=r"no source of the kind 'acme\.sap'"):
        open_source(spec.Source(id="in", kind="acme.sap", output="o"), place())


def test_a_secret_is_read_from_the_environment_or_a_file(tmp_path):
    (tmp_path / "crm-url").write_text("from a file\n")
    secrets = WorkerSecrets({"CONDUCTOR_SECRETS_DIR": str(tmp_path)})
    assert secrets("crm-url") == "from a file"
    assert WorkerSecrets({"CONDUCTOR_SECRET_CRM_URL": "set"})("crm-url") == "set"
    for name in ("another", "../crm-url"):
        with pytest.raises(SecretMissing):
            secrets(name)


def test_a_secret_is_shown_nowhere(tmp_path):
    where = place(CONDUCTOR_SECRET_DWH=f"sqlite:///{tmp_path}/very-secret.db?key=hush")
    source = open_source(jdbc(url={"secret": "dwh"}, password="hush"), where)
    assert "hush" not in repr(source)
    assert "hush" not in repr(where)


def test_an_unusable_setting_is_named():
    with pytest.raises(SettingRefused, match=r"in\.url must begin with one of sqlite"):
        open_source(jdbc(url="oracle://x"), place())
    with pytest.raises(SettingRefused, match=r"in\.fetch_rows must be a whole number"):
        open_source(jdbc(url="sqlite:///x", fetch_rows=0), place())


def test_hosts_may_be_secrets(tmp_path):
    where = Place(
        owner=Owner(task="e/r"),
        pipeline="p",
        work_dir=str(tmp_path),
        secrets=WorkerSecrets({"CONDUCTOR_SECRET_ES": "http://es:9200"}),
    )
    settings = {"hosts": [{"secret": "es"}, "http://other:9200"], "index": "i"}
    sink = open_sink(spec.Sink(id="s", kind="elasticsearch", input="i", settings=settings), where)
    assert isinstance(sink, ElasticsearchSink)
    assert sink._target.client.hosts == ("http://es:9200", "http://other:9200")


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("sqlite:////data/x.db", "sqlite:///data/x.db"),
        ("jdbc:postgresql://u:p%40ss@db:5433/crm?sslmode=require", "postgresql://db:5433/crm"),
        ("mysql://db/shop", "mysql://db/shop"),
    ],
)
def test_an_address_is_shown_without_user_and_password(url, shown):
    address = read_address(url)
    assert address.shown == shown
    assert "p@ss" not in repr(address)


@pytest.mark.parametrize("key", [None, 2**62, "é'", 0.1, float("inf"), b"\x00\xff"])
def test_a_bound_survives_json(key):
    assert key_from_json(key_to_json(key)) == key


@pytest.mark.spark
def test_console_shows_rows_once_they_are_decided(spark, caplog):
    node = spec.Sink(id="out", kind="console", input="i", settings={"rows": 2})
    sink, target = open_sink(node, place()), SinkTarget(open=lambda: sink, rows=list)
    staged = sink.stage(rows_of(spark, 1, 11), target.epoch(1))
    assert staged["rows"] == 10
    with caplog.at_level("INFO"):
        sink.publish(staged, target.epoch(1), "h")
    ours = [record for record in caplog.records if record.name.startswith("conductor_workers")]
    assert [record.row for record in ours] == [
        '{"id": 1, "name": "name 1"}',
        '{"id": 2, "name": "name 2"}',
    ]


@pytest.mark.spark
def test_assert_fails_the_epoch_of_a_row_that_does_not_meet_a_condition(spark):
    settings = {"rows": 12, "checks": {"small": "id < 11"}}
    node = spec.Sink(id="out", kind="assert", input="i", settings=settings)
    sink, target = open_sink(node, place()), SinkTarget(open=lambda: sink, rows=list)
    sink.stage(rows_of(spark, 1, 11), target.epoch(1))
    sink.stage(rows_of(spark, 1, 11), target.epoch(1))
    with pytest.raises(SinkProblem, match="1 rows do not meet small"):
        sink.stage(rows_of(spark, 11, 12), target.epoch(2))
    with pytest.raises(SinkProblem, match="there are 13 rows, more than 12"):
        sink.stage(rows_of(spark, 1, 4), target.epoch(2))
