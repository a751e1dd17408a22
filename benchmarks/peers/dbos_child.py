"""An application with DBOS in it."""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor

from dbos import DBOS, DBOSConfig

from benchmarks.peers.lines import AT_ONCE, DATA, serve


@DBOS.step()
def step(data: str) -> str:
    """Do nothing."""
    return data


@DBOS.workflow()
def one(data: str) -> str:
    """Run one step."""
    return step(data)


if __name__ == "__main__":
    config: DBOSConfig = {
        "name": "bench",
        "system_database_url": sys.argv[1],
        "log_level": "ERROR",
    }
    DBOS(config=config)
    DBOS.launch()
    with ThreadPoolExecutor(AT_ONCE) as pool:
        serve(
            "dbos",
            lambda executions: sum(answer == DATA for answer in pool.map(one, [DATA] * executions)),
        )
    DBOS.destroy()
