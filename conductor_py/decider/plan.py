"""The compiled form of a definition: immutable, found by the hash of what it was compiled from.

A plan answers in constant time what decide asks of a reference: where it stands, what follows,
which joins count it and what its completion makes decide read. The branches of a dynamic fork and a
resolved dynamic task bring a *fragment*: a plan of its own, whose nodes hang below the node (the
anchor) of the plan that opened it.
"""

from __future__ import annotations

from collections.abc import Mapping

from conductor_py.decider.expressions.expressions import Template
from conductor_py.model.definitions import Relation, WorkflowDef, WorkflowTask
from conductor_py.records import dataclass, field

CONTAINERS = frozenset({"JOIN", "EXCLUSIVE_JOIN", "DO_WHILE"})
"""Types that only wait for other attempts of the same execution."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Gate:
    """What decides whether a task of a DAG runs, and whom its end is told.

    ``before`` is the number of edges that lead to it, ``ordered`` that of those that are labelled
    order; ``after`` are those that lead away.
    ``handled`` says that its failure is expected: something else follows from it, and no more.
    ``tests`` are the tasks of whose end a CONDITIONS task judges.
    """

    rule: str
    before: int
    after: tuple[Relation, ...]
    handled: bool
    ordered: int = 0
    tests: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """One task of a definition, with its place.

    ``container`` is the reference of the SWITCH, FORK_JOIN or DO_WHILE it stands in, ``None`` on
    top. ``following`` is the next reference of the same list. ``loops`` are the DO_WHILEs around
    it, outermost first. ``joins`` are the JOINs that wait for it. ``inputs`` is its input, ``None``
    to be compiled when opened (branches of a dynamic fork). ``gate`` belongs to the tasks of a DAG.
    """

    ref: str
    task: WorkflowTask
    container: str | None
    following: str | None
    loops: tuple[str, ...]
    joins: tuple[str, ...]
    inputs: Template | None
    gate: Gate | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """A compiled definition. ``first`` is the reference to begin with, ``None`` for an empty
    definition.

    ``reads`` are, for each reference, the store reads that its completion is likely to need (``*``:
    for those not listed). In a fragment ``anchor`` names the reference that brought it and
    ``parent`` the plan that one stands in; ``branches`` are the first references of the branches of
    a dynamic fork. ``tells`` says that one of its tasks has ``onStateChange``. ``roots`` are the
    references that a DAG begins with. ``hands_on`` are, by parameter, the references that hand it
    on, ``before`` what stands right before each (``model.upstream``), ``ranks`` their order from
    the beginning; all are empty where no task hands on any. ``hides`` are the masked fields.
    """

    hash: str
    definition: WorkflowDef
    nodes: Mapping[str, Node]
    first: str | None
    outputs: Template
    reads: Mapping[str, tuple[str, ...]]
    anchor: str = ""
    parent: str = ""
    branches: tuple[str, ...] = ()
    tells: bool = False
    roots: tuple[str, ...] = ()
    hands_on: Mapping[str, frozenset[str]] = field(default_factory=dict)
    before: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    ranks: Mapping[str, int] = field(default_factory=dict)
    hides: frozenset[str] = frozenset()

    @property
    def is_dag(self) -> bool:
        """Whether its tasks follow each other by relations."""
        return bool(self.roots)
