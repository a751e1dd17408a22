"""One sender: a sequence of steps, each drawn by seed, actor and number.

What an answer names (ids of executions, tasks, files) is mixed into later steps. So a seed repeats
the same steps about the same things; ids, and what a race decides, are those of the run.
"""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from typing import Any, Final, Protocol

from tests.fuzz import framing
from tests.fuzz.definitions import drawn
from tests.fuzz.findings import Answer, Findings, Place
from tests.fuzz.known import Known
from tests.fuzz.requests import Request, request
from tests.fuzz.routes import Routes
from tests.fuzz.steering import STEERING
from tests.fuzz.values import QUERIES, STATUSES, Chance, Json

NAMES: Final = 6
WORKERS: Final = ("work", "limited", "work", "ev")
_OPEN: Final = 40
#: Each is removed for itself: a thousand take their minute, and no sender is to wait for it.
_REMOVED: Final = 100


class Way(Protocol):
    """What carries requests to a server."""

    @property
    def host(self) -> str:
        """As it stands in `Host`."""
        ...

    def send(self, request: Request) -> Answer:
        """Exchange one request."""
        ...

    def send_raw(self, raw: framing.Raw) -> Answer:
        """Send bytes that are no request."""
        ...

    def leave(self, request: Request) -> Answer:
        """Send a request and be gone."""
        ...

    def close(self) -> None:
        """Let go of connections."""
        ...


class Actor:
    """Sends what its steps say, and has its findings judged."""

    def __init__(self, number: int, seed: int, way: Way, findings: Findings) -> None:
        self.number = number
        self.step = 0
        self.known = Known()
        self._seed = seed
        self._line = way
        self._findings = findings
        self._routes = Routes()
        self._names = tuple(f"fuzz-{number}-{each}" for each in range(NAMES))
        self.known.add("name", *self._names, "work")
        self.known.add("task_type", *WORKERS)
        self.known.add("ref", "a1", "a2", "t1", "h1", "i1", "l1")
        self.known.add("schedule", f"every-{number}")
        self.known.add("event", *(f"conductor:{name}:done" for name in self._names))
        self._kinds: tuple[tuple[int, Callable[[Chance], None]], ...] = (
            (40, self._any_route),
            (6, self._frame),
            (10, self._register),
            (14, self._start),
            (16, self._work),
            (14, self._steer),
            (3, self._schedule),
            (3, self._handler),
            (3, self._file),
            (5, self._search),
            (2, self._leave),
            (2, self._tidy),
        )

    def take(self, step: int) -> None:
        """Take a step; its chance depends on nothing but seed, actor and number."""
        self.step = step
        chance = Chance(random.Random(f"{self._seed}/{self.number}/{step}"))
        weights = [weight for weight, _ in self._kinds]
        chance.random.choices([kind for _, kind in self._kinds], weights)[0](chance)

    def close(self) -> None:
        """Let go of connections."""
        self._line.close()

    def _send(self, sent: Request) -> Answer:
        answer = self._line.send(sent)
        base = f"http://{self._line.host}"
        self._findings.answered(sent, answer, self._place, base)
        return answer

    @property
    def _place(self) -> Place:
        return Place(actor=self.number, step=self.step)

    def _any_route(self, chance: Chance) -> None:
        self._learn(self._send(self._routes.draw(chance, self.known)))

    def _frame(self, chance: Chance) -> None:
        raw = framing.drawn(chance)
        self._findings.answered_raw(raw, self._line.send_raw(raw), self._place)

    def _leave(self, chance: Chance) -> None:
        self._line.leave(self._routes.draw(chance, self.known))

    def _register(self, chance: Chance) -> None:
        definition = drawn(chance, chance.one(self._names))
        one = chance.often(0.3)
        body = chance.body(definition if one else [definition])
        method, query = ("POST", [("overwrite", True)]) if one else ("PUT", [])
        kind = "definitions"
        self._send(request(kind, method, "/api/metadata/workflow", body=body, query=query))
        if chance.often(0.1):
            body = chance.body(chance.value())
            self._send(request(kind, "PUT", "/api/metadata/taskdefs", body=body))

    def _start(self, chance: Chance) -> None:
        name = chance.one(self._names)
        asked: dict[str, Json] = {"name": name, "input": {"v": chance.value(2), "x": [1]}}
        if chance.often(0.3):
            asked["input"] |= {"branches": self._branches(chance), "inputs": chance.value(2)}
        if chance.often(0.5):
            asked["workflowDef"] = drawn(chance, name)
        if chance.often(0.2):
            asked |= {"idempotencyKey": chance.one(("k", "k:1", chance.text()))}
            asked |= {"idempotencyStrategy": chance.one(("FAIL", "RETURN_EXISTING", "x"))}
        if chance.often(0.1):
            asked |= {"correlationId": "c", "priority": chance.count()}
        if chance.often(0.1):
            asked |= {"taskToDomain": {chance.one(("*", "work")): chance.text()}}
        answer = self._send(request("starts", "POST", "/api/workflow", body=chance.body(asked)))
        if answer.status == 200:
            self.known.add("workflow_id", answer.body.decode())

    def _branches(self, chance: Chance) -> Json:
        good = [
            {
                "name": "work",
                "taskReferenceName": f"b{each}",
                "type": chance.one(("SIMPLE", "JOIN")),
            }
            for each in range(chance.random.randrange(4))
        ]
        return chance.mutated(good, 0.1)

    def _work(self, chance: Chance) -> None:
        path = "/api/tasks/poll/batch/{}"
        query = [("count", chance.one((1, 5, 20))), ("timeout", 0), ("workerid", self.number)]
        polled = self._send(request("polls", "GET", path, chance.one(WORKERS), query=query))
        tasks = _json(polled)
        for task in tasks if isinstance(tasks, list) else ():
            self.known.add("task_id", task["taskId"])
            self.known.add("ref", task["referenceTaskName"])
            result = {
                "workflowInstanceId": task["workflowInstanceId"],
                "taskId": task["taskId"],
                "status": chance.one(STATUSES),
                "outputData": {"v": chance.value(2)},
                "callbackAfterSeconds": chance.one((0, 0, 1, chance.count())),
            }
            if chance.often(0.3):
                result |= {"claimToken": task.get("claimToken"), "logs": [{"log": chance.text()}]}
            if chance.often(0.1):
                result = chance.mutated(result, 0.2)
            path = chance.one(("/api/tasks", "/api/tasks", "/api/tasks/update-v2"))
            self._send(request("results", "POST", path, body=chance.body(result)))

    def _steer(self, chance: Chance) -> None:
        method, path, facts = chance.one(STEERING)
        body, query = facts(chance, self.known)
        if "{" in path:
            names = [self.known.one(chance, "workflow_id")]
            names += [self.known.one(chance, "ref")] * (path.count("{}") - 1)
        else:
            names, body = [], [self.known.one(chance, "workflow_id") for _ in range(3)]
        sent = None if body is None else chance.body(body)
        self._send(request("steering", method, path, *names, body=sent, query=query))

    def _schedule(self, chance: Chance) -> None:
        name, path = f"every-{self.number}", "/api/scheduler/schedules"
        if chance.often(0.5):
            schedule: Json = {
                "name": name,
                "cronExpression": chance.one(("* * * * * *", "*/3 * * * * *", chance.text())),
                "startWorkflowRequest": {"name": chance.one(self._names), "input": {"v": 1}},
                "overlapPolicy": chance.one(("SKIP", "ALLOW")),
            }
            body = chance.body(chance.mutated(schedule, 0.02))
            self._send(request("schedules", "POST", path, body=body))
        else:
            verb = chance.one(("", "/pause", "/resume", "/run"))
            method = {"": "DELETE", "/run": "POST"}.get(verb, "PUT")
            self._send(request("schedules", method, path + "/{}" + verb, name))

    def _handler(self, chance: Chance) -> None:
        workflow = chance.one(self._names)
        target = {"workflowId": "${workflowInstanceId}", "taskRefName": "t1"}
        action = chance.one(
            (
                {"action": "start_workflow", "start_workflow": {"name": workflow}},
                {"action": "complete_task", "complete_task": target},
                {"action": "fail_task", "fail_task": target | {"output": {"v": chance.value(3)}}},
                {"action": "x"},
            )
        )
        handler: Json = {
            "name": f"handler-{self.number}",
            "event": f"conductor:{workflow}:done",
            "condition": chance.one(("", "true", "$.v > 1", chance.script())),
            "actions": [action],
            "active": True,
        }
        body = chance.body(chance.mutated(handler, 0.01))
        method = chance.one(("POST", "PUT"))
        self._send(request("events", method, "/api/event", body=body))
        if chance.often(0.2):
            self._send(request("events", "DELETE", "/api/event/{}", f"handler-{self.number}"))

    def _file(self, chance: Chance) -> None:
        owner = self.known.one(chance, "workflow_id", wrong=0)
        odd = chance.text() if chance.often(0.3) else "x.bin"
        facts = {"workflowId": owner, "fileName": odd, "contentType": "text/html"}
        told = _json(self._send(request("files", "POST", "/api/files", body=chance.body(facts))))
        if not isinstance(told, dict) or "fileHandleId" not in told:
            return
        file = told["fileHandleId"].rpartition("/")[2]
        self.known.add("file_id", file)
        body = chance.random.randbytes(chance.random.randrange(2_000))
        self._send(request("files", "PUT", "/api/files/content/{}/{}", owner, file, body=body))
        for path in ("/api/files/{}/{}/upload-complete", "/api/files/{}/{}/multipart"):
            answer = self._send(request("files", "POST", path, owner, file))
            begun = _json(answer)
            if isinstance(begun, dict) and "uploadId" in begun:
                self.known.add("upload_id", begun["uploadId"])
        self._send(request("files", "GET", "/api/files/content/{}/{}", owner, file))

    def _search(self, chance: Chance) -> None:
        path = "/api/" + chance.one(
            ("workflow/search", "workflow/search-v2", "workflow/search-by-tasks", "tasks/search")
        )
        asked = chance.one(QUERIES) if chance.often(0.7) else chance.text()
        query = [("query", asked), ("start", chance.count()), ("size", chance.count())]
        if chance.often(0.3):
            query += [("freeText", chance.one(("*", "x", chance.text())))]
        if chance.often(0.3):
            query += [("sort", chance.one(("startTime:DESC", "status:ASC", chance.text())))]
        self._send(request("searches", "GET", path, query=query))

    def _tidy(self, chance: Chance) -> None:
        """Remove what runs under one of the names, so that a long run does not fill up."""
        path = "/api/workflow/running/{}"
        running = _json(self._send(request("tidying", "GET", path, chance.one(self._names))))
        if isinstance(running, list) and len(running) > _OPEN // NAMES:
            body = json.dumps(running[: -_OPEN // NAMES][:_REMOVED]).encode()
            path = "/api/workflow/bulk/terminate-remove"
            self._send(request("tidying", "DELETE", path, body=body))

    def _learn(self, answer: Answer) -> None:
        """Take in the names that an answer of any route has."""
        told = _json(answer)
        if answer.status >= 300 or not isinstance(told, dict):
            return
        for name, kind in (("workflowId", "workflow_id"), ("taskId", "task_id"), ("code", "code")):
            if isinstance(told.get(name), str | int):
                self.known.add(kind, str(told[name]))


def _json(answer: Answer) -> Any:
    try:
        return json.loads(answer.body)
    except ValueError:
        return None
