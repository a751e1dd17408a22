"""The number of partitions of a namespace: fixed by whoever uses it first, the same for all after.

With another number executions would be looked for where they are not.
"""

from __future__ import annotations

from conductor_py.adapters.redis.connection import Connection
from conductor_py.adapters.redis.keys import Namespace
from conductor_py.errors import ConfigurationError


def fix_partitions(connection: Connection, namespace: Namespace) -> None:
    """Fix the number if nobody has; ConfigurationError when it was fixed to another one."""
    key = namespace.key(0, "meta:partitions")
    connection.command("SET", key, namespace.partitions, "NX")
    fixed = int(connection.command("GET", key))
    if fixed != namespace.partitions:
        raise ConfigurationError(
            f"the namespace {namespace.name} has {fixed} partition{'s' * (fixed != 1)}, not "
            f"{namespace.partitions}: set conductor.redis.partitions={fixed}, or choose another "
            "conductor.redis.workflowNamespacePrefix"
        )
