"""One value a process."""

from __future__ import annotations

import subprocess
import sys
import threading

from conductor_py.adapters.process_local import ProcessLocal
from tests.waiting import PATIENCE_S

_FORK = """
import os
from conductor_py.adapters.process_local import ProcessLocal
local = ProcessLocal(os.getpid)
parent = local.get()
child = os.fork()
if child == 0:
    os._exit(0 if local.get() == os.getpid() != parent else 1)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
assert local.get() == parent
"""


def test_threads_of_one_process_share_the_value():
    made: list[object] = []

    def make() -> object:
        made.append(object())
        return made[-1]

    local = ProcessLocal(make)
    found: list[object] = []
    threads = [threading.Thread(target=lambda: found.append(local.get())) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(made) == 1
    assert len({id(value) for value in found}) == 1


def test_a_forked_process_makes_its_own():
    # In a process without threads: what another thread holds at a fork, the child never gets.
    subprocess.run([sys.executable, "-c", _FORK], check=True, timeout=PATIENCE_S)
