"""The outcome of a run as a table for people."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from tests.chaos.run import Outcome

_CLASSES = (
    ("lost", "acknowledged starts and results lost"),
    ("stuck", "stuck executions"),
    ("scheduled twice", "scheduled twice"),
    ("wrong", "ended otherwise than their input says"),
    ("children", "sub-workflows without their task, or the other way round"),
    ("effects", "events and posts with none or two consequences"),
    ("keys", "executions that share an idempotency key"),
    ("schedule", "instants of the schedule missed or fired twice"),
    ("search", "finished executions that no search finds"),
    ("left over", "keys in Redis when all has ended"),
    ("invariant", "violations of invariants, found by audits meanwhile"),
    ("refused", "errors that no client should see"),
)


def table(outcome: Outcome) -> str:
    """Write it as Markdown."""
    return "\n".join(f"| {name} | {value} |" for name, value in rows(outcome))


def rows(outcome: Outcome) -> Iterator[tuple[str, str]]:
    """List what is said of a run."""
    plan, seconds = outcome.plan, outcome.seconds
    given = f"FSYNC={plan.fsync} SECONDS={plan.seconds:.0f} SEED={plan.seed} SHAPE={plan.shape}"
    yield "", f"`{given}`"
    yield "---", "---"
    yield "executions started and acknowledged", f"{outcome.acknowledged:,}"
    yield "executions in all, with what they started", f"{outcome.executions:,}"
    yield "tasks", f"{outcome.tasks:,}"
    yield "executions a second, under fire", f"{outcome.executions / seconds:.1f}"
    yield "time with faults; until quiet", f"{seconds:.0f} s; {outcome.quiet_after_s:.0f} s"
    yield "kills -9", f"{outcome.kills}, one each {seconds / max(outcome.kills, 1):.2f} s"
    for what in sorted({what for what, _ in outcome.faults}):
        each = {role: count for (name, role), count in outcome.faults.items() if name == what}
        yield f"- {what}", ", ".join(f"{role} {count}" for role, count in sorted(each.items()))
    yield "whole audits meanwhile", f"{outcome.audits}, of {outcome.audited:,} executions"
    for name, sentence in _CLASSES:
        yield f"**{sentence}**", f"**{outcome.by_kind[name]}**"
    if plan.fsync != "always":
        yield (
            "bytes of the file lost with Redis",
            f"{sum(r.lost_bytes for r in outcome.restarts):,}",
        )
        yield "forgotten with them", _listed(outcome.forgotten)
    yield "runs of a worker's function", f"{outcome.runs:,}"
    yield "attempts given to another worker, as theirs was gone", f"{outcome.lost_attempts:,}"
    yield "seen by clients", _listed(outcome.client_counts)
    longest = max((ms for ms, _ in outcome.standstills), default=0)
    yield "longest standstill of an execution that does not wait", f"{longest / 1000:.1f} s"
    yield "processes that ended by themselves", _listed(outcome.ended_by_itself)
    bad = {name: code for name, code in outcome.exit_codes.items() if code}
    yield "exit codes other than 0 at the end", _listed(bad)


def _listed(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{name} {count}" for name, count in sorted(counts.items())) or "none"
