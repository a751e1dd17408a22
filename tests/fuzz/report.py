"""What a run came to, as a page."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from tests.fuzz.findings import LEAST_ACCEPTED, LONGEST_S, Slowest
from tests.fuzz.run import MOST_GROWTH_MB, SETTLED_REDIS_MB, Outcome
from tests.fuzz.watching import CANARY_S, HEALTH_S, MOST_MB

ROOT: Final = Path(__file__).parents[2]


def line(outcome: Outcome) -> str:
    """All of it in one line."""
    findings = outcome.findings
    requests = sum(counts.total() for counts in findings.statuses.values())
    return (
        f"{requests:,} requests in {outcome.steps:,} steps, seed {outcome.plan.seed}: "
        f"{len(findings.wrong)} things wrong, {outcome.highest_mb:.0f} MB at most"
    )


def page(outcome: Outcome, date: str, commit: str) -> str:
    """The page."""
    return "\n".join(_page(outcome, date, commit)) + "\n"


def _page(outcome: Outcome, date: str, commit: str) -> Iterator[str]:
    plan, findings = outcome.plan, outcome.findings
    yield "# Fuzz\n"
    yield "What a real server answered to hostile requests, and how it was meanwhile: the last"
    yield "run of `make fuzz`. What is sent and checked: [testing](../explanation/testing.md#fuzz)."
    yield ""
    asked = f"make fuzz MINUTES={plan.minutes:g} SEED={plan.seed}{' SHAPE=apart' * plan.apart}"
    machine = f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores"
    yield f"`{asked}`, {date}, commit {commit}; {machine}, Python {platform.python_version()}.\n"
    yield "| | here | bound |\n|---|---:|---:|"
    yield f"| things wrong | {len(findings.wrong)} | 0 |"
    yield f"| steps | {outcome.steps:,} | |"
    yield f"| answers of 503, with `Retry-After` | {findings.refused_share:.2%} | 20 % |"
    least, kind = findings.least_accepted()
    yield (
        f"| accepted of the kind that is refused most ({kind}) | {least:.0%} | "
        f"at least {LEAST_ACCEPTED:.0%} |"
    )
    slowest = max(findings.slowest.values(), key=lambda each: each.seconds)
    yield f"| slowest answer | {_seconds(slowest)} | {LONGEST_S:.0f} s |"
    health = findings.slowest_health
    yield f"| slowest `GET /health` beside it | {_seconds(health)} | {HEALTH_S:.0f} s |"
    yield (
        f"| slowest of {findings.canaries} executions of somebody else | "
        f"{_seconds(findings.slowest_canary)} | {CANARY_S:.0f} s |"
    )
    yield f"| memory of all processes, at most | {outcome.highest_mb:.0f} MB | {MOST_MB:,} MB |"
    yield f"| the same, before | {outcome.first_mb:.0f} MB | |"
    growth = f"{outcome.growth_mb:+.0f} MB"
    yield f"| the same, from the middle third to the last | {growth} | {MOST_GROWTH_MB} MB |"
    yield f"| the same, when all was removed | {outcome.settled_mb:.0f} MB | |"
    yield (
        f"| memory of Redis, when all was removed | {outcome.settled_redis_mb:.0f} MB | "
        f"{SETTLED_REDIS_MB} MB |"
    )
    damages = sum(outcome.damages.values())
    yield f"| stored entries damaged in the last tenth | {damages} | |\n"
    yield "| requests | number | statuses | slowest |\n|---|---:|---|---|"
    for kind, counts in sorted(findings.statuses.items()):
        shown = ", ".join(f"{status or 'none'}: {n:,}" for status, n in sorted(counts.items()))
        yield f"| {kind} | {counts.total():,} | {shown} | {_seconds(findings.slowest[kind])} |"
    yield "\n`none` is no answer: half requests, other protocols, clients that left."
    kinds = ", ".join(f"`{kind}` {count}" for kind, count in sorted(outcome.leftovers.items()))
    yield f"\nKeys that were left when all was removed, {outcome.settled_keys}: {kinds}."


def _seconds(slowest: Slowest) -> str:
    return f"{slowest.seconds:.1f} s" + (f" (`{slowest.what}`)" if slowest.what else "")


def write(outcome: Outcome, file: Path) -> None:
    """Write the page."""
    asked = ("git", "describe", "--always", "--dirty", "--exclude", "*")
    done = subprocess.run(asked, cwd=ROOT, capture_output=True, text=True, check=False)
    file.write_text(page(outcome, datetime.now(UTC).date().isoformat(), done.stdout.strip()))
    sys.stdout.write(f"written: {file}\n")
