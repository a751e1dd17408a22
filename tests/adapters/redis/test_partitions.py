"""The number of partitions: fixed once, and not guessed when it is lost."""

from typing import Any, cast

import pytest

from conductor_py.adapters.redis.connection import Connection
from conductor_py.adapters.redis.keys import Namespace
from conductor_py.adapters.redis.partitions import fix_partitions
from conductor_py.errors import StoreUnavailable


class _FailedOver:
    """What was written is gone by the time that it is read."""

    def command(self, *_arguments: Any) -> None:
        return None


def test_a_number_that_a_failover_lost_is_a_store_that_is_away_for_now() -> None:
    with pytest.raises(StoreUnavailable, match="number of partitions"):
        fix_partitions(cast("Connection", _FailedOver()), Namespace("lost"))
