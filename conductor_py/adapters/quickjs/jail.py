"""What a script process may still do: compute, and talk over the socket that it has.

Three locks of the kernel, each for itself, for a script that has broken out of its engine:

- no new privileges, so that no program of the machine gives any;
- Landlock: no file is opened, made or removed, whatever the user may; from its fourth version on no
  TCP port is bound or connected to; from its sixth on no signal and no abstract socket leaves;
- seccomp: no file is opened or changed, no socket made, no program run, no signal sent, no other
  process traced, read, limited or given another priority; no user, group of processes or namespace
  is changed. It fails with EACCES.

Landlock knows files, TCP and signals only, and not every kernel has it; seccomp has no notion of
paths, but a script process needs none. Neither can be taken off again, and a fork keeps both.

The filter looks at the number of a call, and at flags that come in a register: nothing can be
changed behind its back. It refuses by list, but of the calls that are new since Linux 5.1 it lets
pass those on a list only, so that those to come are refused.

Like ``child`` it is run by path: standard library only. Linux on x86-64 and 64-bit ARM; elsewhere,
and where the kernel has neither, ``lock`` says so and the process runs with its limits only.
"""

from __future__ import annotations

import ctypes
import errno
import os
import struct
import sys
from collections.abc import Callable

_SET_NO_NEW_PRIVILEGES = 38
_SET_SECCOMP, _FILTER = 22, 2
_CREATE_RULESET, _RESTRICT_SELF = 444, 446  # the same numbers on all machines
_ASK_VERSION = 1
#: Rights over files by version of Landlock: the bits that are known grow.
_FILE_RIGHTS = {1: 13, 2: 14, 3: 15, 4: 15, 5: 16}
_TCP_RIGHTS = 2
_SCOPES = 2
_LINE = struct.Struct("=HBBI")

_ERROR = 0x00050000
_VERDICTS = {
    "allow": 0x7FFF0000,
    "refuse": _ERROR | errno.EACCES,
    # The C library takes an older call in its place.
    "absent": _ERROR | errno.ENOSYS,
}
_LOAD, _RETURN = 0x20, 0x06
_IF_EQUAL, _IF_AT_LEAST, _IF_ANY_OF = 0x15, 0x35, 0x45
#: Where the machine, the number of the call and its first argument stand (the lower half of that).
_MACHINE_AT, _NUMBER_AT, _FIRST_AT = 4, 0, 16
#: Calls of a second numbering that x86-64 has beside its own.
_OTHER_NUMBERS = 0x40000000
#: All that make a namespace.
_NAMESPACES = 0x7E020000
#: From here on all machines have the same numbers, and what is not named is refused: signals and
#: descriptors by process, io_uring, mounts, names of files.
_NEW = 424
_CLONE3 = 435
_NEW_ALLOWED = {
    "close_range": 436,
    "epoll_pwait2": 441,
    "landlock_create_ruleset": 444,
    "landlock_add_rule": 445,
    "landlock_restrict_self": 446,
    "futex_waitv": 449,
    "map_shadow_stack": 453,
    "futex_wake": 454,
    "futex_wait": 455,
    "futex_requeue": 456,
    "mseal": 462,
}
#: By machine the mark of its calls, the number of ``clone``, and its column of those refused.
_MACHINES = {"x86_64": (0xC000003E, 56, 0), "aarch64": (0xC00000B7, 220, 1)}
#: The numbers of the calls that are refused, on x86-64 and on ARM, which lacks the oldest.
_REFUSED: dict[str, tuple[int | None, int | None]] = {
    # files, by name or by handle
    "open": (2, None),
    "openat": (257, 56),
    "creat": (85, None),
    "access": (21, None),
    "faccessat": (269, 48),
    "open_by_handle_at": (304, 265),
    "name_to_handle_at": (303, 264),
    "unlink": (87, None),
    "unlinkat": (263, 35),
    "rmdir": (84, None),
    "rename": (82, None),
    "renameat": (264, 38),
    "renameat2": (316, 276),
    "mkdir": (83, None),
    "mkdirat": (258, 34),
    "mknod": (133, None),
    "mknodat": (259, 33),
    "link": (86, None),
    "linkat": (265, 37),
    "symlink": (88, None),
    "symlinkat": (266, 36),
    "readlink": (89, None),
    "readlinkat": (267, 78),
    "truncate": (76, 45),
    "chdir": (80, 49),
    "fchdir": (81, 50),
    "chroot": (161, 51),
    "fanotify_init": (300, 262),
    "fanotify_mark": (301, 263),
    "inotify_init": (253, None),
    "inotify_init1": (294, 26),
    "inotify_add_watch": (254, 27),
    "uselib": (134, None),
    # what files carry
    "chmod": (90, None),
    "fchmod": (91, 52),
    "fchmodat": (268, 53),
    "chown": (92, None),
    "fchown": (93, 55),
    "lchown": (94, None),
    "fchownat": (260, 54),
    "utime": (132, None),
    "utimes": (235, None),
    "futimesat": (261, None),
    "utimensat": (280, 88),
    "setxattr": (188, 5),
    "lsetxattr": (189, 6),
    "fsetxattr": (190, 7),
    "getxattr": (191, 8),
    "lgetxattr": (192, 9),
    "fgetxattr": (193, 10),
    "listxattr": (194, 11),
    "llistxattr": (195, 12),
    "flistxattr": (196, 13),
    "removexattr": (197, 14),
    "lremovexattr": (198, 15),
    "fremovexattr": (199, 16),
    # sockets, programs
    "socket": (41, 198),
    "socketpair": (53, 199),
    "connect": (42, 203),
    "bind": (49, 200),
    "listen": (50, 201),
    "accept": (43, 202),
    "accept4": (288, 242),
    "execve": (59, 221),
    "execveat": (322, 281),
    # signals; fcntl and ioctl name who gets one, and which
    "kill": (62, 129),
    "tkill": (200, 130),
    "tgkill": (234, 131),
    "rt_sigqueueinfo": (129, 138),
    "rt_tgsigqueueinfo": (297, 240),
    "fcntl": (72, 25),
    "ioctl": (16, 29),
    # other processes, and what they share
    "ptrace": (101, 117),
    "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271),
    "kcmp": (312, 272),
    "get_robust_list": (274, 100),
    "migrate_pages": (256, 238),
    "move_pages": (279, 239),
    "setpriority": (141, 140),
    "ioprio_set": (251, 30),
    "sched_setparam": (142, 118),
    "sched_setscheduler": (144, 119),
    "sched_setaffinity": (203, 122),
    "sched_setattr": (314, 274),
    "prlimit64": (302, 261),
    "setrlimit": (160, 164),
    "setpgid": (109, 154),
    "setsid": (112, 157),
    "shmget": (29, 194),
    "shmat": (30, 196),
    "shmctl": (31, 195),
    "semget": (64, 190),
    "semop": (65, 193),
    "semctl": (66, 191),
    "semtimedop": (220, 192),
    "msgget": (68, 186),
    "msgsnd": (69, 189),
    "msgrcv": (70, 188),
    "msgctl": (71, 187),
    "mq_open": (240, 180),
    "mq_unlink": (241, 181),
    # the kernel
    "io_setup": (206, 0),
    "io_submit": (209, 2),
    "perf_event_open": (298, 241),
    "bpf": (321, 280),
    "userfaultfd": (323, 282),
    "add_key": (248, 217),
    "request_key": (249, 218),
    "keyctl": (250, 219),
    "syslog": (103, 116),
    "personality": (135, 92),
    "modify_ldt": (154, None),
    "kexec_load": (246, 104),
    "kexec_file_load": (320, 294),
    "init_module": (175, 105),
    "finit_module": (313, 273),
    "delete_module": (176, 106),
    "reboot": (169, 142),
    "iopl": (172, None),
    "ioperm": (173, None),
    "lookup_dcookie": (212, 18),
    "quotactl": (179, 60),
    "acct": (163, 89),
    "swapon": (167, 224),
    "swapoff": (168, 225),
    "sync": (162, 81),
    "vhangup": (153, 58),
    "settimeofday": (164, 170),
    "clock_settime": (227, 112),
    "adjtimex": (159, 171),
    "clock_adjtime": (305, 266),
    "sethostname": (170, 161),
    "setdomainname": (171, 162),
    # users, mounts, namespaces
    "setuid": (105, 146),
    "setgid": (106, 144),
    "setreuid": (113, 145),
    "setregid": (114, 143),
    "setresuid": (117, 147),
    "setresgid": (119, 149),
    "setfsuid": (122, 151),
    "setfsgid": (123, 152),
    "setgroups": (116, 159),
    "capset": (126, 91),
    "mount": (165, 40),
    "umount2": (166, 39),
    "pivot_root": (155, 41),
    "unshare": (272, 97),
    "setns": (308, 268),
}


def lock(confine: Callable[[], object] = lambda: None) -> tuple[str, ...]:
    """Lock this process and all that it forks; returns which of ``landlock`` and ``seccomp`` hold.

    What the process is to open has to be open by now. ``confine`` limits the process in between:
    Landlock needs a descriptor, and after seccomp no limit can be set.
    """
    libc = ctypes.CDLL(None, use_errno=True) if sys.platform == "linux" else None
    if libc is None or libc.prctl(_SET_NO_NEW_PRIVILEGES, 1, 0, 0, 0) != 0:
        confine()
        return ()
    landlock = _landlock(libc)
    confine()
    held = (("landlock", landlock), ("seccomp", _seccomp(libc)))
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
    machine = os.uname().machine
    if machine not in _MACHINES or sys.maxsize < 2**32:
        return False
    program = _filter(*_MACHINES[machine])
    code = ctypes.create_string_buffer(program)

    class Program(ctypes.Structure):
        _fields_ = (("length", ctypes.c_ushort), ("code", ctypes.c_void_p))

    given = Program(len(program) // _LINE.size, ctypes.cast(code, ctypes.c_void_p))
    return bool(libc.prctl(_SET_SECCOMP, _FILTER, ctypes.byref(given), 0, 0) == 0)


def _filter(mark: int, clone: int, column: int) -> bytes:
    """Assemble the filter: lines of operation, where to go if so and if not (empty: on), value."""
    refused = sorted(found for each in _REFUSED.values() if (found := each[column]) is not None)
    lines = [
        (_LOAD, "", "", _MACHINE_AT),
        (_IF_EQUAL, "", "refuse", mark),
        (_LOAD, "", "", _NUMBER_AT),
        (_IF_AT_LEAST, "refuse", "", _OTHER_NUMBERS),
        # Its flags are in memory, where they could change after a look.
        (_IF_EQUAL, "absent", "", _CLONE3),
        *((_IF_EQUAL, "allow", "", number) for number in _NEW_ALLOWED.values()),
        (_IF_AT_LEAST, "refuse", "", _NEW),
        *((_IF_EQUAL, "refuse", "", number) for number in refused),
        (_IF_EQUAL, "", "allow", clone),
        (_LOAD, "", "", _FIRST_AT),
        (_IF_ANY_OF, "refuse", "allow", _NAMESPACES),
    ]
    ends = {name: at for at, name in enumerate(_VERDICTS, len(lines))}

    def distance(name: str, at: int) -> int:
        return ends[name] - at - 1 if name else 0

    code = [
        _LINE.pack(operation, distance(so, at), distance(otherwise, at), value)
        for at, (operation, so, otherwise, value) in enumerate(lines)
    ]
    return b"".join([*code, *(_LINE.pack(_RETURN, 0, 0, said) for said in _VERDICTS.values())])
