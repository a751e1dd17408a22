"""Authors of the definitions that are simulated: they write tasks that end, whoever dies."""

from __future__ import annotations

import random
from typing import Any, Final

from conductor_py.testing.author import WORKER, Author, RichAuthor
from conductor_py.testing.definitions import (
    Json,
    fork,
    inline,
    join,
    simple,
    sub_workflow,
    typed,
    workflow,
)

LIMITED: Final = "limited"
RATED: Final = "rated"
"""Task types with a concurrent limit and with a rate."""


class SimulationAuthor(RichAuthor):
    """Writes definitions whose tasks end by themselves, whoever dies: all have short timeouts."""

    def __init__(self, chance: random.Random, size: int) -> None:
        """Write about ``size`` blocks."""
        super().__init__(chance)
        self._size = size

    def definition(self) -> Json:
        """Write it."""
        found = {**super().definition(), "workflowStatusListenerEnabled": True}
        if self._chance.random() < 0.15:
            found["restartable"] = self._chance.random() < 0.8
        return found

    def leaves(self) -> list[Any]:
        """What writes a task without tasks inside."""
        work = [self._work] * 6
        return [*super().leaves(), *work, self._limited, self._rated, self._rated, self._script]

    def _human(self, depth: int) -> list[Json]:
        return [self._timed(task) for task in super()._human(depth)]

    def _endless(self, depth: int) -> list[Json]:
        return [self._timed(task) for task in super()._endless(depth)]

    def _child(self, depth: int) -> list[Json]:
        return [self._timed(task) for task in super()._child(depth)]

    def _timed(self, task: Json) -> Json:
        """Let a task that no worker takes time out now and then."""
        chance = self._chance
        if chance.random() < 0.6:
            return task
        definition = {
            "name": task["name"],
            "retryCount": chance.choice((0, 1)),
            "retryDelaySeconds": chance.choice((0, 1)),
            "timeoutSeconds": chance.choice((2, 5, 12)),
            "responseTimeoutSeconds": 1,
            "timeoutPolicy": chance.choice(("RETRY", "RETRY", "TIME_OUT_WF", "ALERT_ONLY")),
        }
        return {**task, "taskDefinition": definition}

    def _policy(self) -> Json:
        chance = self._chance
        policy: Json = {
            "name": WORKER,
            "retryCount": chance.choice((0, 1, 2)),
            "retryLogic": chance.choice(("FIXED", "EXPONENTIAL_BACKOFF", "LINEAR_BACKOFF")),
            "retryDelaySeconds": chance.choice((0, 0, 1, 3)),
            "responseTimeoutSeconds": chance.choice((2, 5, 15)),
            "timeoutSeconds": chance.choice((0, 0, 0, 6, 20)),
            "timeoutPolicy": chance.choice(("RETRY", "RETRY", "TIME_OUT_WF", "ALERT_ONLY")),
            "pollTimeoutSeconds": chance.choice((0, 0, 0, 9)),
        }
        if 0 < policy["timeoutSeconds"] <= policy["responseTimeoutSeconds"]:
            policy["timeoutSeconds"] = policy["responseTimeoutSeconds"] + 3
        return policy

    def _work(self, _: int) -> list[Json]:
        policy = self._policy()
        facts: Json = {"name": WORKER, "taskDefinition": policy}
        kind = self._chance.random()
        if kind < 0.15:
            facts["optional"] = True
        elif kind < 0.25:
            facts["permissive"] = True
        task = {**simple(self._ref("a")), **facts}
        del task["retryCount"]
        return [task]

    def _limited(self, _: int) -> list[Json]:
        definition = {**self._policy(), "name": LIMITED, "concurrentExecLimit": 1}
        task = {**simple(self._ref("b")), "name": LIMITED, "taskDefinition": definition}
        del task["retryCount"]
        return [task]

    def _rated(self, _: int) -> list[Json]:
        task = {**simple(self._ref("q")), "name": RATED}
        del task["retryCount"]
        return [task]

    def _script(self, _: int) -> list[Json]:
        return [inline(self._ref("i"), "({sum: $.v + 1})", v=self._chance.randrange(3))]


class FaithfulAuthor(Author):
    """Writes definitions whose outcome no order, no crash and no repetition may change."""

    def __init__(self, chance: random.Random, size: int) -> None:
        """Write about ``size`` blocks."""
        super().__init__(chance)
        self._size = size

    def leaves(self) -> list[Any]:
        """What writes a task without tasks inside."""
        return [self._work, self._work, self._work, self._wait, self._dynamic, self._leaf]

    def _work(self, _: int) -> list[Json]:
        task = simple(self._ref("a"), name=WORKER)
        del task["retryCount"]
        return [task]

    def _dynamic(self, _: int) -> list[Json]:
        inputs = {"n": WORKER}
        ref = self._ref("d")
        return [typed("DYNAMIC", ref, dynamicTaskNameParam="n", inputParameters=inputs)]

    def _leaf(self, _: int) -> list[Json]:
        return [inline(self._ref("i"), "({sum: $.v + 1})", v=self._chance.randrange(3))]

    def _fork(self, depth: int) -> list[Json]:
        branches = [self._list(depth + 1) for _ in range(self._chance.randrange(1, 4))]
        lasts = [branch[-1]["taskReferenceName"] for branch in branches]
        return [fork(self._ref("f"), *branches), join(self._ref("j"), *lasts)]

    _either = _fork

    def _child(self, depth: int) -> list[Json]:
        # Without parameters its output is that of the task that ends last.
        outputs = {"value": "done"}
        child = workflow("c", *self._list(depth + 1), variables={"v": 1}, outputParameters=outputs)
        return [sub_workflow(self._ref("u"), child)]


__all__ = ["LIMITED", "RATED", "FaithfulAuthor", "SimulationAuthor"]
