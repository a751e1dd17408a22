"""Bugs in the engine around the decider, and in the archive."""

from __future__ import annotations

from typing import Final

from tests.mutants.mutant import ENGINE, MEMORY, Edit, Mutant

CHAOS: Final = (
    "tests/decider/test_chaos.py::test_whatever_is_done_stays_sound_ends_and_leaves_nothing"
)
EXECUTOR: Final = "tests/engine/test_executor.py"
RESULTS: Final = "tests/engine/test_results.py"
LARGE_READS: Final = "tests/engine/test_large_reads.py"
VERY_WIDE: Final = "tests/engine/test_very_wide_archives.py"
LOOKOUT: Final = "tests/engine/test_lookout.py"
LEAVING: Final = "tests/engine/test_leaving.py"
STARTING_AGAIN: Final = "tests/engine/test_starting_again.py"
RACES: Final = "tests/anomalies/test_races.py"
ENDINGS: Final = "tests/anomalies/test_endings.py"
ATOMICITY: Final = "tests/anomalies/test_atomicity.py"
SNAPSHOTS: Final = "tests/engine/test_snapshots.py"
SHARDING: Final = "tests/engine/test_sharding.py"
SYSTEM_WORKER: Final = "tests/engine/test_system_worker.py"
SCHEDULER: Final = "tests/engine/test_scheduler.py"
KEYED: Final = "tests/decider/test_keyed_sub_workflow.py"

DECIDING: Final = (
    Mutant(
        id="one-more-consumed",
        bug="A commit consumes one event more than its decision was given, and nobody compares.",
        breaks=("I4", "I6"),
        edits=(
            Edit(
                f"{ENGINE}/decisions/executor.py",
                "consumed=loaded.first_event + len(loaded.events) - 1,",
                "consumed=loaded.first_event + len(loaded.events),",
            ),
            Edit(
                "conductor_py/adapters/memory/store.py",
                "return used == 0 or digest_of(execution.inbox[:used]) == commit.seen",
                "return used >= 0",
            ),
        ),
        caught_by=(RACES, CHAOS),
    ),
    Mutant(
        id="guards-left-out",
        bug="The executor does not pass on which claims a decision has seen.",
        breaks=("I1", "A-8"),
        edits=(
            Edit(
                f"{ENGINE}/decisions/executor.py",
                "for g in decision.guards\n            ),",
                "for g in decision.guards[:0]\n            ),",
            ),
        ),
        caught_by=("tests/decider/test_timeouts.py", RACES, CHAOS),
    ),
    Mutant(
        id="need-plan-not-answered",
        bug="The executor does not store the snapshot that the store asks a commit for.",
        breaks=("I4", "I9"),
        edits=(
            Edit(
                f"{ENGINE}/decisions/executor.py",
                "        if reply.outcome is Outcome.NEED_PLAN:\n            self._snapshots.store("
                "partition_of(commit.execution), commit.changes.plans)\n",
                "        if reply.outcome is Outcome.NEED_PLAN:\n",
            ),
        ),
        caught_by=(EXECUTOR,),
    ),
    Mutant(
        id="operation-id-per-try",
        bug="An operation that its caller names gets a new id at each try.",
        breaks=("I5", "I7", "A-60"),
        edits=(
            Edit(
                f"{ENGINE}/decisions/operations.py",
                "operation = id_ or holder",
                "operation = holder",
            ),
        ),
        caught_by=("tests/engine/test_events.py", KEYED),
    ),
    Mutant(
        id="operation-answered-at-once",
        bug="An operation is answered when it is in the inbox, not when it is carried out.",
        breaks=("A-13",),
        edits=(
            Edit(
                f"{ENGINE}/decisions/operations.py",
                "        if reply.loaded is not None:\n            try",
                "        if reply.loaded is None:\n            return {}\n"
                "        if reply.loaded is not None:\n            try",
            ),
        ),
        caught_by=("tests/engine/test_steering.py",),
    ),
    Mutant(
        id="accepted-fails-its-caller",
        bug="What breaks after a result was accepted is raised to whoever sent it.",
        breaks=("I6",),
        edits=(
            Edit(
                f"{ENGINE}/decisions/executor.py",
                'its timer comes again", extra=facts)\n        return Driven()',
                'its timer comes again", extra=facts)\n            raise\n        return Driven()',
            ),
        ),
        caught_by=(EXECUTOR,),
    ),
    Mutant(
        id="poison-stops-the-sweeper",
        bug="An execution that cannot be decided ends the sweeper's round for the others.",
        breaks=("I4", "A-36"),
        edits=(
            Edit(
                f"{ENGINE}/sweeping/sweeper.py",
                '                    extra={"action": "decide_failed", '
                '"workflow_id": loaded.execution},\n                )\n',
                '                    extra={"action": "decide_failed", '
                '"workflow_id": loaded.execution},\n                )\n                break\n',
            ),
        ),
        caught_by=("tests/engine/test_sweeper.py",),
    ),
    Mutant(
        id="sweeper-serves-one-shard",
        bug="The sweeper fires the timers of its server's first shard only.",
        breaks=("I4",),
        edits=(
            Edit(
                f"{ENGINE}/sweeping/sweeper.py",
                "self._home(0, home) for home in self._homes())",
                "self._home(0, home) for home in self._homes()[:2])",
            ),
        ),
        caught_by=(SHARDING,),
    ),
    Mutant(
        id="sweeper-serves-one-partition",
        bug="The sweeper fires the timers of the first partition only.",
        breaks=("I4",),
        edits=(
            Edit(
                f"{ENGINE}/sweeping/sweeper.py",
                "lambda place: self._home(*place)",
                "lambda place: self._home(0, place[1])",
            ),
        ),
        caught_by=("tests/engine/test_sweeper.py", KEYED),
    ),
    Mutant(
        id="effects-give-way-for-ever",
        bug="While timers are behind, nobody ever carries out what can wait.",
        breaks=("I7",),
        edits=(
            Edit(
                f"{ENGINE}/sweeping/sweeper.py",
                "patience_ms = PATIENCE_MS if",
                "patience_ms = 1 << 45 if",
            ),
        ),
        caught_by=("tests/engine/test_sweeper.py",),
    ),
    Mutant(
        id="chains-among-others",
        bug="The timers of what executions set going stand before those of all others.",
        breaks=("I10",),
        edits=(
            Edit(
                "conductor_py/model/homes.py",
                'return f"{shard}{_CHAINS}" if counted else shard',
                "return shard if counted else shard",
            ),
        ),
        caught_by=("tests/engine/test_late_chains.py",),
    ),
    Mutant(
        id="retry-of-a-child-into-the-void",
        bug="A child that left the store before its retry came is waited for, for ever.",
        breaks=("I8",),
        edits=(
            Edit(f"{ENGINE}/decisions/encoding.py", "wanted=is_awaited(event)", "wanted=False"),
        ),
        caught_by=("tests/decider/test_revived_children.py",),
    ),
    Mutant(
        id="leaves-a-full-store-at-once",
        bug="What has ended leaves a store that is nearly full while its start may be sent again.",
        breaks=("I5",),
        edits=(
            Edit(
                f"{ENGINE}/decisions/encoding.py",
                "now_ms + self._remove_after_ms, now_ms + self._stays_ms",
                "now_ms + self._remove_after_ms, now_ms + 1",
            ),
        ),
        caught_by=("tests/engine/test_full_store.py",),
    ),
    Mutant(
        id="relay-waits-for-memory",
        bug="Effects wait for a queue that has no memory, and nothing leaves what is full.",
        breaks=("I7",),
        edits=(
            Edit(
                f"{ENGINE}/sweeping/sweeper.py",
                "            if self._carry_out is None:\n",
                "            if self._carry_out:\n",
            ),
        ),
        caught_by=("tests/engine/test_full_store.py",),
    ),
    Mutant(
        id="tasks-leave-home",
        bug="Under localOnly a task goes to the shard of whoever decides, not to its home.",
        breaks=("I3",),
        edits=(
            Edit(
                f"{ENGINE}/shards.py",
                "        if self.strategy == LOCAL_ONLY:\n            return shard_of(home)\n",
                "        if self.strategy == LOCAL_ONLY:\n            return self.home\n",
            ),
        ),
        caught_by=(SHARDING,),
    ),
)

STORED: Final = (
    Mutant(
        id="reopened-left-out",
        bug="A task that is in progress and waits for somebody takes no second result.",
        breaks=("I6",),
        edits=(
            Edit(f"{ENGINE}/decisions/encoding.py", "reopened=decision.reopened,", "reopened=(),"),
        ),
        caught_by=("tests/decider/test_simple_operators.py", RESULTS, CHAOS),
    ),
    Mutant(
        id="resume-leaves-parked",
        bug="A resume does not bring the parked entries back to their queues.",
        breaks=("I3", "I4"),
        edits=(
            Edit(
                f"{ENGINE}/decisions/encoding.py",
                "unpark=header.status is WorkflowStatus.RUNNING and header.last_retried_at > 0,",
                "unpark=header.status is WorkflowStatus.PAUSED and header.last_retried_at > 0,",
            ),
        ),
        caught_by=("tests/engine/test_pausing.py", CHAOS),
    ),
    Mutant(
        id="outbox-skipped",
        bug="What goes to an execution of another partition is not put into the outbox.",
        breaks=("I4", "I8", "A-46"),
        edits=(
            Edit(
                f"{ENGINE}/decisions/encoding.py",
                "tuple(post(sender, send) for send in sends if is_abroad(sender, send)),",
                "(),",
            ),
        ),
        caught_by=(KEYED,),
    ),
    Mutant(
        id="place-kept-by-the-failed",
        bug="Only an execution that completes gives back its place under a rate limit.",
        breaks=("I4", "I10"),
        edits=(
            Edit(
                f"{ENGINE}/decisions/encoding.py",
                "if header.admission_key and header.status.terminal:",
                "if header.admission_key and header.status is WorkflowStatus.COMPLETED:",
            ),
        ),
        caught_by=("tests/engine/test_workflow_rate_limit.py", CHAOS),
    ),
    Mutant(
        id="leaves-before-its-start-is-over",
        bug="What has ended leaves at once, while its start may still be sent again.",
        breaks=("I5",),
        edits=(
            Edit(
                f"{ENGINE}/decisions/encoding.py",
                "self._remove_after_ms = max(remove_after_ms, stays_ms)",
                "self._remove_after_ms = remove_after_ms",
            ),
        ),
        caught_by=(STARTING_AGAIN,),
    ),
    Mutant(
        id="started-again-after-it-left",
        bug="A start that is sent again late starts what has ended and left once more.",
        breaks=("I5",),
        edits=(
            Edit(
                f"{ENGINE}/executions/executions.py",
                "            reply.outcome is Outcome.CLOCK\n",
                "            reply.outcome is Outcome.GONE\n",
            ),
        ),
        caught_by=(STARTING_AGAIN,),
    ),
    Mutant(
        id="claim-token-dropped",
        bug="The claim that a worker names is not passed on with its result.",
        breaks=("I1", "I6", "A-53"),
        edits=(
            Edit(
                f"{ENGINE}/tasks/results.py",
                "            claim=sized.claim,\n",
                "            claim=0,\n",
            ),
        ),
        caught_by=(RESULTS,),
    ),
    Mutant(
        id="late-worker-not-told",
        bug="A worker whose claim was lost is told that its result was taken.",
        breaks=("I6", "A-53"),
        edits=(
            Edit(
                f"{ENGINE}/tasks/results.py",
                "        if result.claim and lost:\n            raise",
                "        if result.claim and lost and outcome is Outcome.OK:\n            raise",
            ),
        ),
        caught_by=(RESULTS,),
    ),
    Mutant(
        id="definition-read-live",
        bug="A sub-workflow whose version is not named is looked up when its task opens.",
        breaks=("I9",),
        edits=(
            Edit(
                f"{ENGINE}/definitions/snapshots.py",
                "pinned = self._latest(definition.tasks)",
                "pinned = self._latest(())",
            ),
        ),
        caught_by=(SNAPSHOTS, "tests/decider/test_sub_workflow.py"),
    ),
    Mutant(
        id="moved-definition-not-reread",
        bug="A start that is told that definitions moved tries again with the ones it has.",
        breaks=("I9",),
        edits=(
            Edit(
                f"{ENGINE}/executions/executions.py",
                "                case Outcome.META_MOVED:\n"
                "                    self._snapshots.forget_heads()\n",
                "                case Outcome.META_MOVED:\n                    continue\n",
            ),
        ),
        caught_by=(SNAPSHOTS,),
    ),
    Mutant(
        id="read-of-another-version",
        bug="A decision mixes what it was given with fields of a later version.",
        breaks=("I9",),
        edits=(
            Edit(
                f"{ENGINE}/decisions/needs.py",
                "if found is None or (version is not None and found[0] != version):",
                "if found is None or (version is not None and found[0] < version):",
            ),
        ),
        caught_by=("tests/engine/test_needs.py",),
    ),
)

READS: Final = (
    Mutant(
        id="left-out-is-absent",
        bug="A page of tasks takes what a read of the store left out for what is absent.",
        breaks=("I4",),
        edits=(
            Edit(
                f"{ENGINE}/reading/loading.py",
                "some = _brought(found[1], seqs, kinds) if found is not None else ()",
                "some = seqs",
            ),
        ),
        caught_by=(LARGE_READS,),
    ),
    Mutant(
        id="needed-but-left-out",
        bug="A decision takes what a read of the store left out for what is absent.",
        breaks=("I4",),
        edits=(
            Edit(
                f"{ENGINE}/decisions/needs.py",
                '            if read.rpartition(" ")[2] in brought:\n',
                '            if read.rpartition(" ")[2] not in known:\n',
            ),
        ),
        caught_by=(LARGE_READS,),
    ),
)

LEAVES: Final = (
    Mutant(
        id="effects-confirmed-first",
        bug="Effects are confirmed before they are carried out.",
        breaks=("I7", "A-65"),
        edits=(
            Edit(
                f"{ENGINE}/effects/effects.py",
                "            wanted = by_kind.pop(kind, [])\n",
                "            wanted = by_kind.pop(kind, [])\n            self._outbox.confirm("
                "partition, [(effect.id, effect.stamp) for effect in wanted], batch.life)\n",
            ),
        ),
        caught_by=(LEAVING, "tests/engine/test_events.py", ENDINGS),
    ),
    Mutant(
        id="relay-forgets-what-it-handed-on",
        bug="The relay confirms effects when it has handed their ids on.",
        breaks=("I7", "A-65"),
        edits=(
            Edit(
                f"{ENGINE}/sweeping/sweeper.py",
                "            self._put(self._enqueue, partition, others)\n",
                "            self._put(self._enqueue, partition, others)\n"
                "            self._outbox.confirm("
                "partition, [(effect.id, effect.stamp) for effect in due])\n",
            ),
        ),
        caught_by=("tests/engine/test_sweeper.py", LEAVING),
    ),
    Mutant(
        id="removed-before-its-archive",
        bug="An execution is removed at the version that it has, not at the archive's.",
        breaks=("I7", "A-38"),
        edits=(
            Edit(
                f"{ENGINE}/effects/removing.py",
                "self._reader.remove(execution, archived.version)",
                'self._reader.remove(execution, (self._store.load(execution, ["h"]) or (0,))[0])',
            ),
        ),
        caught_by=(LEAVING, ENDINGS),
    ),
    Mutant(
        id="removed-without-archive",
        bug="An execution that the archive does not have counts as archived.",
        breaks=("I7", "A-38"),
        edits=(
            Edit(
                f"{ENGINE}/effects/removing.py",
                "            return self._unarchived(partition, execution, effect)\n",
                "            return True\n",
            ),
        ),
        caught_by=(LEAVING, ENDINGS),
    ),
    Mutant(
        id="older-summary-wins",
        bug="The index takes what comes, an older version over a newer one.",
        breaks=("I7", "A-62"),
        edits=(
            Edit(
                f"{MEMORY}/search.py",
                "if held is None or held.version < entry.version:",
                "if held is None or held.version != entry.version:",
            ),
        ),
        caught_by=(ENDINGS, "tests/conformance/test_search.py -k memory"),
    ),
    Mutant(
        id="restored-without-plans",
        bug="An execution comes back from the archive without the definitions it uses.",
        breaks=("I9",),
        edits=(
            Edit(
                f"{ENGINE}/executions/restoring.py",
                "        self._snapshots.adopt(kept.plans)\n",
                "",
            ),
        ),
        caught_by=("tests/engine/test_restoring.py",),
    ),
    Mutant(
        id="leaves-with-a-page-lost",
        bug="A wide execution leaves Redis though a page of its archive is lost.",
        breaks=("I7",),
        edits=(
            Edit(
                f"{ENGINE}/effects/removing.py",
                "            whole = self._indexing.is_whole(execution, archived)\n",
                "            whole = True\n",
            ),
        ),
        caught_by=(VERY_WIDE,),
    ),
    Mutant(
        id="pages-begun-anew",
        bug="Whoever goes on with the pages of a wide execution begins with the first.",
        breaks=("I4",),
        edits=(
            Edit(
                f"{ENGINE}/reading/wide_archiving.py",
                "            if self._is_there(execution, written):",
                "            if not written:",
            ),
        ),
        caught_by=(VERY_WIDE,),
    ),
    Mutant(
        id="archive-read-before-the-attempt",
        bug="An attempt to bring an execution back begins after its archive was read.",
        breaks=("I7",),
        edits=(
            Edit(
                f"{ENGINE}/executions/restoring.py",
                "        token = self._reader.begin_restore(",
                "        stored = self._search.kept(execution)\n"
                "        token = self._reader.begin_restore(",
            ),
            Edit(
                f"{ENGINE}/executions/restoring.py",
                "EXISTS\n        stored = self._search.kept(execution)\n",
                "EXISTS\n",
            ),
        ),
        caught_by=("tests/engine/test_restoring.py",),
    ),
    Mutant(
        id="restored-claims-begin-anew",
        bug="An execution comes back without the highest claim that it had issued.",
        breaks=("I1",),
        edits=(Edit(f"{ENGINE}/executions/restoring.py", "claim=kept.claim,", "claim=0,"),),
        caught_by=("tests/engine/test_restoring.py",),
    ),
    Mutant(
        id="keyed-start-under-a-new-id",
        bug="A start that an effect asks for gets a random id: done twice, it starts two.",
        breaks=("I7", "I8", "A-47"),
        edits=(
            Edit(
                f"{ENGINE}/effects/keyed_starts.py",
                "started = self._executions.start(request, cause=name)",
                "started = self._executions.start(request)",
            ),
        ),
        caught_by=("tests/decider/test_start_workflow.py", KEYED),
    ),
    Mutant(
        id="event-starts-under-a-new-id",
        bug="An event handler's start gets a random id: a repeated message starts two.",
        breaks=("I7", "A-60"),
        edits=(
            Edit(
                f"{ENGINE}/effects/event_actions.py",
                "self._executions.start(request, cause=wanted.identity)",
                "self._executions.start(request)",
            ),
        ),
        caught_by=("tests/engine/test_events.py",),
    ),
    Mutant(
        id="schedule-fires-per-server",
        bug="The id of what an instant starts is made of when it was claimed.",
        breaks=("I5",),
        edits=(
            Edit(
                f"{ENGINE}/schedules/scheduler.py",
                "instant, cause = stored.next_ms, cause_of(stored)",
                'instant, cause = stored.next_ms, f"{cause_of(stored)} {before_ms}"',
            ),
        ),
        caught_by=(SCHEDULER, "tests/engine/test_scheduler_faults.py"),
    ),
    Mutant(
        id="schedule-starts-after-its-claim",
        bug="A scheduler that was held up starts an instant though its claim has ended.",
        breaks=("I5",),
        edits=(
            Edit(
                f"{ENGINE}/executions/executions.py",
                "if before_ms and max(start.now_ms, self._clock.now_ms()) > before_ms:",
                "if before_ms and start.now_ms < 0:",
            ),
        ),
        caught_by=(SCHEDULER, "tests/engine/test_scheduler_faults.py"),
    ),
    Mutant(
        id="notice-overtakes",
        bug="A notice is delivered though the one before it of that execution waits.",
        breaks=("I7", "A-18"),
        edits=(
            Edit(
                f"{ENGINE}/effects/notifications.py",
                "if order.previous in waiting:",
                "if order.previous in waiting and not order.previous:",
            ),
        ),
        caught_by=("tests/engine/test_notifications.py",),
    ),
    Mutant(
        id="notice-forgotten-when-refused",
        bug="A notice that nobody took is confirmed.",
        breaks=("I7", "A-65"),
        edits=(
            Edit(
                f"{ENGINE}/effects/notifications.py",
                "                again_at = self._again_at(order, problem)\n",
                "                again_at = None\n",
            ),
        ),
        caught_by=("tests/engine/test_notifications.py",),
    ),
)

SYSTEM: Final = (
    Mutant(
        id="system-claims-not-kept",
        bug="The system-task worker does not extend the claims of calls that take long.",
        breaks=("I4", "A-31"),
        edits=(
            Edit(
                f"{ENGINE}/system_worker/claim_keeper.py",
                "elif now >= hold.due:",
                "elif now >= hold.until:",
            ),
        ),
        caught_by=(SYSTEM_WORKER,),
    ),
    Mutant(
        id="system-report-without-claim",
        bug="The system-task worker reports without its claim.",
        breaks=("I1", "I6", "A-7"),
        edits=(
            Edit(
                f"{ENGINE}/system_worker/worker.py",
                "            claim=hold.claim,\n",
                "            claim=0,\n",
            ),
        ),
        caught_by=(SYSTEM_WORKER,),
    ),
    Mutant(
        id="system-claims-without-slots",
        bug="The system-task worker claims more than it can begin.",
        breaks=("I4",),
        edits=(
            Edit(
                f"{ENGINE}/system_worker/worker.py",
                "wanted = min(lane.slots.free(now), self._options.max_poll)",
                "wanted = self._options.max_poll if lane.slots.free(now) else 0",
            ),
        ),
        caught_by=(SYSTEM_WORKER,),
    ),
    Mutant(
        id="cancelled-call-reported-failed",
        bug="A call that fails as it was cancelled, its claim being lost, is reported.",
        breaks=("A-35",),
        edits=(
            Edit(
                f"{ENGINE}/system_worker/worker.py",
                "            if call.cancelled.is_set() and result.status.terminal",
                "            if not call.task_id and result.status.terminal",
            ),
        ),
        caught_by=(SYSTEM_WORKER,),
    ),
    Mutant(
        id="system-failure-uses-no-report",
        bug="A call whose input cannot be read is reported as failed and costs a retry.",
        breaks=("A-35",),
        edits=(
            Edit(
                f"{ENGINE}/system_worker/worker.py",
                "        except StoreFailure:\n            raise\n"
                "        except Exception as error:  # noqa: BLE001 - whatever it is, it costs "
                "this task alone\n",
                "        except Exception as error:\n",
            ),
        ),
        caught_by=(SYSTEM_WORKER,),
    ),
)

POLLS: Final = (
    Mutant(
        id="only-one-queue-looked-out-for",
        bug="The lookout wakes who waits for one queue; the long polls of others sleep on.",
        breaks=("I4",),
        edits=(
            Edit(
                f"{ENGINE}/tasks/lookout.py",
                "in self._hub.to_look_at():",
                "in self._hub.to_look_at()[:1]:",
            ),
        ),
        caught_by=(LOOKOUT,),
    ),
    Mutant(
        id="nobody-told-of-the-stop",
        bug="A lookout that stops wakes nobody: long polls sleep to their end.",
        breaks=("I4",),
        edits=(
            Edit(
                f"{ENGINE}/tasks/lookout.py",
                "            self._hub.is_attended = False\n            self._wake_all()\n",
                "            self._hub.is_attended = False\n",
            ),
        ),
        caught_by=(LOOKOUT,),
    ),
    Mutant(
        id="due-known-to-no-other",
        bug="What falls due is looked at only by the poll that was told of it, if it is there.",
        breaks=("I4",),
        edits=(
            Edit(
                f"{ENGINE}/tasks/hub.py",
                "or min(watch.more.values(), default=_NEVER) <= now",
                "or min((), default=_NEVER) <= now",
            ),
        ),
        caught_by=(LOOKOUT,),
    ),
)

PLANTED: Final = (*DECIDING, *STORED, *READS, *POLLS, *LEAVES, *SYSTEM)
