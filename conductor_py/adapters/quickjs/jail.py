"""What a script process may still do: compute, and talk over the socket that it has.

Three locks of the kernel, each for itself, for a script that has broken out of its engine:

- no new privileges, so that no program of the machine gives any;
- Landlock: no file is opened, made or removed, whatever the user may; from its fourth version on no
  TCP port is bound or connected to; from its sixth on no signal and no abstract socket leaves;
- seccomp: no socket is made, no program run, no other process traced, no file opened; it fails with
  EACCES. The filter looks at the number of a call and at no argument, so nothing can be
  changed behind its back.

Landlock knows files and TCP only, and not every kernel has it; seccomp has no notion of paths, but
a script process needs none. Neither can be taken off again, and a fork keeps both.

Like ``child`` it is run by path: standard library only. Linux on x86-64 and 64-bit ARM; elsewhere,
and where the kernel has neither, ``lock`` says so and the process runs with its limits only.
"""

from __future__ import annotations

import ctypes
import errno
import os
import struct
import sys

_SET_NO_NEW_PRIVILEGES = 38
_SET_SECCOMP, _FILTER = 22, 2
_CREATE_RULESET, _RESTRICT_SELF = 444, 446  # the same numbers on all machines
_ASK_VERSION = 1
#: Rights over files by version of Landlock: the bits that are known grow.
_FILE_RIGHTS = {1: 13, 2: 14, 3: 15, 4: 15, 5: 16}
_TCP_RIGHTS = 2
_SCOPES = 2

_ALLOW, _REFUSE = 0x7FFF0000, 0x00050000 | errno.EACCES
_LOAD, _JUMP_IF_EQUAL, _JUMP_IF_AT_LEAST, _RETURN = 0x20, 0x15, 0x35, 0x06
#: Calls of a second numbering that x86-64 has beside its own.
_OTHER_NUMBERS = 0x40000000
#: By machine the mark of its calls, and the numbers of those that are refused.
_MACHINES = {
    "x86_64": (
        0xC000003E,
        {
            "open": 2,
            "openat": 257,
            "openat2": 437,
            "creat": 85,
            "open_by_handle_at": 304,
            "socket": 41,
            "connect": 42,
            "bind": 49,
            "listen": 50,
            "execve": 59,
            "execveat": 322,
            "ptrace": 101,
            "process_vm_readv": 310,
            "process_vm_writev": 311,
            "io_uring_setup": 425,
            "unlink": 87,
            "unlinkat": 263,
            "rename": 82,
            "renameat": 264,
            "renameat2": 316,
            "mkdir": 83,
            "mkdirat": 258,
            "link": 86,
            "linkat": 265,
            "symlink": 88,
            "symlinkat": 266,
            "chmod": 90,
            "fchmodat": 268,
            "truncate": 76,
            "mount": 165,
            "unshare": 272,
            "setns": 308,
            "bpf": 321,
            "keyctl": 250,
            "userfaultfd": 323,
            "perf_event_open": 298,
            "pidfd_getfd": 438,
        },
    ),
    "aarch64": (
        0xC00000B7,
        {
            "openat": 56,
            "openat2": 437,
            "open_by_handle_at": 265,
            "socket": 198,
            "connect": 203,
            "bind": 200,
            "listen": 201,
            "execve": 221,
            "execveat": 281,
            "ptrace": 117,
            "process_vm_readv": 270,
            "process_vm_writev": 271,
            "io_uring_setup": 425,
            "unlinkat": 35,
            "renameat": 38,
            "renameat2": 276,
            "mkdirat": 34,
            "linkat": 37,
            "symlinkat": 36,
            "fchmodat": 53,
            "truncate": 45,
            "mount": 40,
            "unshare": 97,
            "setns": 268,
            "bpf": 280,
            "keyctl": 219,
            "userfaultfd": 282,
            "perf_event_open": 241,
            "pidfd_getfd": 438,
        },
    ),
}


def lock() -> tuple[str, ...]:
    """Lock this process and all that it forks; returns which of ``landlock`` and ``seccomp`` hold.

    What the process is to open has to be open by now.
    """
    if sys.platform != "linux":
        return ()
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(_SET_NO_NEW_PRIVILEGES, 1, 0, 0, 0) != 0:
        return ()
    held = (("landlock", _landlock(libc)), ("seccomp", _seccomp(libc)))
    return tuple(name for name, holds in held if holds)


def _landlock(libc: ctypes.CDLL) -> bool:
    version = libc.syscall(_CREATE_RULESET, None, ctypes.c_size_t(0), _ASK_VERSION)
    if version < 1:
        return False
    files = (1 << _FILE_RIGHTS[min(version, max(_FILE_RIGHTS))]) - 1
    rights = struct.pack("=Q", files)
    if version >= 4:
        rights += struct.pack("=Q", (1 << _TCP_RIGHTS) - 1)
    if version >= 6:
        rights += struct.pack("=Q", (1 << _SCOPES) - 1)
    # A set of rules without a rule: all that it names is refused.
    rules = libc.syscall(_CREATE_RULESET, rights, ctypes.c_size_t(len(rights)), 0)
    if rules < 0:
        return False
    try:
        return bool(libc.syscall(_RESTRICT_SELF, rules, 0) == 0)
    finally:
        os.close(rules)


def _seccomp(libc: ctypes.CDLL) -> bool:
    mark, numbers = _MACHINES.get(os.uname().machine, (0, {}))
    if not numbers or sys.maxsize < 2**32:
        return False
    refused = sorted(numbers.values())
    # (operation, jump if so, jump if not, value): the last two instructions are allow and refuse.
    program = [
        (_LOAD, 0, 0, 4),  # the machine whose calls these are
        (_JUMP_IF_EQUAL, 0, len(refused) + 3, mark),
        (_LOAD, 0, 0, 0),  # the number of the call
        (_JUMP_IF_AT_LEAST, len(refused) + 1, 0, _OTHER_NUMBERS),
        *((_JUMP_IF_EQUAL, len(refused) + 1 - at, 0, n) for at, n in enumerate(refused, 1)),
        (_RETURN, 0, 0, _ALLOW),
        (_RETURN, 0, 0, _REFUSE),
    ]
    code = ctypes.create_string_buffer(b"".join(struct.pack("=HBBI", *line) for line in program))

    class Program(ctypes.Structure):
        _fields_ = (("length", ctypes.c_ushort), ("code", ctypes.c_void_p))

    given = Program(len(program), ctypes.cast(code, ctypes.c_void_p))
    return bool(libc.prctl(_SET_SECCOMP, _FILTER, ctypes.byref(given), 0, 0) == 0)
