"""Becomes the driver JVM, and binds its life to the worker's.

Run as a script between the worker and Spark's launcher: asks the kernel to kill this process when
its parent dies (Linux keeps that wish across ``exec``), ignores the terminal's interrupt (the
worker drains first), then becomes the command in its arguments. Elsewhere than on Linux the JVM
still ends when its standard input closes.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys

_PR_SET_PDEATHSIG = 1
_LOST_PARENT = 3


def main() -> None:
    """Bind this process to the parent named first, then become the rest of the arguments."""
    parent = int(sys.argv[1])
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if sys.platform == "linux":
        ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:  # it died before the wish was made
        sys.exit(_LOST_PARENT)
    os.execvp(sys.argv[2], sys.argv[2:])  # noqa: S606 - becoming that command is this script's purpose


if __name__ == "__main__":
    main()
