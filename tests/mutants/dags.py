"""Bugs in DAGs: gates, recovery, parameters, priorities, and the catalog that they come from."""

from __future__ import annotations

from typing import Final

from tests.mutants.mutant import DECIDER, ENGINE, Edit, Mutant

MODEL: Final = "conductor_py/model"
DAG: Final = "tests/decider/test_dag.py"
ORDERED: Final = "tests/decider/test_dag_order.py"
SCOPES: Final = "tests/decider/test_dag_scopes.py"
FORCED: Final = "tests/decider/test_dag_forced.py"
RANDOM: Final = "tests/decider/test_random_dags.py"
GRAPHS: Final = f"{RANDOM} -k seeds0"
PARAMETERS: Final = "tests/decider/test_parameters.py"
CATALOG: Final = "tests/engine/test_catalog.py"
APPLYING: Final = "tests/engine/test_applying.py"
PRIORITIES: Final = "tests/model/test_priorities.py"
BACKFILLS: Final = "tests/api/test_backfills.py"

GATES: Final = (
    Mutant(
        id="gate-concludes-one-early",
        bug="A gate concludes when all but one of the tasks before it have told their end.",
        breaks=("I5",),
        edits=(
            Edit(
                f"{DECIDER}/gates.py",
                "    if state.told == gate.before and not state.verdict:\n",
                "    if state.told >= gate.before - 1 and not state.verdict:\n",
            ),
        ),
        caught_by=(DAG,),
    ),
    Mutant(
        id="blocked-told-to-nobody",
        bug="A task that cannot run tells nobody behind it.",
        breaks=("I4",),
        edits=(
            Edit(
                f"{DECIDER}/gates.py",
                "            _forget(ws, done)\n        settled(ws, node)\n        return\n",
                "            _forget(ws, done)\n        ws.final += 1\n        return\n",
            ),
        ),
        caught_by=(DAG,),
    ),
    Mutant(
        id="any-live-blocked-by-one",
        bug="One failure keeps a task from running that any live one is enough for.",
        breaks=("I4",),
        edits=(
            Edit(
                f"{DECIDER}/gates.py",
                'gate.rule == "ANY_LIVE" or not state.blocked',
                "not state.blocked",
            ),
        ),
        caught_by=(DAG,),
    ),
    Mutant(
        id="default-taken-with-its-case",
        bug="The default of a SWITCH is taken although a relation has the case.",
        breaks=("I5",),
        edits=(
            Edit(
                f"{DECIDER}/gates.py",
                'return "" if named else chosen',
                "return chosen",
            ),
        ),
        caught_by=(DAG, GRAPHS),
    ),
    Mutant(
        id="handled-failure-counts",
        bug="A failure that somebody handles fails the execution all the same.",
        breaks=("I2",),
        edits=(
            Edit(
                f"{DECIDER}/compile.py",
                'return looked_at and "ALL" not in plain',
                "return False",
            ),
        ),
        caught_by=(DAG,),
    ),
    Mutant(
        id="end-goes-on",
        bug="Under END a failure that nobody handles lets everything else run on.",
        breaks=("I2",),
        edits=(
            Edit(
                f"{DECIDER}/gates.py",
                '    if ws.plan.definition.failure_strategy == "END":\n        return False\n',
                "",
            ),
        ),
        caught_by=(f"{RANDOM} -k nobody_handles", DAG),
    ),
    Mutant(
        id="order-lets-a-task-run",
        bug="What a task has only waited for counts as a reason to run it.",
        breaks=("I5",),
        edits=(
            Edit(
                f"{DECIDER}/gates.py",
                '    if edge.label == ORDER:\n        return ""\n    if became',
                '    if edge.label == ORDER:\n        return "live"\n    if became',
            ),
        ),
        caught_by=(ORDERED, GRAPHS),
    ),
    Mutant(
        id="order-not-taken-back",
        bug="What is opened again by force is not waited for again.",
        breaks=("I4",),
        edits=(
            Edit(
                f"{DECIDER}/gates.py",
                "    _wait_again(ws, waited)\n",
                "    _wait_again(ws, [])\n",
            ),
        ),
        caught_by=(ORDERED,),
    ),
    Mutant(
        id="order-runs-what-follows-again",
        bug="A recovery runs again what has only waited for the task that runs again.",
        breaks=("I5",),
        edits=(
            Edit(
                f"{DECIDER}/gates.py",
                "state.fresh or (fresh and edge.label != ORDER)",
                "state.fresh or fresh",
            ),
        ),
        caught_by=(ORDERED, BACKFILLS),
    ),
)

RECOVERY: Final = (
    Mutant(
        id="recovery-keeps-what-read-the-old",
        bug="A task keeps its record although one before it has run again.",
        breaks=("I5",),
        edits=(
            Edit(
                f"{DECIDER}/gates.py",
                "    again = fresh or walk.scope == TASK_PRE\n",
                "    again = walk.scope == TASK_PRE\n",
            ),
        ),
        caught_by=(DAG,),
    ),
    Mutant(
        id="recovery-runs-all-again",
        bug="A retry of a DAG runs again what has succeeded.",
        breaks=("I5",),
        edits=(
            Edit(
                f"{DECIDER}/gates.py",
                "    if before.status.successful:\n        return True\n    if node.gate is None",
                "    if node.gate is None",
            ),
        ),
        caught_by=(DAG,),
    ),
    Mutant(
        id="part-runs-what-is-behind",
        bug="A rerun of one task alone runs what is behind it, too.",
        breaks=("I5",),
        edits=(
            Edit(
                f"{DECIDER}/scopes.py",
                "    if walk.scope == TASK_ONLY:\n        return ref != walk.ref\n",
                "",
            ),
        ),
        caught_by=(SCOPES,),
    ),
    Mutant(
        id="stale-forgotten",
        bug="What is older than something before it is not marked as stale.",
        breaks=("I9",),
        edits=(
            Edit(
                f"{DECIDER}/scopes.py",
                "            if attempt.generation < newest:\n",
                "            if attempt.generation > newest:\n",
            ),
        ),
        caught_by=(SCOPES,),
    ),
    Mutant(
        id="forced-leaves-blocked",
        bug="A failure that counts as done leaves what it had blocked as it is.",
        breaks=("I4",),
        edits=(
            Edit(
                f"{DECIDER}/gates.py",
                '                blocked=state.blocked - (was == "blocked"),\n'
                '                verdict="",\n',
                '                blocked=state.blocked - (was == "blocked"),\n',
            ),
        ),
        caught_by=(FORCED,),
    ),
)

VALUES: Final = (
    Mutant(
        id="parameter-of-the-workflow-first",
        bug="A parameter of the workflow hides that of a task and what tasks hand on.",
        breaks=("I9",),
        edits=(
            Edit(
                f"{DECIDER}/parameters.py",
                "    if found is None and spot is not None:\n",
                "    if found is None and spot is not None and name not in ws.plan.definition"
                ".parameters:\n",
            ),
        ),
        caught_by=(PARAMETERS,),
    ),
    Mutant(
        id="replaced-value-counts",
        bug="A value that a later task has replaced on its way still counts.",
        breaks=("I9",),
        edits=(
            Edit(
                f"{DECIDER}/upstream.py",
                "                found.append(given)\n                is_replaced = True\n",
                "                found.append(given)\n",
            ),
        ),
        caught_by=(PARAMETERS,),
    ),
    Mutant(
        id="dates-by-the-clock",
        bug="Dates are those of the moment, not of the business time.",
        breaks=("I9",),
        edits=(
            Edit(
                f"{DECIDER}/parameters.py",
                "at = ws.header.business_at or ws.header.created_at",
                "at = ws.now_ms",
            ),
        ),
        caught_by=(PARAMETERS,),
    ),
    Mutant(
        id="child-about-its-own-start",
        bug="A sub-workflow is about the moment of its own start.",
        breaks=("I9",),
        edits=(
            Edit(
                f"{DECIDER}/operators/sub_workflow.py",
                "    return at or own_at, zone\n",
                "    return at, zone\n",
            ),
        ),
        caught_by=(PARAMETERS,),
    ),
    Mutant(
        id="task-priority-ignored",
        bug="Tasks of one execution go by age alone, whatever their priority.",
        breaks=("I3",),
        edits=(
            Edit(
                f"{MODEL}/priorities.py",
                'level = _TASK_LEVELS.get(task_priority or "", 0)',
                "level = 0",
            ),
        ),
        caught_by=(PRIORITIES,),
    ),
    Mutant(
        id="priority-starves",
        bug="Ageing counts for nothing.",
        breaks=("I4",),
        edits=(
            Edit(
                f"{MODEL}/priorities.py",
                "step = min(self.ageing_ms or _FOR_EVER_MS, _FOR_EVER_MS)",
                "step = _FOR_EVER_MS",
            ),
        ),
        caught_by=(PRIORITIES,),
    ),
)

VERSIONS: Final = (
    Mutant(
        id="save-whatever-the-etag",
        bug="Of two who save at once, the second writes over what it has not read.",
        breaks=("I9",),
        edits=(
            Edit(
                f"{ENGINE}/catalog/heads.py", "    if etag and etag != head.etag:\n", "    if 0:\n"
            ),
        ),
        caught_by=(CATALOG,),
    ),
    Mutant(
        id="published-changed-unawares",
        bug="A published workflow is changed by a save that is no draft.",
        breaks=("I9",),
        edits=(
            Edit(
                f"{ENGINE}/catalog/catalog.py",
                "    if head.published and not as_draft:\n",
                "    if 0:\n",
            ),
        ),
        caught_by=(CATALOG,),
    ),
    Mutant(
        id="shared-task-changed-unawares",
        bug="A task of a published workflow is changed by another one that has it.",
        breaks=("I9",),
        edits=(
            Edit(
                f"{ENGINE}/catalog/catalog.py",
                "        if not as_draft:\n            self._pinning.refuse_shared",
                "        if 0:\n            self._pinning.refuse_shared",
            ),
        ),
        caught_by=(CATALOG,),
    ),
    Mutant(
        id="all-tasks-written-again",
        bug="An edit of one task writes a version of every task.",
        breaks=("I9",),
        edits=(
            Edit(
                f"{ENGINE}/catalog/pinning.py",
                "    if before is not None and before.digest == digest:\n",
                "    if 0 and before is not None:\n",
            ),
        ),
        caught_by=(CATALOG,),
    ),
    Mutant(
        id="draft-starts",
        bug="What starts by its name is the version that is edited.",
        breaks=("I9",),
        edits=(
            Edit(
                f"{ENGINE}/catalog/publishing.py",
                "        pointer = dump_pointer(code, version)\n",
                "        pointer = dump_pointer(code, head.latest)\n",
            ),
        ),
        caught_by=(CATALOG,),
    ),
    Mutant(
        id="purged-while-pinned",
        bug="A version of a task is forgotten although a workflow pins it.",
        breaks=("I9",),
        edits=(
            Edit(
                f"{ENGINE}/catalog/catalog.py",
                "relied = self._pinning.refuse_pinned(code, version) if kind is Kind.TASK else ()",
                "relied = ()",
            ),
        ),
        caught_by=(CATALOG,),
    ),
    Mutant(
        id="applied-over-a-change",
        bug="A version of a task is given to a user that changed meanwhile, and it is not noticed.",
        breaks=("I9",),
        edits=(
            Edit(
                f"{ENGINE}/catalog/applying.py",
                "            if not sheet.change(writes):\n                raise _meanwhile()\n",
                "            sheet.change(writes)\n",
            ),
        ),
        caught_by=(APPLYING,),
    ),
    Mutant(
        id="backfill-in-one-lane",
        bug="A backfill deals its runs to one lane, however many are asked for.",
        breaks=("I10",),
        edits=(
            Edit(
                f"{MODEL}/backfills.py",
                "count = min(self.lanes, len(self.runs))",
                "count = 1",
            ),
        ),
        caught_by=(BACKFILLS,),
    ),
    Mutant(
        id="backfill-depends-on-what-failed",
        bug="In a backfill that goes on, a run depends on the one before it in its lane.",
        breaks=("I5",),
        edits=(
            Edit(
                f"{MODEL}/backfills.py",
                'label = "ok" if backfill.on_failure is OnFailure.STOP_LANE else ORDER',
                'label = "ok"',
            ),
        ),
        caught_by=(BACKFILLS,),
    ),
)

PLANTED: Final = (*GATES, *RECOVERY, *VALUES, *VERSIONS)
