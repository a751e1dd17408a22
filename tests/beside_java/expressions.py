"""Random templates, as people write them into the parameters of tasks, and data to read from."""

import random
import re
from typing import Any

from tests.beside_java.server import Json

GIVEN: Json = {
    "s": "text",
    "n": 5,
    "f": 1.0,
    "g": 2.5,
    "big": 123456789012,
    "huge": 1e21,
    "small": 1e-7,
    "b": True,
    "z": None,
    "list": [3, 1, 2],
    "mixed": [1, "a", None, True, {"id": 1}, [2]],
    "objects": [
        {"id": 1, "name": "a", "tags": ["x", "y"], "price": 8.5},
        {"id": 2, "name": "b", "price": 12},
        {"id": 3, "name": None},
    ],
    "map": {"k": 1, "l": {"m": [True, None, "q"], "id": 9}, "name": "c"},
    "a b": "blank",
    "a.b": "dot",
    "a-b": "dash",
    "key": "s",
    "index": 1,
    "empty": "",
    "none": [],
    "nothing": {},
    "quote": 'it\'s "q"',
    "unicode": "žß😀",
    "expr": "${workflow.input.s}",
    "brace": "a}b{c",
}

_NAMES = (*GIVEN, "missing", "id", "name", "k", "l", "m", "tags", "price")
_FILTERS = (
    "@.id == 2",
    "@.id > 1",
    "@.id >= 1 && @.id <= 2",
    "@.id < 2 || @.name == 'b'",
    "@.name == 'a'",
    '@.name == "b"',
    "@.name != 'a'",
    "@.price",
    "!@.price",
    "@.name =~ /[ab]/",
    "@.name =~ /A/i",
    "@.name in ['a', 'c']",
    "@.name nin ['a']",
    "@.tags size 2",
    "@.tags contains 'x'",
    "@.tags empty false",
    "@.name == null",
    "@ > 1",
    "@ == 'a'",
    "@.id == $.workflow.input.index",
    "@.price < $.workflow.input.n",
    "@['id'] == 1",
    "@.tags[0] == 'x'",
    "@.tags subsetof ['x', 'y', 'z']",
    "@.tags anyof ['x']",
    "@.tags noneof ['q']",
    "(@.id == 1)",
    "@.id == '1'",
    "@.id == 1.0",
    "@.price > '9'",
)
_FUNCTIONS = (
    *("length()", "size()", "keys()", "first()", "last()", "index(1)", "index(-1)"),
    *("concat()", 'concat("x")', 'concat("x", $.workflow.input.n)'),
)
#: Of several results they are something else here, see the page on compatibility.
_AGGREGATES = ("min()", "max()", "avg()", "sum()", "stddev()", "sum(1, 2)", "max(7)")
_BEHIND_DESCENT = ("*", "[0]", "[-1]", "[1:]", "[0,1]", "[*]", "['id']", "['id','name']")
_SEVERAL = re.compile(r"\*|\.\.|\?\(|:|,")
#: Directly behind '..' these are something else here, too; and so is an element of several lists
#: of which one is too short, as the empty one is, and the last element of a list of one.
_UNLIKE = re.compile(
    r"\.\.(\.?\*|\[[^?\]]*\])[.\[]|\.\.\[\?|\.\.\.?\w+\("
    r"|(\.\.none|\['none',.*)\.(first|last|index)\(|mixed\[-1\]\.(last|index)\("
)
_ROOTS = ("workflow.input", "workflow.input", "workflow.input", "workflow.variables", "before")
_WHOLE = (
    *("workflow.input", "workflow.status", "workflow.version", "workflow.workflowType"),
    *("workflow.correlationId", "workflow.schemaVersion", "workflow.output", "workflow.createTime"),
    *("workflow.priority", "workflow.parentWorkflowId", "workflow.reasonForIncompletion"),
    *("before.status", "before.input", "before.output", "before.taskType"),
    *("before.referenceTaskName", "before.retryCount", "before.pollCount", "before.taskDefName"),
    *("before.iteration", "before.callbackAfterSeconds", "before.workerId", "before.seq"),
    *("later", "later.output", "later.output.x", "", " ", "workflow.secrets.x", "CPEWF_TASK_I"),
    *("$.workflow.input.n", "$", "@", "*", "..id", "workflow..id", ".workflow", "workflow."),
    *("before.output.result", "before['output']['result']", "['workflow']['input']['n']"),
    *("workflow.input.n + 1", "workflow.input .n", " workflow.input.n ", "workflow.Input.n"),
)


class Writer:
    """Writes one template after another."""

    def __init__(self, chance: random.Random) -> None:
        self._chance = chance

    def template(self) -> Any:
        """What may stand in the parameters of a task."""
        draw = self._chance.random()
        if draw < 0.6:
            return self._opened()
        if draw < 0.75:
            return self._around(self._opened())
        if draw < 0.85:
            return self._around(self._opened()) + self._around(self._opened())
        if draw < 0.95:
            return self._odd()
        return {self._opened(): [self._opened(), {"a": self._around(self._opened())}]}

    def _opened(self) -> str:
        return f"${{{self._path()}}}"

    def _around(self, text: str) -> str:
        before = self._chance.choice(("", "a ", "$", "$$", "{", "\\", "\n"))
        return before + text + self._chance.choice(("", " z", "}", "$", ","))

    def _odd(self) -> str:
        inner = self._opened()
        return self._chance.choice(
            (
                f"${inner}",
                f"$${inner}",
                f"${{workflow.input.{inner}}}",
                "${workflow.input.${workflow.input.key}}",
                "${workflow.input.list[${workflow.input.index}]}",
                "${workflow.input['${workflow.input.key}']}",
                f"${{{inner}}}",
                "$${${workflow.input.s}}",
                "${ workflow.input.s }",
                "${workflow.input.s}}",
                "${workflow.input.brace}",
                "$ {workflow.input.s}",
                "#{workflow.input.s}",
                "${workflow.input.expr}",
                "x ${workflow.input.expr}",
            )
        )

    def _path(self) -> str:
        if self._chance.random() < 0.2:
            return self._chance.choice(_WHOLE)
        root = self._chance.choice(_ROOTS)
        if root == "before":
            root = self._chance.choice(("before.output.result", "before.input"))
        while True:
            path = root + "".join(self._step() for _ in range(self._chance.randrange(1, 4)))
            if self._chance.random() < 0.15:
                of_one = () if _SEVERAL.search(path) else _AGGREGATES
                path += "." + self._chance.choice((*_FUNCTIONS, *of_one))
            if not _UNLIKE.search(path):
                return path

    def _step(self) -> str:
        draw = self._chance.random()
        if draw < 0.6:
            return "." + self._chance.choice(_NAMES)
        if draw < 0.7:
            return "[" + self._chance.choice(("0", "1", "-1", "7", "*", "0,1", "0:2", "-2:")) + "]"
        if draw < 0.78:
            name = self._chance.choice(_NAMES)
            return self._chance.choice((f"['{name}']", f'["{name}"]', f"['{name}','id']"))
        if draw < 0.85:
            return ".." + self._chance.choice((*_NAMES, *_BEHIND_DESCENT))
        if draw < 0.97:
            return f"[?({self._chance.choice(_FILTERS)})]"
        return self._chance.choice((".*", "[]", "[?()]", "[?(@.id ==)]", "..", "[1:1]", "['"))
