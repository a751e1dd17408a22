"""``python -m tests.fuzz``: a server under hostile requests; ends with 1 when anything is wrong.

The seed is printed first. `--seed` repeats a run; `--first` and `--actor` a part of it.
"""

from __future__ import annotations

import argparse
import random
import signal
import sys
from pathlib import Path

import click

from tests.fuzz.report import line, write
from tests.fuzz.run import Plan, run


def main() -> int:
    """Read the command line and run."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument("--minutes", type=float, default=20)
    parser.add_argument("--seed", type=int, help="one that was printed; without it a new one")
    parser.add_argument("--first", type=int, default=0, help="the step to begin with")
    parser.add_argument("--actor", type=int, help="this one alone")
    parser.add_argument("--damage", action=argparse.BooleanOptionalAction, default=True)
    parser.add_argument(
        "--apart", action="store_true", help="a process for each part of the server"
    )
    parser.add_argument("--report", type=Path, help="write a page of the run into this file")
    parser.add_argument("--keep", action="store_true", help="keep the server's folder")
    given = parser.parse_args()
    seed = random.SystemRandom().randrange(2**32) if given.seed is None else given.seed
    plan = Plan(
        minutes=given.minutes,
        seed=seed,
        first=given.first,
        damage=given.damage,
        actor=given.actor,
        keep=given.keep,
        apart=given.apart,
    )
    click.echo(f"seed {seed}")
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that the server is ended
    outcome = run(plan, click.echo)
    for sentence in outcome.findings.wrong:
        click.echo(f"red: {sentence}")
    for kind, counts in sorted(outcome.findings.statuses.items()):
        slowest = outcome.findings.slowest[kind]
        told = f"slowest {slowest.seconds:.1f} s {slowest.what}"
        click.echo(f"{kind:12} {dict(sorted(counts.items()))}, {told}")
    if given.report:
        write(outcome, given.report)
    click.echo(line(outcome))
    return 1 if outcome.findings.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
