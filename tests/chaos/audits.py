"""Audits of the live store while everything goes wrong: the invariants hold at every moment.

No finding is let pass, not while faults happen either. What may be left without its execution
meanwhile is nothing but the pages of one that is being brought back from the archive: they have an
expiry, and the audit knows them by it. An inbox, a log, parked entries or records of long tasks
that stay without an execution never may. What has ended on the way is no finding, as an audit looks
twice.

When all is over one more audit is made, and then there may not even be a remark: nothing overdue,
dead, unreadable or in quarantine.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Iterator, Sequence
from typing import Any

from conductor_py.errors import ConductorError
from conductor_py.sdk import Client
from tests.chaos.verdict import Violation

_EVERY_S = 5.0
_BETWEEN_S = 0.1
_PAGE = 300


class Audits:
    """Audits from beginning to end, one after the other, in a thread."""

    def __init__(self, clients: Sequence[Client]) -> None:
        """Ask these API nodes in turn."""
        self._clients = clients
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._run, name="audits", daemon=True)
        self.completed = 0
        self.executions = 0
        self.violations: dict[tuple[str, str, str], str] = {}

    def begin(self) -> None:
        self._thread.start()

    def end(self) -> list[Violation]:
        """Stop, and say what was found."""
        self._over.set()
        self._thread.join(60)
        return self.found()

    def found(self) -> list[Violation]:
        """What was found up to now."""
        return [
            Violation(kind="invariant", execution=subject, sentence=f"{name} {code}: {detail}")
            for (name, code, subject), detail in self.violations.items()
        ]

    def _run(self) -> None:
        while not self._over.wait(_EVERY_S):
            self._audit()

    def _audit(self) -> None:
        """Look at all pages; one that is not answered is asked for again, of the next node."""
        cursor = ""
        for client in itertools.cycle(self._clients):
            if self._over.wait(_BETWEEN_S):
                return
            try:
                page: Any = client.audit_page(cursor, size=_PAGE)
            except ConductorError:
                continue
            self.executions += page["executions"]
            for found in page["findings"]:
                if found.get("invariant"):
                    key = found["invariant"], found["code"], found.get("subject", "")
                    self.violations[key] = found.get("detail", "")
            cursor = str(page["cursor"])
            if not cursor:
                self.completed += 1
                return


def last_audit(client: Client) -> Iterator[Violation]:
    """Audit the whole store once more, when nothing is under way; every finding is a violation."""
    cursor = None
    while cursor != "":
        page: Any = client.audit_page(cursor or "", size=_PAGE)
        cursor = str(page["cursor"])
        for found in page["findings"]:
            sentence = f"at the end: {found['code']}: {found.get('detail', '')}"
            yield Violation(kind="invariant", execution=found["subject"], sentence=sentence)
