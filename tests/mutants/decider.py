"""Bugs in the pure part: joins, retries, deadlines, generations, ends, pauses, children."""

from __future__ import annotations

from typing import Final

from tests.mutants.engine import CHAOS
from tests.mutants.mutant import DECIDER, Edit, Mutant

TIMEOUTS: Final = "tests/decider/test_timeouts.py"
RETRIES: Final = "tests/decider/test_retries.py"
JOINS: Final = "tests/decider/test_joins.py"
FORK: Final = "tests/decider/test_fork_join.py"
RESTART: Final = "tests/decider/test_restart.py"
RETRY: Final = "tests/decider/test_retry.py"
SUB_WORKFLOW: Final = "tests/decider/test_sub_workflow.py"
PIECES: Final = "tests/engine/test_pieces.py"
PAUSING: Final = "tests/engine/test_pausing.py"
PROPERTIES: Final = "tests/decider/test_properties.py"
TIME_AND_JOINS: Final = "tests/anomalies/test_time_and_joins.py"
ENDINGS: Final = "tests/anomalies/test_endings.py"

FLOW: Final = (
    Mutant(
        id="join-counts-attempts",
        bug="A join counts each failed attempt, not the reference once nothing is tried again.",
        breaks=("I5", "A-33"),
        edits=(
            Edit(
                f"{DECIDER}/control.py",
                "        delay = retries.delay_ms(",
                "        joins.tell(ws, spot, attempt)\n        delay = retries.delay_ms(",
            ),
        ),
        caught_by=(FORK, TIME_AND_JOINS),
    ),
    Mutant(
        id="join-ends-one-early",
        bug="A join ends with the last but one of its branches.",
        breaks=("I5",),
        edits=(
            Edit(
                f"{DECIDER}/joins.py",
                "if join.seq and join.settled >= join.expected:",
                "if join.seq and join.settled >= join.expected - 1:",
            ),
        ),
        caught_by=(FORK,),
    ),
    Mutant(
        id="join-forgets-iteration",
        bug="A branch that settles in a loop is counted in the join of no iteration.",
        breaks=("I4", "A-50"),
        edits=(
            Edit(
                f"{DECIDER}/joins.py",
                "        vector = vector_append(vector, state.iteration)\n    return",
                "        vector = vector_append(vector, state.iteration - 1)\n    return",
            ),
        ),
        caught_by=(f"{JOINS} -k 'loop or iteration'",),
    ),
    Mutant(
        id="continuation-of-another-generation",
        bug="A continuation of the generation before goes on in the present one.",
        breaks=("I2", "I5"),
        edits=(
            Edit(
                f"{DECIDER}/decide.py",
                "if event.generation != ws.header.generation:\n        return\n    if event.kind",
                "if event.generation > ws.header.generation:\n        return\n    if event.kind",
            ),
        ),
        caught_by=("tests/engine/test_steering.py",),
    ),
    Mutant(
        id="continuations-not-counted",
        bug="An execution may end while a continuation of it is still to come.",
        breaks=("I2", "I4"),
        edits=(
            Edit(
                f"{DECIDER}/idle.py",
                "if ws.over or ws.status is WorkflowStatus.PAUSED or ws.pending or "
                "ws.open_attempts:",
                "if ws.over or ws.status is WorkflowStatus.PAUSED or ws.open_attempts:",
            ),
        ),
        caught_by=(PIECES, CHAOS),
    ),
    Mutant(
        id="continuation-counted-for-ever",
        bug="A continuation that was carried out still counts as something to come.",
        breaks=("I4",),
        edits=(
            Edit(
                f"{DECIDER}/decide.py",
                "    ws.pending = max(ws.pending - event.counted, 0)\n",
                "    ws.pending = max(ws.pending, 0)\n",
            ),
        ),
        caught_by=(PIECES, CHAOS),
    ),
    Mutant(
        id="rest-of-the-agenda-dropped",
        bug="A decision that has reached its bound drops what is left to do.",
        breaks=("I4",),
        edits=(
            Edit(
                f"{DECIDER}/decide.py",
                "    for step in sorted(ws.agenda, key=lambda",
                "    for step in sorted(list(ws.agenda)[:1], key=lambda",
            ),
        ),
        caught_by=(PIECES, CHAOS),
    ),
    Mutant(
        id="ended-attempt-ends-again",
        bug="An event about an attempt that has ended already is acted on again.",
        breaks=("I2", "I5"),
        edits=(
            Edit(
                f"{DECIDER}/decide.py",
                "attempt is None or not attempt.open or attempt.generation != "
                "ws.header.generation:\n        return\n    spot",
                "attempt is None or attempt.generation != ws.header.generation:\n"
                "        return\n    spot",
            ),
            Edit(
                f"{DECIDER}/control.py",
                "    if not attempt.open:\n        return\n    ended = changed(",
                "    ended = changed(",
            ),
        ),
        caught_by=("tests/engine/test_steering.py",),
    ),
)

TIME: Final = (
    Mutant(
        id="lost-worker-costs-a-retry",
        bug="A worker that was lost uses up one of the retries.",
        breaks=("A-31",),
        edits=(
            Edit(
                f"{DECIDER}/control.py",
                "retry_count=failed.retry_count if lost else failed.retry_count + 1,",
                "retry_count=failed.retry_count + 1,",
            ),
        ),
        caught_by=(TIMEOUTS,),
    ),
    Mutant(
        id="lost-workers-without-end",
        bug="An attempt whose workers are lost is offered anew for ever.",
        breaks=("A-31",),
        edits=(
            Edit(
                f"{DECIDER}/timeouts.py",
                "    if attempt.lost < ws.limits.lost:",
                "    if True:",
            ),
        ),
        caught_by=(TIMEOUTS,),
    ),
    Mutant(
        id="deadline-without-guard",
        bug="A decision that ends an attempt by time does not name the claim that it saw.",
        breaks=("I1", "A-8"),
        edits=(
            Edit(
                f"{DECIDER}/timeouts.py",
                '    guard(ws, attempt, claim)\n    if policy == "LOST":',
                '    if policy == "LOST":',
            ),
        ),
        caught_by=(TIMEOUTS, "tests/anomalies/test_races.py"),
    ),
    Mutant(
        id="instant-without-guard",
        bug="A decision that ends a HUMAN or WAIT by time does not name the claim that it saw.",
        breaks=("I6", "A-8"),
        edits=(
            Edit(
                f"{DECIDER}/timeouts.py",
                "    guard(ws, attempt, claim)\n    definition =",
                "    definition =",
            ),
        ),
        caught_by=("tests/anomalies/test_races.py",),
    ),
    Mutant(
        id="signal-without-guard",
        bug="A signal overwrites the output of a result that came while it was decided.",
        breaks=("I6",),
        edits=(
            Edit(
                f"{DECIDER}/operations/signal.py",
                "    timeouts.guard(ws, attempt, claim)  # a result that comes first counts\n",
                "",
            ),
        ),
        caught_by=("tests/anomalies/test_races.py",),
    ),
    Mutant(
        id="timeout-before-results",
        bug="The timeout of an execution drops the results that were accepted before it.",
        breaks=("I6",),
        edits=(
            Edit(
                f"{DECIDER}/decide.py",
                "    for event in events[:asked]:\n"
                "        _attempt(missing, _consume, ws, event)\n",
                "    asked = 0\n",
            ),
        ),
        caught_by=("tests/anomalies/test_races.py",),
    ),
    Mutant(
        id="deadline-not-rearmed",
        bug="A firing that comes too early does not arm the timer again.",
        breaks=("I4", "A-28"),
        edits=(
            Edit(
                f"{DECIDER}/timeouts.py",
                "    if due is None:\n        _rearm(ws, spot, attempt, claim)\n        return",
                "    if due is None:\n        return",
            ),
        ),
        caught_by=(PAUSING,),
    ),
    Mutant(
        id="alert-forgets-other-deadlines",
        bug="A deadline that is only alerted of takes the timer of all later ones with it.",
        breaks=("I4", "A-28"),
        edits=(
            Edit(
                f"{DECIDER}/timeouts.py",
                "        _rearm(ws, spot, alerted, claim)\n",
                "        ws.timers[attempt.seq] = 0\n",
            ),
        ),
        caught_by=(TIMEOUTS,),
    ),
    Mutant(
        id="wait-forgets-its-timer",
        bug="A task that waits for a delay is held without a timer.",
        breaks=("I4",),
        edits=(
            Edit(
                f"{DECIDER}/scheduling.py",
                "    ws.timers[attempt.seq] = min(start_at, attempt.deadline or start_at)\n",
                "",
            ),
        ),
        caught_by=("tests/decider/test_system.py", SUB_WORKFLOW, RETRIES),
    ),
    Mutant(
        id="poll-timeout-unarmed",
        bug="A task in a queue has no timer for its poll timeout.",
        breaks=("I4", "A-28"),
        edits=(
            Edit(
                f"{DECIDER}/scheduling.py",
                "due_next = min((at for at in (poll_by, total, ends) if at), default=0)",
                "due_next = min((at for at in (total, ends) if at), default=0)",
            ),
        ),
        caught_by=(TIMEOUTS,),
    ),
    Mutant(
        id="generation-without-timeout",
        bug="A generation that begins has no workflow timeout.",
        breaks=("I4", "A-41"),
        edits=(
            Edit(
                f"{DECIDER}/generations/generations.py",
                "    ws.due_at = ws.now_ms + timeout_ms if timeout_ms > 0 else 0\n",
                "    ws.due_at = 0\n",
            ),
        ),
        caught_by=(RETRY, RESTART),
    ),
    Mutant(
        id="recall-forgotten",
        bug="A task that is to run on is put off by a worker that had stopped it just before.",
        breaks=("I4",),
        edits=(
            Edit(
                f"{DECIDER}/scheduling.py",
                "attempt.recalled != ws.claim(attempt.seq).claim",
                "attempt.recalled >= ws.claim(attempt.seq).claim",
            ),
        ),
        caught_by=("tests/engine/test_checkpoints.py",),
    ),
    Mutant(
        id="recall-outlives-its-claim",
        bug="A task that was to run on is offered at once when a later worker puts it off, too.",
        breaks=("I3",),
        edits=(
            Edit(
                f"{DECIDER}/scheduling.py",
                "not attempt.recalled or attempt.recalled != ws.claim(attempt.seq).claim",
                "not attempt.recalled",
            ),
            Edit(f"{DECIDER}/decide.py", "        recalled=0,\n", ""),
        ),
        caught_by=("tests/engine/test_checkpoints.py",),
    ),
)

ENDS: Final = (
    Mutant(
        id="child-end-not-told",
        bug="Only a child that completes tells its parent of its end.",
        breaks=("I4", "A-46"),
        edits=(
            Edit(
                f"{DECIDER}/ending.py",
                "    if header.parent is None:\n        return\n",
                "    if header.parent is None or ws.status is not WorkflowStatus.COMPLETED:\n"
                "        return\n",
            ),
        ),
        caught_by=(SUB_WORKFLOW,),
    ),
    Mutant(
        id="child-end-of-another-counts",
        bug="The end of a child counts whichever attempt holds which child by then.",
        breaks=("I5", "A-12"),
        edits=(
            Edit(
                f"{DECIDER}/operators/sub_workflow.py",
                "    if attempt.child != event.child:\n        return\n",
                "    if attempt.child is None:\n        return\n",
            ),
        ),
        caught_by=(SUB_WORKFLOW,),
    ),
    Mutant(
        id="child-id-of-the-moment",
        bug="The id of a child is made of the time, not of its parent's task.",
        breaks=("I8", "A-44"),
        edits=(
            Edit(
                f"{DECIDER}/operators/sub_workflow.py",
                "    definition = plan.definition\n    child = child_id(ws.id, attempt.seq)\n",
                "    definition = plan.definition\n"
                "    child = child_id(ws.id, attempt.seq + ws.now_ms)\n",
            ),
        ),
        caught_by=(SUB_WORKFLOW, PROPERTIES, "tests/decider/test_golden.py"),
    ),
    Mutant(
        id="child-outlives-its-parent",
        bug="The clean-up after an end does not terminate the children that are open.",
        breaks=("I4", "A-15"),
        edits=(
            Edit(
                f"{DECIDER}/ending.py",
                '    leave_child(ws, attempt, f"Parent workflow has been terminated with reason:'
                ' {because}")\n',
                "",
            ),
        ),
        caught_by=(SUB_WORKFLOW,),
    ),
    Mutant(
        id="child-outlives-its-task",
        bug="A SUB_WORKFLOW task that times out leaves its child running.",
        breaks=("A-15",),
        edits=(
            Edit(
                f"{DECIDER}/ending.py",
                "    if attempt.child is None or attempt.followed:\n        return\n",
                "    if attempt.child is None or not attempt.followed:\n        return\n",
            ),
        ),
        caught_by=(SUB_WORKFLOW,),
    ),
    Mutant(
        id="drain-leaves-entries",
        bug="The clean-up after an end leaves queue entries and timers behind.",
        breaks=("I3",),
        edits=(Edit(f"{DECIDER}/ending.py", "    ws.ended.append(attempt.seq)\n", ""),),
        caught_by=(ENDINGS, "tests/decider/test_terminate.py", CHAOS),
    ),
    Mutant(
        id="drain-ends-with-its-first-piece",
        bug="The clean-up after an end stops after its first piece.",
        breaks=("I4",),
        edits=(
            Edit(
                f"{DECIDER}/ending.py",
                "    if last < ws.header.next_seq or pausing.is_behind(ws):\n",
                "    if pausing.is_behind(ws):\n",
            ),
        ),
        caught_by=("tests/engine/test_terminating.py", PIECES),
    ),
    Mutant(
        id="drain-forgets-postponed",
        bug="The clean-up after an end leaves behind what a pause had postponed.",
        breaks=("I4",),
        edits=(
            Edit(
                f"{DECIDER}/ending.py",
                "    pausing.forget_piece(ws)\n",
                "    ws.header = replace(ws.header, taken_up=ws.header.postponed)\n",
            ),
        ),
        caught_by=(PAUSING, CHAOS),
    ),
    Mutant(
        id="end-orders-no-removal",
        bug="The end of an execution does not order its removal from the store.",
        breaks=("I7",),
        edits=(
            Edit(
                f"{DECIDER}/ending.py",
                '    ws.order("index")\n    ws.order("remove")\n',
                '    ws.order("index")\n',
            ),
        ),
        caught_by=("tests/engine/test_leaving.py",),
    ),
    Mutant(
        id="end-orders-no-archive",
        bug="An execution whose end needs cleaning up is not archived after that.",
        breaks=("I7", "A-38"),
        edits=(
            Edit(
                f"{DECIDER}/ending.py",
                "        ws.open_attempts = ws.containers = 0\n        finalize(ws)\n",
                "        ws.open_attempts = ws.containers = 0\n",
            ),
        ),
        caught_by=("tests/engine/test_terminating.py", "tests/engine/test_leaving.py", CHAOS),
    ),
    Mutant(
        id="pause-drops-what-follows",
        bug="What would follow while an execution is paused is dropped.",
        breaks=("I4",),
        edits=(
            Edit(
                f"{DECIDER}/decide.py",
                "        pausing.postpone_agenda(ws)\n",
                "        ws.agenda.clear()\n",
            ),
        ),
        caught_by=(PAUSING,),
    ),
    Mutant(
        id="resume-forgets-later-pieces",
        bug="A resume takes up the first piece of what was postponed, and no other.",
        breaks=("I4",),
        edits=(
            Edit(
                f"{DECIDER}/pausing.py",
                "            ws.agenda.append(Step(step.kind, plan, step.ref, step.vector))\n"
                "    go_on(ws)\n",
                "            ws.agenda.append(Step(step.kind, plan, step.ref, step.vector))\n",
            ),
        ),
        caught_by=(f"{PAUSING} -k hundreds",),
    ),
)

GENERATIONS: Final = (
    Mutant(
        id="generation-not-raised",
        bug="A retry goes on in the generation that has ended.",
        breaks=("I2", "A-13"),
        edits=(
            Edit(
                f"{DECIDER}/generations/generations.py",
                "        generation=ws.header.generation + 1,\n",
                "        generation=ws.header.generation,\n",
            ),
        ),
        caught_by=(RETRY,),
    ),
    Mutant(
        id="restart-keeps-attempts",
        bug="A restart leaves the attempts before it in sight.",
        breaks=("I2", "I5", "A-41"),
        edits=(
            Edit(
                f"{DECIDER}/generations/generations.py",
                "        first_seq=ws.next_seq,\n",
                "        first_seq=ws.header.first_seq,\n",
            ),
        ),
        caught_by=(RESTART,),
    ),
    Mutant(
        id="operation-overtakes-clean-up",
        bug="A retry begins before the clean-up after the end is done.",
        breaks=("I2", "I5", "A-13"),
        edits=(
            Edit(
                f"{DECIDER}/generations/generations.py",
                "    if not (ws.over and ws.drain):\n        return False\n",
                "    if not (ws.over and ws.drain < 0):\n        return False\n",
            ),
        ),
        caught_by=(f"{RETRY} -k clean_up",),
    ),
    Mutant(
        id="iteration-over-too-early",
        bug="A loop goes on while what follows in its iteration waits to be opened.",
        breaks=("I4",),
        edits=(
            Edit(
                f"{DECIDER}/operators/do_while.py",
                "    if _goes_on_inside(ws, vector_append(vector, state.iteration)):\n",
                "    if not ws.agenda and ws.pending < 0:\n",
            ),
        ),
        caught_by=("tests/decider/test_joins.py",),
    ),
    Mutant(
        id="loop-looked-at-before-the-walk",
        bug="A loop goes on before a retry has opened what follows in its iteration.",
        breaks=("I4",),
        edits=(
            Edit(
                f"{DECIDER}/decide.py",
                "    if walks.comes_first(ws, step):\n        return\n",
                "",
            ),
            Edit(
                f"{DECIDER}/decide.py",
                "    if ws.header.walk or pausing.is_behind(ws):\n",
                "    if pausing.is_behind(ws):\n",
            ),
        ),
        caught_by=("tests/decider/test_joins.py",),
    ),
    Mutant(
        id="loops-before-what-follows",
        bug="A decision that is cut has loops looked at before what follows in them.",
        breaks=("I4",),
        edits=(
            Edit(
                f"{DECIDER}/decide.py",
                '_BEHIND = {"loop": 1, "jump": 2, "take_back": 2}\n',
                '_BEHIND = {"loop": -1, "jump": 2, "take_back": 2}\n',
            ),
        ),
        caught_by=("tests/decider/test_joins.py",),
    ),
    Mutant(
        id="forced-while-made-anew",
        bug="A task of a DAG that a retry is about to make anew counts as failed for good.",
        breaks=("I4",),
        edits=(
            Edit(
                f"{DECIDER}/outcomes.py",
                "    if attempt.redo == ws.header.generation:\n",
                "    if attempt.redo < 0:\n",
            ),
        ),
        caught_by=("tests/decider/test_cut_recovery.py",),
    ),
    Mutant(
        id="revived-child-not-heard",
        bug="A parent that has ended takes no notice of a child that was retried.",
        breaks=("I8", "A-12"),
        edits=(
            Edit(
                f"{DECIDER}/generations/generations.py",
                "    if ws.over:\n        walk = Walk(\n",
                "    if ws.over and newest.open:\n        walk = Walk(\n",
            ),
        ),
        caught_by=("tests/decider/test_revived_children.py",),
    ),
    Mutant(
        id="overtaken-word-counts",
        bug="A termination by the parent ends a child that a later retry has reached before it.",
        breaks=("I8",),
        edits=(
            Edit(
                f"{DECIDER}/parents_word.py",
                "    if word < ws.header.parents_word:\n",
                "    if word < 0:\n",
            ),
        ),
        caught_by=("tests/decider/test_revived_children.py",),
    ),
    Mutant(
        id="each-its-own-root",
        bug="What an execution starts counts under it, whoever has set it going itself.",
        breaks=("I10",),
        edits=(
            Edit(
                f"{DECIDER}/chains.py",
                "return (ws.header.chain.root or ws.id) if",
                "return ws.id if",
            ),
        ),
        caught_by=("tests/engine/test_wide_chains.py",),
    ),
    Mutant(
        id="late-ends-chain",
        bug="What is ten seconds old because the server is late begins a chain of its own.",
        breaks=("I10",),
        edits=(
            Edit(
                f"{DECIDER}/chains.py",
                "_age_ms(ws) - (late if isinstance(late, int) else 0)",
                "_age_ms(ws)",
            ),
        ),
        caught_by=("tests/engine/test_late_chains.py",),
    ),
)

PLANTED: Final = (*FLOW, *TIME, *ENDS, *GENERATIONS)
