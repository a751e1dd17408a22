"""Run the benchmarks: what ``make bench`` calls.

The package ``benchmarks`` is found last: PYTHONPATH may name another tree whose engine is measured.
"""

from __future__ import annotations

import sys
from pathlib import Path

if __name__ == "__main__":
    sys.path.append(str(Path(__file__).resolve().parents[1]))
    from benchmarks.suite import main

    sys.exit(main())
