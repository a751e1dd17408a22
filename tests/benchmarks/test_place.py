"""What is measured can be put together; nothing here measures."""

from pathlib import Path

from benchmarks.place import NAMESPACE, ports_at
from conductor_py.adapters.redis.connection import Connection
from conductor_py.adapters.redis.keys import Namespace
from conductor_py.adapters.redis.scripts import Scripts
from conductor_py.adapters.redis.wakeups import RedisWakeups
from conductor_py.engine.port_set import Ports


def test_the_engine_that_is_measured_has_every_port_that_an_engine_needs(tmp_path: Path) -> None:
    connection, namespace = Connection(f"unix://{tmp_path}/nobody"), Namespace(NAMESPACE, 1)
    wakeups = RedisWakeups(connection, namespace)

    assert isinstance(ports_at(Scripts(connection, namespace), wakeups, tmp_path), Ports)

    wakeups.close()
    connection.close()
