"""Runs in a bare process: imports modules and reports what the imports did beside that.

Usage: import_probe.py [--afresh] MODULE..., with the source roots on PYTHONPATH; with --afresh each
is imported as if it were the first. Prints one line a fault.
"""

import importlib
import os
import sys
import threading
from types import FrameType

_REFUSED = {
    *("os.mkdir", "os.remove", "os.rename", "os.fork", "os.system", "shutil.rmtree"),
    *("socket.bind", "socket.connect", "socket.getaddrinfo", "subprocess.Popen", "sqlite3.connect"),
    *("tempfile.mkstemp", "tempfile.mkdtemp", "signal.pthread_kill"),
}
_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_APPEND
_OURS = ("conductor_py", "conductor_workers")

faults: list[str] = []
importing = ""


def _watch(event: str, args: tuple[object, ...]) -> None:
    if not importing:
        return
    if event in _REFUSED and not (event == "socket.bind" and _in_urllib3()):
        faults.append(f"importing {importing}: {event} {str(args)[:80]}")
    elif event == "open" and isinstance(args[2], int) and args[2] & _WRITING:
        faults.append(f"importing {importing}: opens {args[0]} to write")


def _in_urllib3() -> bool:
    """It looks whether the machine has IPv6, by a port that it gives back at once."""
    frame: FrameType | None = sys._getframe(2)
    while frame is not None and str(frame.f_globals.get("__name__")).split(".")[0] != "urllib3":
        frame = frame.f_back
    return frame is not None


class _WatchedEnvironment(type(os.environ)):  # type: ignore[misc]
    """Tells when one of our modules reads the environment; libraries may."""

    def __getitem__(self, name: str) -> str:
        frame: FrameType | None = sys._getframe(1)
        while frame is not None and frame.f_globals.get("__name__") in {"os", "collections.abc"}:
            frame = frame.f_back
        caller = str(frame.f_globals.get("__name__")) if frame is not None else ""
        if importing and caller.split(".")[0] in _OURS:
            faults.append(f"importing {importing}: {caller} reads ${name}")
        return str(super().__getitem__(name))


def main(modules: list[str], *, afresh: bool) -> int:
    global importing  # noqa: PLW0603 - the audit hook takes no argument of ours
    os.environ.__class__ = _WatchedEnvironment
    sys.addaudithook(_watch)
    for name in modules:
        for loaded in [m for m in sys.modules if afresh and m.split(".")[0] in _OURS]:
            del sys.modules[loaded]
        importing = name
        try:
            importlib.import_module(name)
        except BaseException as error:  # noqa: BLE001 - every fault of every module is reported
            faults.append(f"importing {name}: {type(error).__name__}: {error}")
        importing = ""
        if threading.active_count() > 1:
            faults.append(f"importing {name}: starts a thread")
    print("\n".join(dict.fromkeys(faults)))  # noqa: T201 - the report
    return 0


if __name__ == "__main__":
    names = [name for name in sys.argv[1:] if name != "--afresh"]
    sys.exit(main(names, afresh="--afresh" in sys.argv))
