"""``python -m conductor_py.cli`` runs the same commands as ``conductor-py``."""

from __future__ import annotations

from conductor_py.cli.entry import main

main()
