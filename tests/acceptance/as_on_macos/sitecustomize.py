"""Takes away from a Python on Linux what it has not on macOS; a folder for ``PYTHONPATH``.

What the standard library itself asks for by the name of the system is imported before.
"""

import builtins
import concurrent.futures
import ctypes.util
import errno
import fcntl
import io
import logging.handlers
import multiprocessing.heap
import multiprocessing.popen_spawn_posix
import multiprocessing.resource_tracker
import multiprocessing.sharedctypes
import os
import platform
import resource
import select
import selectors
import signal
import socket
import subprocess
import sys
import sysconfig
import time
import urllib.request
import uuid
import webbrowser
import zoneinfo
from collections.abc import Callable
from typing import Any

_BEFORE = (
    *(concurrent.futures, ctypes.util, logging.handlers, platform, subprocess, urllib.request),
    *(uuid, webbrowser, zoneinfo, multiprocessing.popen_spawn_posix),
    *(multiprocessing.resource_tracker, multiprocessing.sharedctypes),
)

_GONE = {
    os: """sched_getaffinity sched_setaffinity sched_setscheduler sched_getscheduler sched_param
        sched_getparam sched_setparam sched_rr_get_interval SCHED_IDLE SCHED_BATCH SCHED_OTHER
        pidfd_open eventfd eventfd_read eventfd_write memfd_create setns unshare splice pipe2
        copy_file_range posix_fallocate posix_fadvise fdatasync getrandom getresuid getresgid
        setresuid setresgid O_DIRECT O_TMPFILE O_PATH O_NOATIME O_LARGEFILE RTLD_DEEPBIND
        getxattr setxattr listxattr removexattr timerfd_create""",
    select: "epoll",
    selectors: "EpollSelector",
    signal: """sigtimedwait sigwaitinfo SIGRTMIN SIGRTMAX SIGPWR SIGSTKFLT SIGPOLL SIGCLD
        pidfd_send_signal""",
    socket: """SO_PEERCRED TCP_KEEPIDLE TCP_USER_TIMEOUT TCP_QUICKACK TCP_DEFER_ACCEPT TCP_CORK
        SOCK_CLOEXEC SOCK_NONBLOCK AF_NETLINK AF_PACKET AF_VSOCK SO_BINDTODEVICE""",
    time: "pthread_getcpuclockid CLOCK_BOOTTIME CLOCK_TAI",
    fcntl: """F_OFD_SETLK F_OFD_SETLKW F_OFD_GETLK F_ADD_SEALS F_GET_SEALS F_SETPIPE_SZ
        F_GETPIPE_SZ F_NOTIFY F_SETLEASE F_GETLEASE F_SETSIG F_GETSIG""",
    resource: """prlimit RLIMIT_MSGQUEUE RLIMIT_NICE RLIMIT_OFILE RLIMIT_RTPRIO RLIMIT_RTTIME
        RLIMIT_SIGPENDING RUSAGE_THREAD""",
}
_CALLS = frozenset({"prctl", "renameat2", "sched_getcpu", "malloc_trim"})
_FILES = ("/proc/", "/sys/", "/dev/shm/")


class _Library(ctypes.CDLL):
    """The system's library without the calls of Linux."""

    def __getattr__(self, name: str) -> Any:
        if name in _CALLS:
            raise AttributeError(name)
        return super().__getattr__(name)


def _without_files_of_linux(opening: Callable[..., Any]) -> Callable[..., Any]:
    def opened(file: Any, *rest: Any, **more: Any) -> Any:
        if isinstance(file, str | bytes | os.PathLike) and os.fsdecode(file).startswith(_FILES):
            raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), file)
        return opening(file, *rest, **more)

    return opened


sysconfig.get_config_vars()
for _module, _names in _GONE.items():
    for _name in _names.split():
        vars(_module).pop(_name, None)
vars(selectors)["DefaultSelector"] = selectors.PollSelector
# Memory that processes share is a file in a temporary directory there.
multiprocessing.heap.Arena._dir_candidates = []  # type: ignore[attr-defined]
multiprocessing.set_start_method("spawn", force=True)
for _place in (builtins, io):
    vars(_place)["open"] = _without_files_of_linux(vars(_place)["open"])
os.open = _without_files_of_linux(os.open)
vars(ctypes)["CDLL"] = _Library
vars(sys)["platform"] = "darwin"
