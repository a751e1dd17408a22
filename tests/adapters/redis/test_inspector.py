"""Walks over a cluster: each node is looked through once, and nothing is missed when slots move."""

from collections.abc import Callable, Sequence
from typing import Any

from conductor_py.adapters.redis.inspector import RedisInspector
from conductor_py.adapters.redis.keys import Namespace
from conductor_py.adapters.redis.scripts import Scripts

PARTITIONS = 12


class _Nodes:
    """Three nodes, each with its keys, and the map that says which partition is where."""

    is_spread = True

    def __init__(self) -> None:
        self.place = [partition % 3 for partition in range(PARTITIONS)]
        self.keys = [
            f"{{test:{partition}}}:exec:{partition:036d}" for partition in range(PARTITIONS)
        ]
        self.scans: list[int] = []

    def servers_of(self, keys: Sequence[str], *, fresh: bool = False) -> tuple[str, ...]:
        del fresh
        return tuple(f"node{self.place[partition]}" for partition in range(len(keys)))

    def command(self, *arguments: Any) -> Any:
        """A SCAN of the node that the first pattern leads to; the cursor counts keys."""
        assert arguments[0] == "SCAN"
        node = self.place[int(arguments[3].split(":")[1].split("}")[0])]
        first, count = int(arguments[1]), int(arguments[5])
        here = [key for at, key in enumerate(self.keys) if self.place[at] == node]
        self.scans.append(node)
        following = first + count if first + count < len(here) else 0
        found = here[first : first + count]
        return str(following).encode(), [key.encode() for key in found]


def _walked(
    nodes: _Nodes, limit: int, between: Callable[[int], None] = lambda _: None
) -> list[int]:
    scripts: Any = Scripts(nodes, Namespace("test", PARTITIONS))  # type: ignore[arg-type]
    inspector = RedisInspector(scripts)
    found: list[int] = []
    cursor, pages = "", 0
    while True:
        keys, cursor = inspector.walk(cursor, limit)
        found += [key.partition for key in keys]
        if not cursor:
            return found
        pages += 1
        between(pages)


def test_each_node_is_looked_through_once() -> None:
    nodes = _Nodes()
    assert sorted(_walked(nodes, 100)) == list(range(PARTITIONS))
    assert nodes.scans == [0, 1, 2]


def test_pages_of_a_node_follow_each_other() -> None:
    nodes = _Nodes()
    assert sorted(_walked(nodes, 3)) == list(range(PARTITIONS))
    assert nodes.scans == [0, 0, 1, 1, 2, 2]


def test_partition_that_moves_to_a_node_that_was_seen_is_not_missed() -> None:
    nodes = _Nodes()

    def move(page: int) -> None:
        if page == 1:  # node 0 has been looked through, node 2 has not
            nodes.place[2] = 0

    assert set(_walked(nodes, 100, move)) == set(range(PARTITIONS))
