"""The number of partitions of a namespace: fixed by whoever uses it first, the same for all after.

With another number executions would be looked for where they are not.
"""

from __future__ import annotations

from conductor_py.adapters.redis.connection import Connection
from conductor_py.adapters.redis.keys import Namespace
from conductor_py.errors import ConfigurationError, StoreUnavailable


def fix_partitions(connection: Connection, namespace: Namespace) -> None:
    """Fix the number if nobody has; ConfigurationError when it was fixed to another one.

    StoreUnavailable when what was fixed is gone: a failover in between lost it.
    """
    key = namespace.key(0, "meta:partitions")
    found = connection.command("GET", key)
    if found is None:  # a Redis that is full would refuse to fix it again
        connection.command("SET", key, namespace.partitions, "NX")
        found = connection.command("GET", key)
    if found is None:
        raise StoreUnavailable("Redis has lost the number of partitions just after it was fixed")
    fixed = int(found)
    if fixed != namespace.partitions:
        raise ConfigurationError(
            f"the namespace {namespace.name} has {fixed} partition{'s' * (fixed != 1)}, not "
            f"{namespace.partitions}: set conductor.redis.partitions={fixed}, or choose another "
            "conductor.redis.workflowNamespacePrefix"
        )


def partition_warnings(connection: Connection, namespace: Namespace) -> tuple[str, ...]:
    """Say what does not fit: a cluster with one partition uses one of its nodes, and one Redis
    gains nothing by many.
    """
    if connection.is_spread and namespace.partitions == 1:
        one = (
            f"the namespace {namespace.name} has one partition, so one node of the cluster does "
            "all the work; a new namespace can have more (conductor.redis.partitions=64)"
        )
        return (one,)
    if not connection.is_spread and namespace.partitions > 1:
        many = (
            f"the namespace {namespace.name} has {namespace.partitions} partitions on one Redis; "
            "they cost time and bring nothing before it is a cluster"
        )
        return (many,)
    return ()
