"""``python -m conductor_py.cli``."""

from __future__ import annotations

from conductor_py.cli.entry import main

main()
