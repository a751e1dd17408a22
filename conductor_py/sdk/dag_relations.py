"""What follows what in one DAG. Every relation is sound when it is taken: it joins two tasks that
are there, is there once, and leads nowhere round.
"""

from __future__ import annotations

from collections.abc import Iterator

from conductor_py.errors import DefinitionError
from conductor_py.model.definitions import ORDER, Relation

_SHOWN = 10


class Relations:
    """The references and relations of the DAG ``name``, in the order in which they were given."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._taken: dict[Relation, None] = {}
        self._before: dict[str, list[str]] = {}
        self._after: dict[str, list[str]] = {}
        self._leading: set[str] = set()

    def __iter__(self) -> Iterator[Relation]:
        return iter(self._taken)

    def add_task(self, reference: str) -> None:
        """Take a reference; raises ``DefinitionError`` when there is one like it."""
        if not reference.strip():
            raise self.wrong("a task needs a reference")
        if reference in self._after:
            raise self.wrong(f"there is a task {reference} already")
        self._before[reference], self._after[reference] = [], []

    def relate(self, before: str, after: str, label: str, case: str | None = None) -> None:
        """Let ``after`` come after ``before``; raises ``DefinitionError``.

        What CONDITIONS look at may be told twice: by the condition, and by a relation.
        """
        relation = Relation(pre_task=before, post_task=after, label=label, case=case)
        if relation in self._taken:
            if label == "test":
                return
            raise self.wrong(f"{before} leads to {after} already, labelled {_shown(relation)}")
        if before == after:
            raise self.wrong(f"{before} must not come after itself")
        round_ = self._way(after, before)
        if round_:
            shown = round_ if len(round_) <= _SHOWN else [*round_[:_SHOWN], "…", before]
            raise self.wrong(f"must not form a cycle: {' → '.join([before, *shown])}")
        self._taken[relation] = None
        if label != ORDER:
            self._leading.add(before)
        self._after[before].append(after)
        self._before[after].append(before)

    def is_end(self, reference: str) -> bool:
        """Whether nothing follows from a task; what only waits for it does not."""
        return reference not in self._leading

    def behind(self, reference: str) -> set[str]:
        """All that comes after a task, however far."""
        return set(self._walk(reference))

    def wrong(self, sentence: str) -> DefinitionError:
        """Say of which DAG it is."""
        return DefinitionError(f"DAG {self.name}: {sentence}")

    def _way(self, start: str, goal: str) -> list[str]:
        """Name the tasks on a way from one task to another, both included; none if there is none.

        Who writes a DAG from its beginning, or from its end, never waits for this.
        """
        if not self._after[start] or not self._before[goal]:
            return []
        came_from = self._walk(start)
        if goal not in came_from:
            return []
        way = [goal]
        while way[-1] != start:
            way.append(came_from[way[-1]])
        return way[::-1]

    def _walk(self, start: str) -> dict[str, str]:
        """Reach all behind a task; each with the one that it was reached from."""
        came_from: dict[str, str] = {}
        here = [start]
        while here:
            at = here.pop()
            for after in self._after[at]:
                if after not in came_from:
                    came_from[after] = at
                    here.append(after)
        return came_from


def _shown(relation: Relation) -> str:
    return relation.label if relation.case is None else f"{relation.label} {relation.case}"
