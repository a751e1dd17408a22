"""The client of RQ: a job is a function of the standard library, so that any worker finds it."""

from __future__ import annotations

import sys
from concurrent.futures import ThreadPoolExecutor
from functools import partial

from redis import Redis
from rq import Queue

from benchmarks.peers.lines import AT_ONCE, DATA, serve

_PATIENCE_S = 60


def _is_right(queue: Queue, _number: int) -> bool:
    result = queue.enqueue("operator.concat", DATA, "").latest_result(timeout=_PATIENCE_S)
    return result is not None and result.return_value == DATA


if __name__ == "__main__":
    with ThreadPoolExecutor(AT_ONCE) as pool:
        job = partial(_is_right, Queue("bench", connection=Redis.from_url(sys.argv[1])))
        serve("rq", lambda executions: sum(pool.map(job, range(executions))))
