"""Bugs in what many servers share: terms of shards, permits over partitions, quarantine, locks."""

from __future__ import annotations

from typing import Final

from tests.mutants.mutant import ENGINE, LUA, MEMORY, Edit, Mutant, in_both, on_redis

SHARDS: Final = on_redis("tests/conformance/test_shards.py")
PERMITS: Final = on_redis("tests/conformance/test_permits.py")
QUARANTINE: Final = on_redis("tests/conformance/test_quarantine.py")
SERVED: Final = "tests/engine/test_shards.py"
LOCKS: Final = "tests/anomalies/test_lock_and_fencing.py"

TERMS: Final = (
    Mutant(
        id="taken-over-without-a-term",
        bug="A server takes over the shard of a dead one under the term that it had.",
        breaks=("I1", "A-25"),
        edits=in_both(
            "lease_shards",
            "terms[name] = math.max((terms[name] or 0) + 1, now)",
            "terms[name] = terms[name] or now",
            twin="shards",
            memory_old="term = before.term if held else max(before.term + 1, now)",
            memory_new="term = before.term if held or before.term else now",
        ),
        caught_by=(SHARDS,),
    ),
    Mutant(
        id="late-renewal-accepted",
        bug="A server that was frozen renews a shard that was taken over meanwhile.",
        breaks=("I1", "A-25"),
        edits=in_both(
            "lease_shards",
            "believed[name] == terms[name] then",
            "believed[name] <= terms[name] then",
            twin="shards",
            memory_old="if name in self._shards and self._shards[name].term != term",
            memory_new="if name in self._shards and self._shards[name].term < term",
        ),
        caught_by=(SHARDS,),
    ),
    Mutant(
        id="live-shard-taken",
        bug="A server takes names of shards that a live one holds.",
        breaks=("A-25",),
        edits=in_both(
            "lease_shards",
            "  elseif held and others[owner] then",
            "  elseif held and others[owner] and others[owner].fixed then",
            twin="shards",
            memory_old="shard and shard.until_ms > now else None",
            memory_new="shard and shard.until_ms < 0 else None",
        ),
        caught_by=(SHARDS,),
    ),
    Mutant(
        id="frozen-server-goes-on",
        bug="A server counts its lease from the answer: frozen in between it serves too long.",
        breaks=("A-25",),
        edits=(
            Edit(
                f"{ENGINE}/shards.py",
                'self._renewed_at = float("-inf") if lost else asked_at',
                'self._renewed_at = float("-inf") if lost else self._monotonic()',
            ),
        ),
        caught_by=(SERVED,),
    ),
)

SHARED: Final = (
    Mutant(
        id="limit-per-partition",
        bug="A partition hands out up to the whole limit, not as many as it has permits.",
        breaks=("I10", "A-56"),
        edits=in_both(
            "poll_tasks",
            "(shared and permitted(P, 't:' .. a.def, limit) or limit)",
            "(shared and permitted(P, 't:' .. a.def, limit) and limit or limit)",
            twin="queues",
            memory_old="most = self.partition.holdings[task_limit(definition)].under(most)",
            memory_new="most = limits.concurrent",
        ),
        caught_by=(PERMITS,),
    ),
    Mutant(
        id="permits-granted-twice",
        bug="Permits are granted without looking how many other partitions have.",
        breaks=("I10", "A-56"),
        edits=in_both(
            "share_permits",
            "local granted = math.max(math.min(wanted, limit - total), 0)",
            "local granted = math.max(math.min(wanted, limit - (has[asker] or {number = 0}).number)"
            ", 0)",
            twin="permits",
            memory_old="granted = max(min(wanted, limit - total), 0)",
            memory_new="granted = max(min(wanted, limit - shares.has.get(asker, (0, 0))[1]), 0)",
        ),
        caught_by=(PERMITS,),
    ),
    Mutant(
        id="late-permits-count",
        bug="A number of permits that arrives after it was taken back counts again.",
        breaks=("I10",),
        edits=in_both(
            "adjust_permits",
            "if token > has.token then",
            "if token > 0 then",
            twin="permits",
            memory_old="if holding.token > has.token:",
            memory_new="if holding.token > 0:",
        ),
        caught_by=(PERMITS,),
    ),
    Mutant(
        id="permits-given-while-used",
        bug="A partition gives back permits that are in use.",
        breaks=("I10",),
        edits=in_both(
            "adjust_permits",
            "if mode == 'give' then\n  has.number = math.min(has.number, used)",
            "if mode == 'give' then\n  has.number = 0",
            twin="permits",
            memory_old="has.number = min(has.number, len(counted))",
            memory_new="has.number = 0",
        ),
        caught_by=(PERMITS,),
    ),
    Mutant(
        id="rate-lease-forgotten",
        bug="What was leased of a rate and never settled counts only while the lease holds.",
        breaks=("I10",),
        edits=(
            Edit(
                f"{LUA}/lease_rate.lua",
                "redis.call('ZREMRANGEBYSCORE', key, '-inf', int(now - window))",
                "redis.call('ZREMRANGEBYSCORE', key, '-inf', int(now))",
            ),
            Edit(f"{MEMORY}/permits.py", "if at <= now - rate[1]]", "if at <= now]"),
        ),
        caught_by=(PERMITS,),
    ),
)

POISON: Final = (
    Mutant(
        id="setback-over-a-commit",
        bug="A decision that failed sets back an execution that has moved on since.",
        breaks=("I4",),
        edits=(
            Edit(
                f"{LUA}/set_back_decision.lua",
                "if record.version ~= tonumber(ARGV[4]) then",
                "if record.version < tonumber(ARGV[4]) then",
            ),
            Edit(
                f"{MEMORY}/quarantine.py",
                "if target.version != version:",
                "if target.version < version:",
            ),
        ),
        caught_by=(QUARANTINE,),
    ),
    Mutant(
        id="quarantine-without-wake-up",
        bug="An execution that is set back has no timer any more.",
        breaks=("I4",),
        edits=(
            Edit(
                f"{LUA}/include/setback.lua",
                "  redis.call('ZADD', P .. 'timers:' .. record.home, int(due), member)\n",
                "  redis.call('ZREM', P .. 'timers:' .. record.home, member)\n",
            ),
        ),
        caught_by=(QUARANTINE,),
    ),
    Mutant(
        id="vanished-deciders-uncounted",
        bug="An execution that ends every process that decides on it is handed out for ever.",
        breaks=("I4", "A-36"),
        edits=(
            Edit(
                f"{LUA}/claim_due.lua",
                "elseif take and ends > 0 then",
                "elseif take and ends < 0 then",
            ),
            Edit(
                f"{MEMORY}/timers.py",
                "elif self._take and execution.lease_until > 0:",
                "elif self._take and execution.lease_until < 0:",
            ),
        ),
        caught_by=(QUARANTINE,),
    ),
    Mutant(
        id="lost-definition-passed-over",
        bug="An execution whose definition is lost is passed over without being set back.",
        breaks=("I4", "A-36"),
        edits=(
            Edit(
                f"{ENGINE}/decisions/executor.py",
                "            self._setbacks.add(loaded, holder, PLAN_LOST)\n",
                "",
            ),
        ),
        caught_by=("tests/engine/test_quarantine.py",),
    ),
)

LOCKING: Final = (
    Mutant(
        id="lock-not-asked-before-commit",
        bug="Without fencing a decision is committed though its lock may have been lost.",
        breaks=("I1", "A-24"),
        edits=(
            Edit(
                f"{ENGINE}/decisions/locking.py",
                "if self._fencing or self.holds(execution, holder):",
                "if self._fencing or self.holds(execution, holder) or True:",
            ),
        ),
        caught_by=(LOCKS,),
    ),
    Mutant(
        id="old-state-under-a-new-lock",
        bug="Who waited for the lock decides on what was loaded before.",
        breaks=("I1", "A-24"),
        edits=(
            Edit(
                f"{ENGINE}/decisions/locking.py",
                "if self._fencing and turn is not _Turn.WAITED:",
                "if self._fencing or turn is not _Turn.MISSED:",
            ),
        ),
        caught_by=("tests/engine/test_locking.py",),
    ),
    Mutant(
        id="lock-miss-leaves-no-timer",
        bug="Who misses the lock relies on its holder, and leaves the timer to the lease's end.",
        breaks=("A-27",),
        edits=(
            Edit(
                f"{ENGINE}/decisions/locking.py",
                "        if turn is _Turn.MISSED:\n            self._store.postpone("
                "execution, holder, WHATEVER_COMES, self._again_ms)\n            yield None\n"
                "            return\n        with self._held(execution, holder, turn):\n"
                "            if self._fencing",
                "        if turn is _Turn.MISSED:\n            yield None\n"
                "            return\n        with self._held(execution, holder, turn):\n"
                "            if self._fencing",
            ),
        ),
        caught_by=("tests/engine/test_locking.py",),
    ),
)

PLANTED: Final = (*TERMS, *SHARED, *POISON, *LOCKING)
