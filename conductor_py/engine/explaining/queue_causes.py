"""Why a task stands in its queue: shards, limits, and who asks for it. Pure."""

from __future__ import annotations

from functools import partial

from conductor_py.engine.explaining.causes import Cause, about_task, counted, span
from conductor_py.engine.explaining.facts import Facts, QueueFacts
from conductor_py.model.execution import Attempt
from conductor_py.model.json import JsonValue
from conductor_py.wire.task_rules import RULES


def cause_in_queue(all_facts: Facts, attempt: Attempt) -> Cause:
    """Why a task that is ready in its queue is not taken."""
    now, about = all_facts.look.now_ms, partial(about_task, all_facts.look.execution)
    facts = all_facts.queues.get(attempt.seq, QueueFacts(base=attempt.queue))
    since = attempt.queued_since
    evidence: dict[str, JsonValue] = {"queue": attempt.queue, "shard": attempt.shard}
    if attempt.shard not in all_facts.live:
        text = f"is in shard {attempt.shard} of its queue, which no server serves"
        return about("shard-unserved", attempt, text, since_ms=since, evidence=evidence)
    limited = _limited(all_facts, attempt, facts)
    if limited is not None:
        return limited
    mine = [
        poll for poll in facts.polls if (poll.queue, poll.domain) == (facts.base, attempt.domain)
    ]
    last = max((poll.at_ms for poll in mine), default=0)
    evidence["entries"] = facts.entries
    if last > now - all_facts.active_ms:
        workers: list[JsonValue] = [poll.worker for poll in mine]
        evidence |= {"workers": workers, "lastPoll": last}
        asked = max((poll.shards.get(attempt.shard, 0) for poll in mine), default=0)
        long_ago = now - all_facts.active_ms
        if all_facts.local_only and asked <= long_ago and since < long_ago:
            evidence["lastPollOfShard"] = asked
            its = f"not its server for {span(now - asked)}" if asked else "never its server"
            text = f"is in shard {attempt.shard}; workers ask, but {its}"
            since = asked or since
            return about("worker-elsewhere", attempt, text, since_ms=since, evidence=evidence)
        text = f"is in queue {attempt.queue}, which has {facts.entries} waiting"
        return about("queued", attempt, text, since_ms=since, evidence=evidence)
    return _unasked(all_facts, attempt, facts, last, evidence)


def _limited(all_facts: Facts, attempt: Attempt, facts: QueueFacts) -> Cause | None:
    now, about = all_facts.look.now_ms, partial(about_task, all_facts.look.execution)
    held = [member for member, until in facts.holders if until > now]
    if 0 < facts.limit <= len(held):
        text = f"waits for a slot of {attempt.definition}, which has {counted(facts.limit, 'slot')}"
        listed: list[JsonValue] = list(held[:20])
        return about(
            "concurrency-limit",
            attempt,
            text,
            until_ms=min(until for _, until in facts.holders if until > now),
            evidence={"limit": facts.limit, "heldBy": listed},
        )
    if facts.rate and facts.rate_until > now:
        text = f"waits for the rate limit of {attempt.definition}"
        return about(
            "rate-limit",
            attempt,
            text,
            until_ms=facts.rate_until,
            evidence={"limit": facts.rate},
        )
    return None


def _unasked(
    all_facts: Facts,
    attempt: Attempt,
    facts: QueueFacts,
    last: int,
    evidence: dict[str, JsonValue],
) -> Cause:
    now, about = all_facts.look.now_ms, partial(about_task, all_facts.look.execution)
    since = last or attempt.queued_since
    recent = [one for one in facts.polls if one.at_ms > now - all_facts.active_ms]
    domains: list[JsonValue] = [*sorted({p.domain for p in recent if p.queue == facts.base})]
    others: list[JsonValue] = [*sorted({p.queue for p in recent if p.queue != facts.base})]
    evidence["lastPoll"] = last
    if facts.loads and all(running >= slots for _, running, slots in facts.loads):
        return _busy(all_facts, attempt, facts, last)
    if domains:
        where = f"domain {attempt.domain}" if attempt.domain else "no domain"
        code, text = "worker-in-other-domain", f"is in {where}, and workers ask in others"
        evidence["domains"] = domains
    elif others:
        code, text = "worker-in-other-group", f"is in queue {attempt.queue}; workers ask others"
        evidence["queues"] = others
    elif facts.system and attempt.type in RULES:
        code, text = "no-system-worker", f"is in queue {attempt.queue} that no worker asks"
    elif last:
        text = f"is in queue {attempt.queue}; the last worker asked {span(now - last)} ago"
        code = "no-worker-since"
    else:
        code, text = "no-worker-ever", f"is in queue {attempt.queue} that no worker ever asked"
    return about(code, attempt, text, since_ms=since, evidence=evidence)


def _busy(all_facts: Facts, attempt: Attempt, facts: QueueFacts, last: int) -> Cause:
    """They do not ask, as they have no room."""
    slots = sum(each for _, _, each in facts.loads)
    names: list[JsonValue] = [name for name, _, _ in facts.loads[:20]]
    text = f"is in queue {attempt.queue}; {counted(len(facts.loads), 'worker')} there with "
    return about_task(
        all_facts.look.execution,
        "workers-busy",
        attempt,
        f"{text}{counted(slots, 'slot')}, all taken",
        since_ms=max(last, attempt.queued_since),
        evidence={"workers": names, "slots": slots, "entries": facts.entries},
    )
