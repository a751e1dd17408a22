"""A script that has broken out of its engine, with the kernel's calls in its hand: what it does to
another process of the same user, and to files that it may write.
"""

from __future__ import annotations

import errno
import json
import os
import platform
import re
import resource
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from conductor_py.adapters.quickjs import child as program
from conductor_py.adapters.quickjs import jail
from conductor_py.adapters.quickjs.pool import Child

pytestmark = pytest.mark.skipif(
    sys.platform != "linux" or platform.machine() not in jail._MACHINES,
    reason="no filter is made for this machine",
)

#: Run in a process of its own: ``call`` makes one call of the kernel and returns its error.
_LOCKED = """
import ctypes, importlib.util, json, os, signal, socket, struct, sys, threading
spec = importlib.util.spec_from_file_location("jail", sys.argv[1])
jail = importlib.util.module_from_spec(spec); spec.loader.exec_module(jail)
libc = ctypes.CDLL(None, use_errno=True)
given = json.loads(sys.argv[3])
def lock():
    held = jail.lock() if sys.argv[2] == "all" else ["seccomp"] * jail._seccomp(libc)
    if "seccomp" not in held:
        print(json.dumps({"locks": [], "came": {}}))
        sys.exit()
    return list(held)
def call(name, *arguments):
    number = given["numbers"].get(name)
    if number is None:
        return None
    words = [ctypes.c_long(each) if isinstance(each, int) else each for each in arguments]
    ctypes.set_errno(0)
    return ctypes.get_errno() if libc.syscall(ctypes.c_long(number), *words) == -1 else 0
"""

#: What harms another process (``them``) or a file (``file``), if the kernel lets it.
_ATTACKS = """
them = given["them"]
folder, file, made = (given[name].encode() for name in ("folder", "file", "made"))
us = os.getpid()
about = ctypes.create_string_buffer(struct.pack("=iii", signal.SIGTERM, 0, -1), 128)
zero, mask = struct.pack("=i", 0), struct.pack("=Q", 1 << 0)
idle = struct.pack("=IIQiIQQQ", 48, 5, 0, 0, 0, 0, 0, 0)
few = struct.pack("=QQ", 1, 1)
text = ctypes.create_string_buffer(b"changed!")
iovec = struct.pack("=QQ", ctypes.addressof(text), 8)
here, there = socket.socketpair()
descriptor, handle = os.pidfd_open(them), os.open(file, os.O_RDWR)
attributes = ctypes.create_string_buffer(struct.pack("=II", 1, 112), 112)
AT = -100
locks = lock()
tried = {
    "kill": (them, signal.SIGTERM),
    "tkill": (them, signal.SIGTERM),
    "tgkill": (them, them, signal.SIGTERM),
    "rt_sigqueueinfo": (them, signal.SIGTERM, about),
    "rt_tgsigqueueinfo": (them, them, signal.SIGTERM, about),
    "pidfd_open": (them, 0),
    "pidfd_send_signal": (descriptor, signal.SIGTERM, None, 0),
    "pidfd_getfd": (descriptor, 0, 0),
    "ptrace": (0x4206, them, 0, 0),
    "process_vm_readv": (them, iovec, 1, iovec, 1, 0),
    "process_vm_writev": (them, iovec, 1, iovec, 1, 0),
    "process_madvise": (descriptor, iovec, 1, 21, 0),
    "process_mrelease": (descriptor, 0),
    "kcmp": (us, them, 2, 0, 0),
    "get_robust_list": (them, text, text),
    "migrate_pages": (them, 64, mask, mask),
    "move_pages": (them, 0, None, None, None, 0),
    "setpriority": (0, them, 19),
    "ioprio_set": (1, them, 3 << 13),
    "sched_setscheduler": (them, 5, zero),
    "sched_setparam": (them, zero),
    "sched_setaffinity": (them, 8, mask),
    "sched_setattr": (them, idle, 0),
    "prlimit64": (them, 7, few, None),
    "setrlimit": (4, few),
    "setpgid": (0, 0),
    "setsid": (),
    "fcntl": (here.fileno(), 8, them),
    "ioctl": (here.fileno(), 0x8902, struct.pack("=i", them)),
    "perf_event_open": (attributes, them, -1, -1, 0),
    "bpf": (0, attributes, 112),
    "userfaultfd": (1,),
    "io_uring_setup": (1, attributes),
    "keyctl": (0, -3, 0),
    "add_key": (b"user", b"conductor", b"x", 1, -3),
    "request_key": (b"user", b"conductor", None, 0),
    "mount": (b"none", folder, b"tmpfs", 0, None),
    "umount2": (folder, 2),
    "fsopen": (b"tmpfs", 0),
    "open_tree": (AT, folder, 0),
    "move_mount": (AT, folder, AT, folder, 0),
    "mount_setattr": (AT, folder, 0, attributes, 32),
    "unshare": (0x10000000,),
    "setns": (descriptor, 0x10000000),
    "clone": (0x10000000 | signal.SIGCHLD, 0, 0, 0, 0),
    "rmdir": (folder,),
    "mknod": (made, 0o010600, 0),
    "mknodat": (AT, made, 0o010600, 0),
    "utime": (file, struct.pack("=qq", 1, 1)),
    "utimes": (file, struct.pack("=qqqq", 1, 0, 1, 0)),
    "futimesat": (AT, file, struct.pack("=qqqq", 1, 0, 1, 0)),
    "utimensat": (AT, file, struct.pack("=qqqq", 1, 0, 1, 0), 0),
    "chown": (file, os.getuid(), os.getgid()),
    "lchown": (file, os.getuid(), os.getgid()),
    "fchown": (handle, os.getuid(), os.getgid()),
    "fchownat": (AT, file, os.getuid(), os.getgid(), 0),
    "chmod": (file, 0o777),
    "fchmod": (handle, 0o777),
    "fchmodat": (AT, file, 0o777),
    "fchmodat2": (AT, file, 0o777, 0),
    "setxattr": (file, b"user.x", b"x", 1, 0),
    "lsetxattr": (file, b"user.x", b"x", 1, 0),
    "fsetxattr": (handle, b"user.x", b"x", 1, 0),
    "removexattr": (file, b"user.kept"),
}
came = {name: call(name, *arguments) for name, arguments in tried.items()}
if os.getpid() != us:
    os._exit(0)
print(json.dumps({"locks": locks, "came": came}))
"""

#: Numbers that this file knows by itself: one for all machines.
_NEW = {
    "pidfd_send_signal": 424,
    "io_uring_setup": 425,
    "io_uring_enter": 426,
    "io_uring_register": 427,
    "open_tree": 428,
    "move_mount": 429,
    "fsopen": 430,
    "fsconfig": 431,
    "fsmount": 432,
    "fspick": 433,
    "pidfd_open": 434,
    "openat2": 437,
    "pidfd_getfd": 438,
    "faccessat2": 439,
    "process_madvise": 440,
    "mount_setattr": 442,
    "quotactl_fd": 443,
    "memfd_secret": 447,
    "process_mrelease": 448,
    "fchmodat2": 452,
    "statmount": 457,
    "listmount": 458,
    "setxattrat": 463,
    "open_tree_attr": 467,
    "of a kernel to come": 900,
}


def _numbers() -> dict[str, int | None]:
    _, clone, column = jail._MACHINES[platform.machine()]
    by_name = {name: columns[column] for name, columns in jail._REFUSED.items()}
    return {**by_name, **_NEW, "clone": clone}


def _run(body: str, locks: str, **given: Any) -> Any:
    run = subprocess.run(
        [
            *(sys.executable, "-I", "-S", "-c", _LOCKED + body),
            *(jail.__file__, locks, json.dumps({"numbers": _numbers(), **given})),
        ],
        capture_output=True,
        text=True,
        check=True,
    )
    found = json.loads(run.stdout)
    if "seccomp" not in found.pop("locks"):
        pytest.skip("this kernel has no seccomp")
    return found["came"]


@pytest.fixture(params=["all", "seccomp"])
def locks(request: pytest.FixtureRequest) -> str:
    name: str = request.param
    if name != "all" and os.geteuid() != 0:
        pytest.skip("without no_new_privs, which is for all locks, only root locks itself")
    return name


@dataclass
class Victim:
    """Another process, and files of the same user."""

    process: subprocess.Popen[bytes]
    folder: Path
    file: Path

    def state(self) -> object:
        """All that may be done to it."""
        them, found = self.process.pid, self.file.stat()
        return (
            self.process.poll(),
            [resource.prlimit(them, which) for which in (resource.RLIMIT_NOFILE, 4)],
            os.getpriority(os.PRIO_PROCESS, them),
            os.sched_getscheduler(them),
            os.sched_getaffinity(them),
            os.getpgid(them),
            (found.st_mode, found.st_uid, found.st_gid, found.st_mtime_ns, found.st_ctime_ns),
            sorted(path.name for path in self.file.parent.iterdir()),
            self.file.read_text(),
        )


@pytest.fixture
def victim(tmp_path: Path) -> Iterator[Victim]:
    (tmp_path / "folder").mkdir()
    (tmp_path / "file").write_text("kept")
    process = subprocess.Popen(["cat"], stdin=subprocess.PIPE)
    yield Victim(process, tmp_path / "folder", tmp_path / "file")
    process.kill()
    process.communicate()


def test_a_script_that_has_broken_out_harms_no_other_process_and_no_file(
    victim: Victim, locks: str
) -> None:
    before = victim.state()
    came = _run(
        _ATTACKS,
        locks,
        them=victim.process.pid,
        folder=str(victim.folder),
        file=str(victim.file),
        made=str(victim.file.with_name("made")),
    )
    there_are = {name: error for name, error in came.items() if error is not None}
    assert len(there_are) > 50
    assert {name: error for name, error in there_are.items() if error != errno.EACCES} == {}
    assert victim.state() == before


def test_every_call_that_is_named_is_refused_and_so_are_those_to_come(locks: str) -> None:
    # Where one was let pass, its arguments would make it fail otherwise.
    body = """
locks = lock()
names = [name for name in given["numbers"] if name != "clone"]
print(json.dumps({"locks": locks, "came": {name: call(name, *[-1] * 6) for name in names}}))
"""
    came = _run(body, locks)
    refused = {name for name, error in came.items() if error == errno.EACCES}
    assert {name for name, number in _numbers().items() if number is not None} - {
        "clone"
    } == refused


def test_what_a_script_process_needs_is_let_pass(locks: str) -> None:
    body = """
locks, ran = lock(), []
def forked(end):
    child = os.fork()
    if child == 0:
        end()
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
thread = threading.Thread(target=ran.append, args=("thread",)); thread.start(); thread.join()
signal.signal(signal.SIGALRM, lambda *_: ran.append("timer"))
signal.setitimer(signal.ITIMER_REAL, 0.01); signal.pause()
came = {"ran": ran, "exit": forked(lambda: os._exit(7)), "abort": forked(os.abort),
        "bound": forked(lambda: os._exit(libc.prctl(1, signal.SIGKILL))),
        "memory": len(bytearray(50_000_000))}
print(json.dumps({"locks": locks, "came": came}))
"""
    came = _run(body, locks)
    assert -came.pop("abort") in program._ENDS_OF_A_PROGRAM
    assert came == {"ran": ["thread", "timer"], "exit": 7, "bound": 0, "memory": 50_000_000}


def test_the_numbers_are_those_of_the_kernel() -> None:
    headers = {
        0: Path("/usr/include/x86_64-linux-gnu/asm/unistd_64.h"),
        1: Path("/usr/include/asm-generic/unistd.h"),
    }
    if not all(header.exists() for header in headers.values()):
        pytest.skip("the kernel's headers are not installed")
    for column, header in headers.items():
        known: dict[str, int] = {}
        lines = re.findall(r"#define __NR(?:3264)?_(\w+)\s+(\d+)", header.read_text())
        for name, number in lines:
            known.setdefault(name, int(number))
        named = {name: columns[column] for name, columns in jail._REFUSED.items()}
        named |= jail._NEW_ALLOWED
        assert {name: known[name] for name in named if name in known} == {
            name: number for name, number in named.items() if name in known
        }
        assert {n for n, number in named.items() if number is None}.isdisjoint(known)
        assert len(named.keys() & known) > 120


def test_script_processes_have_their_limits_although_none_can_be_set_any_more() -> None:
    made = Child(memory_bytes=64 << 20, result_bytes=1 << 20)
    try:
        made.wait_ready()
        said = Path(f"/proc/{made.pid}/limits").read_text()
    finally:
        made.kill()
    limits = {line[:26].strip(): line[26:].split()[:2] for line in said.splitlines()}
    assert limits["Max open files"] == ["3", "3"]
    assert limits["Max file size"] == limits["Max core file size"] == ["0", "0"]
    assert "unlimited" not in limits["Max address space"]
