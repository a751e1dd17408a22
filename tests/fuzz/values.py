"""Values that nobody should send: texts, numbers, JSON, bytes; all drawn by a seed."""

from __future__ import annotations

import json
import random
import sys
from typing import Any, Final

Json = Any

TEXTS: Final = (
    "",
    " ",
    "\x00",
    "a\x00b",
    "\ud800",
    "\udfff\ud800",
    "\u202ereversed",
    "\r\nSet-Cookie: x=1",
    "\x1b[2J",
    "../../etc/passwd",
    "%00%2e%2e%2f",
    "None",
    "null",
    "-1",
    "1e999",
    "NaN",
    "é" * 500,
    "\U0001f9e8" * 300,
    "a\u0301" * 300,
    "x" * 1_001,
    "x" * 40_000,
    "[" * 3_000,
    "(" * 3_000,
    "'\"\\*?%_",
    "' OR 1=1 --",
    "* AND (",
    "__proto__",
    "constructor",
    "{{7*7}}",
    "a:b:c",
    "a\nb",
    "a/b?c#d",
    "2026-02-30T25:61:61Z",
    "9999999999999999999s",
    "-5 seconds",
    "0 0 0 31 2 ?",
    "* * * * * *",
    "Europe/Nowhere",
)
TEMPLATES: Final = (
    "${workflow.input}",
    "${workflow.input.x[99999999999]}",
    "${workflow.input..x}",
    "${workflow.input.*..*}",
    "${workflow.input.a[?(@.b =~ /(a+)+$/)]}",
    "${${workflow.input.x}}",
    "${" * 2_000,
    "${nobody.output.x}",
    "${workflow.secrets.NONE}",
    "${workflow.env.HOME}",
    "${CPEWF_TASK_ID}",
    "${workflow.variables.v} and ${workflow.variables.v}",
    "${a1.output['\ud800']}",
    "$${escaped}",
    "${workflow.input[-1:0:0]}",
    "${}",
)
INTEGERS: Final = (0, 1, -1, 2, 100, 2**31 - 1, 2**31, 2**53 + 1, 2**63, -(2**63) - 1, 10**400)
FLOATS: Final = (float("nan"), float("inf"), float("-inf"), 1e308, 5e-324, -0.0, 0.5)
SCRIPTS: Final = (
    "$.v",
    "function e() { return $.v; } e();",
    "throw 1",
    "}{",
    "",
    "(function f(){ return f(); })()",
    "[].concat.apply([], new Array(1e6))",
    "'x'.repeat(2 ** 26)",
    "new Array(1e9).fill(0)",
    "var a = []; for (var i = 0; i < 1e5; i++) a = [a]; a",
    "var a = {}; a.a = a; a",
    "this.constructor.constructor('return process')()",
    "/(a+)+$/.test('a'.repeat(26) + '!')",
    "({ toString() { throw 1; } })",
    "({ toJSON() { return this; } })",
    "new Proxy({}, { get() { throw 1; } })",
    "1n << 100000n",
    "Promise.resolve(1)",
    "'\\ud800'",
    "NaN",
    "undefined",
    "Symbol('x')",
    "new Date(1e99)",
    "$.nobody.output.x > 1",
    "(" * 5_000 + ")" * 5_000,
)
ENDLESS_SCRIPTS: Final = (
    "for (;;) {}",
    "var a = []; for (;;) a.push(a)",
    "/(a+)+$/.test('a'.repeat(60) + '!')",
    "Object.defineProperty(Array.prototype, 'x', { get() { for (;;) {} } }); [].x",
)
JQ: Final = (
    ".v",
    ".",
    "..",
    ".[",
    "env",
    "$ENV.HOME",
    "input",
    'import "a" as a; .',
    'include "/etc/passwd"; .',
    "def f: f; f",
    "[range(1e5)]",
    '"x" * 1e6',
    "1e1000",
    "nan",
    '"\\ud800"',
    '[limit(20000; repeat("x"))] | add',
    "error",
    "halt_error",
    "getpath([range(1000)])",
    'try error("\\u0000") catch .',
    '[splits("a*"; null)]',
    "reduce range(1e5) as $i (.; [.])",
)
ENDLESS_JQ: Final = ("[range(1e12)]", "[repeat(1)]", "last(range(1e12))")
URLS: Final = (
    "http://127.0.0.1:1/",
    "http://169.254.169.254/latest/meta-data",
    "http://[::1]:1/",
    "http://[::ffff:127.0.0.1]/",
    "http://0x7f.1/",
    "http://2130706433/",
    "http://nobody.invalid/",
    "http://user:word@10.0.0.1/",
    "file:///etc/passwd",
    "ftp://127.0.0.1/",
    "http://",
    "http://a:99999/",
    "http://a\x00b/",
    "http://" + "a" * 5_000 + "/",
    "",
)
QUERIES: Final = (
    "status=RUNNING",
    "status IN (RUNNING, PAUSED)",
    "workflowType=fuzz-0-1 AND status=FAILED",
    "startTime>0",
    "startTime > 99999999999999999999",
    "NOT NOT NOT status=x",
    "(" * 40 + "status=x" + ")" * 40,
    "input=*a*b*c*",
    "correlationId='\u00e9*\x00'",
    "status=",
    "=",
    "a=1 OR " * 300 + "a=1",
    "workflowId IN (" + ",".join("x" for _ in range(1_100)) + ")",
    "executionTime>NaN",
    "taskType=work",
)
MOST_NESTED: Final = 900
_DEEP: Final = 20 * MOST_NESTED
STATUSES: Final = (
    "COMPLETED",
    "COMPLETED",
    "COMPLETED",
    "FAILED",
    "FAILED",
    "FAILED_WITH_TERMINAL_ERROR",
    "IN_PROGRESS",
    "CANCELED",
    "x",
)


def go_deep() -> None:
    """Let this process deal with values nested in nested ones: Python's own bound is a thousand."""
    sys.setrecursionlimit(_DEEP)


class Chance:
    """Draws hostile values from one source of chance."""

    def __init__(self, chance: random.Random) -> None:
        self.random = chance

    def often(self, share: float) -> bool:
        """True for that share of the calls."""
        return self.random.random() < share

    def one(self, of: Any) -> Any:
        """Any of them."""
        return self.random.choice(of)

    def count(self) -> int:
        """A count or size: mostly small, now and then none that makes sense."""
        return int(self.random.randrange(20) if self.often(0.8) else self.one(INTEGERS))

    def script(self) -> str:
        """JavaScript; one in forty never ends, as each holds a process for seconds."""
        return str(self.one(ENDLESS_SCRIPTS if self.often(0.025) else SCRIPTS))

    def jq(self) -> str:
        """A program of jq."""
        return str(self.one(ENDLESS_JQ if self.often(0.025) else JQ))

    def text(self) -> str:
        """A text of any kind."""
        draw = self.random.random()
        if draw < 0.5:
            return str(self.one(TEXTS))
        if draw < 0.75:
            return str(self.one(TEMPLATES))
        letters = [chr(self.random.randrange(0x2FF)) for _ in range(self.random.randrange(12))]
        return "".join(letters)

    def value(self, depth: int = 0) -> Json:
        """A JSON value of any kind."""
        draw = self.random.random()
        if draw < 0.35 or depth > 4:
            return self.text()
        if draw < 0.55:
            return self.one(INTEGERS if self.often(0.7) else FLOATS)
        if draw < 0.7:
            return self.one((None, True, False, [], {}))
        if draw < 0.85:
            return [self.value(depth + 1) for _ in range(self.random.randrange(5))]
        if draw < 0.98:
            return {self.text(): self.value(depth + 1) for _ in range(self.random.randrange(5))}
        return self.nested(self.random.choice((50, 190, 210, MOST_NESTED)))

    def nested(self, depth: int) -> Json:
        """Lists or objects within one another."""
        found: Json = 0
        for _ in range(depth):
            found = [found] if depth % 2 else {"a": found}
        return found

    def mutated(self, value: Json, share: float) -> Json:
        """The same JSON, with that share of its members replaced, dropped or doubled."""
        if self.often(share):
            return self.value(2)
        if isinstance(value, dict):
            kept = {k: self.mutated(v, share) for k, v in value.items() if not self.often(share)}
            return kept | ({self.text(): self.value(2)} if self.often(share) else {})
        if isinstance(value, list):
            kept_items = [self.mutated(each, share) for each in value if not self.often(share)]
            return kept_items + (kept_items[:1] if self.often(share) else [])
        return value

    def body(self, value: Json) -> bytes:
        """Its bytes; one in ten is damaged, one in two hundred is large."""
        written = json.dumps(value, ensure_ascii=self.often(0.9)).encode("utf-8", "surrogatepass")
        if self.often(0.005):
            return self.large()
        if not self.often(0.1):
            return written
        at = self.random.randrange(len(written) + 1)
        return bytes(
            self.one(
                (
                    written[:at],
                    written[:at] + b"\xff\xfe\x00" + written[at:],
                    b"\xef\xbb\xbf" + written,
                    written + written,
                    b"\x00" + written,
                    written.decode("utf-8", "surrogatepass").encode("utf-16", "surrogatepass"),
                    b'{"a":' * self.random.randrange(300),
                    b"[" * 100_000,
                    b"",
                )
            )
        )

    def large(self) -> bytes:
        """Some megabytes of JSON."""
        kind = self.random.randrange(4)
        if kind == 0:
            return b"[" + b"[]," * 900_000 + b"[]]"
        if kind == 1:
            return b'{"name":"' + b"x" * 3_000_000 + b'"}'
        if kind == 2:
            return b"{" + b",".join(b'"k%d":1' % each for each in range(200_000)) + b"}"
        return b'{"input":{"v":' + b"9" * 1_000_000 + b"}}"
