"""The effects process: takes batches of effects from the job queue and carries them out.

Killed at any moment it loses nothing: an effect leaves the outbox when it is confirmed.
"""

from __future__ import annotations

from conductor_py.config import Settings
from conductor_py.processes.identity import new_name
from conductor_py.processes.readiness import await_redis
from conductor_py.wiring import build_engine, run_effects


def run_effects_worker(settings: Settings) -> int:
    """Carry out effects until a stop signal; only on the main thread."""
    await_redis(settings)
    # It decides only what event handlers cause, so it serves no shard.
    engine = build_engine(settings, server=new_name(), serves_all_shards=True)
    run_effects(settings, engine)
    return 0
