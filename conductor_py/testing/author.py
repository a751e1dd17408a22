"""Random definitions: nested forks, switches, loops, children, every kind of task."""

from __future__ import annotations

import random
from collections.abc import Callable
from itertools import count
from typing import Any

from conductor_py.testing.definitions import (
    Json,
    conditions,
    for_each,
    fork,
    fork_inputs,
    join,
    set_variable,
    simple,
    sub_workflow,
    switch,
    terminate,
    times,
    typed,
    wait,
    workflow,
)

WORKER = "work"
"""The name of every worker task, so that one poll finds them all."""


class Author:
    """Writes one definition."""

    def __init__(self, chance: random.Random) -> None:
        """Draw from ``chance``."""
        self._chance = chance
        self._numbers = count(1)
        self._size = chance.randrange(1, 25)

    def definition(self) -> Json:
        """Write it."""
        tasks = self._list(0)
        return workflow("w", *tasks, variables={"v": 0})

    def _ref(self, letter: str) -> str:
        return f"{letter}{next(self._numbers)}"

    def _list(self, depth: int) -> list[Json]:
        tasks: list[Json] = []
        for _ in range(self._chance.randrange(1, 4)):
            tasks.extend(self._block(depth))
        return tasks

    def leaves(self) -> list[Callable[[int], list[Json]]]:
        """What writes a task without tasks inside; one that is there more often is more likely."""
        work = [self._work, self._work, self._work]
        return [*work, self._variable, self._wait, self._dynamic, self._leaf]

    def _block(self, depth: int) -> list[Json]:
        self._size -= 1
        leaves = self.leaves()
        containers = [self._fork, self._fork, self._switch, self._loop, self._spread, self._child]
        containers += [self._either]
        deeper = depth < 4 and self._size > 0
        kinds = leaves + containers * 2 if deeper else leaves
        return self._chance.choice(kinds)(depth)

    def _work(self, _: int) -> list[Json]:
        facts: Json = {"name": WORKER, "retryCount": self._chance.choice([0, 0, 1, 2])}
        facts["taskDefinition"] = {"name": WORKER, "retryDelaySeconds": self._chance.choice([0, 3])}
        kind = self._chance.random()
        if kind < 0.15:
            facts["optional"] = True
        elif kind < 0.25:
            facts["permissive"] = True
        return [{**simple(self._ref("a")), **facts}]

    def _variable(self, _: int) -> list[Json]:
        return [set_variable(self._ref("v"), v=self._chance.randrange(3))]

    def _wait(self, _: int) -> list[Json]:
        return [wait(self._ref("t"), duration=f"{self._chance.randrange(1, 4)}s")]

    def _dynamic(self, _: int) -> list[Json]:
        ref = self._ref("d")
        inputs = {"n": self._chance.choice([WORKER, WORKER, "SET_VARIABLE"])}
        facts: Json = {"dynamicTaskNameParam": "n", "inputParameters": inputs, "retryCount": 0}
        return [typed("DYNAMIC", ref, **facts)]

    def _fork(self, depth: int) -> list[Json]:
        branches = [self._list(depth + 1) for _ in range(self._chance.randrange(1, 4))]
        anywhere = [task["taskReferenceName"] for branch in branches for task in branch]
        lasts = [branch[-1]["taskReferenceName"] for branch in branches]
        on = self._chance.choice([lasts, lasts[:1], anywhere, []])
        return [fork(self._ref("f"), *branches), join(self._ref("j"), *on)]

    def _switch(self, depth: int) -> list[Json]:
        cases = {name: self._list(depth + 1) for name in ("0", "1")}
        value = self._chance.choice(["0", "1", "2", "${workflow.variables.v}"])
        default = self._list(depth + 1) if self._chance.random() < 0.3 else []
        return [switch(self._ref("s"), value, cases, default)]

    def _leaf(self, _: int) -> list[Json]:
        kind = self._chance.choice(["NOOP", "JSON_JQ_TRANSFORM", "LAMBDA"])
        inputs = {"queryExpression": ".v", "scriptExpression": "return $.v", "v": 1}
        return [typed(kind, self._ref("n"), inputParameters=inputs)]

    def _either(self, depth: int) -> list[Json]:
        """A choice, or a fork, whose outcome an EXCLUSIVE_JOIN takes."""
        lists = [self._list(depth + 1) for _ in range(2)]
        on = [one[-1]["taskReferenceName"] for one in lists]
        after = typed("EXCLUSIVE_JOIN", self._ref("x"), joinOn=self._chance.choice([on, on[:1]]))
        if self._chance.random() < 0.5:
            return [fork(self._ref("f"), *lists), after]
        choice = typed(
            "DECISION",
            self._ref("s"),
            caseValueParam="case",
            inputParameters={"case": self._chance.choice(["0", "1", "2"])},
            decisionCases={"0": lists[0], "1": lists[1]},
        )
        return [choice, after]

    def _loop(self, depth: int) -> list[Json]:
        items: list[Any] = list(range(self._chance.randrange(4)))
        facts: Json = {"optional": True} if self._chance.random() < 0.3 else {}
        loop = for_each(self._ref("l"), items, *self._list(depth + 1), **facts)
        if self._chance.random() < 0.3:
            loop["inputParameters"]["keepLastN"] = self._chance.randrange(1, 3)
        return [loop]

    def _spread(self, _: int) -> list[Json]:
        inputs: list[Any] = list(range(self._chance.randrange(4)))
        task = fork_inputs(self._ref("g"), inputs, forkTaskName=WORKER)
        return [{**task, "optional": self._chance.random() < 0.5}, join(self._ref("j"))]

    def _child(self, depth: int) -> list[Json]:
        inner = self._list(depth + 1)
        if self._chance.random() < 0.1:
            inner.append(terminate(self._ref("e"), self._chance.choice(["COMPLETED", "FAILED"])))
        child = workflow("c", *inner, variables={"v": 1})
        return [sub_workflow(self._ref("u"), child, optional=self._chance.random() < 0.3)]


class RichAuthor(Author):
    """Writes definitions with the operators that only somebody outside ends, too."""

    def definition(self) -> Json:
        """Write it."""
        found = super().definition()
        draw = self._chance.random()
        if draw < 0.25:
            policy = self._chance.choice(["QUEUE", "QUEUE", "REJECT"])
            found["rateLimitConfig"] = {
                "rateLimitKey": "k",
                "concurrentExecLimit": self._chance.randrange(1, 3),
                "policy": policy,
            }
        if self._chance.random() < 0.2:
            found["failureWorkflow"] = "rescue"
        if self._chance.random() < 0.15:
            found |= {
                "timeoutSeconds": self._chance.randrange(5, 40),
                "timeoutPolicy": "TIME_OUT_WF",
            }
        return found

    def leaves(self) -> list[Callable[[int], list[Json]]]:
        """What writes a task without tasks inside."""
        return [
            *super().leaves(),
            self._human,
            self._endless,
            self._start,
            self._pull,
            self._event,
            self._limited,
        ]

    def _human(self, _: int) -> list[Json]:
        facts: Json = {"optional": True} if self._chance.random() < 0.3 else {}
        return [typed("HUMAN", self._ref("h"), **facts)]

    def _endless(self, _: int) -> list[Json]:
        return [typed("WAIT", self._ref("t"))]

    def _start(self, _: int) -> list[Json]:
        request: Json = {"name": "other", "input": {"v": 1}}
        if self._chance.random() < 0.3:
            request["idempotencyKey"] = f"key{self._chance.randrange(3)}"
            request["idempotencyStrategy"] = "RETURN_EXISTING"
        inputs = {"startWorkflow": request}
        return [typed("START_WORKFLOW", self._ref("o"), inputParameters=inputs)]

    def _pull(self, _: int) -> list[Json]:
        inputs = {"batchSize": self._chance.randrange(1, 3)}
        if self._chance.random() < 0.4:
            inputs["blocking"] = False
        return [typed("PULL_WORKFLOW_MESSAGES", self._ref("p"), inputParameters=inputs)]

    def _event(self, _: int) -> list[Json]:
        return [
            typed(
                "EVENT",
                self._ref("e"),
                sink="conductor",
                asyncComplete=self._chance.random() < 0.3,
            )
        ]

    def _limited(self, _: int) -> list[Json]:
        definition = {
            "name": "limited",
            "retryDelaySeconds": 0,
            "retryCount": self._chance.randrange(2),
            "concurrentExecLimit": 1,
            "responseTimeoutSeconds": self._chance.choice([2, 600]),
            "timeoutSeconds": self._chance.choice([0, 900]),
            "pollTimeoutSeconds": self._chance.choice([0, 0, 20]),
            "timeoutPolicy": self._chance.choice(["RETRY", "TIME_OUT_WF", "ALERT_ONLY"]),
        }
        return [{**simple(self._ref("b")), "name": "limited", "taskDefinition": definition}]


class GraphAuthor(RichAuthor):
    """Writes DAGs; what only a list can hold stands in a loop or a sub-workflow."""

    def definition(self) -> Json:
        """Write it."""
        found = super().definition()
        nodes = [self._node() for _ in range(self._chance.randrange(2, 10))]
        relations: list[Json] = []
        for at, node in enumerate(nodes):
            before = self._chance.sample(nodes[:at], min(at, self._chance.choice((0, 1, 1, 2, 3))))
            relations += [self._relation(each, node) for each in before]
        for node in [each for each in nodes if each["type"] == "CONDITIONS"]:
            relations += self._completed(node, relations, nodes)
        relations += [{"postTask": node["taskReferenceName"]} for node in nodes[:1]]
        strategy = self._chance.choice(("CONTINUE", "CONTINUE", "END"))
        return found | {"tasks": nodes, "relations": relations, "failureStrategy": strategy}

    def _node(self) -> Json:
        draw = self._chance.random()
        if draw < 0.1:
            return conditions(self._ref("c"))
        if draw < 0.2:
            inputs = {"case": self._chance.choice(("0", "1", "2"))}
            facts: Json = {"evaluatorType": "value-param", "expression": "case"}
            return typed("SWITCH", self._ref("s"), inputParameters=inputs, **facts)
        tasks = self._block(2)
        rule: Json = {
            "triggerRule": self._chance.choice(("ALL", "ALL", "ALL", "ANY_LIVE", "ALL_DONE"))
        }
        rule["prohibited"] = self._chance.random() < 0.05
        if len(tasks) == 1 and tasks[0]["type"] not in {"SWITCH", "DECISION"}:
            return tasks[0] | rule
        if self._chance.random() < 0.5:
            return times(self._ref("l"), self._chance.choice((1, 2)), *tasks) | rule
        return sub_workflow(self._ref("u"), workflow("c", *tasks, variables={"v": 1})) | rule

    def _relation(self, before: Json, after: Json) -> Json:
        found = {"preTask": before["taskReferenceName"], "postTask": after["taskReferenceName"]}
        if before["type"] == "CONDITIONS":
            return found | {"label": self._chance.choice(("success", "failure"))}
        if before["type"] == "SWITCH":
            case = self._chance.choice(("0", "1", ""))
            return found | ({"label": "case", "case": case} if case else {"label": "default"})
        if after["type"] == "CONDITIONS":
            return found | {"label": "test"}
        return found | {"label": self._chance.choice(("ok", "ok", "ok", "always", "order"))}

    def _completed(self, judge: Json, relations: list[Json], nodes: list[Json]) -> list[Json]:
        """What a CONDITIONS needs: something to look at, and both its sides."""
        ref = judge["taskReferenceName"]
        found: list[Json] = []
        if not any(each["postTask"] == ref and each["label"] == "test" for each in relations):
            looked_at = self._work(0)[0]
            nodes.append(looked_at)
            before = looked_at["taskReferenceName"]
            found.append({"preTask": before, "postTask": ref, "label": "test"})
        sides = {each["label"] for each in relations if each.get("preTask") == ref}
        for label in ("success", "failure"):
            if label not in sides:
                nodes.append(self._work(0)[0])
                after = nodes[-1]["taskReferenceName"]
                found.append({"preTask": ref, "postTask": after, "label": label})
        return found
