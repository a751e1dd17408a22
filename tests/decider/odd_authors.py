"""Random definitions with tasks that are not what they seem, and fail, or wait, for that."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from conductor_py.testing.author import WORKER, Author, GraphAuthor, RichAuthor
from tests.builders import Json, dynamic_fork, join, simple, typed

_BECOMES: Final = (
    *("CONDITIONS", "DECISION", "DO_WHILE", "DYNAMIC", "EVENT", "EXCLUSIVE_JOIN", "FORK_JOIN"),
    *("FORK_JOIN_DYNAMIC", "HUMAN", "JOIN", "NOOP", "SET_VARIABLE", "SUB_WORKFLOW", "SWITCH"),
    *("TERMINATE", "WAIT", "", WORKER),
)
_BRANCHES: Final = ("SIMPLE", "SIMPLE", "HUMAN", "SET_VARIABLE", "TERMINATE")


class _OddAuthor(Author):
    def leaves(self) -> list[Callable[[int], list[Json]]]:
        """What writes a task without tasks inside."""
        return [*super().leaves(), self._odd, self._odd, self._empty, self._brought]

    def _excused(self) -> Json:
        return self._chance.choice(({}, {}, {"optional": True}, {"permissive": True}))

    def _odd(self, _: int) -> list[Json]:
        inputs = {"n": self._chance.choice(_BECOMES)}
        facts: Json = {"dynamicTaskNameParam": "n", "inputParameters": inputs, "retryCount": 0}
        return [typed("DYNAMIC", self._ref("d"), **facts, **self._excused())]

    def _empty(self, _: int) -> list[Json]:
        """A dynamic fork that finds nothing in the workflow's input."""
        return [dynamic_fork(self._ref("f"), **self._excused()), join(self._ref("j"))]

    def _brought(self, _: int) -> list[Json]:
        ref = self._ref("f")
        refs = [f"{ref}_{n}" for n in range(self._chance.randrange(4))]
        branches = [
            simple(each, name=WORKER) | {"type": self._chance.choice(_BRANCHES)} | self._excused()
            for each in refs
        ]
        given = {"inputParameters": {"branches": branches, "inputs": {}}}
        return [dynamic_fork(ref, **self._excused()) | given, join(self._ref("j"))]


class OddAuthor(_OddAuthor, RichAuthor):
    """Writes lists of tasks."""


class OddGraphAuthor(_OddAuthor, GraphAuthor):
    """Writes DAGs, some tasks of which are prohibited."""
