"""The command line: ``conductor-py <noun> <verb>``, one file a noun.

Data goes to standard output, everything else to standard error. Exit code 0: done; 1: it failed;
2: wrong usage or configuration, and nothing was done.
"""

from __future__ import annotations

from conductor_py.cli.entry import main

__all__ = ["main"]
