"""Workflows of any shape: what was placed runs, in its order, and nothing else."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, cast

from hypothesis import example, given, settings
from hypothesis import strategies as st

from conductor_py.sdk import TaskSequence, Workflow
from conductor_py.sdk.workflow_tasks import Branch
from conductor_py.testing import MemoryEngine, memory_engine

#: A task is "task"; ("list", shapes), ("switch", shapes) and ("loop", shape) hold lines of others.
Line = list[Any]

_LINES: st.SearchStrategy[Line] = st.lists(
    st.recursive(
        st.just("task"),
        lambda inner: st.one_of(
            st.tuples(
                st.just("list"), st.lists(st.lists(inner, min_size=1, max_size=2), min_size=1)
            ),
            st.tuples(
                st.just("switch"),
                st.lists(st.lists(inner, min_size=1, max_size=2), min_size=1, max_size=3),
            ),
            st.tuples(st.just("loop"), st.lists(inner, min_size=1, max_size=2)),
        ),
        max_leaves=7,
    ),
    min_size=1,
    max_size=4,
)


@dataclass
class _Built:
    """A workflow, and what the shape says of it: the tasks that run, and which before which."""

    workflow: Workflow = field(default_factory=lambda: Workflow("w", version=1))
    runs: set[str] = field(default_factory=set)
    order: set[tuple[str, str]] = field(default_factory=set)
    numbers: Iterator[int] = field(default_factory=itertools.count)

    def line(self, shapes: Line, *, taken: bool) -> tuple[TaskSequence, set[str]]:
        """Build a line; returns it with the tasks of workers in it that run."""
        parts, before = [], set[str]()
        for shape in shapes:
            part, inside = self._part(shape, taken=taken)
            self.order |= {(earlier, later) for earlier in before for later in inside}
            before |= inside
            parts.append(part)
        sequence = self.workflow.sequence_of(parts[0])
        for part in parts[1:]:
            sequence >>= part
        return sequence, before

    def _part(self, shape: Any, *, taken: bool) -> tuple[Branch, set[str]]:
        number = next(self.numbers)
        if shape == "task":
            name = f"t{number}"
            self.runs |= {name} if taken else set()
            return self.workflow.task("work", reference=name), {name} if taken else set()
        kind, inner = shape
        if kind == "loop":
            body, inside = self.line(inner, taken=taken)
            return self.workflow.do_while(f"loop{number}", body, times=1), inside
        if kind == "list":
            built = [self.line(branch, taken=taken) for branch in inner]
            return [branch for branch, _ in built], set[str]().union(*(each for _, each in built))
        route = self.workflow.switch(f"route{number}", "0")
        inside = set[str]()
        for case, branch in enumerate(inner):
            body, found = self.line(branch, taken=taken and case == 0)
            route.case(str(case), body)
            inside |= found
        return route, inside


def _carried_out(engine: MemoryEngine, workflow_id: str) -> list[str]:
    """Do all that is offered, the newest first, until there is no more."""
    done: list[str] = []
    while polled := engine.poll("work", count=100):
        for task in reversed(polled):
            done.append(task["referenceTaskName"].partition("__")[0])
            engine.complete(task)
    found = engine.workflow(workflow_id)
    assert found["status"] == "COMPLETED", found.get("reasonForIncompletion")
    return done


@settings(max_examples=100, deadline=None)
@given(_LINES)
@example([("list", [[("switch", [["task"], ["task"]])], ["task"]]), "task"])
def test_what_was_placed_runs_once_and_in_its_order(shapes: Line) -> None:
    built = _Built()
    line, _ = built.line(shapes, taken=True)
    built.workflow >> line
    engine = memory_engine()
    done = _carried_out(engine, engine.start(cast("Any", built.workflow.to_json())))
    assert sorted(done) == sorted(built.runs)
    at = {reference: index for index, reference in enumerate(done)}
    assert [pair for pair in built.order if at[pair[0]] > at[pair[1]]] == []
