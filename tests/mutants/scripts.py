"""Bugs in the Redis scripts, and the same in their twins in memory."""

from __future__ import annotations

from typing import Final

from tests.mutants.mutant import LUA, MEMORY, Edit, Mutant, in_both, on_redis

STORE: Final = on_redis("tests/conformance/test_store.py")
QUEUES: Final = on_redis("tests/conformance/test_queues.py")
TIMERS: Final = on_redis("tests/conformance/test_timers.py")
OUTBOX: Final = on_redis("tests/conformance/test_outbox.py")
SHARDS: Final = on_redis("tests/conformance/test_shards.py")
SCHEDULES: Final = on_redis("tests/conformance/test_schedules.py")
RESTORE: Final = on_redis("tests/conformance/test_restore.py")
METADATA: Final = on_redis("tests/conformance/test_metadata.py")
EVENTS: Final = on_redis("tests/conformance/test_events.py")
ADMISSION: Final = on_redis("tests/conformance/test_admission.py")
CHAINS: Final = on_redis("tests/conformance/test_chains.py")
LATENESS: Final = on_redis("tests/conformance/test_lateness.py")
NUMBERS: Final = on_redis("tests/conformance/test_worker_numbers.py")
MINTING: Final = "tests/engine/test_minting.py"

COMMITS: Final = (
    Mutant(
        id="consumed-unseen",
        bug="A commit takes out of the inbox what has the numbers of the events that it read.",
        breaks=("I4", "I12"),
        edits=in_both(
            "commit_decision",
            "), '\\n')) ~= ARGV[15] then",
            "), '\\n')) == ARGV[1] then",
            twin="store",
            memory_old="or not _has_seen(execution, commit)",
            memory_new="or commit.execution != execution.id",
        ),
        caught_by=(STORE,),
    ),
    Mutant(
        id="commit-without-version",
        bug="A commit is refused only when its version lies ahead, not when it is behind.",
        breaks=("I1", "A-11", "A-24"),
        edits=in_both(
            "commit_decision",
            "record.version ~= tonumber(ARGV[5])",
            "record.version < tonumber(ARGV[5])",
            twin="store",
            memory_old="execution.version != commit.version",
            memory_new="execution.version < commit.version",
        ),
        caught_by=(STORE,),
    ),
    Mutant(
        id="version-is-the-time",
        bug="A new version is the time alone: two commits of one millisecond have the same.",
        breaks=("I1",),
        edits=in_both(
            "commit_decision",
            "record.version, record.last = math.max(record.version + 1, now), operation",
            "record.version, record.last = now, operation",
            twin="store",
            memory_old="execution.version, execution.last = max(execution.version + 1, now), "
            "commit.operation",
            memory_new="execution.version, execution.last = now, commit.operation",
        ),
        caught_by=(STORE,),
    ),
    Mutant(
        id="commit-repeat-unknown",
        bug="A commit that is sent again after its answer was lost is not recognised.",
        breaks=("I5",),
        edits=in_both(
            "commit_decision",
            "if record.last == operation then",
            "if record.last == operation and record.terminal then",
            twin="store",
            memory_old="if execution.last == commit.operation:",
            memory_new="if execution.last == commit.operation and execution.terminal:",
        ),
        caught_by=(STORE,),
    ),
    Mutant(
        id="inbox-trimmed-whole",
        bug="A commit empties the inbox, with what came after it was read.",
        breaks=("I4", "I6", "A-55"),
        edits=in_both(
            "commit_decision",
            "redis.call('LTRIM', inbox, used, -1)",
            "redis.call('DEL', inbox)",
            twin="store",
            memory_old="del execution.inbox[:used]",
            memory_new="execution.inbox.clear()",
        ),
        caught_by=(STORE,),
    ),
    Mutant(
        id="inbox-trims-one-less",
        bug="A commit leaves the last event that it consumed in the inbox.",
        breaks=("I5", "I6"),
        edits=in_both(
            "commit_decision",
            "redis.call('LTRIM', inbox, used, -1)\n  record.base = record.base + used\n",
            "redis.call('LTRIM', inbox, used - 1, -1)\n  record.base = record.base + used - 1\n",
            twin="store",
            memory_old="del execution.inbox[:used]\n        execution.base += used\n",
            memory_new="del execution.inbox[: max(used - 1, 0)]\n"
            "        execution.base += max(used - 1, 0)\n",
        ),
        caught_by=(STORE,),
    ),
    Mutant(
        id="terminal-reopens",
        bug="A commit may set an ended execution running in the same generation.",
        breaks=("I2", "A-7"),
        edits=in_both(
            "commit_decision",
            "generation < record.generation or (record.terminal and not terminal and "
            "generation == record.generation)",
            "generation < record.generation",
            twin="store",
            memory_old="or (revives and changes.generation == execution.generation)\n",
            memory_new="or (revives and changes.generation < execution.generation)\n",
        ),
        caught_by=(STORE,),
    ),
    Mutant(
        id="guard-without-deadline",
        bug="A commit that ends a claim by time compares the claim, but not until when it holds.",
        breaks=("I1", "A-8"),
        edits=in_both(
            "commit_decision",
            "local same = (claim == c.k and until_ms == c['until'])",
            "local same = claim == c.k",
            twin="store",
            memory_old="same = (claim.k, claim.until) == (guard.claim, guard.until_ms)",
            memory_new="same = claim.k == guard.claim",
        ),
        caught_by=(STORE,),
    ),
    Mutant(
        id="need-plan-ignored",
        bug="A start or commit that names a snapshot nobody stored is accepted.",
        breaks=("I9",),
        edits=(
            Edit(
                f"{LUA}/include/apply.lua",
                "if not used then\n        return nil\n      end",
                "used = used or now",
            ),
            Edit(f"{MEMORY}/store.py", "if None in plans:\n        return False\n    for", "for"),
        ),
        caught_by=(STORE,),
    ),
    Mutant(
        id="left-events-unarmed",
        bug="A commit that lets go of the lease over events that are left arms no wake-up.",
        breaks=("I4", "A-27"),
        edits=(
            Edit(f"{LUA}/include/apply.lua", "  if left then\n", "  if left and keep then\n"),
            Edit(
                f"{MEMORY}/store.py",
                "        if execution.inbox or parked:\n",
                "        if keep:\n",
            ),
        ),
        caught_by=(STORE,),
    ),
    Mutant(
        id="ended-stays-queued",
        bug="An attempt that ends keeps its place in the queue.",
        breaks=("I3", "A-22"),
        edits=(
            Edit(
                f"{LUA}/include/end_attempt.lua",
                "if a.q and a.q ~= '' and not (c and c.held == 1) then",
                "if a.q and a.q ~= '' and c and c.held == 0 then",
            ),
            Edit(
                f"{MEMORY}/changes.py",
                "if attempt.queue and not claim.held:",
                "if attempt.queue and claim.polls and not claim.held:",
            ),
        ),
        caught_by=(STORE, QUEUES),
    ),
    Mutant(
        id="ended-keeps-permit",
        bug="An attempt that ends keeps its slot until its claim would have ended.",
        breaks=("I10",),
        edits=(
            Edit(
                f"{LUA}/include/end_attempt.lua",
                "redis.call('ZREM', P .. 'limit:' .. a.def, member)\n",
                "\n",
            ),
            Edit(
                f"{MEMORY}/changes.py",
                "            partition.permits[attempt.definition].drop(member)\n"
                '            self._topics[f"q:{attempt.queue}"] = None\n',
                '            self._topics[f"q:{attempt.queue}"] = None\n',
            ),
        ),
        caught_by=(STORE, QUEUES),
    ),
    Mutant(
        id="child-made-again",
        bug="A child that exists is made anew by whoever names it again.",
        breaks=("I8",),
        edits=(
            Edit(
                f"{LUA}/include/apply.lua",
                "if redis.call('HEXISTS', key, 'v') == 0 then\n      redis.call('UNLINK'",
                "if redis.call('HEXISTS', key, 'v') < 2 then\n      redis.call('UNLINK'",
            ),
            Edit(
                f"{MEMORY}/changes.py",
                "        if child.execution in partition.executions:\n            return\n",
                "",
            ),
        ),
        caught_by=(STORE,),
    ),
    Mutant(
        id="child-without-timer",
        bug="A new child has its start event, but no timer for when its parent's server dies.",
        breaks=("I4", "I8", "A-45"),
        edits=(
            Edit(
                f"{LUA}/include/apply.lua",
                "      redis.call('ZADD', P .. 'timers:' .. home, int(now + 1000), "
                "'x:' .. child)\n",
                "",
            ),
            Edit(
                f"{MEMORY}/changes.py",
                '        partition.timers[child.home].put(f"x:{child.execution}", '
                "now_ms + FALLBACK_MS)\n",
                "",
            ),
        ),
        caught_by=(STORE,),
    ),
    Mutant(
        id="message-without-timer",
        bug="An event for another execution arms no wake-up of it.",
        breaks=("I4", "A-46"),
        edits=(
            Edit(
                f"{LUA}/include/apply.lua",
                "      redis.call('ZADD', P .. 'timers:' .. read_record(target).home, 'LT', "
                "int(now + 1000), 'x:' .. ARGV[i])\n",
                "",
            ),
            Edit(
                f"{MEMORY}/changes.py",
                "            timers = self._partition.timers[other.home]\n"
                '            timers.put_earlier(f"x:{target}", self._now_ms + FALLBACK_MS)\n',
                "",
            ),
        ),
        caught_by=(STORE,),
    ),
    Mutant(
        id="message-creates-its-target",
        bug="An event for an execution that has left the store makes a key for it.",
        breaks=("I7", "A-23"),
        edits=(
            Edit(
                f"{LUA}/include/apply.lua",
                "    if target then\n      redis.call('RPUSH', P .. 'inbox:' .. ARGV[i], "
                "ARGV[i + 1])\n",
                "    redis.call('RPUSH', P .. 'inbox:' .. ARGV[i], ARGV[i + 1])\n"
                "    if target then\n",
            ),
        ),
        caught_by=(STORE,),
    ),
    Mutant(
        id="start-without-timer",
        bug="A start arms no timer for the timeout of its workflow.",
        breaks=("I4",),
        edits=in_both(
            "start_execution",
            "if own or due > 0 then",
            "if own then",
            twin="store",
            memory_old="now + wait if execution.inbox else changes.due_ms)",
            memory_new="now + wait if execution.inbox else 0)",
        ),
        caught_by=(STORE,),
    ),
    Mutant(
        id="idempotency-in-two-steps",
        bug="A start looks under its key, but writes it down only when the key had been there.",
        breaks=("I5",),
        edits=in_both(
            "start_execution",
            "if idem then\n  redis.call('SET', idem, id, 'PX', ARGV[9])",
            "if idem and redis.call('EXISTS', idem) == 1 then\n"
            "  redis.call('SET', idem, id, 'PX', ARGV[9])",
            twin="store",
            memory_old="        if start.idempotency_key is not None:\n            expires",
            memory_new="        if (start.name, start.idempotency_key) in partition.idempotency:\n"
            "            expires",
        ),
        caught_by=(STORE,),
    ),
    Mutant(
        id="start-repeat-unknown",
        bug="A start that is sent again after its answer was lost is a conflict with itself.",
        breaks=("I5",),
        edits=in_both(
            "start_execution",
            "if record.begun == operation then",
            "if record.last == operation then",
            twin="store",
            memory_old="present is not None and present.begun == start.operation:",
            memory_new="present is not None and present.last == start.operation:",
        ),
        caught_by=(STORE,),
    ),
    Mutant(
        id="old-definition-at-start",
        bug="A start does not compare at which revision its definition was read.",
        breaks=("I9",),
        edits=in_both(
            "start_execution",
            "if ARGV[11] ~= '' and (redis.call('GET', P .. 'meta:revision') or '0') ~= ARGV[11]",
            "if ARGV[11] == '?' and (redis.call('GET', P .. 'meta:revision') or '0') ~= ARGV[11]",
            twin="store",
            memory_old="start.meta_revision not in (None, self._space.revision)",
            memory_new="start.meta_revision is not None and self._space.revision < 0",
        ),
        caught_by=(STORE,),
    ),
)

CLAIMS: Final = (
    Mutant(
        id="result-appended-by-the-winner",
        bug="A result is answered as taken, but only whoever gets the lease appends its event.",
        breaks=("I4", "I6", "A-27"),
        edits=(
            Edit(
                f"{LUA}/report_result.lua",
                "local waiting = redis.call('RPUSH', P .. 'inbox:' .. id, ARGV[7])\n",
                "local waiting = 0\n",
            ),
            Edit(
                f"{LUA}/report_result.lua",
                "redis.call('HSET', key, unpack(set))\nif won then\n",
                "redis.call('HSET', key, unpack(set))\nif won then\n"
                "  waiting = redis.call('RPUSH', P .. 'inbox:' .. id, ARGV[7])\n",
            ),
            Edit(
                f"{MEMORY}/store.py",
                "            execution.inbox.append(report.event)\n            won = "
                "self._try_lease(partition, execution, report.holder, report.lease_ms, now)\n",
                "            won = "
                "self._try_lease(partition, execution, report.holder, report.lease_ms, now)\n"
                "            if won:\n                execution.inbox.append(report.event)\n",
            ),
        ),
        caught_by=(STORE,),
    ),
    Mutant(
        id="result-leaves-claim-open",
        bug="A result leaves the claim open: the next result, or the timer, counts as well.",
        breaks=("I6", "A-8"),
        edits=in_both(
            "report_result",
            "c.held == 1 and c.k or c.done, 0, 1, 0, 0, now",
            "c.held == 1 and c.k or c.done, 0, 0, 0, 0, now",
            twin="store",
            memory_old="claim.at, claim.upd = 0, 1, 0, 0, now",
            memory_new="claim.at, claim.upd = 0, 0, 0, 0, now",
        ),
        caught_by=(STORE,),
    ),
    Mutant(
        id="stale-claim-reports",
        bug="A result under a claim that has gone to somebody else is taken.",
        breaks=("I1", "I6", "A-53"),
        edits=in_both(
            "report_result",
            "  if c.k ~= claim then",
            "  if c.k < claim then",
            twin="store",
            memory_old="claim.k == report.claim else Outcome.SUPERSEDED",
            memory_new="claim.k >= report.claim else Outcome.SUPERSEDED",
        ),
        caught_by=(STORE,),
    ),
    Mutant(
        id="claims-within-a-millisecond",
        bug="A claim is the time alone: two of one millisecond have the same token.",
        breaks=("I1",),
        edits=in_both(
            "poll_tasks",
            "c.k = math.max(tonumber(present[3] or 0) + 1, now)",
            "c.k = now",
            twin="queues",
            memory_old="execution.highest_claim = max(execution.highest_claim + 1, now)",
            memory_new="execution.highest_claim = now",
        ),
        caught_by=(QUEUES,),
    ),
    Mutant(
        id="poll-without-timer",
        bug="The first claim of an attempt arms no timer.",
        breaks=("I4", "A-31"),
        edits=in_both(
            "poll_tasks",
            "  if c.at > 0 then\n    redis.call('ZADD', P .. 'timers:'",
            "  if c.at > 0 and c.polls > 1 then\n    redis.call('ZADD', P .. 'timers:'",
            twin="queues",
            memory_old='        if claim.at > 0:\n            timers.put(f"a:{member}", claim.at)\n'
            "        else:",
            memory_new="        if claim.at > 0 and claim.polls > 1:\n"
            '            timers.put(f"a:{member}", claim.at)\n        else:',
        ),
        caught_by=(QUEUES, TIMERS),
    ),
    Mutant(
        id="permits-counted-then-taken",
        bug="A poll counts the free slots first, and then hands out as many as it likes.",
        breaks=("I10", "A-56"),
        edits=in_both(
            "poll_tasks",
            "if redis.call('ZCARD', key) >= (shared and",
            "if redis.call('ZCARD', key) - taken >= (shared and",
            twin="queues",
            memory_old="if len(permits) >= most:",
            memory_new="if len(permits) - len(self.claimed) >= most:",
        ),
        caught_by=(QUEUES,),
    ),
    Mutant(
        id="one-more-than-the-rate",
        bug="The rate limit lets one claim more than it says into a window.",
        breaks=("I10", "A-56"),
        edits=in_both(
            "poll_tasks",
            "if redis.call('ZCARD', key) >= rate then",
            "if redis.call('ZCARD', key) > rate then",
            twin="queues",
            memory_old="if len(claims) >= limits.rate:",
            memory_new="if len(claims) > limits.rate:",
        ),
        caught_by=(QUEUES,),
    ),
    Mutant(
        id="dead-entry-served",
        bug="A poll does not look whether the execution of what it hands out has ended.",
        breaks=("I2", "I3", "A-54"),
        edits=in_both(
            "poll_tasks",
            "c.closed == 1 or not is_open(record, present[2], tonumber(seq), a) then\n"
            "    redis.call('ZREM', ready, member)",
            "c.closed == 1 then\n    redis.call('ZREM', ready, member)",
            twin="queues",
            memory_old="if claim.held or claim.closed or not is_open(execution, seq, attempt):",
            memory_new="if claim.held or claim.closed:",
        ),
        caught_by=(QUEUES,),
    ),
    Mutant(
        id="paused-entry-dropped",
        bug="A poll drops the entries of paused executions instead of parking them.",
        breaks=("I3", "I4"),
        edits=in_both(
            "poll_tasks",
            "    redis.call('SADD', P .. 'park:' .. id, seq)\n",
            "",
            twin="queues",
            memory_old="            execution.parked.add(seq)\n",
            memory_new="",
        ),
        caught_by=(QUEUES,),
    ),
    Mutant(
        id="renewed-after-its-end",
        bug="A claim whose end has passed can still be extended.",
        breaks=("I1", "A-53"),
        edits=in_both(
            "extend_claim",
            "c.held == 0 or (ends > 0 and ends <= now) or",
            "c.held == 0 or",
            twin="queues",
            memory_old="if not side.held or 0 < side.until <= now or other:",
            memory_new="if not side.held or other:",
        ),
        caught_by=(QUEUES,),
    ),
    Mutant(
        id="extended-by-anybody",
        bug="An extension under a claim that has gone to somebody else is taken.",
        breaks=("I1", "A-53"),
        edits=in_both(
            "extend_claim",
            "(claim > 0 and claim ~= c.k)",
            "(claim > 0 and claim > c.k)",
            twin="queues",
            memory_old="other = claim != side.k if claim > 0",
            memory_new="other = claim > side.k if claim > 0",
        ),
        caught_by=(QUEUES,),
    ),
    Mutant(
        id="extension-leaves-permit",
        bug="An extension does not prolong the slot: it is free while the task goes on.",
        breaks=("I10",),
        edits=in_both(
            "extend_claim",
            "if c.permit == 1 and c['until'] > 0 then",
            "if c.permit == 1 and c['until'] == 0 then",
            twin="queues",
            memory_old="if side.permit and side.until > 0:",
            memory_new="if side.permit and side.until == 0:",
        ),
        caught_by=(QUEUES,),
    ),
    Mutant(
        id="extension-leaves-timer",
        bug="An extension leaves the timer where it was.",
        breaks=("I4",),
        edits=in_both(
            "extend_claim",
            "if c.at > 0 then\n  redis.call('ZADD', P .. 'timers:'",
            "if c.at < 0 then\n  redis.call('ZADD', P .. 'timers:'",
            twin="queues",
            memory_old="            if side.at > 0:\n",
            memory_new="            if side.at < 0:\n",
        ),
        caught_by=(QUEUES, TIMERS),
    ),
    Mutant(
        id="answer-not-owed",
        bug="An operation that is sent again before it was answered is carried out twice.",
        breaks=("I5", "I6", "A-13"),
        edits=in_both(
            "send_event",
            "  put_answer(P, id, operation, int(now), now)\n",
            "",
            twin="store",
            memory_old="                put_answer(target, operation, now, None)\n",
            memory_new="",
        ),
        caught_by=(STORE,),
    ),
    Mutant(
        id="answer-not-found",
        bug="An operation that is sent again after it was answered finds no answer.",
        breaks=("I6",),
        edits=in_both(
            "send_event",
            "if answer and answer.answered then",
            "if answer and answer.answered and answer.text == '' then",
            twin="store",
            memory_old="if kept is not None and kept[1] is not None:",
            memory_new='if kept is not None and kept[1] == b"":',
        ),
        caught_by=(STORE,),
    ),
)

TIME_AND_LEAVING: Final = (
    Mutant(
        id="confirmed-in-another-life",
        bug="An effect is confirmed to a server that may have lost what it did.",
        breaks=("I12",),
        edits=in_both(
            "confirm_effects",
            "if ARGV[1] ~= '' and ARGV[1] ~= life_of_server() then",
            "if ARGV[1] ~= '' and ARGV[1] == 'none' then",
            twin="outbox",
            memory_old='if life not in {"", self.life(partition)}:',
            memory_new='if life == "none":',
        ),
        caught_by=(OUTBOX,),
    ),
    Mutant(
        id="timer-popped",
        bug="The timer of an execution is taken out when it fires.",
        breaks=("I4",),
        edits=in_both(
            "claim_due",
            "redis.call('ZADD', timers, until_ms, 'x:' .. id)",
            "redis.call('ZREM', timers, 'x:' .. id)",
            twin="timers",
            memory_old='state.timers[execution.home].put(f"x:{execution.id}", lease[1])',
            memory_new='state.timers[execution.home].drop(f"x:{execution.id}")',
        ),
        caught_by=(TIMERS,),
    ),
    Mutant(
        id="attempt-timer-popped",
        bug="The timer of an attempt is taken out when it fires.",
        breaks=("I4",),
        edits=in_both(
            "claim_due",
            "redis.call('ZADD', timers, int(now + 30000), member)",
            "redis.call('ZREM', timers, member)",
            twin="timers",
            memory_old="timers.put(member, now + REFIRE_MS)",
            memory_new="timers.drop(member)",
        ),
        caught_by=(TIMERS,),
    ),
    Mutant(
        id="deadline-told-again",
        bug="A deadline is told at each firing, not once.",
        breaks=("I5",),
        edits=in_both(
            "claim_due",
            "  if c.cb ~= c.at then\n",
            "  if c.cb <= c.at then\n",
            twin="timers",
            memory_old="if claim.cb == claim.at:",
            memory_new="if claim.cb > claim.at:",
        ),
        caught_by=(TIMERS,),
    ),
    Mutant(
        id="lock-miss-drops-wake-up",
        bug="A firing that meets a held lease drops the timer instead of moving it.",
        breaks=("I4", "A-27"),
        edits=in_both(
            "claim_due",
            "      redis.call('ZADD', timers, int(ends), member)\n",
            "      redis.call('ZREM', timers, member)\n",
            twin="timers",
            memory_old="timers.put(member, execution.lease_until)",
            memory_new="timers.drop(member)",
        ),
        caught_by=(TIMERS,),
    ),
    Mutant(
        id="effects-popped",
        bug="The relay takes effects out of the outbox before it hands them on.",
        breaks=("I7", "A-65"),
        edits=in_both(
            "take_effects",
            "redis.call('ZADD', P .. 'outbox', int(now + tonumber(ARGV[3])), id)",
            "redis.call('ZREM', P .. 'outbox', id)",
            twin="outbox",
            memory_old="state.outbox.put(effect, now + lease_ms)",
            memory_new="state.outbox.drop(effect)",
        ),
        caught_by=(OUTBOX,),
    ),
    Mutant(
        id="confirmed-whatever-its-stamp",
        bug="The confirmation of an effect also drops the one that was ordered since.",
        breaks=("I7",),
        edits=in_both(
            "confirm_effects",
            "if text and string.match(text, '^%d+') == ARGV[i + 1] and",
            "if text and string.match(text, '^%d+') >= ARGV[i + 1] and",
            twin="outbox",
            memory_old="if effect in state.effects and state.effects[effect][0] == stamp:\n"
            "                    execution",
            memory_new="if effect in state.effects and state.effects[effect][0] >= stamp:\n"
            "                    execution",
        ),
        caught_by=(OUTBOX,),
    ),
    Mutant(
        id="removal-confirmed-while-it-stands",
        bug="A removal is confirmed though a crash of the store has brought the execution back.",
        breaks=("I7",),
        edits=in_both(
            "confirm_effects",
            " and not is_back(ARGV[i], ARGV[i + 1]) then",
            " then",
            twin="outbox",
            memory_old="stored is not None and stored.stands_as_of(stamp)",
            memory_new="False",
        ),
        caught_by=(OUTBOX,),
    ),
    Mutant(
        id="removed-whatever-its-version",
        bug="An execution is removed though it has moved on since it was archived.",
        breaks=("I7", "A-38"),
        edits=in_both(
            "remove_executions",
            "record.version ~= version",
            "record.version < version",
            twin="reader",
            memory_old="or target.version != version",
            memory_new="or target.version < version",
        ),
        caught_by=(STORE,),
    ),
    Mutant(
        id="removed-over-its-inbox",
        bug="An execution is removed with events in its inbox.",
        breaks=("I7", "A-39"),
        edits=in_both(
            "remove_executions",
            " or redis.call('EXISTS', P .. 'inbox:' .. id) == 1\n",
            "\n",
            twin="reader",
            memory_old="                or target.inbox\n",
            memory_new="",
        ),
        caught_by=(STORE,),
    ),
    Mutant(
        id="restored-below-its-archive",
        bug="An execution comes back with a version that may lie below that of its archive.",
        breaks=("I1", "I7", "A-62"),
        edits=in_both(
            "restore_execution",
            "math.max(tonumber(ARGV[7]) + 1, now)",
            "now",
            twin="reader",
            memory_old="version=max(restore.version + 1, now)",
            memory_new="version=now",
        ),
        caught_by=(RESTORE,),
    ),
    Mutant(
        id="restored-from-before-another-life",
        bug="What was read of the archive comes back though the execution was back meanwhile.",
        breaks=("I7",),
        edits=in_both(
            "include/restoring",
            "if found[2] ~= token then",
            "if not token then",
            twin="reader",
            memory_old="if partition.restoring.get(restore.execution) != restore.token:",
            memory_new="if restore.execution not in partition.restoring:",
        ),
        caught_by=(RESTORE,),
    ),
    Mutant(
        id="snapshot-collected-in-use",
        bug="A snapshot that nobody touched for a day is dropped though executions name it.",
        breaks=("I9",),
        edits=in_both(
            "collect_unused_plans",
            "redis.call('HEXISTS', P .. 'references', plan) == 1",
            "redis.call('HEXISTS', P .. 'references', plan) == 2",
            twin="plans",
            memory_old="elif plan in state.references or stored.owner",
            memory_new="elif stored.owner",
        ),
        caught_by=(METADATA,),
    ),
    Mutant(
        id="schedule-claim-unmoved",
        bug="A scheduler that claims an instant leaves it due for every other.",
        breaks=("I5",),
        edits=in_both(
            "claim_schedules",
            "    redis.call('ZADD', P .. 'schedules:due', int(now + lease_ms), name)\n",
            "",
            twin="schedules",
            memory_old="                self._state.due.put(name, now + lease_ms)\n",
            memory_new="",
        ),
        caught_by=(SCHEDULES,),
    ),
    Mutant(
        id="schedule-settled-twice",
        bug="The settlement of an instant moves a schedule that has moved on since.",
        breaks=("I5",),
        edits=in_both(
            "settle_schedule",
            "known.next_ms ~= fired",
            "known.next_ms < fired",
            twin="schedules",
            memory_old="known.next_ms != settlement.fired_ms",
            memory_new="known.next_ms < settlement.fired_ms",
        ),
        caught_by=(SCHEDULES,),
    ),
    Mutant(
        id="event-target-overwritten",
        bug="An event handler's action that is repeated may be about another task.",
        breaks=("I7", "A-60"),
        edits=(
            Edit(f"{LUA}/settle_target.lua", "if present then", "if present == ARGV[2] then"),
            Edit(
                f"{MEMORY}/events.py",
                "if known is None or known[1] <= now:",
                "if known is None or known[0] != target:",
            ),
        ),
        caught_by=(EVENTS,),
    ),
    Mutant(
        id="waiting-execution-not-admitted",
        bug="The end of an execution frees its place, but admits nobody who waits for one.",
        breaks=("I4", "I10"),
        edits=(
            Edit(
                f"{LUA}/include/admission.lua",
                "return admit_waiting(P, key, ARGV[asked[1] + 4], now, ARGV[asked[1] + 6] == '1')",
                "return {}",
            ),
            Edit(
                f"{MEMORY}/admission.py",
                "    return admit_waiting(",
                "    return () and admit_waiting(",
            ),
        ),
        caught_by=(ADMISSION,),
    ),
    Mutant(
        id="commit-counts-no-chain",
        bug="What a commit starts is not counted under its root: it may set going any number.",
        breaks=("I10",),
        edits=(
            Edit(f"{LUA}/commit_decision.lua", "count_chain(P, sections.H)\n", ""),
            Edit(
                f"{MEMORY}/store.py",
                "            count_chain(partition, commit.changes.chain, now)\n",
                "",
            ),
        ),
        caught_by=(CHAINS,),
    ),
    Mutant(
        id="late-unnoted",
        bug="Timers that were due long ago are taken, and nobody notes that they were late.",
        breaks=("I10",),
        edits=in_both(
            "claim_due",
            "note_late(P, ARGV[3], tonumber(due[2] or now), now)\n",
            "",
            twin="timers",
            memory_old="            note_late(state, shard, head[0] if head else now, now)\n",
            memory_new="",
        ),
        caught_by=(LATENESS,),
    ),
    Mutant(
        id="repeated-start-counts-again",
        bug="A start is counted under its root before it is known to be a repeat.",
        breaks=("I10", "I5"),
        edits=(
            Edit(
                f"{LUA}/start_execution.lua",
                "local present = redis.call('HGET', P .. 'exec:' .. id, 'v')\n",
                "count_chain(P, read_sections(19).H)\n"
                "local present = redis.call('HGET', P .. 'exec:' .. id, 'v')\n",
            ),
            Edit(
                f"{LUA}/start_execution.lua",
                "touch_plans(old_plans, now)\ncount_chain(P, sections.H)\n",
                "touch_plans(old_plans, now)\n",
            ),
        ),
        caught_by=(CHAINS,),
    ),
    Mutant(
        id="key-outside-its-slot",
        bug="A key is spelled without the prefix of its partition: another slot of a cluster.",
        breaks=("I12",),
        edits=(
            Edit(
                f"{LUA}/poll_tasks.lua",
                "redis.call('PEXPIRE', P .. 'rate:' .. a.def, int(window))",
                "redis.call('PEXPIRE', 'rate:' .. a.def, int(window))",
            ),
        ),
        caught_by=("tests/adapters/redis/test_cluster.py",),
    ),
)

LEASED_NUMBERS: Final = (
    Mutant(
        id="number-from-now",
        bug="Whoever leases a worker number mints from now on, also over times that others had.",
        breaks=("I5",),
        edits=in_both(
            "lease_number",
            "local from = math.max(now, ends)",
            "local from = now",
            twin="worker_numbers",
            memory_old="from_ms = max(now, ends)",
            memory_new="from_ms = now",
        ),
        caught_by=(MINTING, NUMBERS),
    ),
    Mutant(
        id="number-end-goes-back",
        bug="The end of a worker number is set back when its owner asks for more times.",
        breaks=("I5",),
        edits=in_both(
            "lease_number",
            "local until_ms = math.max(ends, begins + ttl)",
            "local until_ms = begins + ttl",
            twin="worker_numbers",
            memory_old="until_ms = max(ends, (now if goes_on else from_ms) + ttl_ms)",
            memory_new="until_ms = (now if goes_on else from_ms) + ttl_ms",
        ),
        caught_by=(NUMBERS,),
    ),
)

PLANTED: Final = (*COMMITS, *CLAIMS, *TIME_AND_LEAVING, *LEASED_NUMBERS)
