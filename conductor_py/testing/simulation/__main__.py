"""``python -m conductor_py.testing.simulation --seeds 200``: see ``runner``."""

from __future__ import annotations

import sys

from conductor_py.testing.simulation.runner import main

if __name__ == "__main__":
    sys.exit(main())
