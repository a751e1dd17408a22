"""Runs in a bare process: makes all that the one process of an embedded server makes before it
answers, over a Redis that nobody asks yet, and prints which modules that has loaded.

Usage: start_probe.py FOLDER [KEY=VALUE]..., with the source roots on PYTHONPATH; settings follow.
"""

import sys
import threading

from conductor_py.config import load
from conductor_py.engine.quiet import Quiet
from conductor_py.processes import application as _loaded_too  # noqa: F401 - as a start does
from conductor_py.processes.parts import Parts
from conductor_py.processes.system_worker import system_tasks
from conductor_py.wiring import (
    build_admission,
    build_application,
    build_engine,
    build_metrics,
    thread_effect_queue,
)


def main(folder: str, *given: str) -> int:
    """Make them in the order of ``load_application``."""
    flags = {
        "conductor.db.type": "redis_standalone",
        "conductor.redis.socket": f"{folder}/nobody",
        "conductor.data.directory": folder,
    }
    flags |= dict(each.split("=", 1) for each in given)
    settings, stop = load(environment={}, flags=flags), threading.Event()
    metrics, admission = build_metrics(settings), build_admission(settings)
    effects = thread_effect_queue(settings)
    engine = build_engine(
        settings,
        server="s",
        metrics=metrics,
        admission=admission,
        sweeps=True,
        evaluates_long_scripts=True,
        effect_queue=effects,
        quiet=Quiet(),
    )
    Parts(settings, engine, effects, system_tasks(settings), stop)
    build_application(
        settings, engine, stop=stop, instance="s", metrics=metrics, admission=admission
    )
    print(*sys.modules)  # noqa: T201 - the report
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
