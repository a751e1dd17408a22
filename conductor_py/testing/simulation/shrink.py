"""Make a failing run small: take out faults, actions, tasks and processes while it still fails.

A run is data, so a smaller one is run in the same way. What counts as the same failure is the
invariant that does not hold.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from conductor_py.testing.definitions import Json
from conductor_py.testing.simulation.scenario import Deployment, Scenario

Fails = Callable[[Scenario], bool]

_PLAINER: tuple[dict[str, Any], ...] = (
    {"schedulers": 0},
    {"systems": 1},
    {"systems": 0},
    {"workers": 1},
    {"apis": 1},
    {"sweepers": 1},
    {"effects": 1},
    {"sweep_batch": 50},
    {"partitions": 1},
    {"local_only": False},
    {"decision_attempts": 1_000, "decision_rounds": 4_000},
    {"soft_bytes": 1 << 20},
    {"shard_lease_ms": 30_000},
)


def shrink(scenario: Scenario, fails: Fails, *, runs: int = 400) -> Scenario:
    """Find a smaller scenario that fails as well, in at most so many runs."""
    budget = _Budget(fails, runs)
    before = None
    while before != scenario and budget.left:
        before = scenario
        scenario = _fewer(scenario, budget, "faults")
        scenario = _fewer(scenario, budget, "actions")
        scenario = _fewer(scenario, budget, "schedules")
        scenario = _plainer(scenario, budget)
        scenario = _shorter(scenario, budget)
    return scenario


class _Budget:
    def __init__(self, fails: Fails, runs: int) -> None:
        self._fails = fails
        self.left = runs

    def fails(self, scenario: Scenario) -> bool:
        if not self.left:
            return False
        self.left -= 1
        return self._fails(scenario)


def _fewer(scenario: Scenario, budget: _Budget, what: str) -> Scenario:
    """Take out parts of a list: halves first, then ever smaller pieces, then one by one."""
    kept: tuple[Any, ...] = getattr(scenario, what)
    size = max(len(kept) // 2, 1)
    while kept and size:
        at = 0
        while at < len(kept):
            fewer = kept[:at] + kept[at + size :]
            changes: dict[str, Any] = {what: fewer}
            if budget.fails(replace(scenario, **changes)):
                kept = fewer
            else:
                at += size
        size //= 2
    found: dict[str, Any] = {what: kept}
    return replace(scenario, **found)


def _plainer(scenario: Scenario, budget: _Budget) -> Scenario:
    """Have fewer processes, and settings as they usually are."""
    for changes in _PLAINER:
        deployment: Deployment = replace(scenario.deployment, **changes)
        if deployment == scenario.deployment:
            continue
        plainer = replace(scenario, deployment=deployment)
        if budget.fails(plainer):
            scenario = plainer
    return scenario


def _shorter(scenario: Scenario, budget: _Budget) -> Scenario:
    """Take tasks out of the definitions, or put what is in them in their place."""
    for number in range(len(scenario.definitions)):
        again = True
        while again and budget.left:
            again = False
            document = scenario.definitions[number]
            for tasks in _shorter_lists(document["tasks"]):
                if not tasks:
                    continue
                definitions = list(scenario.definitions)
                definitions[number] = {**document, "tasks": tasks}
                shorter = replace(scenario, definitions=tuple(definitions))
                if budget.fails(shorter):
                    scenario, again = shorter, True
                    break
    return scenario


def _shorter_lists(tasks: Sequence[Json]) -> Iterator[list[Json]]:
    """Make every list with one task less, or with one task plainer."""
    whole = list(tasks)
    for at, task in enumerate(whole):
        with_join = task["type"] in {"FORK_JOIN", "FORK_JOIN_DYNAMIC"}
        rest = whole[at + 1 + with_join :]
        yield [*whole[:at], *rest]
        for body in _bodies(task):
            yield [*whole[:at], *body, *rest]
        for plainer in _plainer_tasks(task):
            yield [*whole[:at], plainer, *whole[at + 1 :]]


def _bodies(task: Json) -> Iterator[list[Json]]:
    yield from task.get("forkTasks", [])
    yield from task.get("decisionCases", {}).values()
    for name in ("defaultCase", "loopOver"):
        if task.get(name):
            yield task[name]
    child = task.get("subWorkflowParam", {}).get("workflowDefinition")
    if child:
        yield child["tasks"]


def _plainer_tasks(task: Json) -> Iterator[Json]:
    """Make every task with less in it."""
    branches = task.get("forkTasks", [])
    if len(branches) > 1:
        for at in range(len(branches)):
            yield {**task, "forkTasks": [*branches[:at], *branches[at + 1 :]]}
    for at, branch in enumerate(branches):
        for body in filter(None, _shorter_lists(branch)):
            yield {**task, "forkTasks": [*branches[:at], body, *branches[at + 1 :]]}
    for name, case in task.get("decisionCases", {}).items():
        for body in _shorter_lists(case):
            yield {**task, "decisionCases": {**task["decisionCases"], name: body}}
    for body in _shorter_lists(task.get("defaultCase", [])):
        yield {**task, "defaultCase": body}
    for body in filter(None, _shorter_lists(task.get("loopOver", []))):
        yield {**task, "loopOver": body}
    yield from _plainer_children(task)


def _plainer_children(task: Json) -> Iterator[Json]:
    params = task.get("subWorkflowParam", {})
    child = params.get("workflowDefinition")
    for body in filter(None, _shorter_lists(child["tasks"] if child else [])):
        shorter = {**params, "workflowDefinition": {**child, "tasks": body}}
        yield {**task, "subWorkflowParam": shorter}


__all__ = ["shrink"]
