"""Real services for tests: found on the machine, or fetched once into the user's cache folder.

The fixtures are in `tests/conftest.py`; a test that starts a server of its own (to kill it, say)
imports from here. A service that cannot be had skips the test, with a sentence that says what is
missing; where the environment says CI=true it fails instead.
"""

from tests.services.absence import absent
from tests.services.kafka import Kafka, start_kafka
from tests.services.object_store import ObjectStore, start_object_store
from tests.services.ports import free_port
from tests.services.processes import Service
from tests.services.redis_servers import NEWEST_REDIS, REDIS_PARAMS, RedisServer, start_redis
from tests.services.search_servers import start_elasticsearch, start_opensearch
from tests.services.spark_cluster import SparkCluster, start_spark_cluster
from tests.services.sql_servers import SqlServer, start_mariadb, start_mysql, start_postgresql
from tests.services.zookeeper import ZooKeeper, start_zookeeper

__all__ = [
    "NEWEST_REDIS",
    "REDIS_PARAMS",
    "Kafka",
    "ObjectStore",
    "RedisServer",
    "Service",
    "SparkCluster",
    "SqlServer",
    "ZooKeeper",
    "absent",
    "free_port",
    "start_elasticsearch",
    "start_kafka",
    "start_mariadb",
    "start_mysql",
    "start_object_store",
    "start_opensearch",
    "start_postgresql",
    "start_redis",
    "start_spark_cluster",
    "start_zookeeper",
]
