"""``python -m tests.chaos``: run it, print the table, end with 1 when anything is wrong."""

from __future__ import annotations

import argparse
import signal
import sys

import click

from tests.chaos.deployment import SHAPES
from tests.chaos.faults import FAULTS
from tests.chaos.run import Plan, run
from tests.chaos.table import table

_SHOWN = 30


def main() -> int:
    """Read the command line and run."""
    parser = argparse.ArgumentParser(prog="python -m tests.chaos", description=__doc__)
    parser.add_argument("--seconds", type=float, default=300, help="how long things go wrong")
    parser.add_argument("--per-second", type=float, default=18, help="executions started a second")
    parser.add_argument("--every", type=float, default=0.7, help="seconds between two faults")
    parser.add_argument("--fsync", choices=("always", "everysec"), default="always")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", nargs="*", default=(), choices=FAULTS, help="these faults alone")
    parser.add_argument("--quiet", type=float, default=120, help="seconds to wait for quiet")
    parser.add_argument(
        "--shape", choices=SHAPES, default="server", help="server: all parts in one process"
    )
    given = parser.parse_args()
    plan = Plan(
        seconds=given.seconds,
        per_s=given.per_second,
        fault_every_s=given.every,
        fsync=given.fsync,
        seed=given.seed,
        quiet_s=given.quiet,
        only=tuple(given.only),
        shape=given.shape,
    )
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that the deployment is ended
    outcome = run(plan, click.echo, keep=True)
    for violation in outcome.violations[:_SHOWN]:
        click.echo(f"red: {violation.kind}: {violation.execution} {violation.sentence}")
    if len(outcome.violations) > _SHOWN:
        click.echo(f"… and {len(outcome.violations) - _SHOWN} more")
    for line, count in list(outcome.logged.items())[:_SHOWN]:
        click.echo(f"logged {count}: {line}")
    for milliseconds, where in outcome.standstills:
        click.echo(f"stood still {milliseconds / 1000:.1f} s: {where}")
    click.echo(table(outcome))
    click.echo(
        f"{outcome.acknowledged:,} executions, {outcome.kills} kills -9, "
        f"{len(outcome.violations)} violations"
    )
    return 1 if outcome.violations else 0


if __name__ == "__main__":
    sys.exit(main())
