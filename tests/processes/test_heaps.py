"""Many threads share few heaps of the C library, and those give back what they no longer need."""

import platform
import subprocess
import sys

import pytest

_HAS_HEAPS = platform.libc_ver()[0] == "glibc"

_COUNTS = """
import ctypes, re, sys, threading
from conductor_py.processes.heaps import keep_little
if sys.argv[1] == "shared":
    keep_little()
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


@pytest.mark.skipif(not _HAS_HEAPS, reason="other C libraries have no such heaps")
def test_large_bodies_in_many_threads_fill_few_heaps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MALLOC_ARENA_MAX", raising=False)
    assert 1 <= _heaps("shared") <= 2
    monkeypatch.setenv("MALLOC_ARENA_MAX", "5")
    assert _heaps("shared") == _heaps("as it is"), "who chose a number keeps it"


_KEEPS = """
import ctypes, sys
from pathlib import Path
from conductor_py.processes.heaps import keep_little
if sys.argv[1] == "little":
    keep_little()
libc = ctypes.CDLL(None)
libc.malloc.restype = ctypes.c_void_p
libc.free.argtypes = (ctypes.c_void_p,)
def take(size):
    place = libc.malloc(ctypes.c_size_t(size))
    ctypes.memset(place, 1, size)
    return place
libc.free(take(8 << 20))  # from now on the library would take such pages from its heap
large = []
for _ in range(100):
    large.append(take(1 << 20))
    take(1_000)
for place in large:
    libc.free(place)
print(int(Path("/proc/self/status").read_text().partition("VmRSS:")[2].split()[0]) // 1024)
"""


@pytest.mark.skipif(not _HAS_HEAPS, reason="other C libraries have no such heaps")
def test_a_large_body_that_is_done_with_leaves_the_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    for chosen in ("MALLOC_MMAP_THRESHOLD_", "MALLOC_TRIM_THRESHOLD_"):
        monkeypatch.delenv(chosen, raising=False)

    def kept_mb(how: str) -> int:
        command = (sys.executable, "-c", _KEEPS, how)
        return int(subprocess.run(command, capture_output=True, text=True, check=True).stdout)

    assert kept_mb("little") < 50
    assert kept_mb("as it is") > 100, "the reason why"
