"""What every adapter of the Scripts port keeps, and what QuickJS processes keep besides."""

from __future__ import annotations

import contextlib
import importlib.util
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from conductor_py.adapters.quickjs import QuickJsScripts, pool
from conductor_py.adapters.quickjs import scripts as lanes
from conductor_py.errors import LimitExceeded
from conductor_py.model.json import JsonValue
from conductor_py.ports.scripts import Evaluation, Failure, ScriptResult, Scripts, Value
from tests.services.absence import absent
from tests.services.processes import is_running
from tests.waiting import PATIENCE_S, until

_SHORT_MS = 300
_AMPLE_MS = 600_000
_MEMORY_BYTES = 16 << 20
_TICKS_OF_A_REQUEST = 5
_ROOT = Path(__file__).parents[2]
_in_its_lane = pool.Child.__init__

reads_proc = pytest.mark.skipif(
    not Path("/proc").is_dir(), reason="looks at processes through /proc"
)


@pytest.fixture(scope="module")
def scripts() -> Iterator[QuickJsScripts]:
    """Processes for what ends in time."""
    running = QuickJsScripts(workers=1, time_limit_ms=_AMPLE_MS, memory_bytes=_MEMORY_BYTES)
    yield running
    running.close()


@pytest.fixture(scope="module")
def brief() -> Iterator[QuickJsScripts]:
    """Processes for what does not."""
    running = QuickJsScripts(workers=1, time_limit_ms=_SHORT_MS, memory_bytes=_MEMORY_BYTES)
    yield running
    running.close()


def _run(scripts: Scripts, expression: str, **input: JsonValue) -> ScriptResult:
    request = Evaluation(evaluator="javascript", expression=expression, input=input)
    return scripts.evaluate([request])[0]


@pytest.mark.parametrize(
    ("expression", "value"),
    [
        ("$.a + 1", 3),
        ("undefined", None),
        ("null", None),
        ("NaN", None),
        ("-Infinity", None),
        ("true", True),
        ("1.5", 1.5),
        ("2.0", 2),
        ("2 ** 31", 2**31),
        ("-0", 0),
        ("1e21", 1e21),
        ("10n", 10),
        ("'ü😀'", "ü😀"),
        ("'x\\ud800y'", "x\N{REPLACEMENT CHARACTER}y"),
        ("'\\\\ud800'", "\\ud800"),
        ("[1, undefined, 'x', NaN]", [1, None, "x", None]),
        ("({f() {}, u: undefined, n: {x: 1}})", {"f": {}, "u": None, "n": {"x": 1}}),
        ("(function () {})", {}),
        ("function e() { if ($.a > 1) { return 'big' } return 'small' } e();", "big"),
        ("let z = $.a; z * 2", 4),
        ("if ($.a == 2) { 'two' } else { 'other' }", "two"),
        ("", None),
    ],
)
def test_the_completion_value_is_the_result_as_json(
    scripts: Scripts, expression: str, value: JsonValue
) -> None:
    result = _run(scripts, expression, a=2)

    assert result == Value(value=value)
    assert isinstance(result, Value)
    assert type(result.value) is type(value)


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        ("$.x.y", "TypeError: cannot read property 'y' of undefined (line 1)"),
        ("\n\nnowhere", "ReferenceError: nowhere is not defined (line 3)"),
        ("throw new Error('refused')", "Error: refused (line 1)"),
        ("throw 'refused'", "refused"),
        ("let q = {}; q.q = q; q", "TypeError: circular reference"),
    ],
)
def test_an_error_is_terminal_and_says_what_and_where(
    scripts: Scripts, expression: str, message: str
) -> None:
    assert _run(scripts, expression) == Failure(message=message, terminal=True, kind="error")


def test_an_unknown_evaluator_is_a_failure(scripts: Scripts) -> None:
    request = Evaluation(evaluator="cobol", expression="1", input={})

    result = scripts.evaluate([request])[0]

    assert isinstance(result, Failure)
    assert (result.kind, result.terminal) == ("error", True)
    assert "cobol" in result.message


@pytest.mark.parametrize("value", [2**70, "\ud800"])
def test_input_that_is_no_json_is_a_failure(scripts: Scripts, value: JsonValue) -> None:
    result = _run(scripts, "1", a=value)

    assert isinstance(result, Failure)
    assert result.kind == "error"


def test_results_come_in_the_order_of_their_requests(scripts: Scripts) -> None:
    results = scripts.evaluate(
        [Evaluation(evaluator="graaljs", expression="$.n", input={"n": n}) for n in range(5)]
    )

    assert results == tuple(Value(value=n) for n in range(5))


def test_bindings_are_globals_and_the_input_stays_dollar(scripts: Scripts) -> None:
    request = Evaluation(
        evaluator="javascript",
        expression="loop.iteration < $.limit && __proto__ === 'mine'",
        input={"limit": 3},
        bindings={"loop": {"iteration": 2}, "$": "shadowed", "__proto__": "mine"},
    )

    assert scripts.evaluate([request])[0] == Value(value=True)


def test_a_script_changes_only_its_own_copy_of_the_input(scripts: Scripts) -> None:
    given = {"list": [1]}
    request = Evaluation(
        evaluator="javascript", expression="$.list.push(2); $.list.length", input=given
    )

    assert scripts.evaluate([request, request]) == (Value(value=2), Value(value=2))
    assert given == {"list": [1]}


def test_a_script_leaves_nothing_behind_for_the_next(scripts: Scripts) -> None:
    _run(
        scripts,
        "Array.prototype.leak = 1; Object.prototype.toJSON = () => 'leak';"
        "JSON.stringify = () => 'leak'; eval = () => 'leak'; globalThis.leak = 1;",
    )

    assert _run(scripts, "[typeof leak, [].leak, JSON.stringify([1])]") == Value(
        value=["undefined", None, "[1]"]
    )


def test_a_script_sees_nothing_of_its_host(scripts: Scripts) -> None:
    names = ["console", "process", "require", "std", "os", "setTimeout", "fetch", "Java"]

    result = _run(scripts, "$.names.filter(name => name in globalThis)", names=names)

    assert result == Value(value=[])
    kept = _run(scripts, "Object.keys(console)")
    says = ["log", "info", "debug", "dir", "table", "trace", "warn", "error", "assert"]
    counts = ["clear", "count", "countReset", "group", "groupCollapsed", "groupEnd"]
    assert kept == Value(value=[*says, *counts, "time", "timeEnd", "timeLog"])
    refused = _run(scripts, "import('/etc/passwd')")
    assert refused == Value(value={})  # a promise that nobody ever settles


_endless = pytest.mark.parametrize(
    "expression",
    [
        "while (true) {}",
        "try { while (true) {} } catch (error) { 1 }",
        "/(a+)+$/.test('a'.repeat(40) + 'b')",
        "Array(2 ** 32 - 1).join('abcdefgh')",
        "Array.prototype.reverse.call({length: 2 ** 53 - 1})",
        "({toJSON() { while (true) {} }})",
    ],
    ids=["loop", "caught", "regular-expression", "native-join", "native-reverse", "in-result"],
)


@_endless
def test_an_endless_script_costs_only_its_own_evaluation(brief: Scripts, expression: str) -> None:
    good = Evaluation(evaluator="javascript", expression="1 + 1", input={})
    bad = Evaluation(evaluator="javascript", expression=expression, input={})

    results = brief.evaluate([good, bad, good])

    assert results[0] == results[2] == Value(value=2)
    assert isinstance(results[1], Failure)
    assert (results[1].kind, results[1].terminal) == ("time", False)


@pytest.mark.thorough(target="timing")
@_endless
def test_an_endless_script_is_ended_soon(expression: str) -> None:
    scripts = QuickJsScripts(workers=1, time_limit_ms=_SHORT_MS, memory_bytes=_MEMORY_BYTES)
    try:
        before = time.monotonic()
        result = _run(scripts, expression)
        assert time.monotonic() - before < 10
        assert _run(scripts, "1 + 1") == Value(value=2)
    finally:
        scripts.close()
    assert isinstance(result, Failure)
    assert (result.kind, result.terminal) == ("time", False)


def test_a_script_that_gets_no_processor_time_is_given_up_and_has_not_failed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    call, given = pool.Child.call, list[float]()

    def stand_still(child: pool.Child, request: bytes, data: bytes, timeout_s: float) -> bytes:
        given.append(timeout_s)
        os.killpg(child.pid, signal.SIGSTOP)
        return call(child, request, data, min(timeout_s, 0.01))

    scripts = QuickJsScripts(workers=1, time_limit_ms=_AMPLE_MS)
    starved = Evaluation(evaluator="javascript", expression="1 + 1", input={})
    try:
        with monkeypatch.context() as patch:
            patch.setattr(pool.Child, "call", stand_still)
            patch.setattr(lanes, "_SLICE_WALL_MS", 7_000)
            patch.setattr(lanes, "_LONG_STRETCH", 4)
            with pytest.raises(LimitExceeded, match="busy") as refused:
                scripts.evaluate([starved])
        assert refused.value.retryable
        assert not scripts.is_slow(starved)
        assert scripts.evaluate([starved]) == (Value(value=2),)
    finally:
        scripts.close()
    quick_s, long_s = 7, 4 * _AMPLE_MS // 1000
    assert given == [quick_s + lanes._MARGIN_S, long_s + lanes._MARGIN_S]


@pytest.mark.parametrize(
    ("expression", "kind"),
    [
        ("let a = []; while (true) { a.push('x'.repeat(1e5) + a.length) }", "memory"),
        ("'x'.repeat(2 ** 29)", "memory"),
        ("function f() { return f() + 1 } f()", "error"),
        ("JSON.parse('['.repeat(1e6))", "error"),
        ("let d = []; for (let i = 0; i < 1e5; i++) { d = [d] } d", "error"),
        ("let d = []; for (let i = 0; i < 1100; i++) { d = [d] } d", "error"),
    ],
    ids=["growth", "one-string", "recursion", "deep-parse", "deep-result", "deep-json"],
)
def test_a_greedy_script_costs_only_its_own_evaluation(
    scripts: Scripts, expression: str, kind: str
) -> None:
    result = _run(scripts, expression)

    assert isinstance(result, Failure)
    assert (result.kind, result.terminal) == (kind, True)
    assert _run(scripts, "1 + 1") == Value(value=2)


def test_a_result_that_is_too_large_is_a_failure() -> None:
    scripts = QuickJsScripts(workers=1, result_bytes=1_000)
    try:
        result = _run(scripts, "'x'.repeat(2000)")
    finally:
        scripts.close()

    assert isinstance(result, Failure)
    assert (result.kind, result.terminal) == ("error", True)
    assert "1000" in result.message


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        ("let x = 5; x", None),
        ("throw new Error('never run')", None),
        ("while (true) { 'checked' }", None),
        ("", None),
        ("x y", "SyntaxError: expecting ';' (line 1)"),
        ("1 +", "SyntaxError: unexpected token in expression: '' (line 1)"),
        ("return 5", "SyntaxError: return not in a function (line 1)"),
    ],
)
def test_check_parses_without_running(
    scripts: Scripts, expression: str, message: str | None
) -> None:
    assert scripts.check(expression) == message
    assert scripts.check(expression, briefly=True) == message


@pytest.fixture
def jq(scripts: Scripts) -> Callable[..., ScriptResult]:
    if importlib.util.find_spec("jq") is None:
        absent("jq is not installed")

    def run(expression: str, **input: JsonValue) -> ScriptResult:
        return scripts.evaluate([Evaluation(evaluator="jq", expression=expression, input=input)])[0]

    return run


@pytest.mark.parametrize(
    ("expression", "outputs"),
    [
        (".a", [[1, 2]]),
        (".a[]", [1, 2]),
        (".a[] | {n: .}", [{"n": 1}, {"n": 2}]),
        ("empty", []),
        ('"x\\ny", .missing', ["x\ny", None]),
        ("$ENV, env", [{}, {}]),
        (".a | length / 2", [1]),
    ],
)
def test_a_jq_filter_gives_the_list_of_its_outputs(
    jq: Callable[..., ScriptResult], expression: str, outputs: JsonValue
) -> None:
    assert jq(expression, a=[1, 2]) == Value(value=outputs)
    assert jq(expression, a=[1, 2]) == Value(value=outputs)  # from the kept program, too


@pytest.mark.parametrize(
    ("expression", "kind", "terminal"),
    [
        (".a.b", "error", True),
        (". [", "error", True),
        ('import "a" as a; 1', "error", True),
        ("[range(1e9)] | length", "killed", True),
        ("def f: f; f", "time", False),
        ('"x" * 1e9', "killed", True),
    ],
    ids=["type", "syntax", "module", "growth", "endless", "one-string"],
)
@pytest.mark.usefixtures("jq")
def test_a_bad_jq_filter_costs_only_its_own_evaluation(
    monkeypatch: pytest.MonkeyPatch, expression: str, kind: str, terminal: bool
) -> None:
    # The end of its memory is near for a greedy filter, and the end of its time is far.
    monkeypatch.setattr(pool, "_INTERPRETER_BYTES", 96 << 20)
    scripts = QuickJsScripts(
        workers=1,
        time_limit_ms=_SHORT_MS if kind == "time" else _AMPLE_MS,
        memory_bytes=_MEMORY_BYTES,
        result_bytes=1 << 20,
    )
    request = Evaluation(evaluator="jq", expression=expression, input={"a": 1})
    try:
        result = scripts.evaluate([request])[0]
        assert _run(scripts, "1 + 1") == Value(value=2)
    finally:
        scripts.close()

    assert isinstance(result, Failure)
    assert (result.kind, result.terminal) == (kind, terminal)


def test_check_parses_jq(scripts: Scripts, jq: Callable[..., ScriptResult]) -> None:
    assert scripts.check(".a", "jq") is None
    assert "syntax error" in (scripts.check(". [", "jq") or "")
    assert "cobol" in (scripts.check("1", "cobol") or "")


@reads_proc
def test_processes_start_with_the_first_script_and_end_with_close() -> None:
    before = _children()
    scripts = QuickJsScripts(workers=2)
    assert _children() == before

    _run(scripts, "1")
    mine = _children() - before
    scripts.close()

    assert len(mine) == 1
    assert not any(is_running(pid) for pid in mine)


@reads_proc
def test_a_child_that_was_killed_is_replaced() -> None:
    before = _children()
    scripts = QuickJsScripts(workers=1)
    try:
        _run(scripts, "1")
        (first,) = _children() - before
        os.kill(first, signal.SIGKILL)
        until(lambda: not is_running(first), what="the end of the child")

        assert _run(scripts, "1 + 1") == Value(value=2)
        assert len(_children() - before) == 1
    finally:
        scripts.close()


@reads_proc
def test_a_program_takes_its_runner_down_and_not_the_process_that_keeps_it() -> None:
    before = _children()
    scripts = QuickJsScripts(workers=1, time_limit_ms=_SHORT_MS)
    try:
        _run(scripts, "1")
        (keeper,) = _children() - before
        (first,) = _children(keeper)
        # Native, so that only the kernel ends it.
        ended = _run(scripts, "Array(2 ** 32 - 1).join('abcdefgh')")
        assert isinstance(ended, Failure)
        assert ended.kind == "time"
        assert _run(scripts, "1 + 1") == Value(value=2)
        assert _children(keeper).isdisjoint({first})
        assert len(_children(keeper)) == 1
    finally:
        scripts.close()
    assert not any(is_running(pid) for pid in (keeper, first))


@reads_proc
def test_a_runner_that_dies_at_rest_is_replaced_and_none_outlives_the_pool() -> None:
    before = _children()
    scripts = QuickJsScripts(workers=1)
    try:
        _run(scripts, "1")
        (keeper,) = _children() - before
        os.kill(_children(keeper).pop(), signal.SIGKILL)
        until(lambda: not is_running(keeper), what="the end of the keeper")
        assert _run(scripts, "1 + 1") == Value(value=2)
        (runner,) = {one for keeper in _children() - before for one in _children(keeper)}
    finally:
        scripts.close()
    until(lambda: not is_running(runner), what="the end of the runner")


def _attempt(
    scripts: Scripts, expression: str, evaluator: str = "javascript"
) -> ScriptResult | None:
    return scripts.attempt(Evaluation(evaluator=evaluator, expression=expression, input={}))


def test_an_attempt_answers_what_is_quick(scripts: Scripts) -> None:
    assert _attempt(scripts, "1 + 1") == Value(value=2)
    failed = _attempt(scripts, "nowhere")
    assert isinstance(failed, Failure)
    assert failed.kind == "error"


@pytest.mark.parametrize(
    ("expression", "evaluator"),
    [
        ("while (true) { 'attempt' }", "javascript"),
        ("/(a+)+$/.test('a'.repeat(41) + 'b')", "javascript"),
        ("Array(2 ** 32 - 1).join('attempt')", "javascript"),
        ("[repeat(2)]", "jq"),
    ],
    ids=["loop", "regular-expression", "native", "jq"],
)
def test_an_attempt_gives_up_what_takes_long(
    scripts: Scripts, expression: str, evaluator: str
) -> None:
    if evaluator == "jq" and importlib.util.find_spec("jq") is None:
        absent("jq is not installed")
    assert _attempt(scripts, expression, evaluator) is None
    assert _attempt(scripts, "1 + 1") == Value(value=2)


def test_a_program_that_took_long_is_not_attempted_again(
    scripts: Scripts, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[bytes] = []
    call = pool.Child.call

    def counted(child: pool.Child, request: bytes, data: bytes, timeout_s: float) -> bytes:
        calls.append(request)
        return call(child, request, data, timeout_s)

    monkeypatch.setattr(pool.Child, "call", counted)
    known = "let again = 1; while (true) {}"
    for _ in range(100):
        assert _attempt(scripts, known) is None
    assert len(calls) == 1


def test_a_program_that_takes_longer_than_its_slice_is_evaluated_all_the_same(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(lanes, "_SLICE_MS", 2)
    scripts = QuickJsScripts(workers=1, time_limit_ms=_AMPLE_MS)
    long = "let sum = 0; for (let i = 0; i < 1e6; i++) sum++; 'done'"
    try:
        assert _run(scripts, long) == Value(value="done")
        assert _attempt(scripts, long) is None
    finally:
        scripts.close()


@pytest.mark.parametrize("queue_limit", [0, 8])
def test_an_attempt_does_not_wait_behind_others_for_long(queue_limit: int) -> None:
    scripts = QuickJsScripts(workers=1, queue_limit=queue_limit, queue_wait_ms=_AMPLE_MS)
    with scripts._quick.lend():
        assert _attempt(scripts, "1") is None
        assert scripts.check("x y", briefly=True) is None
    assert _attempt(scripts, "1") == Value(value=1)
    assert scripts.check("x y", briefly=True) is not None
    scripts.close()


def test_hostile_programs_leave_the_quick_lane_to_others() -> None:
    scripts = QuickJsScripts(workers=1, time_limit_ms=_AMPLE_MS)
    hostile = _endless_caller(scripts, "while (true) { 'hostile' }")
    hostile.start()
    try:
        busy = _running(scripts._long)
        assert _attempt(scripts, "while (true) { 'hostile' }") is None
        assert _run(scripts, "1 + 1") == Value(value=2)
        assert _running(scripts._long) is busy
    finally:
        scripts.close()
        hostile.join(PATIENCE_S)
    assert not hostile.is_alive()


@reads_proc
def test_what_takes_long_runs_in_the_background(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pool.Child, "__init__", _in_its_lane)
    scripts = QuickJsScripts(workers=1, time_limit_ms=_AMPLE_MS)
    caller = _endless_caller(scripts, "while (true) { 'background' }")
    try:
        caller.start()
        runner = _runner(_running(scripts._long))
        assert os.getpriority(os.PRIO_PROCESS, runner) == 10
        assert os.sched_getscheduler(runner) == os.SCHED_OTHER
    finally:
        scripts.close()
        caller.join(PATIENCE_S)
    assert not caller.is_alive()


@reads_proc
def test_what_has_failed_runs_only_while_nothing_else_does(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    scripts = QuickJsScripts(workers=1, time_limit_ms=_SHORT_MS)
    program = "while (true) { 'failed before' }"

    caller = _endless_caller(scripts, program)
    try:
        monkeypatch.setattr(lanes, "_SLICE_MS", 2)
        assert isinstance(_run(scripts, program), Failure)
        monkeypatch.setattr(pool.Child, "__init__", _in_its_lane)
        monkeypatch.setattr(pool, "_BURST_S", 1.0)  # it needs its share to begin at all
        caller.start()
        runner = _runner(_running(scripts._slow))
        assert os.getpriority(os.PRIO_PROCESS, runner) == 19
        assert os.sched_getscheduler(runner) == os.SCHED_IDLE
    finally:
        scripts.close()
        caller.join(PATIENCE_S)
    assert not caller.is_alive()


@reads_proc
@pytest.mark.parametrize("whom", ["keeper", "runner"])
def test_a_script_is_run_once_more_when_somebody_kills_its_child(
    whom: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    called, call = list[str](), pool.Child.call

    def killed_first(child: pool.Child, request: bytes, data: bytes, timeout_s: float) -> bytes:
        called.append("again" if called else "first")
        if called == ["first"]:
            _kill(child, whom)
        return call(child, request, data, timeout_s)

    scripts = QuickJsScripts(workers=1, time_limit_ms=_AMPLE_MS)
    try:
        assert _run(scripts, "1 + 1") == Value(value=2)
        monkeypatch.setattr(pool.Child, "call", killed_first)
        assert _run(scripts, "1 + 2") == Value(value=3)
    finally:
        scripts.close()
    assert called == ["first", "again"]


@reads_proc
@pytest.mark.parametrize("whom", ["keeper", "runner"])
def test_a_script_whose_child_is_killed_each_time_fails_as_killed(whom: str) -> None:
    scripts = QuickJsScripts(workers=1, time_limit_ms=_AMPLE_MS)
    results: list[ScriptResult] = []
    caller = threading.Thread(target=lambda: results.append(_run(scripts, "while (true) {}")))
    try:
        caller.start()
        first = _running(scripts._long)
        _await_work(_runner(first))
        _kill(first, whom)
        (again,) = until(lambda: scripts._long._lent - {first}, what="another try")
        _await_work(_runner(again))
        _kill(again, whom)
        caller.join(PATIENCE_S)
    finally:
        scripts.close()

    assert [r.kind for r in results if isinstance(r, Failure)] == ["killed"]


@reads_proc
def test_callers_in_many_threads_each_get_their_own_answer() -> None:
    before = _children()
    scripts = QuickJsScripts(workers=2, queue_wait_ms=_AMPLE_MS)
    answers: dict[int, ScriptResult] = {}

    def call(number: int) -> None:
        for _ in range(20):
            answers[number] = _run(scripts, "$.n * 2", n=number)

    callers = [threading.Thread(target=call, args=(n,)) for n in range(8)]
    try:
        for caller in callers:
            caller.start()
        for caller in callers:
            caller.join(PATIENCE_S)
        assert 1 <= len(_children() - before) <= 2
    finally:
        scripts.close()

    assert answers == {n: Value(value=2 * n) for n in range(8)}


@pytest.mark.parametrize(("queue_limit", "queue_wait_ms"), [(0, _AMPLE_MS), (8, 50)])
def test_a_full_queue_is_refused_as_retryable(queue_limit: int, queue_wait_ms: int) -> None:
    scripts = QuickJsScripts(
        workers=1, time_limit_ms=_AMPLE_MS, queue_limit=queue_limit, queue_wait_ms=queue_wait_ms
    )
    caller = _endless_caller(scripts, "while (true) {}")
    try:
        caller.start()
        _running(scripts._long)

        with pytest.raises(LimitExceeded) as refused:
            _run(scripts, "while (true) {}")
        assert refused.value.retryable
        assert _run(scripts, "1") == Value(value=1)
    finally:
        scripts.close()
        caller.join(PATIENCE_S)
    assert not caller.is_alive()


@reads_proc
def test_no_child_survives_a_parent_that_is_killed() -> None:
    program = (
        "import threading\n"
        "from conductor_py.adapters.quickjs import QuickJsScripts, pool\n"
        "from conductor_py.ports.scripts import Evaluation\n"
        "from tests.script_processes import unhurried\n"
        "call = pool.Child.call\n"
        "def told(child, *given): print(child.pid, flush=True); return call(child, *given)\n"
        "pool.Child.call = told\n"
        "s = QuickJsScripts(workers=1, time_limit_ms=600_000)\n"
        "run = lambda x: s.evaluate([Evaluation(evaluator='javascript', expression=x, input={})])\n"
        "with unhurried():\n"
        "    first = threading.Thread(target=run, args=('1',)); first.start(); first.join()\n"
        "    run(\"Array(2 ** 32 - 1).join('abcdefgh')\")\n"
    )
    parent = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, cwd=_ROOT)
    try:
        assert parent.stdout is not None
        quick, again, child = (int(parent.stdout.readline()) for _ in range(3))
        assert quick == again != child
        (runner,) = _children(child)
        _await_work(runner)  # busy, so it cannot see that its input closed
    finally:
        parent.kill()
        parent.communicate()

    until(lambda: not is_running(child) and not is_running(runner), what="the end of both")


def _children(parent: int | None = None) -> set[int]:
    """Script processes of a parent, read from /proc."""
    parent = parent or os.getpid()
    found = set()
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            after_name = (entry / "stat").read_text().rpartition(")")[2].split()
            is_script = b"quickjs/child.py" in (entry / "cmdline").read_bytes()
        except OSError:
            continue
        if int(after_name[1]) == parent and is_script:
            found.add(int(entry.name))
    return found


def _running(lane: pool.ChildPool) -> pool.Child:
    """The one process of a lane, once a program has it."""
    (child,) = until(lambda: list(lane._lent), what="a program in the lane")
    return child


def _endless_caller(scripts: QuickJsScripts, program: str) -> threading.Thread:
    """A caller of a program that runs until its processes are closed."""

    def run() -> None:
        with contextlib.suppress(LimitExceeded):
            _run(scripts, program)

    return threading.Thread(target=run)


def _kill(child: pool.Child, whom: str) -> None:
    """As an operator does it, or a machine that is short of memory; the runner goes either way."""
    runner = _runner(child)
    os.kill(child.pid if whom == "keeper" else runner, signal.SIGKILL)
    until(lambda: not is_running(runner), what="the end of the runner")


def _runner(child: pool.Child) -> int:
    """The process in which the programs of a script process run."""
    (runner,) = until(lambda: _children(child.pid), what="a runner")
    return runner


def _await_work(runner: int) -> None:
    """Wait until a process has used more processor time than the reading of a request takes."""
    before = _ticks(runner)
    until(lambda: _ticks(runner) > before + _TICKS_OF_A_REQUEST, what="the work of a script")


def _ticks(pid: int) -> int:
    """Processor time in hundredths of a second."""
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[11])
