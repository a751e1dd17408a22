"""Many threads share few heaps of the C library."""

import subprocess
import sys

import pytest

_COUNTS = """
import ctypes, re, sys, threading
from conductor_py.processes.heaps import share_heaps
if sys.argv[1] == "shared":
    share_heaps()
libc = ctypes.CDLL(None)
libc.malloc.restype = ctypes.c_void_p
together = threading.Barrier(8)
def work():
    libc.malloc(ctypes.c_size_t(1_000))
    together.wait()
threads = [threading.Thread(target=work) for _ in range(8)]
for each in threads: each.start()
for each in threads: each.join()
libc.fdopen.restype = ctypes.c_void_p
out = ctypes.c_void_p(libc.fdopen(1, b"w"))
libc.malloc_info(0, out)
libc.fflush(out)
"""


def _heaps(*how: str) -> int:
    done = subprocess.run(
        (sys.executable, "-c", _COUNTS, *how), capture_output=True, text=True, check=True
    )
    return done.stdout.count("<heap nr=")


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have no such heaps")
def test_large_bodies_in_many_threads_fill_few_heaps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MALLOC_ARENA_MAX", raising=False)
    assert 1 <= _heaps("shared") <= 2
    monkeypatch.setenv("MALLOC_ARENA_MAX", "5")
    assert _heaps("shared") == _heaps("as it is"), "who chose a number keeps it"
