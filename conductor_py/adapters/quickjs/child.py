"""The program of a script process: reads a request, runs it in a fresh context, answers, repeats.

Started by path, isolated and without site packages, so that it is up in some 30 ms; it imports the
standard library and the engine's extension module, and never this package. It reads and writes one
socket, its standard input, and ends when that closes. Limits on processor time, wall time and
memory are the kernel's, set here, so that an endless native loop ends by itself, also in a child
whose parent was killed meanwhile.

What is started only keeps: programs run in its fork, the runner. A runner that a program took down
has a successor within a millisecond, where a new interpreter would cost everybody else forty. Both
are one process group, so that one signal reaches both. The parent says when to fork: it stops the
group now and then, and one that stood still before it was bound to its keeper's life would outlive
a parent that is killed meanwhile.

Every program gets a context that no program has run in: what a script does to prototypes and
globals ends with it. The next context is made while the child is idle.

Wire, both ways: a length of four bytes, then that many bytes. An empty frame lets the keeper fork;
it is owed at the start and after each answer ``M`` or ``D``. A request is two frames: a JSON object
(``language``, ``source``, ``check``, ``time_ms`` of processor time, ``wall_ms``), and the JSON text
of the bindings, of the input where the language is jq. An answer is one frame: a letter (``K`` the
keeper is ready, with the names of the locks that hold (see ``jail``), ``R`` the runner is ready,
``V`` value, ``E`` error, ``T`` time, ``M`` memory, ``D`` the runner died), then JSON text, a
message or the number of the signal. Before ``V`` and ``E`` may stand ``L``, the JSON list of the
lines that the program has printed, and an end of line.
"""

from __future__ import annotations

import contextlib
import ctypes
import importlib.machinery
import importlib.util
import json
import os
import re
import resource
import signal
import sys
from collections.abc import Callable
from typing import Any, NoReturn

_STACK_BYTES = 1 << 20
_WALL_GRACE_S = 2.0
_GRACE_S = 0.02
_SET_PARENT_DEATH_SIGNAL = 1
#: Behind others, and yet within its time on a busy machine.
_NICE = 10
_LEAST_NICE = 19
#: How a runner ends whose memory may be in pieces.
_SPENT = 3
#: What ends a runner in the middle of a program, when its request has been read and no answer
#: begun: the socket is between two frames.
_ENDS_OF_A_PROGRAM = (
    *(signal.SIGPROF, signal.SIGALRM, signal.SIGSEGV, signal.SIGABRT),
    # How the C library aborts where it may send no signal, by machine.
    *(signal.SIGILL, signal.SIGTRAP),
)

# The three functions keep the engine's own eval and stringify, which a script can no longer change.
# `evaluate` is not named eval: an indirect call runs the program at global level, with its
# completion value.
_BIND = """(bindings => { for (const name of Object.keys(bindings)) Object.defineProperty(
    globalThis, name, {value: bindings[name], writable: true, configurable: true}) })"""
_RUN = """((evaluate, stringify, number, safe, range) => source =>
    stringify(evaluate(source), (key, value) => {
        switch (typeof value) {
            case 'undefined': case 'symbol': return null;
            case 'function': return {};
            case 'bigint':
                if (safe(number(value))) return number(value);
                throw new range('A BigInt of this size is no JSON number; convert it to a string');
            default: return value;
        }
    }))(eval, JSON.stringify, Number, Number.isSafeInteger, RangeError)"""
# The whole program is parsed before its first statement, which ends it, runs.
_CHECK = """((evaluate) => source => {
    try { evaluate('throw 0;' + source) } catch (error) { if (error !== 0) throw error }
    return 'null' })(eval)"""

# What a script prints, in bounded number and length; what it prints with goes back in one text.
_CONSOLE = """((stringify, text, most, longest) => {
    const lines = []
    let left = 0
    const shown = value => {
        if (typeof value === 'string') return value
        if (!(value instanceof Error))
            try { return stringify(value) ?? text(value) } catch { }
        try { return text(value) } catch { return '[object Object]' }
    }
    const say = level => (...values) => {
        if (lines.length === most) { left += 1; return }
        let line = level
        for (let at = 0; at < values.length && line.length <= longest; at += 1)
            line += (at ? ' ' : '') + shown(values[at])
        lines[lines.length] = line.length > longest ? line.slice(0, longest) + '…' : line
    }
    const log = say(''), error = say('[ERROR] '), none = () => { }
    Object.defineProperty(globalThis, 'console', {writable: true, configurable: true, value: {
        log, info: log, debug: log, dir: log, table: log, trace: log, warn: say('[WARN] '), error,
        assert: (holds, ...values) => { if (!holds) error('Assertion failed', ...values) },
        clear: none, count: none, countReset: none, group: none, groupCollapsed: none,
        groupEnd: none, time: none, timeEnd: none, timeLog: none}})
    return () => {
        if (left) lines[most] = `… and ${left} more lines`
        return lines.length ? stringify(lines) : ''
    }
})(JSON.stringify, String, 50, 500)"""

_LONE_SURROGATE = re.compile(r"\\(u[dD][89a-fA-F][0-9a-fA-F]{2}|.)", re.DOTALL)


def _well_formed(text: str) -> str:
    """Replace lone surrogates, which stringify writes as escapes, by the replacement character."""
    if "\\ud" not in text:
        return text
    return _LONE_SURROGATE.sub(
        lambda match: "\\ufffd" if len(match.group(1)) > 1 else match.group(), text
    )


class JavaScript:
    """Runs one program a context, the next context ready."""

    def __init__(self, engine: Any, memory_bytes: int) -> None:  # noqa: ANN401 - has no types
        self._engine = engine
        self._memory_bytes = memory_bytes
        self.prepare()

    def prepare(self) -> None:
        """Make the context of the next program."""
        context = self._engine.Context()
        context.set_memory_limit(self._memory_bytes)
        context.set_max_stack_size(_STACK_BYTES)
        self._context = context
        self._bind, self._run, self._check = map(context.eval, (_BIND, _RUN, _CHECK))

    def answer(self, request: dict[str, Any], bindings: str) -> bytes:
        """Run the request in the context that is ready, which is spent by it."""
        # It takes half as long to make as all else of a context, and few programs print.
        said = self._context.eval(_CONSOLE) if "console" in request["source"] else None
        answer = self._result(request, bindings)
        if said is None or answer[:1] not in {b"V", b"E"}:
            return answer
        return self._lines(said) + answer

    def _lines(self, said: Callable[[], str]) -> bytes:
        """What the program has printed, as the beginning of an answer; empty when it is nothing."""
        try:
            printed = said()
        except (MemoryError, UnicodeDecodeError, self._engine.JSException):
            return b""  # it has changed what lines are written with
        return f"L{_well_formed(printed)}\n".encode() if printed else b""

    def _result(self, request: dict[str, Any], bindings: str) -> bytes:
        try:
            self._context.set_time_limit(request["time_ms"] / 1000)
            if request["check"]:
                text = self._check(request["source"])
            else:
                self._bind(self._context.parse_json(bindings))
                text = self._run(request["source"])
            return b"V" + _well_formed(text).encode()
        except MemoryError:
            return b"M"
        except UnicodeDecodeError:
            return b"EThe script raised an error whose text is not Unicode"
        except self._engine.JSException as error:
            return _failure(str(error))


class Jq:
    """Runs jq filters; compiling takes longer than most of them run, so the last ones are kept."""

    _KEPT = 64

    def __init__(self, engine: Any) -> None:  # noqa: ANN401 - has no types
        self._engine = engine
        self._programs: dict[str, Any] = {}

    def answer(self, request: dict[str, Any], data: str) -> bytes:
        """Return the list of all outputs."""
        if self._engine is None:
            return b"EThere is no jq on this server: pip install jq"
        try:
            program = self._compile(request["source"])
            if request["check"]:
                return b"Vnull"
            # One output a line: a line feed inside of a string is written as an escape.
            text = program.input_text(data).text()
        except MemoryError:
            return b"M"
        except ValueError as error:
            return b"E" + str(error)[:2_000].encode("utf-8", "replace")
        return f"V[{text.replace(chr(10), ',')}]".encode()

    def _compile(self, source: str) -> Any:  # noqa: ANN401 - has no types
        program = self._programs.pop(source, None) or self._engine.compile(source)
        self._programs[source] = program
        if len(self._programs) > self._KEPT:
            del self._programs[next(iter(self._programs))]
        return program


def _failure(text: str) -> bytes:
    """Tell the engine's own interruptions from errors, which keep first line and place."""
    message, _, trace = text.partition("\n")
    if message == "InternalError: interrupted":
        return b"T"
    if message in ("InternalError: out of memory", "null"):
        return b"M"
    own_frame = trace.rstrip().rfind("\n") + 1  # the last one is this module's own function
    place = re.search(r"<input>:(\d+)", trace[:own_frame])
    if place:
        message = f"{message} (line {place.group(1)})"
    return b"E" + message[:2_000].encode("utf-8", "replace")


def _read(size: int) -> bytes:
    chunks = []
    while size:
        chunk = os.read(0, min(size, 1 << 20))
        if not chunk:
            sys.exit(0)
        chunks.append(chunk)
        size -= len(chunk)
    return b"".join(chunks)


def _read_frame() -> bytes:
    return _read(int.from_bytes(_read(4), "big"))


def _write_frame(payload: bytes) -> None:
    view = memoryview(len(payload).to_bytes(4, "big") + payload)
    while view:
        view = view[os.write(0, view) :]


def _die_with_parent() -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_SET_PARENT_DEATH_SIGNAL, signal.SIGKILL)


def _give_way() -> None:
    """Take a small share where others want the processor; for good."""
    with contextlib.suppress(OSError, AttributeError):
        os.setpriority(os.PRIO_PROCESS, 0, _NICE)


def _to_background() -> None:
    """Run only while nothing else wants the processor; for good.

    Where processes are scheduled by session, this one's goes to the background, too.
    """
    with contextlib.suppress(OSError, AttributeError):  # each helps alone; not every system has it
        os.setpriority(os.PRIO_PROCESS, 0, _LEAST_NICE)
    with contextlib.suppress(OSError, AttributeError):
        os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
    with contextlib.suppress(OSError), open("/proc/self/autogroup", "w") as autogroup:  # noqa: PTH123
        autogroup.write(str(_LEAST_NICE))


def _confine(address_space_bytes: int) -> None:
    for name, limit in (
        ("RLIMIT_AS", address_space_bytes),
        ("RLIMIT_CORE", 0),
        ("RLIMIT_FSIZE", 0),
        ("RLIMIT_NOFILE", 3),
    ):
        # Some systems refuse some of these; the parent's deadline holds everywhere.
        with contextlib.suppress(ValueError, OSError):
            resource.setrlimit(getattr(resource, name), (limit, limit))


def _limit_time(time_s: float, wall_s: float) -> None:
    """Let the kernel end this process soon after a limit, whatever the interpreter is doing."""
    signal.setitimer(signal.ITIMER_PROF, time_s + _GRACE_S)
    signal.setitimer(signal.ITIMER_REAL, wall_s + _WALL_GRACE_S)


def _lift_limits() -> None:
    signal.setitimer(signal.ITIMER_PROF, 0)
    signal.setitimer(signal.ITIMER_REAL, 0)


def _load(name: str, path: str) -> Any:  # noqa: ANN401 - extensions have no types
    loader = importlib.machinery.ExtensionFileLoader(name, path)
    spec = importlib.util.spec_from_file_location(name, path, loader=loader)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    loader.exec_module(module)
    return module


def _module_of(place: str, name: str) -> Any:  # noqa: ANN401 - a module
    """Load what stands beside this program, which knows no package."""
    path = f"{os.path.dirname(place)}/{name}.py"  # noqa: PTH120 - pathlib takes 10 ms to load
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _serve(javascript: JavaScript, jq: Jq, result_bytes: int) -> NoReturn:
    """Answer requests until the parent closes the socket."""
    while True:
        request = json.loads(_read_frame())
        data = _read_frame().decode()
        _limit_time(request["time_ms"] / 1000, request["wall_ms"] / 1000)
        language = jq if request["language"] == "jq" else javascript
        answer = language.answer(request, data)
        _lift_limits()
        printed = answer.find(b"\n") + 1 if answer[:1] == b"L" else 0
        if len(answer) - printed > result_bytes:
            answer = answer[:printed] + b"EThe result is larger than %d bytes" % result_bytes
        _write_frame(answer)
        if answer == b"M":
            sys.exit(_SPENT)
        del request, data, answer
        if language is javascript:
            javascript.prepare()


def _keep(locks: str, serve: Callable[[], NoReturn]) -> None:
    """Let one runner after the other serve, and tell of each that a program took down."""
    keeper = os.getpid()
    _write_frame(b"K" + locks.encode())
    while True:
        _read_frame()
        runner = os.fork()
        if not runner:
            _run(serve, keeper)
        code = os.waitstatus_to_exitcode(os.waitpid(runner, 0)[1])
        if -code in _ENDS_OF_A_PROGRAM:
            _write_frame(b"D%d" % -code)
        elif code != _SPENT:
            return  # the parent closed the socket, or nobody knows what is on it


def _run(serve: Callable[[], NoReturn], keeper: int) -> NoReturn:
    code = 1
    try:
        _die_with_parent()
        if os.getppid() == keeper:  # else it was killed before this process said so
            _write_frame(b"R")
            serve()
    except SystemExit as exited:
        code = int(exited.code or 0)
    finally:
        os._exit(code)


def main() -> None:
    """Keep runners until the parent closes the socket, or ends this process."""
    quickjs_path, jq_path, memory_bytes, address_space_bytes, result_bytes, when = sys.argv[1:]
    _die_with_parent()
    os.environ.clear()  # the interpreter itself adds its locale
    if when != "always":
        _give_way()
    javascript = JavaScript(_load("_quickjs", quickjs_path), int(memory_bytes))
    jq = Jq(_load("jq", jq_path) if jq_path else None)
    if when == "idle":
        _to_background()
    locks = _module_of(__file__, "jail").lock(lambda: _confine(int(address_space_bytes)))
    _keep(" ".join(locks), lambda: _serve(javascript, jq, int(result_bytes)))


if __name__ == "__main__":
    main()
