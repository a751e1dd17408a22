"""Definitions of all task types that mean harm: scripts, templates, addresses, recursion."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from conductor_py.testing.author import WORKER, GraphAuthor, RichAuthor
from conductor_py.testing.definitions import do_while, dynamic_fork, inline, join, typed
from tests.fuzz.values import URLS, Chance, Json

_LONGEST_LOOP: Final = 3


class HostileAuthor(RichAuthor):
    """Writes what `RichAuthor` does, with tasks that mean harm among it.

    At most one task of a definition starts the definition itself: a chain or a recursion has a
    bound in the engine, a tree of chains only that of who may start executions at all.
    """

    def __init__(self, draw: Chance, name: str) -> None:
        super().__init__(draw.random)
        self._draw = draw
        self._name = name
        self._recurs = False

    def leaves(self) -> list[Callable[[int], list[Json]]]:
        """What writes a task without tasks inside."""
        return [
            *super().leaves(),
            self._script,
            self._transform,
            self._lambda,
            self._decision,
            self._switch_by_script,
            self._turns,
            self._http,
            self._kafka,
            self._unknown_fork,
            self._templates,
            self._published,
            self._itself,
            self._moment,
            self._odd_dynamic,
        ]

    def _start(self, _: int) -> list[Json]:
        return self._templates(0)  # what it would start is nobody's

    def _script(self, _: int) -> list[Json]:
        return [inline(self._ref("i"), self._draw.script(), v=self._draw.value(2))]

    def _transform(self, _: int) -> list[Json]:
        inputs = {"queryExpression": self._draw.jq(), "v": self._draw.value(2)}
        return [typed("JSON_JQ_TRANSFORM", self._ref("q"), inputParameters=inputs)]

    def _lambda(self, _: int) -> list[Json]:
        inputs = {"scriptExpression": self._draw.script(), "v": self._draw.value(2)}
        return [typed("LAMBDA", self._ref("k"), inputParameters=inputs)]

    def _decision(self, depth: int) -> list[Json]:
        facts = {"caseExpression": self._draw.script(), "decisionCases": {"1": self._work(depth)}}
        return [typed("DECISION", self._ref("s"), **facts)]

    def _switch_by_script(self, depth: int) -> list[Json]:
        facts: dict[str, Any] = {
            "evaluatorType": self._draw.one(("javascript", "graaljs", "value-param", "x")),
            "expression": self._draw.script(),
            "decisionCases": {"1": self._work(depth)},
            "defaultCase": self._work(depth) if self._draw.often(0.5) else [],
        }
        return [typed("SWITCH", self._ref("s"), **facts)]

    def _turns(self, depth: int) -> list[Json]:
        ref = self._ref("l")
        ends = f"$.{ref}['iteration'] < {self._chance.randrange(_LONGEST_LOOP)}"
        condition = ends if self._draw.often(0.7) else f"({ends}) && ({self._draw.script()})"
        return [do_while(ref, condition, *self._templates(depth))]

    def _http(self, _: int) -> list[Json]:
        asked = {
            "uri": self._draw.one(URLS),
            "method": self._draw.one(("GET", "POST", "TRACE", "\r\n", "")),
            "headers": {"X": self._draw.text()},
            "body": self._draw.value(3),
        }
        facts = {"inputParameters": {"http_request": asked}, "retryCount": 0}
        return [typed("HTTP", self._ref("c"), **facts)]

    def _kafka(self, _: int) -> list[Json]:
        asked = {
            "bootStrapServers": self._draw.one(("127.0.0.1:1", "nobody.invalid:9092", "", ":")),
            "topic": "t",
            "value": self._draw.value(3),
        }
        facts = {"inputParameters": {"kafka_request": asked}, "retryCount": 0}
        return [typed("KAFKA_PUBLISH", self._ref("k"), **facts)]

    def _unknown_fork(self, _: int) -> list[Json]:
        return [dynamic_fork(self._ref("f")), join(self._ref("j"))]

    def _templates(self, _: int) -> list[Json]:
        inputs = {self._draw.text(): self._draw.value(2) for _ in range(3)}
        return [typed("SET_VARIABLE", self._ref("v"), inputParameters=inputs)]

    def _published(self, _: int) -> list[Json]:
        sink = self._draw.one(
            ("conductor", "conductor:done", "kafka:t", "", "x:y", "conductor:\x00")
        )
        return [typed("EVENT", self._ref("e"), sink=sink, inputParameters={"v": "${workflow}"})]

    def _itself(self, depth: int) -> list[Json]:
        if self._recurs:
            return self._work(depth)
        self._recurs = True
        if self._draw.often(0.5):
            asked = {"startWorkflow": {"name": self._name, "input": {"v": self._draw.value(3)}}}
            return [typed("START_WORKFLOW", self._ref("o"), inputParameters=asked)]
        return [typed("SUB_WORKFLOW", self._ref("u"), subWorkflowParam={"name": self._name})]

    def _moment(self, _: int) -> list[Json]:
        inputs = self._draw.one(
            (
                {"duration": "1s"},
                {"duration": self._draw.text()},
                {"until": self._draw.text()},
                {"until": "2026-01-01 00:00 GMT"},
                {"duration": self._draw.one(("1 day", "99999999 days", "-1s", "0s"))},
            )
        )
        return [typed("WAIT", self._ref("t"), inputParameters=inputs)]

    def _odd_dynamic(self, _: int) -> list[Json]:
        named = self._draw.one((WORKER, "JOIN", "DO_WHILE", "HTTP", "TERMINATE", self._draw.text()))
        facts = {"dynamicTaskNameParam": "n", "inputParameters": {"n": named}, "retryCount": 0}
        return [typed("DYNAMIC", self._ref("d"), **facts)]


class HostileGraphAuthor(HostileAuthor, GraphAuthor):
    """The same as DAGs."""


def drawn(draw: Chance, name: str) -> Json:
    """A definition; a fourth of them is damaged in places."""
    author = HostileGraphAuthor if draw.often(0.25) else HostileAuthor
    found = author(draw, name).definition()
    if draw.often(0.25):
        found = draw.mutated(found, 0.02)
        if not isinstance(found, dict):
            return found
    found |= {"name": name, "version": draw.one((1, 1, 2))}
    found.pop("failureWorkflow", None)
    if draw.often(0.1):
        found["outputParameters"] = {"x": draw.text(), "y": draw.value(2)}
    if draw.often(0.1):
        found["timeoutSeconds"] = draw.one((1, 5, 60))
        found["timeoutPolicy"] = draw.one(("TIME_OUT_WF", "ALERT_ONLY", "x"))
    return found
