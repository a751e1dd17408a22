"""Bugs in what a worker author installs."""

from __future__ import annotations

from typing import Final

from tests.mutants.mutant import SDK, Edit, Mutant

LEASE: Final = "tests/sdk/test_lease.py"
REPORT: Final = "tests/sdk/test_report.py"
CLIENT: Final = "tests/sdk/test_client.py"
RUNNER: Final = "tests/sdk/test_runner.py"

PLANTED: Final = (
    Mutant(
        id="reports-after-its-lease",
        bug="A worker whose lease has run out reports all the same.",
        breaks=("I6", "A-53"),
        edits=(
            Edit(
                f"{SDK}/lease.py",
                "return self.context.cancelled.is_set() or self._clock.monotonic_ms() "
                ">= self.until_ms",
                "return self.context.cancelled.is_set()",
            ),
        ),
        caught_by=(LEASE,),
    ),
    Mutant(
        id="report-sent-for-ever",
        bug="A report in doubt is sent again after its lease has ended.",
        breaks=("I6",),
        edits=(
            Edit(
                f"{SDK}/report.py",
                "        while not lease.is_lost():\n",
                "        while failures < 50:\n",
            ),
        ),
        caught_by=(REPORT,),
    ),
    Mutant(
        id="poll-sent-twice",
        bug="A poll whose answer was lost is sent again: what it had claimed is nobody's.",
        breaks=("I4", "A-54"),
        edits=(
            Edit(
                f"{SDK}/task_calls.py",
                "            query=query,\n            resend=False,\n",
                "            query=query,\n            resend=True,\n",
            ),
        ),
        caught_by=(CLIENT,),
    ),
    Mutant(
        id="lease-counted-from-the-answer",
        bug="An extension counts from its answer: the worker believes in it for too long.",
        breaks=("I1", "A-53"),
        edits=(
            Edit(
                f"{SDK}/lease.py",
                "        lease.extended(sent_ms)\n",
                "        lease.extended(self._clock.monotonic_ms())\n",
            ),
        ),
        caught_by=(LEASE,),
    ),
    Mutant(
        id="claim-not-sent",
        bug="A worker reports without the claim that it holds.",
        breaks=("I1", "I6", "A-53"),
        edits=(
            Edit(
                f"{SDK}/task.py",
                "            claim_token=task.claim_token,\n",
                "            claim_token=None,\n",
            ),
        ),
        caught_by=(REPORT,),
    ),
    Mutant(
        id="refused-extension-ignored",
        bug="A worker whose extension is refused goes on as if it held the task.",
        breaks=("I6", "A-53"),
        edits=(
            Edit(
                f"{SDK}/lease.py",
                "            if not lease.reporting:\n"
                '                self._cancel(lease, "claim_moved")\n',
                "            lease.postpone()\n",
            ),
        ),
        caught_by=(LEASE,),
    ),
    Mutant(
        id="stop-drops-what-arrives",
        bug="A task that arrives while a worker stops is not handed back.",
        breaks=("I4",),
        edits=(
            Edit(
                f"{SDK}/poll_loop.py",
                "            self._hand_back(task)\n            return\n",
                "            return\n",
            ),
        ),
        caught_by=(RUNNER,),
    ),
)
