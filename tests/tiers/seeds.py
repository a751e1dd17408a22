"""The fast tests many times, each time under a seed drawn anew: what is red only sometimes shows.

python -m tests.tiers.seeds [RUNS]
"""

import secrets
import subprocess
import sys

from tests.tiers.drawn import HIGHEST


def main(runs: int) -> int:
    """Run them all, whatever fails meanwhile; 1 when a run was red."""
    red = []
    for _ in range(runs):
        seed = secrets.randbelow(HIGHEST)
        command = ("make", "--no-print-directory", "fast", f"SEED={seed}")
        if subprocess.run(command, check=False).returncode:
            red.append(seed)
            sys.stdout.write(f"red: make fast SEED={seed}\n")
            sys.stdout.flush()
    sys.stdout.write(f"{runs} runs, {len(red)} red\n")
    return int(bool(red))


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 6))
