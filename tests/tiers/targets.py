"""The targets of `make test-all`: one after the other, or some by name, a line of result each.

    python -m tests.tiers.targets            those that did not run on these sources, and the report
    python -m tests.tiers.targets --again    all of them, and the report
    python -m tests.tiers.targets NAME ...   these, with what they print
    python -m tests.tiers.targets --report   the report of each target's last run

A target is a program of its own. Its exit status is the verdict and the last line that it prints is
its figure. Seeds are drawn anew in every run, printed, and kept in the report. What a target prints
is kept in a file; its result is kept in one that is committed, as hours of work are not done in one
piece, nor on one machine: who is interrupted goes on where it was. A verdict stands as long as the
sources do, a red one too.
"""

import hashlib
import json
import os
import platform
import re
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from tests.services.absence import demanded

ROOT: Final = Path(__file__).parents[2]
REPORT: Final = ROOT / "docs/reference/test-report.md"
LOGS: Final = ROOT / ".test-all"
KEPT: Final = ROOT / "docs/reference/test-results"
_WRONG = re.compile(r"^(?:FAILED|ERROR) (?:\S+\.py\S*|seed \d+:).*|^red: .*", re.MULTILINE)
_SEED = re.compile(r"^seed (\d+)$", re.MULTILINE)
_RULES = re.compile(r"^=+ | =+$")
_MOST_REASONS = 12
_LONGEST_REASON = 160
# What targets write themselves is no change of what the next ones run.
_WRITTEN = (
    *("test-results", "test-report.md", "benchmarks.md", "benchmarks-spark.json"),
    *("benchmarks-spark.md", "chaos-spark.md", "fuzz.md", "mutants.md"),
    # Measured for hours, by programs that are no targets.
    *("benchmarks-scale.md", "benchmarks-lean.md", "benchmarks-peers.md"),
)
_SOURCES: Final = ("--", ".", *(f":(exclude)docs/reference/{page}" for page in _WRITTEN))


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """One of the programs: what it shows, and how it is run in the root of the repository."""

    name: str
    shows: str
    command: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """How a target ended: on which commit and day, with which figure.

    `reasons` are the lines that say what is wrong; `seed` may be empty. `sources` stands for all
    files that it ran on but the pages that targets write; empty when they were no commit's.
    """

    target: Target
    commit: str
    sources: str
    date: str
    status: int
    figure: str
    seconds: int
    seed: str
    reasons: tuple[str, ...]

    @property
    def verdict(self) -> str:
        """In a word."""
        return "red" if self.status else "green"


_DRAWN = "tests.tiers.drawn"
_MARKER = "thorough(target='{}')"


def _thorough(name: str, shows: str, *options: str) -> Target:
    """The tests that are marked with the target."""
    command = ("-m", _DRAWN, "-m", _MARKER.format(name), *options)
    return Target(name=name, shows=shows, command=(sys.executable, *command))


def _program(name: str, shows: str, *command: str) -> Target:
    return Target(name=name, shows=shows, command=(sys.executable, *command))


_DIVIDED = ("-n", "2", "--dist", "loadgroup")
TARGETS: Final = (
    _program(
        "seeds",
        "the fast tests in 6 new orders, with new examples each time",
        *("-m", "tests.tiers.seeds", "6"),
    ),
    _thorough("versions", "every version of every real server, every client library", *_DIVIDED),
    _thorough("histories", "many random histories of executions, servers and stores", *_DIVIDED),
    _thorough("fuzz", "hostile and random requests at length", *_DIVIDED),
    _thorough("docs", "the examples of the documentation", *_DIVIDED),
    _thorough("pages", "the pages in a real browser", *_DIVIDED),
    _thorough("stories", "whole deployments of real processes, with kills"),
    Target(
        name="stories-apart",
        shows="the stories that run on one shape by themselves, on servers of a process each",
        command=(
            *("env", "SHAPE=apart", sys.executable, "-m", _DRAWN),
            *("-m", f"acceptance and not {_MARKER.format('timing')}"),
            *("tests/acceptance", "tests/official_sdks"),
        ),
    ),
    _thorough("pipelines", "data pipelines on Spark, and their connectors on real systems"),
    _thorough("timing", "what is true of a quiet machine only: seconds that are promised"),
    _thorough("simulation", "what the simulator finds, shrinks and repeats", *_DIVIDED),
    _program(
        "simulate",
        "1,000 simulated deployments with faults",
        *("-m", "conductor_py.testing.simulation", "--seeds", "1000", "--from", "0"),
    ),
    _program("mutants", "planted bugs, each caught", "-m", "tests.mutants", "--jobs", "2"),
    _program(
        "chaos",
        "processes and Redis killed under load for five minutes, and nothing lost or done twice",
        *("-m", "tests.chaos", "--seconds", "300", "--fsync", "always", "--shape", "server"),
    ),
    _program(
        "chaos-apart",
        "the same on servers of a process each",
        *("-m", "tests.chaos", "--seconds", "300", "--fsync", "always", "--shape", "apart"),
    ),
    _program(
        "chaos-spark",
        "an hour of strikes at the fault points of data pipelines: the rows not known for the code",
        *("-m", "tests.workers.pipelines.chaos", "--go-on", "--minutes", "60"),
    ),
    _program(
        "soak",
        "15 minutes of half load: memory does not grow, queues are empty at the end",
        *("-m", "tests.chaos.soak", "--minutes", "15"),
    ),
    _program(
        "fuzz-server",
        "20 minutes of hostile requests to a real server; figures in fuzz.md",
        *("-m", "tests.fuzz", "--minutes", "20", "--report", "docs/reference/fuzz.md"),
    ),
    _program(
        "bench", "speed, as ratios within one run; figures in benchmarks.md", "benchmarks/run.py"
    ),
    _program(
        "bench-spark",
        "speed of Spark workers; figures in benchmarks-spark.md",
        "benchmarks/spark_run.py",
    ),
)
MARKED: Final = frozenset(
    target.name for target in TARGETS if _MARKER.format(target.name) in target.command
)
"""The targets that a test may name by its marker."""


_DEMANDING: Final = {"CI": "true"}
"""A target that skips what it is there to show has shown nothing: what is missing is a failure."""
_NARROWING: Final = "PYTEST_ADDOPTS"
"""Not passed on: a target is run whole."""


def carry_out(target: Target, *, shown: bool) -> Result:
    """Run one target to its end; its output goes to its file, and to the terminal if `shown`."""
    began, date = time.monotonic(), datetime.now(UTC).date().isoformat()
    commit, sources = _commit(), _sources()
    LOGS.mkdir(exist_ok=True)
    log = LOGS / target.name
    environment = {**_DEMANDING, **os.environ, "PYTHONUNBUFFERED": "1"}
    environment.pop(_NARROWING, None)
    with (
        log.open("w") as kept,
        subprocess.Popen(
            target.command,
            cwd=ROOT,
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
        ) as process,
    ):
        assert process.stdout is not None
        for line in process.stdout:
            kept.write(line)
            if shown:
                sys.stdout.write(line)
                sys.stdout.flush()
    text = log.read_text()
    seed = _SEED.search(text)
    # One that was killed, or did not demand all that it needs, or whose sources were edited under
    # it, has run: what it says is kept, and is said of no sources.
    if process.returncode < 0 or not demanded(environment) or _sources() != sources:
        sources = ""
    return Result(
        target=target,
        commit=commit,
        sources=sources,
        date=date,
        status=process.returncode,
        figure=_RULES.sub("", text.rstrip().rpartition("\n")[2]),
        seconds=round(time.monotonic() - began),
        seed=seed[1] if seed else "",
        reasons=tuple(dict.fromkeys(_WRONG.findall(text))),
    )


def keep(result: Result) -> None:
    """Keep a result in place of the last one of its target. That this was red on the same sources
    is not forgotten for a run that had more luck.
    """
    last = kept(result.target)
    if last is not None and last.status and stands(last, result.sources) and not result.status:
        seed = f" (seed {last.seed})" if last.seed else ""
        result = replace(result, reasons=(f"red before{seed}: {last.figure}", *last.reasons))
    fields = asdict(result)
    del fields["target"]
    KEPT.mkdir(parents=True, exist_ok=True)
    file = KEPT / f"{result.target.name}.json"
    beside = file.with_suffix(".new")
    beside.write_text(json.dumps(fields, indent=1) + "\n")
    beside.replace(file)


def kept(target: Target) -> Result | None:
    """How the target ended when it last ran; None if it never did."""
    try:
        result = json.loads((KEPT / f"{target.name}.json").read_text())
    except FileNotFoundError:
        return None
    return Result(target=target, **result | {"reasons": tuple(result["reasons"])})


def stands(result: Result | None, sources: str) -> bool:
    """Whether the target need not run again on these sources, as it has ended on them."""
    return result is not None and result.sources == sources != ""


def line_of(result: Result) -> str:
    """What the terminal says of a target."""
    return f"{result.target.name:10} {result.verdict:5} {result.seconds:5} s  {result.figure}\n"


def report(results: Sequence[Result], sources: str, missing: Sequence[Target] = ()) -> str:
    """The page: what each target said when it last ran, how many of them on these sources, and
    which were not run.
    """
    return "".join(_page(results, sources, missing))


def _page(results: Sequence[Result], sources: str, missing: Sequence[Target]) -> Iterator[str]:
    here = [result for result in results if stands(result, sources)]
    yield "# Report of `make test-all`\n\n"
    yield "What each target said when it last ran: by `make test-all` or `make test-report`.\n"
    yield f"{len(here)} of {len(results) + len(missing)} ran on the sources of this report.\n"
    yield "What they are: [testing](../explanation/testing.md).\n\n"
    yield f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores, "
    yield f"Python {platform.python_version()}.\n\n"
    yield "| target | shows | verdict | figure | seconds | seed | commit | date |\n"
    yield "|---|---|---|---|---:|---:|---|---|\n"
    for result in results:
        target = result.target
        yield f"| `{target.name}` | {target.shows} | {result.verdict} | {_cell(result.figure)} "
        yield f"| {result.seconds} | {result.seed} | {result.commit} | {result.date} |\n"
    for target in missing:
        yield f"| `{target.name}` | {target.shows} | not run | | | | | |\n"
    for result in results:
        if result.reasons or result.status:
            yield f"\n## What is not green in `{result.target.name}`\n\n"
            yield from (
                f"- `{each[:_LONGEST_REASON]}`\n" for each in result.reasons[:_MOST_REASONS]
            )
            if len(result.reasons) > _MOST_REASONS:
                yield f"- and {len(result.reasons) - _MOST_REASONS} more\n"
            if not result.reasons:
                yield f"- it ended with {result.status}: {result.figure}\n"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def _said(*command: str) -> str:
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    return done.stdout.strip()


def _is_changed() -> bool:
    return bool(_said("git", "status", "--porcelain", "--untracked-files=all", *_SOURCES))


def _commit() -> str:
    return _said("git", "rev-parse", "--short", "HEAD") + (" with changes" if _is_changed() else "")


def _sources() -> str:
    if _is_changed():
        return ""
    files = _said("git", "ls-files", "--stage", *_SOURCES)
    return hashlib.sha256(files.encode()).hexdigest()[:12] if files else ""


def write_report() -> None:
    """Write the page from the kept results."""
    last = [kept(target) for target in TARGETS]
    missing = [target for target, result in zip(TARGETS, last, strict=True) if result is None]
    REPORT.write_text(report([each for each in last if each is not None], _sources(), missing))


def main(names: Sequence[str]) -> int:
    """Run the named targets, or all and write the report; 1 when one of them is red."""
    if list(names) == ["--report"]:
        write_report()
        return 0
    if not names or list(names) == ["--again"]:
        return _run_all(again=bool(names))
    known = {target.name: target for target in TARGETS}
    if unknown := [name for name in names if name not in known]:
        sys.stderr.write(f"no such target: {', '.join(unknown)}; there are {', '.join(known)}\n")
        return 2
    results = [_run(known[name], shown=True) for name in names]
    return int(any(result.status for result in results))


def _run_all(*, again: bool) -> int:
    """Run what has not ended on these sources, or everything `again`."""
    results = []
    for target in TARGETS:
        last = kept(target)
        if last is not None and stands(last, _sources()) and not again:
            sys.stdout.write(f"{line_of(last).rstrip()}  (stands: same sources)\n")
        else:
            last = _run(target, shown=False)
            write_report()  # what comes after it may be cut off
        results.append(last)
    write_report()
    return int(any(result.status for result in results))


def _run(target: Target, *, shown: bool) -> Result:
    result = carry_out(target, shown=shown)
    keep(result)
    sys.stdout.write(line_of(result))
    sys.stdout.flush()
    return result


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
