"""Run tests in a new order with new examples: the seed is drawn and printed, or given.

    [SEED=N] python -m tests.tiers.drawn [options of pytest]

`make test` has one fixed seed instead. A failure is repeated by giving the seed that was printed.
"""

import os
import secrets
import subprocess
import sys
from collections.abc import Sequence
from typing import Final

HIGHEST: Final = 2**32 - 1


def run(options: Sequence[str], seed: int) -> int:
    """The exit status of pytest under that seed: order of tests, examples, order of sets."""
    chosen = (f"--randomly-seed={seed}", f"--hypothesis-seed={seed}")
    return subprocess.run(
        (sys.executable, "-m", "pytest", "-q", *chosen, *options),
        env=os.environ | {"PYTHONHASHSEED": str(seed)},
        check=False,
    ).returncode


def main(options: Sequence[str]) -> int:
    """Run the tests that the options select under the given seed, or one drawn now."""
    seed = int(os.environ.get("SEED") or secrets.randbelow(HIGHEST))
    sys.stdout.write(f"seed {seed}\n")
    sys.stdout.flush()
    return run(options, seed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
