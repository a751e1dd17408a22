"""Causes: why an execution is not moving, each with a stable code, what it means and what to do.

``docs/how-to/why.md`` is checked against this table. The order is that of urgency: of several
causes the first one here is the headline.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Final

from conductor_py.model.execution import Attempt
from conductor_py.model.ids import ExecutionId, task_id
from conductor_py.model.json import JsonObject, JsonValue
from conductor_py.model.places import wire_ref
from conductor_py.records import dataclass, field


@dataclass(frozen=True, slots=True)
class Advice:
    """What a code means in general, and what to do about it."""

    meaning: str
    advice: str


_DECIDE: Final = "Wait: it is tried again by itself. PUT /api/workflow/decide/ID tries at once."
_NOTHING: Final = "Nothing: it goes on by itself."

CAUSES: Final[Mapping[str, Advice]] = MappingProxyType(
    {
        "quarantined": Advice(
            "Deciding on it has failed so often that it is in quarantine",
            "Read the reason, mend what it names, then: conductor-py quarantine retry ID. It can "
            "be terminated as well.",
        ),
        "unknown-format": Advice(
            "It is damaged, or was stored by another version of this software",
            "Run the version that stored it, or a newer one. If it is damaged, conductor-py audit "
            "--execution ID says what. Bring Redis back from a copy that has it, or give it up: "
            "conductor-py quarantine drop, by the name that conductor-py quarantine list has.",
        ),
        "plan-lost": Advice(
            "The definition that it was started with is not in the store",
            "Bring Redis back from a copy that has it, or terminate the execution.",
        ),
        "broken": Advice(
            "Nothing in the store would wake it: an invariant is broken",
            "conductor-py audit --execution ID says which. PUT /api/workflow/decide/ID may bring "
            "it on. Please report it.",
        ),
        "failing": Advice("Deciding on it fails and is tried again", _DECIDE),
        "store-clock": Advice(
            "The clock of the store was set back: deadlines come later by as much",
            "Keep the clocks of Redis servers in step (NTP); it catches up by itself.",
        ),
        "store-full": Advice(
            "The store holds as much as it may: what adds to it waits until something has left it",
            "Let Redis have more (CONFIG SET maxmemory, conductor.embedded.redis.maxMemory), or "
            "terminate and remove what need not be there.",
        ),
        "no-sweeper": Advice(
            "Something is overdue and nobody fires the timers",
            "Start a sweeper (conductor-py sweeper, or a server with conductor.app.sweeper.enabled"
            "=true), or see why those that run are slow.",
        ),
        "paused": Advice("It is paused", "conductor-py workflow resume ID"),
        "shard-unserved": Advice(
            "Its queue belongs to a shard that no live server serves",
            "Start the server of that shard, or wait: another one takes it over within "
            "conductor.redis.shardLease.",
        ),
        "effect-stuck": Advice(
            "An effect that it depends on is not carried out",
            "Start an effects worker (conductor-py effects), and look for errors in its log.",
        ),
        "archive-pending": Advice(
            "It has ended and waits to be archived",
            "Start an effects worker (conductor-py effects), and see that the index answers.",
        ),
        "no-system-worker": Advice(
            "Its queue is that of a system task, and no system-task worker asks for it",
            "Start one (conductor-py system-worker), with the isolation group or namespace of the "
            "task if it has one.",
        ),
        "worker-in-other-domain": Advice(
            "Workers of this type ask in other domains only",
            "Start a worker in that domain, or start executions with another taskToDomain.",
        ),
        "worker-in-other-group": Advice(
            "Workers of this type ask for other isolation groups or namespaces only",
            "Start a worker for that group: conductor.systemTasks.isolationGroups.",
        ),
        "no-worker-ever": Advice(
            "No worker has ever asked for tasks of this type",
            "Start a worker for it; check the spelling of the task type.",
        ),
        "no-worker-since": Advice(
            "The workers of this type have stopped asking",
            "Start a worker for it, or see whether those that run are all busy.",
        ),
        "worker-elsewhere": Advice(
            "Workers of this type ask, but not at the server that serves its shard",
            "Point workers at every server, or use the sharding strategy roundRobin.",
        ),
        "worker-lost": Advice(
            "Its worker's claim has ended; it is offered again in a moment",
            "Nothing, if that happens now and then; else see why workers die.",
        ),
        "worker-silent": Advice(
            "Its worker has not extended its claim and is probably gone",
            "Nothing: it is offered again when the claim ends.",
        ),
        "workflow-rate-limit": Advice(
            "It waits for its turn under the rate limit of its workflow",
            "Wait for those before it to end, or raise rateLimitConfig.concurrentExecLimit.",
        ),
        "concurrency-limit": Advice(
            "As many tasks of this definition are being worked on as its limit allows",
            "Wait for one of them, or raise concurrentExecLimit of the task definition.",
        ),
        "rate-limit": Advice(
            "As many tasks of this definition were handed out in this window as may be",
            "Wait for the window to end, or raise rateLimitPerFrequency of the task definition.",
        ),
        "workers-busy": Advice(
            "Its workers are there, and every slot of theirs is taken",
            "Wait for one of their tasks to end, or start more workers.",
        ),
        "human": Advice(
            "A HUMAN task waits for somebody",
            "Complete it: conductor-py task report ID REF, or the page of the execution.",
        ),
        "wait-signal": Advice(
            "A WAIT task without an end waits for a signal",
            "Signal it: conductor-py workflow signal ID",
        ),
        "external": Advice(
            "A task waits for a result from outside (asyncComplete)",
            "Whoever was set going is to report the result of this task.",
        ),
        "messages": Advice(
            "A task waits for a message to the execution",
            "Send one: conductor-py workflow message ID",
        ),
        "start-order": Advice(
            "A task waits for the start, under its idempotency key, of an execution",
            "Nothing, if it began a moment ago; else start an effects worker.",
        ),
        "retry-delay": Advice("A task has failed and is tried again later", _NOTHING),
        "callback": Advice(
            "A worker put its task off",
            "Nothing; POST /api/workflow/ID/resetcallbacks offers it at once.",
        ),
        "start-delay": Advice("A task waits for its start delay", _NOTHING),
        "wait-timer": Advice("A WAIT task waits for its time", _NOTHING),
        "script": Advice(
            "A script that takes long is being evaluated, or waits for that", _NOTHING
        ),
        "queued": Advice("A task waits in its queue and workers ask for it", _NOTHING),
        "running": Advice(
            "A worker has the task",
            "Wait, or look at the log of the task."
            " If that worker is dead: conductor-py task requeue TASK",
        ),
        "resuming": Advice("A task is on its way back into its queue", _NOTHING),
        "deciding": Advice("Somebody is deciding on it just now", _NOTHING),
        "inbox": Advice("Something has happened and is about to be decided", _NOTHING),
        "draining": Advice("It has ended and is being cleaned up", _NOTHING),
        "sub-workflow": Advice("A task waits for its sub-workflow", "Ask why that one waits."),
        "loop": Advice("A loop waits for the tasks in it", "See the other causes."),
        "join": Advice("A JOIN waits for tasks before it", "See the other causes."),
        "finished": Advice("It has ended", "Nothing; retry, rerun or restart it if it failed."),
        "archived": Advice("It has ended and is in the archive", "Nothing."),
    }
)

_NAMED: Final = re.compile(r"\b(ID|REF|TASK)\b")
_RANK: Final = {code: number for number, code in enumerate(CAUSES)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Cause:
    """One cause: of which execution and task, since and until when (epoch ms, 0: not known), and
    what shows it. ``child`` is the execution whose causes are these as well.
    """

    code: str
    sentence: str
    execution: str
    task: str = ""
    ref: str = ""
    since_ms: int = 0
    until_ms: int = 0
    evidence: Mapping[str, JsonValue] = field(default_factory=lambda: MappingProxyType({}))
    child: str = ""

    @property
    def rank(self) -> int:
        """Its urgency: the lowest is the headline."""
        return _RANK[self.code]


def cause_to_json(cause: Cause) -> JsonObject:
    """Write a cause for people and programs."""
    named = {"ID": cause.execution, "REF": cause.ref or "REF", "TASK": cause.task or "TASK"}
    written: dict[str, JsonValue] = {
        "code": cause.code,
        "sentence": cause.sentence,
        "advice": _NAMED.sub(lambda found: named[found[0]], CAUSES[cause.code].advice),
        "workflowId": cause.execution,
    }
    more: dict[str, JsonValue] = {
        "taskId": cause.task,
        "referenceTaskName": cause.ref,
        "since": cause.since_ms,
        "until": cause.until_ms,
        "subWorkflowId": cause.child,
        "evidence": dict(cause.evidence),
    }
    return {**written, **{name: value for name, value in more.items() if value}}


def about_task(
    execution: str,
    code: str,
    attempt: Attempt,
    text: str,
    *,
    since_ms: int = 0,
    until_ms: int = 0,
    evidence: Mapping[str, JsonValue] = MappingProxyType({}),
    child: str = "",
) -> Cause:
    """Make a cause of one task; ``text`` goes on with the sentence behind its name."""
    ref = wire_ref(attempt.ref, attempt.vector)
    return Cause(
        code=code,
        sentence=f"{attempt.type} task {ref} {text}.",
        execution=execution,
        task=task_id(ExecutionId(execution), attempt.seq),
        ref=ref,
        since_ms=since_ms or attempt.started_at or attempt.scheduled_at,
        until_ms=until_ms,
        evidence=evidence,
        child=child,
    )


def span(ms: int) -> str:
    """Write a length of time in its largest fitting unit."""
    for unit, size in (("d", 86_400_000), ("h", 3_600_000), ("min", 60_000)):
        if ms >= 2 * size:
            return f"{ms // size} {unit}"
    return f"{ms // 1000} s"


def instant(ms: int) -> str:
    """Write an instant (epoch ms) for people, in UTC."""
    try:
        return f"{datetime.fromtimestamp(ms / 1000, UTC):%Y-%m-%d %H:%M:%S}Z"
    except (ValueError, OverflowError, OSError):
        return f"{ms} ms"  # outside the calendar


def counted(number: int, noun: str) -> str:
    """Write a number of things whose plural ends in an s."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"
