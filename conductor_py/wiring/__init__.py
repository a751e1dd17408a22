"""The composition root: which adapter stands behind each port, chosen by settings.

The only place that knows settings and drivers both. Drivers are imported when they are chosen;
nothing is sent anywhere before the first use, ``check_redis`` apart.
"""

from conductor_py.wiring.application import (
    build_admission,
    build_application,
    build_metrics,
)
from conductor_py.wiring.checks import check_payloads, check_search, describe_redis
from conductor_py.wiring.effects import effects_url, run_effects, thread_effect_queue
from conductor_py.wiring.engine import build_engine
from conductor_py.wiring.locks import check_lock
from conductor_py.wiring.redis import check_redis, redis_url, release_shards

__all__ = [
    "build_admission",
    "build_application",
    "build_engine",
    "build_metrics",
    "check_lock",
    "check_payloads",
    "check_redis",
    "check_search",
    "describe_redis",
    "effects_url",
    "redis_url",
    "release_shards",
    "run_effects",
    "thread_effect_queue",
]
