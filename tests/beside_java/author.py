"""Random definitions of what Conductor's own server carries out without a worker of the user's, and
of tasks for a worker that does what its input says.
"""

import json
import random
import re
from collections.abc import Callable
from itertools import count
from typing import Any

from conductor_py.testing.author import WORKER
from conductor_py.testing.definitions import (
    do_while,
    fork,
    inline,
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
from tests.beside_java.server import Json

GIVEN: Json = {"n": 2, "s": "a", "list": [1, 2, 3], "map": {"k": "v"}, "z": None}

_DEEPEST = 3
_MOST_BRANCHES = 3
_SCRIPTS = (
    "$.v",
    "$.v == null ? 'none' : $.v",
    "({a: $.v, b: [1, 2.0, 2.5]})",
    "[$.v, undefined, null]",
    "(function () { return $.w; })()",
    "function f() { return $.v; } f();",
    "$.v.length",
    "typeof $.w",
    "throw new Error('no')",
    "$.missing.deep",
)
_QUERIES = (
    *(".v", ".v | length", "[.v, .w]", ".v[]?", "{a: .v, b: .w}", ".v | type", ".v | tostring"),
    *(".w + 1", ".missing.deep", 'error("no")', "empty", ".v, .w", "keys", ".v | tojson"),
)


class Author:
    """Writes one definition after another.

    A task reads what stands before it, or itself. Not what opens in the same moment, its containers
    and the branches beside it or not waited for: how much of that is there already is the one thing
    in which the servers are not meant to be alike. For the same reason a branch reads no variables,
    and writes those of its own names, and does not end the execution; what may fail and be passed
    over in it is not retried (Conductor's JOIN may look in between); a child with branches is not
    passed over (what it gives when it fails is what they have come to); a loop has nothing
    permissive (Conductor's goes on until it looks), and one that forgets its iterations does not
    read them (Conductor forgets the one before in the midst of the next).
    """

    def __init__(self, chance: random.Random) -> None:
        self._chance = chance
        self._numbers = count(1)
        self._size = 0
        self._refs: list[str] = []
        self._in_loop = False
        self._in_child = False
        self._forks = 0

    def definition(self) -> Json:
        self._size = self._chance.randrange(2, 12)
        self._refs = []
        self._numbers = count(1)
        tasks = self._list(0)
        found = workflow("generated", *tasks, variables={"v": "0", "w": [1]})
        found |= {"ownerEmail": "a@example.com", "timeoutSeconds": 0}
        if self._chance.random() < 0.6:
            found["outputParameters"] = {"a": self._value(), "b": self._value()}
        return found

    def _ref(self, letter: str) -> str:
        """The reference of a task without others inside."""
        ref = f"{letter}{next(self._numbers)}"
        self._refs.append(ref)
        return ref

    def _outer(self, letter: str) -> str:
        """The reference of a task that others stand in: they do not read it."""
        return f"{letter}{next(self._numbers)}"

    def _branches(self, many: int, depth: int, awaited: int = _MOST_BRANCHES) -> list[list[Json]]:
        """Lists of tasks that do not read each other's; what follows may read the ``awaited``."""
        before, inside = self._refs, []
        made = []
        for number in range(many):
            self._refs = list(before)
            made.append(self._list(depth + 1))
            if number < awaited:
                inside += self._refs[len(before) :]
        self._refs = before + inside
        return made

    def _value(self) -> Any:
        """A value, or where one is read from."""
        drawn = self._chance.random()
        if drawn < 0.35 and self._refs:
            ref = self._chance.choice(self._refs)
            path = self._chance.choice(
                ("output", "output.v", "output.result", "status", "output.iteration", "input.v")
            )
            return f"${{{ref}.{path}}}"
        if drawn < 0.6:
            whole = "${workflow.input.map}" if self._in_child else "${workflow.input}"
            variable = "${workflow.variables.v}" if not self._forks else "${workflow.input.s}"
            return self._chance.choice(
                (
                    *("${workflow.input.n}", "${workflow.input.list}", whole),
                    *(variable, f"v={variable}", "is ${workflow.status}"),
                    *("n=${workflow.input.n} ${workflow.input.map}", "${workflow.input.none}"),
                )
            )
        return self._chance.choice(
            (0, 1, 2.5, "", "a", None, True, False, [], {}, [1, None], {"k": {"l": None}}, "1")
        )

    def _scalar(self) -> Any:
        """A value to choose a case by: of what has members, the text is not the same."""
        value = self._value()
        plain = not isinstance(value, dict | list) and "input}" not in str(value)
        return value if plain and "output" not in str(value) else self._chance.choice("012")

    def _list(self, depth: int) -> list[Json]:
        tasks: list[Json] = []
        for _ in range(self._chance.randrange(1, 4)):
            tasks += self._block(depth)
        return tasks

    def _block(self, depth: int) -> list[Json]:
        self._size -= 1
        leaves: list[Callable[[int], list[Json]]] = [
            *(self._work, self._work, self._work, self._variable, self._variable),
            *(self._inline, self._inline, self._query, self._lambda, self._noop),
            *(self._human, self._dynamic),
        ]
        if self._chance.random() < 0.1:
            leaves = [self._wait] if self._forks else [self._terminate, self._wait]
        containers = [
            *(self._fork, self._fork, self._switch, self._switch, self._decision),
            *(self._child, self._spread),
        ]
        if not self._in_loop:
            containers += [self._loop, self._loop, self._times]
        deeper = depth < _DEEPEST and self._size > 0
        return self._chance.choice(leaves + containers * 2 if deeper else leaves)(depth)

    def _work(self, _: int) -> list[Json]:
        ref = self._ref("a")
        outcome = self._chance.choice(("COMPLETED",) * 9 + ("FAILED", "FAILED_WITH_TERMINAL_ERROR"))
        inputs = {
            "v": self._value(),
            "w": self._value(),
            "outcome": outcome,
            "failures": self._chance.choice((0, 0, 0, 0, 1, 2)),
        }
        facts: Json = {"retryCount": self._chance.choice((0, 1, 2)), "name": WORKER}
        facts["taskDefinition"] = {"name": WORKER, "retryDelaySeconds": 0}
        kind = self._chance.random()
        if kind < 0.12:
            facts["optional"] = True
        elif kind < 0.18 and not self._in_loop:
            facts["permissive"] = True
        if self._forks and kind < 0.18:
            facts["retryCount"] = 0
        return [{**simple(ref), "inputParameters": inputs, **facts}]

    def _variable(self, _: int) -> list[Json]:
        ref = self._ref("v")
        name = ref if self._forks else self._chance.choice("vwx")
        return [set_variable(ref, **{name: self._value(), f"{name}y": self._value()})]

    def _inline(self, _: int) -> list[Json]:
        script = self._chance.choice(_SCRIPTS)
        ref = self._ref("i")
        task = inline(ref, script, v=self._value(), w=self._value())
        return [self._perhaps_optional(task)]

    def _query(self, _: int) -> list[Json]:
        inputs = {"queryExpression": self._chance.choice(_QUERIES)}
        inputs |= {"v": self._value(), "w": self._value()}
        task = typed("JSON_JQ_TRANSFORM", self._ref("q"), inputParameters=inputs)
        return [self._perhaps_optional(task)]

    def _lambda(self, _: int) -> list[Json]:
        script = self._chance.choice(
            ("return $.v;", "return {a: $.v, b: $.w}", "$.v", "return [1]")
        )
        inputs = {"scriptExpression": script, "v": self._value(), "w": self._value()}
        return [typed("LAMBDA", self._ref("l"), inputParameters=inputs)]

    def _perhaps_optional(self, task: Json) -> Json:
        return task | ({"optional": True} if self._chance.random() < 0.3 else {})

    def _noop(self, _: int) -> list[Json]:
        return [typed("NOOP", self._ref("n"))]

    def _human(self, _: int) -> list[Json]:
        inputs = {"v": self._value()}
        return [typed("HUMAN", self._ref("h"), inputParameters=inputs)]

    def _wait(self, _: int) -> list[Json]:
        return [wait(self._ref("t"), duration="1s")]

    def _dynamic(self, _: int) -> list[Json]:
        inputs = {"which": WORKER, "v": self._value()}
        facts: Json = {"dynamicTaskNameParam": "which", "inputParameters": inputs}
        return [typed("DYNAMIC", self._ref("d"), **facts)]

    def _terminate(self, _: int) -> list[Json]:
        status = self._chance.choice(("COMPLETED", "FAILED", "TERMINATED"))
        more: Json = {"workflowOutput": self._value()} if self._chance.random() < 0.5 else {}
        if self._chance.random() < 0.5:
            more["terminationReason"] = "said so"
        return [terminate(self._ref("e"), status, **more)]

    def _fork(self, depth: int) -> list[Json]:
        ref = self._outer("f")
        self._forks += 1
        many = self._chance.randrange(1, _MOST_BRANCHES + 1)
        awaited = self._chance.choice((_MOST_BRANCHES, _MOST_BRANCHES, 1, 0))
        branches = self._branches(many, depth, awaited)
        self._forks -= 1
        on = [branch[-1]["taskReferenceName"] for branch in branches[:awaited]]
        self._refs.append(ref)
        return [fork(ref, *branches), join(self._ref("j"), *on)]

    def _switch(self, depth: int) -> list[Json]:
        ref = self._outer("s")
        value = self._scalar()
        cases = dict(zip(("0", "1", "a"), self._branches(3, depth), strict=True))
        default = self._branches(1, depth)[0] if self._chance.random() < 0.5 else []
        self._refs.append(ref)
        task = switch(ref, value, cases, default)
        if self._chance.random() < 0.3:
            script = self._chance.choice(("$.case", "$.case == '1' ? 'a' : 1", "$.case.deep.er"))
            task |= {"evaluatorType": "javascript", "expression": script}
        return [task]

    def _decision(self, depth: int) -> list[Json]:
        ref = self._outer("c")
        value = self._scalar()
        cases = dict(zip(("0", "1"), self._branches(2, depth), strict=True))
        facts: Json = {
            "caseValueParam": "case",
            "inputParameters": {"case": value},
            "decisionCases": cases,
        }
        if self._chance.random() < 0.3:
            del facts["caseValueParam"]
            facts["caseExpression"] = "$.case == '0' ? '0' : '1'"
        if self._chance.random() < 0.5:
            facts["defaultCase"] = self._branches(1, depth)[0]
        self._refs.append(ref)
        return [typed("DECISION", ref, **facts)]

    def _body(self, depth: int) -> list[Json]:
        self._in_loop = True
        body = self._list(depth + 1)
        self._in_loop = False
        return body

    def _loop(self, depth: int) -> list[Json]:
        ref = self._outer("o")
        value = self._value()
        body = self._body(depth)
        last = body[-1]["taskReferenceName"]
        condition = self._chance.choice(
            (
                f"$.{ref}['iteration'] < 2",
                f"if ($.{ref}['iteration'] < 2) {{ true; }} else {{ false; }}",
                f"$.{ref}.iteration < 3 && $.{last} != null",
                f"$.v == 1 && $.{ref}['iteration'] < 2",
                f"$.{last}.nothing.deep == 1",
                "false",
            )
        )
        inputs: Json = {"v": value}
        forgets = self._chance.random() < 0.2
        if forgets and "FORK_JOIN_DYNAMIC" not in str(body) and not _is_read_inside(body):
            inputs["keepLastN"] = 1
        self._refs.append(ref)
        return [do_while(ref, condition, *body, inputParameters=inputs)]

    def _times(self, depth: int) -> list[Json]:
        ref = self._outer("o")
        task = times(ref, self._chance.choice((1, 2, 3)), *self._body(depth))
        self._refs.append(ref)
        return [task]

    def _child(self, depth: int) -> list[Json]:
        ref = self._ref("u")
        outer = self._refs, self._in_loop, self._in_child, self._forks
        self._refs, self._in_loop, self._in_child, self._forks = [], False, True, 0
        tasks = self._list(depth + 1)
        child = workflow("child", *tasks, variables={"v": "1"})
        child["ownerEmail"] = "a@example.com"
        if self._chance.random() < 0.5:
            child["outputParameters"] = {"result": self._value()}
        self._refs, self._in_loop, self._in_child, self._forks = outer
        inputs = {"n": self._value(), "s": self._value()}
        task = sub_workflow(ref, child, inputParameters=inputs)
        return [task if "FORK_JOIN" in json.dumps(child) else self._perhaps_optional(task)]

    def _spread(self, _: int) -> list[Json]:
        ref = self._outer("g")
        names = [f"{ref}_{number}" for number in range(self._chance.randrange(4))]
        branches = [
            {"name": WORKER, "taskReferenceName": name, "type": "SIMPLE", "retryCount": 0}
            for name in names
        ]
        inputs = {name: {"v": self._value(), "outcome": "COMPLETED"} for name in names}
        facts: Json = {
            "dynamicForkTasksParam": "branches",
            "dynamicForkTasksInputParamName": "inputs",
            "inputParameters": {"branches": branches, "inputs": inputs},
        }
        return [typed("FORK_JOIN_DYNAMIC", ref, **facts), join(self._ref("j"))]


def _is_read_inside(body: list[Json]) -> bool:
    """Whether a task in it reads one of them: perhaps the iteration before."""
    text = json.dumps(body)
    refs = re.findall(r'"taskReferenceName": "(\w+)"', text)
    return any(f"${{{ref}." in text for ref in refs)
