"""What must be true afterwards, of documents, journals and the store. Pure: it reads nothing.

`judge` looks at one execution, `Evidence.violations` at all of them together.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from tests.chaos.kinds import CAUSES, KINDS, TICK, TICK_EVERY_S, Expected, Json
from tests.chaos.load import Started
from tests.chaos.store import Restart

_SLACK_MS = 100
_ON_ITS_WAY_MS = 6_000
"""What was being carried out at a crash, for what the crash took, ends at most so much later."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Violation:
    """Something that must not be: of which class, which execution, in words."""

    kind: str
    execution: str
    sentence: str


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredAttempt:
    """The identity of an attempt as it is stored (I5)."""

    generation: int
    ref: str
    vector: str
    retry_count: int
    lost: int


@dataclass(slots=True, kw_only=True)
class Evidence:
    """All that is known when everything is quiet.

    ``documents`` are all executions that can be read, by id; ``attempts`` their stored attempts;
    ``open`` the ids of what has not ended; ``reports`` the lines of the workers; ``restarts`` are
    those of Redis, and ``forgetful`` says that they may lose the last moment; ``terminations`` say
    when the end of an execution was first asked for, ``unanswered`` how many operations on it were
    sent and not answered.
    """

    started: Sequence[Started]
    documents: Mapping[str, Json]
    attempts: Mapping[str, Sequence[StoredAttempt]]
    open: Collection[str] = ()
    found: Collection[str] = ()
    reports: Sequence[Json] = ()
    restarts: Sequence[Restart] = ()
    forgetful: bool = False
    terminations: Mapping[str, int] = field(default_factory=dict)
    unanswered: Mapping[str, int] = field(default_factory=dict)
    rest: Mapping[str, int] = field(default_factory=dict)
    #: What a forgetful Redis took, counted: it is no violation there.
    forgotten: Counter[str] = field(default_factory=Counter)

    def violations(self) -> list[Violation]:
        """Everything that is wrong."""
        return [
            *self._lost(),
            *(_violation("stuck", each, "has not ended") for each in self.open),
            *self._ended_wrongly(),
            *self._scheduled_twice(),
            *self._reports_dropped(),
            *self._families(),
            *self._caused(),
            *self._keys(),
            *self._ticks(),
            *self._not_found(),
            *(
                _violation("left over", "", f"{count} {name} in Redis")
                for name, count in self.rest.items()
                if count
            ),
        ]

    # -- one after the other -----------------------------------------------------------------------

    def _lost(self) -> Iterator[Violation]:
        for each in self.started:
            if each.id in self.documents or each.id in self.open:
                continue
            if self._was_forgotten(each.sent_ms, each.at_ms):
                self.forgotten["starts"] += 1
            else:
                yield _violation("lost", each.id, f"a {each.kind} that was acknowledged is gone")

    def _ended_wrongly(self) -> Iterator[Violation]:
        for execution, document in self.documents.items():
            if execution not in self.open:
                for sentence in judge(document, self.unanswered.get(execution, 0)):
                    yield _violation("wrong", execution, sentence)

    def _scheduled_twice(self) -> Iterator[Violation]:
        for execution, attempts in self.attempts.items():
            for attempt, count in Counter(attempts).items():
                if count > 1:
                    yield _violation("scheduled twice", execution, f"{count} times {attempt}")
        for execution, document in self.documents.items():
            for sentence in chains(document):
                yield _violation("scheduled twice", execution, sentence)

    def _reports_dropped(self) -> Iterator[Violation]:
        tasks = {task["taskId"]: task for doc in self.documents.values() for task in doc["tasks"]}
        for report in self.reports:
            sentence = self._dropped(report, tasks.get(report["task"]))
            if not sentence:
                continue
            if self._was_forgotten(report["sent"], report["at"]):
                self.forgotten["results"] += 1
            else:
                yield _violation("lost", report["task"], sentence)

    def _dropped(self, report: Json, task: Json | None) -> str:
        """Why an accepted report is not to be seen; empty when it is, or may be absent."""
        execution = self.documents.get(report["task"][:36])
        if execution is None:  # said of the execution itself
            return ""
        if task is None:
            begun_again = execution["input"].get("by") in {"restart", "rerun"}
            return "" if begun_again else "a result was accepted for a task that is not there"
        if task["status"] == report["status"] and task["outputData"] == report["output"]:
            return ""
        end = task["endTime"]
        if task["status"] == "CANCELED":  # events are taken in the order that they came in
            end = min(end, self.terminations.get(report["task"][:36], end))
        ended_before = task["status"] != "COMPLETED" and end <= report["at"]
        if ended_before or (report["status"] == "FAILED" and task["status"] == "FAILED"):
            return ""
        return f"{report['status']} was accepted, but the task is {task['status']}"

    def _families(self) -> Iterator[Violation]:
        children: dict[str, list[str]] = defaultdict(list)
        for execution, document in self.documents.items():
            if "parentWorkflowTaskId" in document:
                children[document["parentWorkflowTaskId"]].append(execution)
        for document in self.documents.values():
            for task in document["tasks"]:
                if task["taskType"] != "SUB_WORKFLOW" or task["status"] != "COMPLETED":
                    continue
                found = children.pop(task["taskId"], [])
                if found != [task.get("subWorkflowId")]:
                    yield _violation(
                        "children",
                        task["taskId"],
                        f"holds {task.get('subWorkflowId')}, has {found}",
                    )
        for task_id, orphans in children.items():
            for orphan in orphans:
                yield from self._unless_forgotten(
                    orphan, _violation("children", orphan, f"no task {task_id} holds it")
                )

    def _caused(self) -> Iterator[Violation]:
        effects: dict[str, list[str]] = defaultdict(list)
        for execution, document in self.documents.items():
            if document["workflowName"] == "chaos_handled":
                effects[document["input"]["by"]].append(execution)
        for execution, document in self.documents.items():
            if document["workflowName"] in CAUSES and execution not in self.open:
                found = effects.pop(execution, [])
                if len(found) != 1:
                    violation = _violation("effects", execution, f"has caused {len(found)}")
                    yield from self._unless_forgotten(execution, violation, *found)
        for by, found in effects.items():
            yield from self._unless_forgotten(
                found[0], _violation("effects", found[0], f"caused by {by}, which is not there")
            )

    def _keys(self) -> Iterator[Violation]:
        keys: dict[tuple[str, str], list[str]] = defaultdict(list)
        for execution, document in self.documents.items():
            if document.get("idempotencyKey"):
                keys[document["workflowName"], document["idempotencyKey"]].append(execution)
        for (_, key), found in keys.items():
            if len(found) > 1:
                yield from self._unless_forgotten(
                    found[0], _violation("keys", found[0], f"{len(found)} have {key}"), *found[1:]
                )

    def _ticks(self) -> Iterator[Violation]:
        instants = sorted(
            (document["input"]["_scheduledTime"], execution)
            for execution, document in self.documents.items()
            if document["workflowName"] == TICK
        )
        for (earlier, _), (later, execution) in pairwise(instants):
            if later - earlier != TICK_EVERY_S * 1000:
                sentence = f"fired for {later}, after {earlier}"
                yield from self._unless_forgotten(
                    execution, _violation("schedule", execution, sentence)
                )

    def _not_found(self) -> Iterator[Violation]:
        for execution in self.documents:
            if execution not in self.open and execution not in self.found:
                yield _violation("search", execution, "is not found by a search")

    # -- what a forgetful Redis takes --------------------------------------------------------------

    def _was_forgotten(self, sent_ms: int, answered_ms: int) -> bool:
        """Whether what was sent and answered then may have been stored in what a crash took."""
        return self.forgetful and any(
            each.kept_until_ms - _SLACK_MS <= answered_ms and sent_ms <= each.killed_ms
            for each in self.restarts
        )

    def _unless_forgotten(
        self, execution: str, violation: Violation, *others: str
    ) -> Iterator[Violation]:
        """What an execution did that was then forgotten may be left outside of Redis."""
        documents = [self.documents[each] for each in (execution, *others)]
        instants = [document[name] for document in documents for name in ("startTime", "endTime")]
        if any(self._was_forgotten(at - _ON_ITS_WAY_MS, at) for at in instants):
            self.forgotten["traces of what was forgotten"] += 1
        else:
            yield violation


def judge(document: Json, unanswered: int = 0) -> list[str]:
    """What is wrong with one execution that has ended, on which so many operations were sent that
    nobody answered.
    """
    expected = KINDS[document["workflowName"]].expect(document["input"])
    wrong = []
    if document["status"] != expected.status:
        reason = document.get("reasonForIncompletion", "no reason")
        wrong.append(f"{document['status']} ({reason}) instead of {expected.status}")
    output = {name: document["output"].get(name) for name in expected.output}
    if output != expected.output:
        wrong.append(f"output {output} instead of {dict(expected.output)}")
    by_ref: dict[str, list[Json]] = defaultdict(list)
    for task in document["tasks"]:
        by_ref[task["referenceTaskName"]].append(task)
    wrong += [f"{ref} should not be there" for ref in by_ref.keys() - expected.done - expected.cut]
    for ref in sorted(expected.done):
        most = 1 + unanswered if ref in expected.again else 1
        wrong += _ran_wrongly(ref, by_ref.get(ref, []), expected, most)
    return wrong


def _ran_wrongly(ref: str, tasks: Iterable[Json], expected: Expected, most: int) -> Iterator[str]:
    statuses = Counter(task["status"] for task in tasks)
    if not 1 <= statuses["COMPLETED"] <= most:
        yield f"{ref} completed {statuses['COMPLETED']} times: {dict(statuses)}"
    if statuses["FAILED"] != expected.failed.get(ref, 0):
        yield f"{ref} failed {statuses['FAILED']} times"
    if bool(statuses["TIMED_OUT"]) != (ref in expected.late):
        yield f"{ref} timed out {statuses['TIMED_OUT']} times"
    if statuses["FAILED_WITH_TERMINAL_ERROR"] and ref not in expected.broken:
        yield f"{ref} failed for good"
    for task in tasks:
        lost = "lost" in task.get("reasonForIncompletion", "")
        if task["status"] == "CANCELED" and not lost:
            yield f"{ref} was cancelled: {task.get('reasonForIncompletion')}"
        if task["status"] in {"SCHEDULED", "IN_PROGRESS"}:
            yield f"{ref} is {task['status']} although the execution has ended"


def chains(document: Json) -> list[str]:
    """References whose attempts are not one chain, each but the first the successor of the one
    before.
    """
    if document["workflowName"] == "chaos_broken":  # its generations begin chains anew
        return []
    by_ref: dict[str, list[Json]] = defaultdict(list)
    for task in sorted(document["tasks"], key=lambda task: int(task["seq"])):
        by_ref[task["referenceTaskName"]].append(task)
    wrong = []
    for ref, tasks in by_ref.items():
        before = [task.get("retriedTaskId") for task in tasks]
        if before != [None, *(task["taskId"] for task in tasks[:-1])]:
            wrong.append(f"{ref} has {len(tasks)} attempts that are no chain")
    return wrong


def _violation(kind: str, execution: str, sentence: str) -> Violation:
    return Violation(kind=kind, execution=execution, sentence=sentence)
